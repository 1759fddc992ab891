//! A VoltDB of the test's own: with users, and in the test's hand.

#[allow(dead_code, reason = "these servers need no data folder made for them")]
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
};

use assay_model::{Address, Endpoint};
use assay_systems::Target;
use site::{Site, free_port, installed, wait};

/// A login of version 0 by nobody, which every server answers once it serves.
const LOGIN: &[u8] = b"\0\0\0\x25\0\0\0\0\x08database\0\0\0\0aaaaaaaaaaaaaaaaaaaa";

/// A running server in a temporary folder. Dropping it stops it.
pub struct Server {
    process: Child,
    site: Site,
    ports: [u16; 5],
}

impl Server {
    /// Starts one with two sites, and with these parts in its deployment file.
    pub fn start(parts: &str) -> Option<Server> {
        let site = Site::new(installed::installed("voltdb")?);
        let deployment = format!(
            "<deployment><cluster hostcount=\"1\" sitesperhost=\"2\"/>\
             <httpd enabled=\"false\"/>{parts}</deployment>"
        );
        fs::write(site.folder().join("deployment.xml"), deployment).expect("written");
        // Without a word on where its log goes, it goes nowhere.
        fs::write(site.folder().join("log4j.properties"), "log4j.rootLogger=OFF\n")
            .expect("written");
        let ports = [(); 5].map(|()| free_port());
        let process = serve(&site, &ports);
        let server = Server { process, site, ports };
        server.wait();
        Some(server)
    }

    fn wait(&self) {
        wait(self.ports[0], || {
            let mut stream = TcpStream::connect(("127.0.0.1", self.ports[0])).expect("it listens");
            stream.write_all(LOGIN).is_ok() && matches!(stream.read(&mut [0; 64]), Ok(6..))
        });
    }

    /// Ends it as a crash would, and starts it again with nothing in it.
    pub fn restart(&mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ends");
        self.process = serve(&self.site, &self.ports);
        self.wait();
    }

    pub fn endpoint(&self) -> Endpoint {
        Endpoint::at(Address::Tcp { host: "127.0.0.1".into(), port: self.ports[0] })
    }

    pub fn target(&self) -> Target {
        Target::Server(self.endpoint())
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

fn serve(site: &Site, ports: &[u16; 5]) -> Child {
    let java = site.installed.java.as_ref().expect("VoltDB is a jar");
    let at = |port: u16| format!("127.0.0.1:{port}");
    let mut command = site.command(java);
    command.arg("-cp").arg(site.installed.binary.with_file_name("*"));
    command.args(["-Xmx512m", "-XX:-UsePerfData", "-Djava.io.tmpdir=."]);
    command.args(["-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"]);
    for package in ["java.lang", "sun.nio.ch", "java.net", "java.nio"] {
        command.arg(format!("--add-opens=java.base/{package}=ALL-UNNAMED"));
    }
    command.args(["-Dlog4j.configuration=file:log4j.properties", "org.voltdb.VoltDB", "create"]);
    command.args(["force", "deployment", "deployment.xml", "voltdbroot"]).arg(site.data());
    command.args(["internalinterface", "127.0.0.1", "externalinterface", "127.0.0.1"]);
    let names = ["port", "internalport", "zkport", "adminport", "replicationport"];
    for (name, port) in names.into_iter().zip(ports) {
        command.args([name, &at(*port)]);
    }
    command.args(["host", &at(ports[1])]);
    command.spawn().expect("the server starts")
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
