//! What a process and its descendants use: CPU, memory, disk I/O, context switches, from `/proc`
//! (proc(5)).
//!
//! A sample is taken while the measured loop runs, so it reads no more files than it must and
//! parses no more of them than it needs: about 40 µs a process.

use std::{
    fs,
    io::{self, Read},
};

use procfs::process::Process;
use serde::{Deserialize, Serialize};

/// What a process tree has used since it began, and what it holds now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Usage {
    /// CPU time of all threads, user and kernel, in nanoseconds.
    pub cpu_ns: u64,
    /// Time for which threads that live were ready to run and had to wait for a CPU, over all of
    /// them, in nanoseconds.
    pub cpu_wait_ns: u64,
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
            cpu_wait_ns: self.cpu_wait_ns.saturating_sub(earlier.cpu_wait_ns),
            rss_bytes: self.rss_bytes,
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(earlier.written_bytes),
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(earlier.involuntary_switches),
        }
    }

    /// What was used here and later together; memory is the later one.
    pub fn and(&self, later: &Usage) -> Usage {
        Usage {
            cpu_ns: self.cpu_ns + later.cpu_ns,
            cpu_wait_ns: self.cpu_wait_ns + later.cpu_wait_ns,
            rss_bytes: later.rss_bytes,
            read_bytes: self.read_bytes + later.read_bytes,
            written_bytes: self.written_bytes + later.written_bytes,
            voluntary_switches: self.voluntary_switches + later.voluntary_switches,
            involuntary_switches: self.involuntary_switches + later.involuntary_switches,
        }
    }
}

/// A process, with its descendants or alone; or its descendants without it.
#[derive(Clone, Copy, Debug)]
pub struct ProcessTree {
    root: i32,
    descendants: bool,
    itself: bool,
}

impl ProcessTree {
    /// The tree below process `pid`.
    pub fn of(pid: u32) -> ProcessTree {
        ProcessTree { root: pid as i32, descendants: true, itself: true }
    }

    /// The trees below the children of process `pid`, without it: servers, and not what keeps them.
    pub fn below(pid: u32) -> ProcessTree {
        ProcessTree { itself: false, ..ProcessTree::of(pid) }
    }

    /// This process alone: the servers that it started are its descendants, and not its own work.
    pub fn own() -> ProcessTree {
        ProcessTree { descendants: false, ..ProcessTree::of(std::process::id()) }
    }

    /// What the tree uses now. Processes that end while they are read are passed over; an error
    /// means that the root itself is gone or may not be read.
    pub fn sample(&self) -> io::Result<Usage> {
        let mut sums = Sums::default();
        if self.itself {
            self.add(self.root, &mut sums)?;
        } else {
            for task in fs::read_dir(format!("/proc/{}/task", self.root))?.flatten() {
                for child in children_of(&task.path().to_string_lossy()) {
                    // Each is the root of a tree of its own. One that has just ended is passed over.
                    let _ = ProcessTree::of(child as u32).add(child, &mut sums);
                }
            }
        }
        let Sums { mut usage, shared_bytes } = sums;
        usage.rss_bytes += shared_bytes;
        Ok(usage)
    }

    /// The CPU that the tree has used, in nanoseconds.
    pub fn cpu_ns(&self) -> io::Result<u64> {
        self.sample().map(|usage| usage.cpu_ns)
    }

    fn add(&self, pid: i32, sums: &mut Sums) -> io::Result<()> {
        let folder = format!("/proc/{pid}");
        let status = read(&folder, "status")?;
        let bytes = |name| field(&status, name) * 1024;
        sums.usage.rss_bytes += bytes("RssAnon");
        sums.shared_bytes = sums.shared_bytes.max(bytes("RssFile") + bytes("RssShmem"));
        if let Ok(io) = read(&folder, "io") {
            sums.usage.read_bytes += field(&io, "read_bytes");
            sums.usage.written_bytes += field(&io, "write_bytes");
        }
        let mut children = Vec::new();
        let is_single = field(&status, "Threads") == 1;
        if is_single {
            self.add_task(&format!("{folder}/task/{pid}"), &status, sums, &mut children);
        }
        if !is_single || pid == self.root {
            self.add_group(pid, is_single, sums, &mut children)?;
        }
        for child in children {
            // A child that has just ended is in the root's account of ended children.
            let _ = self.add(child, sums);
        }
        Ok(())
    }

    /// Adds what takes more than the files of one thread to know.
    fn add_group(
        &self,
        pid: i32,
        is_single: bool,
        sums: &mut Sums,
        children: &mut Vec<i32>,
    ) -> io::Result<()> {
        let stat =
            Process::new(pid).and_then(|process| process.stat()).map_err(io::Error::other)?;
        let in_ns = |ticks: u64| ticks * 1_000_000_000 / procfs::ticks_per_second();
        if !is_single {
            let before_ns = sums.usage.cpu_ns;
            for task in fs::read_dir(format!("/proc/{pid}/task"))?.flatten() {
                let folder = task.path().to_string_lossy().into_owned();
                if let Ok(status) = read(&folder, "status") {
                    self.add_task(&folder, &status, sums, children);
                }
            }
            // The process's own account is coarser, and has the threads that ended.
            let whole_ns = before_ns + in_ns(stat.utime + stat.stime);
            sums.usage.cpu_ns = sums.usage.cpu_ns.max(whole_ns);
        }
        if pid == self.root && self.descendants {
            // Children that ended and were waited for.
            sums.usage.cpu_ns += in_ns((stat.cutime + stat.cstime).max(0) as u64);
        }
        Ok(())
    }

