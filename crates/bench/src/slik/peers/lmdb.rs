//! LMDB by `heed`: a database from primary key to object, and one with sorted duplicates from
//! secondary to primary key.
//!
//! `NO_SYNC`, `NO_META_SYNC` and `WRITE_MAP`, the flags of those who need no durability and write
//! straight into the map; its lock stays. Lookups share one read transaction for as long as
//! nothing is written, and take the first duplicate by a plain `get`, without a cursor. An
//! overwrite is one write transaction.

use std::{ops::Range, path::Path};

use heed::{
    CommitOrAbort, Database, DatabaseFlags, Env, EnvFlags, EnvOpenOptions, RoTxn, RwTxn, WithTls,
    types::Bytes,
};

use super::{Contender, no_object, parts, record};
use crate::slik::objects::{INDEX, digest, primary, secondary, value};

/// Address space; the file grows as pages are used.
const MAP_BYTES: usize = 16 << 30;

/// An environment and its two databases.
pub struct Tables {
    env: Env,
    objects: Database<'static, Bytes, Bytes>,
    index: Database<'static, Bytes, Bytes>,
}

impl Tables {
    /// Opens those in `folder`, or makes empty ones.
    pub fn open(folder: &Path, flags: EnvFlags) -> anyhow::Result<Tables> {
        let mut options = EnvOpenOptions::new();
        options.map_size(MAP_BYTES).max_dbs(2);
        // SAFETY: the folder is the benchmark's own, so nothing else changes its files; the flags
        // only give up durability.
        let env = unsafe { options.flags(flags).open(folder)? };
        let created = env.create_databases_and_commit(env.write_txn()?, |opener, writing| {
            let objects = opener.create_database(writing, Some("objects"))?;
            let mut options = opener.database_options().types();
            options.name("index").flags(DatabaseFlags::DUP_SORT);
            Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit((
                objects,
                options.create(writing)?,
            )))
        })?;
        let (objects, index) = created.unwrap_commit();
        Ok(Tables { env, objects, index })
    }

    /// Puts new objects in, in one transaction.
    pub fn insert(&self, numbers: Range<u32>) -> anyhow::Result<()> {
        let mut writing = self.env.write_txn()?;
        for number in numbers {
            let (primary, secondary) = (primary(number), secondary(INDEX, number, 0));
            self.objects.put(&mut writing, &primary, &record(&secondary, &value(number, 0)))?;
            self.index.put(&mut writing, &secondary, &primary)?;
        }
        writing.commit()?;
        Ok(())
    }

    /// The digest of the first object of a secondary key, in a snapshot made for it.
    pub fn look_up(&self, secondary: &[u8]) -> anyhow::Result<Option<u64>> {
        self.look_up_in(&self.env.read_txn()?, secondary)
    }

    #[inline]
    fn look_up_in(
        &self,
        reading: &RoTxn<'_, WithTls>,
        secondary: &[u8],
    ) -> anyhow::Result<Option<u64>> {
        let Some(primary) = self.index.get(reading, secondary)? else { return Ok(None) };
        let Some(record) = self.objects.get(reading, primary)? else { return Ok(None) };
        Ok(Some(digest(primary, parts(record)?.1)))
    }
}

/// Tables in memory.
pub struct Lmdb {
    /// The snapshot that lookups read, dropped by a write.
    reading: Option<RoTxn<'static, WithTls>>,
    tables: Tables,
    record: Vec<u8>,
}

impl Lmdb {
    /// An empty one in `folder`.
    pub fn open(folder: &Path) -> anyhow::Result<Lmdb> {
        let flags = EnvFlags::NO_SYNC | EnvFlags::NO_META_SYNC | EnvFlags::WRITE_MAP;
        Ok(Lmdb { reading: None, tables: Tables::open(folder, flags)?, record: Vec::new() })
    }

    fn replace(
        &mut self,
        writing: &mut RwTxn<'_>,
        primary: &[u8],
        secondary: &[u8],
        value: &[u8],
    ) -> anyhow::Result<()> {
        let Tables { objects, index, .. } = &self.tables;
        let object = objects.get(writing, primary)?.ok_or_else(no_object)?;
        let (old, _) = parts(object)?;
        if old != secondary {
            self.record.clear();
            self.record.extend_from_slice(old);
            index.delete_one_duplicate(writing, &self.record, primary)?;
            index.put(writing, secondary, primary)?;
        }
        self.record.clear();
        self.record.extend_from_slice(secondary);
        self.record.extend_from_slice(value);
        objects.put(writing, primary, &self.record)?;
        Ok(())
    }
}

impl Contender for Lmdb {
    fn load(&mut self, objects: u32) -> anyhow::Result<()> {
        self.tables.insert(0..objects)
    }

    #[inline]
    fn lookup(&mut self, secondary: &[u8]) -> anyhow::Result<Option<u64>> {
        let reading = snapshot(&mut self.reading, &self.tables.env)?;
        self.tables.look_up_in(reading, secondary)
    }

    #[inline]
    fn overwrite(&mut self, primary: &[u8], secondary: &[u8], value: &[u8]) -> anyhow::Result<()> {
        // A reader of long ago would keep the freed pages from being used again.
        self.reading = None;
        let env = self.tables.env.clone();
        let mut writing = env.write_txn()?;
        self.replace(&mut writing, primary, secondary, value)?;
        writing.commit()?;
        Ok(())
    }

    fn account_bytes(&mut self) -> anyhow::Result<Option<u64>> {
        let reading = snapshot(&mut self.reading, &self.tables.env)?;
        let mut bytes = 0;
        for database in [&self.tables.objects, &self.tables.index] {
            let stat = database.stat(reading)?;
            let pages = stat.branch_pages + stat.leaf_pages + stat.overflow_pages;
            bytes += pages as u64 * u64::from(stat.page_size);
        }
        Ok(Some(bytes))
    }
}

/// The snapshot, made anew if it was dropped; a thread may have one only.
#[inline]
fn snapshot<'r>(
    reading: &'r mut Option<RoTxn<'static, WithTls>>,
    env: &Env,
) -> anyhow::Result<&'r RoTxn<'static, WithTls>> {
    match reading {
        Some(reading) => Ok(reading),
        none => Ok(none.insert(env.clone().static_read_txn()?)),
    }
}
