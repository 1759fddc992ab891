//! `hyper`: a table on a HyPer server (`hyperd`), and the database that holds it.
//!
//! HyPer keeps no indexes: whatever names a key looks through the whole table. It commits in memory, and
//! writes a database's file when the last connection to it closes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use assay_model::{Capabilities, Durability, Endpoint, NO_INDEXES, Schema, Support};
use postgres_protocol::escape::{escape_identifier, escape_literal};

use super::{
    check_names,
    codec::PostgresCodec,
    connection::Connection,
    error::Trouble,
    flavour::HYPER,
    layout::{Body, Dialect, KeyPlace},
    load::CopyLoader,
    login,
    statement::{MESSAGE_LIMIT, Statements},
};
use crate::{
    Client, Driver, Footprint, Identity, Layout, Loader, Opening, Place, System, SystemError,
    Verified, WireClient,
    cache::Cache,
    sql::{self, SETUP_TIMEOUT},
};

/// The registry line.
pub static DRIVER: Driver = Driver {
    name: HYPER.name,
    summary: "HyPer, the server in Tableau's Hyper API, by PostgreSQL's protocol without TLS; it has \
              no index, so every operation looks through the whole table; inserting a key that \
              exists is a conflict, but for two clients that do so at once",
    layouts: &[Layout { name: "row", summary: "a text column a field" }],
    settings: &[],
    place: Place::Server { recipe: HYPER.name, default_port: HYPER.port },
    verified: Verified::ByTests,
    cache: Some(Cache::Sized {
        setting: "memory-limit",
        value: |mib| format!("{mib}m"),
        least_mib: 256,
        reason: "all that it takes: its data are in memory, and what does not fit goes to files",
    }),
    rests: |_| false,
    capabilities,
    open,
};

/// The database of an endpoint that names none, a file in the server's folder. It is created if it is
/// not there.
const DEFAULT_DATABASE: &str = "assay.hyper";
/// How long connections that were closed may take to let go of a database.
const RELEASE_LIMIT: Duration = Duration::from_secs(1);
/// How long the server may take to write the database's file, if nobody else has it open.
const WRITE_LIMIT: Duration = Duration::from_secs(30);

/// SQLSTATEs that a statement is refused with.
const DUPLICATE_TABLE: &str = "42P07";
const DUPLICATE_DATABASE: &str = "42P04";
const OBJECT_IN_USE: &str = "55006";

fn capabilities(_: &str) -> Capabilities {
    Capabilities {
        scan: Support::Emulated("sorts all that follow: there is no index to read in order"),
        lookup: Support::Unsupported(NO_INDEXES),
        count: Support::Native,
        delete: Support::Native,
        durability: &[(
            Durability::None,
            "commits in memory, writes the file when the last connection closes",
        )],
        // A message with the whole record, its key and lengths.
        max_value_bytes: Some((MESSAGE_LIMIT >> 16 << 16) as u64),
        max_key_bytes: Some((MESSAGE_LIMIT >> 16 << 16) as u64),
    }
}

fn open(opening: Opening) -> Result<Box<dyn System>, SystemError> {
    let endpoint = opening.target.server(HYPER.name)?;
    check_names(&HYPER, &opening.schema, Body::Columns)?;
    let dialect = Dialect { flavour: &HYPER, body: Body::Columns, key: KeyPlace::Column };
    let database = endpoint.database.clone().unwrap_or_else(|| DEFAULT_DATABASE.to_owned());
    Ok(Box::new(Hyper {
        statements: Arc::new(Statements::new(dialect, &opening.schema)),
        inside: Endpoint { database: Some(database), ..endpoint.clone() },
        endpoint,
        dialect,
        schema: opening.schema,
        timeout: opening.timeout,
        created_table: AtomicBool::new(false),
        created_database: AtomicBool::new(false),
    }))
}

