//! The whole binary from outside, on real systems: what it prints, what it keeps, and that nothing
//! is left of it however it ends.
//!
//! One test program with a module a subject. What needs a server that is not on this machine is
//! skipped and says so in a line that begins with `skipped:`.

mod bad_input;
mod closed;
mod commands;
mod common;
mod compare;
mod endings;
mod figures;
mod full_disk;
mod generated;
mod leveling;
mod properties;
mod report;
mod secrets;
mod serve;
mod servers;
mod sins;
mod stand_in;
mod storage;
mod studies;
