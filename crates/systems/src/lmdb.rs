//! `lmdb`: LMDB by `heed`, in Assay's own process: a B+ tree in a file that is mapped into memory, one
//! writer at a time, readers that wait for nobody.

use std::{
    ops::{Bound, ControlFlow},
    path::Path,
};

use assay_model::{Capabilities, Durability, FailureKind, Support};
use heed::{
    CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, MdbError, RoTxn, RwTxn, WithTls,
    types::Bytes,
};

use crate::{
    Driver, Layout, Opening, Place, SettingDoc, System, SystemError, Verified,
    cache::Cache,
    ordered::{self, Library, Ordered, Refusal, Table, TableNames},
    registry::whole_number,
};

/// The registry line.
pub static DRIVER: Driver = Driver {
    name: "lmdb",
    summary: "LMDB in Assay's own process, a tree of keys in a mapped file",
    layouts: &[Layout { name: "record", summary: "a key and its record in one string" }],
    settings: &[SettingDoc {
        name: "map_gib",
        default: "64",
        summary: "address space for the file, in GiB, which bounds its size",
    }],
    place: Place::Embedded,
    // The kernel writes back what it wrote.
    verified: Verified::ByTests,
    cache: Some(Cache::Unsized(
        "it reads the kernel's page cache through its map, and has none of its own; the map \
             (map_gib) only bounds the file",
    )),
    rests: |_| false,
    capabilities: |_| Capabilities {
        lookup: Support::Native,
        durability: &[
            (Durability::None, "MDB_WRITEMAP and MDB_NOSYNC: written in the map, never synced"),
            (Durability::Buffered, "MDB_NOSYNC: written to the file, never synced"),
            (Durability::Synced, "synced at each commit"),
        ],
        max_value_bytes: Some(u32::MAX as u64),
        // As LMDB is usually built; here it is built for longer ones, which entries of indexes need.
        max_key_bytes: Some(511),
        ..Capabilities::IN_MEMORY
    },
    open,
};

/// Clients that read at once.
const READERS: u32 = 4_096;

fn open(opening: Opening) -> Result<Box<dyn System>, SystemError> {
    let data_dir = opening.target.embedded(DRIVER.name)?;
    let gib = whole_number(DRIVER.name, &opening.settings, "map_gib", 64, 1..=16_384)?;
    let flags = match opening.durability {
        Durability::None => EnvFlags::WRITE_MAP | EnvFlags::NO_SYNC,
        Durability::Buffered => EnvFlags::NO_SYNC,
        Durability::Synced => EnvFlags::empty(),
    };
    let open = move |folder: &Path, tables: &TableNames| Lmdb::open(folder, tables, gib, flags);
    Ok(Box::new(Ordered::new(DRIVER.name, &data_dir, &opening.schema, Box::new(open))))
}

type Tree = Database<'static, Bytes, Bytes>;

struct Lmdb {
    env: Env,
    /// By [`Table::place`].
    trees: Vec<Tree>,
}

impl Lmdb {
    fn open(
        folder: &Path,
        tables: &TableNames,
        map_gib: u64,
        flags: EnvFlags,
    ) -> Result<Lmdb, Refusal> {
        let mut options = EnvOpenOptions::new();
        options.map_size((map_gib << 30) as usize);
        options.max_dbs(tables.all().count() as u32).max_readers(READERS);
        // SAFETY: the folder was made for this store, so nothing else changes its files, and
        // MDB_NOLOCK is not set.
        let env = unsafe { options.flags(flags).open(folder)? };
        let create = |name| -> Result<Tree, heed::Error> {
            let made = env.create_databases_and_commit(env.write_txn()?, |opener, writing| {
                let tree = opener.create_database(writing, Some(name))?;
                Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(tree))
            })?;
            Ok(made.unwrap_commit())
        };
        let trees = tables.all().map(create).collect::<Result<_, _>>()?;
        Ok(Lmdb { trees, env })
    }

    fn tree(&self, table: Table) -> &Tree {
        &self.trees[table.place()]
    }
}

