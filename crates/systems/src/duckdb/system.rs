//! The database: made, loaded, measured, identified and removed.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    api::{Appender, Columns, Connection, Database, Error, Library},
    failed,
    loader::AppenderLoader,
    session::DuckdbSession,
    statements::Table,
};
use crate::{Client, Footprint, Identity, Loader, System, SystemError, files};

/// A table in a database of its own.
pub(super) struct Duckdb {
    library: Library,
    /// `None`: in memory.
    file: Option<PathBuf>,
    options: Vec<(&'static str, String)>,
    table: Arc<Table>,
    /// Open from its first use to `remove`.
    opened: Mutex<Option<Arc<Database>>>,
}

impl Duckdb {
    pub(super) fn new(
        library: Library,
        data_dir: PathBuf,
        persistent: bool,
        mut options: Vec<(&'static str, String)>,
        table: Table,
    ) -> Duckdb {
        let file = persistent.then(|| data_dir.join("assay.duckdb"));
        // DuckDB would spill a database in memory to the current folder.
        let spill = file.as_deref().map(spill_folder).unwrap_or_default();
        options.push(("temp_directory", spill.to_string_lossy().into_owned()));
        Duckdb { library, file, options, table: Arc::new(table), opened: Mutex::new(None) }
    }

    fn opened(&self) -> MutexGuard<'_, Option<Arc<Database>>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connection(&self) -> Result<Connection, SystemError> {
        let mut opened = self.opened();
        let database = match &mut *opened {
            Some(database) => database,
            closed => {
                let database = Database::open(self.library, self.file.as_deref(), &self.options);
                let database = database.map_err(|error| failed("open the database", error))?;
                closed.insert(Arc::new(database))
            }
        };
        Connection::open(Arc::clone(database)).map_err(|error| failed("connect", error))
    }

    /// The files of a database that is kept in one.
    fn files(&self) -> Vec<PathBuf> {
        let Some(file) = &self.file else { return Vec::new() };
        vec![file.clone(), beside(file, ".wal")]
    }
}

/// Where a database in a file puts what does not fit into memory.
fn spill_folder(file: &Path) -> PathBuf {
    beside(file, ".tmp")
}

fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.to_path_buf().into_os_string();
    name.push(suffix);
    name.into()
}

/// What a query for text returns, row by row.
fn texts(connection: &Connection, sql: &str) -> Result<Vec<Vec<String>>, Error> {
    let (mut rows, mut columns) = (connection.query(sql)?, Columns::default());
    let mut texts = Vec::new();
    while let Some(chunk) = rows.next_chunk(&mut columns) {
        texts.extend((0..chunk.len()).map(|row| {
            let text = |column| chunk.bytes(row, column).unwrap_or_default();
            (0..chunk.column_count())
                .map(|column| String::from_utf8_lossy(text(column)).into_owned())
                .collect()
        }));
    }
    Ok(texts)
}

/// The number that a query returns as text.
fn number(connection: &Connection, sql: &str, action: &str) -> Result<u64, SystemError> {
    let texts = texts(connection, sql).map_err(|error| failed(action, error))?;
    let text = texts.first().and_then(|row| row.first()).map(String::as_str).unwrap_or_default();
    text.parse().map_err(|_| failed(action, format!("it gave '{text}' for a number")))
}

const MEMORY: &str =
    "SELECT coalesce(sum(memory_usage_bytes), 0)::BIGINT::VARCHAR FROM duckdb_memory()";

const SETTINGS: &str = "SELECT name, value FROM duckdb_settings() WHERE name IN \
    ('threads', 'memory_limit', 'temp_directory', 'checkpoint_threshold', 'access_mode') \
    ORDER BY name";

impl System for Duckdb {
    fn prepare(&self) -> Result<(), SystemError> {
        let connection = self.connection()?;
        if number(&connection, &self.table.exists_sql(), "look for the table")? > 0 {
            let place = match &self.file {
                Some(file) => file.display().to_string(),
                None => "memory".into(),
            };
            return Err(SystemError::AlreadyThere {
                system: super::DRIVER.name.into(),
                what: format!("the table '{}' in {place}", self.table.name),
                next: crate::system::REMOVE_OR_RENAME,
            });
        }
        let created = connection.query(&self.table.create_sql());
        created.map_err(|error| failed("create the table", error)).map(|_| ())
    }

    fn loader(&self) -> Result<Box<dyn Loader + '_>, SystemError> {
        let connection = Arc::new(self.connection()?);
        let appender = Appender::new(&connection, &self.table.name)
            .map_err(|error| failed("begin the load", error))?;
        Ok(Box::new(AppenderLoader::new(appender, self.table.field_count())))
    }

    /// Moves the log into the database, and drops what deleted rows left behind.
    fn settle(&self) -> Result<(), SystemError> {
        let connection = self.connection()?;
        let done = connection.query("CHECKPOINT");
        done.map_err(|error| failed("write back its log", error)).map(|_| ())
    }

    fn connect(&self) -> Result<Client, SystemError> {
        let session = DuckdbSession::new(self.connection()?, Arc::clone(&self.table));
        Ok(Client::Call(Box::new(session)))
    }

    fn count(&self) -> Result<u64, SystemError> {
        number(&self.connection()?, &self.table.count_sql(), "count the records")
    }

    /// The database's file and its log, and what DuckDB says it holds in memory.
    fn footprint(&self) -> Result<Footprint, SystemError> {
        let memory = number(&self.connection()?, MEMORY, "tell its memory")?;
        let mut disk = 0;
        for file in self.files() {
            disk += files::size(&file)
                .map_err(|error| failed(&format!("measure {}", file.display()), error))?;
        }
        let disk_bytes = self.file.is_some().then_some(disk);
        Ok(Footprint { disk_bytes, memory_bytes: Some(memory) })
    }

    fn identity(&self) -> Result<Identity, SystemError> {
        let connection = self.connection()?;
        let rows =
            texts(&connection, SETTINGS).map_err(|error| failed("tell its settings", error))?;
        let settings = rows.into_iter().filter_map(|row| {
            let mut row = row.into_iter();
            Some((row.next()?, row.next()?))
        });
        Ok(Identity {
            version: format!("DuckDB {}", self.library.version()),
            settings: settings.collect(),
        })
    }

    fn remove(&self) -> Result<(), SystemError> {
        if self.opened().is_none() {
            return Ok(());
        }
        let connection = self.connection()?;
        let dropped = connection.query(&self.table.drop_sql()).map(|_| ());
        dropped.map_err(|error| failed("remove the table", error))?;
        drop(connection);
        self.opened().take();
        for file in self.files() {
            removed(fs::remove_file(&file), &file)?;
        }
        if let Some(file) = &self.file {
            let spill = spill_folder(file);
            removed(fs::remove_dir_all(&spill), &spill)?;
        }
        Ok(())
    }
}

fn removed(result: io::Result<()>, path: &Path) -> Result<(), SystemError> {
    files::gone(result).map_err(|error| failed(&format!("remove {}", path.display()), error))
}
