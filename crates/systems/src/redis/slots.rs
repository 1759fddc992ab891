//! Who has which slot: the map of a cluster as `CLUSTER SLOTS` tells it, and the slot of a key
//! (the cluster specification of Redis: CRC16 of the key, or of its hash tag, modulo 16,384).

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use assay_model::Address;

use super::resp::{self, Item};

/// The number of slots of every cluster.
pub(super) const SLOTS: usize = 16_384;

/// The owner of a slot that nobody has.
const NOBODY: u16 = u16::MAX;

/// CRC-16/XMODEM: polynomial 1021, from 0, neither reflected nor inverted.
const CRC: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut value = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 0x8000 == 0 { value << 1 } else { (value << 1) ^ 0x1021 };
            bit += 1;
        }
        table[byte] = value;
        byte += 1;
    }
    table
};

/// The slot of a key: that of its hash tag, the first `{…}` with something in it, if it has one.
pub(super) fn slot_of(key: &[u8]) -> u16 {
    let tagged = memchr::memchr(b'{', key).and_then(|open| {
        let rest = &key[open + 1..];
        let length = memchr::memchr(b'}', rest).filter(|length| *length > 0)?;
        Some(&rest[..length])
    });
    let crc = tagged
        .unwrap_or(key)
        .iter()
        .fold(0_u16, |crc, byte| (crc << 8) ^ CRC[usize::from((crc >> 8) as u8 ^ byte)]);
    crc % SLOTS as u16
}

/// Which node has which slot. Nodes are numbered, and keep their number in later maps.
#[derive(Clone, Debug)]
pub(super) struct Map {
    nodes: Vec<Address>,
    owners: Box<[u16]>,
    replicas: Vec<Address>,
    /// Which of the maps that were shared this is.
    version: u64,
}

impl Map {
    /// A map without a node.
    pub(super) fn empty() -> Map {
        Map {
            nodes: Vec::new(),
            owners: vec![NOBODY; SLOTS].into(),
            replicas: Vec::new(),
            version: 0,
        }
    }

    /// A map of servers that do not know of each other: all have the same number of slots, or one more, in
    /// order.
    pub(super) fn spread(servers: &[Address]) -> Map {
        let mut map = Map { nodes: servers.to_vec(), ..Map::empty() };
        for (slot, owner) in map.owners.iter_mut().enumerate() {
            *owner = (slot * servers.len() / SLOTS) as u16;
        }
        map
    }

    /// Every node that has, or once had, slots, by number.
    pub(super) fn nodes(&self) -> &[Address] {
        &self.nodes
    }

    /// The replicas.
    pub(super) fn replicas(&self) -> &[Address] {
        &self.replicas
    }

    /// The node that has the slot; `None` if nobody has it.
    pub(super) fn owner(&self, slot: u16) -> Option<u16> {
        self.owners.get(usize::from(slot)).copied().filter(|owner| *owner != NOBODY)
    }

    /// The nodes that have slots now, each once.
    pub(super) fn masters(&self) -> Vec<u16> {
        let mut masters: Vec<u16> =
            self.owners.iter().copied().filter(|owner| *owner != NOBODY).collect();
        masters.sort_unstable();
        masters.dedup();
        masters
    }

    /// How many slots nobody has.
    pub(super) fn unowned(&self) -> usize {
        self.owners.iter().filter(|owner| **owner == NOBODY).count()
    }

    /// The number of the node at this address, which may be new.
    pub(super) fn number_of(&mut self, address: Address) -> u16 {
        let known = self.nodes.iter().position(|node| *node == address);
        let number = known.unwrap_or_else(|| {
            self.nodes.push(address);
            self.nodes.len() - 1
        });
        number as u16
    }

    /// Gives a slot to a node.
    pub(super) fn assign(&mut self, slot: u16, node: u16) {
        if let Some(owner) = self.owners.get_mut(usize::from(slot)) {
            *owner = node;
        }
    }

    /// The map as the reply to `CLUSTER SLOTS` has it; `None` if that is no such reply. `told_by` stands
    /// for a host that the reply leaves out.
    pub(super) fn read(&self, reply: &[u8], told_by: &Address) -> Option<Map> {
        let mut map = Map { nodes: self.nodes.clone(), ..Map::empty() };
        let mut input = Items(reply);
        for _ in 0..input.array()? {
            let parts = input.array()?.checked_sub(2)?;
            let (from, to) = (input.number()?, input.number()?);
            for part in 0..parts {
                let address = input.node(told_by)?;
                if part > 0 {
                    if !map.replicas.contains(&address) {
                        map.replicas.push(address);
                    }
                    continue;
                }
                let node = map.number_of(address);
                map.owners.get_mut(from..=to)?.fill(node);
            }
        }
        Some(map)
    }
}