    /// Adds one thread. One that has just ended is passed over.
    fn add_task(&self, folder: &str, status: &str, sums: &mut Sums, children: &mut Vec<i32>) {
        let usage = &mut sums.usage;
        usage.voluntary_switches += field(status, "voluntary_ctxt_switches");
        usage.involuntary_switches += field(status, "nonvoluntary_ctxt_switches");
        let numbers = |file| read(folder, file).unwrap_or_default();
        // The time on the processor and the time waited for it, in nanoseconds.
        let schedstat = numbers("schedstat");
        let mut times = schedstat.split(' ').map(|ns| ns.parse().unwrap_or(0));
        usage.cpu_ns += times.next().unwrap_or(0);
        usage.cpu_wait_ns += times.next().unwrap_or(0);
        if self.descendants {
            children.extend(children_of(folder));
        }
    }
}

#[derive(Default)]
struct Sums {
    usage: Usage,
    /// The largest of what each process shares with others.
    shared_bytes: u64,
}

/// The processes that a thread has started and that have not been waited for.
fn children_of(task: &str) -> Vec<i32> {
    let children = read(task, "children").unwrap_or_default();
    children.split(' ').filter_map(|pid| pid.parse().ok()).collect()
}

/// A file of `/proc`. A process may have called itself anything, UTF-8 or not.
fn read(folder: &str, file: &str) -> io::Result<String> {
    let mut text = Vec::with_capacity(4096);
    // Without asking for the file's size first, which is 0 there.
    fs::File::open(format!("{folder}/{file}"))?.take(u64::MAX).read_to_end(&mut text)?;
    Ok(String::from_utf8(text)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// The number in the line `name:`; 0 if there is none.
fn field(text: &str, name: &str) -> u64 {
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

/// The bytes that the files below `folder` occupy on disk, holes left out.
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
    fn fields_are_found_by_their_whole_names() {
        let status = "Name:\tRssAnon: 7\nRssAnon:\t     116 kB\nnonvoluntary_ctxt_switches:\t3\n\
                      voluntary_ctxt_switches:\t5\nread_bytes: 12\n";
        assert_eq!(field(status, "RssAnon"), 116);
        assert_eq!(field(status, "voluntary_ctxt_switches"), 5);
        assert_eq!(field(status, "read_bytes"), 12);
        assert_eq!(field(status, "RssFile"), 0);
    }

    #[test]
    fn files_count_in_every_folder_and_without_holes() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(folder_bytes(folder.path()).unwrap(), 0);
        fs::create_dir(folder.path().join("inner")).unwrap();
        fs::write(folder.path().join("inner/full"), [1; 10_000]).unwrap();
        let sparse = fs::File::create(folder.path().join("sparse")).unwrap();
        sparse.set_len(1 << 30).unwrap();
        let bytes = folder_bytes(folder.path()).unwrap();
        assert!((10_000..1 << 20).contains(&bytes), "{bytes}");
    }

    #[test]
    fn memory_and_switches_of_this_process_are_seen() {
        let before = ProcessTree::own().sample().unwrap();
        let kept = std::hint::black_box(vec![1u8; 32 << 20]);
        for _ in 0..20 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let after = ProcessTree::own().sample().unwrap();
        assert!(after.rss_bytes >= before.rss_bytes + (24 << 20), "{before:?} {after:?}");
        assert!(after.since(&before).voluntary_switches >= 10, "{before:?} {after:?}");
        drop(kept);
    }

    #[test]
    fn the_trees_below_a_process_are_seen_without_it() {
        let children = [0, 1].map(|_| {
            let mut command = std::process::Command::new("sleep");
            command.arg("600").spawn().unwrap()
        });
        let each = children.iter().map(|child| ProcessTree::of(child.id()).sample().unwrap());
        let least = each.map(|usage| usage.rss_bytes).max().unwrap();
        let below = ProcessTree::below(std::process::id()).sample().unwrap();
        for mut child in children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let own = ProcessTree::own().sample().unwrap().rss_bytes;
        assert!((least..own.max(2 * least)).contains(&below.rss_bytes), "{below:?} {own}");
        assert!(ProcessTree::below(u32::MAX >> 1).sample().is_err());
    }

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
    fn threads_that_share_a_core_wait_for_it() {
        let mut cores = rustix::thread::CpuSet::new();
        let allowed = rustix::thread::sched_getaffinity(None).unwrap();
        let first = (0..rustix::thread::CpuSet::MAX_CPU).find(|core| allowed.is_set(*core));
        cores.set(first.unwrap());
        let done = std::sync::atomic::AtomicBool::new(false);
        let done = &done;
        let used = std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(move || {
                    let _ = rustix::thread::sched_setaffinity(None, &cores);
                    while !done.load(std::sync::atomic::Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            let before = ProcessTree::own().sample().unwrap();
            let waited = || ProcessTree::own().sample().unwrap().since(&before);
            let used = (0..500)
                .map(|_| {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                    waited()
                })
                .find(|used| used.cpu_wait_ns >= 100_000_000);
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            used.unwrap_or_else(waited)
        });
        assert!(used.cpu_wait_ns >= 100_000_000, "{used:?}");
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
