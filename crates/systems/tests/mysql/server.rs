//! A MariaDB or MySQL of the test's own, with users and settings that `assay-provision` refuses.

#[path = "../common/installed.rs"]
mod installed;

use std::{
    fs,
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::unix::{fs::chown, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, Weak},
    thread,
    time::{Duration, Instant},
};

use assay_model::{Address, Endpoint};
use assay_provision::{Account, Installed};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// A running server in a temporary folder. Dropping it stops it.
pub struct Server {
    process: Child,
    folder: TempDir,
    installed: Installed,
    client: PathBuf,
    port: u16,
}

/// The server that the tests of this process share, or `None` where MariaDB is not installed.
pub fn shared() -> Option<Arc<Server>> {
    static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(server) = shared.upgrade() {
        return Some(server);
    }
    let server = Arc::new(Server::start(&[])?);
    *shared = Arc::downgrade(&server);
    Some(server)
}

/// The folder of a server that is being started, and as whom it runs.
struct Site {
    folder: TempDir,
    installed: Installed,
    account: Option<Account>,
}

impl Site {
    fn new(installed: Installed) -> Site {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let account = Account::for_servers().expect("an unprivileged user");
        if let Some(account) = &account {
            chown(folder.path(), Some(account.uid), Some(account.gid))
                .expect("root may give its folder away");
        }
        Site { folder, installed, account }
    }

    fn command(&self, program: &Path) -> Command {
        let folder = self.folder.path();
        let mut command = installed::command(&self.installed, program);
        command.current_dir(folder).env("TMPDIR", folder).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(account) = &self.account {
            command.uid(account.uid).gid(account.gid);
        }
        command
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Runs what makes the data folder.
    fn make(&self, mut command: Command) {
        let made = command.status().expect("it runs");
        assert!(made.success(), "{command:?}: {made}");
    }

    fn serve(self, basedir: &Path, client: PathBuf, options: &[&str]) -> Server {
        let port = free_port();
        let mut command = self.command(&self.installed.binary);
        command
            .arg("--no-defaults")
            .arg(format!("--basedir={}", basedir.display()))
            .arg(format!("--datadir={}", self.data().display()))
            .arg(format!("--port={port}"))
            .args(["--socket=server.sock", "--bind-address=127.0.0.1"])
            .args(["--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=OFF"])
            .args(options);
        let process = command.spawn().expect("the server starts");
        Server { process, folder: self.folder, client, installed: self.installed, port }
    }
}

impl Server {
    /// Starts a MariaDB with these options, each as in `--innodb-doublewrite=OFF`.
    pub fn start(options: &[&str]) -> Option<Server> {
        let installed = installed::installed("mariadb")?;
        let prefix =
            installed.binary.parent().and_then(Path::parent).expect("PREFIX/sbin/mariadbd");
        let prefix = prefix.to_path_buf();
        let (client, install) = (prefix.join("bin/mariadb"), prefix.join("bin/mariadb-install-db"));
        for program in [&client, &install] {
            if !program.is_file() {
                installed::skip(&format!("there is no {}", program.display()));
                return None;
            }
        }
        let site = Site::new(installed);
        let mut command = site.command(&install);
        command
            .arg("--no-defaults")
            .arg(format!("--basedir={}", prefix.display()))
            .arg(format!("--datadir={}", site.data().display()))
            .args(["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-log-bin"]);
        site.make(command);
        let options = [&["--skip-name-resolve"], options].concat();
        let server = site.serve(&prefix, client, &options);
        server.wait(|| server.try_sql("SELECT 1").is_ok());
        Some(server)
    }

    /// Starts a MySQL, of which there is no client to run SQL with.
    pub fn start_mysql() -> Option<Server> {
        let installed = installed::installed("mysql")?;
        let site = Site::new(installed);
        let home = site.installed.binary.parent().expect("HOME/mysqld").to_path_buf();
        let mut options = Vec::new();
        // Before 5.7, the data folder comes with the server.
        let made = home.join("data/mysql");
        let messages = format!("--lc-messages-dir={}", home.join("share").display());
        let basedir = if made.is_dir() {
            let mut command = site.command(Path::new("/bin/cp"));
            command.arg("-R").arg(made).arg(site.data());
            site.make(command);
            options.extend([&messages[..], "--explicit-defaults-for-timestamp"]);
            home
        } else {
            let mut command = site.command(&site.installed.binary);
            command
                .args(["--no-defaults", "--initialize-insecure"])
                .arg(format!("--datadir={}", site.data().display()));
            site.make(command);
            home.parent().expect("PREFIX/bin/mysqld").to_path_buf()
        };
        let server = site.serve(&basedir, PathBuf::new(), &options);
        server.wait(|| true);
        Some(server)
    }

    fn wait(&self, serves: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        let ready = || TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok() && serves();
        while !ready() {
            assert!(Instant::now() < deadline, "the server does not come up");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Runs SQL as the superuser; returns the rows, columns divided by tabs.
    pub fn sql(&self, sql: &str) -> String {
        self.try_sql(sql).unwrap_or_else(|why| panic!("{sql}: {why}"))
    }

    /// As [`Server::sql`], with what the client said as the error.
    pub fn try_sql(&self, sql: &str) -> Result<String, String> {
        let output = installed::command(&self.installed, &self.client)
            .args(["--no-defaults", "-uroot", "-N", "-B", "-e", sql, "-S"])
            .arg(self.socket())
            .output()
            .expect("the client runs");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim_end().to_owned();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }

    /// Creates an empty database; returns its endpoint over TCP.
    pub fn database(&self, name: &str) -> Endpoint {
        self.sql(&format!("CREATE DATABASE {name}"));
        self.tcp(name)
    }

    pub fn tcp(&self, database: &str) -> Endpoint {
        Endpoint { database: Some(database.into()), ..self.endpoint() }
    }

    /// Over TCP, without a database.
    pub fn endpoint(&self) -> Endpoint {
        Endpoint::at(Address::Tcp { host: "127.0.0.1".into(), port: self.port })
    }

    pub fn unix(&self, database: &str) -> Endpoint {
        let address = Address::Unix(self.socket());
        Endpoint { database: Some(database.into()), ..Endpoint::at(address) }
    }

    fn socket(&self) -> PathBuf {
        // A server's own folder is its current one.
        self.folder.path().join("data/server.sock")
    }

    /// Stops it from running, without ending it; no thread of it runs when this returns.
    pub fn pause(&self) {
        kill_process(Pid::from_child(&self.process), Signal::STOP).expect("it runs");
        // A thread that is at work when the signal comes may go on for a moment.
        while !self.stands_still() {
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn stands_still(&self) -> bool {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.process.id())).expect("it runs");
        // Threads that have ended meanwhile have no state.
        let stats =
            tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("stat")).ok());
        let mut states = stats.filter_map(|stat| stat.rsplit_once(") ")?.1.chars().next());
        states.all(|state| state == 'T')
    }

    /// Lets it run again.
    pub fn resume(&self) {
        kill_process(Pid::from_child(&self.process), Signal::CONT).expect("it is there");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A port that the operating system picks.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("its address").port()
}