/// The items of a reply that is all there.
struct Items<'a>(&'a [u8]);

impl<'a> Items<'a> {
    fn next(&mut self) -> Option<Item<'a>> {
        let (item, length) = resp::item(self.0).ok()??;
        self.0 = &self.0[length..];
        Some(item)
    }

    fn array(&mut self) -> Option<usize> {
        match self.next()? {
            Item::Array(count) => Some(count),
            _ => None,
        }
    }

    fn number(&mut self) -> Option<usize> {
        match self.next()? {
            Item::Integer(number) => usize::try_from(number).ok(),
            _ => None,
        }
    }

    /// A node: host, port, and what later versions add to them.
    fn node(&mut self, told_by: &Address) -> Option<Address> {
        let rest = self.array()?.checked_sub(2)?;
        let host = match self.next()? {
            Item::Bulk(b"" | b"?") | Item::Null => match told_by {
                Address::Tcp { host, .. } => host.clone(),
                Address::Unix(_) => return None,
            },
            Item::Bulk(host) => String::from_utf8_lossy(host).into_owned(),
            _ => return None,
        };
        let port = u16::try_from(self.number()?).ok()?;
        let mut left = rest;
        while left > 0 {
            left -= 1;
            if let Item::Array(more) = self.next()? {
                left = left.checked_add(more)?;
            }
        }
        Some(Address::Tcp { host, port })
    }
}

/// The newest map that any client has, and which node nobody should be asked for another.
pub(super) struct Shared {
    map: Mutex<Arc<Map>>,
    version: AtomicU64,
    doubted: AtomicUsize,
    /// Whether there is no other map to be had.
    fixed: bool,
}

/// No node is doubted.
const NONE: usize = usize::MAX;

impl Shared {
    pub(super) fn new(map: Map) -> Shared {
        Shared {
            version: AtomicU64::new(map.version),
            map: Mutex::new(Arc::new(map)),
            doubted: AtomicUsize::new(NONE),
            fixed: false,
        }
    }

    /// A map that never changes, and that no node can be asked for.
    pub(super) fn fixed(map: Map) -> Shared {
        Shared { fixed: true, ..Shared::new(map) }
    }

