//! A table on a server: created, loaded, described and removed.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use assay_model::Durability;

use super::{
    codec::CassandraCodec,
    connection::Connection,
    error::{ALREADY_EXISTS, UNAUTHORIZED},
    loader::PipelineLoader,
    table::{Kind, Table, identifier, literal},
};
use crate::{
    Client, Footprint, Identity, Loader, System, SystemError, WireClient, link::Server,
    system::REMOVE_OR_RENAME,
};

/// The keyspace of an endpoint that names none. It is created if it is not there.
pub(super) const KEYSPACE: &str = "assay";

/// The settings that bear on results.
const SHOWN: [&str; 9] = [
    "commitlog_sync",
    "commitlog_sync_period",
    "memtable_allocation_type",
    "memtable_heap_space",
    "memtable_offheap_space",
    "key_cache_size",
    "storage_compatibility_mode",
    "concurrent_reads",
    "concurrent_writes",
];

/// The table on the server.
pub(super) struct Cassandra {
    server: Server,
    table: Arc<Table>,
    /// The keyspace that the endpoint names.
    named: Option<String>,
    durability: Durability,
    created_table: AtomicBool,
    created_keyspace: AtomicBool,
}

impl Cassandra {
    pub fn new(
        server: Server,
        table: Table,
        named: Option<String>,
        durability: Durability,
    ) -> Cassandra {
        Cassandra {
            server,
            table: Arc::new(table),
            named,
            durability,
            created_table: AtomicBool::new(false),
            created_keyspace: AtomicBool::new(false),
        }
    }

    fn keyspace(&self) -> &str {
        self.named.as_deref().unwrap_or(KEYSPACE)
    }

    /// A setting of the server's.
    fn setting(
        &self,
        connection: &mut Connection<'_>,
        action: &str,
        name: &str,
    ) -> Result<String, SystemError> {
        let name = literal(name);
        let cql = format!("SELECT value FROM system_views.settings WHERE name = {name}");
        let rows = connection.query(action, &cql)?;
        Ok(rows.into_iter().flatten().flatten().next().unwrap_or_default())
    }

    /// Scans in the order of keys need a partitioner that keeps it.
    fn check_order(&self, connection: &mut Connection<'_>) -> Result<(), SystemError> {
        if self.table.kind != Kind::Ordered {
            return Ok(());
        }
        let action = "keep records in the order of their keys";
        let rows = connection.query(action, "SELECT partitioner FROM system.local")?;
        let partitioner = rows.into_iter().flatten().flatten().next().unwrap_or_default();
        let short = partitioner.rsplit('.').next().unwrap_or_default();
        if short == "ByteOrderedPartitioner" {
            return Ok(());
        }
        Err(self.server.failed(
            action,
            format!(
                "its partitioner is {short}: start one with the setting \
                 partitioner=ByteOrderedPartitioner, or use the layout row, which has no scans"
            ),
        ))
    }

    /// What an acknowledged write survives is decided by the server and the keyspace.
    fn check_durability(&self, connection: &mut Connection<'_>) -> Result<(), SystemError> {
        let action = format!("promise durability '{}'", self.durability);
        if self.durability == Durability::Synced {
            let sync = self.setting(connection, &action, "commitlog_sync")?;
            if !matches!(sync.as_str(), "batch" | "group") {
                let why = format!(
                    "the server runs with commitlog_sync: {sync}: start it with batch or group, or ask \
                     for a lower durability"
                );
                return Err(self.server.failed(&action, why));
            }
        }
        let keyspace = literal(self.keyspace());
        let cql = format!(
            "SELECT durable_writes FROM system_schema.keyspaces WHERE keyspace_name = {keyspace}"
        );
        let rows = connection.query(&action, &cql)?;
        let durable = rows.into_iter().flatten().flatten().next();
        match durable.as_deref() {
            None => Err(self.server.failed(
                &action,
                format!("it has no keyspace {keyspace}: create it, or leave it out of the URL"),
            )),
            Some("\0") if self.durability != Durability::None => Err(self.server.failed(
                &action,
                format!(
                    "the keyspace {keyspace} has durable_writes = false: name another, or ask for \
                     durability none"
                ),
            )),
            Some(_) => Ok(()),
        }
    }

    /// Creates the keyspace if the endpoint names none and it is not there.
    fn create_keyspace(&self, connection: &mut Connection<'_>) -> Result<(), SystemError> {
        if self.named.is_some() {
            return Ok(());
        }
        let action = "create the keyspace";
        let cql = format!(
            "CREATE KEYSPACE {} WITH replication = {{'class': 'SimpleStrategy', \
             'replication_factor': 1}} AND durable_writes = {}",
            identifier(KEYSPACE),
            self.durability != Durability::None
        );
        match connection.try_query(action, &cql)? {
            Ok(_) => {
                self.created_keyspace.store(true, Ordering::Relaxed);
                Ok(())
            }
            Err(refusal) if refusal.code == ALREADY_EXISTS => Ok(()),
            Err(refusal) if refusal.code == UNAUTHORIZED => Err(self.server.failed(
                action,
                format!(
                    "{}. Name a keyspace that the user may create tables in, as in \
                     cassandra://USER:PASSWORD@HOST/KEYSPACE",
                    refusal.why
                ),
            )),
            Err(refusal) => Err(self.server.failed(action, refusal.why)),
        }
    }

