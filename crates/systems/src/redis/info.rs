//! What a server tells of itself: its settings and `INFO`.

use std::{
    thread,
    time::{Duration, Instant},
};

use assay_model::Durability;

use super::{
    Server,
    connection::{Connection, Reply},
};
use crate::{Footprint, SystemError};

/// The longest that is waited for what the server does in the background: a rewrite of the log, a
/// snapshot, the freeing of memory.
const SETTLE_LIMIT: Duration = Duration::from_secs(120);
const SETTLE_POLL: Duration = Duration::from_millis(20);

/// The server's settings that bear on a result.
pub(super) const SETTINGS: [&str; 8] = [
    "appendonly",
    "appendfsync",
    "save",
    "maxmemory",
    "maxmemory-policy",
    "io-threads",
    "hash-max-listpack-entries",
    "hash-max-listpack-value",
];

/// Refuses a server that promises less than was asked for. A server that does not show its settings is
/// believed.
pub(super) fn check_durability(
    server: &Server,
    durability: Durability,
    connection: &mut Connection<'_>,
) -> Result<(), SystemError> {
    let is = |connection: &mut Connection<'_>, name, wanted: &[u8]| {
        config(connection, name).map(|value| value.is_none_or(|value| value == wanted))
    };
    let kept = match durability {
        Durability::None => true,
        Durability::Buffered => is(connection, "appendonly", b"yes")?,
        Durability::Synced => {
            is(connection, "appendonly", b"yes")? && is(connection, "appendfsync", b"always")?
        }
    };
    if kept {
        return Ok(());
    }
    let setting = super::capabilities("hash").durability_setting(durability).unwrap_or_default();
    let why = format!(
        "durability '{durability}' takes '{setting}' and the server runs with less: start it so, or ask \
         for a weaker level"
    );
    Err(server.failed("prepare the table", why))
}

/// What the server's data takes: its `used_memory`, and the size of its append-only file.
pub(super) fn usage(connection: &mut Connection<'_>) -> Result<Footprint, SystemError> {
    let memory = Info::read(connection, b"memory")?.number("used_memory");
    let persistence = Info::read(connection, b"persistence")?;
    let logged = persistence.number("aof_enabled") == Some(1);
    let disk = persistence.number("aof_current_size").filter(|_| logged);
    Ok(Footprint { disk_bytes: disk, memory_bytes: memory })
}

/// Waits until each of these numbers in a section of what `INFO` tells is 0, if it tells it.
pub(super) fn wait_while(
    connection: &mut Connection<'_>,
    section: &[u8],
    busy: &[&str],
) -> Result<(), SystemError> {
    let end = Instant::now() + SETTLE_LIMIT;
    loop {
        let info = Info::read(connection, section)?;
        let working = busy.iter().any(|name| info.number(name).unwrap_or(0) > 0);
        if !working || Instant::now() > end {
            return Ok(());
        }
        thread::sleep(SETTLE_POLL);
    }
}

/// A setting of the server; `None` if it has no such setting or does not show it.
pub(super) fn config(
    connection: &mut Connection<'_>,
    name: &str,
) -> Result<Option<Vec<u8>>, SystemError> {
    match connection.command("read the settings", &[b"CONFIG", b"GET", name.as_bytes()])? {
        Reply::Array(pair) => Ok(pair.get(1).and_then(Reply::text).map(<[u8]>::to_vec)),
        _ => Ok(None),
    }
}

/// A section of what `INFO` tells.
pub(super) struct Info(String);

impl Info {
    pub(super) fn read(
        connection: &mut Connection<'_>,
        section: &[u8],
    ) -> Result<Info, SystemError> {
        let reply = connection.command("read INFO", &[b"INFO", section])?;
        Ok(Info(String::from_utf8_lossy(reply.text().unwrap_or_default()).into_owned()))
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut lines = self.0.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.trim().parse().ok()
    }

    /// Product and version. Valkey tells its own beside the Redis version that it serves.
    pub(super) fn version(&self) -> String {
        match (self.get("valkey_version"), self.get("redis_version")) {
            (Some(version), _) => format!("Valkey {version}"),
            (None, Some(version)) => format!("Redis {version}"),
            (None, None) => "unknown".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn info_tells_product_and_version() {
        let valkey = Info("# Server\r\nredis_version:7.2.4\r\nvalkey_version:9.1.2\r\n".into());
        assert_eq!(valkey.version(), "Valkey 9.1.2");
        let redis = Info("# Server\r\nredis_version:7.0.15\r\nused_memory:12\r\n".into());
        assert_eq!(redis.version(), "Redis 7.0.15");
        assert_eq!(redis.number("used_memory"), Some(12));
        assert_eq!(redis.number("used"), None);
    }
}
