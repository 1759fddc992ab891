//! MonetDB's library, hosted by the test program itself.

#[path = "../common/installed.rs"]
pub mod installed;
#[allow(clippy::duplicate_mod, reason = "a file without a state of its own")]
#[path = "../common/stopped.rs"]
mod stopped;

use std::{
    env,
    ffi::OsString,
    net::{Ipv4Addr, TcpListener},
    path::PathBuf,
    process::{Child, Stdio, exit},
};

use assay_model::{Address, Endpoint};

/// Names the test that is the host, and holds what it is to host, a line each.
const HOSTED: &str = "ASSAY_TEST_HOSTED";

/// A running server. Dropping it stops it.
pub struct Server {
    process: Child,
    folder: tempfile::TempDir,
    port: u16,
}

/// What the test called `host` does in a process that a test started: it is the server.
pub fn host() {
    let Some(words) = env::var_os(HOSTED) else { return };
    let words = words.into_string().expect("plain paths");
    let args = ["host"].into_iter().chain(words.lines()).map(OsString::from);
    let _ = assay_provision::warden::run(args);
    exit(0);
}

impl Server {
    /// Starts a server with its database in memory or in a folder. `None` where there is no library.
    pub fn start(in_memory: bool) -> Option<Server> {
        let installed = installed::installed("monetdb")?;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|listener| listener.local_addr())
            .expect("a port")
            .port();
        let mut words = vec![installed.binary.display().to_string(), format!("port={port}")];
        words.push(format!("socket={}", folder.path().join(SOCKET).display()));
        if !in_memory {
            words.push(format!("folder={}", folder.path().display()));
        }
        let program = env::current_exe().expect("this program has a path");
        let process = installed::command(&installed, &program)
            .args(["--exact", "host", "--nocapture", "--test-threads=1"])
            .env(HOSTED, words.join("\n"))
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("this program runs");
        Some(Server { process, folder, port })
    }

    /// Its endpoint over TCP.
    pub fn endpoint(&self) -> Endpoint {
        Endpoint::at(Address::Tcp { host: "127.0.0.1".into(), port: self.port })
    }

    /// Its endpoint by its Unix socket.
    pub fn unix(&self) -> Endpoint {
        Endpoint::at(Address::Unix(self.socket()))
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join(SOCKET)
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

const SOCKET: &str = "mapi.sock";