    /// Removes the keyspace if it was not there before; it stays if it holds something else by now.
    fn drop_keyspace(&self, connection: &mut Connection<'_>) -> Result<(), SystemError> {
        if !self.created_keyspace.load(Ordering::Relaxed) {
            return Ok(());
        }
        let action = "drop the keyspace";
        let held = format!(
            "SELECT table_name FROM system_schema.tables WHERE keyspace_name = {}",
            literal(KEYSPACE)
        );
        if connection.query(action, &held)?.is_empty() {
            connection.query(action, &format!("DROP KEYSPACE {}", identifier(KEYSPACE)))?;
        }
        self.created_keyspace.store(false, Ordering::Relaxed);
        Ok(())
    }

    fn create(&self, connection: &mut Connection<'_>) -> Result<(), SystemError> {
        let action = "create the table";
        match connection.try_query(action, &self.table.create())? {
            Ok(_) => {
                self.created_table.store(true, Ordering::Relaxed);
                Ok(())
            }
            Err(refusal) if refusal.code == ALREADY_EXISTS => Err(SystemError::AlreadyThere {
                system: self.server.name.into(),
                what: format!("a table {}", self.table.name),
                next: REMOVE_OR_RENAME,
            }),
            Err(refusal) => Err(self.server.failed(action, refusal.why)),
        }
    }
}

impl System for Cassandra {
    fn prepare(&self) -> Result<(), SystemError> {
        let mut connection = Connection::open(&self.server)?;
        self.check_order(&mut connection)?;
        self.create_keyspace(&mut connection)?;
        let created = self.check_durability(&mut connection);
        created.and_then(|()| self.create(&mut connection)).inspect_err(|_| {
            if !self.created_table.load(Ordering::Relaxed) {
                // What is told is why there is no table.
                let _ = self.drop_keyspace(&mut connection);
            }
        })
    }

    fn loader(&self) -> Result<Box<dyn Loader + '_>, SystemError> {
        Ok(Box::new(PipelineLoader::new(&self.server, &self.table)?))
    }

    fn connect(&self) -> Result<Client, SystemError> {
        let mut connection = Connection::open(&self.server)?;
        let ids = connection.prepare(&self.table)?;
        let socket = connection.into_socket()?;
        let codec = Box::new(CassandraCodec::new(Arc::clone(&self.table), ids));
        Ok(Client::Wire(WireClient { socket, codec }))
    }

    fn count(&self) -> Result<u64, SystemError> {
        let action = "count the records";
        let mut connection = Connection::open(&self.server)?;
        let cql = format!("SELECT count(*) FROM {}", self.table.name);
        let count = connection.number(action, &cql)?;
        count.ok_or_else(|| self.server.failed(action, "it does not tell"))
    }

    /// The table's files, in whole MiB as the server tells them; what is still in memory is not in them.
    fn footprint(&self) -> Result<Footprint, SystemError> {
        let cql = format!(
            "SELECT mebibytes FROM system_views.disk_usage WHERE keyspace_name = {} AND \
             table_name = {}",
            literal(self.keyspace()),
            literal(self.table.schema.table())
        );
        let mut connection = Connection::open(&self.server)?;
        let mebibytes = connection.number("tell the table's size", &cql)?;
        let disk_bytes = mebibytes.filter(|size| *size > 0).map(|size| size << 20);
        Ok(Footprint { disk_bytes, memory_bytes: None })
    }

    fn identity(&self) -> Result<Identity, SystemError> {
        let action = "tell its version";
        let mut connection = Connection::open(&self.server)?;
        let cql = "SELECT release_version, partitioner FROM system.local";
        let mut local = connection.query(action, cql)?.into_iter().flatten();
        let version = local.next().flatten().unwrap_or_default();
        let partitioner = local.next().flatten().unwrap_or_default();
        let mut settings = vec![("partitioner".to_owned(), partitioner)];
        for name in SHOWN {
            let value = self.setting(&mut connection, "tell its settings", name)?;
            if !value.is_empty() {
                settings.push((name.to_owned(), value));
            }
        }
        Ok(Identity { version: format!("Apache Cassandra {version}"), settings })
    }

    fn remove(&self) -> Result<(), SystemError> {
        if !self.created_table.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut connection = Connection::open(&self.server)?;
        connection.query("drop the table", &format!("DROP TABLE {}", self.table.name))?;
        self.created_table.store(false, Ordering::Relaxed);
        self.drop_keyspace(&mut connection)
    }
}
