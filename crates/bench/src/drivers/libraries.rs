//! The stores in this process without a driver: a table of keys and records, opened as the driver
//! opens it at durability level none.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use assay_provision::Folders;
use fjall::{KeyspaceCreateOptions, Readable, SingleWriterTxDatabase, SingleWriterTxKeyspace};
use heed::{CommitOrAbort, EnvFlags, EnvOpenOptions, types::Bytes};
use redb::{Builder, ReadableDatabase, ReadableTable, TableDefinition, backends::InMemoryBackend};

use super::{
    bare::{Bare, TABLE, looked_at, replaced},
    duckdb::Duckdb,
    framed_records,
    rocksdb::Rocks,
    sqlite::Sqlite,
};

/// The libraries that are measured.
pub const NAMES: &[&str] = &["lmdb", "redb", "fjall", "sqlite", "rocksdb", "duckdb"];

/// The file of the library `name`, if it is not part of this program.
pub fn file(name: &str) -> anyhow::Result<Option<PathBuf>> {
    let Some(library) = assay_provision::library(name) else { return Ok(None) };
    let found = assay_provision::require_library(library, &Folders::from_env())?;
    Ok(Some(found.path))
}

/// Opens the library `name`, which may have a file, in an empty folder and puts the records in.
pub fn open(name: &str, file: Option<&Path>, folder: &Path) -> anyhow::Result<Box<dyn Bare>> {
    let file = || file.context("it comes with a file");
    Ok(match name {
        "lmdb" => Box::new(Lmdb::open(folder)?),
        "redb" => Box::new(Redb::open()?),
        "fjall" => Box::new(Fjall::open(folder)?),
        "sqlite" => Box::new(Sqlite::open(folder)?),
        "rocksdb" => Box::new(Rocks::open(file()?, folder)?),
        "duckdb" => Box::new(Duckdb::open(file()?)?),
        _ => bail!("there is no library {name}"),
    })
}

/// Records that are put in together, as the driver's loader does.
const BATCH: usize = 1_000;

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
        let tree = made.unwrap_commit();
        let mut records = framed_records().peekable();
        while records.peek().is_some() {
            let mut writing = env.write_txn()?;
            for (key, record) in records.by_ref().take(BATCH) {
                tree.put(&mut writing, &key[..], &record[..])?;
            }
            writing.commit()?;
        }
        Ok(Lmdb { tree, env })
    }
}

impl Bare for Lmdb {
    fn read(&mut self, key: &[u8]) -> anyhow::Result<usize> {
        let reading = self.env.read_txn()?;
        Ok(looked_at(self.tree.get(&reading, key)?.context("no record")?))
    }

    fn update(&mut self, key: &[u8], field: usize, bytes: &[u8]) -> anyhow::Result<()> {
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
        let redb = Redb(Builder::new().create_with_backend(InMemoryBackend::new())?);
        let mut records = framed_records().peekable();
        while records.peek().is_some() {
            let writing = redb.begin()?;
            {
                let mut table = writing.open_table(RECORDS)?;
                for (key, record) in records.by_ref().take(BATCH) {
                    table.insert(&key[..], &record[..])?;
                }
            }
            writing.commit()?;
        }
        Ok(redb)
    }

    fn begin(&self) -> anyhow::Result<redb::WriteTransaction> {
        let mut writing = self.0.begin_write()?;
        writing.set_durability(redb::Durability::None)?;
        Ok(writing)
    }
}

impl Bare for Redb {
    fn read(&mut self, key: &[u8]) -> anyhow::Result<usize> {
        let table = self.0.begin_read()?.open_table(RECORDS)?;
        Ok(looked_at(table.get(key)?.context("no record")?.value()))
    }

    fn update(&mut self, key: &[u8], field: usize, bytes: &[u8]) -> anyhow::Result<()> {
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
        let keyspace = database.keyspace(TABLE, options)?;
        let mut records = framed_records().peekable();
        while records.peek().is_some() {
            let mut writing = database.write_tx();
            for (key, record) in records.by_ref().take(BATCH) {
                writing.insert(&keyspace, key, record);
            }
            writing.commit()?;
        }
        keyspace.inner().rotate_memtable_and_wait()?;
        keyspace.inner().major_compact()?;
        Ok(Fjall { records: keyspace, database })
    }
}

impl Bare for Fjall {
    fn read(&mut self, key: &[u8]) -> anyhow::Result<usize> {
        Ok(looked_at(&self.database.read_tx().get(&self.records, key)?.context("no record")?))
    }

    fn update(&mut self, key: &[u8], field: usize, bytes: &[u8]) -> anyhow::Result<()> {
        let mut writing = self.database.write_tx();
        let record =
            replaced(&writing.get(&self.records, key)?.context("no record")?, field, bytes);
        writing.insert(&self.records, key, record);
        Ok(writing.commit()?)
    }
}
