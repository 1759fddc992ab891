//! The stores that are compared by what they do on a disk, each with the settings that it has when
//! none are given, and such that a write that has returned survives the end of the machine.
//!
//! They hold the same objects in the same way as those in memory ([`peers`](super::peers)).

mod fjall;
mod lmdb;
mod ours;
mod redb;
mod sqlite;

use std::path::Path;

use self::{fjall::Fjall, lmdb::Lmdb, ours::Ours, redb::Redb, sqlite::Sqlite};

/// A store with its files in a folder, for many threads.
pub trait OnDisk: Send + Sync {
    /// Puts the first `objects` objects into the empty store, by the fastest way there is. They
    /// are on disk when the store is closed.
    fn load(&self, objects: u32) -> anyhow::Result<()>;

    /// Puts a new object and its index entry in, both or neither. They are on disk when this
    /// returns.
    fn write(&self, number: u32) -> anyhow::Result<()>;

    /// The digest of the first object of a secondary key.
    fn look_up(&self, secondary: &[u8]) -> anyhow::Result<Option<u64>>;

    /// Closes the files, so that the store can be opened again.
    fn close(self: Box<Self>) -> anyhow::Result<()>;
}

/// What a store is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To load it and close it.
    Load,
    /// To write to it.
    Write,
}

/// A kind of store.
pub struct Kind {
    /// What it is called on a command line.
    pub id: &'static str,
    /// What it is called in a table.
    pub name: &'static str,
    /// Opens the one in a folder, or makes an empty one.
    pub open: fn(&Path, Purpose) -> anyhow::Result<Box<dyn OnDisk>>,
}

/// All of them, slik first.
pub const KINDS: [Kind; 5] = [
    Kind { id: "slik", name: "slik", open: |at, purpose| Ok(Box::new(Ours::open(at, purpose)?)) },
    Kind { id: "lmdb", name: "LMDB", open: |at, _| Ok(Box::new(Lmdb::open(at)?)) },
    Kind { id: "sqlite", name: "SQLite", open: |at, _| Ok(Box::new(Sqlite::open(at)?)) },
    Kind { id: "redb", name: "redb", open: |at, _| Ok(Box::new(Redb::open(at)?)) },
    Kind { id: "fjall", name: "fjall", open: |at, _| Ok(Box::new(Fjall::open(at)?)) },
];

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::slik::objects::{INDEX, digest, primary, secondary, value};

    #[test]
    fn every_store_has_what_was_loaded_and_written_when_it_is_opened_again() {
        for kind in &KINDS {
            let folder = tempfile::tempdir().unwrap();
            let open = |purpose| (kind.open)(folder.path(), purpose).unwrap();
            let store = open(Purpose::Load);
            store.load(300).unwrap();
            store.close().unwrap();

            let store = open(Purpose::Write);
            thread::scope(|scope| {
                for writer in 0..4 {
                    let first = 300 + 5 * writer;
                    let store = &store;
                    scope.spawn(move || {
                        (first..first + 5).for_each(|number| store.write(number).unwrap());
                    });
                }
            });
            store.close().unwrap();

            let store = open(Purpose::Write);
            for number in 0..320 {
                let expected = Some(digest(&primary(number), &value(number, 0)));
                let found = store.look_up(&secondary(INDEX, number, 0)).unwrap();
                assert_eq!(found, expected, "{}: object {number}", kind.name);
            }
            assert_eq!(store.look_up(&secondary(INDEX, 320, 0)).unwrap(), None, "{}", kind.name);
        }
    }
}
