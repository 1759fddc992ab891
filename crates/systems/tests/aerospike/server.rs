//! An Aerospike of the test's own: a node that is alone, or a cluster of several.

#[allow(dead_code, reason = "these servers need neither a call of a client nor to be shared")]
#[path = "../common/site.rs"]
mod site;
#[allow(clippy::duplicate_mod, reason = "a file without a state of its own")]
#[path = "../common/stopped.rs"]
mod stopped;

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    os::unix::fs::chown,
    path::Path,
    process::Child,
    thread,
    time::{Duration, Instant},
};

use assay_model::{Address, Endpoint};
use assay_systems::Target;
use site::{Site, free_port, installed, wait};

/// How long nodes may take to find each other.
const LIMIT: Duration = Duration::from_secs(60);

/// Where records are.
#[derive(Clone, Copy)]
pub enum Storage {
    Memory,
    File,
}

/// Running nodes in a temporary folder. Dropping it stops them.
pub struct Server {
    site: Site,
    nodes: Vec<Node>,
}

struct Node {
    process: Child,
    port: u16,
}

impl Server {
    /// Starts a node that is alone.
    pub fn start(storage: Storage) -> Option<Server> {
        Server::cluster(1, storage)
    }

    /// Starts as many nodes as one cluster, in which every record is on two of them.
    pub fn cluster(size: usize, storage: Storage) -> Option<Server> {
        let site = Site::new(installed::installed("aerospike")?);
        let ports: Vec<[u16; 3]> = (0..size).map(|_| [(); 3].map(|()| free_port())).collect();
        let start = |number: usize| {
            let folder = site.folder().join(number.to_string());
            configure(&folder, number, &ports, storage);
            give(&site, &folder);
            Node { process: serve(&site, &folder), port: ports[number][0] }
        };
        let nodes: Vec<Node> = (0..size).map(start).collect();
        let server = Server { site, nodes };
        server.wait();
        Some(server)
    }

    /// Waits until every node serves, and knows of all others.
    fn wait(&self) {
        let size = format!("cluster_size={};", self.nodes.len());
        for node in &self.nodes {
            wait(node.port, || info(node.port, "statistics").contains(&size));
        }
        self.settle();
    }

    /// Waits until no node has a partition to hand over.
    pub fn settle(&self) {
        let end = Instant::now() + LIMIT;
        let settled = |node: &Node| {
            if info(node.port, "partition-generation").ends_with("\t-1\n") {
                return false;
            }
            let told = info(node.port, "statistics");
            told.contains("migrate_partitions_remaining=0")
                && told.contains("cluster_is_member=true")
        };
        while !self.nodes.iter().all(settled) {
            assert!(Instant::now() < end, "partitions are still handed over");
            thread::sleep(Duration::from_millis(50));
        }
    }

    pub fn endpoint(&self) -> Endpoint {
        Endpoint::at(Address::Tcp { host: "127.0.0.1".into(), port: self.nodes[0].port })
    }

    pub fn target(&self) -> Target {
        Target::Server(self.endpoint())
    }

    /// The answer of a node to an info command.
    pub fn info(&self, node: usize, command: &str) -> String {
        info(self.nodes[node].port, command)
    }

    /// Ends a node as a crash would; the others take its place.
    pub fn kill(&mut self, node: usize) {
        let mut node = self.nodes.remove(node);
        node.process.kill().expect("it runs");
        node.process.wait().expect("it ends");
    }

    /// Ends the node as a crash would, and starts it again on what is in its folder.
    pub fn restart(&mut self) {
        let node = &mut self.nodes[0];
        node.process.kill().expect("it runs");
        node.process.wait().expect("it ends");
        node.process = serve(&self.site, &self.site.folder().join("0"));
        self.wait();
    }

    /// Stops the first node from running, without ending it.
    pub fn pause(&self) {
        stopped::pause(&self.nodes[0].process);
    }

    /// Lets it run again.
    pub fn resume(&self) {
        stopped::resume(&self.nodes[0].process);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            let _ = node.process.kill();
            let _ = node.process.wait();
        }
    }
}

/// Makes the folder of a node, with its configuration.
fn configure(folder: &Path, number: usize, ports: &[[u16; 3]], storage: Storage) {
    for name in ["smd", "udf"] {
        fs::create_dir_all(folder.join(name)).expect("a folder");
    }
    let [service, fabric, heartbeat] = ports[number];
    let seeds: String = ports
        .iter()
        .map(|[.., heartbeat]| format!("mesh-seed-address-port 127.0.0.1 {heartbeat}\n"))
        .collect();
    let place = folder.display();
    let storage = match storage {
        Storage::Memory => "storage-engine memory {\ndata-size 512M\n}\n".to_owned(),
        Storage::File => {
            format!("storage-engine device {{\nfile {place}/records.dat\nfilesize 512M\n}}\n")
        }
    };
    let copies = ports.len().min(2);
    let configuration = format!(
        "service {{\ncluster-name tests\nnode-id a{number}\nproto-fd-max 1024\nwork-directory {place}\n\
         service-threads 2\n}}\n\
         logging {{\nconsole {{\ncontext any warning\n}}\n}}\n\
         network {{\n\
         service {{\naddress 127.0.0.1\naccess-address 127.0.0.1\nport {service}\n}}\n\
         fabric {{\naddress 127.0.0.1\nport {fabric}\n}}\n\
         heartbeat {{\nmode mesh\naddress 127.0.0.1\nport {heartbeat}\n{seeds}\
         interval 150\ntimeout 10\n}}\n\
         }}\n\
         mod-lua {{\nuser-path {place}/udf\n}}\n\
         namespace test {{\nreplication-factor {copies}\n{storage}}}\n"
    );
    fs::write(folder.join("aerospike.conf"), configuration).expect("written");
}

/// Gives a folder, and what is in it, to whom the site belongs.
fn give(site: &Site, folder: &Path) {
    let Some((uid, gid)) = site.owner() else { return };
    let inner = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("one").path());
    for path in inner.chain([folder.to_path_buf()]) {
        chown(path, Some(uid), Some(gid)).expect("root may give its files away");
    }
}

fn serve(site: &Site, folder: &Path) -> Child {
    let mut command = site.command(&site.installed.binary);
    command.arg("--fgdaemon").arg("--config-file").arg(folder.join("aerospike.conf"));
    command.spawn().expect("the server starts")
}

/// The answer of the node at `port` to an info command; nothing if there is none.
fn info(port: u16, command: &str) -> String {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(LIMIT))?;
        let mut request = vec![2, 1, 0, 0, 0, 0, 0, command.len() as u8 + 1];
        request.extend_from_slice(command.as_bytes());
        request.push(b'\n');
        stream.write_all(&request)?;
        let mut header = [0; 8];
        stream.read_exact(&mut header)?;
        let length = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
        let mut answer = vec![0; length as usize];
        stream.read_exact(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    ask().unwrap_or_default()
}
