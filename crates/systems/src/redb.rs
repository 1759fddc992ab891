//! `redb`: a B+ tree of pages that are copied when they change, in Assay's own process, one writer at a
//! time.

use std::{io, ops::ControlFlow, path::Path};

use ::redb::{
    Builder, Database, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable,
    ReadableTableMetadata, StorageBackend, TableDefinition, WriteTransaction,
    backends::{FileBackend, InMemoryBackend},
};
use assay_model::{Capabilities, Durability, FailureKind, Support};

use crate::{
    Driver, Layout, Opening, Place, SettingDoc, System, SystemError, Verified,
    cache::{Cache, in_mib},
    ordered::{self, Library, Ordered, Refusal, Table, TableNames},
    registry::whole_number,
};

/// The registry line.
pub static DRIVER: Driver = Driver {
    name: "redb",
    summary: "redb in Assay's own process, a tree of pages copied on write",
    layouts: &[Layout { name: "record", summary: "a key and its record in one string" }],
    settings: &[SettingDoc {
        name: "cache_mib",
        default: "1024",
        summary: "page cache, in MiB; redb's own default",
    }],
    place: Place::Embedded,
    // The kernel writes back what went into a file.
    verified: Verified::ByTests,
    cache: Some(Cache::Sized {
        setting: "cache_mib",
        value: in_mib,
        least_mib: 1,
        reason: "the page cache, read and write together",
    }),
    rests: |durability| durability == Durability::None,
    capabilities: |_| Capabilities {
        lookup: Support::Native,
        durability: &[
            (Durability::None, "memory only (InMemoryBackend, Durability::None)"),
            (Durability::Buffered, "Durability::Immediate on a file that is never synced"),
            (Durability::Synced, "Durability::Immediate, synced at each commit"),
        ],
        max_value_bytes: Some(3 << 30),
        max_key_bytes: Some(3 << 30),
        ..Capabilities::IN_MEMORY
    },
    open,
};

fn open(opening: Opening) -> Result<Box<dyn System>, SystemError> {
    let data_dir = opening.target.embedded(DRIVER.name)?;
    let cache_mib = whole_number(DRIVER.name, &opening.settings, "cache_mib", 1_024, 1..=1 << 24)?;
    let durability = opening.durability;
    let open = move |folder: &Path, tables: &TableNames| {
        Redb::open(folder, tables, cache_mib << 20, durability)
    };
    Ok(Box::new(Ordered::new(DRIVER.name, &data_dir, &opening.schema, Box::new(open))))
}

/// The version of the crate, which does not tell it.
const VERSION: &str = "4.5.0";

type Bytes = &'static [u8];

struct Redb {
    database: Database,
    /// By [`Table::place`].
    names: Vec<String>,
    cache_bytes: u64,
    durability: Durability,
}

impl Redb {
    fn open(
        folder: &Path,
        tables: &TableNames,
        cache_bytes: u64,
        durability: Durability,
    ) -> Result<Redb, Refusal> {
        let mut builder = Builder::new();
        builder.set_cache_size(cache_bytes as usize);
        let file = folder.join("assay.redb");
        let database = match durability {
            Durability::None => builder.create_with_backend(InMemoryBackend::new()),
            Durability::Buffered => {
                let mut options = std::fs::OpenOptions::new();
                let file = options.read(true).write(true).create_new(true).open(file);
                let file = file.map_err(|error| Refusal::io(&error))?;
                builder.create_with_backend(Unsynced(FileBackend::new(file).map_err(refusal)?))
            }
            Durability::Synced => builder.create(file),
        }
        .map_err(refusal)?;
        let names = tables.all().map(str::to_owned).collect();
        let library = Redb { database, names, cache_bytes, durability };
        let writing = library.begin()?;
        for name in &library.names {
            writing.open_table(definition(name)).map_err(refusal)?;
        }
        writing.commit().map_err(refusal)?;
        Ok(library)
    }

    fn definition(&self, table: Table) -> TableDefinition<'_, Bytes, Bytes> {
        definition(&self.names[table.place()])
    }

    fn begin(&self) -> Result<WriteTransaction, Refusal> {
        let mut writing = self.database.begin_write().map_err(refusal)?;
        writing.set_durability(self.level()).map_err(refusal)?;
        Ok(writing)
    }

    fn level(&self) -> ::redb::Durability {
        match self.durability {
            Durability::None => ::redb::Durability::None,
            Durability::Buffered | Durability::Synced => ::redb::Durability::Immediate,
        }
    }
}

