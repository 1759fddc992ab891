//! SQLite by `rusqlite`: a write-ahead log, synced at every commit (`synchronous = FULL`).
//!
//! All threads share one connection under a lock. With one each, those that find the database
//! locked would sleep and try again, which is slower.

use std::{path::Path, sync::Mutex};

use anyhow::anyhow;
use rusqlite::Connection;

use super::OnDisk;
use crate::slik::peers::sqlite::{self, SCHEMA};

const FILE: &str = "objects.sqlite";
const SETTINGS: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;";

/// A connection to a database with one table.
pub struct Sqlite(Mutex<Connection>);

impl Sqlite {
    /// Opens the one in a folder, or makes it.
    pub fn open(folder: &Path) -> anyhow::Result<Sqlite> {
        let connection = Connection::open(folder.join(FILE))?;
        connection.execute_batch(SETTINGS)?;
        connection.execute_batch(SCHEMA)?;
        Ok(Sqlite(Mutex::new(connection)))
    }

    fn with<R>(&self, run: impl FnOnce(&mut Connection) -> anyhow::Result<R>) -> anyhow::Result<R> {
        run(&mut *self.0.lock().map_err(|_| anyhow!("another thread of SQLite's has failed"))?)
    }
}

impl OnDisk for Sqlite {
    fn load(&self, objects: u32) -> anyhow::Result<()> {
        self.with(|connection| {
            let transaction = connection.transaction()?;
            (0..objects).try_for_each(|number| sqlite::insert(&transaction, number))?;
            Ok(transaction.commit()?)
        })
    }

    fn write(&self, number: u32) -> anyhow::Result<()> {
        self.with(|connection| sqlite::insert(connection, number))
    }

    fn look_up(&self, secondary: &[u8]) -> anyhow::Result<Option<u64>> {
        self.with(|connection| sqlite::look_up(connection, secondary))
    }

    fn close(self: Box<Self>) -> anyhow::Result<()> {
        let connection =
            self.0.into_inner().map_err(|_| anyhow!("a thread of SQLite's has failed"))?;
        connection.close().map_err(|(_, error)| error.into())
    }
}
