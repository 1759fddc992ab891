//! fjall: a keyspace from primary key to object, and one whose keys are secondary key ‖ primary
//! key, looked up by prefix.
//!
//! The block cache holds everything, nothing is compressed (the bytes are random), indexes and
//! filters are pinned, blocks have their hash index, and after the load both keyspaces are
//! compacted. The journal stays in the process's buffer until that is full. An overwrite reads the
//! object and commits one batch.

use std::path::Path;

use fjall::{
    Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch,
    config::{CompressionPolicy, HashRatioPolicy, PinningPolicy},
};

use super::{Contender, no_object, parts, record};
use crate::slik::objects::{INDEX, KEY_BYTES, digest, primary, secondary, value};

const CACHE_BYTES: u64 = 2 << 30;
/// Objects in a batch of the load.
const BATCH: u32 = 1000;

/// A database with two keyspaces.
pub struct Fjall {
    database: Database,
    objects: Keyspace,
    index: Keyspace,
}

impl Fjall {
    /// An empty one in `folder`.
    pub fn open(folder: &Path) -> anyhow::Result<Fjall> {
        let database = Database::builder(folder)
            .cache_size(CACHE_BYTES)
            .manual_journal_persist(true)
            .open()?;
        let options = || {
            KeyspaceCreateOptions::default()
                .manual_journal_persist(true)
                .expect_point_read_hits(true)
                .data_block_compression_policy(CompressionPolicy::disabled())
                .index_block_compression_policy(CompressionPolicy::disabled())
                .data_block_hash_ratio_policy(HashRatioPolicy::all(1.0))
                .filter_block_pinning_policy(PinningPolicy::all(true))
                .index_block_pinning_policy(PinningPolicy::all(true))
        };
        let objects = database.keyspace("objects", options)?;
        let index = database.keyspace("index", options)?;
        Ok(Fjall { database, objects, index })
    }
}

impl Contender for Fjall {
    fn load(&mut self, objects: u32) -> anyhow::Result<()> {
        for first in (0..objects).step_by(BATCH as usize) {
            let mut batch = self.database.batch();
            for number in first..objects.min(first + BATCH) {
                insert(&mut batch, &self.objects, &self.index, number);
            }
            batch.commit()?;
        }
        for keyspace in [&self.objects, &self.index] {
            keyspace.rotate_memtable_and_wait()?;
            keyspace.major_compact()?;
        }
        Ok(())
    }

    #[inline]
    fn lookup(&mut self, secondary: &[u8]) -> anyhow::Result<Option<u64>> {
        look_up(&self.objects, &self.index, secondary)
    }

    #[inline]
    fn overwrite(&mut self, primary: &[u8], secondary: &[u8], value: &[u8]) -> anyhow::Result<()> {
        let object = self.objects.get(primary)?.ok_or_else(no_object)?;
        let (old, _) = parts(&object)?;
        let mut batch = self.database.batch();
        if old != secondary {
            batch.remove(&self.index, record_of_index(old, primary));
            batch.insert(&self.index, record_of_index(secondary, primary), []);
        }
        batch.insert(&self.objects, primary, record(secondary, value));
        batch.commit()?;
        Ok(())
    }

    fn account_bytes(&mut self) -> anyhow::Result<Option<u64>> {
        let tables = self.objects.disk_space() + self.index.disk_space();
        Ok(Some(tables + self.database.write_buffer_size()))
    }
}

/// Adds a new object and its index entry to a batch.
pub fn insert(batch: &mut OwnedWriteBatch, objects: &Keyspace, index: &Keyspace, number: u32) {
    let (primary, secondary) = (primary(number), secondary(INDEX, number, 0));
    batch.insert(objects, primary, record(&secondary, &value(number, 0)));
    batch.insert(index, record_of_index(&secondary, &primary), []);
}

/// The digest of the first object of a secondary key.
#[inline]
pub fn look_up(
    objects: &Keyspace,
    index: &Keyspace,
    secondary: &[u8],
) -> anyhow::Result<Option<u64>> {
    let Some(entry) = index.prefix(secondary).next() else { return Ok(None) };
    let entry = entry.key()?;
    let primary = parts(&entry)?.1;
    let Some(record) = objects.get(primary)? else { return Ok(None) };
    Ok(Some(digest(primary, parts(&record)?.1)))
}

/// The key of an index entry.
pub fn record_of_index(secondary: &[u8], primary: &[u8]) -> Vec<u8> {
    let mut entry = Vec::with_capacity(2 * KEY_BYTES);
    entry.extend_from_slice(secondary);
    entry.extend_from_slice(primary);
    entry
}
