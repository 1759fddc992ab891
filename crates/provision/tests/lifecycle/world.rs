//! What the tests share: servers, processes and folders looked at from outside.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use assay_model::Durability;
use assay_provision::{Folders, Installed, Launch, Server, Transport, Warden, find, recipe};
use rustix::process::{Pid, Signal};
use tempfile::TempDir;

/// How long anything may take before a test fails. Never a measure of speed.
pub const LIMIT: Duration = Duration::from_secs(60);

/// The server of this name on this machine; if there is none, says that a test is skipped.
pub fn installed(name: &str) -> Option<Installed> {
    let recipe = recipe(name).expect("a recipe of this name");
    let found = find(recipe, &Folders::from_env()).expect("no broken override");
    if found.is_none() {
        eprintln!("skipped: {name} is not installed");
    }
    found
}

/// This program in the part of a warden.
pub fn warden() -> Warden {
    Warden {
        program: std::env::current_exe().expect("this program has a path"),
        leading_args: vec!["warden".into()],
    }
}

/// A plain start of `installed` below `parent`.
pub fn launch<'a>(installed: &'a Installed, parent: &Path) -> Launch<'a> {
    Launch {
        installed,
        durability: Durability::None,
        transport: Transport::Tcp,
        settings: BTreeMap::new(),
        cpus: None,
        parent_folder: parent.to_path_buf(),
        warden: warden(),
        ready_timeout: LIMIT,
    }
}

/// Starts `launch`, which must work.
pub fn start(launch: Launch<'_>) -> Server {
    let name = launch.installed.recipe.name;
    match assay_provision::start(launch) {
        Ok(server) => server,
        Err(error) => panic!("{name} starts: {error}"),
    }
}

/// A folder that every user can pass through.
pub fn place() -> TempDir {
    let place = tempfile::tempdir().expect("a temporary folder");
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).expect("set");
    place
}

/// What is in `folder`.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect()
}

/// Waits until `done`, or fails and says what was awaited.
pub fn await_that(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < LIMIT, "in vain: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a process runs. One that ended and that nobody has waited for does not.
pub fn is_running(pid: u32) -> bool {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z')),
        Err(_) => false,
    }
}

/// The session of a process: 0 where its leader is outside this PID namespace, as in a container,
/// which is why `getsid` does not do.
pub fn session(pid: u32) -> u32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process runs");
    let (_, fields) = stat.rsplit_once(") ").expect("a name in parentheses");
    let session = fields.split(' ').nth(3).expect("state, parent, group and session");
    session.parse().expect("a number")
}

/// The processes whose parent is `pid`, and theirs.
pub fn descendants(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut next = vec![pid];
    while let Some(pid) = next.pop() {
        let path = format!("/proc/{pid}/task/{pid}/children");
        let children = fs::read_to_string(path).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
            found.push(child);
            next.push(child);
        }
    }
    found
}

/// A field of `/proc/PID/status`.
pub fn status_field(pid: u32, name: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.expect("a field of this name").trim().to_owned()
}

/// Sends a signal to a process.
pub fn signal(pid: u32, signal: Signal) {
    rustix::process::kill_process(id(pid), signal).expect("the process is there");
}

/// Sends a signal to a process group, as a terminal does.
pub fn signal_group(pid: u32, signal: Signal) {
    rustix::process::kill_process_group(id(pid), signal).expect("the group is there");
}

fn id(pid: u32) -> Pid {
    Pid::from_raw(i32::try_from(pid).expect("a process number")).expect("not zero")
}
