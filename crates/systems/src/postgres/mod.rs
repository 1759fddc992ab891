//! `postgres`: PostgreSQL, with a record as a row of columns or as one `hstore`, `jsonb` or `json`
//! document.
//!
//! [`layout`] says how each layout keeps records, [`statement`] what SQL follows, [`codec`] speaks
//! during the measurement, and [`connection`] does everything else on a blocking socket. TLS is
//! not spoken.

mod codec;
mod connection;
mod error;
mod hstore;
mod layout;
mod load;
mod login;
mod record;
mod reply;
mod statement;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use assay_model::{Capabilities, Durability, Endpoint, Schema, Support};
use postgres_protocol::escape::{escape_identifier, escape_literal};

use self::{
    codec::PostgresCodec,
    connection::Connection,
    error::Trouble,
    layout::{Body, Dialect, KeyPlace},
    load::CopyLoader,
    statement::Statements,
};
use crate::{
    Client, Driver, Footprint, Identity, Layout, Loader, Opening, Place, SettingDoc, System,
    SystemError, Verified, WireClient,
    sql::{self, SETUP_TIMEOUT},
};

const SYSTEM: &str = "postgres";

/// The registry line.
pub static DRIVER: Driver = Driver {
    name: SYSTEM,
    summary: "PostgreSQL 10 or later, without TLS; keys and values are UTF-8 without NUL, and \
              inserting a key that exists is a conflict",
    layouts: &[
        Layout { name: "row", summary: "a text column a field" },
        Layout { name: "hstore", summary: "one hstore document a record (needs the extension)" },
        Layout { name: "jsonb", summary: "one jsonb document a record" },
        Layout {
            name: "json",
            summary: "one json text a record; an update parses, merges and rewrites all of it",
        },
    ],
    settings: &[SettingDoc {
        name: "key",
        default: "column",
        summary: "column: the key is the primary key column; document: it is a member of the \
                  document, with a unique B-tree index on the expression (not in layout row)",
    }],
    place: Place::Server { recipe: SYSTEM, default_port: 5432 },
    verified: Verified::ByTests,
    rests: |_| false,
    capabilities,
    open,
};

/// A B-tree entry is at most 2,704 bytes, and 12 of them are not the key's.
const MAX_KEY_BYTES: u64 = 2692;
/// Identifiers are cut at this length, so that longer ones could meet.
const MAX_NAME_BYTES: usize = 63;
/// A table has at most 1,600 columns; one is the key.
const MAX_FIELD_COLUMNS: u16 = 1599;

fn capabilities(layout: &str) -> Capabilities {
    Capabilities {
        scan: Support::Native,
        lookup: Support::Native,
        count: Support::Native,
        delete: Support::Native,
        durability: &[
            (Durability::None, "fsync=off, synchronous_commit=off, full_page_writes=off"),
            (Durability::Buffered, "synchronous_commit=off"),
            (Durability::Synced, "fsync=on, synchronous_commit=on"),
        ],
        max_value_bytes: Some(match layout {
            // A string in a jsonb; updates of json go through jsonb.
            "jsonb" | "json" => 0x0fff_ffff,
            // A message with the whole record, its key and lengths is at most 1 GiB - 2.
            _ => 0x3fff_0000,
        }),
        max_key_bytes: Some(MAX_KEY_BYTES),
    }
}

fn open(opening: Opening) -> Result<Box<dyn System>, SystemError> {
    let endpoint = opening.target.server(SYSTEM)?;
    let body = Body::of_layout(&opening.layout)
        .ok_or_else(|| failed("open", format!("no layout '{}'", opening.layout)))?;
    let key = key_place(opening.settings.get("key").map(String::as_str), body)?;
    check_names(&opening.schema, body)?;
    let dialect = Dialect { body, key };
    Ok(Box::new(Postgres {
        statements: Arc::new(Statements::new(dialect, &opening.schema)),
        endpoint,
        dialect,
        schema: opening.schema,
        durability: opening.durability,
        timeout: opening.timeout,
        created_table: AtomicBool::new(false),
        created_extension: AtomicBool::new(false),
    }))
}

/// A codec without a server.
#[cfg(feature = "fuzzing")]
pub(crate) fn codec(layout: &str, key: &str, schema: Arc<Schema>) -> Box<dyn crate::Codec> {
    let body = Body::of_layout(layout).expect("a layout of the driver");
    let key = key_place(Some(key), body).expect("a place for the key in that layout");
    let dialect = Dialect { body, key };
    let statements = Arc::new(Statements::new(dialect, &schema));
    Box::new(PostgresCodec::new(statements, dialect, schema))
}

fn key_place(setting: Option<&str>, body: Body) -> Result<KeyPlace, SystemError> {
    let why = match (setting.unwrap_or("column"), body) {
        ("column", _) => return Ok(KeyPlace::Column),
        ("document", Body::Document(_)) => return Ok(KeyPlace::Document),
        ("document", Body::Columns) => {
            "layout row has no document to keep the key in: use key=column, or layout hstore, \
             jsonb or json"
                .to_owned()
        }
        (other, _) => format!("'{other}' is not a place for the key: use column or document"),
    };
    Err(SystemError::BadSetting { system: SYSTEM.into(), setting: "key".into(), why })
}

