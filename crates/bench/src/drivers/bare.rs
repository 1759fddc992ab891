//! The libraries without a driver: a table of keys and records, opened as the driver opens it at
//! durability level none.

use std::path::Path;

use anyhow::{Context, bail};
use fjall::{KeyspaceCreateOptions, Readable, SingleWriterTxDatabase, SingleWriterTxKeyspace};
use heed::{CommitOrAbort, EnvFlags, EnvOpenOptions, types::Bytes};
use redb::{Builder, ReadableDatabase, ReadableTable, TableDefinition, backends::InMemoryBackend};

/// Fields of a record.
pub const FIELDS: usize = 10;
/// Bytes of a field.
pub const FIELD_BYTES: usize = 100;

/// A library's table.
pub trait Bare {
    /// Puts records in, in transactions of [`BATCH`].
    fn load(&self, records: &mut dyn Iterator<Item = (Vec<u8>, Vec<u8>)>) -> anyhow::Result<()>;

    /// Reads a record in a transaction of its own: [`looked_at`].
    fn read(&self, key: &[u8]) -> anyhow::Result<usize>;

    /// Replaces a field, in a transaction.
    fn update(&self, key: &[u8], field: usize, bytes: &[u8]) -> anyhow::Result<()>;
}

/// Opens the library `name` in an empty folder.
pub fn open(name: &str, folder: &Path) -> anyhow::Result<Box<dyn Bare>> {
    Ok(match name {
        "lmdb" => Box::new(Lmdb::open(folder)?),
        "redb" => Box::new(Redb::open()?),
        "fjall" => Box::new(Fjall::open(folder)?),
        _ => bail!("there is no library {name}"),
    })
}

const TABLE: &str = "usertable";

/// Records that are put in together, as the driver's loader does.
pub const BATCH: usize = 1_000;

/// The sum of the lengths of the fields: who reads a record looks at its bytes, so it has to be brought
/// from memory.
fn looked_at(record: &[u8]) -> usize {
    record.chunks(1 + FIELD_BYTES).map(|field| usize::from(field[0])).sum()
}

/// The record with a field replaced.
fn replaced(record: &[u8], field: usize, bytes: &[u8]) -> Vec<u8> {
    let mut record = record.to_vec();
    let at = field * (1 + FIELD_BYTES) + 1;
    record[at..at + FIELD_BYTES].copy_from_slice(bytes);
    record
}

struct Lmdb {
    env: heed::Env,
    tree: heed::Database<'static, Bytes, Bytes>,
}

impl Lmdb {
    fn open(folder: &Path) -> anyhow::Result<Lmdb> {
        let mut options = EnvOpenOptions::new();
        options.map_size(64 << 30).max_dbs(1);
        let flags = EnvFlags::WRITE_MAP | EnvFlags::NO_SYNC;
        // SAFETY: the folder is the benchmark's own, so nothing else changes its files.
        let env = unsafe { options.flags(flags).open(folder)? };
        let made = env.create_databases_and_commit(env.write_txn()?, |opener, writing| {
            let tree = opener.create_database(writing, Some(TABLE))?;
            Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(tree))
        })?;
        Ok(Lmdb { tree: made.unwrap_commit(), env })
    }
}

impl Bare for Lmdb {
    fn load(&self, records: &mut dyn Iterator<Item = (Vec<u8>, Vec<u8>)>) -> anyhow::Result<()> {
        let mut records = records.peekable();
        while records.peek().is_some() {
            let mut writing = self.env.write_txn()?;
            for (key, record) in records.by_ref().take(BATCH) {
                self.tree.put(&mut writing, &key, &record)?;
            }
            writing.commit()?;
        }
        Ok(())
    }

    fn read(&self, key: &[u8]) -> anyhow::Result<usize> {
        let reading = self.env.read_txn()?;
        Ok(looked_at(self.tree.get(&reading, key)?.context("no record")?))
    }

    fn update(&self, key: &[u8], field: usize, bytes: &[u8]) -> anyhow::Result<()> {
        let mut writing = self.env.write_txn()?;
        let record = replaced(self.tree.get(&writing, key)?.context("no record")?, field, bytes);
        self.tree.put(&mut writing, key, &record)?;
        Ok(writing.commit()?)
    }
}

const RECORDS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new(TABLE);

struct Redb(redb::Database);

impl Redb {
    fn open() -> anyhow::Result<Redb> {
        Ok(Redb(Builder::new().create_with_backend(InMemoryBackend::new())?))
    }

    fn begin(&self) -> anyhow::Result<redb::WriteTransaction> {
        let mut writing = self.0.begin_write()?;
        writing.set_durability(redb::Durability::None)?;
        Ok(writing)
    }
}

impl Bare for Redb {
    fn load(&self, records: &mut dyn Iterator<Item = (Vec<u8>, Vec<u8>)>) -> anyhow::Result<()> {
        let mut records = records.peekable();
        while records.peek().is_some() {
            let writing = self.begin()?;
            {
                let mut table = writing.open_table(RECORDS)?;
                for (key, record) in records.by_ref().take(BATCH) {
                    table.insert(&key[..], &record[..])?;
                }
            }
            writing.commit()?;
        }
        Ok(())
    }

    fn read(&self, key: &[u8]) -> anyhow::Result<usize> {
        let table = self.0.begin_read()?.open_table(RECORDS)?;
        Ok(looked_at(table.get(key)?.context("no record")?.value()))
    }

    fn update(&self, key: &[u8], field: usize, bytes: &[u8]) -> anyhow::Result<()> {
        let writing = self.begin()?;
        {
            let mut table = writing.open_table(RECORDS)?;
            let record = replaced(table.get(key)?.context("no record")?.value(), field, bytes);
            table.insert(key, &record[..])?;
        }
        Ok(writing.commit()?)
    }
}

struct Fjall {
    records: SingleWriterTxKeyspace,
    database: SingleWriterTxDatabase,
}

impl Fjall {
    fn open(folder: &Path) -> anyhow::Result<Fjall> {
        let database = SingleWriterTxDatabase::builder(folder)
            .cache_size(1 << 30)
            .manual_journal_persist(true)
            .open()?;
        let options = || KeyspaceCreateOptions::default().manual_journal_persist(true);
        Ok(Fjall { records: database.keyspace(TABLE, options)?, database })
    }
}

impl Bare for Fjall {
    fn load(&self, records: &mut dyn Iterator<Item = (Vec<u8>, Vec<u8>)>) -> anyhow::Result<()> {
        let mut records = records.peekable();
        while records.peek().is_some() {
            let mut writing = self.database.write_tx();
            for (key, record) in records.by_ref().take(BATCH) {
                writing.insert(&self.records, key, record);
            }
            writing.commit()?;
        }
        self.records.inner().rotate_memtable_and_wait()?;
        Ok(self.records.inner().major_compact()?)
    }

    fn read(&self, key: &[u8]) -> anyhow::Result<usize> {
        Ok(looked_at(&self.database.read_tx().get(&self.records, key)?.context("no record")?))
    }

    fn update(&self, key: &[u8], field: usize, bytes: &[u8]) -> anyhow::Result<()> {
        let mut writing = self.database.write_tx();
        let record =
            replaced(&writing.get(&self.records, key)?.context("no record")?, field, bytes);
        writing.insert(&self.records, key, record);
        Ok(writing.commit()?)
    }
}