struct Hyper {
    /// As given.
    endpoint: Endpoint,
    /// The same, with the database named.
    inside: Endpoint,
    dialect: Dialect,
    schema: Arc<Schema>,
    statements: Arc<Statements>,
    timeout: Duration,
    created_table: AtomicBool,
    created_database: AtomicBool,
}

impl Hyper {
    /// A logged-in connection for set-up commands, in the database or in none.
    fn set_up(&self, endpoint: &Endpoint) -> Result<Connection, SystemError> {
        let connection = login::open(&HYPER, endpoint, self.timeout)?;
        connection
            .socket
            .set_timeout(Some(SETUP_TIMEOUT))
            .map_err(|error| HYPER.failed("set a time limit", error))?;
        Ok(connection)
    }

    fn table(&self) -> String {
        escape_identifier(self.schema.table())
    }

    fn database(&self) -> &str {
        self.inside.database.as_deref().unwrap_or(DEFAULT_DATABASE)
    }

    /// Creates the database if the endpoint names none and it is not there.
    fn create_database(&self) -> Result<(), SystemError> {
        if self.endpoint.database.is_some() {
            return Ok(());
        }
        let create = format!("CREATE DATABASE {}", escape_identifier(self.database()));
        match self.set_up(&self.endpoint)?.run(&create) {
            Ok(()) => {
                self.created_database.store(true, Ordering::Relaxed);
                Ok(())
            }
            Err(trouble) if trouble.code() == Some(DUPLICATE_DATABASE) => Ok(()),
            Err(trouble) => Err(HYPER.failed("create the database", trouble)),
        }
    }

    /// Removes the database if it was not there before; it stays if it holds something else by now, or
    /// if others have it open.
    fn drop_database(&self, inside: Connection) -> Result<(), SystemError> {
        let action = "drop the database";
        let mut inside = inside;
        if !self.created_database.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        let held = "SELECT count(*) FROM pg_tables WHERE schemaname <> 'pg_catalog'";
        if inside.number(held).map_err(|trouble| HYPER.failed(action, trouble))? > 0 {
            return Ok(());
        }
        drop(inside);
        let mut outside = self.set_up(&self.endpoint)?;
        let drop = format!("DROP DATABASE {}", escape_identifier(self.database()));
        let begun = Instant::now();
        loop {
            match outside.run(&drop) {
                Err(trouble) if trouble.code() == Some(OBJECT_IN_USE) => {
                    if begun.elapsed() > RELEASE_LIMIT {
                        return Ok(());
                    }
                    thread::sleep(Duration::from_millis(10));
                }
                other => return other.map_err(|trouble| HYPER.failed(action, trouble)),
            }
        }
    }

    fn create_table(&self) -> Result<(), SystemError> {
        let mut inside = self.set_up(&self.inside)?;
        match inside.run(&self.dialect.create_sql(&self.schema)) {
            Ok(()) => {
                self.created_table.store(true, Ordering::Relaxed);
                Ok(())
            }
            Err(trouble) if trouble.code() == Some(DUPLICATE_TABLE) => {
                Err(SystemError::AlreadyThere {
                    system: HYPER.name.into(),
                    what: format!("a table {}", self.table()),
                    next: crate::system::REMOVE_OR_RENAME,
                })
            }
            Err(trouble) => {
                // What is told is why there is no table.
                let _ = self.drop_database(inside);
                Err(HYPER.failed("create the table", trouble))
            }
        }
    }

