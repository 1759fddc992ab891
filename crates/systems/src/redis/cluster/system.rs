//! The table on a cluster: made, measured, identified and removed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_model::{Address, Durability};

use super::{
    super::{
        Server,
        apart::Scripts,
        codec_over_nodes,
        connection::{Connection, Reply},
        info::{Info, SETTINGS, check_durability, config, usage, wait_while},
        resp,
        slots::{Map, Shared},
        table::Table,
    },
    OTHER_CLUSTER, OTHER_SERVERS,
    fleet::{Fleet, server_at},
    loader::FleetLoader,
    router::{Preamble, Router},
};
use crate::{
    Client, Footprint, Identity, Loader, System, SystemError, WireClient, bundle::Bundle,
    socket::Socket,
};

/// How many keys `remove` takes at a time.
const PAGE: usize = 1000;

/// The settings of a node that bear on a result, beside those of one server.
const OF_NODES: [&str; 3] =
    ["cluster-node-timeout", "cluster-require-full-coverage", "repl-diskless-sync-delay"];

/// A table on a cluster.
pub(super) struct Cluster {
    /// The node that was named: the others of a cluster are found through it.
    server: Server,
    kind: Kind,
    table: Arc<Table>,
    durability: Durability,
    /// The newest map; `None` before the first.
    shared: Mutex<Option<Arc<Shared>>>,
    baseline: Mutex<Option<Baseline>>,
}

/// How the nodes belong together.
pub(super) enum Kind {
    /// They are a cluster, and tell who has which slot.
    Cluster,
    /// They do not know of each other: all of them, between which the client divides the slots.
    Instances(Vec<Address>),
}

/// What was in the cluster before the table.
#[derive(Clone, Copy, Default)]
struct Baseline {
    keys: u64,
    memory_bytes: u64,
    log_bytes: u64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cluster {
    pub(super) fn new(server: Server, kind: Kind, table: Table, durability: Durability) -> Cluster {
        Cluster {
            server,
            kind,
            table: Arc::new(table),
            durability,
            shared: Mutex::new(None),
            baseline: Mutex::new(None),
        }
    }

    /// The map that all clients share, read from a node if there is none yet.
    fn shared(&self) -> Result<Arc<Shared>, SystemError> {
        let mut shared = locked(&self.shared);
        if let Some(shared) = &*shared {
            return Ok(Arc::clone(shared));
        }
        let map = match &self.kind {
            Kind::Cluster => Shared::new(self.read_map(&Map::empty())?),
            Kind::Instances(servers) => {
                // Nobody has told of them: each has to answer once before a client relies on it.
                for address in servers {
                    Connection::open(server_at(&self.server, address))?;
                }
                Shared::fixed(Map::spread(servers))
            }
        };
        Ok(Arc::clone(shared.insert(Arc::new(map))))
    }

    /// Reads the map anew: nodes may have changed places since.
    fn refresh(&self) -> Result<Arc<Map>, SystemError> {
        let shared = self.shared()?;
        if shared.is_fixed() {
            return Ok(shared.map());
        }
        let map = self.read_map(&shared.map())?;
        Ok(shared.publish(map))
    }

    /// The map as the first node tells it that answers: the one that was named, or one of `known`.
    fn read_map(&self, known: &Map) -> Result<Map, SystemError> {
        let mut first = None;
        let known_nodes = known.nodes().iter().chain(known.replicas());
        for address in [&self.server.endpoint.address].into_iter().chain(known_nodes) {
            match self.read_map_from(address, known) {
                Ok(map) => return Ok(map),
                Err(error) => first = first.or(Some(error)),
            }
        }
        Err(first.unwrap_or_else(|| self.server.unreachable("it has no address")))
    }

    fn read_map_from(&self, address: &Address, known: &Map) -> Result<Map, SystemError> {
        const ACTION: &str = "read the map of the cluster";
        let mut connection = Connection::open(server_at(&self.server, address))?;
        let name = self.server.name;
        if Info::read(&mut connection, b"cluster")?.number("cluster_enabled") == Some(0) {
            let one = name.trim_end_matches("-cluster");
            let why = format!(
                "the server at {address} is not in cluster mode: use the system '{one}', or give the \
                 address of a server that runs with 'cluster-enabled yes'"
            );
            return Err(self.server.failed(ACTION, why));
        }
        let reply = connection.bytes(ACTION, &[b"CLUSTER", b"SLOTS"])?;
        let map = known.read(&reply, address);
        let map = map.ok_or_else(|| {
            self.server.failed(ACTION, "it sent something that is no map of slots")
        })?;
        if map.unowned() > 0 {
            let why = format!(
                "{} of its 16384 slots have no node: give them out ('CLUSTER ADDSLOTSRANGE'), or use \
                 another cluster",
                map.unowned()
            );
            return Err(self.server.failed(ACTION, why));
        }
        Ok(map)
    }

    /// Connections to the nodes as they are now.
    fn fleet(&self) -> Result<Fleet, SystemError> {
        Ok(Fleet::new(&self.server, self.refresh()?))
    }

    fn baseline(&self) -> MutexGuard<'_, Option<Baseline>> {
        locked(&self.baseline)
    }

