//! The stores that are compared, each behind the same few calls and set up as one who wants it
//! fast in memory would: nothing is synced, caches hold everything, and what has files has them in
//! a folder in memory if there is one.
//!
//! Each holds a table of objects by primary key and an index of it that may have several objects
//! of one key. An object is the secondary key and the value, so that an overwrite, which is not
//! told the old secondary key, finds it in the object that it replaces.

pub mod fjall;
pub mod lmdb;
mod maps;
pub mod ours;
pub mod redb;
pub mod sqlite;

use std::{hint::black_box, path::Path};

use anyhow::Context;

pub use maps::Maps;
pub use ours::Ours;

use super::{
    entrant::{Order, Probe},
    objects::KEY_BYTES,
};

/// A store under measurement. The answers go by
/// [`digest`](super::objects::digest).
pub trait Contender {
    /// Puts the first `objects` objects, all of generation 0, into the empty store, and leaves it
    /// as good for lookups as it can be.
    fn load(&mut self, objects: u32) -> anyhow::Result<()>;

    /// The digest of the first object of a secondary key.
    fn lookup(&mut self, secondary: &[u8]) -> anyhow::Result<Option<u64>>;

    /// Puts an object in the place of one that exists, and its index entry in the place of the
    /// old one, both or neither.
    fn overwrite(&mut self, primary: &[u8], secondary: &[u8], value: &[u8]) -> anyhow::Result<()>;

    /// Bytes of objects and index by the store's own account, if it keeps one.
    fn account_bytes(&mut self) -> anyhow::Result<Option<u64>>;

    /// Looks all of them up and gives how many answers were wrong. Which key is next depends on
    /// the answer, as with a caller who does something with it, so the processor cannot begin a
    /// lookup before the one before it has ended: what is measured is latency.
    ///
    /// Here so that the loop is compiled for each store and calls it directly.
    fn lookups(&mut self, probes: &[Probe]) -> anyhow::Result<usize> {
        let (mut wrong, mut at) = (0, 0);
        while let Some(probe) = probes.get(at) {
            let found = self.lookup(&probe.secondary)?.unwrap_or(!probe.digest);
            let differs = (found ^ probe.digest).min(1) as usize;
            wrong += differs;
            at += black_box(1 + differs);
        }
        Ok(wrong)
    }

    /// Does all the overwrites; here for the same reason.
    fn overwrites(&mut self, orders: &[Order]) -> anyhow::Result<()> {
        for order in orders {
            self.overwrite(&order.primary, &order.secondary, &order.value)?;
        }
        Ok(())
    }
}

/// A kind of store.
pub struct Kind {
    /// What it is called on a command line.
    pub id: &'static str,
    /// What it is called in a table.
    pub name: &'static str,
    /// Whether it is a store with transactions, and not a pair of maps.
    pub transactional: bool,
    /// Makes an empty one, with its files in an empty folder.
    pub open: fn(&Path) -> anyhow::Result<Box<dyn Contender>>,
}

/// All of them, slik first.
pub const KINDS: [Kind; 7] = [
    Kind {
        id: "slik",
        name: "slik",
        transactional: true,
        open: |_| Ok(Box::new(Ours::new(&[super::objects::INDEX])?)),
    },
    Kind {
        id: "maps",
        name: "BTreeMap + HashMap",
        transactional: false,
        open: |_| Ok(Box::new(Maps::<std::hash::RandomState>::default())),
    },
    Kind {
        id: "maps-foldhash",
        name: "BTreeMap + HashMap, foldhash",
        transactional: false,
        open: |_| Ok(Box::new(Maps::<::foldhash::fast::FixedState>::default())),
    },
    Kind {
        id: "lmdb",
        name: "LMDB",
        transactional: true,
        open: |folder| Ok(Box::new(lmdb::Lmdb::open(folder)?)),
    },
    Kind {
        id: "sqlite",
        name: "SQLite",
        transactional: true,
        open: |_| Ok(Box::new(sqlite::Sqlite::open()?)),
    },
    Kind {
        id: "redb",
        name: "redb",
        transactional: true,
        open: |_| Ok(Box::new(redb::Redb::open()?)),
    },
    Kind {
        id: "fjall",
        name: "fjall",
        transactional: true,
        open: |folder| Ok(Box::new(fjall::Fjall::open(folder)?)),
    },
];

/// The kind of an id.
pub fn kind(id: &str) -> anyhow::Result<&'static Kind> {
    KINDS.iter().find(|kind| kind.id == id).with_context(|| {
        let ids: Vec<_> = KINDS.iter().map(|kind| kind.id).collect();
        format!("there is no store '{id}'; there are {}", ids.join(", "))
    })
}

/// An object as the peers hold it: secondary key, value.
pub fn record(secondary: &[u8], value: &[u8]) -> Vec<u8> {
    let mut record = Vec::with_capacity(secondary.len() + value.len());
    record.extend_from_slice(secondary);
    record.extend_from_slice(value);
    record
}

/// The secondary key and the value of a record.
#[inline]
fn parts(record: &[u8]) -> anyhow::Result<(&[u8], &[u8])> {
    record.split_at_checked(KEY_BYTES).context("a record is shorter than its key")
}

/// What a peer says that has lost an object.
fn no_object() -> anyhow::Error {
    anyhow::anyhow!("the object to be overwritten is not there")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slik::objects::{INDEX, digest, primary, secondary, value};

    #[test]
    fn every_store_finds_its_objects_and_leaves_no_old_key() {
        for kind in &KINDS {
            let folder = tempfile::tempdir().unwrap();
            let mut store = (kind.open)(folder.path()).unwrap();
            store.load(300).unwrap();
            let find = |store: &mut Box<dyn Contender>, number, generation| {
                store.lookup(&secondary(INDEX, number, generation)).unwrap()
            };
            let object =
                |number, generation| Some(digest(&primary(number), &value(number, generation)));
            for number in 0..300 {
                assert_eq!(find(&mut store, number, 0), object(number, 0), "{}", kind.name);
            }
            assert_eq!(find(&mut store, 300, 0), None, "{}", kind.name);

            // The same key, then another.
            store.overwrite(&primary(7), &secondary(INDEX, 7, 0), &value(7, 1)).unwrap();
            assert_eq!(find(&mut store, 7, 0), object(7, 1), "{}", kind.name);
            store.overwrite(&primary(7), &secondary(INDEX, 7, 1), &value(7, 2)).unwrap();
            assert_eq!(find(&mut store, 7, 1), object(7, 2), "{}", kind.name);
            assert_eq!(find(&mut store, 7, 0), None, "{}", kind.name);
            assert_eq!(find(&mut store, 8, 0), object(8, 0), "{}", kind.name);
        }
    }

    #[test]
    fn an_index_holds_several_objects_of_one_key() {
        // But not the maps, whose plain BTreeMap has one object a key.
        for kind in KINDS.iter().filter(|kind| kind.transactional) {
            let folder = tempfile::tempdir().unwrap();
            let mut store = (kind.open)(folder.path()).unwrap();
            store.load(2).unwrap();
            let shared = secondary(INDEX, 0, 0);
            store.overwrite(&primary(1), &shared, &value(1, 1)).unwrap();
            store.overwrite(&primary(0), &secondary(INDEX, 0, 1), &value(0, 1)).unwrap();
            let left = digest(&primary(1), &value(1, 1));
            assert_eq!(store.lookup(&shared).unwrap(), Some(left), "{}", kind.name);
        }
    }
}
