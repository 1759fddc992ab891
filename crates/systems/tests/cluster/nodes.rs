//! Clusters for tests: nodes on free loopback ports, formed by hand, killed when the test ends.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use assay_model::{Address, Endpoint};
use assay_provision::Installed;
use assay_systems::Target;
use rustix::process::{Pid, Signal};

use super::installed;

/// A node that runs.
pub struct Node {
    child: Child,
    pub port: u16,
    _folder: tempfile::TempDir,
}

/// Nodes that are one store: the masters come first.
pub struct Cluster {
    pub nodes: Vec<Node>,
    password: Option<&'static str>,
}

const PATIENCE: Duration = Duration::from_secs(60);

impl Cluster {
    /// Starts and forms a cluster; `replicas` of each master.
    pub fn start(
        program: &Installed,
        masters: usize,
        replicas: usize,
        arguments: &[&str],
    ) -> Cluster {
        let ports = free_ports(2 * masters * (1 + replicas));
        let nodes: Vec<Node> =
            ports.chunks(2).map(|ports| Node::start(program, ports, arguments)).collect();
        let password = arguments.windows(2).find(|pair| pair[0] == "--requirepass");
        let password = password.map(|pair| if pair[1] == "secret" { "secret" } else { "" });
        let cluster = Cluster { nodes, password };
        for at in 0..cluster.nodes.len() {
            cluster.await_that(at, "PING", |reply| reply == "PONG");
            if at < masters {
                let (from, to) = (16_384 * at / masters, 16_384 * (at + 1) / masters - 1);
                cluster.ok(at, &format!("CLUSTER ADDSLOTSRANGE {from} {to}"));
            }
            cluster.ok(at, &format!("CLUSTER SET-CONFIG-EPOCH {}", at + 1));
            for other in (0..at).map(|other| &ports[2 * other..]) {
                cluster.ok(at, &format!("CLUSTER MEET 127.0.0.1 {} {}", other[0], other[1]));
            }
        }
        let known = format!("cluster_known_nodes:{}\r", cluster.nodes.len());
        for at in 0..cluster.nodes.len() {
            cluster.await_that(at, "CLUSTER INFO", |reply| reply.contains(&known));
            cluster.await_that(at, "CLUSTER NODES", |reply| !reply.contains("handshake"));
        }
        for at in masters..cluster.nodes.len() {
            let master = cluster.ask(at % masters, "CLUSTER MYID");
            cluster.ok(at, &format!("CLUSTER REPLICATE {master}"));
        }
        for at in 0..cluster.nodes.len() {
            let linked = |reply: &str| reply.contains("master_link_status:up");
            cluster.await_that(at, "CLUSTER INFO", |reply| reply.contains("cluster_state:ok"));
            cluster.await_that(at, "INFO replication", |reply| at < masters || linked(reply));
            cluster.await_that(at, "CLUSTER NODES", |reply| {
                reply.matches("slave ").count() == masters * replicas
            });
        }
        cluster
    }

    /// Starts servers that do not know of each other.
    #[allow(dead_code, reason = "most of those who share this need clusters")]
    pub fn apart(program: &Installed, count: usize, arguments: &[&str]) -> Cluster {
        let nodes = (0..count).map(|_| alone(program, false, arguments)).collect();
        let password = arguments.contains(&"--requirepass").then_some("secret");
        Cluster { nodes, password }
    }

    /// All nodes as a driver's target, as servers that do not know of each other.
    #[allow(dead_code, reason = "most of those who share this need clusters")]
    pub fn all(&self) -> Target {
        let at = |node: &Node| Address::Tcp { host: "127.0.0.1".into(), port: node.port };
        let others = self.nodes[1..].iter().map(at).collect();
        Target::Server(Endpoint { others, ..Endpoint::at(at(&self.nodes[0])) })
    }

    /// It as a driver's target, by the address of one of its nodes.
    pub fn target(&self, node: usize) -> Target {
        let port = self.nodes[node].port;
        Target::Server(Endpoint::at(Address::Tcp { host: "127.0.0.1".into(), port }))
    }