    fn already_there(&self, what: String) -> SystemError {
        let next = match self.kind {
            Kind::Cluster => OTHER_CLUSTER,
            Kind::Instances(_) => OTHER_SERVERS,
        };
        SystemError::AlreadyThere { system: self.server.name.into(), what, next }
    }

    /// Refuses what cannot be one of several servers that do not know of each other: a node of a cluster,
    /// and a server that two addresses lead to.
    fn check_instances(&self) -> Result<(), SystemError> {
        const ACTION: &str = "look at the servers";
        let name = self.server.name;
        let mut seen: Vec<(String, Address)> = Vec::new();
        self.each_node(|connection, address| {
            if Info::read(connection, b"cluster")?.number("cluster_enabled") == Some(1) {
                let cluster = name.replace("-instances", "-cluster");
                let why = format!(
                    "the server at {address} is in cluster mode: use the system '{cluster}', or give \
                     the addresses of servers with 'cluster-enabled no'"
                );
                return Err(self.server.failed(ACTION, why));
            }
            let id = Info::read(connection, b"server")?.get("run_id").unwrap_or_default().to_owned();
            if let Some((_, other)) = seen.iter().find(|(other, _)| *other == id && !id.is_empty()) {
                let why = format!("{other} and {address} are one server: name each once");
                return Err(self.server.failed(ACTION, why));
            }
            seen.push((id, address.clone()));
            Ok(())
        })
    }

