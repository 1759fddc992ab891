//! A PostgreSQL of the test's own, with access rules and settings that `assay-provision` refuses.

#[path = "../common/installed.rs"]
mod installed;

use std::{
    fs,
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::unix::{fs::chown, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Stdio},
    sync::{Arc, Mutex, Weak},
    thread,
    time::{Duration, Instant},
};

use assay_model::{Address, Endpoint};
use assay_provision::{Account, Installed};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The superuser of the test servers.
pub const OWNER: &str = "owner";

/// A running server in a temporary folder. Dropping it stops it.
pub struct Server {
    process: Child,
    folder: TempDir,
    installed: Installed,
    psql: PathBuf,
    port: u16,
}

/// The server that the tests of this process share, or `None` where PostgreSQL is not installed.
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

impl Server {
    /// Starts a server with these settings, each as in `fsync=off`.
    pub fn start(settings: &[&str]) -> Option<Server> {
        let installed = installed::installed("postgres")?;
        let beside = |name: &str| installed.binary.with_file_name(name);
        let psql = beside("psql");
        if !psql.is_file() {
            installed::skip(&format!("there is no {}", psql.display()));
            return None;
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let account = Account::for_servers().expect("an unprivileged user");
        if let Some(account) = &account {
            chown(folder.path(), Some(account.uid), Some(account.gid))
                .expect("root may give its folder away");
        }
        let program = |name: &str| {
            let mut command = installed::command(&installed, &beside(name));
            command.current_dir(folder.path()).stdin(Stdio::null());
            command.stdout(Stdio::null()).stderr(Stdio::null());
            if let Some(account) = &account {
                command.uid(account.uid).gid(account.gid);
            }
            command
        };
        let data = folder.path().join("data");
        let made = program("initdb")
            .args(["-U", OWNER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-D"])
            .arg(&data)
            .status()
            .expect("initdb runs");
        assert!(made.success(), "initdb: {made}");
        fs::write(data.join("pg_hba.conf"), ACCESS).expect("the access rules are written");
        let port = free_port();
        let mut command = program("postgres");
        command.arg("-D").arg(&data).arg("-k").arg(folder.path());
        command.args(["-h", "127.0.0.1", "-p", &port.to_string()]);
        for setting in settings {
            command.args(["-c", setting]);
        }
        let process = command.spawn().expect("postgres starts");
        let server = Server { process, folder, installed, psql, port };
        server.wait();
        Some(server)
    }

    fn wait(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        let ready = || {
            TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok()
                && self.try_sql("postgres", "SELECT 1").is_ok()
        };
        while !ready() {
            assert!(Instant::now() < deadline, "postgres does not come up");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Runs SQL as the superuser; returns the rows, columns divided by `|`.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        self.try_sql(database, sql).unwrap_or_else(|why| panic!("{sql}: {why}"))
    }

    /// As [`Server::sql`], with what psql said as the error.
    pub fn try_sql(&self, database: &str, sql: &str) -> Result<String, String> {
        let output = installed::command(&self.installed, &self.psql)
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", OWNER])
            .args(["-p", &self.port.to_string(), "-d", database, "-c", sql, "-h"])
            .arg(self.folder.path())
            .output()
            .expect("psql runs");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim_end().to_owned();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }

    /// Creates an empty database; returns its endpoint over TCP.
    pub fn database(&self, name: &str) -> Endpoint {
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.tcp(name)
    }

    pub fn tcp(&self, database: &str) -> Endpoint {
        let address = Address::Tcp { host: "127.0.0.1".into(), port: self.port };
        Endpoint { user: Some(OWNER.into()), ..at(address, database) }
    }

    pub fn unix(&self, database: &str) -> Endpoint {
        let socket = self.folder.path().join(format!(".s.PGSQL.{}", self.port));
        Endpoint { user: Some(OWNER.into()), ..at(Address::Unix(socket), database) }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let postmaster = Pid::from_child(&self.process);
        // The fast way down; every child goes with it.
        let _ = kill_process(postmaster, Signal::QUIT);
        let deadline = Instant::now() + Duration::from_secs(10);
        while matches!(self.process.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                let _ = self.process.kill();
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Which database may be reached how; all but the last line are for the tests of logging in.
const ACCESS: &str = "\
host login_scram all 127.0.0.1/32 scram-sha-256
host login_md5 all 127.0.0.1/32 md5
host login_password all 127.0.0.1/32 password
hostssl login_tls all 127.0.0.1/32 trust
host login_tls all 127.0.0.1/32 reject
local all all trust
host all all 127.0.0.1/32 trust
";

fn at(address: Address, database: &str) -> Endpoint {
    Endpoint { database: Some(database.into()), ..Endpoint::at(address) }
}

/// A port that the operating system picks.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("its address").port()
}
