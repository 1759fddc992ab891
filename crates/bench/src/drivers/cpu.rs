//! Whose CPU an operation costs.

use assay_measure::{clock, resources::ProcessTree};

/// Who works on operations, measured from outside of them.
#[derive(Clone, Copy)]
pub enum Cpu {
    /// The thread that asks.
    Thread,
    /// This process: a client library may have threads of its own.
    Process,
    /// This process and a server, where a library works in one or in the other.
    ProcessAnd(ProcessTree),
}

impl Cpu {
    /// What it has spent so far, in nanoseconds.
    pub fn spent_ns(self) -> anyhow::Result<u64> {
        Ok(match self {
            Cpu::Thread => clock::thread_cpu_ns(),
            Cpu::Process => clock::process_cpu_ns(),
            Cpu::ProcessAnd(server) => clock::process_cpu_ns() + server.cpu_ns()?,
        })
    }
}
