//! From an experiment as written to a plan that the runner can walk.
//!
//! [`spec`] is the TOML file and the command line's overrides, every field optional;
//! [`Plan::resolve`] applies the defaults, expands the sweeps and checks what each system can do, so
//! that nothing behind it sees a string key or an unset value. [`figure`] is what to draw of the
//! results. [`system_name`] reads `postgres:jsonb`, `redis=redis://host:6379` and the like;
//! [`builtin`] holds the default experiment and the workloads in the binary, [`study`] the studies.

pub mod builtin;
pub mod extent;
pub mod figure;
mod mongodb_url;
pub mod number;
pub mod plan;
mod resolve;
mod resolve_cache;
mod resolve_system;
mod resolve_workload;
pub mod spec;
pub mod study;
pub mod system_name;
#[cfg(test)]
mod testing;
mod unknown_field;

pub use extent::Extent;
pub use figure::FigureSpec;
pub use plan::{Cell, Mode, Plan, PlanError, Repeats, SystemPlan, TargetPlan};
pub use spec::Spec;
