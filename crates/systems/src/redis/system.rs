//! The table on a server: made, measured, identified and removed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_model::Durability;

use super::{
    Server, codec_of,
    connection::{Connection, Reply},
    info::{Info, SETTINGS, check_durability, config, usage, wait_while},
    loader::PipelineLoader,
    scripts::Scripts,
    table::Table,
};
use crate::{Client, Footprint, Identity, Loader, System, SystemError, WireClient};

/// The last of the keys that `remove` takes at a time.
const PAGE_END: &[u8] = b"999";
/// A table on a server.
pub(super) struct Redis {
    server: Server,
    table: Arc<Table>,
    durability: Durability,
    baseline: Mutex<Option<Baseline>>,
}

/// What was on the server before the table.
#[derive(Clone, Copy, Default)]
struct Baseline {
    keys: u64,
    memory_bytes: u64,
    log_bytes: u64,
}

impl Redis {
    pub(super) fn new(server: Server, table: Table, durability: Durability) -> Redis {
        Redis { server, table: Arc::new(table), durability, baseline: Mutex::new(None) }
    }

    fn connection(&self) -> Result<Connection<'_>, SystemError> {
        Connection::open(&self.server)
    }

    fn baseline(&self) -> MutexGuard<'_, Option<Baseline>> {
        self.baseline.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn already_there(&self, what: String) -> SystemError {
        SystemError::AlreadyThere {
            system: self.server.name.into(),
            what,
            next: super::OTHER_DATABASE,
        }
    }

    /// Refuses a cluster where commands and scripts take several keys at a time: those of a table
    /// lie in different slots.
    fn check_one_keyspace(&self, connection: &mut Connection<'_>) -> Result<(), SystemError> {
        let single = !self.table.indexed() && self.table.sets.is_empty();
        if single || Info::read(connection, b"cluster")?.number("cluster_enabled") != Some(1) {
            return Ok(());
        }
        let name = self.server.name;
        let why = format!(
            "it runs in cluster mode, where a record and the sorted sets that index it lie in \
             different slots: use the system '{name}-cluster', or give the address of a server with \
             'cluster-enabled no'"
        );
        Err(self.server.failed("prepare the table", why))
    }
}

impl System for Redis {
    fn prepare(&self) -> Result<(), SystemError> {
        let mut baseline = self.baseline();
        if baseline.is_some() {
            return Err(self.already_there("the table".into()));
        }
        let mut connection = self.connection()?;
        self.check_one_keyspace(&mut connection)?;
        let action = "look for existing keys";
        let keys = connection.number(action, &[b"DBSIZE"])?;
        if self.table.indexed() {
            for set in [&self.table.index].into_iter().chain(&self.table.sets) {
                if connection.number(action, &[b"EXISTS", set])? > 0 {
                    let name = String::from_utf8_lossy(set);
                    return Err(
                        self.already_there(format!("the key '{name}', which orders a table"))
                    );
                }
            }
        } else if keys > 0 {
            let s = if keys == 1 { "" } else { "s" };
            return Err(self.already_there(format!(
                "{keys} key{s}, and a table without an index of all keys needs a database to itself"
            )));
        }
        check_durability(&self.server, self.durability, &mut connection)?;
        let usage = usage(&mut connection)?;
        *baseline = Some(Baseline {
            keys,
            memory_bytes: usage.memory_bytes.unwrap_or(0),
            log_bytes: usage.disk_bytes.unwrap_or(0),
        });
        Ok(())
    }

