//! What the tests of concurrency stand on: every interleaving of a few calls, tried one after the
//! other on the real code; histories of what the calls did; and a checker of histories.

pub(crate) mod history;
pub(crate) mod locks;
mod mutants;
pub(crate) mod scheduler;
mod threads;
