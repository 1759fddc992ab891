//! Making one cluster of nodes that run, over the wire, as the cluster specification of Redis has it:
//! slots and epochs given out, every two nodes introduced, replicas assigned, and then waiting
//! until every node says that all of it has arrived.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    ops::Range,
    time::Duration,
};

use crate::{launch::Size, port::NodePorts};

/// The number of hash slots of every cluster.
const SLOTS: usize = 16_384;
/// How many slots are given out by one command: an inline command must be shorter than 64 KiB.
const SLOTS_AT_ONCE: usize = 2_000;
/// How long one node may take to connect, and for each reply.
const REPLY_LIMIT: Duration = Duration::from_secs(5);
/// The longest reply that is read.
const REPLY_BYTES: usize = 1 << 20;

/// What is not yet so, and at which node.
#[derive(Debug)]
pub(crate) struct Unformed {
    /// The node's position.
    pub node: usize,
    /// What it says.
    pub why: String,
}

/// Nodes on their way to a cluster: the masters come first, then the first replica of each, and so on.
pub(crate) struct Forming<'a> {
    size: Size,
    ports: &'a [NodePorts],
    links: Vec<Link>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Strangers,
    Introduced,
    Assigned,
}

impl<'a> Forming<'a> {
    /// Nodes that answer and know nobody.
    pub fn new(size: Size, ports: &'a [NodePorts]) -> Forming<'a> {
        Forming { size, ports, links: Vec::new(), stage: Stage::Strangers }
    }

    /// Goes on as far as that is possible now; an error says what is still to come.
    pub fn attempt(&mut self) -> Result<(), Unformed> {
        if self.stage == Stage::Strangers {
            self.introduce()?;
            self.stage = Stage::Introduced;
        }
        if self.stage == Stage::Introduced {
            self.each(|link, all| link.knows(all))?;
            self.assign_replicas()?;
            self.stage = Stage::Assigned;
        }
        let Size { masters, replicas } = self.size;
        self.each(|link, all| {
            link.knows(all)?;
            link.says("CLUSTER INFO", "cluster_slots_ok", &SLOTS.to_string())?;
            link.says("CLUSTER INFO", "cluster_size", &masters.to_string())?;
            link.says("CLUSTER INFO", "cluster_state", "ok")?;
            let replicas_known = link.ask("CLUSTER NODES")?.matches("slave ").count();
            if replicas_known != masters * replicas {
                return Err(format!(
                    "it knows {replicas_known} of {} replicas",
                    masters * replicas
                ));
            }
            Ok(())
        })?;
        for node in 0..self.links.len() {
            let link = &mut self.links[node];
            let arrived = if node < masters {
                link.says("INFO replication", "connected_slaves", &replicas.to_string())
            } else {
                link.says("INFO replication", "master_link_status", "up")
            };
            arrived.map_err(|why| Unformed { node, why })?;
        }
        Ok(())
    }

    /// Has each node do or say something.
    fn each(
        &mut self,
        mut act: impl FnMut(&mut Link, usize) -> Result<(), String>,
    ) -> Result<(), Unformed> {
        let all = self.links.len();
        for (node, link) in self.links.iter_mut().enumerate() {
            act(link, all).map_err(|why| Unformed { node, why })?;
        }
        Ok(())
    }

    /// Gives out slots and epochs, and has every node meet those before it: word of mouth would take
    /// seconds. Of two nodes only one may begin: where both do at once they may end with half a
    /// connection, over which one never hears of the other's slots.
    fn introduce(&mut self) -> Result<(), Unformed> {
        self.links.clear();
        for (node, ports) in self.ports.iter().enumerate() {
            let link = Link::open(ports.client)
                .map_err(|error| Unformed { node, why: format!("it cannot be asked: {error}") })?;
            self.links.push(link);
        }
        let (ports, masters) = (self.ports, self.size.masters);
        for (node, link) in self.links.iter_mut().enumerate() {
            let mut introduce = || {
                // A first attempt may have got this far.
                if link.ask("CLUSTER INFO")?.contains("cluster_current_epoch:0") {
                    link.ask(&format!("CLUSTER SET-CONFIG-EPOCH {}", node + 1))?;
                }
                if node < masters && link.ask("CLUSTER INFO")?.contains("cluster_slots_assigned:0")
                {
                    link.take(slots_of(node, masters))?;
                }
                for other in &ports[..node] {
                    link.ask(&format!("CLUSTER MEET 127.0.0.1 {} {}", other.client, other.bus))?;
                }
                Ok(())
            };
            introduce().map_err(|why| Unformed { node, why })?;
        }
        Ok(())
    }

    fn assign_replicas(&mut self) -> Result<(), Unformed> {
        let masters = self.size.masters;
        for node in masters..self.links.len() {
            let master = node % masters;
            let id = self.links[master].ask("CLUSTER MYID");
            let id = id.map_err(|why| Unformed { node: master, why })?;
            let assigned = self.links[node].ask(&format!("CLUSTER REPLICATE {}", id.trim()));
            assigned.map_err(|why| Unformed { node, why })?;
        }
        Ok(())
    }
}

/// The slots of one of several masters: all have the same number, or one more.
fn slots_of(master: usize, masters: usize) -> Range<usize> {
    SLOTS * master / masters..SLOTS * (master + 1) / masters
}

/// A connection to a node.
struct Link {
    stream: BufReader<TcpStream>,
}

impl Link {
    fn open(port: u16) -> io::Result<Link> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let stream = TcpStream::connect_timeout(&address, REPLY_LIMIT)?;
        stream.set_read_timeout(Some(REPLY_LIMIT))?;
        stream.set_write_timeout(Some(REPLY_LIMIT))?;
        Ok(Link { stream: BufReader::new(stream) })
    }

