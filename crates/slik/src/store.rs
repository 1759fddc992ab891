//! A store: named tables under one set of options and one memory limit.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::Error;
use crate::memory::{Budget, Memory};
use crate::options::Options;
use crate::stats::Stats;
use crate::sync::RwLock;
use crate::table::Table;

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
        };
        Store { shared: Arc::new(shared) }
    }

    /// Creates an empty table without indexes.
    ///
    /// # Errors
    /// [`Error::TableExists`].
    pub fn create_table(&self, name: &str) -> Result<Table, Error> {
        let mut tables = self.shared.tables.write();
        if tables.contains_key(name) {
            return Err(Error::TableExists { name: name.to_owned() });
        }
        let shared = &self.shared;
        let memory = Arc::new(Memory::new(name, &shared.options, Arc::clone(&shared.budget)));
        tables.insert(name.to_owned(), Arc::clone(&memory));
        Ok(Table::new(memory))
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
    /// from now on.
    ///
    /// # Errors
    /// [`Error::NoTable`].
    pub fn drop_table(&self, name: &str) -> Result<(), Error> {
        let memory = self.shared.tables.write().remove(name);
        memory.ok_or_else(|| Error::NoTable { name: name.to_owned() })?.close();
        Ok(())
    }

    /// How much the store holds; O(tablets + indexlets), each looked at for a moment.
    pub fn stats(&self) -> Stats {
        let tables = self.shared.tables.read();
        Stats { tables: tables.iter().map(|(name, table)| (name.clone(), table.stats())).collect() }
    }
}
