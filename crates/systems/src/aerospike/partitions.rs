//! Which node has which partition: the map that a client sends its requests by. No I/O.
//!
//! Source: Aerospike's published info commands `replicas` and `peers-clear-std`.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use assay_model::Address;
use base64::{Engine, engine::general_purpose::STANDARD};

use super::query::{self, PARTITIONS};
use crate::bundle;

/// Marks a partition that no node has.
const NOBODY: u16 = u16::MAX;

/// A node: what it calls itself, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) id: String,
    pub(super) address: Address,
}

/// The nodes, numbered from 0, and who is the master of each partition. A number stays with its node from
/// one map to the next, and with those that have gone.
#[derive(Debug)]
pub(super) struct Map {
    nodes: Vec<Node>,
    owners: Vec<u16>,
    /// For each node the encoded list of its partitions; nothing if it has none.
    lists: Vec<Vec<u8>>,
    /// Which map it is of those that were published.
    version: u64,
}

impl Map {
    /// The map of `found`: nodes, and the partitions of which each is the master. `known` are the nodes of
    /// the map before.
    pub(super) fn new(known: &[Node], found: Vec<(Node, Partitions)>) -> Map {
        let mut nodes = known.to_vec();
        let mut owners = vec![NOBODY; PARTITIONS.into()];
        for (node, partitions) in found {
            let number = nodes.iter().position(|other| *other == node).unwrap_or(nodes.len());
            if number == nodes.len() {
                nodes.push(node);
            }
            for (partition, owner) in owners.iter_mut().enumerate() {
                if partitions.has(partition) {
                    *owner = number as u16;
                }
            }
        }
        let list = |number: usize| {
            let own = (0..PARTITIONS).filter(|at| owners[usize::from(*at)] == number as u16);
            let own: Vec<u16> = own.collect();
            if own.is_empty() { Vec::new() } else { query::partitions(own) }
        };
        let lists = (0..nodes.len()).map(list).collect();
        Map { nodes, owners, lists, version: 0 }
    }

    /// Every node that there has been, by its number.
    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The nodes that have partitions, with the encoded list of these.
    pub(super) fn owners(&self) -> impl Iterator<Item = (u16, &[u8])> {
        let all = (0..).zip(self.lists.iter().map(Vec::as_slice));
        all.filter(|(_, list)| !list.is_empty())
    }

    /// The node that has a partition, if there is one.
    pub(super) fn owner(&self, partition: u16) -> Option<u16> {
        self.owners.get(usize::from(partition)).copied().filter(|node| *node != NOBODY)
    }

    /// How many partitions no node has.
    pub(super) fn unowned(&self) -> usize {
        self.owners.iter().filter(|node| **node == NOBODY).count()
    }

    /// Whether requests go the same ways by both.
    fn is_like(&self, other: &Map) -> bool {
        self.owners == other.owners && self.nodes == other.nodes
    }
}

/// The partitions of which a node is the master, a bit each.
pub(super) struct Partitions(Vec<u8>);

impl Partitions {
    /// Those that the answer to `replicas` has for `namespace`, as in `test:0,2,BASE64,BASE64;…`: regime,
    /// number of copies, then the partitions of which it has the first copy, the second, and so on.
    pub(super) fn read(answer: &str, namespace: &str) -> Option<Partitions> {
        let of = |part: &'_ str| Some(part.split_once(':')?.0 == namespace);
        let own = answer.split(';').find(|part| of(part) == Some(true))?;
        let first = own.split_once(':')?.1.split(',').nth(2)?;
        let bits = STANDARD.decode(first).ok()?;
        (bits.len() == usize::from(PARTITIONS) / 8).then_some(Partitions(bits))
    }

    fn has(&self, partition: usize) -> bool {
        self.0.get(partition / 8).is_some_and(|byte| byte & (0x80 >> (partition % 8)) != 0)
    }
}

/// The nodes in the answer to `peers-clear-std`, as in `4,3000,[[BB9,,[10.0.0.2,[::1]:3010]],…]`:
/// generation, the port where none is named, and each node with its name for TLS and its addresses.
pub(super) fn peers(answer: &str) -> Option<Vec<(String, Vec<Address>)>> {
    let (_generation, rest) = answer.split_once(',')?;
    let (port, list) = rest.split_once(',')?;
    let port: u16 = port.parse().ok()?;
    let mut list = list.strip_prefix('[')?.strip_suffix(']')?;
    let mut nodes = Vec::new();
    while let Some(rest) = list.strip_prefix('[') {
        let (id, rest) = rest.split_once(',')?;
        let (_tls_name, rest) = rest.split_once(",[")?;
        // The last address may end in a bracket of its own.
        let end = rest.find("]]")?;
        let brackets = rest[end..].bytes().take_while(|byte| *byte == b']').count();
        let (addresses, rest) = rest.split_at(end + brackets - 2);
        let rest = rest.strip_prefix("]]")?;
        let address = |text: &str| {
            let named = text.rsplit_once(':').is_some_and(|(host, _)| {
                // The colons of an address of version 6 are no port's.
                !host.contains(':') || host.ends_with(']')
            });
            if named { bundle::address(text) } else { bundle::address(&format!("{text}:{port}")) }
        };
        let addresses = addresses.split(',').map(address).collect::<Option<Vec<_>>>()?;
        nodes.push((id.to_owned(), addresses));
        list = rest.strip_prefix(',').unwrap_or(rest);
    }
    list.is_empty().then_some(nodes)
}