/// Refuses names that PostgreSQL would cut or cannot hold.
fn check_names(schema: &Schema, body: Body) -> Result<(), SystemError> {
    let action = format!("lay out the table '{}'", schema.table().escape_debug());
    let columns: &[String] = match body {
        Body::Columns => schema.field_names(),
        Body::Document(_) => &[],
    };
    if schema.field_count() > MAX_FIELD_COLUMNS && matches!(body, Body::Columns) {
        let why = format!(
            "layout row keeps up to {MAX_FIELD_COLUMNS} fields, and there are {}: use jsonb",
            schema.field_count()
        );
        return Err(failed(&action, why));
    }
    let names = || schema.field_names().iter().map(String::as_str).chain([schema.table()]);
    if names().any(|name| name.contains('\0')) || schema.table().is_empty() {
        return Err(failed(&action, "a name is empty or holds a NUL byte: choose another"));
    }
    let columns = columns.iter().map(String::as_str);
    match columns.chain([schema.table()]).find(|name| name.len() > MAX_NAME_BYTES) {
        Some(long) => {
            let why = format!("the name '{long}' is longer than {MAX_NAME_BYTES} bytes");
            Err(failed(&action, why))
        }
        None => Ok(()),
    }
}

fn failed(action: &str, why: impl fmt::Display) -> SystemError {
    SystemError::Failed { system: SYSTEM.into(), action: action.into(), why: why.to_string() }
}

struct Postgres {
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
    /// A logged-in connection for set-up commands.
    fn set_up(&self) -> Result<Connection, SystemError> {
        let mut connection = login::open(&self.endpoint, self.timeout)?;
        connection
            .socket
            .set_timeout(Some(SETUP_TIMEOUT))
            .map_err(|error| failed("set a time limit", error))?;
        connection
            .set_durability(self.durability)
            .map_err(|trouble| failed("set synchronous_commit", trouble))?;
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
        let fsync = connection.value("SHOW fsync").map_err(|trouble| failed(action, trouble))?;
        if fsync == "on" {
            return Ok(());
        }
        let why = "the server runs with fsync=off: start it with fsync=on, or ask for durability \
                   none or buffered";
        Err(failed(action, why))
    }

    /// Creates the extension that the layout needs, if it is not there.
    fn create_extension(&self, connection: &mut Connection) -> Result<(), SystemError> {
        if !matches!(self.dialect.body, Body::Document(document) if document.name == "hstore") {
            return Ok(());
        }
        let action = "create the extension hstore";
        let found = connection
            .query("SELECT 1 FROM pg_extension WHERE extname = 'hstore'")
            .map_err(|trouble| failed(action, trouble))?;
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
            Err(trouble) if trouble.code() == Some("42501") => Err(failed(
                action,
                format!("{trouble}. Ask the database's owner to run CREATE EXTENSION hstore"),
            )),
            Err(trouble @ Trouble::Server(_)) => Err(failed(
                action,
                format!(
                    "{trouble}. Install PostgreSQL's contrib modules in the server, or choose \
                     another layout"
                ),
            )),
            Err(trouble) => Err(failed(action, trouble)),
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
            other => other.map_err(|trouble| failed("drop the extension hstore", trouble)),
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
                    system: SYSTEM.into(),
                    what: format!("a table {}", self.table()),
                    next: crate::system::REMOVE_OR_RENAME,
                })
            }
            Err(trouble) => Err(failed("create the table", trouble)),
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
            .map_err(|trouble| failed("vacuum and analyze the table", trouble))?;
        match connection.run("CHECKPOINT") {
            // insufficient_privilege: an attached server's own timer will do it
            Err(trouble) if trouble.code() == Some("42501") => Ok(()),
            other => other.map_err(|trouble| failed("write a checkpoint", trouble)),
        }
    }

    fn connect(&self) -> Result<Client, SystemError> {
        let mut connection = login::open(&self.endpoint, self.timeout)?;
        connection
            .set_durability(self.durability)
            .and_then(|()| connection.prepare(&self.statements))
            .map_err(|trouble| failed("prepare the statements", trouble))?;
        let socket = connection
            .into_socket()
            .map_err(|trouble| failed("prepare the statements", trouble))?;
        let codec = PostgresCodec::new(self.statements.clone(), self.dialect, self.schema.clone());
        Ok(Client::Wire(WireClient { socket, codec: Box::new(codec) }))
    }

    fn count(&self) -> Result<u64, SystemError> {
        self.set_up()?
            .number(&format!("SELECT count(*) FROM {}", self.table()))
            .map_err(|trouble| failed("count the records", trouble))
    }

    fn footprint(&self) -> Result<Footprint, SystemError> {
        let table = escape_literal(&self.table());
        let sql = format!("SELECT pg_total_relation_size({table}::regclass)");
        let bytes =
            self.set_up()?.number(&sql).map_err(|trouble| failed("measure the table", trouble))?;
        Ok(Footprint { disk_bytes: Some(bytes), memory_bytes: None })
    }

    fn identity(&self) -> Result<Identity, SystemError> {
        let action = "report its version and settings";
        let mut connection = self.set_up()?;
        let version =
            connection.value("SELECT version()").map_err(|trouble| failed(action, trouble))?;
        let settings = connection.query(IDENTITY).map_err(|trouble| failed(action, trouble))?;
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
                .map_err(|trouble| failed("drop the table", trouble))?;
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
