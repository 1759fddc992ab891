//! One module a command.

pub mod compare;
mod data_folder;
pub mod export;
pub mod fetch;
pub mod generate;
pub mod plan;
pub mod report;
pub mod rerun;
pub mod resolve;
pub mod run;
pub mod serve;
pub mod show;
pub mod start;
pub mod study;
pub mod systems;
pub mod unfinished;
