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
    codec::MysqlCodec,
    connection::Connection,
    error::{DATABASE_EXISTS, LACKING, TABLE_EXISTS, Trouble, UNKNOWN_VARIABLE},
    flavour::Flavour,
    layout::{self, Body, identifier, literal},
    load::InsertLoader,
    login,
    statement::Statements,
};
use crate::{
    Client, Footprint, Identity, Loader, System, SystemError, WireClient,
    sql::{self, SETUP_TIMEOUT},
};

/// The database of an endpoint that names none. It is created if it is not there.
const DEFAULT_DATABASE: &str = "assay";
/// With more columns than this, the server would have no room for all of the longest records, which
/// it then refuses to create the table for. The fields that long go to pages of their own.
const STRICT_COLUMNS: u16 = 150;

/// What every session sets: text is UTF-8, and what does not fit is refused, not cut.
const SESSION: &str = "SET NAMES utf8mb4, SESSION sql_mode = \
    'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', SESSION autocommit = 1";

pub(super) struct Mysql {
    flavour: &'static Flavour,
    endpoint: Endpoint,
    body: Body,
    schema: Arc<Schema>,
    statements: Arc<Statements>,
    database: String,
    /// The table's name in SQL, that of its database before it.
    table: String,
    durability: Durability,
    timeout: Duration,
    created_table: AtomicBool,
    created_database: AtomicBool,
}

impl Mysql {
    pub fn new(
        flavour: &'static Flavour,
        endpoint: Endpoint,
        body: Body,
        schema: Arc<Schema>,
        durability: Durability,
        timeout: Duration,
    ) -> Mysql {
        let database = endpoint.database.clone().unwrap_or_else(|| DEFAULT_DATABASE.to_owned());
        let table = format!("{}.{}", identifier(&database), identifier(schema.table()));
        Mysql {
            statements: Arc::new(Statements::new(body, &table, &schema)),
            flavour,
            endpoint,
            body,
            schema,
            database,
            table,
            durability,
            timeout,
            created_table: AtomicBool::new(false),
            created_database: AtomicBool::new(false),
        }
    }

    fn failed(&self, action: &str) -> impl FnOnce(Trouble) -> SystemError {
        let (flavour, action) = (self.flavour, action.to_owned());
        move |trouble| flavour.failed(&action, trouble)
    }

    /// A logged-in connection.
    fn open(&self) -> Result<Connection, SystemError> {
        let mut connection = login::open(self.flavour, &self.endpoint, self.timeout)?;
        let begin = |connection: &mut Connection| {
            connection.run(SESSION)?;
            match self.flavour.session.map(|sql| connection.run(sql)) {
                Some(Err(trouble)) if trouble.code() != Some(UNKNOWN_VARIABLE) => Err(trouble),
                _ => Ok(()),
            }
        };
        begin(&mut connection).map_err(self.failed("begin a session"))?;
        Ok(connection)
    }

    /// A logged-in connection for set-up commands.
    fn set_up(&self) -> Result<Connection, SystemError> {
        let connection = self.open()?;
        connection
            .socket
            .set_timeout(Some(SETUP_TIMEOUT))
            .map_err(|error| self.flavour.failed("set a time limit", error))?;
        Ok(connection)
    }

    /// What an acknowledged write survives is decided by the server, and not by a session.
    fn check_durability(&self, connection: &mut Connection) -> Result<(), SystemError> {
        let action = format!("promise durability '{}'", self.durability);
        let sql = "SELECT @@innodb_flush_log_at_trx_commit, @@log_bin, @@sync_binlog";
        let rows = connection.query(sql).map_err(self.failed(&action))?;
        let Some([Some(flush), Some(log), Some(sync)]) = rows.first().map(Vec::as_slice) else {
            return Err(self.flavour.failed(&action, "it does not tell its settings"));
        };
        let flushes = match self.durability {
            Durability::None => true,
            Durability::Buffered => flush != "0",
            // 3 flushes more often.
            Durability::Synced => flush != "0" && flush != "2",
        };
        let logs = !matches!(log.as_str(), "0" | "OFF");
        let why = if !flushes {
            format!(
                "the server runs with innodb_flush_log_at_trx_commit={flush}: start it with {}, \
                 or ask for a lower durability",
                if self.durability == Durability::Synced { "1" } else { "1 or 2" }
            )
        } else if self.durability == Durability::Synced && logs && sync != "1" {
            // After a crash, what the binary log lacks is rolled back.
            format!(
                "the server keeps a binary log with sync_binlog={sync}: start it with \
                 sync_binlog=1 or without the log, or ask for a lower durability"
            )
        } else {
            return Ok(());
        };
        Err(self.flavour.failed(&action, why))
    }

