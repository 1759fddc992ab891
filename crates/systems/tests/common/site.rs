//! A folder of its own for a server of a test, and as whom the server runs.

#[path = "installed.rs"]
pub mod installed;

use std::{
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::unix::{fs::chown, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{Arc, Mutex, Weak},
    thread,
    time::{Duration, Instant},
};

use assay_provision::{Account, Installed};
use tempfile::TempDir;

/// A temporary folder that belongs to the account that servers run as.
pub struct Site {
    folder: TempDir,
    pub installed: Installed,
    account: Option<Account>,
}

impl Site {
    pub fn new(installed: Installed) -> Site {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let account = Account::for_servers().expect("an unprivileged user");
        if let Some(account) = &account {
            chown(folder.path(), Some(account.uid), Some(account.gid))
                .expect("root may give its folder away");
        }
        Site { folder, installed, account }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The user and the group that it belongs to, if not those of the test.
    #[allow(dead_code, reason = "most servers make their files themselves")]
    pub fn owner(&self) -> Option<(u32, u32)> {
        self.account.as_ref().map(|account| (account.uid, account.gid))
    }

    /// Where the data goes. The folder is still to be made.
    pub fn data(&self) -> PathBuf {
        self.folder().join("data")
    }

    /// A silent call of `program` in the folder, as the account.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = installed::command(&self.installed, program);
        command.current_dir(self.folder()).env("TMPDIR", self.folder()).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(account) = &self.account {
            command.uid(account.uid).gid(account.gid);
        }
        command
    }

    /// Runs what makes the data folder.
    pub fn make(&self, mut command: Command) {
        let made = command.status().expect("it runs");
        assert!(made.success(), "{command:?}: {made}");
    }

    /// What a client of the server printed, or its complaints if it failed.
    pub fn ask(
        &self,
        client: &Path,
        arguments: impl FnOnce(&mut Command),
    ) -> Result<String, String> {
        let mut command = installed::command(&self.installed, client);
        arguments(&mut command);
        let Output { status, stdout, stderr } = command.output().expect("the client runs");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim_end().to_owned();
        if status.success() { Ok(text(stdout)) } else { Err(text(stderr)) }
    }
}

/// Waits until something listens on the port and `serves`.
pub fn wait(port: u16, serves: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() || !serves() {
        assert!(Instant::now() < deadline, "the server does not come up");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A port that the operating system picks.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("its address").port()
}

/// The server that the tests of a process share: it ends with the last of them that has it.
pub struct Shared<T>(Mutex<Weak<T>>);

impl<T> Shared<T> {
    pub const fn new() -> Shared<T> {
        Shared(Mutex::new(Weak::new()))
    }

    /// The running one, or what `start` starts.
    pub fn get(&self, start: impl FnOnce() -> Option<T>) -> Option<Arc<T>> {
        let mut shared = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(server) = shared.upgrade() {
            return Some(server);
        }
        let server = Arc::new(start()?);
        *shared = Arc::downgrade(&server);
        Some(server)
    }
}
