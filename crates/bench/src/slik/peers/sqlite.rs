//! SQLite by `rusqlite`, in `:memory:`: a table and a (non-unique) index, prepared statements from
//! the connection's cache, which is how rusqlite's users keep them.
//!
//! The table keeps its row ids: a lookup then goes from the index to the row by an integer.
//! `synchronous` is off and locking exclusive; the journal stays, in memory, since without it an
//! overwrite would not be atomic. An overwrite is one `UPDATE`, a transaction by itself; SQLite
//! leaves the index alone when the key is the same.

use rusqlite::Connection;

use super::Contender;
use crate::slik::objects::{INDEX, digest, primary, secondary, value};

const SETTINGS: &str = "
    PRAGMA journal_mode = MEMORY;
    PRAGMA synchronous = OFF;
    PRAGMA locking_mode = EXCLUSIVE;";
/// The table and its index.
pub const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS objects (
        primary_key BLOB NOT NULL PRIMARY KEY, secondary_key BLOB NOT NULL, value BLOB NOT NULL
    );
    CREATE INDEX IF NOT EXISTS by_secondary_key ON objects (secondary_key);";
const INSERT: &str = "INSERT INTO objects (primary_key, secondary_key, value) VALUES (?1, ?2, ?3)";
const LOOKUP: &str = "SELECT primary_key, value FROM objects WHERE secondary_key = ?1";
const OVERWRITE: &str = "UPDATE objects SET secondary_key = ?2, value = ?3 WHERE primary_key = ?1";

/// A database with one table.
pub struct Sqlite {
    connection: Connection,
}

impl Sqlite {
    /// An empty one.
    pub fn open() -> anyhow::Result<Sqlite> {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch(SETTINGS)?;
        connection.execute_batch(SCHEMA)?;
        Ok(Sqlite { connection })
    }
}

/// Puts a new object in, a transaction by itself unless there is one.
pub fn insert(connection: &Connection, number: u32) -> anyhow::Result<()> {
    let mut statement = connection.prepare_cached(INSERT)?;
    let secondary = secondary(INDEX, number, 0);
    statement.execute((primary(number), secondary, value(number, 0)))?;
    Ok(())
}

/// The digest of the first object of a secondary key.
#[inline]
pub fn look_up(connection: &Connection, secondary: &[u8]) -> anyhow::Result<Option<u64>> {
    let mut statement = connection.prepare_cached(LOOKUP)?;
    let mut rows = statement.query((secondary,))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let (primary, value) = (row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?);
    Ok(Some(digest(primary, value)))
}

impl Contender for Sqlite {
    fn load(&mut self, objects: u32) -> anyhow::Result<()> {
        let transaction = self.connection.transaction()?;
        for number in 0..objects {
            insert(&transaction, number)?;
        }
        transaction.commit()?;
        self.connection.execute_batch("ANALYZE")?;
        Ok(())
    }

    #[inline]
    fn lookup(&mut self, secondary: &[u8]) -> anyhow::Result<Option<u64>> {
        look_up(&self.connection, secondary)
    }

    #[inline]
    fn overwrite(&mut self, primary: &[u8], secondary: &[u8], value: &[u8]) -> anyhow::Result<()> {
        let mut statement = self.connection.prepare_cached(OVERWRITE)?;
        let changed = statement.execute((primary, secondary, value))?;
        if changed == 1 { Ok(()) } else { Err(super::no_object()) }
    }

    fn account_bytes(&mut self) -> anyhow::Result<Option<u64>> {
        let pragma = |name| self.connection.pragma_query_value(None, name, |row| row.get(0));
        let (pages, page_bytes): (i64, i64) = (pragma("page_count")?, pragma("page_size")?);
        Ok(Some((pages * page_bytes).unsigned_abs()))
    }
}