    fn loader(&self) -> Result<Box<dyn Loader + '_>, SystemError> {
        let guarded = self.baseline().is_none_or(|baseline| baseline.keys > 0);
        let (connection, name) = (self.connection()?, self.server.name);
        Ok(Box::new(PipelineLoader::new(connection, &self.table, name, guarded)))
    }

    fn settle(&self) -> Result<(), SystemError> {
        let busy = ["aof_rewrite_in_progress", "aof_rewrite_scheduled", "rdb_bgsave_in_progress"];
        wait_while(&mut self.connection()?, b"persistence", &busy)
    }

    fn connect(&self) -> Result<Client, SystemError> {
        let mut connection = self.connection()?;
        let table = Arc::clone(&self.table);
        let scripts =
            if table.sets.is_empty() { None } else { Some(Scripts::load(&mut connection)?) };
        let socket = connection.into_socket()?;
        Ok(Client::Wire(WireClient { socket, codec: codec_of(table, scripts) }))
    }

    fn count(&self) -> Result<u64, SystemError> {
        let mut connection = self.connection()?;
        let action = "count the records";
        if self.table.indexed() {
            return connection.number(action, &[b"ZCARD", &self.table.index]);
        }
        let keys = connection.number(action, &[b"DBSIZE"])?;
        if self.table.sets.is_empty() {
            return Ok(keys);
        }
        let indexes = connection.number(action, &of_each(b"EXISTS", &self.table.sets))?;
        Ok(keys.saturating_sub(indexes))
    }

    /// The server's `used_memory` and the size of its append-only file, each less what it was
    /// before the table.
    fn footprint(&self) -> Result<Footprint, SystemError> {
        let before = self.baseline().unwrap_or_default();
        let now = usage(&mut self.connection()?)?;
        Ok(Footprint {
            disk_bytes: now.disk_bytes.map(|bytes| bytes.saturating_sub(before.log_bytes)),
            memory_bytes: now.memory_bytes.map(|bytes| bytes.saturating_sub(before.memory_bytes)),
        })
    }

    fn identity(&self) -> Result<Identity, SystemError> {
        let mut connection = self.connection()?;
        let mut settings = Vec::new();
        for name in SETTINGS {
            if let Some(value) = config(&mut connection, name)? {
                settings.push((name.to_owned(), String::from_utf8_lossy(&value).into_owned()));
            }
        }
        if settings.is_empty() {
            settings.push(("config".into(), "the server does not show it".into()));
        }
        let memory = Info::read(&mut connection, b"memory")?;
        settings.extend(memory.get("mem_allocator").map(|v| ("mem_allocator".into(), v.into())));
        let server = Info::read(&mut connection, b"server")?;
        // Valkey has its own name for it.
        let mode = server.get("redis_mode").or_else(|| server.get("server_mode"));
        settings.extend(mode.map(|v| ("mode".into(), v.into())));
        Ok(Identity { version: server.version(), settings })
    }

    /// With the sorted set of all keys: the records it names, the secondary indexes, and the set
    /// itself. Otherwise the database, which was empty when the table was made.
    fn remove(&self) -> Result<(), SystemError> {
        let mut baseline = self.baseline();
        if baseline.is_none() {
            return Ok(());
        }
        let mut connection = self.connection()?;
        if self.table.indexed() {
            // The set of all keys goes last: while there is any of the rest, it tells of a table.
            if !self.table.sets.is_empty() {
                let unlink = of_each(b"UNLINK", &self.table.sets);
                connection.expect("remove the indexes", &unlink)?;
            }
            remove_indexed(&mut connection, &self.table.index)?;
        } else {
            connection.expect("empty the database", &[b"FLUSHDB"])?;
        }
        *baseline = None;
        // The memory is freed behind the commands, and the next table is measured by what is used.
        wait_while(&mut connection, b"memory", &["lazyfree_pending_objects"])
    }
}

/// A command on several keys.
fn of_each<'a>(command: &'a [u8], keys: &'a [Vec<u8>]) -> Vec<&'a [u8]> {
    [command].into_iter().chain(keys.iter().map(Vec::as_slice)).collect()
}

fn remove_indexed(connection: &mut Connection<'_>, index: &[u8]) -> Result<(), SystemError> {
    let action = "remove the records";
    loop {
        let page = match connection.expect(action, &[b"ZRANGE", index, b"0", PAGE_END])? {
            Reply::Array(keys) if !keys.is_empty() => keys,
            _ => return Ok(()),
        };
        let mut unlink = vec![&b"UNLINK"[..]];
        unlink.extend(page.iter().filter_map(Reply::text));
        connection.expect(action, &unlink)?;
        connection.expect(action, &[b"ZREMRANGEBYRANK", index, b"0", PAGE_END])?;
    }
}
