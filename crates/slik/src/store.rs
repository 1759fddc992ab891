//! A store: named tables under one set of options and one memory limit.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::durable::{self, Loaded, Log};
use crate::error::Error;
use crate::memory::{Budget, Memory};
use crate::options::{Durability, Options};
use crate::stats::Stats;
use crate::substrate::Refused;
use crate::sync::RwLock;
use crate::table::Table;

/// The longest name of a table, in bytes.
pub const MAX_NAME_BYTES: usize = 255;

/// A set of tables. Cloning gives another handle of the same store; all calls take `&self` and may
/// be made from any number of threads.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    options: Options,
    budget: Arc<Budget>,
    tables: RwLock<BTreeMap<String, Arc<Memory>>>,
    log: Option<Arc<Log>>,
}

impl Shared {
    fn create(
        &self,
        name: &str,
        tables: &mut BTreeMap<String, Arc<Memory>>,
    ) -> Result<Table, Error> {
        if name.is_empty() || name.len() > MAX_NAME_BYTES || name.contains(char::is_control) {
            return Err(Error::BadTableName { name: name.to_owned() });
        }
        let log = self.log.as_ref().map(|log| log.create_table(name)).transpose()?;
        let memory = Memory::new(name, &self.options, Arc::clone(&self.budget), log);
        let memory = Arc::new(memory);
        tables.insert(name.to_owned(), Arc::clone(&memory));
        Ok(Table::new(memory))
    }
}

impl Store {
    /// An empty store in memory, with the usual options. Its contents end with the last handle.
    pub fn in_memory() -> Store {
        Store::in_memory_with(&Options::default())
    }

    /// An empty store in memory, with options.
    pub fn in_memory_with(options: &Options) -> Store {
        let shared = Shared {
            options: *options,
            budget: Arc::new(Budget::new(options.memory_limit_bytes)),
            tables: RwLock::new(BTreeMap::new()),
            log: None,
        };
        Store { shared: Arc::new(shared) }
    }

    /// Opens the durable store in a folder, with the usual options: see [`Store::open_with`].
    ///
    /// # Errors
    /// Those of [`Store::open_with`].
    pub fn open(path: impl AsRef<Path>) -> Result<Store, Error> {
        Store::open_with(path, &Options::default())
    }

    /// Opens the durable store in a folder, with options; makes the folder and an empty store if
    /// there is none. All objects are read into memory, and the indexes built from them: O(n log n)
    /// on all cores, for `n` objects. It is open until it is [closed](Store::close), or no handle
    /// of it or its tables is left.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Locked`], [`Error::NewerFormat`], [`Error::Damaged`],
    /// [`Error::NotAStore`] if the folder holds something else, which is left as it is, and
    /// [`Error::MemoryLimit`] if the objects do not fit.
    pub fn open_with(path: impl AsRef<Path>, options: &Options) -> Result<Store, Error> {
        let (log, loaded) = durable::open(path.as_ref(), options)?;
        let budget = Arc::new(Budget::new(options.memory_limit_bytes));
        let mut tables = BTreeMap::new();
        for Loaded { definition, log, contents } in loaded {
            let memory = Memory::new(&definition.name, options, Arc::clone(&budget), Some(log));
            let taken = memory.load(contents, &definition.indexes, definition.versions);
            if let Err(Refused::Memory { used_bytes, limit_bytes }) = taken {
                return Err(Error::MemoryLimit { used_bytes, limit_bytes });
            }
            tables.insert(definition.name, Arc::new(memory));
        }
        let tables = RwLock::new(tables);
        let shared = Shared { options: *options, budget, tables, log: Some(log) };
        Ok(Store { shared: Arc::new(shared) })
    }

    /// Brings everything onto disk and closes the files, so that the store can be opened again,
    /// here or elsewhere. Handles that are left answer reads and lookups as before, from memory, and
    /// refuse changes with [`Error::Closed`]. Of no effect on a store in memory, or one that is closed.
    ///
    /// A store whose handles are all dropped is closed as well, but nobody hears of a failure.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::WritesStopped`]; the files are closed nevertheless.
    pub fn close(&self) -> Result<(), Error> {
        self.shared.log.as_ref().map_or(Ok(()), |log| log.close())
    }

    /// Sets what has happened to later writes when they are acknowledged; earlier ones have this
    /// level too when this returns. A great many objects are loaded faster at
    /// [`Durability::Buffered`], to be synced all at once in the end. Of no effect on a store in
    /// memory.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::WritesStopped`], [`Error::Closed`].
    pub fn set_durability(&self, durability: Durability) -> Result<(), Error> {
        self.shared.log.as_ref().map_or(Ok(()), |log| log.set_durability(durability))
    }

    /// Creates an empty table without indexes. In a durable store it is on disk when this returns.
    ///
    /// # Errors
    /// [`Error::TableExists`], [`Error::BadTableName`]; in a durable store also those of its writes.
    pub fn create_table(&self, name: &str) -> Result<Table, Error> {
        let mut tables = self.shared.tables.write();
        if tables.contains_key(name) {
            return Err(Error::TableExists { name: name.to_owned() });
        }
        self.shared.create(name, &mut tables)
    }

    /// A handle of a table, which is created, empty and without indexes, if there is none.
    ///
    /// # Errors
    /// [`Error::BadTableName`]; in a durable store also those of its writes.
    pub fn open_table(&self, name: &str) -> Result<Table, Error> {
        let mut tables = self.shared.tables.write();
        match tables.get(name) {
            Some(memory) => Ok(Table::new(Arc::clone(memory))),
            None => self.shared.create(name, &mut tables),
        }
    }

    /// The names of the tables, in order.
    pub fn table_names(&self) -> Vec<String> {
        self.shared.tables.read().keys().cloned().collect()
    }

    /// A handle of a table.
    ///
    /// # Errors
    /// [`Error::NoTable`].
    pub fn table(&self, name: &str) -> Result<Table, Error> {
        match self.shared.tables.read().get(name) {
            Some(memory) => Ok(Table::new(Arc::clone(memory))),
            None => Err(Error::NoTable { name: name.to_owned() }),
        }
    }

    /// Drops a table with its objects and indexes. Handles of it answer [`Error::TableDropped`]
    /// from now on. In a durable store it is gone at one moment, and will not come back after a
    /// crash; its objects are then removed from the disk one by one, while other calls go on.
    ///
    /// # Errors
    /// [`Error::NoTable`]; in a durable store also those of its writes.
    pub fn drop_table(&self, name: &str) -> Result<(), Error> {
        let memory = {
            let mut tables = self.shared.tables.write();
            let memory =
                tables.get(name).ok_or_else(|| Error::NoTable { name: name.to_owned() })?;
            if let Some(log) = memory.log() {
                log.drop_table()?;
            }
            tables.remove(name)
        };
        let Some(memory) = memory else { return Ok(()) };
        memory.close();
        memory.settle();
        memory.log().map_or(Ok(()), |log| log.purge())
    }

    /// How much the store holds; O(tablets + indexlets), each looked at for a moment.
    pub fn stats(&self) -> Stats {
        let tables = self.shared.tables.read();
        Stats {
            tables: tables.iter().map(|(name, table)| (name.clone(), table.stats())).collect(),
            disk_bytes: self.shared.log.as_ref().map_or(0, |log| log.disk_bytes()),
        }
    }
}
