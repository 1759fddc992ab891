//! A table on a PostgreSQL server: created, loaded, described and removed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use assay_model::{Durability, Endpoint, Schema};
use postgres_protocol::escape::{escape_identifier, escape_literal};

use super::{
    codec::PostgresCodec,
    connection::Connection,
    error::Trouble,
    flavour::POSTGRES,
    layout::{Body, Dialect},
    load::CopyLoader,
    login,
    statement::Statements,
};
use crate::{
    Client, Footprint, Identity, Loader, Opening, System, SystemError, WireClient,
    sql::{self, SETUP_TIMEOUT},
};

pub(super) struct Postgres {
    endpoint: Endpoint,
    dialect: Dialect,
    schema: Arc<Schema>,
    statements: Arc<Statements>,
    durability: Durability,
    timeout: Duration,
    created_table: AtomicBool,
    created_extension: AtomicBool,
}

impl Postgres {
    pub fn new(endpoint: Endpoint, dialect: Dialect, opening: Opening) -> Postgres {
        Postgres {
            statements: Arc::new(Statements::new(dialect, &opening.schema)),
            endpoint,
            dialect,
            schema: opening.schema,
            durability: opening.durability,
            timeout: opening.timeout,
            created_table: AtomicBool::new(false),
            created_extension: AtomicBool::new(false),
        }
    }

    /// A logged-in connection for set-up commands.
    fn set_up(&self) -> Result<Connection, SystemError> {
        let mut connection = login::open(&POSTGRES, &self.endpoint, self.timeout)?;
        connection
            .socket
            .set_timeout(Some(SETUP_TIMEOUT))
            .map_err(|error| POSTGRES.failed("set a time limit", error))?;
        connection
            .set_durability(self.durability)
            .map_err(|trouble| POSTGRES.failed("set synchronous_commit", trouble))?;
        Ok(connection)
    }

    fn table(&self) -> String {
        escape_identifier(self.schema.table())
    }

    /// An acknowledged write is on the disk only if the server flushes at all, which no session
    /// can decide.
    fn check_durability(&self, connection: &mut Connection) -> Result<(), SystemError> {
        let action = "promise durability 'synced'";
        if self.durability != Durability::Synced {
            return Ok(());
        }
        let fsync =
            connection.value("SHOW fsync").map_err(|trouble| POSTGRES.failed(action, trouble))?;
        if fsync == "on" {
            return Ok(());
        }
        let why = "the server runs with fsync=off: start it with fsync=on, or ask for durability \
                   none or buffered";
        Err(POSTGRES.failed(action, why))
    }

    /// Creates the extension that the layout needs, if it is not there.
    fn create_extension(&self, connection: &mut Connection) -> Result<(), SystemError> {
        if !matches!(self.dialect.body, Body::Document(document) if document.name == "hstore") {
            return Ok(());
        }
        let action = "create the extension hstore";
        let found = connection
            .query("SELECT 1 FROM pg_extension WHERE extname = 'hstore'")
            .map_err(|trouble| POSTGRES.failed(action, trouble))?;
        if !found.is_empty() {
            return Ok(());
        }
        match connection.run("CREATE EXTENSION hstore") {
            Ok(()) => {
                self.created_extension.store(true, Ordering::Relaxed);
                Ok(())
            }
            // duplicate_object, unique_violation: somebody else just created it
            Err(trouble) if matches!(trouble.code(), Some("42710" | "23505")) => Ok(()),
            // insufficient_privilege
            Err(trouble) if trouble.code() == Some("42501") => Err(POSTGRES.failed(
                action,
                format!("{trouble}. Ask the database's owner to run CREATE EXTENSION hstore"),
            )),
            Err(trouble @ Trouble::Server(_)) => Err(POSTGRES.failed(
                action,
                format!(
                    "{trouble}. Install PostgreSQL's contrib modules in the server, or choose \
                     another layout"
                ),
            )),
            Err(trouble) => Err(POSTGRES.failed(action, trouble)),
        }
    }

    /// Removes the extension if it was not there before; it stays if others depend on it by now.
    fn drop_extension(&self, connection: &mut Connection) -> Result<(), SystemError> {
        if !self.created_extension.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        match connection.run("DROP EXTENSION hstore") {
            // dependent_objects_still_exist
            Err(trouble) if trouble.code() == Some("2BP01") => Ok(()),
            other => other.map_err(|trouble| POSTGRES.failed("drop the extension hstore", trouble)),
        }
    }
}