    /// Waits until the server has closed the database, and so written its file, unless others hold it
    /// open.
    fn await_release(&self) -> Result<(), Trouble> {
        let begun = Instant::now();
        let open =
            format!("SELECT count(*) FROM hyper_database WHERE datname = {}", self.literal());
        let mut outside = match self.set_up(&Endpoint { database: None, ..self.endpoint.clone() }) {
            Ok(outside) => outside,
            Err(error) => return Err(Trouble::Protocol(error.to_string())),
        };
        while outside.number(&open)? > 0 && begun.elapsed() < WRITE_LIMIT {
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    fn literal(&self) -> String {
        escape_literal(self.database())
    }
}

impl System for Hyper {
    fn prepare(&self) -> Result<(), SystemError> {
        self.create_database()?;
        self.create_table()
    }

    fn loader(&self) -> Result<Box<dyn Loader + '_>, SystemError> {
        let loader = CopyLoader::begin(self.set_up(&self.inside)?, self.dialect, &self.schema)?;
        Ok(Box::new(loader))
    }

    fn settle(&self) -> Result<(), SystemError> {
        self.set_up(&self.inside)?
            .run(&format!("ANALYZE {}", self.table()))
            .map_err(|trouble| HYPER.failed("analyze the table", trouble))?;
        self.await_release().map_err(|trouble| HYPER.failed("write the database's file", trouble))
    }

    fn connect(&self) -> Result<Client, SystemError> {
        let mut connection = login::open(&HYPER, &self.inside, self.timeout)?;
        let prepared = connection.prepare(&self.statements);
        let socket = prepared
            .and_then(|()| connection.into_socket())
            .map_err(|trouble| HYPER.failed("prepare the statements", trouble))?;
        let codec = PostgresCodec::new(self.statements.clone(), self.dialect, self.schema.clone());
        Ok(Client::Wire(WireClient { socket, codec: Box::new(codec) }))
    }

    fn count(&self) -> Result<u64, SystemError> {
        self.set_up(&self.inside)?
            .number(&format!("SELECT count(*) FROM {}", self.table()))
            .map_err(|trouble| HYPER.failed("count the records", trouble))
    }

    fn footprint(&self) -> Result<Footprint, SystemError> {
        let bytes = self
            .set_up(&self.inside)?
            .number("SELECT total_physical_memory_process FROM hyper_memory_usage")
            .map_err(|trouble| HYPER.failed("measure its memory", trouble))?;
        Ok(Footprint { disk_bytes: None, memory_bytes: Some(bytes) })
    }

    fn identity(&self) -> Result<Identity, SystemError> {
        let action = "report its version and settings";
        let mut inside = self.set_up(&self.inside)?;
        let mut ask =
            |sql: &str| inside.query(sql).map_err(|trouble| HYPER.failed(action, trouble));
        let version =
            sql::value::<super::error::ServerError>(ask("SELECT version()")?, "version()")
                .map_err(|trouble| HYPER.failed(action, trouble))?;
        let mut settings = sql::settings(ask(IDENTITY_OF_DATABASE)?);
        settings.extend(sql::settings(ask(IDENTITY_OF_SERVER)?));
        Ok(Identity { version: format!("HyPer {}", build(&version)), settings })
    }

    fn remove(&self) -> Result<(), SystemError> {
        if self.created_table.load(Ordering::Relaxed) {
            let mut inside = self.set_up(&self.inside)?;
            inside
                .run(&format!("DROP TABLE {}", self.table()))
                .map_err(|trouble| HYPER.failed("drop the table", trouble))?;
            self.created_table.store(false, Ordering::Relaxed);
            self.drop_database(inside)?;
        }
        Ok(())
    }
}

/// What the server shows as settings are mostly those of the PostgreSQL that it stands in for, and not
/// its own; these are its own.
const IDENTITY_OF_DATABASE: &str = "SELECT 'database_version', database_version::text \
    FROM hyper_database WHERE datname = current_database()";
const IDENTITY_OF_SERVER: &str =
    "SELECT 'memory_limit_bytes', total_memory_limit::text FROM hyper_memory_usage";

/// The version in `Hyper 9.1.0 emulation, hyper version main.0.0.26963.r84171622`: the first is that of
/// the PostgreSQL that it stands in for.
fn build(version: &str) -> &str {
    let build = version.rsplit(' ').next().unwrap_or(version);
    let build = build.trim_start_matches(|c: char| !c.is_ascii_digit());
    build.split_once(".r").map_or(build, |(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_its_own() {
        let told = "Hyper 9.1.0 emulation, hyper version main.0.0.26963.r84171622";
        assert_eq!(build(told), "0.0.26963");
    }
}