    /// Whether the server can hold records of the layout.
    fn check_layout(&self, connection: &mut Connection) -> Result<(), SystemError> {
        if self.body == Body::Columns {
            return Ok(());
        }
        let action = "keep records as documents";
        let version = connection.value("SELECT VERSION()").map_err(self.failed(action))?;
        match self.flavour.without_documents(&version) {
            Some(why) => Err(self.flavour.failed(action, why)),
            None => Ok(()),
        }
    }

    /// Creates the database if the endpoint names none and it is not there.
    fn create_database(&self, connection: &mut Connection) -> Result<(), SystemError> {
        if self.endpoint.database.is_some() {
            return Ok(());
        }
        match connection.run(&format!("CREATE DATABASE {}", identifier(&self.database))) {
            Ok(()) => {
                self.created_database.store(true, Ordering::Relaxed);
                Ok(())
            }
            Err(trouble) if trouble.code() == Some(DATABASE_EXISTS) => Ok(()),
            Err(trouble) if trouble.code().is_some_and(|code| LACKING.contains(&code)) => {
                let why = format!(
                    "{trouble}. Name a database that the user may create tables in, as in \
                     {}://USER@HOST/DATABASE",
                    self.flavour.name
                );
                Err(self.flavour.failed("create the database", why))
            }
            Err(trouble) => Err(self.failed("create the database")(trouble)),
        }
    }

    /// Removes the database if it was not there before; it stays if it holds something else by now.
    fn drop_database(&self, connection: &mut Connection) -> Result<(), SystemError> {
        if !self.created_database.load(Ordering::Relaxed) {
            return Ok(());
        }
        let held = format!(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = {}",
            literal(&self.database)
        );
        let action = "drop the database";
        if connection.number(&held).map_err(self.failed(action))? == 0 {
            connection
                .run(&format!("DROP DATABASE {}", identifier(&self.database)))
                .map_err(self.failed(action))?;
        }
        self.created_database.store(false, Ordering::Relaxed);
        Ok(())
    }

    fn create_table(&self, connection: &mut Connection) -> Result<(), Trouble> {
        if self.body == Body::Columns && self.schema.field_count() > STRICT_COLUMNS {
            connection.run("SET SESSION innodb_strict_mode = OFF")?;
        }
        connection.run(&layout::create(self.flavour, self.body, &self.table, &self.schema))
    }

    fn create(&self, connection: &mut Connection) -> Result<(), SystemError> {
        match self.create_table(connection) {
            Ok(()) => {
                self.created_table.store(true, Ordering::Relaxed);
                Ok(())
            }
            Err(trouble) if trouble.code() == Some(TABLE_EXISTS) => {
                Err(SystemError::AlreadyThere {
                    system: self.flavour.name.into(),
                    what: format!("a table {}", self.table),
                    next: crate::system::REMOVE_OR_RENAME,
                })
            }
            Err(trouble) => Err(self.failed("create the table")(trouble)),
        }
    }
}

impl System for Mysql {
    fn prepare(&self) -> Result<(), SystemError> {
        let mut connection = self.set_up()?;
        self.check_durability(&mut connection)?;
        self.check_layout(&mut connection)?;
        self.create_database(&mut connection)?;
        self.create(&mut connection).inspect_err(|_| {
            if !self.created_table.load(Ordering::Relaxed) {
                // What is told is why there is no table.
                let _ = self.drop_database(&mut connection);
            }
        })
    }

