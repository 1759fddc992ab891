//! The table on a server: made, measured, identified and removed.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use super::{
    DRIVER, Server,
    codec::MetaCodec,
    connection::{Connection, Stats},
    loader::PipelineLoader,
};
use crate::{Client, Footprint, Identity, Loader, System, SystemError, WireClient};

/// The longest that `remove` waits for the server to let go of the items it has invalidated.
const RECLAIM_LIMIT: Duration = Duration::from_secs(10);
const RECLAIM_POLL: Duration = Duration::from_millis(20);

/// The server's settings that bear on a result.
const SETTINGS: [&str; 5] =
    ["maxbytes", "evictions", "num_threads", "item_size_max", "lru_segmented"];

/// A server of which the table takes the whole.
pub(super) struct Memcached {
    server: Server,
    field_count: u16,
    prepared: AtomicBool,
}

impl Memcached {
    pub(super) fn new(server: Server, field_count: u16) -> Memcached {
        Memcached { server, field_count, prepared: AtomicBool::new(false) }
    }

    fn stats(&self) -> Result<Stats, SystemError> {
        Connection::open(&self.server)?.stats("stats")
    }

    fn number(&self, stats: &Stats, name: &str) -> Result<u64, SystemError> {
        stats.number(name).ok_or_else(|| {
            self.server.failed("read the statistics", format!("it does not tell '{name}'"))
        })
    }

    /// `flush_all` only marks the items as invalid; the crawler makes the server let go of them,
    /// so that it counts them no longer.
    fn reclaim(&self, connection: &mut Connection<'_>) -> Result<(), SystemError> {
        let end = Instant::now() + RECLAIM_LIMIT;
        while self.number(&connection.stats("stats")?, "curr_items")? > 0 && Instant::now() < end {
            // It may answer that it is busy, or disabled: then there is only the wait.
            connection.command("reclaim the records", "lru_crawler crawl all")?;
            thread::sleep(RECLAIM_POLL);
        }
        Ok(())
    }
}

impl System for Memcached {
    /// The server cannot list its keys, so it must be empty.
    fn prepare(&self) -> Result<(), SystemError> {
        let already_there = |what| SystemError::AlreadyThere {
            system: DRIVER.name.into(),
            what,
            next: "empty the server with flush_all, or leave the URL out and Assay starts one",
        };
        let items = self.number(&self.stats()?, "curr_items")?;
        if self.prepared.load(Ordering::SeqCst) {
            return Err(already_there("the table".into()));
        }
        if items > 0 {
            let s = if items == 1 { "" } else { "s" };
            return Err(already_there(format!(
                "{items} item{s}, and a table needs a server to itself"
            )));
        }
        self.prepared.store(true, Ordering::SeqCst);
        Ok(())
    }

    fn loader(&self) -> Result<Box<dyn Loader + '_>, SystemError> {
        Ok(Box::new(PipelineLoader::new(&self.server, self.field_count)?))
    }

    fn connect(&self) -> Result<Client, SystemError> {
        let socket = Connection::open(&self.server)?.into_socket()?;
        Ok(Client::Wire(WireClient { socket, codec: Box::new(MetaCodec::new(self.field_count)) }))
    }

    fn count(&self) -> Result<u64, SystemError> {
        self.number(&self.stats()?, "curr_items")
    }

    /// The server's `bytes`: its items with their headers, without the unused part of its slabs.
    fn footprint(&self) -> Result<Footprint, SystemError> {
        let bytes = self.number(&self.stats()?, "bytes")?;
        Ok(Footprint { disk_bytes: None, memory_bytes: Some(bytes) })
    }

    fn identity(&self) -> Result<Identity, SystemError> {
        let mut connection = Connection::open(&self.server)?;
        let version = connection.command("tell its version", "version")?;
        let version = version.strip_prefix("VERSION ").unwrap_or(&version);
        let stats = connection.stats("stats settings")?;
        let shown = |name: &&str| Some(((*name).to_owned(), stats.get(name)?.to_owned()));
        Ok(Identity {
            version: format!("Memcached {version}"),
            settings: SETTINGS.iter().filter_map(shown).collect(),
        })
    }

    /// Empties the server, which was empty when the table was made.
    fn remove(&self) -> Result<(), SystemError> {
        if !self.prepared.load(Ordering::SeqCst) {
            return Ok(());
        }
        let mut connection = Connection::open(&self.server)?;
        let answer = connection.command("remove the records", "flush_all")?;
        if answer != "OK" {
            return Err(self.server.failed("remove the records", answer));
        }
        self.reclaim(&mut connection)?;
        self.prepared.store(false, Ordering::SeqCst);
        Ok(())
    }
}
