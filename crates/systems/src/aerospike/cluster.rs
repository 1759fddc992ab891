//! The nodes of a cluster: found through one of them, and watched while clients have their map.

use std::{
    sync::{Arc, Weak},
    thread,
    time::{Duration, Instant},
};

use assay_model::Address;

use super::{
    Server,
    connection::Connection,
    partitions::{self, Map, Node, Partitions, Shared},
};
use crate::SystemError;

const ACTION: &str = "read who has which partition";

/// How often the nodes are asked whether partitions have moved, as Aerospike's own clients do, and how soon
/// after somebody doubts the map.
const INTERVAL: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(50);

/// How long partitions may be without a node before that is an error: while nodes find each other.
const LIMIT: Duration = Duration::from_secs(10);

/// The server at another address.
pub(super) fn server_at(server: &Server, address: &Address) -> Server {
    let mut other = server.clone();
    other.endpoint.address = address.clone();
    other
}

/// The map of the cluster that the server is of, once every partition has a node.
pub(super) fn read_map(server: &Server, namespace: &str) -> Result<Map, SystemError> {
    let end = Instant::now() + LIMIT;
    loop {
        let map = read_from(server, namespace, &[])?;
        if map.unowned() == 0 {
            return Ok(map);
        }
        if Instant::now() >= end {
            let why = format!("{} of its 4096 partitions have no node", map.unowned());
            return Err(server.failed(ACTION, why));
        }
        thread::sleep(TICK);
    }
}

/// The map as a node sees it; `known` are the nodes of the map before.
fn read_from(server: &Server, namespace: &str, known: &[Node]) -> Result<Map, SystemError> {
    let refused = |what: &str| server.failed(ACTION, format!("it sent {what}"));
    let mut first = Connection::open(server)?;
    let id = first.info(ACTION, "node")?;
    let peers = first.info(ACTION, "peers-clear-std")?;
    let peers = partitions::peers(&peers).ok_or_else(|| refused("a strange list of its peers"))?;
    let partitions = |connection: &mut Connection<'_>| {
        let told = connection.info(ACTION, "replicas")?;
        let read = Partitions::read(&told, namespace);
        read.ok_or_else(|| refused(&format!("no partitions of a namespace '{namespace}'")))
    };
    let own = Node { id, address: server.endpoint.address.clone() };
    let mut found = vec![(own, partitions(&mut first)?)];
    for (id, addresses) in peers {
        let before = known.iter().rev().find(|node| node.id == id).map(|node| &node.address);
        let mut failure = None;
        let at = before.into_iter().chain(&addresses).find_map(|address| {
            let there = Connection::open_owned(server_at(server, address)).and_then(|mut there| {
                // At an address that was given up there may be another node.
                let told = there.info(ACTION, "node")?;
                if told == id { partitions(&mut there) } else { Err(refused("another name")) }
            });
            match there {
                Ok(there) => Some((address.clone(), there)),
                Err(error) => {
                    failure = Some(error);
                    None
                }
            }
        });
        match (at, failure) {
            (Some((address, partitions)), _) => found.push((Node { id, address }, partitions)),
            (None, Some(error)) => return Err(error),
            (None, None) => return Err(refused(&format!("no address of its peer {id}"))),
        }
    }
    Ok(Map::new(known, found))
}

/// Keeps the map up to date until nobody has it any more.
pub(super) fn watch(server: &Server, namespace: &str, shared: &Arc<Shared>) {
    let watch = Watch {
        server: server.clone(),
        namespace: namespace.to_owned(),
        shared: Arc::downgrade(shared),
        generations: Vec::new(),
    };
    // Without a thread the map stays as it is, which answers all the same.
    let _ = thread::Builder::new().name("aerospike-map".into()).spawn(|| watch.run());
}

struct Watch {
    server: Server,
    namespace: String,
    shared: Weak<Shared>,
    /// The last answer of each node.
    generations: Vec<(Node, String, Connection<'static>)>,
}

impl Watch {
    fn run(mut self) {
        let mut asked = Instant::now();
        loop {
            thread::sleep(TICK);
            let Some(shared) = self.shared.upgrade() else { return };
            let doubted = shared.take_doubt();
            if !doubted && asked.elapsed() < INTERVAL {
                continue;
            }
            let map = shared.map();
            let known = map.nodes();
            if doubted || !self.is_as_before(&map) {
                // A node that has gone may be the one that was named.
                let all = std::iter::once(&self.server.endpoint.address);
                let mut all = all.chain(known.iter().rev().map(|node| &node.address));
                let read = all.find_map(|address| {
                    let server = server_at(&self.server, address);
                    let map = read_from(&server, &self.namespace, known).ok()?;
                    (map.unowned() == 0).then_some(map)
                });
                match read {
                    Some(map) => shared.publish(map),
                    // It is read again with the next tick.
                    None => shared.doubt(),
                }
            }
            asked = Instant::now();
        }
    }

    /// Whether no node says that its partitions have changed since it was asked last.
    fn is_as_before(&mut self, map: &Map) -> bool {
        let mut same = true;
        let owners: Vec<&Node> =
            map.owners().map(|(number, _)| &map.nodes()[usize::from(number)]).collect();
        self.generations.retain(|(node, ..)| owners.contains(&node));
        for node in owners {
            let at = self.generations.iter().position(|(known, ..)| known == node);
            let generation =
                |connection: &mut Connection<'_>| connection.info(ACTION, "partition-generation");
            match at {
                Some(at) => {
                    let (_, before, connection) = &mut self.generations[at];
                    match generation(connection) {
                        Ok(now) if now == *before => {}
                        Ok(now) => {
                            *before = now;
                            same = false;
                        }
                        Err(_) => {
                            self.generations.remove(at);
                            same = false;
                        }
                    }
                }
                None => {
                    let server = server_at(&self.server, &node.address);
                    let asked = Connection::open_owned(server)
                        .and_then(|mut connection| Ok((generation(&mut connection)?, connection)));
                    if let Ok((now, connection)) = asked {
                        self.generations.push((node.clone(), now, connection));
                    }
                    // What changed before it was first asked is not known.
                    same = false;
                }
            }
        }
        same
    }
}
