//! `slik`: the project's own indexed key-value store, in Assay's process, by its public interface.
//!
//! A record is one object: the key is its primary key, and in layout `indexed` also its key in
//! index 0, which gives scans their order (primary keys have none). A field with a secondary index
//! is the object's key in the index of its number; the other fields stand in the value in the crate's
//! framing of records. An update reads the object and writes it on condition that its version is
//! still the same, again until it is, so that no update is lost and none creates a record. An insert
//! overwrites a record that exists.

mod loader;
mod session;

use std::{
    fmt, fs,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

use ::slik::{Error, Options, Store};
use assay_model::{Capabilities, Durability, Support};

use self::{loader::SlikLoader, session::SlikSession};
use crate::{
    Client, Driver, Footprint, Identity, Layout, Loader, Opening, Place, System, SystemError,
    Verified, cache::Cache,
};

/// The registry line.
pub static DRIVER: Driver = Driver {
    name: "slik",
    summary: "Assay's indexed key-value store, in its own process",
    layouts: &[
        Layout {
            name: "indexed",
            summary: "an object a record, its key in an index too, which gives scans",
        },
        Layout { name: "object", summary: "an object a record, its key in no index; no scans" },
    ],
    settings: &[],
    place: Place::Embedded,
    // Under a log there is a database with threads of its own.
    verified: Verified::ByTests,
    cache: Some(Cache::Unsized("all its records are in memory")),
    rests: |durability| durability == Durability::None,
    capabilities: |layout| Capabilities {
        scan: match layout {
            "indexed" => Support::Native,
            _ => Support::Unsupported(
                "this layout has no index of keys, and primary keys have no order; the layout \
                 'indexed' has",
            ),
        },
        lookup: Support::Native,
        durability: &[
            (Durability::None, "memory only"),
            (Durability::Buffered, "logged, written to the file system"),
            (Durability::Synced, "logged, fsync with group commit"),
        ],
        max_value_bytes: Some(::slik::MAX_VALUE_BYTES as u64),
        max_key_bytes: Some(::slik::MAX_KEY_BYTES as u64),
        ..Capabilities::IN_MEMORY
    },
    open,
};

fn open(opening: Opening) -> Result<Box<dyn System>, SystemError> {
    let data_dir = opening.target.embedded(DRIVER.name)?;
    let log = match opening.durability {
        Durability::None => None,
        Durability::Buffered => Some(::slik::Durability::Buffered),
        Durability::Synced => Some(::slik::Durability::Synced),
    };
    Ok(Box::new(Slik {
        log: log.map(|durability| Log { folder: data_dir.join("slik"), durability }),
        opened: Mutex::new(None),
        name: opening.schema.table().to_owned(),
        shape: Shape {
            fields: opening.schema.field_count(),
            indexes: opening.schema.index_count(),
            by_key: opening.layout == "indexed",
        },
    }))
}

/// How records stand in objects.
#[derive(Clone, Copy)]
struct Shape {
    /// Fields of a record.
    fields: u16,
    /// How many of them, the first, have an index.
    indexes: u16,
    /// Whether the key has one.
    by_key: bool,
}

/// The index of layout `indexed`. That of field `n` is `n + 1`.
const BY_KEY: u16 = 0;

struct Slik {
    log: Option<Log>,
    /// Open from `prepare` to `remove`.
    opened: Mutex<Option<Store>>,
    name: String,
    shape: Shape,
}

/// Where a durable store is, and what an acknowledged write promises.
struct Log {
    folder: PathBuf,
    durability: ::slik::Durability,
}

fn failed(action: &str, why: impl fmt::Display) -> SystemError {
    SystemError::Failed { system: DRIVER.name.into(), action: action.into(), why: why.to_string() }
}

impl Slik {
    fn opened(&self) -> MutexGuard<'_, Option<Store>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> Result<Store, SystemError> {
        let Some(Log { folder, durability }) = &self.log else { return Ok(Store::in_memory()) };
        let options = Options { durability: *durability, ..Options::default() };
        Store::open_with(folder, &options)
            .map_err(|error| failed(&format!("open {}", folder.display()), error))
    }

    fn store(&self) -> Result<Store, SystemError> {
        let missing = || Error::NoTable { name: self.name.clone() };
        self.opened().clone().ok_or_else(|| failed("open the table", missing()))
    }

    fn session(&self) -> Result<SlikSession, SystemError> {
        let table =
            self.store()?.table(&self.name).map_err(|error| failed("open the table", error))?;
        Ok(SlikSession::new(table, self.shape))
    }
}

impl System for Slik {
    fn prepare(&self) -> Result<(), SystemError> {
        let mut opened = self.opened();
        let store = match &*opened {
            Some(store) => store.clone(),
            None => self.open()?,
        };
        let table = match store.create_table(&self.name) {
            Err(Error::TableExists { .. }) => {
                return Err(SystemError::AlreadyThere {
                    system: DRIVER.name.into(),
                    what: format!("the table {}", self.name),
                    next: crate::system::REMOVE_OR_RENAME,
                });
            }
            created => created.map_err(|error| failed("create the table", error))?,
        };
        let first = if self.shape.by_key { BY_KEY } else { BY_KEY + 1 };
        for index in first..=self.shape.indexes {
            table.create_index(index).map_err(|error| failed("create the index", error))?;
        }
        *opened = Some(store);
        Ok(())
    }

    fn loader(&self) -> Result<Box<dyn Loader + '_>, SystemError> {
        let level = self.log.as_ref().map_or(::slik::Durability::Buffered, |log| log.durability);
        Ok(Box::new(SlikLoader::begin(self.store()?, self.session()?, level)?))
    }

    fn connect(&self) -> Result<Client, SystemError> {
        Ok(Client::Call(Box::new(self.session()?)))
    }

    fn count(&self) -> Result<u64, SystemError> {
        Ok(self.store()?.stats().objects() as u64)
    }

    fn footprint(&self) -> Result<Footprint, SystemError> {
        let stats = self.store()?.stats();
        Ok(Footprint {
            disk_bytes: self.log.is_some().then_some(stats.disk_bytes),
            memory_bytes: Some(stats.memory_bytes() as u64),
        })
    }

    fn identity(&self) -> Result<Identity, SystemError> {
        Ok(Identity {
            version: concat!("slik ", env!("CARGO_PKG_VERSION")).into(),
            settings: vec![],
        })
    }

    fn remove(&self) -> Result<(), SystemError> {
        let Some(store) = self.opened().take() else { return Ok(()) };
        store.drop_table(&self.name).map_err(|error| failed("drop the table", error))?;
        let Some(Log { folder, .. }) = &self.log else { return Ok(()) };
        store.close().map_err(|error| failed("close the store", error))?;
        fs::remove_dir_all(folder)
            .map_err(|error| failed(&format!("remove {}", folder.display()), error))
    }
}
