//! What the tests share: a place of its own for each run of the binary, processes looked at from
//! outside, and a Redis that Assay did not start.

mod place;
mod process;
mod redis;

use std::{
    thread,
    time::{Duration, Instant},
};

pub use place::{Place, installed, readable};
pub use process::{Finished, Running, is_running, kill};
pub use redis::{Redis, calls, free_port};

/// How long anything may take before a test fails. Never a measure of speed.
pub const LIMIT: Duration = Duration::from_secs(100);

/// Waits until `done`, or fails and says what was awaited.
pub fn await_that(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < LIMIT, "in vain: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}
