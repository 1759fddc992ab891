//! The table on a server: made, measured, identified and removed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use assay_model::Durability;

use super::{
    DRIVER, Server,
    codec::AerospikeCodec,
    connection::{Connection, pair},
    loader::PipelineLoader,
    table::Table,
};
use crate::{
    Client, Footprint, Identity, Loader, System, SystemError, WireClient, system::REMOVE_OR_RENAME,
};

/// The longest that `remove` waits for the server to drop the set's records.
const TRUNCATE_LIMIT: Duration = Duration::from_secs(60);
const TRUNCATE_POLL: Duration = Duration::from_millis(20);

/// The namespace's settings that bear on a result.
const SHOWN: [&str; 12] = [
    "storage-engine",
    "storage-engine.commit-to-device",
    "storage-engine.flush-max-ms",
    "storage-engine.flush-size",
    "storage-engine.data-size",
    "storage-engine.filesize",
    "storage-engine.post-write-cache",
    "storage-engine.read-page-cache",
    "storage-engine.compression",
    "replication-factor",
    "strong-consistency",
    "write-commit-level-override",
];

/// A table on a server.
pub(super) struct Aerospike {
    server: Server,
    table: Arc<Table>,
    durability: Durability,
    prepared: AtomicBool,
}

impl Aerospike {
    pub(super) fn new(server: Server, table: Table, durability: Durability) -> Aerospike {
        let prepared = AtomicBool::new(false);
        Aerospike { server, table: Arc::new(table), durability, prepared }
    }

    fn namespace(&self, connection: &mut Connection<'_>) -> Result<String, SystemError> {
        let name = &self.table.namespace;
        let action = "read the namespace's settings";
        let all = connection.info(action, "namespaces")?;
        if !all.split(';').any(|known| known == name) {
            let why = format!(
                "it has no namespace '{name}', but {all}: name one at the end of the URL, as in \
                 aerospike://HOST:3000/{name}"
            );
            return Err(self.server.failed(action, why));
        }
        connection.info(action, &format!("namespace/{name}"))
    }

    /// What the server tells of the set; nothing of one that was never written to.
    fn set(&self, connection: &mut Connection<'_>) -> Result<String, SystemError> {
        let (namespace, set) = (&self.table.namespace, self.table.schema.table());
        connection.info("look for the set", &format!("sets/{namespace}/{set}"))
    }

    fn objects(&self, connection: &mut Connection<'_>) -> Result<u64, SystemError> {
        let set = self.set(connection)?;
        Ok(number(&set, "objects").unwrap_or(0))
    }

    /// Refuses a namespace that promises less than was asked for.
    fn check_durability(&self, namespace: &str) -> Result<(), SystemError> {
        let is = |name, value| pair(namespace, name) == Some(value);
        let engine = pair(namespace, "storage-engine").unwrap_or("an unknown one");
        // Memory may have files behind it, which are written as a device is.
        let backed = engine != "memory"
            || namespace.contains("storage-engine.file[")
            || namespace.contains("storage-engine.device[");
        let kept = match self.durability {
            Durability::None => true,
            Durability::Buffered => backed,
            Durability::Synced => backed && is("storage-engine.commit-to-device", "true"),
        };
        if kept {
            return Ok(());
        }
        let level = self.durability;
        let takes = super::capabilities("bins").durability_setting(level).unwrap_or_default();
        let why = format!(
            "durability '{level}' takes '{takes}', and the storage engine of the namespace is \
             {engine} with less: start it so, or ask for a weaker level"
        );
        Err(self.server.failed("prepare the table", why))
    }
}

fn number(text: &str, name: &str) -> Option<u64> {
    pair(text, name)?.parse().ok()
}

impl System for Aerospike {
    fn prepare(&self) -> Result<(), SystemError> {
        let name = self.table.schema.table();
        let already_there = |what| SystemError::AlreadyThere {
            system: DRIVER.name.into(),
            what,
            next: REMOVE_OR_RENAME,
        };
        if self.prepared.load(Ordering::SeqCst) {
            return Err(already_there(format!("the set '{name}'")));
        }
        let mut connection = Connection::open(&self.server)?;
        let namespace = self.namespace(&mut connection)?;
        self.check_durability(&namespace)?;
        let objects = self.objects(&mut connection)?;
        if objects > 0 {
            let s = if objects == 1 { "" } else { "s" };
            return Err(already_there(format!("the set '{name}' with {objects} record{s}")));
        }
        self.prepared.store(true, Ordering::SeqCst);
        Ok(())
    }

    fn loader(&self) -> Result<Box<dyn Loader + '_>, SystemError> {
        Ok(Box::new(PipelineLoader::new(&self.server, &self.table)?))
    }

    fn connect(&self) -> Result<Client, SystemError> {
        let socket = Connection::open(&self.server)?.into_socket()?;
        let codec = Box::new(AerospikeCodec::new(Arc::clone(&self.table)));
        Ok(Client::Wire(WireClient { socket, codec }))
    }

    fn count(&self) -> Result<u64, SystemError> {
        self.objects(&mut Connection::open(&self.server)?)
    }

    /// The set's `data_used_bytes`: its records in their storage, and 64 bytes of each in the primary
    /// index, which is in memory.
    fn footprint(&self) -> Result<Footprint, SystemError> {
        const INDEX_BYTES: u64 = 64;
        let mut connection = Connection::open(&self.server)?;
        let namespace = self.namespace(&mut connection)?;
        let set = self.set(&mut connection)?;
        let stored = number(&set, "data_used_bytes");
        let index = number(&set, "objects").map(|objects| objects * INDEX_BYTES);
        if pair(&namespace, "storage-engine") == Some("memory") {
            let memory_bytes = stored.zip(index).map(|(stored, index)| stored + index);
            return Ok(Footprint { disk_bytes: None, memory_bytes });
        }
        Ok(Footprint { disk_bytes: stored, memory_bytes: index })
    }

    fn identity(&self) -> Result<Identity, SystemError> {
        let mut connection = Connection::open(&self.server)?;
        let edition = connection.info("tell its edition", "edition")?;
        let build = connection.info("tell its version", "build")?;
        let namespace = self.namespace(&mut connection)?;
        let mut settings = vec![("namespace".to_owned(), self.table.namespace.clone())];
        settings.extend(
            SHOWN
                .iter()
                .filter_map(|name| Some(((*name).to_owned(), pair(&namespace, name)?.to_owned()))),
        );
        Ok(Identity { version: format!("{edition} {build}"), settings })
    }

    /// Truncates the set, which had no records when the table was made.
    fn remove(&self) -> Result<(), SystemError> {
        if !self.prepared.load(Ordering::SeqCst) {
            return Ok(());
        }
        let action = "remove the records";
        let mut connection = Connection::open(&self.server)?;
        let (namespace, set) = (&self.table.namespace, self.table.schema.table());
        // The server drops what was last written before this moment by its clock, in milliseconds.
        thread::sleep(Duration::from_millis(2));
        let command = format!("truncate:namespace={namespace};set={set}");
        let answer = connection.info(action, &command)?;
        if !answer.eq_ignore_ascii_case("ok") {
            return Err(self.server.failed(action, answer));
        }
        let end = Instant::now() + TRUNCATE_LIMIT;
        while self.objects(&mut connection)? > 0 {
            if Instant::now() >= end {
                return Err(self.server.failed(action, "they are still there"));
            }
            thread::sleep(TRUNCATE_POLL);
        }
        self.prepared.store(false, Ordering::SeqCst);
        Ok(())
    }
}
