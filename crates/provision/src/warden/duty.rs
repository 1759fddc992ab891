//! A warden's life: answer requests, report, and at the end take everything away.

use std::{
    env,
    io::{self, ErrorKind, Read},
    os::unix::net::UnixStream,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec},
    process::{Resource, Rlimit, Signal},
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

use super::{
    GRACE,
    children::{self, Ended},
    protocol::{self, Lines, Report, Request, StopSignal},
};
use crate::folder::LockedFolder;

/// How many files a server may open, where the system allows as many.
const OPEN_FILES: u64 = 65_536;

/// How long killed processes have to disappear before the warden goes without them.
const DEATH_LIMIT: Duration = Duration::from_secs(10);

/// Answers requests until standard input closes or SIGTERM comes.
pub(super) fn serve() -> io::Result<()> {
    stand_apart()?;
    let mut signals = Signals::listen()?;
    let mut duty = Duty::default();
    let requests = duty.answer_requests(&mut signals);
    duty.end(&mut signals);
    requests
}

/// Leaves Assay's terminal and folder behind, and adopts every orphan among the descendants.
fn stand_apart() -> io::Result<()> {
    // Refused to the leader of a process group, which has no terminal to share then.
    let _ = rustix::process::setsid();
    env::set_current_dir("/")?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(OPEN_FILES, |most| most.min(OPEN_FILES));
    if limit.current.is_some_and(|current| current < wanted) {
        rustix::process::setrlimit(
            Resource::Nofile,
            Rlimit { current: Some(wanted), maximum: limit.maximum },
        )?;
    }
    Ok(())
}

/// The signals that matter to a warden, as a stream that can be polled.
struct Signals {
    arrived: UnixStream,
    terminate: Arc<AtomicBool>,
}

impl Signals {
    fn listen() -> io::Result<Signals> {
        let (arrived, bell) = UnixStream::pair()?;
        arrived.set_nonblocking(true)?;
        let terminate = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGTERM, Arc::clone(&terminate))?;
        for signal in [SIGTERM, SIGCHLD] {
            signal_hook::low_level::pipe::register(signal, bell.try_clone()?)?;
        }
        // Handled and not ignored: an ignored signal would stay ignored in the server.
        let ignored = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&ignored))?;
        }
        Ok(Signals { arrived, terminate })
    }

    fn drain(&mut self) {
        let mut bytes = [0; 64];
        while matches!(self.arrived.read(&mut bytes), Ok(count) if count > 0) {}
    }
}

#[derive(Default)]
struct Duty {
    folders: Vec<LockedFolder>,
    /// The programs that run now: one, or the nodes of a cluster.
    children: Vec<Child>,
}

struct Child {
    pid: u32,
    /// How it is asked to stop; a program that prepares data is not asked.
    stop: Option<StopSignal>,
}

impl Duty {
    fn answer_requests(&mut self, signals: &mut Signals) -> io::Result<()> {
        let stdin = io::stdin();
        let mut lines = Lines::default();
        let mut bytes = [0; 4096];
        loop {
            let (asked, signalled) = {
                let mut sources = [
                    PollFd::new(&stdin, PollFlags::IN),
                    PollFd::new(&signals.arrived, PollFlags::IN),
                ];
                match rustix::event::poll(&mut sources, None) {
                    Ok(_) => {}
                    Err(rustix::io::Errno::INTR) => continue,
                    Err(error) => return Err(error.into()),
                }
                (!sources[0].revents().is_empty(), !sources[1].revents().is_empty())
            };
            if signalled {
                signals.drain();
                self.reap();
            }
            if signals.terminate.load(Ordering::Relaxed) {
                return Ok(());
            }
            if asked {
                // Not through `io::Stdin`, whose buffer `poll` does not see.
                match rustix::io::read(&stdin, &mut bytes) {
                    Ok(0) => return Ok(()),
                    Ok(count) => lines.extend(&bytes[..count]),
                    Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
                while let Some(request) = lines.next::<Request>() {
                    self.answer(request?);
                }
            }
        }
    }

    fn answer(&mut self, request: Request) {
        let report = match request {
            Request::Folder { parent, prefix, open } => {
                match LockedFolder::create(&parent, &prefix, open) {
                    Ok(folder) => {
                        let path = folder.path().to_path_buf();
                        self.folders.push(folder);
                        Report::Folder { path }
                    }
                    Err(error) => Report::Failed { why: error.to_string() },
                }
            }
            Request::Run(task) => match children::spawn(&task) {
                Ok(pid) => {
                    self.children.push(Child { pid, stop: None });
                    return;
                }
                Err(error) => Report::Failed { why: error.to_string() },
            },
            Request::Start { task, stop } => match children::spawn(&task) {
                Ok(pid) => {
                    self.children.push(Child { pid, stop: Some(stop) });
                    Report::Started { pid }
                }
                Err(error) => Report::Failed { why: error.to_string() },
            },
        };
        tell(&report);
    }

    /// Takes note of every child that ended. Orphans that came to the warden are among them.
    fn reap(&mut self) {
        while let Ended::One { pid, success, status } = children::reap() {
            let known = self.children.len();
            self.children.retain(|child| child.pid != pid);
            if self.children.len() < known {
                tell(&Report::Exited { pid, success, status });
            }
        }
    }

    fn end(mut self, signals: &mut Signals) {
        self.end_processes(signals);
        for folder in self.folders.drain(..) {
            let path = folder.path().to_path_buf();
            if let Err(error) = folder.remove() {
                tell(&Report::Failed {
                    why: format!("cannot remove the folder {}: {error}", path.display()),
                });
            }
        }
    }

    /// Returns when no descendant is left, or when those left do not even die of SIGKILL.
    fn end_processes(&mut self, signals: &mut Signals) {
        let mut patience = Duration::ZERO;
        for Child { pid, stop } in &self.children {
            if let Some(stop) = stop {
                children::signal(*pid, stop.signal());
                patience = GRACE;
            }
        }
        let begun = Instant::now();
        loop {
            loop {
                match children::reap() {
                    Ended::One { .. } => {}
                    Ended::NoneYet => break,
                    Ended::NoneLeft => return,
                }
            }
            let waited = begun.elapsed();
            if waited >= patience {
                for pid in children::descendants() {
                    children::signal(pid, Signal::KILL);
                }
            }
            if waited >= patience + DEATH_LIMIT {
                tell(&Report::Failed {
                    why: format!("processes {:?} do not end, even killed", children::descendants()),
                });
                return;
            }
            let nap = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
            let mut sources = [PollFd::new(&signals.arrived, PollFlags::IN)];
            // Woken early by a child's end; an error here only makes the nap shorter.
            let _ = rustix::event::poll(&mut sources, Some(&nap));
            signals.drain();
        }
    }
}

/// Reports to Assay, if it is still there to hear.
fn tell(report: &Report) {
    match protocol::send(&mut io::stdout().lock(), report) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("the warden cannot report: {error}");
        }
        _ => {}
    }
}
