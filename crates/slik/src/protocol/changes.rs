//! What a write does to the indexes: the entries that it inserts and those that it removes.

use std::ops::Range;

use crate::entry;
use crate::schema::IndexId;
use crate::substrate::Near;

/// Entries to be inserted, and behind them those to be removed.
#[derive(Default)]
pub(crate) struct Changes {
    /// The entries one after the other.
    bytes: Vec<u8>,
    changes: Vec<Change>,
    inserted: usize,
}

struct Change {
    index: IndexId,
    /// Where its entry ends.
    end: usize,
    near: Near,
}

impl Changes {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.changes.clear();
        self.inserted = 0;
    }

    /// Adds an entry to be inserted. They come before those to be removed.
    pub(crate) fn insert(&mut self, index: IndexId, key: &[u8], hash: u64) {
        self.remove(index, key, hash);
        self.inserted = self.changes.len();
    }

    /// Adds an entry to be removed.
    pub(crate) fn remove(&mut self, index: IndexId, key: &[u8], hash: u64) {
        entry::append(key, hash, &mut self.bytes);
        self.changes.push(Change { index, end: self.bytes.len(), near: Near::UNKNOWN });
    }

    /// The numbers of those to be inserted.
    pub(crate) fn inserted(&self) -> Range<usize> {
        0..self.inserted
    }

    /// The numbers of those to be removed.
    pub(crate) fn removed(&self) -> Range<usize> {
        self.inserted..self.changes.len()
    }

    /// The numbers of all.
    pub(crate) fn all(&self) -> Range<usize> {
        0..self.changes.len()
    }

    /// An entry, its index, and where it is.
    #[inline]
    pub(crate) fn get(&self, number: usize) -> (IndexId, &[u8], Near) {
        let Change { index, end, near } = self.changes[number];
        let start = if number == 0 { 0 } else { self.changes[number - 1].end };
        (index, &self.bytes[start..end], near)
    }

    /// Notes where an entry is.
    #[inline]
    pub(crate) fn locate(&mut self, number: usize, near: Near) {
        self.changes[number].near = near;
    }

    /// The bytes that are kept for later writes.
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity() + self.changes.capacity() * size_of::<Change>()
    }
}