    /// Sends an inline command; a refusal is an error, in the node's words.
    fn ask(&mut self, command: &str) -> Result<String, String> {
        self.exchange(command).unwrap_or_else(|error| Err(format!("it did not answer: {error}")))
    }

    fn exchange(&mut self, command: &str) -> io::Result<Result<String, String>> {
        self.stream.get_mut().write_all(format!("{command}\r\n").as_bytes())?;
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let line = line.trim_end();
        let (kind, rest) = line.split_at_checked(1).ok_or(io::ErrorKind::UnexpectedEof)?;
        match kind {
            "+" | ":" => Ok(Ok(rest.to_owned())),
            "-" => {
                let what = command.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
                Ok(Err(format!("it answered '{rest}' to {what}")))
            }
            "$" => {
                let length = rest.parse().ok().filter(|length| *length < REPLY_BYTES);
                let length = length.ok_or_else(|| io::Error::other(format!("it sent '{line}'")))?;
                let mut text = vec![0; length + 2];
                self.stream.read_exact(&mut text)?;
                text.truncate(length);
                Ok(Ok(String::from_utf8_lossy(&text).into_owned()))
            }
            _ => Err(io::Error::other(format!("it sent '{line}'"))),
        }
    }

    /// Takes slots over that nobody has.
    fn take(&mut self, slots: Range<usize>) -> Result<(), String> {
        for start in slots.clone().step_by(SLOTS_AT_ONCE) {
            let some = start..slots.end.min(start + SLOTS_AT_ONCE);
            let numbers: Vec<String> = some.map(|slot| slot.to_string()).collect();
            self.ask(&format!("CLUSTER ADDSLOTS {}", numbers.join(" ")))?;
        }
        Ok(())
    }

    /// Whether it knows every node by more than an address.
    fn knows(&mut self, all: usize) -> Result<(), String> {
        self.says("CLUSTER INFO", "cluster_known_nodes", &all.to_string())?;
        if self.ask("CLUSTER NODES")?.contains("handshake") {
            return Err("it has not been introduced to every node".to_owned());
        }
        Ok(())
    }

    /// Whether a line of what it tells has this value.
    fn says(&mut self, command: &str, name: &str, value: &str) -> Result<(), String> {
        let told = self.ask(command)?;
        let found = told.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        match found.map(str::trim) {
            Some(found) if found == value => Ok(()),
            Some(found) => Err(format!("it says {name}:{found}, and not {value}")),
            None => Err(format!("it tells no {name}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_has_one_master() {
        for masters in [1, 2, 3, 5, 64] {
            let all: Vec<usize> = (0..masters).flat_map(|at| slots_of(at, masters)).collect();
            assert!(all.iter().copied().eq(0..SLOTS), "{masters}");
        }
    }
}
