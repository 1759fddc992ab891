//! Names of a table's indexes, and what a writer has to know of them.

/// The number of an index in its table: an object's keys say by it which index each one feeds.
pub type IndexId = u16;

/// The indexes to be kept up with by a write, as of one schema generation.
#[derive(Default)]
pub(crate) struct SchemaView {
    /// Rises whenever an index is created or dropped.
    pub(crate) generation: u64,
    /// In ascending order; both readable ones and those still being built.
    pub(crate) indexes: Vec<IndexId>,
}

impl SchemaView {
    pub(crate) fn has(&self, index: IndexId) -> bool {
        self.indexes.contains(&index)
    }
}
