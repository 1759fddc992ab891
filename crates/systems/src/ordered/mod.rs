//! Ordered key-value libraries in Assay's own process: tables of bytes by bytes, and transactions.
//!
//! What such a library must give is [`Library`]; the rest is the same for all. One table has the
//! records, the fields in one string in the crate's framing. Each secondary index is a table of its own
//! whose keys are the crate's entries and whose values are empty, as users of these libraries keep
//! them. Every operation is one transaction: an update reads the record and writes it, with the entries
//! that change, and an insert overwrites a record that exists.

mod loader;
mod session;
mod shape;
mod tables;

use std::{
    fs, io,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use assay_measure::resources;
use assay_model::{FailureKind, Outcome, Schema};

use self::{loader::OrderedLoader, session::OrderedSession, shape::Shape};
use crate::{
    Client, Footprint, Identity, Loader, System, SystemError,
    framing::{BAD_FRAMING, BadFraming},
};

pub(crate) use self::tables::TableNames;

/// A library with its tables open.
pub(crate) trait Library: Send + Sync + 'static {
    /// The state of one moment.
    type Snapshot<'l>: Snapshot;
    /// Changes that are made together or not at all: not if it is dropped.
    type Transaction<'l>: Transaction;

    /// The state of now.
    fn read(&self) -> Result<Self::Snapshot<'_>, Refusal>;

    /// Begins a transaction. It sees what all that were committed before left, and no other gets or
    /// changes the same keys until it ends.
    fn write(&self) -> Result<Self::Transaction<'_>, Refusal>;

    /// The number of records.
    fn count(&self) -> Result<u64, Refusal>;

    /// See [`System::settle`].
    fn settle(&self) -> Result<(), Refusal> {
        Ok(())
    }

    /// What the tables take where they are in no file, in bytes.
    fn memory_bytes(&self) -> Result<Option<u64>, Refusal> {
        Ok(None)
    }

    /// Product and version.
    fn version(&self) -> String;

    /// The settings in force.
    fn settings(&self) -> Vec<(String, String)>;
}

/// A table of a library: the records, or the entries of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    /// The records by their keys.
    Records,
    /// The entries of the index of the field at this position.
    Index(u16),
}

/// Reads of one moment.
pub(crate) trait Snapshot {
    /// Shows the value of a key to `found`. Returns whether there is one.
    fn get(&self, table: Table, key: &[u8], found: impl FnOnce(&[u8])) -> Result<bool, Refusal>;

    /// Shows up to `limit` keys and values in order, from the first that is not less than `from`,
    /// until `each` breaks.
    fn range(
        &self,
        table: Table,
        from: &[u8],
        limit: u32,
        each: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>, Refusal>,
    ) -> Result<(), Refusal>;
}

/// Changes made together.
pub(crate) trait Transaction {
    /// As [`Snapshot::get`], changes of this transaction seen.
    fn get(&mut self, table: Table, key: &[u8], found: impl FnOnce(&[u8]))
    -> Result<bool, Refusal>;

    /// Sets the value of a key.
    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), Refusal>;

    /// Removes a key, if it is there.
    fn remove(&mut self, table: Table, key: &[u8]) -> Result<(), Refusal>;

    /// Makes the changes; returns when they are as durable as the library was opened to be.
    fn commit(self) -> Result<(), Refusal>;
}

/// Why a library did not do something.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) kind: FailureKind,
    pub(crate) why: String,
}

impl Refusal {
    pub(crate) fn new(kind: FailureKind, why: impl ToString) -> Refusal {
        Refusal { kind, why: why.to_string() }
    }

    /// What an error of the operating system means.
    pub(crate) fn io(error: &io::Error) -> Refusal {
        let kind = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::OutOfMemory => FailureKind::Full,
            io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => FailureKind::Full,
            _ => FailureKind::Rejected,
        };
        Refusal::new(kind, error)
    }

    fn outcome(self) -> Outcome {
        Outcome::failed(self.kind, self.why)
    }
}

impl From<BadFraming> for Refusal {
    fn from(_: BadFraming) -> Refusal {
        Refusal::new(FailureKind::Protocol, BAD_FRAMING)
    }
}

