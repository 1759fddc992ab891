//! A MariaDB or MySQL of the test's own, with users and settings that `assay-provision` refuses.

#[path = "../common/site.rs"]
mod site;
#[allow(clippy::duplicate_mod, reason = "a file without a state of its own")]
#[path = "../common/stopped.rs"]
mod stopped;

use std::{
    path::{Path, PathBuf},
    process::{Child, Command},
    sync::Arc,
};

use assay_model::{Address, Endpoint};
use rustix::process::{Pid, Signal, kill_process};
pub use site::free_port;
use site::{Shared, Site, installed, wait};

/// A running server in a temporary folder. Dropping it stops it.
pub struct Server {
    command: Command,
    process: Child,
    site: Site,
    client: PathBuf,
    port: u16,
}

/// The server that the tests of this process share, or `None` where MariaDB is not installed.
pub fn shared() -> Option<Arc<Server>> {
    static SHARED: Shared<Server> = Shared::new();
    SHARED.get(|| Server::start(&[]))
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
        let server = Server::serve(site, &prefix, client, &options);
        wait(server.port, || server.try_sql("SELECT 1").is_ok());
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
        let server = Server::serve(site, &basedir, PathBuf::new(), &options);
        wait(server.port, || true);
        Some(server)
    }

    /// Starts the server of the site, whose data folder is made.
    fn serve(site: Site, basedir: &Path, client: PathBuf, options: &[&str]) -> Server {
        let port = free_port();
        let mut command = site.command(&site.installed.binary);
        command
            .arg("--no-defaults")
            .arg(format!("--basedir={}", basedir.display()))
            .arg(format!("--datadir={}", site.data().display()))
            .arg(format!("--port={port}"))
            .args(["--socket=server.sock", "--bind-address=127.0.0.1"])
            .args(["--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=OFF"])
            .args(options);
        let process = command.spawn().expect("the server starts");
        Server { command, process, site, client, port }
    }

    /// Shuts it down in order and starts it again.
    pub fn restart(&mut self) {
        kill_process(Pid::from_child(&self.process), Signal::TERM).expect("it runs");
        self.process.wait().expect("it ends");
        self.process = self.command.spawn().expect("the server starts");
        wait(self.port, || self.try_sql("SELECT 1").is_ok());
    }

    /// Runs SQL as the superuser; returns the rows, columns divided by tabs.
    pub fn sql(&self, sql: &str) -> String {
        self.try_sql(sql).unwrap_or_else(|why| panic!("{sql}: {why}"))
    }

    /// As [`Server::sql`], with what the client said as the error.
    pub fn try_sql(&self, sql: &str) -> Result<String, String> {
        self.site.ask(&self.client, |command| {
            command.args(["--no-defaults", "-uroot", "-N", "-B", "-e", sql, "-S"]);
            command.arg(self.socket());
        })
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
        self.site.data().join("server.sock")
    }

    /// Stops it from running, without ending it.
    pub fn pause(&self) {
        stopped::pause(&self.process);
    }

    /// Lets it run again.
    pub fn resume(&self) {
        stopped::resume(&self.process);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
