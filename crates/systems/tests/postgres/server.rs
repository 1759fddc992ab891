//! A PostgreSQL of the test's own, with access rules and settings that `assay-provision` refuses.

#[path = "../common/site.rs"]
mod site;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use assay_model::{Address, Endpoint};
use rustix::process::{Pid, Signal, kill_process};
pub use site::free_port;
use site::{Shared, Site, installed, wait};

/// The superuser of the test servers.
pub const OWNER: &str = "owner";

/// A running server in a temporary folder. Dropping it stops it.
pub struct Server {
    command: Command,
    process: Child,
    site: Site,
    psql: PathBuf,
    port: u16,
}

/// The server that the tests of this process share, or `None` where PostgreSQL is not installed.
pub fn shared() -> Option<Arc<Server>> {
    static SHARED: Shared<Server> = Shared::new();
    SHARED.get(|| Server::start(&[]))
}

impl Server {
    /// Starts a server with these settings, each as in `fsync=off`.
    pub fn start(settings: &[&str]) -> Option<Server> {
        let installed = installed::installed("postgres")?;
        let psql = installed.binary.with_file_name("psql");
        if !psql.is_file() {
            installed::skip(&format!("there is no {}", psql.display()));
            return None;
        }
        let site = Site::new(installed);
        let data = site.data();
        let mut command = site.command(&site.installed.binary.with_file_name("initdb"));
        command
            .args(["-U", OWNER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-D"])
            .arg(&data);
        site.make(command);
        fs::write(data.join("pg_hba.conf"), ACCESS).expect("the access rules are written");
        let port = free_port();
        let mut command = site.command(&site.installed.binary);
        command.arg("-D").arg(&data).arg("-k").arg(site.folder());
        command.args(["-h", "127.0.0.1", "-p", &port.to_string()]);
        for setting in settings {
            command.args(["-c", setting]);
        }
        let process = command.spawn().expect("postgres starts");
        let server = Server { command, process, site, psql, port };
        wait(port, || server.try_sql("postgres", "SELECT 1").is_ok());
        Some(server)
    }

    /// Shuts it down in order, clients or not, and starts it again.
    pub fn restart(&mut self) {
        kill_process(Pid::from_child(&self.process), Signal::INT).expect("it runs");
        self.process.wait().expect("it ends");
        self.process = self.command.spawn().expect("postgres starts");
        wait(self.port, || self.try_sql("postgres", "SELECT 1").is_ok());
    }

    /// Runs SQL as the superuser; returns the rows, columns divided by `|`.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        self.try_sql(database, sql).unwrap_or_else(|why| panic!("{sql}: {why}"))
    }

    /// As [`Server::sql`], with what psql said as the error.
    pub fn try_sql(&self, database: &str, sql: &str) -> Result<String, String> {
        self.site.ask(&self.psql, |command| {
            command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", OWNER]);
            command.args(["-p", &self.port.to_string(), "-d", database, "-c", sql, "-h"]);
            command.arg(self.folder());
        })
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
        let socket = self.folder().join(format!(".s.PGSQL.{}", self.port));
        Endpoint { user: Some(OWNER.into()), ..at(Address::Unix(socket), database) }
    }

    pub fn folder(&self) -> &Path {
        self.site.folder()
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