/// Opens a library in an empty folder, with its tables.
pub(crate) type Open<L> = Box<dyn Fn(&Path, &TableNames) -> Result<L, Refusal> + Send + Sync>;

/// A library as a system.
pub(crate) struct Ordered<L> {
    name: &'static str,
    folder: PathBuf,
    tables: TableNames,
    shape: Shape,
    open: Open<L>,
    /// From `prepare` to `remove`.
    opened: Mutex<Option<Arc<L>>>,
}

impl<L: Library> Ordered<L> {
    /// The driver `name`, with its files in a folder of its own in `data_dir`.
    pub(crate) fn new(
        name: &'static str,
        data_dir: &Path,
        schema: &Schema,
        open: Open<L>,
    ) -> Ordered<L> {
        Ordered {
            name,
            folder: data_dir.join(name),
            tables: TableNames::of(schema),
            shape: Shape { fields: schema.field_count(), indexes: schema.index_count() },
            open,
            opened: Mutex::new(None),
        }
    }

    fn opened(&self) -> MutexGuard<'_, Option<Arc<L>>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn library(&self) -> Result<Arc<L>, SystemError> {
        let library = self.opened().clone();
        library.ok_or_else(|| self.failed("open the table", "there is none yet"))
    }

    fn failed(&self, action: &str, why: impl ToString) -> SystemError {
        SystemError::Failed {
            system: self.name.into(),
            action: action.into(),
            why: why.to_string(),
        }
    }

    fn refused(&self, action: &str) -> impl FnOnce(Refusal) -> SystemError {
        move |refusal| self.failed(action, refusal.why)
    }

    fn in_folder(&self, action: &str) -> impl FnOnce(io::Error) -> SystemError {
        move |error| self.failed(&format!("{action} {}", self.folder.display()), error)
    }
}

impl<L: Library> System for Ordered<L> {
    fn prepare(&self) -> Result<(), SystemError> {
        let mut opened = self.opened();
        match fs::create_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let what = format!("a store in {}", self.folder.display());
                let (system, next) = (self.name.into(), "remove it, or choose another data folder");
                return Err(SystemError::AlreadyThere { system, what, next });
            }
            made => made.map_err(self.in_folder("make"))?,
        }
        match (self.open)(&self.folder, &self.tables) {
            Ok(library) => *opened = Some(Arc::new(library)),
            Err(refusal) => {
                // What was made by now is of no use; the first error is the one to tell.
                let _ = fs::remove_dir_all(&self.folder);
                return Err(self.refused("create the table")(refusal));
            }
        }
        Ok(())
    }

    fn loader(&self) -> Result<Box<dyn Loader + '_>, SystemError> {
        Ok(Box::new(OrderedLoader::new(self, self.library()?)))
    }

    fn settle(&self) -> Result<(), SystemError> {
        self.library()?.settle().map_err(self.refused("come to rest"))
    }

    fn connect(&self) -> Result<Client, SystemError> {
        Ok(Client::Call(Box::new(OrderedSession::new(self.library()?, self.shape))))
    }

    fn count(&self) -> Result<u64, SystemError> {
        self.library()?.count().map_err(self.refused("count the records"))
    }

    /// The files' blocks. What the library keeps of them in memory is in the process's own account.
    fn footprint(&self) -> Result<Footprint, SystemError> {
        let disk_bytes =
            resources::folder_bytes(&self.folder).map_err(self.in_folder("measure"))?;
        let memory_bytes = self.library()?.memory_bytes().map_err(self.refused("be measured"))?;
        Ok(Footprint { disk_bytes: (disk_bytes > 0).then_some(disk_bytes), memory_bytes })
    }

    fn identity(&self) -> Result<Identity, SystemError> {
        let library = self.library()?;
        Ok(Identity { version: library.version(), settings: library.settings() })
    }

    fn remove(&self) -> Result<(), SystemError> {
        let Some(library) = self.opened().take() else { return Ok(()) };
        drop(library);
        fs::remove_dir_all(&self.folder).map_err(self.in_folder("remove"))
    }
}