impl Library for Lmdb {
    type Snapshot<'l> = Snapshot<'l>;
    type Transaction<'l> = Transaction<'l>;

    fn read(&self) -> Result<Snapshot<'_>, Refusal> {
        Ok(Snapshot { library: self, reading: self.env.read_txn()? })
    }

    fn write(&self) -> Result<Transaction<'_>, Refusal> {
        Ok(Transaction { library: self, writing: self.env.write_txn()? })
    }

    fn count(&self) -> Result<u64, Refusal> {
        let reading = self.env.read_txn()?;
        Ok(self.tree(Table::Records).len(&reading)?)
    }

    fn version(&self) -> String {
        let version = heed::lmdb_version();
        format!("LMDB {}.{}.{}", version.major, version.minor, version.patch)
    }

    fn settings(&self) -> Vec<(String, String)> {
        let flags = match self.env.flags() {
            Ok(Some(flags)) => {
                let names: Vec<_> = flags.iter_names().map(|(name, _)| name).collect();
                if names.is_empty() { "none".to_owned() } else { names.join(" ") }
            }
            _ => "unknown".to_owned(),
        };
        let info = self.env.info();
        vec![
            ("flags".to_owned(), flags),
            ("map_size".to_owned(), info.map_size.to_string()),
            ("max_readers".to_owned(), info.maximum_number_of_readers.to_string()),
        ]
    }
}

struct Snapshot<'l> {
    library: &'l Lmdb,
    reading: RoTxn<'l, WithTls>,
}

impl ordered::Snapshot for Snapshot<'_> {
    fn get(&self, table: Table, key: &[u8], found: impl FnOnce(&[u8])) -> Result<bool, Refusal> {
        Ok(shown(self.library.tree(table).get(&self.reading, key)?, found))
    }

    fn range(
        &self,
        table: Table,
        from: &[u8],
        limit: u32,
        mut each: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>, Refusal>,
    ) -> Result<(), Refusal> {
        let tree = self.library.tree(table);
        // LMDB has no empty key, and seeks none.
        let first = if from.is_empty() { Bound::Unbounded } else { Bound::Included(from) };
        for pair in tree.range(&self.reading, &(first, Bound::Unbounded))?.take(limit as usize) {
            let (key, value) = pair?;
            if each(key, value)?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

struct Transaction<'l> {
    library: &'l Lmdb,
    writing: RwTxn<'l>,
}

impl ordered::Transaction for Transaction<'_> {
    fn get(
        &mut self,
        table: Table,
        key: &[u8],
        found: impl FnOnce(&[u8]),
    ) -> Result<bool, Refusal> {
        Ok(shown(self.library.tree(table).get(&self.writing, key)?, found))
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        Ok(self.library.tree(table).put(&mut self.writing, key, value)?)
    }

    fn remove(&mut self, table: Table, key: &[u8]) -> Result<(), Refusal> {
        self.library.tree(table).delete(&mut self.writing, key)?;
        Ok(())
    }

    fn commit(self) -> Result<(), Refusal> {
        Ok(self.writing.commit()?)
    }
}

fn shown(value: Option<&[u8]>, found: impl FnOnce(&[u8])) -> bool {
    value.map(found).is_some()
}

impl From<heed::Error> for Refusal {
    fn from(error: heed::Error) -> Refusal {
        match error {
            heed::Error::Io(error) => Refusal::io(&error),
            heed::Error::Mdb(MdbError::MapFull) => {
                Refusal::new(FailureKind::Full, "the map is full: give the setting map_gib more")
            }
            heed::Error::Mdb(MdbError::ReadersFull) => Refusal::new(
                FailureKind::Rejected,
                format!("more than {READERS} clients read at once"),
            ),
            other => Refusal::new(FailureKind::Rejected, other),
        }
    }
}
