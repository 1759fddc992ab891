//! A warden's child processes: started, waited for, counted, signalled.

use std::{
    collections::HashMap,
    fs::{self, OpenOptions},
    io,
    os::unix::{fs::OpenOptionsExt, process::CommandExt},
    process::{Command, Stdio},
};

use rustix::{
    fs::OFlags,
    process::{Pid, Signal, WaitOptions, WaitStatus},
    thread::CpuSet,
};

use super::protocol::Task;

/// Starts the task's program: output to the log, unprivileged, pinned, and dying with the warden.
pub(super) fn spawn(task: &Task) -> io::Result<u32> {
    let log = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o644)
        .custom_flags(OFlags::NOFOLLOW.bits() as i32)
        .open(&task.log)?;
    let cpus = task.cpus.as_deref().map(cpu_set).transpose()?;
    let mut command = Command::new(&task.program);
    command
        .args(&task.args)
        .env_clear()
        .envs(task.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&task.current_dir)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log);
    if let Some((uid, gid)) = task.run_as {
        // As root, `uid` also drops the supplementary groups.
        command.uid(uid).gid(gid);
    }
    let warden = rustix::process::getpid();
    let bind = move || {
        // Here and not earlier: a change of user clears the death signal.
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        if rustix::process::getppid() != Some(warden) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        match &cpus {
            Some(cpus) => Ok(rustix::thread::sched_setaffinity(None, cpus)?),
            None => Ok(()),
        }
    };
    // SAFETY: between fork and exec only async-signal-safe code may run. The closure makes three
    // system calls without libc's state, takes no lock and allocates nothing: its errors are made
    // from numbers.
    unsafe { command.pre_exec(bind) };
    // The child is waited for by number in `reap`; dropping the handle leaves it alone.
    Ok(command.spawn()?.id())
}

fn cpu_set(numbers: &[usize]) -> io::Result<CpuSet> {
    let mut set = CpuSet::new();
    for &number in numbers {
        if number >= CpuSet::MAX_CPU {
            return Err(io::Error::other(format!("there is no processor {number}")));
        }
        set.set(number);
    }
    Ok(set)
}

/// What a look for ended children found.
pub(super) enum Ended {
    /// This one ended.
    One { pid: u32, success: bool, status: String },
    /// There are children, all running.
    NoneYet,
    /// There are no children, so there is no descendant: orphans come to the subreaper.
    NoneLeft,
}

/// Takes one ended child off the system's list.
pub(super) fn reap() -> Ended {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => {
                return Ended::One {
                    pid: pid.as_raw_nonzero().get().unsigned_abs(),
                    success: status.exit_status() == Some(0),
                    status: describe(status),
                };
            }
            Ok(None) => return Ended::NoneYet,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Ended::NoneLeft,
        }
    }
}

fn describe(status: WaitStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(number)) => match Signal::from_named_raw(number) {
            Some(Signal::KILL) => "killed by signal 9, SIGKILL".to_owned(),
            Some(Signal::TERM) => "killed by signal 15, SIGTERM".to_owned(),
            Some(Signal::SEGV) => "crashed with signal 11, SIGSEGV".to_owned(),
            Some(Signal::ABORT) => "crashed with signal 6, SIGABRT".to_owned(),
            _ => format!("killed by signal {number}"),
        },
        (None, None) => "an unknown status".to_owned(),
    }
}

/// Sends a signal to a process that may have ended already.
pub(super) fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It is gone, or a child that changed its user: either way there is no more to do.
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Every process that descends from this one.
pub(super) fn descendants() -> Vec<u32> {
    let mut by_parent: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        if let Some(parent) = parent_in(&stat) {
            by_parent.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut next = vec![std::process::id()];
    while let Some(pid) = next.pop() {
        for child in by_parent.remove(&pid).into_iter().flatten() {
            found.push(child);
            next.push(child);
        }
    }
    found
}

/// The parent's number in a line of `/proc/PID/stat`. The program's name before it may hold
/// spaces and parentheses.
fn parent_in(stat: &str) -> Option<u32> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_read_past_a_strange_name() {
        assert_eq!(parent_in("42 (a) b (c) S 7 42 42 0"), Some(7));
        assert_eq!(parent_in(""), None);
    }

    #[test]
    fn descendants_are_found() {
        let mut child = Command::new("sleep").arg("600").spawn().expect("sleep runs");
        let found = descendants();
        child.kill().expect("killed");
        child.wait().expect("waited for");
        assert!(found.contains(&child.id()));
        assert!(!found.contains(&std::process::id()));
    }
}
