//! Running the binary, and looking at processes from outside.

use std::{
    fmt, fs,
    io::Read,
    os::unix::process::{CommandExt, ExitStatusExt},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
};

use rustix::process::{Pid, Signal};

use super::await_that;

/// A run of the binary that has ended.
pub struct Finished {
    /// Its exit status; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    /// Fails unless standard error has each of these.
    pub fn says(&self, named: &[&str]) {
        for text in named {
            assert!(self.stderr.contains(text), "'{text}' is not said\n{self}");
        }
    }
}

impl fmt::Display for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finished { code, signal, stdout, stderr } = self;
        write!(f, "status {code:?}, signal {signal:?}\n{stdout}\n{stderr}")
    }
}

/// A run of the binary under way, in a process group of its own as a shell has it. It is killed if
/// the test fails.
pub struct Running {
    child: Child,
    stdout: Output,
    stderr: Output,
}

/// What a process wrote so far.
struct Output {
    text: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Running {
    /// Starts a command with nothing to read.
    pub fn start(command: Command) -> Running {
        Running::start_with(command, Stdio::null())
    }

    /// Starts a command that reads from `stdin`.
    pub fn start_with(mut command: Command, stdin: impl Into<Stdio>) -> Running {
        let mut child = command
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let stdout = Output::of(child.stdout.take().unwrap());
        let stderr = Output::of(child.stderr.take().unwrap());
        Running { child, stdout, stderr }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until `done`, before which it must not end.
    pub fn await_that(&mut self, what: &str, mut done: impl FnMut(&Running) -> bool) {
        await_that(what, || {
            let ended = self.child.try_wait().unwrap().is_some();
            let done = done(self);
            assert!(done || !ended, "it ended before '{what}': {}", self.stderr.so_far());
            done
        });
    }

    /// What it has written to standard output so far.
    pub fn said(&self) -> String {
        self.stdout.so_far()
    }

    /// Waits until it has said `text` on standard error.
    pub fn await_message(&mut self, text: &str) {
        self.await_that(text, |running| running.stderr.so_far().contains(text));
    }

    /// Sends a signal to the process only.
    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal);
    }

    /// Sends a signal to the process group, as a terminal does on Ctrl-C.
    pub fn signal_group(&self, signal: Signal) {
        rustix::process::kill_process_group(id(self.pid()), signal).unwrap();
    }

    /// The processes that it started, and those that they started.
    pub fn descendants(&self) -> Vec<u32> {
        let mut found = Vec::new();
        let mut next = vec![self.pid()];
        while let Some(parent) = next.pop() {
            let children =
                all_processes().into_iter().filter(|&pid| parent_of(pid) == Some(parent));
            for child in children {
                found.push(child);
                next.push(child);
            }
        }
        found
    }

    /// The server `program` that it started and the server's warden, once they are there.
    pub fn await_server(&mut self, program: &str) -> (u32, u32) {
        let mut found = None;
        self.await_that(program, |running| {
            // What it asks for a version is its own child, and what a server forks is the server's.
            found = running.descendants().into_iter().find_map(|pid| {
                let warden = parent_of(pid).filter(|&warden| warden != running.pid())?;
                let is_warden = parent_of(warden) == Some(running.pid());
                (is_warden && self::program(pid) == program).then_some((pid, warden))
            });
            found.is_some()
        });
        found.unwrap()
    }

    /// Whether the main thread and all others sleep.
    pub fn sleeps(&self) -> bool {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.pid())).into_iter().flatten();
        tasks.flatten().all(|task| {
            fs::read_to_string(task.path().join("stat"))
                .is_ok_and(|stat| after_name(&stat).is_some_and(|rest| rest.starts_with('S')))
        })
    }

    /// Waits for its end.
    pub fn wait(mut self) -> Finished {
        let mut status = None;
        await_that("the binary ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        let status = status.unwrap();
        Finished {
            code: status.code(),
            signal: status.signal(),
            stdout: self.stdout.all(),
            stderr: self.stderr.all(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // After an orderly end both fail, and nothing is lost.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Output {
    fn of(mut pipe: impl Read + Send + 'static) -> Output {
        let text = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&text);
        let reader = thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut bytes) {
                written.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        Output { text, reader: Some(reader) }
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.text.lock().unwrap()).into_owned()
    }

    /// Everything, up to the end of the pipe: nobody may hold it longer than the process lives.
    fn all(&mut self) -> String {
        let reader = self.reader.take().expect("read to the end only once");
        await_that("the end of the output", || reader.is_finished());
        self.so_far()
    }
}

/// Sends a signal to one process.
pub fn kill(pid: u32, signal: Signal) {
    rustix::process::kill_process(id(pid), signal).unwrap();
}

/// Whether a process runs. One that ended and that nobody has waited for does not.
pub fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    after_name(&stat).is_some_and(|rest| !rest.starts_with('Z'))
}

/// The processes that were started for `place`, as `PID PROGRAM`: they have it in their
/// environment, as wardens do, or work in a folder below it, as servers do.
pub fn processes_of(place: &Path) -> Vec<String> {
    let mark = place.as_os_str().as_encoded_bytes();
    let marked = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.windows(mark.len()).any(|bytes| bytes == mark)
            || fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(place))
    };
    let processes = all_processes().into_iter().filter(marked);
    processes.filter(|&pid| is_running(pid)).map(|pid| format!("{pid} {}", program(pid))).collect()
}

fn all_processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    after_name(&stat)?.split(' ').nth(1)?.parse().ok()
}

/// The name of the program that a process runs, of at most 15 letters.
fn program(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

/// What `/proc/PID/stat` says behind the program's name: first the state, then the parent.
fn after_name(stat: &str) -> Option<&str> {
    stat.rsplit_once(") ").map(|(_, rest)| rest)
}

fn id(pid: u32) -> Pid {
    Pid::from_raw(pid.cast_signed()).unwrap()
}
