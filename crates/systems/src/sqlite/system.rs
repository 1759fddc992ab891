//! The database file: made, loaded, measured, identified and removed.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use assay_model::{FieldValue, Outcome};
use rusqlite::Connection;

use super::{
    Tuning, failed,
    session::{SqliteSession, unfit},
    statements::Statements,
};
use crate::{Client, Footprint, Identity, Loader, System, SystemError, files};

/// How many records the loader puts into one transaction.
const BATCH_ROWS: u32 = 10_000;

/// The settings that bear on a result, as read back from a connection.
const PRAGMAS: [&str; 6] =
    ["journal_mode", "synchronous", "page_size", "cache_size", "mmap_size", "wal_autocheckpoint"];

/// A table in a file of its own.
pub(super) struct Sqlite {
    path: PathBuf,
    tuning: Tuning,
    statements: Arc<Statements>,
    /// Held from `prepare` to `remove`, so that the write-ahead log outlives the clients.
    held: Mutex<Option<Connection>>,
}

impl Sqlite {
    pub(super) fn new(path: PathBuf, tuning: Tuning, statements: Statements) -> Sqlite {
        Sqlite { path, tuning, statements: Arc::new(statements), held: Mutex::new(None) }
    }

    fn connection(&self) -> Result<Connection, SystemError> {
        self.open().map_err(|error| failed(&format!("open {}", self.path.display()), error))
    }

    fn open(&self) -> rusqlite::Result<Connection> {
        let connection = Connection::open(&self.path)?;
        connection.busy_timeout(self.tuning.busy_timeout)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", self.tuning.synchronous)?;
        // A negative size is in KiB.
        connection.pragma_update(None, "cache_size", -(self.tuning.cache_kib as i64))?;
        connection.pragma_update(None, "mmap_size", self.tuning.mmap_bytes as i64)?;
        Ok(connection)
    }

    fn held(&self) -> MutexGuard<'_, Option<Connection>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(suffix);
        name.into()
    }

    fn files(&self) -> [PathBuf; 3] {
        ["", "-wal", "-shm"].map(|suffix| self.file(suffix))
    }
}

impl System for Sqlite {
    fn prepare(&self) -> Result<(), SystemError> {
        let mut held = self.held();
        let connection = self.connection()?;
        let statements = &self.statements;
        let action = "create the table";
        let tables: i64 = connection
            .query_row(&statements.exists, [], |row| row.get(0))
            .map_err(|error| failed(action, error))?;
        if tables > 0 {
            return Err(SystemError::AlreadyThere {
                system: super::DRIVER.name.into(),
                what: format!("the table in {}", self.path.display()),
                next: crate::system::REMOVE_OR_RENAME,
            });
        }
        connection.execute_batch(&statements.create).map_err(|error| failed(action, error))?;
        *held = Some(connection);
        Ok(())
    }

    fn loader(&self) -> Result<Box<dyn Loader + '_>, SystemError> {
        let session = SqliteSession::new(self.connection()?, Arc::clone(&self.statements));
        Ok(Box::new(TransactionLoader { session, statements: &self.statements, rows: 0 }))
    }

    fn settle(&self) -> Result<(), SystemError> {
        let connection = self.connection()?;
        connection
            .execute_batch("ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)")
            .map_err(|error| failed("gather statistics and write back the log", error))
    }

    fn connect(&self) -> Result<Client, SystemError> {
        let session = SqliteSession::new(self.connection()?, Arc::clone(&self.statements));
        Ok(Client::Call(Box::new(session)))
    }

    fn count(&self) -> Result<u64, SystemError> {
        let connection = self.connection()?;
        let count: i64 = connection
            .query_row(&self.statements.count, [], |row| row.get(0))
            .map_err(|error| failed("count the records", error))?;
        Ok(count.unsigned_abs())
    }

    /// The sizes of the database, its write-ahead log and the log's index. What SQLite holds in
    /// memory is in the process's own account.
    fn footprint(&self) -> Result<Footprint, SystemError> {
        let mut bytes = 0;
        for file in self.files() {
            bytes += files::size(&file)
                .map_err(|error| failed(&format!("measure {}", file.display()), error))?;
        }
        Ok(Footprint { disk_bytes: Some(bytes), memory_bytes: None })
    }

    fn identity(&self) -> Result<Identity, SystemError> {
        let connection = self.connection()?;
        let mut settings = Vec::new();
        for name in PRAGMAS {
            let value = connection.pragma_query_value(None, name, |row| {
                Ok(match row.get_ref(0)? {
                    rusqlite::types::ValueRef::Integer(number) => number.to_string(),
                    other => String::from_utf8_lossy(other.as_bytes()?).into_owned(),
                })
            });
            match value {
                Ok(value) => settings.push((name.to_owned(), shown(name, value))),
                // A build without memory mapping has no such setting.
                Err(rusqlite::Error::QueryReturnedNoRows) => {}
                Err(error) => return Err(failed("read its settings", error)),
            }
        }
        Ok(Identity { version: format!("SQLite {}", rusqlite::version()), settings })
    }

    fn remove(&self) -> Result<(), SystemError> {
        let mut held = self.held();
        let Some(connection) = held.take() else { return Ok(()) };
        connection
            .execute_batch(&self.statements.drop)
            .map_err(|error| failed("remove the table", error))?;
        drop(connection);
        for file in self.files() {
            files::gone(fs::remove_file(&file))
                .map_err(|error| failed(&format!("remove {}", file.display()), error))?;
        }
        Ok(())
    }
}

/// The names of the levels that `synchronous` shows as numbers.
fn shown(name: &str, value: String) -> String {
    let names = ["OFF", "NORMAL", "FULL", "EXTRA"];
    let level = || value.parse::<usize>().ok().and_then(|level| names.get(level));
    match (name == "synchronous").then(level).flatten() {
        Some(name) => (*name).to_owned(),
        None => value,
    }
}

/// Loads in transactions of [`BATCH_ROWS`] records.
struct TransactionLoader<'a> {
    session: SqliteSession,
    statements: &'a Statements,
    rows: u32,
}

const LOAD: &str = "load the records";

impl TransactionLoader<'_> {
    fn run(&self, sql: &str) -> Result<(), SystemError> {
        self.session.connection().execute_batch(sql).map_err(|error| failed(LOAD, error))
    }
}

impl Loader for TransactionLoader<'_> {
    fn insert(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), SystemError> {
        if let Some(Outcome::Failed(failure)) = unfit(self.statements.shape, values) {
            return Err(failed(LOAD, failure.message));
        }
        if self.rows == 0 {
            self.run("BEGIN IMMEDIATE")?;
        }
        self.session.insert(key, values).map_err(|error| failed(LOAD, error))?;
        self.rows += 1;
        if self.rows == BATCH_ROWS {
            self.rows = 0;
            self.run("COMMIT")?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), SystemError> {
        if self.rows > 0 { self.run("COMMIT") } else { Ok(()) }
    }
}
