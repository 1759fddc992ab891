//! A table on a server: created, loaded, described and removed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use assay_model::{Durability, Endpoint, Schema};

use super::{
    codec::MonetCodec,
    connection::Connection,
    error::{TABLE_EXISTS, Trouble},
    failed,
    load::CopyLoader,
    login,
    statement::{Statements, identifier},
};
use crate::{
    Client, Footprint, Identity, Loader, System, SystemError, WireClient,
    sql::{self, SETUP_TIMEOUT},
};

/// What a database in memory is called.
const IN_MEMORY: &str = "in-memory";

pub(super) struct MonetDb {
    endpoint: Endpoint,
    schema: Arc<Schema>,
    statements: Arc<Statements>,
    durability: Durability,
    timeout: Duration,
    created_table: AtomicBool,
}

impl MonetDb {
    pub fn new(
        endpoint: Endpoint,
        schema: Arc<Schema>,
        durability: Durability,
        timeout: Duration,
    ) -> MonetDb {
        MonetDb {
            statements: Arc::new(Statements::new(&schema)),
            endpoint,
            schema,
            durability,
            timeout,
            created_table: AtomicBool::new(false),
        }
    }

    /// A logged-in connection for set-up commands.
    fn set_up(&self) -> Result<Connection, SystemError> {
        let connection = login::open(&self.endpoint, self.timeout)?;
        connection
            .socket
            .set_timeout(Some(SETUP_TIMEOUT))
            .map_err(|error| failed("set a time limit", error))?;
        Ok(connection)
    }

    fn table(&self) -> String {
        identifier(self.schema.table())
    }

    fn create_sql(&self) -> String {
        let fields: String = self
            .schema
            .field_names()
            .iter()
            .map(|name| format!(", {} text", identifier(name)))
            .collect();
        let table = self.table();
        format!("CREATE TABLE {table} (ycsb_key text NOT NULL PRIMARY KEY{fields})")
    }

    /// What an acknowledged write survives is decided where the database is kept.
    fn check_durability(&self, connection: &mut Connection) -> Result<(), SystemError> {
        if self.durability != Durability::Synced {
            return Ok(());
        }
        let action = "promise durability 'synced'";
        let sql = "SELECT value FROM sys.environment WHERE name = 'gdk_dbname'";
        let name = connection.value(sql).map_err(|trouble| failed(action, trouble))?;
        if name != IN_MEMORY {
            return Ok(());
        }
        Err(failed(action, "its database is in memory: start it with a folder, or ask for none"))
    }

    /// Whether the server says nothing of how many rows a change changed.
    fn is_quiet(&self, connection: &mut Connection) -> Result<bool, Trouble> {
        let change = format!("sDELETE FROM {} WHERE FALSE\n;", self.table());
        connection.send_message(change.as_bytes())?;
        connection.receive()?;
        Ok(connection.changed_by_reply()?.is_none())
    }
}

impl System for MonetDb {
    fn prepare(&self) -> Result<(), SystemError> {
        let mut connection = self.set_up()?;
        self.check_durability(&mut connection)?;
        match connection.run(&self.create_sql()) {
            Ok(()) => {
                self.created_table.store(true, Ordering::Relaxed);
                Ok(())
            }
            Err(trouble) if trouble.code() == Some(TABLE_EXISTS) => {
                Err(SystemError::AlreadyThere {
                    system: super::SYSTEM.into(),
                    what: format!("a table {}", self.table()),
                    next: crate::system::REMOVE_OR_RENAME,
                })
            }
            Err(trouble) => Err(failed("create the table", trouble)),
        }
    }

    fn loader(&self) -> Result<Box<dyn Loader + '_>, SystemError> {
        Ok(Box::new(CopyLoader::new(self.set_up()?, &self.schema)))
    }

    fn settle(&self) -> Result<(), SystemError> {
        self.set_up()?
            .run(&format!("ANALYZE sys.{}", self.table()))
            .map_err(|trouble| failed("analyze the table", trouble))
    }

    fn connect(&self) -> Result<Client, SystemError> {
        let action = "begin a session";
        let mut connection = login::open(&self.endpoint, self.timeout)?;
        let quiet = self.is_quiet(&mut connection).map_err(|trouble| failed(action, trouble))?;
        let socket = connection.into_socket().map_err(|trouble| failed(action, trouble))?;
        let codec = MonetCodec::new(self.statements.clone(), self.schema.clone(), quiet);
        Ok(Client::Wire(WireClient { socket, codec: Box::new(codec) }))
    }

    fn count(&self) -> Result<u64, SystemError> {
        self.set_up()?
            .number(&format!("SELECT count(*) FROM {}", self.table()))
            .map_err(|trouble| failed("count the records", trouble))
    }

    fn footprint(&self) -> Result<Footprint, SystemError> {
        let sql = format!(
            "SELECT CAST(sum(columnsize + heapsize + hashes + \"imprints\" + orderidx) AS bigint) \
             FROM sys.storage() WHERE \"schema\" = current_schema AND \"table\" = '{}'",
            self.schema.table().replace('\\', "\\\\").replace('\'', "''")
        );
        let bytes =
            self.set_up()?.number(&sql).map_err(|error| failed("measure the table", error))?;
        Ok(match self.durability {
            Durability::None => Footprint { disk_bytes: None, memory_bytes: Some(bytes) },
            _ => Footprint { disk_bytes: Some(bytes), memory_bytes: None },
        })
    }

    fn identity(&self) -> Result<Identity, SystemError> {
        let mut connection = self.set_up()?;
        let rows = connection
            .query("SELECT name, value FROM sys.environment")
            .map_err(|trouble| failed("report its version and settings", trouble))?;
        let all = sql::settings(rows);
        let value = |name: &str| {
            all.iter().find(|setting| setting.0 == name).map(|setting| setting.1.clone())
        };
        // A server that the library is tells its source's revision only.
        let version = value("monet_version").or_else(|| value("revision")).unwrap_or_default();
        let settings =
            TOLD.iter().filter_map(|name| Some(((*name).to_owned(), value(name)?))).collect();
        Ok(Identity { version: format!("MonetDB {version}"), settings })
    }

    fn remove(&self) -> Result<(), SystemError> {
        if self.created_table.load(Ordering::Relaxed) {
            self.set_up()?
                .run(&format!("DROP TABLE {}", self.table()))
                .map_err(|trouble| failed("drop the table", trouble))?;
            self.created_table.store(false, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// The settings in force that bear on the result.
const TOLD: [&str; 7] = [
    "gdk_mem_maxsize",
    "gdk_nr_threads",
    "gdk_vm_maxsize",
    "max_clients",
    "revision",
    "sql_optimizer",
    "monet_version",
];
