//! How much a store holds.

use crate::schema::IndexId;

/// Contents of one table. Counts are taken part by part: under concurrent writes they are of
/// slightly different moments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableStats {
    /// Objects.
    pub objects: usize,
    /// Tablets the objects are divided into.
    pub tablets: usize,
    /// Bytes held for objects, their hash tables and index entries, without the allocator's own
    /// overhead.
    pub memory_bytes: usize,
    /// The indexes, by ascending number.
    pub indexes: Vec<IndexStats>,
}

/// Contents of one index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexStats {
    /// Its number.
    pub index: IndexId,
    /// False while it is being built.
    pub readable: bool,
    /// Entries: one per object and distinct key.
    pub entries: usize,
    /// Indexlets the entries are divided into.
    pub indexlets: usize,
    /// Bytes held for the entries.
    pub memory_bytes: usize,
}

/// Contents of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Its tables, by ascending name.
    pub tables: Vec<(String, TableStats)>,
    /// Bytes of disk taken; 0 for a store in memory.
    pub disk_bytes: u64,
}

impl Stats {
    /// Objects of all tables.
    pub fn objects(&self) -> usize {
        self.tables.iter().map(|(_, table)| table.objects).sum()
    }

    /// Bytes of all tables; see [`TableStats::memory_bytes`].
    pub fn memory_bytes(&self) -> usize {
        self.tables.iter().map(|(_, table)| table.memory_bytes).sum()
    }
}