/// The newest map, which all clients share.
pub(super) struct Shared {
    newest: Mutex<Arc<Map>>,
    version: AtomicU64,
    doubted: AtomicBool,
}

impl Shared {
    pub(super) fn new(map: Map) -> Shared {
        let doubted = AtomicBool::new(false);
        Shared { newest: Mutex::new(Arc::new(map)), version: AtomicU64::new(0), doubted }
    }

    fn newest(&self) -> MutexGuard<'_, Arc<Map>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn map(&self) -> Arc<Map> {
        Arc::clone(&self.newest())
    }

    /// The newest map, if it is newer than `map`.
    pub(super) fn newer_than(&self, map: &Map) -> Option<Arc<Map>> {
        (self.version.load(Ordering::Acquire) > map.version).then(|| self.map())
    }

    /// Has every client take `map` over with its next operation, unless it is like the one before.
    pub(super) fn publish(&self, map: Map) {
        let mut newest = self.newest();
        if !newest.is_like(&map) {
            let version = newest.version + 1;
            *newest = Arc::new(Map { version, ..map });
            self.version.store(version, Ordering::Release);
        }
    }

    /// Says that the map may be wrong.
    pub(super) fn doubt(&self) {
        self.doubted.store(true, Ordering::Relaxed);
    }

    /// Whether anybody said so since this was asked last.
    pub(super) fn take_doubt(&self) -> bool {
        self.doubted.swap(false, Ordering::Relaxed)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::aerospike) fn node(id: &str, port: u16) -> Node {
        let address = Address::Tcp { host: "10.0.0.1".into(), port };
        Node { id: id.into(), address }
    }

    /// Those for which `has` says so.
    pub(in crate::aerospike) fn partitions(has: impl Fn(u16) -> bool) -> Partitions {
        let mut bits = vec![0; 512];
        for at in (0..PARTITIONS).filter(|at| has(*at)) {
            bits[usize::from(at) / 8] |= 0x80 >> (at % 8);
        }
        let answer = format!("other:0,1,AAAA;test:7,2,{},AAAA", STANDARD.encode(bits));
        Partitions::read(&answer, "test").unwrap()
    }

    #[test]
    fn every_partition_is_asked_for_at_its_master() {
        let even = || partitions(|at| at % 2 == 0);
        let found = vec![(node("A", 1), even()), (node("B", 2), partitions(|at| at % 2 == 1))];
        let map = Map::new(&[], found);
        assert_eq!((map.owner(6), map.owner(4095), map.unowned()), (Some(0), Some(1), 0));
        let lists: Vec<_> = map.owners().collect();
        assert_eq!(lists.len(), 2);
        assert_eq!(lists[1].1.len(), 5 + 2 * 2048);
        assert_eq!(lists[1].1[..9], [0, 0, 0x10, 1, 11, 1, 0, 3, 0]);
        // One goes, another comes: numbers stay.
        let found = vec![(node("C", 3), partitions(|at| at % 2 == 1)), (node("A", 1), even())];
        let next = Map::new(map.nodes(), found);
        assert_eq!((next.owner(6), next.owner(7)), (Some(0), Some(2)));
        assert_eq!(next.owners().map(|(node, _)| node).collect::<Vec<_>>(), [0, 2]);
        let alone = Map::new(&[], vec![(node("A", 1), even())]);
        assert_eq!((alone.unowned(), alone.owner(1)), (2048, None));
    }

    #[test]
    fn a_map_is_taken_over_once_and_only_if_it_is_another() {
        let all = |id| Map::new(&[], vec![(node(id, 1), partitions(|_| true))]);
        let shared = Shared::new(all("A"));
        let first = shared.map();
        shared.publish(all("A"));
        assert!(shared.newer_than(&first).is_none());
        shared.publish(all("B"));
        let second = shared.newer_than(&first).unwrap();
        assert_eq!(second.nodes()[0].id, "B");
        assert!(shared.newer_than(&second).is_none());
        shared.doubt();
        assert!(shared.take_doubt() && !shared.take_doubt());
    }

    #[test]
    fn answers_that_are_cut_or_of_others_are_told() {
        for answer in ["", "test", "test:0,1", "test:0,1,AAAA", "test:0,1,?", "other:0,1,AAAA"] {
            assert!(Partitions::read(answer, "test").is_none(), "{answer}");
        }
        let at = |host: &str, port| Address::Tcp { host: host.into(), port };
        assert_eq!(
            peers("4,3000,[[BB9,,[10.0.0.2,[::1]:3010]],[A2,tls,[[fe80::1]]]]"),
            Some(vec![
                ("BB9".into(), vec![at("10.0.0.2", 3000), at("::1", 3010)]),
                ("A2".into(), vec![at("fe80::1", 3000)]),
            ])
        );
        assert_eq!(peers("0,3000,[]"), Some(Vec::new()));
        for answer in ["", "4", "4,x,[]", "4,3000,[[A", "4,3000,[[A,,[x:y]]]", "4,3000,[]]"] {
            assert_eq!(peers(answer), None, "{answer}");
        }
    }
}
