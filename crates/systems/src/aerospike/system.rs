//! The table on a server: made, measured, identified and removed.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use assay_model::Durability;

use super::{
    DRIVER, Server,
    cluster::{self, server_at},
    codec::AerospikeCodec,
    connection::{Connection, pair},
    loader::PipelineLoader,
    partitions::{Map, Shared},
    router::Router,
    table::Table,
};
use crate::{
    Client, Footprint, Identity, Loader, System, SystemError, WireClient, bundle::Bundle,
    socket::Socket, system::REMOVE_OR_RENAME,
};

/// The longest that the server may take for what it does behind its answer, and how often it is asked.
const LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(5);

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
    /// The map of the cluster, once one was found.
    shared: Mutex<Option<Arc<Shared>>>,
}

impl Aerospike {
    pub(super) fn new(server: Server, table: Table, durability: Durability) -> Aerospike {
        let prepared = AtomicBool::new(false);
        Aerospike { server, table: Arc::new(table), durability, prepared, shared: Mutex::new(None) }
    }

    /// The map that clients share; `None` for a node that is alone, to which `connection` leads.
    fn shared(&self, connection: &Connection<'_>) -> Result<Option<Arc<Shared>>, SystemError> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.is_none() && connection.nodes > 1 {
            let map = cluster::read_map(&self.server, &self.table.namespace)?;
            let read = shared.insert(Arc::new(Shared::new(map)));
            cluster::watch(&self.server, &self.table.namespace, read);
        }
        Ok(shared.clone())
    }

    /// Calls `ask` with a connection to each node: the first is of the one that was named, if it is alone.
    fn each_node(
        &self,
        mut ask: impl FnMut(&mut Connection<'_>) -> Result<(), SystemError>,
    ) -> Result<(), SystemError> {
        let mut first = Connection::open(&self.server)?;
        let Some(shared) = self.shared(&first)? else { return ask(&mut first) };
        let map = shared.map();
        for (node, _) in map.owners() {
            let address = &map.nodes()[usize::from(node)].address;
            ask(&mut Connection::open_owned(server_at(&self.server, address))?)?;
        }
        Ok(())
    }

    /// Sums up what each node tells; `None` if one does not.
    fn sum(
        &self,
        mut tell: impl FnMut(&mut Connection<'_>) -> Result<Option<u64>, SystemError>,
    ) -> Result<Option<u64>, SystemError> {
        let mut sum = Some(0);
        self.each_node(|connection| {
            let told = tell(connection)?;
            sum = sum.zip(told).map(|(sum, more)| sum + more);
            Ok(())
        })?;
        Ok(sum)
    }

    /// The socket of a client to the nodes of a cluster, and its codec.
    fn client_of(&self, shared: Arc<Shared>) -> Result<Client, SystemError> {
        let map: Arc<Map> = shared.map();
        let addresses = map.nodes().iter().map(|node| node.address.clone());
        let bundle =
            Bundle::new(addresses).map_err(|error| self.server.failed("open a client", error))?;
        let socket = Socket::Bundle(Box::new(bundle));
        let limited = socket.set_timeout(Some(self.server.timeout));
        limited.map_err(|error| self.server.failed("open a client", error))?;
        let codec = AerospikeCodec::new(Arc::clone(&self.table));
        let codec = Box::new(Router::new(codec, shared, map));
        Ok(Client::Wire(WireClient { socket, codec }))
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

    /// How many records the set has, each counted as often as it is kept.
    fn objects(&self) -> Result<u64, SystemError> {
        let told = self.sum(|connection| {
            let set = self.set(connection)?;
            Ok(Some(number(&set, "objects").unwrap_or(0)))
        })?;
        Ok(told.unwrap_or(0))
    }

    /// Waits until no partition is on its way from one node to another.
    fn settle_partitions(&self) -> Result<(), SystemError> {
        self.wait_until("count the records", "partitions are still handed over", || {
            let moving = self.sum(|connection| {
                let told = connection.info("look for partitions that move", "statistics")?;
                Ok(number(&told, "migrate_partitions_remaining"))
            })?;
            Ok(moving.unwrap_or(0) == 0)
        })
    }

    /// Waits until `done`, or says what there is instead.
    fn wait_until(
        &self,
        action: &str,
        otherwise: &str,
        mut done: impl FnMut() -> Result<bool, SystemError>,
    ) -> Result<(), SystemError> {
        let end = Instant::now() + LIMIT;
        while !done()? {
            if Instant::now() >= end {
                return Err(self.server.failed(action, otherwise));
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    /// The answer to what all nodes have to agree on, as they may not in time when they have just found each
    /// other.
    fn order(
        &self,
        action: &str,
        command: &str,
        connection: &mut Connection<'_>,
    ) -> Result<String, SystemError> {
        let end = Instant::now() + LIMIT;
        loop {
            let answer = connection.info(action, command)?;
            if !answer.to_ascii_lowercase().contains("timeout") || Instant::now() >= end {
                return Ok(answer);
            }
        }
    }

    /// What the server tells of a field's index; an error's words if there is none.
    fn index(&self, field: u16, connection: &mut Connection<'_>) -> Result<String, SystemError> {
        let (namespace, name) = (&self.table.namespace, self.table.index(field));
        let command = format!("sindex-stat:ns={namespace};indexname={name}");
        connection.info("look at an index", &command)
    }

    /// Whether what every node tells of a field's index is so.
    fn each_index(&self, field: u16, is: impl Fn(&str) -> bool) -> Result<bool, SystemError> {
        let mut all = true;
        self.each_node(|connection| {
            all &= is(&self.index(field, connection)?);
            Ok(())
        })?;
        Ok(all)
    }

    /// Refuses a set that somebody has indexes on, and names of indexes that are taken.
    fn check_indexes(&self, connection: &mut Connection<'_>) -> Result<(), SystemError> {
        if !self.table.is_indexed() {
            return Ok(());
        }
        let list = format!("sindex-list:ns={}", self.table.namespace);
        let all = connection.info("list the indexes", &list)?;
        let names: Vec<String> =
            (0..self.table.schema.index_count()).map(|field| self.table.index(field)).collect();
        let taken = all.split(';').find(|index| {
            pair(index, "set") == Some(self.table.schema.table())
                || pair(index, "indexname").is_some_and(|name| names.iter().any(|own| own == name))
        });
        match taken.and_then(|index| pair(index, "indexname")) {
            None => Ok(()),
            Some(name) => Err(SystemError::AlreadyThere {
                system: DRIVER.name.into(),
                what: format!("the index '{name}'"),
                next: REMOVE_OR_RENAME,
            }),
        }
    }

    fn make_indexes(&self, connection: &mut Connection<'_>) -> Result<(), SystemError> {
        let action = "make an index";
        let (namespace, set) = (&self.table.namespace, self.table.schema.table());
        for field in 0..self.table.schema.index_count() {
            let (name, bin) = (self.table.index(field), self.table.schema.field_name(field));
            let command = format!(
                "sindex-create:ns={namespace};set={set};indexname={name};indexdata={bin},blob"
            );
            let answer = self.order(action, &command, connection)?;
            if !answer.eq_ignore_ascii_case("ok") {
                let why = format!("it answered '{answer}': indexes of bytes came with version 7.0");
                return Err(self.server.failed(action, why));
            }
            self.wait_until(action, "it is still not whole", || {
                self.each_index(field, |told| pair(told, "load_pct") == Some("100"))
            })?;
        }
        Ok(())
    }

    fn drop_indexes(&self, connection: &mut Connection<'_>) -> Result<(), SystemError> {
        let action = "remove an index";
        for field in 0..self.table.schema.index_count() {
            let (namespace, name) = (&self.table.namespace, self.table.index(field));
            let set = self.table.schema.table();
            let command = format!("sindex-delete:ns={namespace};set={set};indexname={name}");
            self.order(action, &command, connection)?;
            self.wait_until(action, "it is still there", || {
                self.each_index(field, |told| pair(told, "load_pct").is_none())
            })?;
        }
        Ok(())
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
        let mut connection = Connection::open(&self.server)?;
        if self.prepared.load(Ordering::SeqCst) {
            return Err(already_there(format!("the set '{name}'")));
        }
        self.each_node(|connection| self.check_durability(&self.namespace(connection)?))?;
        let objects = self.objects()?;
        if objects > 0 {
            let s = if objects == 1 { "" } else { "s" };
            return Err(already_there(format!("the set '{name}' with {objects} record{s}")));
        }
        self.check_indexes(&mut connection)?;
        self.prepared.store(true, Ordering::SeqCst);
        self.make_indexes(&mut connection).inspect_err(|_| {
            // Its own failure would hide why.
            let _ = self.drop_indexes(&mut connection);
            self.prepared.store(false, Ordering::SeqCst);
        })
    }

    fn loader(&self) -> Result<Box<dyn Loader + '_>, SystemError> {
        let connection = Connection::open(&self.server)?;
        let map = self.shared(&connection)?.map(|shared| shared.map());
        Ok(Box::new(PipelineLoader::new(&self.server, &self.table, connection, map)))
    }

    fn connect(&self) -> Result<Client, SystemError> {
        let known = self.shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(shared) = known {
            return self.client_of(shared);
        }
        let connection = Connection::open(&self.server)?;
        if let Some(shared) = self.shared(&connection)? {
            return self.client_of(shared);
        }
        let socket = connection.into_socket()?;
        let codec = Box::new(AerospikeCodec::new(Arc::clone(&self.table)));
        Ok(Client::Wire(WireClient { socket, codec }))
    }

    fn count(&self) -> Result<u64, SystemError> {
        let mut connection = Connection::open(&self.server)?;
        if self.shared(&connection)?.is_none() {
            return self.objects();
        }
        self.settle_partitions()?;
        let namespace = self.namespace(&mut connection)?;
        let copies = number(&namespace, "effective_replication_factor").unwrap_or(1).max(1);
        Ok(self.objects()? / copies)
    }

    /// The set's `data_used_bytes` on all nodes: its records in their storage; 64 bytes of each in the primary
    /// index, and what the secondary indexes take, which are in memory.
    fn footprint(&self) -> Result<Footprint, SystemError> {
        const INDEX_BYTES: u64 = 64;
        let mut in_memory = false;
        let stored = self.sum(|connection| {
            in_memory = pair(&self.namespace(connection)?, "storage-engine") == Some("memory");
            Ok(number(&self.set(connection)?, "data_used_bytes"))
        })?;
        let index = self.sum(|connection| {
            let objects = number(&self.set(connection)?, "objects");
            let mut bytes = objects.map(|objects| objects * INDEX_BYTES);
            for field in 0..self.table.schema.index_count() {
                let told = number(&self.index(field, connection)?, "used_bytes");
                bytes = bytes.zip(told).map(|(sum, more)| sum + more);
            }
            Ok(bytes)
        })?;
        if in_memory {
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
        if connection.nodes > 1 {
            settings.push(("nodes".to_owned(), connection.nodes.to_string()));
        }
        Ok(Identity { version: format!("{edition} {build}"), settings })
    }

    /// Truncates the set, which had no records when the table was made.
    fn remove(&self) -> Result<(), SystemError> {
        if !self.prepared.load(Ordering::SeqCst) {
            return Ok(());
        }
        let action = "remove the records";
        let mut connection = Connection::open(&self.server)?;
        self.drop_indexes(&mut connection)?;
        let (namespace, set) = (&self.table.namespace, self.table.schema.table());
        // The server drops what was last written before this moment by its clock, in milliseconds.
        thread::sleep(Duration::from_millis(2));
        let command = format!("truncate:namespace={namespace};set={set}");
        let answer = self.order(action, &command, &mut connection)?;
        if !answer.eq_ignore_ascii_case("ok") {
            return Err(self.server.failed(action, answer));
        }
        self.wait_until(action, "they are still there", || Ok(self.objects()? == 0))?;
        self.prepared.store(false, Ordering::SeqCst);
        Ok(())
    }
}