    /// Calls `ask` with a connection to each node, masters first, and its address.
    fn each_node(
        &self,
        mut ask: impl FnMut(&mut Connection<'_>, &Address) -> Result<(), SystemError>,
    ) -> Result<(), SystemError> {
        let map = self.refresh()?;
        let masters = map.masters();
        let masters = masters.iter().map(|node| &map.nodes()[usize::from(*node)]);
        for address in masters.chain(map.replicas()) {
            ask(&mut Connection::open(server_at(&self.server, address))?, address)?;
        }
        Ok(())
    }

    /// What the nodes' data takes, replicas included.
    fn usage(&self) -> Result<Footprint, SystemError> {
        let mut sum = Footprint::default();
        let add = |sum: Option<u64>, more: Option<u64>| match (sum, more) {
            (Some(sum), Some(more)) => Some(sum + more),
            (sum, more) => sum.or(more),
        };
        self.each_node(|connection, _| {
            let usage = usage(connection)?;
            sum.disk_bytes = add(sum.disk_bytes, usage.disk_bytes);
            sum.memory_bytes = add(sum.memory_bytes, usage.memory_bytes);
            Ok(())
        })?;
        Ok(sum)
    }

    fn key_count(&self, fleet: &mut Fleet) -> Result<u64, SystemError> {
        let mut keys = 0;
        for node in fleet.masters() {
            keys += fleet.node(node)?.number("count the keys", &[b"DBSIZE"])?;
        }
        Ok(keys)
    }

    fn check_empty(&self, fleet: &mut Fleet, keys: u64) -> Result<(), SystemError> {
        if !self.table.indexed() {
            if keys == 0 {
                return Ok(());
            }
            let s = if keys == 1 { "" } else { "s" };
            return Err(self.already_there(format!(
                "{keys} key{s}, and a table without an index of all keys needs {} to itself",
                match self.kind {
                    Kind::Cluster => "a cluster",
                    Kind::Instances(_) => "its servers",
                }
            )));
        }
        for key in self.table.own_keys() {
            if fleet.of(&key)?.number("look for existing keys", &[b"EXISTS", &key])? > 0 {
                let name = String::from_utf8_lossy(&key).into_owned();
                return Err(self.already_there(format!("the key '{name}', which orders a table")));
            }
        }
        Ok(())
    }

    /// The records that the set of all keys names, page by page.
    fn remove_indexed(&self, fleet: &mut Fleet) -> Result<(), SystemError> {
        let action = "remove the records";
        let index = &self.table.index;
        let end = (PAGE - 1).to_string();
        loop {
            let range: [&[u8]; 4] = [b"ZRANGE", index, b"0", end.as_bytes()];
            let page = match fleet.of(index)?.expect(action, &range)? {
                Reply::Array(keys) if !keys.is_empty() => keys,
                _ => return Ok(()),
            };
            for key in page.iter().filter_map(Reply::text) {
                fleet.ask(&[b"UNLINK", key])?;
            }
            fleet.flush_sum(action)?;
            let taken: [&[u8]; 4] = [b"ZREMRANGEBYRANK", index, b"0", end.as_bytes()];
            fleet.of(index)?.expect(action, &taken)?;
        }
    }

    /// What a client's connections begin with, and what brings the scripts.
    fn preamble(&self) -> Preamble {
        let endpoint = &self.server.endpoint;
        let mut preamble = Preamble::default();
        if let Some(password) = &endpoint.password {
            let user = endpoint.user.as_ref().map(String::as_bytes);
            let words = [Some(&b"AUTH"[..]), user, Some(password.reveal().as_bytes())];
            let words: Vec<&[u8]> = words.into_iter().flatten().collect();
            resp::request(&words, &mut preamble.login);
        }
        if self.table.has_indexes() {
            preamble.scripts = Scripts::load_commands();
        }
        preamble
    }
}

impl System for Cluster {
    fn prepare(&self) -> Result<(), SystemError> {
        let mut baseline = self.baseline();
        if baseline.is_some() {
            return Err(self.already_there("the table".into()));
        }
        if let Kind::Instances(_) = self.kind {
            self.check_instances()?;
        }
        let mut fleet = self.fleet()?;
        let keys = self.key_count(&mut fleet)?;
        self.check_empty(&mut fleet, keys)?;
        self.each_node(|connection, address| {
            check_durability(&server_at(&self.server, address), self.durability, connection)
        })?;
        let usage = self.usage()?;
        *baseline = Some(Baseline {
            keys,
            memory_bytes: usage.memory_bytes.unwrap_or(0),
            log_bytes: usage.disk_bytes.unwrap_or(0),
        });
        Ok(())
    }

    fn loader(&self) -> Result<Box<dyn Loader + '_>, SystemError> {
        let guarded = self.baseline().is_none_or(|baseline| baseline.keys > 0);
        Ok(Box::new(FleetLoader::new(self.fleet()?, &self.table, self.server.name, guarded)))
    }

    fn settle(&self) -> Result<(), SystemError> {
        let busy = ["aof_rewrite_in_progress", "aof_rewrite_scheduled", "rdb_bgsave_in_progress"];
        self.each_node(|connection, _| {
            wait_while(connection, b"replication", &["master_sync_in_progress"])?;
            wait_while(connection, b"persistence", &busy)
        })
    }

    /// Connects to no node yet: that happens when a client first has something to say to it, and again
    /// after a node was lost, without waiting for those that do not answer.
    fn connect(&self) -> Result<Client, SystemError> {
        let shared = self.shared()?;
        let map = shared.map();
        let bundle = Bundle::new(map.nodes().iter().cloned());
        let bundle = bundle.map_err(|error| self.server.unreachable(error.to_string()))?;
        let socket = Socket::Bundle(Box::new(bundle));
        socket
            .set_timeout(Some(self.server.timeout))
            .map_err(|error| self.server.unreachable(error.to_string()))?;
        let codec = codec_over_nodes(Arc::clone(&self.table));
        let codec = Box::new(Router::new(codec, Arc::new(self.preamble()), shared, map));
        Ok(Client::Wire(WireClient { socket, codec }))
    }

