//! redb, on its backend in memory: a table from primary key to object, and a multimap table from
//! secondary to primary key.
//!
//! The cache (1 GiB, as is usual) holds all of it. Lookups share the tables of one read
//! transaction for as long as nothing is written. An overwrite is one write transaction with
//! `Durability::None`.

use std::ops::Range;

use redb::{
    Database, Durability, MultimapTableDefinition, ReadOnlyMultimapTable, ReadOnlyTable,
    ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction, backends::InMemoryBackend,
};

use super::{Contender, no_object, parts, record};
use crate::slik::objects::{INDEX, digest, primary, secondary, value};

type Bytes = &'static [u8];

const OBJECTS: TableDefinition<'_, Bytes, Bytes> = TableDefinition::new("objects");
const BY_SECONDARY: MultimapTableDefinition<'_, Bytes, Bytes> =
    MultimapTableDefinition::new("by_secondary");

/// A database with two tables.
pub struct Redb {
    /// The snapshot that lookups read, dropped by a write.
    reading: Option<Snapshot>,
    database: Database,
    record: Vec<u8>,
}

impl Redb {
    /// An empty one.
    pub fn open() -> anyhow::Result<Redb> {
        let database = Database::builder().create_with_backend(InMemoryBackend::new())?;
        Ok(Redb { reading: None, database, record: Vec::new() })
    }

    fn write(&self) -> anyhow::Result<WriteTransaction> {
        let mut writing = self.database.begin_write()?;
        writing.set_durability(Durability::None)?;
        Ok(writing)
    }
}

/// Puts new objects in.
pub fn insert(writing: &WriteTransaction, numbers: Range<u32>) -> anyhow::Result<()> {
    let mut objects = writing.open_table(OBJECTS)?;
    let mut index = writing.open_multimap_table(BY_SECONDARY)?;
    for number in numbers {
        let (primary, secondary) = (primary(number), secondary(INDEX, number, 0));
        let record = record(&secondary, &value(number, 0));
        objects.insert(primary.as_slice(), record.as_slice())?;
        index.insert(secondary.as_slice(), primary.as_slice())?;
    }
    Ok(())
}

/// The tables of a snapshot.
pub struct Snapshot {
    objects: ReadOnlyTable<Bytes, Bytes>,
    index: ReadOnlyMultimapTable<Bytes, Bytes>,
}

impl Snapshot {
    /// One of now.
    pub fn new(database: &Database) -> anyhow::Result<Snapshot> {
        let reading = database.begin_read()?;
        let index = reading.open_multimap_table(BY_SECONDARY)?;
        Ok(Snapshot { objects: reading.open_table(OBJECTS)?, index })
    }

    /// The digest of the first object of a secondary key.
    #[inline]
    pub fn look_up(&self, secondary: &[u8]) -> anyhow::Result<Option<u64>> {
        let Some(primary) = self.index.get(secondary)?.next().transpose()? else { return Ok(None) };
        let primary = primary.value();
        let Some(record) = self.objects.get(primary)? else { return Ok(None) };
        Ok(Some(digest(primary, parts(record.value())?.1)))
    }
}

impl Contender for Redb {
    fn load(&mut self, objects: u32) -> anyhow::Result<()> {
        let writing = self.write()?;
        insert(&writing, 0..objects)?;
        writing.commit()?;
        Ok(())
    }

    #[inline]
    fn lookup(&mut self, secondary: &[u8]) -> anyhow::Result<Option<u64>> {
        let snapshot = match &self.reading {
            Some(snapshot) => snapshot,
            None => self.reading.insert(Snapshot::new(&self.database)?),
        };
        snapshot.look_up(secondary)
    }

    #[inline]
    fn overwrite(&mut self, primary: &[u8], secondary: &[u8], value: &[u8]) -> anyhow::Result<()> {
        self.reading = None;
        let writing = self.write()?;
        {
            let mut table = writing.open_table(OBJECTS)?;
            let changes = {
                let object = table.get(primary)?.ok_or_else(no_object)?;
                self.record.clear();
                self.record.extend_from_slice(object.value());
                parts(&self.record)?.0 != secondary
            };
            if changes {
                let mut index = writing.open_multimap_table(BY_SECONDARY)?;
                index.remove(parts(&self.record)?.0, primary)?;
                index.insert(secondary, primary)?;
            }
            self.record.clear();
            self.record.extend_from_slice(secondary);
            self.record.extend_from_slice(value);
            table.insert(primary, self.record.as_slice())?;
        }
        writing.commit()?;
        Ok(())
    }

    fn account_bytes(&mut self) -> anyhow::Result<Option<u64>> {
        let writing = self.database.begin_write()?;
        let stats = writing.stats()?;
        let bytes = stats.stored_bytes() + stats.metadata_bytes() + stats.fragmented_bytes();
        writing.abort()?;
        Ok(Some(bytes))
    }
}
