//! The log: what a store has on disk, and how writes get there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use fjall::config::{BlockSizePolicy, FilterPolicy};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode};
use parking_lot::{Mutex, RwLock};

use super::folder::{self, Closed, Folder};
use super::group::{Group, Record};
use super::journal;
use super::record::{self, Definition, Entry};
use crate::error::Error;
use crate::options::Durability;
use crate::schema::IndexId;

/// The one keyspace of the fjall database.
const RECORDS: &str = "records";
/// Records removed at once when a dropped table is purged.
const PURGED_AT_ONCE: usize = 4_096;
/// Versions taken in advance: so many writes share one that goes to the catalog and is synced.
const VERSIONS: u64 = 1 << 20;

/// The disk side of a store.
pub(crate) struct Log {
    /// Whether a write waits for the disk.
    synced: AtomicBool,
    /// Nothing after the store was closed.
    disk: RwLock<Option<Disk>>,
    group: Group,
    catalog: Mutex<Catalog>,
    /// Why no more can be logged.
    stopped: OnceLock<String>,
    path: PathBuf,
}

/// The files, open. The database goes first, then the lock.
pub(super) struct Disk {
    pub(super) records: Keyspace,
    pub(super) db: Database,
    pub(super) folder: Folder,
}

/// The definitions that are on disk.
#[derive(Default)]
pub(super) struct Catalog {
    pub(super) next_table: u32,
    pub(super) closings: u64,
    pub(super) tables: BTreeMap<u32, Definition>,
    /// Objects by table.
    pub(super) objects: BTreeMap<u32, Arc<AtomicU64>>,
}

/// A table's part of the log.
pub(crate) struct TableLog {
    log: Arc<Log>,
    table: u32,
    /// Versions up to this one may be given.
    reserved: AtomicU64,
    objects: Arc<AtomicU64>,
}

impl Catalog {
    pub(super) fn objects(&self, table: u32) -> u64 {
        self.objects.get(&table).map_or(0, |objects| objects.load(Ordering::Relaxed))
    }
}

/// Opens the fjall database in a folder, or makes it.
pub(super) fn open_database(path: &Path) -> Result<(Database, Keyspace), fjall::Error> {
    // All objects are in memory anyhow: no cache, no filters, and blocks for reading in a row.
    let db = Database::builder(path)
        .cache_size(1 << 20)
        .max_cached_files(Some(64))
        .worker_threads(2)
        .max_journaling_size(128 << 20)
        .open()?;
    let records = db.keyspace(RECORDS, || {
        KeyspaceCreateOptions::default()
            .max_memtable_size(32 << 20)
            .data_block_size_policy(BlockSizePolicy::all(32 << 10))
            .filter_policy(FilterPolicy::disabled())
            .expect_point_read_hits(true)
    })?;
    Ok((db, records))
}

/// What an error of fjall's means, when it opens or reads.
pub(super) fn opening_error(path: &Path, error: fjall::Error) -> Error {
    match error {
        fjall::Error::Io(e) | fjall::Error::Storage(fjall::LsmError::Io(e)) => match e.kind() {
            // These are what damaged files lead to.
            std::io::ErrorKind::UnexpectedEof
            | std::io::ErrorKind::InvalidData
            | std::io::ErrorKind::InvalidInput
            | std::io::ErrorKind::NotFound
            | std::io::ErrorKind::Other => Error::damaged(path, e.to_string()),
            _ => Error::io("open the log in", path, &e),
        },
        fjall::Error::Locked => Error::Locked { path: path.into() },
        other => Error::damaged(path, other.to_string()),
    }
}

impl Log {
    pub(super) fn new(durability: Durability, disk: Disk, catalog: Catalog) -> Log {
        Log {
            synced: AtomicBool::new(durability == Durability::Synced),
            path: disk.folder.path.clone(),
            disk: RwLock::new(Some(disk)),
            group: Group::default(),
            catalog: Mutex::new(catalog),
            stopped: OnceLock::new(),
        }
    }

    /// Logs one record at the store's level of durability.
    fn append(&self, record: Record) -> Result<(), Error> {
        let disk = self.disk.read();
        let disk = self.usable(&disk)?;
        if self.synced.load(Ordering::Acquire) {
            return self.group.commit(record, |records| {
                let mut batch = OwnedWriteBatch::with_capacity(disk.db.clone(), records.len())
                    .durability(Some(PersistMode::SyncData));
                for Record { key, value } in records {
                    match value {
                        Some(value) => batch.insert(&disk.records, key, value),
                        None => batch.remove(&disk.records, key),
                    }
                }
                batch.commit().map_err(|error| self.stop(error))
            });
        }
        let written = match record.value {
            Some(value) => disk.records.insert(record.key, value),
            None => disk.records.remove(record.key),
        };
        written.map_err(|error| self.stop(error))
    }