impl System for Postgres {
    fn prepare(&self) -> Result<(), SystemError> {
        let mut connection = self.set_up()?;
        self.check_durability(&mut connection)?;
        self.create_extension(&mut connection)?;
        match connection.run(&self.dialect.create_sql(&self.schema)) {
            Ok(()) => {
                self.created_table.store(true, Ordering::Relaxed);
                Ok(())
            }
            // duplicate_table
            Err(trouble) if trouble.code() == Some("42P07") => {
                self.drop_extension(&mut connection)?;
                Err(SystemError::AlreadyThere {
                    system: POSTGRES.name.into(),
                    what: format!("a table {}", self.table()),
                    next: crate::system::REMOVE_OR_RENAME,
                })
            }
            Err(trouble) => Err(POSTGRES.failed("create the table", trouble)),
        }
    }

    fn loader(&self) -> Result<Box<dyn Loader + '_>, SystemError> {
        let loader = CopyLoader::begin(self.set_up()?, self.dialect, &self.schema)?;
        Ok(Box::new(loader))
    }

    fn settle(&self) -> Result<(), SystemError> {
        let mut connection = self.set_up()?;
        connection
            .run(&format!("VACUUM (ANALYZE) {}", self.table()))
            .map_err(|trouble| POSTGRES.failed("vacuum and analyze the table", trouble))?;
        match connection.run("CHECKPOINT") {
            // insufficient_privilege: an attached server's own timer will do it
            Err(trouble) if trouble.code() == Some("42501") => Ok(()),
            other => other.map_err(|trouble| POSTGRES.failed("write a checkpoint", trouble)),
        }
    }

    fn connect(&self) -> Result<Client, SystemError> {
        let mut connection = login::open(&POSTGRES, &self.endpoint, self.timeout)?;
        connection
            .set_durability(self.durability)
            .and_then(|()| connection.prepare(&self.statements))
            .map_err(|trouble| POSTGRES.failed("prepare the statements", trouble))?;
        let socket = connection
            .into_socket()
            .map_err(|trouble| POSTGRES.failed("prepare the statements", trouble))?;
        let codec = PostgresCodec::new(self.statements.clone(), self.dialect, self.schema.clone());
        Ok(Client::Wire(WireClient { socket, codec: Box::new(codec) }))
    }

    fn count(&self) -> Result<u64, SystemError> {
        self.set_up()?
            .number(&format!("SELECT count(*) FROM {}", self.table()))
            .map_err(|trouble| POSTGRES.failed("count the records", trouble))
    }

    fn footprint(&self) -> Result<Footprint, SystemError> {
        let table = escape_literal(&self.table());
        let sql = format!("SELECT pg_total_relation_size({table}::regclass)");
        let bytes = self
            .set_up()?
            .number(&sql)
            .map_err(|trouble| POSTGRES.failed("measure the table", trouble))?;
        Ok(Footprint { disk_bytes: Some(bytes), memory_bytes: None })
    }

    fn identity(&self) -> Result<Identity, SystemError> {
        let action = "report its version and settings";
        let mut connection = self.set_up()?;
        let version = connection
            .value("SELECT version()")
            .map_err(|trouble| POSTGRES.failed(action, trouble))?;
        let settings =
            connection.query(IDENTITY).map_err(|trouble| POSTGRES.failed(action, trouble))?;
        Ok(Identity {
            version: version.split(" on ").next().unwrap_or(&version).to_owned(),
            settings: sql::settings(settings),
        })
    }

    fn remove(&self) -> Result<(), SystemError> {
        if self.created_table.load(Ordering::Relaxed) {
            let mut connection = self.set_up()?;
            connection
                .run(&format!("DROP TABLE {}", self.table()))
                .map_err(|trouble| POSTGRES.failed("drop the table", trouble))?;
            self.created_table.store(false, Ordering::Relaxed);
            self.drop_extension(&mut connection)?;
        }
        Ok(())
    }
}

/// The settings in force in the session, in the units that SHOW gives.
const IDENTITY: &str = "SELECT name, current_setting(name) FROM pg_settings WHERE name IN \
    ('autovacuum', 'fsync', 'full_page_writes', 'jit', 'max_connections', 'max_wal_size', \
    'server_version', 'shared_buffers', 'synchronous_commit', 'wal_level') ORDER BY name";