fn definition(name: &str) -> TableDefinition<'_, Bytes, Bytes> {
    TableDefinition::new(name)
}

impl Library for Redb {
    type Snapshot<'l> = Snapshot<'l>;
    type Transaction<'l> = Transaction<'l>;

    fn read(&self) -> Result<Snapshot<'_>, Refusal> {
        Ok(Snapshot { library: self, reading: self.database.begin_read().map_err(refusal)? })
    }

    fn write(&self) -> Result<Transaction<'_>, Refusal> {
        Ok(Transaction { library: self, writing: self.begin()? })
    }

    fn count(&self) -> Result<u64, Refusal> {
        let reading = self.database.begin_read().map_err(refusal)?;
        let records = reading.open_table(self.definition(Table::Records)).map_err(refusal)?;
        records.len().map_err(refusal)
    }

    fn memory_bytes(&self) -> Result<Option<u64>, Refusal> {
        if self.durability != Durability::None {
            return Ok(None);
        }
        let writing = self.begin()?;
        let stats = writing.stats().map_err(refusal)?;
        writing.abort().map_err(refusal)?;
        Ok(Some(stats.stored_bytes() + stats.metadata_bytes() + stats.fragmented_bytes()))
    }

    fn version(&self) -> String {
        format!("redb {VERSION}")
    }

    fn settings(&self) -> Vec<(String, String)> {
        vec![
            ("cache_size".to_owned(), self.cache_bytes.to_string()),
            ("durability".to_owned(), format!("{:?}", self.level())),
        ]
    }
}

struct Snapshot<'l> {
    library: &'l Redb,
    reading: ReadTransaction,
}

impl Snapshot<'_> {
    fn open(&self, table: Table) -> Result<ReadOnlyTable<Bytes, Bytes>, Refusal> {
        self.reading.open_table(self.library.definition(table)).map_err(refusal)
    }
}

impl ordered::Snapshot for Snapshot<'_> {
    fn get(&self, table: Table, key: &[u8], found: impl FnOnce(&[u8])) -> Result<bool, Refusal> {
        let table = self.open(table)?;
        let value = table.get(key).map_err(refusal)?;
        Ok(value.map(|value| found(value.value())).is_some())
    }

    fn range(
        &self,
        table: Table,
        from: &[u8],
        limit: u32,
        mut each: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>, Refusal>,
    ) -> Result<(), Refusal> {
        let table = self.open(table)?;
        for pair in table.range(from..).map_err(refusal)?.take(limit as usize) {
            let (key, value) = pair.map_err(refusal)?;
            if each(key.value(), value.value())?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

struct Transaction<'l> {
    library: &'l Redb,
    writing: WriteTransaction,
}

impl Transaction<'_> {
    fn open(&self, table: Table) -> Result<::redb::Table<'_, Bytes, Bytes>, Refusal> {
        self.writing.open_table(self.library.definition(table)).map_err(refusal)
    }
}

impl ordered::Transaction for Transaction<'_> {
    fn get(
        &mut self,
        table: Table,
        key: &[u8],
        found: impl FnOnce(&[u8]),
    ) -> Result<bool, Refusal> {
        let table = self.open(table)?;
        let value = table.get(key).map_err(refusal)?;
        Ok(value.map(|value| found(value.value())).is_some())
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        let mut table = self.open(table)?;
        table.insert(key, value).map_err(refusal)?;
        Ok(())
    }

    fn remove(&mut self, table: Table, key: &[u8]) -> Result<(), Refusal> {
        let mut table = self.open(table)?;
        table.remove(key).map_err(refusal)?;
        Ok(())
    }

    fn commit(self) -> Result<(), Refusal> {
        self.writing.commit().map_err(refusal)
    }
}

/// A file that is written and never synced.
#[derive(Debug)]
struct Unsynced(FileBackend);

impl StorageBackend for Unsynced {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.0.close()
    }
}

fn refusal(error: impl Into<::redb::Error>) -> Refusal {
    match error.into() {
        ::redb::Error::Io(error) => Refusal::io(&error),
        other => Refusal::new(FailureKind::Rejected, other),
    }
}
