//! A table: objects by primary key, and indexes over their secondary keys.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::error::Error;
use crate::memory::Memory;
use crate::object::{Key, Object, ObjectRef};
use crate::protocol::lookup::{Found, Search};
use crate::protocol::{schema, write};
use crate::query::Query;
use crate::schema::IndexId;
use crate::scratch::{self, Scratch};
use crate::stats::TableStats;
use crate::stream::Lookup;
use crate::substrate::{Expected, Substrate};

/// A handle of a table. Cloning gives another handle of the same table; all calls take `&self`
/// and may be made from any number of threads.
///
/// In the complexities, `n` is the number of objects; keys and values count as constant.
#[derive(Clone)]
pub struct Table {
    pub(crate) memory: Arc<Memory>,
}

impl Table {
    pub(crate) fn new(memory: Arc<Memory>) -> Table {
        Table { memory }
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        self.memory.name()
    }

    /// Puts an object under its primary key, in the place of any other with its value and all its
    /// secondary keys, and gives its version: greater than every earlier one of that primary key.
    ///
    /// `keys` are its secondary keys, each with the index it feeds; an index may get several keys
    /// or none, and keys of indexes that do not exist are kept for when they are created.
    /// O(1) for the object and O(log n) for each key that changes.
    ///
    /// # Errors
    /// [`Error::KeyTooLong`], [`Error::TooManyKeys`], [`Error::ValueTooLong`],
    /// [`Error::MemoryLimit`], [`Error::TableDropped`].
    pub fn write(&self, primary: &[u8], keys: &[Key<'_>], value: &[u8]) -> Result<u64, Error> {
        self.put(primary, keys, value, Expected::Any)
    }

    /// Puts an object if there is one of version `expected` under its primary key, or, for
    /// `None`, if there is no object. Of several writers that expect the same, one succeeds.
    ///
    /// # Errors
    /// [`Error::VersionMismatch`] with the current version, and those of [`Table::write`].
    pub fn write_if_version(
        &self,
        primary: &[u8],
        expected: Option<u64>,
        keys: &[Key<'_>],
        value: &[u8],
    ) -> Result<u64, Error> {
        self.put(primary, keys, value, Expected::Version(expected))
    }

    fn put(
        &self,
        primary: &[u8],
        keys: &[Key<'_>],
        value: &[u8],
        expected: Expected,
    ) -> Result<u64, Error> {
        scratch::with(|scratch| {
            write::write(&*self.memory, primary, keys, value, expected, &mut scratch.write)
        })
    }

    /// Removes an object; gives the version it had, or `None` if there was none. O(1) for the
    /// object and O(log n) for each of its keys.
    ///
    /// # Errors
    /// [`Error::KeyTooLong`], [`Error::TableDropped`].
    pub fn remove(&self, primary: &[u8]) -> Result<Option<u64>, Error> {
        self.take(primary, Expected::Any)
    }

    /// Removes an object if its version is `expected`.
    ///
    /// # Errors
    /// [`Error::VersionMismatch`] with the current version, and those of [`Table::remove`].
    pub fn remove_if_version(&self, primary: &[u8], expected: u64) -> Result<(), Error> {
        self.take(primary, Expected::Version(Some(expected))).map(drop)
    }

    fn take(&self, primary: &[u8], expected: Expected) -> Result<Option<u64>, Error> {
        scratch::with(|scratch| write::remove(&*self.memory, primary, expected, &mut scratch.write))
    }

    /// Reads an object. Linearizable with the writes of its primary key. O(1).
    ///
    /// # Errors
    /// [`Error::TableDropped`].
    pub fn read(&self, primary: &[u8]) -> Result<Option<Object>, Error> {
        self.read_with(primary, |object| object.to_object())
    }

    /// Reads an object without allocating: calls `visit` with a copy in a buffer that the thread
    /// keeps. No lock is held meanwhile, so that `visit` may call the store.
    ///
    /// # Errors
    /// [`Error::TableDropped`].
    pub fn read_with<R>(
        &self,
        primary: &[u8],
        visit: impl FnOnce(ObjectRef<'_>) -> R,
    ) -> Result<Option<R>, Error> {
        let mut view = self.memory.view();
        self.memory.check_exists(&view)?;
        let hash = self.memory.switches().hash(primary);
        scratch::with(|Scratch { object: buffer, .. }| {
            let mut found = false;
            self.memory.read(&mut view, hash, |object| {
                if object.primary() != primary {
                    return ControlFlow::Continue(());
                }
                buffer.clear();
                buffer.extend_from_slice(object.bytes());
                found = true;
                ControlFlow::Break(())
            });
            Ok(found.then(|| visit(ObjectRef::new(buffer))))
        })
    }

    /// Reads several objects, each by itself: together they are not a snapshot. The answers are
    /// in the order of the keys. O(1) each.
    ///
    /// # Errors
    /// [`Error::TableDropped`].
    pub fn multi_read(&self, primaries: &[&[u8]]) -> Result<Vec<Option<Object>>, Error> {
        primaries.iter().map(|primary| self.read(primary)).collect()
    }

    /// The objects that have a key of an index in the query's range, as a stream in the order of
    /// that key; an object with several keys in the range comes once for each. O(log n) to begin,
    /// then O(1) for each object.
    ///
    /// The stream reads ahead by batches of at most 64. An object that has a key in the range from
    /// the beginning of the lookup to its end is returned; every object returned had the key it
    /// is returned for at some moment in between. The objects together are not a snapshot. Among
    /// objects of the same key the order is always the same, but not that of the primary keys.
    ///
    /// # Errors
    /// [`Error::NoIndex`], [`Error::IndexBuilding`], [`Error::TableDropped`]; from the stream also
    /// [`Error::IndexDropped`].
    pub fn lookup(&self, index: IndexId, query: &Query<'_>) -> Result<Lookup, Error> {
        Lookup::new(self.clone(), index, query)
    }

    /// Calls `visit` with what [`Table::lookup`] would give, until it breaks; no allocation for
    /// the objects, and no lock held while it runs. Gives the number of visits.
    ///
    /// # Errors
    /// Those of [`Table::lookup`] and its stream.
    pub fn lookup_with(
        &self,
        index: IndexId,
        query: &Query<'_>,
        mut visit: impl FnMut(Found<'_>) -> ControlFlow<()>,
    ) -> Result<usize, Error> {
        scratch::with(|Scratch { look, .. }| {
            let cursor = std::mem::take(&mut look.cursor);
            let mut search = Search::new(&*self.memory, index, query, cursor);
            let mut visits = 0;
            let mut result = Ok(());
            if search.is_done() {
                result = search.open(&*self.memory, look);
            }
            while result.is_ok() && !search.is_done() {
                result = search.step(&*self.memory, look, |found| {
                    visits += 1;
                    visit(found)
                });
            }
            look.cursor = search.into_cursor();
            result.map(|()| visits)
        })
    }

    /// Creates an index over the keys that the objects have for it, while the table is in use;
    /// it can be looked up when this returns. O(n log n).
    ///
    /// # Errors
    /// [`Error::IndexExists`]; [`Error::IndexDropped`] if another thread dropped it meanwhile;
    /// [`Error::MemoryLimit`], and there is no index then; [`Error::TableDropped`].
    pub fn create_index(&self, index: IndexId) -> Result<(), Error> {
        scratch::with(|scratch| schema::create_index(&*self.memory, index, &mut scratch.write))
    }

    /// Drops an index and frees its memory. Lookups under way end with [`Error::IndexDropped`];
    /// the objects keep their keys.
    ///
    /// # Errors
    /// [`Error::NoIndex`], [`Error::TableDropped`].
    pub fn drop_index(&self, index: IndexId) -> Result<(), Error> {
        schema::drop_index(&*self.memory, index)
    }

    /// Splits the indexlet that has `key` so that a new one begins there; for `None`, the largest
    /// indexlet in its middle. Calls go on meanwhile, those on that indexlet wait for the
    /// O(its size) it takes at worst. Indexlets that become too large are split without being
    /// asked.
    ///
    /// # Errors
    /// [`Error::NothingToSplit`], [`Error::NoIndex`], [`Error::TableDropped`].
    pub fn split_indexlet(&self, index: IndexId, key: Option<&[u8]>) -> Result<(), Error> {
        self.memory.split_indexlet(index, key)
    }

    /// Splits the tablet that has a primary key in two, by one more bit of hash; gives false if
    /// it has been split as often as is possible. Tablets that become too large are split without
    /// being asked.
    ///
    /// # Errors
    /// [`Error::TableDropped`].
    pub fn split_tablet(&self, primary: &[u8]) -> Result<bool, Error> {
        self.memory.split_tablet(primary)
    }

    /// How much the table holds.
    pub fn stats(&self) -> TableStats {
        self.memory.stats()
    }
}
