//! What a process and its descendants use: CPU, memory, disk I/O, context switches, from `/proc`
//! (proc(5)).

use std::{fs, io};

use procfs::process::Process;
use serde::{Deserialize, Serialize};

/// What a process tree has used since it began, and what it holds now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Usage {
    /// CPU time of all threads, user and kernel, in nanoseconds.
    pub cpu_ns: u64,
    /// Resident memory in bytes: the sum of what each process has for itself, and the largest of
    /// what they share (so that PostgreSQL's shared buffers count once).
    pub rss_bytes: u64,
    /// Bytes that the tree caused to be fetched from storage.
    pub read_bytes: u64,
    /// Bytes that the tree caused to be sent to storage.
    pub written_bytes: u64,
    /// Times that a thread gave up the CPU to wait.
    pub voluntary_switches: u64,
    /// Times that a thread was made to give up the CPU.
    pub involuntary_switches: u64,
}

impl Usage {
    /// What was used since `earlier`; memory is the present one.
    pub fn since(&self, earlier: &Usage) -> Usage {
        Usage {
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            rss_bytes: self.rss_bytes,
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(earlier.written_bytes),
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(earlier.involuntary_switches),
        }
    }
}

/// A process, with its descendants or alone.
#[derive(Clone, Copy, Debug)]
pub struct ProcessTree {
    root: i32,
    descendants: bool,
}

impl ProcessTree {
    /// The tree below process `pid`.
    pub fn of(pid: u32) -> ProcessTree {
        ProcessTree { root: pid as i32, descendants: true }
    }

    /// This process alone: the servers that it started are its descendants, and not its own work.
    pub fn own() -> ProcessTree {
        ProcessTree { descendants: false, ..ProcessTree::of(std::process::id()) }
    }

    /// What the tree uses now. Processes that end while they are read are passed over; an error
    /// means that the root itself is gone or may not be read.
    pub fn sample(&self) -> io::Result<Usage> {
        let mut total = Usage::default();
        let mut shared = 0;
        self.add(self.root, true, &mut total, &mut shared).map_err(io::Error::other)?;
        total.rss_bytes += shared;
        Ok(total)
    }

    /// The CPU that the tree has used, in nanoseconds: cheaper than [`ProcessTree::sample`].
    pub fn cpu_ns(&self) -> io::Result<u64> {
        self.sample().map(|usage| usage.cpu_ns)
    }

    fn add(
        &self,
        pid: i32,
        is_root: bool,
        total: &mut Usage,
        shared: &mut u64,
    ) -> procfs::ProcResult<()> {
        let process = Process::new(pid)?;
        let status = process.status()?;
        total.rss_bytes += status.rssanon.unwrap_or(0) * 1024;
        *shared =
            (*shared).max((status.rssfile.unwrap_or(0) + status.rssshmem.unwrap_or(0)) * 1024);
        if let Ok(io) = process.io() {
            total.read_bytes += io.read_bytes;
            total.written_bytes += io.write_bytes;
        }
        let stat = process.stat()?;
        let in_ns = |ticks: u64| ticks * 1_000_000_000 / procfs::ticks_per_second();
        let (mut cpu_ns, mut children) = (0, Vec::new());
        for task in process.tasks()?.flatten() {
            if let Ok(schedstat) = task.schedstat() {
                cpu_ns += schedstat.sum_exec_runtime;
            }
            if let Ok(status) = task.status() {
                total.voluntary_switches += status.voluntary_ctxt_switches.unwrap_or(0);
                total.involuntary_switches += status.nonvoluntary_ctxt_switches.unwrap_or(0);
            }
            if self.descendants {
                children.extend(task.children().unwrap_or_default());
            }
        }
        // The process's own account is coarser, and has the threads that ended.
        total.cpu_ns += cpu_ns.max(in_ns(stat.utime + stat.stime));
        if is_root && self.descendants {
            // Children that ended and were waited for.
            total.cpu_ns += in_ns((stat.cutime + stat.cstime).max(0) as u64);
        }
        for child in children {
            // A child that has just ended is in the root's account of ended children.
            let _ = self.add(child as i32, false, total, shared);
        }
        Ok(())
    }
}

/// The bytes that the files below `folder` occupy on disk.
pub fn folder_bytes(folder: &std::path::Path) -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let mut total = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => total += folder_bytes(&entry.path())?,
            Ok(metadata) => total += metadata.blocks() * 512,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_of_this_process_grows_with_work() {
        let tree = ProcessTree::own();
        let before = tree.sample().unwrap();
        let cpu = crate::clock::thread_cpu_ns();
        while crate::clock::thread_cpu_ns() < cpu + 30_000_000 {
            std::hint::spin_loop();
        }
        let used = tree.sample().unwrap().since(&before);
        assert!(used.cpu_ns >= 25_000_000, "{used:?}");
        assert!(used.rss_bytes > 500_000, "{used:?}");
    }

    #[test]
    fn descendants_count() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "sh -c 'while :; do :; done' & wait"])
            .spawn()
            .unwrap();
        let tree = ProcessTree::of(child.id());
        let counted = (0..100).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            tree.cpu_ns().unwrap() > 50_000_000
        });
        let grandchild =
            std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
        for pid in grandchild.split_whitespace() {
            let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(counted, "the grandchild's CPU time was not counted");
    }

    #[test]
    fn the_work_of_a_thread_that_ended_is_not_forgotten() {
        let before = ProcessTree::own().sample().unwrap();
        std::thread::spawn(|| {
            let began = crate::clock::thread_cpu_ns();
            while crate::clock::thread_cpu_ns() < began + 60_000_000 {
                std::hint::spin_loop();
            }
        })
        .join()
        .unwrap();
        let used = ProcessTree::own().sample().unwrap().since(&before);
        assert!(used.cpu_ns >= 35_000_000, "{used:?}");
    }

    #[test]
    fn a_process_that_is_gone_is_an_error() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert!(ProcessTree::of(pid).sample().is_err());
    }
}