    /// Whether the map never changes.
    pub(super) fn is_fixed(&self) -> bool {
        self.fixed
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Map>> {
        self.map.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The newest map.
    pub(super) fn map(&self) -> Arc<Map> {
        Arc::clone(&self.lock())
    }

    /// Makes a map the newest one.
    pub(super) fn publish(&self, map: Map) -> Arc<Map> {
        self.doubted.store(NONE, Ordering::Relaxed);
        let mut newest = self.lock();
        *newest = Arc::new(map);
        self.renew(&mut newest)
    }

    /// Has the newest map read from a reply to `CLUSTER SLOTS` of the node `told_by`.
    pub(super) fn read(&self, reply: &[u8], told_by: u16) -> Option<Arc<Map>> {
        let newest = self.map();
        let read = newest.read(reply, newest.nodes().get(usize::from(told_by))?)?;
        Some(self.publish(read))
    }

    /// A slot has moved to the node at this address.
    pub(super) fn moved(&self, slot: u16, address: Address) -> (Arc<Map>, u16) {
        let mut newest = self.lock();
        let map = Arc::make_mut(&mut newest);
        let node = map.number_of(address);
        map.assign(slot, node);
        (self.renew(&mut newest), node)
    }

    /// The number of the node at this address, and the map that has it.
    pub(super) fn number_of(&self, address: Address) -> (Arc<Map>, u16) {
        let mut newest = self.lock();
        let node = Arc::make_mut(&mut newest).number_of(address);
        (self.renew(&mut newest), node)
    }

    /// The newest map, if it is another one.
    pub(super) fn newer_than(&self, map: &Map) -> Option<Arc<Map>> {
        (self.version.load(Ordering::Acquire) != map.version).then(|| self.map())
    }

    /// Has the map, which was changed, told from the one before.
    fn renew(&self, newest: &mut Arc<Map>) -> Arc<Map> {
        let version = self.version.load(Ordering::Relaxed) + 1;
        Arc::make_mut(newest).version = version;
        self.version.store(version, Ordering::Release);
        Arc::clone(newest)
    }

    /// A node did not answer: the map may be out of date, if it can be.
    pub(super) fn doubt(&self, node: u16) {
        if !self.fixed {
            self.doubted.store(usize::from(node), Ordering::Relaxed);
        }
    }

    /// The node that did not answer, if there is one and no newer map.
    pub(super) fn doubted(&self) -> Option<u16> {
        u16::try_from(self.doubted.load(Ordering::Relaxed)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(port: u16) -> Address {
        Address::Tcp { host: "127.0.0.1".into(), port }
    }

    #[test]
    fn slots_are_those_of_the_specification() {
        for (key, slot) in [
            (&b"123456789"[..], 0x31c3),
            (b"foo", 12_182),
            (b"", 0),
            (b"{user1000}.following", slot_of(b"user1000")),
            (b"foo{}{bar}", slot_of(b"foo{}{bar}")),
            (b"foo{{bar}}zap", slot_of(b"{bar")),
            (b"foo{bar}{zap}", slot_of(b"bar")),
        ] {
            assert_eq!(slot_of(key), slot, "{}", String::from_utf8_lossy(key));
        }
        assert_ne!(slot_of(b"foo{}{bar}"), slot_of(b"bar"));
    }

    #[test]
    fn a_map_is_read_with_replicas_and_whatever_follows_a_port() {
        let reply = b"*2\r\n\
            *4\r\n:0\r\n:99\r\n\
            *4\r\n$9\r\n127.0.0.1\r\n:7000\r\n$2\r\nid\r\n*2\r\n$8\r\nhostname\r\n$1\r\nh\r\n\
            *3\r\n$9\r\n127.0.0.1\r\n:7003\r\n$2\r\nid\r\n\
            *3\r\n:100\r\n:16383\r\n*2\r\n$0\r\n\r\n:7001\r\n";
        let map = Map::empty().read(reply, &at(1)).expect("a map");
        assert_eq!((map.nodes(), map.replicas()), (&[at(7000), at(7001)][..], &[at(7003)][..]));
        assert_eq!((map.owner(99), map.owner(100), map.owner(16_383)), (Some(0), Some(1), Some(1)));
        assert_eq!((map.masters(), map.unowned()), (vec![0, 1], 0));
        let part = b"*1\r\n*3\r\n:5\r\n:5\r\n*2\r\n$9\r\n127.0.0.1\r\n:7001\r\n";
        let later = map.read(part, &at(1)).expect("a map");
        assert_eq!((later.owner(5), later.owner(6)), (Some(1), None), "numbers stay");
        for end in 0..reply.len() {
            assert!(Map::empty().read(&reply[..end], &at(1)).is_none(), "cut at {end}");
        }
        assert!(
            Map::empty()
                .read(b"*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\nh\r\n:1\r\n", &at(1))
                .is_none()
        );
    }

    #[test]
    fn slots_are_spread_evenly_and_stay() {
        for count in [1, 2, 3, 64] {
            let servers: Vec<Address> = (0..count).map(at).collect();
            let map = Map::spread(&servers);
            assert_eq!((map.masters().len(), map.unowned()), (usize::from(count), 0));
            let of = |node| map.owners.iter().filter(|owner| **owner == node).count();
            let even = SLOTS / usize::from(count);
            assert!((0..count).all(|node| (even..=even + 1).contains(&of(node))), "{count}");
        }
        let shared = Shared::fixed(Map::spread(&[at(1), at(2)]));
        shared.doubt(1);
        assert_eq!(shared.doubted(), None, "there is nobody to ask");
    }

    #[test]
    fn a_slot_that_moved_has_its_new_owner_for_everybody() {
        let mut map = Map::empty();
        let node = map.number_of(at(7000));
        map.assign(7, node);
        let shared = Shared::new(map);
        let before = shared.map();
        let (after, node) = shared.moved(7, at(7001));
        assert_eq!((before.owner(7), after.owner(7), node), (Some(0), Some(1), 1));
        assert_eq!(shared.map().owner(7), Some(1));
        shared.doubt(0);
        assert_eq!(shared.doubted(), Some(0));
        shared.publish(before.as_ref().clone());
        assert_eq!((shared.doubted(), shared.map().owner(7)), (None, Some(0)));
    }
}