    fn count(&self) -> Result<u64, SystemError> {
        let mut fleet = self.fleet()?;
        if self.table.indexed() {
            let index = &self.table.index;
            return fleet.of(index)?.number("count the records", &[b"ZCARD", index]);
        }
        let keys = self.key_count(&mut fleet)?;
        if !self.table.has_indexes() {
            return Ok(keys);
        }
        for key in self.table.own_keys().into_iter().chain(self.table.counters()) {
            fleet.ask(&[b"EXISTS", &key])?;
        }
        Ok(keys.saturating_sub(fleet.flush_sum("count the records")?))
    }

    /// Each the sum over all nodes, replicas included, less what it was before the table.
    fn footprint(&self) -> Result<Footprint, SystemError> {
        let before = self.baseline().unwrap_or_default();
        let now = self.usage()?;
        Ok(Footprint {
            disk_bytes: now.disk_bytes.map(|bytes| bytes.saturating_sub(before.log_bytes)),
            memory_bytes: now.memory_bytes.map(|bytes| bytes.saturating_sub(before.memory_bytes)),
        })
    }

    /// Of all nodes; where one differs from the first, it is named.
    fn identity(&self) -> Result<Identity, SystemError> {
        let map = self.refresh()?;
        let mut version = String::new();
        let masters = map.masters().len().to_string();
        let (mode, of_nodes, mut settings) = match self.kind {
            Kind::Cluster => {
                let replicas = ("cluster-replicas".to_owned(), map.replicas().len().to_string());
                ("cluster", &OF_NODES[..], vec![("cluster-masters".to_owned(), masters), replicas])
            }
            Kind::Instances(_) => ("instances", &[][..], vec![("instances".to_owned(), masters)]),
        };
        let own = settings.len();
        let mut first = true;
        self.each_node(|connection, address| {
            let mut found = Vec::new();
            for name in SETTINGS.iter().chain(of_nodes) {
                if let Some(value) = config(connection, name)? {
                    found.push(((*name).to_owned(), String::from_utf8_lossy(&value).into_owned()));
                }
            }
            let memory = Info::read(connection, b"memory")?;
            found.extend(memory.get("mem_allocator").map(|v| ("mem_allocator".into(), v.into())));
            let told = Info::read(connection, b"server")?.version();
            if std::mem::take(&mut first) {
                (version, settings) = (told, settings.iter().cloned().chain(found).collect());
                return Ok(());
            }
            if !version.starts_with(&told) {
                version.push_str(&format!(" ({address}: {told})"));
            }
            for (name, value) in &mut settings[own..] {
                let here = found.iter().find(|(other, _)| other == name);
                let here = here.map_or("not shown", |(_, value)| value);
                if value.split(" (").next() != Some(here) {
                    value.push_str(&format!(" ({address}: {here})"));
                }
            }
            Ok(())
        })?;
        settings.push(("mode".into(), mode.into()));
        Ok(Identity { version, settings })
    }

    /// With the sorted set of all keys: the records it names, the secondary indexes, and the set itself.
    /// Otherwise all keys of the cluster, which was empty when the table was made.
    fn remove(&self) -> Result<(), SystemError> {
        let mut baseline = self.baseline();
        if baseline.is_none() {
            return Ok(());
        }
        let mut fleet = self.fleet()?;
        if self.table.indexed() {
            // The set of all keys goes last: while there is any of the rest, it tells of a table.
            for key in self.table.own_keys().into_iter().skip(1).chain(self.table.counters()) {
                fleet.ask(&[b"UNLINK", &key])?;
            }
            fleet.flush_sum("remove the indexes")?;
            self.remove_indexed(&mut fleet)?;
        } else {
            for node in fleet.masters() {
                fleet.node(node)?.expect("empty the database", &[b"FLUSHDB"])?;
            }
        }
        *baseline = None;
        // The memory is freed behind the commands, and the next table is measured by what is used.
        for node in fleet.masters() {
            wait_while(fleet.node(node)?, b"memory", &["lazyfree_pending_objects"])?;
        }
        Ok(())
    }
}
