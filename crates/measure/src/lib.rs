//! Honest time and what goes with it: the clock, the schedule of an open loop, the recorder of
//! latencies, the sampling of CPU, memory and I/O, and the statistics of repeats.
//!
//! Times are `u64` nanoseconds on the one clock of [`clock::Clock`]. Nothing here knows a data
//! store or a workload.

pub mod clock;
pub mod file_system;
pub mod huge_pages;
pub mod pacing;
pub mod recorder;
pub mod resources;
pub mod statistics;