    /// Sends a command to a node by hand; the reply's text, that of an error too.
    pub fn ask(&self, node: usize, command: &str) -> String {
        let ask = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(("127.0.0.1", self.nodes[node].port))?;
            stream.set_read_timeout(Some(PATIENCE))?;
            let mut reader = BufReader::new(stream.try_clone()?);
            if let Some(password) = self.password {
                stream.write_all(format!("AUTH {password}\r\n").as_bytes())?;
                reader.read_line(&mut String::new())?;
            }
            stream.write_all(format!("{command}\r\n").as_bytes())?;
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let line = line.trim_end();
            let Some(length) = line.strip_prefix('$') else { return Ok(line[1..].to_owned()) };
            let mut text = vec![0; length.parse().unwrap_or(0)];
            reader.read_exact(&mut text)?;
            Ok(String::from_utf8_lossy(&text).into_owned())
        };
        ask().unwrap_or_else(|error| error.to_string())
    }

    /// Sends a command that must be answered by `OK`.
    pub fn ok(&self, node: usize, command: &str) {
        assert_eq!(self.ask(node, command), "OK", "to {command}");
    }

    /// Asks a node until its reply is good.
    pub fn await_that(&self, node: usize, command: &str, good: impl Fn(&str) -> bool) {
        let end = Instant::now() + PATIENCE;
        loop {
            let reply = self.ask(node, command);
            if good(&reply) {
                return;
            }
            assert!(Instant::now() < end, "{command} at node {node}: {reply}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The node that has this key now, as node 0 says.
    pub fn owner(&self, key: &str) -> usize {
        let slot = self.ask(0, &format!("CLUSTER KEYSLOT {key}"));
        let slot: usize = slot.parse().expect("a slot");
        let masters = self.nodes.len();
        (0..masters).find(|at| slot < 16_384 * (at + 1) / masters).expect("a master")
    }

    pub fn signal(&self, node: usize, signal: Signal) {
        let pid = Pid::from_child(&self.nodes[node].child);
        rustix::process::kill_process(pid, signal).expect("it runs");
    }
}

impl Node {
    fn start(program: &Installed, ports: &[u16], arguments: &[&str]) -> Node {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let child = installed::command(program, &program.binary)
            .args(["--bind", "127.0.0.1", "--save", "", "--dir", "."])
            .args(["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"])
            .args(["--repl-diskless-sync-delay", "0"])
            .args(["--port", &ports[0].to_string(), "--cluster-port", &ports[1].to_string()])
            .args(arguments)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the node starts");
        Node { child, port: ports[0], _folder: folder }
    }

    /// Ends it, as a crash would.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

fn free_ports(count: usize) -> Vec<u16> {
    let listeners: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port")).collect();
    listeners.iter().map(|listener| listener.local_addr().expect("an address").port()).collect()
}

/// A server that is in no cluster; in cluster mode it has no slots either.
pub fn lone(program: &Installed, cluster_mode: bool) -> Node {
    alone(program, cluster_mode, &[])
}

fn alone(program: &Installed, cluster_mode: bool, arguments: &[&str]) -> Node {
    let mode = if cluster_mode { "yes" } else { "no" };
    let arguments: Vec<&str> =
        ["--cluster-enabled", mode].into_iter().chain(arguments.iter().copied()).collect();
    let node = Node::start(program, &free_ports(2), &arguments);
    let end = Instant::now() + PATIENCE;
    while TcpStream::connect(("127.0.0.1", node.port)).is_err() {
        assert!(Instant::now() < end, "it does not listen");
        thread::sleep(Duration::from_millis(5));
    }
    node
}

/// A node as a driver's target.
pub fn target(node: &Node) -> Target {
    let address = Address::Tcp { host: "127.0.0.1".into(), port: node.port };
    Target::Server(Endpoint::at(address))
}