    fn loader(&self) -> Result<Box<dyn Loader + '_>, SystemError> {
        let connection = self.set_up()?;
        let loader =
            InsertLoader::new(self.flavour, connection, self.body, &self.table, &self.schema);
        Ok(Box::new(loader))
    }

    fn settle(&self) -> Result<(), SystemError> {
        let mut connection = self.set_up()?;
        connection
            .run(&format!("ANALYZE TABLE {}", self.table))
            .map_err(self.failed("analyze the table"))?;
        let action = "write the table's pages to its file";
        match connection.run(&format!("FLUSH TABLES {} FOR EXPORT", self.table)) {
            // An attached server's own cleaner will do it.
            Err(trouble) if trouble.code().is_some_and(|code| LACKING.contains(&code)) => Ok(()),
            Err(trouble) => Err(self.failed(action)(trouble)),
            Ok(()) => connection.run("UNLOCK TABLES").map_err(self.failed(action)),
        }
    }

    fn connect(&self) -> Result<Client, SystemError> {
        let mut connection = self.open()?;
        let mut prepare = || {
            let max_message = connection.number("SELECT @@max_allowed_packet")?;
            let prepared: Result<Box<[Option<u32>]>, Trouble> = self
                .statements
                .iter()
                .map(|statement| match statement.eager {
                    true => connection.prepare(&statement.prepare).map(Some),
                    false => Ok(None),
                })
                .collect();
            Ok((max_message, prepared?))
        };
        let (max_message, prepared) = prepare().map_err(self.failed("prepare the statements"))?;
        let socket = connection.into_socket().map_err(self.failed("prepare the statements"))?;
        let codec = MysqlCodec::new(
            self.statements.clone(),
            self.body,
            self.schema.clone(),
            max_message,
            prepared,
        );
        Ok(Client::Wire(WireClient { socket, codec: Box::new(codec) }))
    }

    fn count(&self) -> Result<u64, SystemError> {
        self.set_up()?
            .number(&format!("SELECT COUNT(*) FROM {}", self.table))
            .map_err(self.failed("count the records"))
    }

    fn footprint(&self) -> Result<Footprint, SystemError> {
        let sql = format!(
            "SELECT data_length + index_length FROM information_schema.tables \
             WHERE table_schema = {} AND table_name = {}",
            literal(&self.database),
            literal(self.schema.table())
        );
        let bytes = self.set_up()?.number(&sql).map_err(self.failed("measure the table"))?;
        Ok(Footprint { disk_bytes: Some(bytes), memory_bytes: None })
    }

    fn identity(&self) -> Result<Identity, SystemError> {
        let action = "report its version and settings";
        let mut connection = self.set_up()?;
        let version = connection.value("SELECT VERSION()").map_err(self.failed(action))?;
        let number = version.split('-').next().unwrap_or(&version);
        let settings = connection.query(IDENTITY).map_err(self.failed(action))?;
        Ok(Identity {
            version: format!("{} {number}", self.flavour.product),
            settings: sql::settings(settings),
        })
    }

    fn remove(&self) -> Result<(), SystemError> {
        if self.created_table.load(Ordering::Relaxed) {
            let mut connection = self.set_up()?;
            connection
                .run(&format!("DROP TABLE {}", self.table))
                .map_err(self.failed("drop the table"))?;
            self.created_table.store(false, Ordering::Relaxed);
            self.drop_database(&mut connection)?;
        }
        Ok(())
    }
}

/// The settings in force, of those that bear on the result; a server tells those that it has.
const IDENTITY: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN \
    ('binlog_format', 'innodb_buffer_pool_size', 'innodb_doublewrite', \
    'innodb_flush_log_at_trx_commit', 'innodb_flush_method', 'innodb_io_capacity', \
    'innodb_log_file_size', 'innodb_page_size', 'innodb_redo_log_capacity', 'log_bin', \
    'max_allowed_packet', 'max_connections', 'performance_schema', 'query_cache_type', \
    'sync_binlog', 'thread_handling', 'transaction_isolation', 'tx_isolation', 'version', \
    'version_comment')";
