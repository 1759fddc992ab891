//! Other programs that do the same work: run on the client's core, timed from outside.

use std::{
    ffi::OsStr,
    path::PathBuf,
    process::{Command, Stdio},
    thread,
};

use anyhow::{Context, bail};
use assay_runner::placement;
use procfs::process::Process;

use crate::stand::{Measured, ROUNDS};

/// What a peer printed, and the CPU that it and its children used, in nanoseconds.
pub struct Finished {
    /// Standard output.
    pub output: String,
    cpu_ns: f64,
}

impl Finished {
    /// The measurement, given the throughput read from the output and how many operations there
    /// were.
    pub fn measured(&self, ops_per_s: f64, operations: f64) -> Measured {
        Measured { ops_per_s, cpu_ns_per_op: self.cpu_ns / operations }
    }
}

/// Both in turns; gives our rounds, then theirs. Who begins a round alternates, so that neither always has the warmer
/// machine.
pub fn in_turns(
    mut ours: impl FnMut() -> anyhow::Result<Measured>,
    mut theirs: impl FnMut() -> anyhow::Result<Measured>,
) -> anyhow::Result<(Vec<Measured>, Vec<Measured>)> {
    let (mut our_rounds, mut their_rounds) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        if round % 2 == 0 {
            their_rounds.push(theirs()?);
        }
        our_rounds.push(ours()?);
        if round % 2 == 1 {
            their_rounds.push(theirs()?);
        }
    }
    Ok((our_rounds, their_rounds))
}

/// A program on PATH.
pub fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|found| found.is_file())
}

/// Runs a peer to its end on `core`. Its CPU comes from what the kernel has accounted to this
/// process's ended children, in ticks of 10 ms: a peer should run for seconds.
pub fn run<S: AsRef<OsStr>>(
    program: &OsStr,
    arguments: &[S],
    core: Option<usize>,
) -> anyhow::Result<Finished> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stderr(Stdio::piped());
    let shown = format!("{command:?}");
    let before = children_cpu_ns()?;
    // A thread of its own, so that the pinning that the child inherits ends with it.
    let output = thread::spawn(move || {
        if let Some(core) = core {
            placement::pin(core);
        }
        command.output()
    })
    .join()
    .expect("the thread does not panic")
    .with_context(|| format!("cannot run {shown}"))?;
    let cpu_ns = children_cpu_ns()? - before;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        bail!(
            "{shown} ended with {}:\n{text}{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(Finished { output: text, cpu_ns })
}

fn children_cpu_ns() -> anyhow::Result<f64> {
    let stat = Process::myself()?.stat()?;
    Ok((stat.cutime + stat.cstime) as f64 * 1e9 / procfs::ticks_per_second() as f64)
}