    /// Sets what later writes wait for. When this returns, what was acknowledged at a lower level
    /// has this one too.
    pub(crate) fn set_durability(&self, durability: Durability) -> Result<(), Error> {
        let disk = self.disk.read();
        let disk = self.usable(&disk)?;
        self.synced.store(durability == Durability::Synced, Ordering::Release);
        match durability {
            Durability::Buffered => Ok(()),
            Durability::Synced => {
                disk.db.persist(PersistMode::SyncAll).map_err(|error| self.stop(error))
            }
        }
    }

    fn usable<'a>(&self, disk: &'a Option<Disk>) -> Result<&'a Disk, Error> {
        if let Some(reason) = self.stopped.get() {
            return Err(Error::WritesStopped { reason: reason.clone() });
        }
        disk.as_ref().ok_or_else(|| Error::Closed { path: self.path.clone() })
    }

    /// No more is logged after a failure: what a failed write or sync left behind is not known.
    fn stop(&self, error: fjall::Error) -> Error {
        let (error, reason) = match error {
            fjall::Error::Io(e) | fjall::Error::Storage(fjall::LsmError::Io(e)) => {
                (Some(Error::io("write to the log in", &self.path, &e)), e.to_string())
            }
            // It stopped by itself, in the background.
            fjall::Error::Poisoned => (None, "the log could not be kept in order".to_owned()),
            other => (None, other.to_string()),
        };
        let reason = self.stopped.get_or_init(|| reason).clone();
        error.unwrap_or(Error::WritesStopped { reason })
    }

    /// Writes records of the catalog at once, onto the disk at either level.
    fn define(&self, disk: &Disk, entries: &[(Entry, Option<Vec<u8>>)]) -> Result<(), Error> {
        let mut batch = disk.db.batch().durability(Some(PersistMode::SyncAll));
        for (entry, body) in entries {
            let key = entry.key();
            match body {
                Some(body) => {
                    let value = record::seal(&key, body);
                    batch.insert(&disk.records, key, value);
                }
                None => batch.remove(&disk.records, key),
            }
        }
        batch.commit().map_err(|error| self.stop(error))
    }

    /// Puts a new table into the catalog.
    pub(crate) fn create_table(self: &Arc<Log>, name: &str) -> Result<TableLog, Error> {
        let disk = self.disk.read();
        let disk = self.usable(&disk)?;
        let mut catalog = self.catalog.lock();
        let table = catalog.next_table;
        let definition = Definition { name: name.to_owned(), versions: 0, indexes: Vec::new() };
        let next = (table + 1).to_le_bytes().to_vec();
        self.define(
            disk,
            &[(Entry::NextTable, Some(next)), (Entry::Table(table), Some(definition.encode()))],
        )?;
        catalog.next_table = table + 1;
        catalog.tables.insert(table, definition);
        catalog.objects.insert(table, Arc::default());
        Ok(self.table(&catalog, table))
    }

    /// A table's part of the log.
    pub(super) fn table(self: &Arc<Log>, catalog: &Catalog, table: u32) -> TableLog {
        TableLog {
            log: Arc::clone(self),
            table,
            reserved: AtomicU64::new(catalog.tables[&table].versions),
            objects: Arc::clone(&catalog.objects[&table]),
        }
    }

    pub(super) fn tables(self: &Arc<Log>) -> Vec<(Definition, TableLog)> {
        let catalog = self.catalog.lock();
        let tables = catalog.tables.iter();
        tables.map(|(&table, d)| (d.clone(), self.table(&catalog, table))).collect()
    }

    /// Changes a table's definition, on disk first.
    fn redefine(&self, table: u32, change: impl FnOnce(&mut Definition)) -> Result<(), Error> {
        let disk = self.disk.read();
        let disk = self.usable(&disk)?;
        let mut catalog = self.catalog.lock();
        // A table dropped meanwhile has no definition to be changed.
        let Some(definition) = catalog.tables.get_mut(&table) else { return Ok(()) };
        let mut changed = definition.clone();
        change(&mut changed);
        self.define(disk, &[(Entry::Table(table), Some(changed.encode()))])?;
        *definition = changed;
        Ok(())
    }

    /// Removes what dropped tables left. If this is interrupted, the next opening goes on.
    pub(super) fn purge(&self, table: u32) -> Result<(), Error> {
        let disk = self.disk.read();
        let disk = self.usable(&disk)?;
        let (from, to) = (record::key(table, &[]), record::key(table + 1, &[]));
        let mut keys = disk.records.range(from..to).peekable();
        while keys.peek().is_some() {
            let mut batch = disk.db.batch();
            for guard in keys.by_ref().take(PURGED_AT_ONCE) {
                let key = guard.key().map_err(|error| self.stop(error))?;
                batch.remove(&disk.records, key);
            }
            batch.commit().map_err(|error| self.stop(error))?;
        }
        self.define(disk, &[(Entry::Dropped(table), None)])
    }

    /// Bytes of disk that the store takes, the zeros that a journal is filled with beforehand
    /// not counted where the file system leaves them out.
    pub(crate) fn disk_bytes(&self) -> u64 {
        folder::disk_bytes(&self.path)
    }

    /// Closes the files: what was written is on disk when this returns, and somebody else may
    /// open the store.
    pub(crate) fn close(&self) -> Result<(), Error> {
        let mut slot = self.disk.write();
        let Some(disk) = slot.take() else { return Ok(()) };
        if let Some(reason) = self.stopped.get() {
            return Err(Error::WritesStopped { reason: reason.clone() });
        }
        let catalog = self.catalog.lock();
        let closing = catalog.closings + 1;
        self.define(&disk, &[(Entry::Closings, Some(closing.to_le_bytes().to_vec()))])?;
        let Disk { records, db, folder } = disk;
        drop(records);
        drop(db);
        let journals = journal::names(&folder.log())?;
        let objects = |objects: &Arc<AtomicU64>| objects.load(Ordering::Relaxed);
        folder.note_closed(&Closed {
            closing,
            journals,
            objects: catalog.objects.iter().map(|(&table, o)| (table, objects(o))).collect(),
        })
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // There is nobody to be told; a store that was not closed is looked through when opened.
        let _ = self.close();
    }
}

