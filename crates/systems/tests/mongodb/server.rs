//! A SecantusDB, or a MongoDB, of the test's own: with users, and in the test's hand.

#[allow(dead_code, reason = "these servers need no program but their own")]
#[path = "../common/site.rs"]
mod site;
#[allow(clippy::duplicate_mod, reason = "a file without a state of its own")]
#[path = "../common/stopped.rs"]
mod stopped;

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    process::Child,
    sync::Arc,
};

use assay_model::{Address, Endpoint};
pub use rustix::process::Signal;
use rustix::process::{Pid, kill_process};
pub use site::free_port;
use site::{Shared, Site, installed, wait};

/// A running server in a temporary folder. Dropping it stops it.
pub struct Server {
    process: Child,
    site: Arc<Site>,
    port: u16,
    options: Vec<String>,
}

/// The stand-in that the tests of this process share, or `None` where it is not installed.
pub fn shared() -> Option<Arc<Server>> {
    static SHARED: Shared<Server> = Shared::new();
    SHARED.get(|| Server::start(&[]))
}

impl Server {
    /// Starts a SecantusDB with these options, each as in `--auth`.
    pub fn start(options: &[&str]) -> Option<Server> {
        let site = Site::new(installed::installed("secantusdb")?);
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        Some(Server::serve(site.into(), free_port(), options))
    }

    /// Starts a MongoDB.
    pub fn start_mongodb() -> Option<Server> {
        let site = Site::new(installed::installed("mongodb")?);
        fs::create_dir(site.data()).expect("a folder for its data");
        Some(Server::serve(site.into(), free_port(), vec!["--nounixsocket".into()]))
    }

    fn serve(site: Arc<Site>, port: u16, options: Vec<String>) -> Server {
        let stand_in = site.installed.recipe.name == "secantusdb";
        let place = if stand_in { ["--host", "--storage-path"] } else { ["--bind_ip", "--dbpath"] };
        let mut command = site.command(&site.installed.binary);
        command.args([place[0], "127.0.0.1", "--port", &port.to_string()]);
        command.arg(place[1]).arg(site.data()).args(&options);
        if stand_in {
            // It would look for its settings in the home of whoever runs the tests.
            command.args(["--standalone", "--log-level", "WARNING"]).env("HOME", site.folder());
        }
        let process = command.spawn().expect("the server starts");
        let server = Server { process, site, port, options };
        wait(port, || true);
        server
    }

    /// Ends it by this signal, and starts it again on its data and its port, with these options.
    pub fn restart(mut self, signal: Signal, options: &[&str]) -> Server {
        kill_process(Pid::from_child(&self.process), signal).expect("it runs");
        self.process.wait().expect("it ends");
        let mut all = std::mem::take(&mut self.options);
        all.extend(options.iter().map(|option| (*option).to_owned()));
        Server::serve(Arc::clone(&self.site), self.port, all)
    }

    /// Sends a message by hand, on a connection of its own; returns the whole answer.
    pub fn exchange(&self, message: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.write_all(message).expect("it reads");
        let mut length = [0; 4];
        stream.read_exact(&mut length).expect("it answers");
        let mut answer = vec![0; u32::from_le_bytes(length) as usize - 4];
        stream.read_exact(&mut answer).expect("it answers");
        answer
    }

    /// Without a database.
    pub fn endpoint(&self) -> Endpoint {
        Endpoint::at(Address::Tcp { host: "127.0.0.1".into(), port: self.port })
    }

    /// With a database.
    pub fn database(&self, name: &str) -> Endpoint {
        Endpoint { database: Some(name.into()), ..self.endpoint() }
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
