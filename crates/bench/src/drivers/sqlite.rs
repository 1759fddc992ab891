//! SQLite by `rusqlite`, as the driver's layout `row` has it.

use std::{path::Path, str};

use anyhow::ensure;
use rusqlite::Connection;

use super::{
    RECORDS,
    bare::{Bare, FIELD_BYTES, FIELDS, TABLE},
    key, record, sql,
};

/// A connection and its statements.
pub struct Sqlite {
    connection: Connection,
    read: String,
    updates: Vec<String>,
}

impl Sqlite {
    /// Makes the table in an empty folder, and fills it.
    pub fn open(folder: &Path) -> anyhow::Result<Sqlite> {
        let mut connection = Connection::open(folder.join("records.db"))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "OFF")?;
        connection.pragma_update(None, "cache_size", -64 * 1024)?;
        let columns: String = (0..FIELDS).map(|field| format!(", field{field} BLOB")).collect();
        connection.execute_batch(&format!(
            "CREATE TABLE {TABLE} (key TEXT NOT NULL PRIMARY KEY{columns})"
        ))?;
        let transaction = connection.transaction()?;
        let insert = format!("INSERT INTO {TABLE} VALUES (?{})", ", ?".repeat(FIELDS));
        let mut statement = transaction.prepare(&insert)?;
        for number in 0..RECORDS {
            statement.raw_bind_parameter(1, str::from_utf8(&key(number))?)?;
            for (field, bytes) in record(number).chunks(FIELD_BYTES).enumerate() {
                statement.raw_bind_parameter(2 + field, bytes)?;
            }
            statement.raw_execute()?;
        }
        drop(statement);
        transaction.commit()?;
        connection.execute_batch("ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)")?;
        connection.set_prepared_statement_cache_capacity(FIELDS + 1);
        let (read, updates) = (sql::read("key", "?1"), sql::updates("key", ["?1", "?2"]));
        Ok(Sqlite { connection, read, updates })
    }
}

impl Bare for Sqlite {
    fn read(&mut self, key: &[u8]) -> anyhow::Result<usize> {
        let mut read = self.connection.prepare_cached(&self.read)?;
        Ok(read.query_row([str::from_utf8(key)?], |row| {
            (0..FIELDS).map(|field| Ok(row.get_ref(field)?.as_blob()?.len())).sum()
        })?)
    }

    fn update(&mut self, key: &[u8], field: usize, bytes: &[u8]) -> anyhow::Result<()> {
        let mut update = self.connection.prepare_cached(&self.updates[field])?;
        let changed = update.execute((str::from_utf8(key)?, bytes))?;
        ensure!(changed == 1, "{changed} records of the key");
        Ok(())
    }
}
