//! `fjall`: log-structured merge trees in Assay's own process, with one writer's transaction at a time.

use std::{ops::ControlFlow, path::Path};

use ::fjall::{
    KeyspaceCreateOptions, LsmError, PersistMode, Readable, SingleWriterTxDatabase,
    SingleWriterTxKeyspace, SingleWriterWriteTx,
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
    name: "fjall",
    summary: "fjall in Assay's own process, log-structured merge trees",
    layouts: &[Layout { name: "record", summary: "a key and its record in one string" }],
    settings: &[SettingDoc {
        name: "cache_mib",
        default: "1024",
        summary: "block cache, in MiB; fjall's own default of 32 would be small beside the others'",
    }],
    place: Place::Embedded,
    // It flushes and compacts behind.
    verified: Verified::ByTests,
    cache: Some(Cache::Sized {
        setting: "cache_mib",
        value: in_mib,
        least_mib: 1,
        reason: "the block cache, which holds what was read of tables; what was written last lies in \
                     memtables beside it",
    }),
    rests: |_| false,
    capabilities: |_| Capabilities {
        lookup: Support::Native,
        durability: &[
            (Durability::None, "the journal stays in the process's buffer until that is full"),
            (Durability::Buffered, "PersistMode::Buffer at each commit"),
            (Durability::Synced, "PersistMode::SyncData at each commit"),
        ],
        max_value_bytes: Some(u32::MAX as u64),
        max_key_bytes: Some(u16::MAX as u64),
        ..Capabilities::IN_MEMORY
    },
    open,
};

/// The version of the crate, which does not tell it.
const VERSION: &str = "3.1.13";

fn open(opening: Opening) -> Result<Box<dyn System>, SystemError> {
    let data_dir = opening.target.embedded(DRIVER.name)?;
    let cache_mib = whole_number(DRIVER.name, &opening.settings, "cache_mib", 1_024, 1..=1 << 24)?;
    let durability = opening.durability;
    let open = move |folder: &Path, tables: &TableNames| {
        Fjall::open(folder, tables, cache_mib << 20, durability)
    };
    Ok(Box::new(Ordered::new(DRIVER.name, &data_dir, &opening.schema, Box::new(open))))
}

struct Fjall {
    /// By [`Table::place`].
    keyspaces: Vec<SingleWriterTxKeyspace>,
    cache_bytes: u64,
    persist: Option<PersistMode>,
    /// Dropped last: it waits for its threads.
    database: SingleWriterTxDatabase,
}

impl Fjall {
    fn open(
        folder: &Path,
        tables: &TableNames,
        cache_bytes: u64,
        durability: Durability,
    ) -> Result<Fjall, Refusal> {
        let persist = match durability {
            Durability::None => None,
            Durability::Buffered => Some(PersistMode::Buffer),
            Durability::Synced => Some(PersistMode::SyncData),
        };
        let manual = persist.is_none();
        let database = SingleWriterTxDatabase::builder(folder)
            .cache_size(cache_bytes)
            .manual_journal_persist(manual)
            .open()?;
        let options = || KeyspaceCreateOptions::default().manual_journal_persist(manual);
        let keyspaces = tables.all().map(|name| database.keyspace(name, options));
        let keyspaces = keyspaces.collect::<Result<_, _>>()?;
        Ok(Fjall { keyspaces, cache_bytes, persist, database })
    }

    fn keyspace(&self, table: Table) -> &SingleWriterTxKeyspace {
        &self.keyspaces[table.place()]
    }
}

impl Library for Fjall {
    type Snapshot<'l> = Snapshot<'l>;
    type Transaction<'l> = Transaction<'l>;

    fn read(&self) -> Result<Snapshot<'_>, Refusal> {
        Ok(Snapshot { library: self, reading: self.database.read_tx() })
    }

    fn write(&self) -> Result<Transaction<'_>, Refusal> {
        let writing = self.database.write_tx().durability(self.persist);
        Ok(Transaction { library: self, writing })
    }

    fn count(&self) -> Result<u64, Refusal> {
        Ok(self.database.read_tx().len(self.keyspace(Table::Records))? as u64)
    }

    /// What was loaded goes to the disk and is compacted, so that neither happens in the
    /// measurement.
    fn settle(&self) -> Result<(), Refusal> {
        for keyspace in &self.keyspaces {
            keyspace.inner().rotate_memtable_and_wait()?;
            keyspace.inner().major_compact()?;
        }
        Ok(())
    }

    fn version(&self) -> String {
        format!("fjall {VERSION}")
    }

    fn settings(&self) -> Vec<(String, String)> {
        let persist = self.persist.map_or("never".to_owned(), |mode| format!("{mode:?}"));
        vec![
            ("cache_size".to_owned(), self.cache_bytes.to_string()),
            ("persist".to_owned(), persist),
        ]
    }
}

struct Snapshot<'l> {
    library: &'l Fjall,
    reading: ::fjall::Snapshot,
}

impl ordered::Snapshot for Snapshot<'_> {
    fn get(&self, table: Table, key: &[u8], found: impl FnOnce(&[u8])) -> Result<bool, Refusal> {
        let value = self.reading.get(self.library.keyspace(table), key)?;
        Ok(value.map(|value| found(&value)).is_some())
    }

    fn range(
        &self,
        table: Table,
        from: &[u8],
        limit: u32,
        mut each: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>, Refusal>,
    ) -> Result<(), Refusal> {
        let pairs = self.reading.range(self.library.keyspace(table), from..);
        for pair in pairs.take(limit as usize) {
            let (key, value) = pair.into_inner()?;
            if each(&key, &value)?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

struct Transaction<'l> {
    library: &'l Fjall,
    writing: SingleWriterWriteTx<'l>,
}

impl ordered::Transaction for Transaction<'_> {
    fn get(
        &mut self,
        table: Table,
        key: &[u8],
        found: impl FnOnce(&[u8]),
    ) -> Result<bool, Refusal> {
        let value = self.writing.get(self.library.keyspace(table), key)?;
        Ok(value.map(|value| found(&value)).is_some())
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        self.writing.insert(self.library.keyspace(table), key, value);
        Ok(())
    }

    fn remove(&mut self, table: Table, key: &[u8]) -> Result<(), Refusal> {
        self.writing.remove(self.library.keyspace(table), key);
        Ok(())
    }

    fn commit(self) -> Result<(), Refusal> {
        Ok(self.writing.commit()?)
    }
}

impl From<::fjall::Error> for Refusal {
    fn from(error: ::fjall::Error) -> Refusal {
        match error {
            ::fjall::Error::Io(error) | ::fjall::Error::Storage(LsmError::Io(error)) => {
                Refusal::io(&error)
            }
            other => Refusal::new(FailureKind::Rejected, other),
        }
    }
}