impl TableLog {
    pub(super) fn number(&self) -> u32 {
        self.table
    }

    /// Logs an object under a version.
    pub(crate) fn put(&self, primary: &[u8], image: &[u8], version: u64) -> Result<(), Error> {
        let key = record::key(self.table, primary);
        let value = record::seal_object(&key, image, version);
        self.log.append(Record { key: key.into(), value: Some(value.into()) })
    }

    /// Logs the removal of an object.
    pub(crate) fn remove(&self, primary: &[u8]) -> Result<(), Error> {
        let key = record::key(self.table, primary);
        self.log.append(Record { key: key.into(), value: None })
    }

    /// Makes sure that a version will not be given again after the store is opened anew.
    #[inline]
    pub(crate) fn reserve(&self, version: u64) -> Result<(), Error> {
        if version <= self.reserved.load(Ordering::Acquire) {
            return Ok(());
        }
        let reserved = version + VERSIONS;
        self.log.redefine(self.table, |definition| {
            definition.versions = definition.versions.max(reserved);
        })?;
        self.reserved.fetch_max(reserved, Ordering::Release);
        Ok(())
    }

    /// Counts an object that came or went.
    pub(crate) fn count(&self, before: bool, after: bool) {
        match (before, after) {
            (false, true) => self.objects.fetch_add(1, Ordering::Relaxed),
            (true, false) => self.objects.fetch_sub(1, Ordering::Relaxed),
            _ => 0,
        };
    }

    pub(crate) fn add_index(&self, index: IndexId) -> Result<(), Error> {
        self.log.redefine(self.table, |definition| {
            if let Err(at) = definition.indexes.binary_search(&index) {
                definition.indexes.insert(at, index);
            }
        })
    }

    pub(crate) fn delete_index(&self, index: IndexId) -> Result<(), Error> {
        self.log.redefine(self.table, |definition| definition.indexes.retain(|&i| i != index))
    }

    /// Takes the table out of the catalog; its objects are to be purged once no writer is left.
    pub(crate) fn drop_table(&self) -> Result<(), Error> {
        let disk = self.log.disk.read();
        let disk = self.log.usable(&disk)?;
        let mut catalog = self.log.catalog.lock();
        self.log.define(
            disk,
            &[(Entry::Table(self.table), None), (Entry::Dropped(self.table), Some(Vec::new()))],
        )?;
        catalog.tables.remove(&self.table);
        catalog.objects.remove(&self.table);
        Ok(())
    }

    pub(crate) fn purge(&self) -> Result<(), Error> {
        self.log.purge(self.table)
    }
}
