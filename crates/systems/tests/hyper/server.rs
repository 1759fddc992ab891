//! A HyPer of the test's own, with a password if it shall have one, which `assay-provision` refuses.

#[allow(dead_code, reason = "these tests take a part of what others share")]
#[path = "../common/site.rs"]
mod site;
#[allow(clippy::duplicate_mod, reason = "a file without a state of its own")]
#[path = "../common/stopped.rs"]
mod stopped;

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    sync::Arc,
};

use assay_model::{Address, Endpoint};
pub use site::free_port;
use site::{Shared, Site, installed, wait};

/// The superuser of the test servers.
pub const OWNER: &str = "owner";

/// A running server in a temporary folder. Dropping it stops it.
pub struct Server {
    process: Child,
    site: Site,
    port: u16,
}

/// The server that the tests of this process share, or `None` where HyPer is not installed.
pub fn shared() -> Option<Arc<Server>> {
    static SHARED: Shared<Server> = Shared::new();
    SHARED.get(|| Server::start(None))
}

impl Server {
    /// Starts a server that asks for this password, if there is one.
    pub fn start(password: Option<&str>) -> Option<Server> {
        let site = Site::new(installed::installed("hyper")?);
        let port = free_port();
        let mut command = site.command(&site.installed.binary);
        command
            .args(["run", "--skip-license=true", "--log-config=cerr,string,error"])
            // As Assay starts it: with more, a read crashes it that meets an update.
            .arg("--hard-concurrent-query-thread-limit=1")
            .arg(format!("--no-password={}", password.is_none()))
            .arg(format!("--init-user={OWNER}"))
            .arg("--listen-connection")
            .arg(format!(
                "tab.tcp://127.0.0.1:{port},tab.domain://{}/domain/{SOCKET}",
                site.folder().display()
            ))
            .stdin(Stdio::piped());
        let mut process = command.spawn().expect("hyperd starts");
        // It asks twice.
        let words = password.map(|password| format!("{password}\n{password}\n"));
        let mut input = process.stdin.take().expect("piped");
        input.write_all(words.unwrap_or_default().as_bytes()).expect("it reads");
        let server = Server { process, site, port };
        wait(port, || true);
        Some(server)
    }

    /// Its endpoint over TCP, without a database.
    pub fn endpoint(&self) -> Endpoint {
        self.at(Address::Tcp { host: "127.0.0.1".into(), port: self.port })
    }

    /// The same, by its Unix socket.
    pub fn unix(&self) -> Endpoint {
        self.at(Address::Unix(self.folder().join(SOCKET)))
    }

    fn at(&self, address: Address) -> Endpoint {
        Endpoint { user: Some(OWNER.into()), ..Endpoint::at(address) }
    }

    /// The file of the database called `name`.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// The folder that holds its socket and its databases.
    pub fn folder(&self) -> &Path {
        self.site.folder()
    }

    /// Stops it from running, without ending it.
    pub fn pause(&self) {
        stopped::pause(&self.process);
    }

    /// Lets it run again.
    pub fn resume(&self) {
        stopped::resume(&self.process);
    }

    /// Ends it as a crash would.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The socket's name in its folder.
const SOCKET: &str = ".s.PGSQL.7483";
