//! One module a command.

pub mod compare;
pub mod export;
pub mod fetch;
pub mod generate;
pub mod plan;
pub mod rerun;
pub mod resolve;
pub mod run;
pub mod show;
pub mod systems;
