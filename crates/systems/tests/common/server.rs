//! Servers for tests, on a free loopback port, in a folder of their own, killed when the test ends.
//! They are started here and not by `assay-provision`, which refuses what some tests are about:
//! passwords, foreign data, too little memory.

#[path = "installed.rs"]
pub mod installed;

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::{fs::PermissionsExt, net::UnixStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use assay_model::{Address, Endpoint};
use assay_provision::Installed;
use assay_systems::Target;
pub use installed::installed;

/// A running server.
pub struct Server {
    command: Command,
    child: Child,
    folder: tempfile::TempDir,
    port: u16,
}

impl Server {
    /// Starts Redis or Valkey with `arguments` besides the usual ones.
    pub fn redis(program: &Installed, arguments: &[&str]) -> Server {
        let server = Server::start(|port, folder| {
            let mut command = installed::command(program, &program.binary);
            command
                .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
                .args(["--unixsocket", "server.sock"])
                .args(["--save", "", "--dir", "."])
                .args(arguments)
                .current_dir(folder);
            command
        });
        // It listens on its port first.
        let end = Instant::now() + Duration::from_secs(20);
        while UnixStream::connect(server.socket()).is_err() {
            assert!(Instant::now() < end, "its Unix socket does not listen");
            thread::sleep(Duration::from_millis(5));
        }
        server
    }

    /// Starts Memcached on its port with `arguments` besides the usual ones.
    pub fn memcached(program: &Installed, arguments: &[&str]) -> Server {
        Server::start(|port, folder| {
            let mut command = installed::command(program, &program.binary);
            command
                .args(["-u", "nobody", "-t", "2", "-l", "127.0.0.1", "-U", "0"])
                .args(["-p", &port.to_string()])
                .args(arguments)
                .current_dir(folder);
            command
        })
    }

    /// Starts Memcached on its Unix socket.
    pub fn memcached_on_socket(program: &Installed, arguments: &[&str]) -> Server {
        Server::start(|_, folder| {
            let mut command = installed::command(program, &program.binary);
            command
                .args(["-u", "nobody", "-t", "2", "-s", "server.sock", "-a", "0777"])
                .args(arguments)
                .current_dir(folder);
            command
        })
    }

    fn start(command: impl Fn(u16, &Path) -> Command) -> Server {
        // Another process may take the port between its choice and its use.
        for _ in 0..5 {
            let folder = tempfile::tempdir().expect("a temporary folder");
            // A server that drops its privileges makes its socket as somebody else.
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777))
                .expect("a folder of our own");
            let port = TcpListener::bind("127.0.0.1:0")
                .and_then(|listener| listener.local_addr())
                .expect("a free port")
                .port();
            let mut command = command(port, folder.path());
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let child = command.spawn().expect("the server starts");
            let mut server = Server { command, child, folder, port };
            if server.listens() {
                return server;
            }
        }
        panic!("the server did not come up five times");
    }

    /// Waits until it accepts connections; false if it ended instead.
    fn listens(&mut self) -> bool {
        let end = Instant::now() + Duration::from_secs(20);
        while Instant::now() < end {
            if self.child.try_wait().expect("the server's state").is_some() {
                return false;
            }
            let socket = self.socket();
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok()
                || UnixStream::connect(socket).is_ok()
            {
                return true;
            }
            thread::sleep(Duration::from_millis(5));
        }
        false
    }

    /// Its address over TCP.
    pub fn endpoint(&self) -> Endpoint {
        Endpoint::at(Address::Tcp { host: "127.0.0.1".into(), port: self.port })
    }

    /// Where its Unix socket is, if it has one.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("server.sock")
    }

    /// It as a driver's target, over TCP.
    pub fn target(&self) -> Target {
        Target::Server(self.endpoint())
    }

    /// Sends a request by hand, on a connection of its own, which must be answered so.
    pub fn answers(&self, request: &str, reply: &str) {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        socket.write_all(format!("{request}\r\n").as_bytes()).expect("it reads");
        let due = format!("{reply}\r\n");
        let mut came = vec![0; due.len()];
        socket.read_exact(&mut came).unwrap_or_else(|error| panic!("{request}: {error}"));
        assert_eq!(String::from_utf8_lossy(&came), due, "to {request}");
    }

    /// Stops it, as a crash would, and starts it again in its place.
    #[allow(dead_code, reason = "some of those who share this leave it running")]
    pub fn restart(&mut self) {
        self.kill();
        self.child = self.command.spawn().expect("the server starts");
        assert!(self.listens(), "it listens again");
    }

    /// Stops it, as a crash would.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}
