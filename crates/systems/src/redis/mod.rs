//! `redis` and `valkey`: one driver, two registry lines, on a RESP2 codec of its own.
//!
//! Records are laid out in one of three ways:
//!
//! - `hash`: `HSET <key> <field> <value> …`, as YCSB's binding has it, and a sorted set of all keys.
//!   YCSB scores that set by a hash of the key, so its scans come in no order; here every score is
//!   0, which makes Redis order the set by its members' bytes, and scans come in key order. An
//!   insert is `HSET` and `ZADD` in one write; a scan is `ZRANGE … BYLEX` and then, in a second
//!   round trip, one `HGETALL` or `HGET` a record.
//! - `hash-noindex`: the hash alone; no scans.
//! - `string`: the whole record as one string in the crate's framing of records. Reads take `GET`
//!   and decode here; an update of every field is `SET … XX`; an update of some is `GET`, then
//!   `SET … XX`, and is not atomic.
//!
//! A secondary index of the `hash` layouts is one more sorted set, of the field's values each with the
//! record's key. A write of an indexed field must take the old value's entry away, so it is a script
//! on the server (`EVALSHA`): one round trip as before, where `WATCH`, a read and `MULTI` would be two
//! and more under contention. An insert and a delete of an indexed record are one script each, which
//! keeps the set of all keys as well. A lookup is `ZRANGE … BYLEX`, then the records, as a scan is; one that
//! has got another value since the index was read is left out.
//!
//! An insert overwrites a record that exists. An update by `HSET` would create one that does not:
//! the reply tells, the driver takes the fields away again and the outcome is `Missing`.

mod apart;
pub mod cluster;
#[cfg(test)]
mod codec_tests;
mod connection;
mod entries;
mod hash;
#[cfg(test)]
mod index_tests;
mod info;
mod loader;
mod records;
mod resp;
mod scripts;
mod slots;
mod string;
mod system;
mod table;

use std::sync::Arc;

use assay_model::{Capabilities, Durability, FailureKind, Outcome, Support};

use self::hash::Keeping;
use crate::{
    Codec, Driver, Layout, Opening, Place, SettingDoc, Step, System, SystemError, Verified,
    cache::Cache, link::Server,
};

/// What can be done about keys that are there already: there are no tables to name otherwise.
const OTHER_DATABASE: &str =
    "delete it, or name another database at the end of the URL, as in redis://HOST:PORT/1";

/// The records are all in memory, on one server and on several.
const CACHE: Cache = Cache::Unsized(
    "all its records are in memory, and maxmemory stays unset: with one it would refuse or drop \
             records",
);

/// The registry line of Redis.
pub static REDIS: Driver = Driver {
    name: "redis",
    summary: "Redis over its own protocol, RESP2",
    layouts: LAYOUTS,
    settings: SETTINGS,
    place: Place::Server { recipe: "redis", default_port: 6379 },
    verified: Verified::ByTests,
    cache: Some(CACHE),
    rests,
    capabilities,
    open: |opening| open("redis", opening),
};

/// The registry line of Valkey.
pub static VALKEY: Driver = Driver {
    name: "valkey",
    summary: "Valkey over its own protocol, RESP2",
    layouts: LAYOUTS,
    settings: SETTINGS,
    place: Place::Server { recipe: "valkey", default_port: 6379 },
    verified: Verified::ByTests,
    cache: Some(CACHE),
    rests,
    capabilities,
    open: |opening| open("valkey", opening),
};

const LAYOUTS: &[Layout] = &[
    Layout {
        name: "hash",
        summary: "a hash a record, and a sorted set of all keys for scans (two commands an insert)",
    },
    Layout { name: "hash-noindex", summary: "a hash a record, no scans" },
    Layout {
        name: "string",
        summary: "a string a record; reading one field reads all, updating some of several reads \
                  and rewrites the record (two round trips, not atomic); no scans",
    },
];

const SETTINGS: &[SettingDoc] = &[SettingDoc {
    name: "index",
    default: "_indices",
    summary: "layout hash: the key of the sorted set of all keys; the keys of indexes begin with it",
}];

const NO_INDEX: &str = "this layout keeps no ordered set of keys; the layout 'hash' does";

const NO_LOOKUP: &str = "the table has no secondary index of this field; the layouts 'hash' and \
                         'hash-noindex' keep those that a workload asks for";

/// An append-only file is flushed and rewritten behind the commands.
fn rests(durability: Durability) -> bool {
    durability == Durability::None
}

fn capabilities(layout: &str) -> Capabilities {
    Capabilities {
        scan: match layout {
            "hash" => Support::Emulated(
                "a sorted set of all keys, kept by every insert, gives the range; then each \
                 record is read by its key, in a second round trip",
            ),
            _ => Support::Unsupported(NO_INDEX),
        },
        lookup: match layout {
            "string" => Support::Unsupported(
                "this layout has no fields that the server could index; the layout 'hash' has",
            ),
            _ => Support::Emulated(
                "a sorted set of values and keys is the index, and a Lua script (EVALSHA) changes \
                 it together with the record; a lookup reads a range of it and then each record by \
                 its key, in a second round trip, without those that changed in between",
            ),
        },
        count: Support::Native,
        delete: Support::Native,
        durability: &[
            (Durability::None, "appendonly no, save ''"),
            (Durability::Buffered, "appendonly yes, appendfsync everysec"),
            (Durability::Synced, "appendonly yes, appendfsync always"),
        ],
        max_value_bytes: Some(512 << 20),
        max_key_bytes: Some(512 << 20),
    }
}

fn open(name: &'static str, opening: Opening) -> Result<Box<dyn System>, SystemError> {
    let endpoint = opening.target.server(name)?;
    let index = opening.settings.get("index").map_or("_indices", String::as_str);
    if index.is_empty() {
        return Err(SystemError::BadSetting {
            system: name.into(),
            setting: "index".into(),
            why: "the key of the sorted set cannot be empty".into(),
        });
    }
    let server = Server { name, endpoint, timeout: opening.timeout };
    let table = table::Table::new(opening.schema, &opening.layout, index);
    Ok(Box::new(system::Redis::new(server, table, opening.durability)))
}

/// The codec of one client of a table; `scripts` are there if it has secondary indexes.
fn codec_of(table: Arc<table::Table>, scripts: Option<scripts::Scripts>) -> Box<dyn Codec> {
    match table.shape {
        table::Shape::Hash { .. } => Box::new(hash::HashCodec::new(table, Keeping::from(scripts))),
        table::Shape::String => Box::new(string::StringCodec::new(table)),
    }
}

/// The codec of one client of a table whose sorted sets lie on other nodes than its records.
fn codec_over_nodes(table: Arc<table::Table>) -> Box<dyn Codec> {
    if !table.has_indexes() {
        return codec_of(table, None);
    }
    let keeping = Keeping::Apart(apart::Write::new());
    Box::new(hash::HashCodec::new(table, keeping))
}

/// A codec without a server.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn codec(layout: &str, schema: Arc<assay_model::Schema>) -> Box<dyn Codec> {
    let table = table::Table::new(schema, layout, "_indices");
    let scripts = (!table.sets.is_empty()).then(|| scripts::Scripts::known(b"write", b"delete"));
    codec_of(Arc::new(table), scripts)
}

/// The outcome of an operation that the server refused with `error`.
fn refused(error: &[u8]) -> Outcome {
    const SHOWN: usize = 300;
    let message = String::from_utf8_lossy(&error[..error.len().min(SHOWN)]);
    // Before Redis 7 a script's error has the command's inside.
    let full = message.starts_with("OOM ")
        || message.contains("-OOM ")
        || message.contains("No space left on device");
    let kind = if full { FailureKind::Full } else { FailureKind::Rejected };
    Outcome::failed(kind, message)
}

/// Hands the items of `input` to `take` until it names the operation's outcome, or says why the
/// item does not belong there.
fn decode_items(
    input: &[u8],
    mut take: impl FnMut(resp::Item<'_>) -> Result<Option<Outcome>, &'static str>,
) -> Step {
    let mut consumed = 0;
    let why = loop {
        match resp::item(&input[consumed..]) {
            Ok(None) => return Step::More { consumed },
            Err(why) => break why,
            Ok(Some((item, length))) => {
                consumed += length;
                match take(item) {
                    Ok(None) => {}
                    Ok(Some(outcome)) => return Step::Done { consumed, outcome },
                    Err(why) => break why,
                }
            }
        }
    };
    Step::Broken(Outcome::failed(FailureKind::Protocol, format!("the server sent {why}")))
}

/// Sent for an operation that there is no command for: it has an answer.
const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";

/// What is said of a reply of the wrong type.
const UNEXPECTED: &str = "a reply of another type than the command has";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_apart() {
        for (error, kind) in [
            (&b"OOM command not allowed when used memory > 'maxmemory'."[..], FailureKind::Full),
            (b"MISCONF Errors writing to the AOF file: No space left on device", FailureKind::Full),
            (
                b"ERR Error running script (call to f_c92e): @user_script:20: -OOM command not allowed",
                FailureKind::Full,
            ),
            (b"LOADING Redis is loading the dataset in memory", FailureKind::Rejected),
            (b"READONLY You can't write against a read only replica.", FailureKind::Rejected),
            (b"WRONGTYPE Operation against a key", FailureKind::Rejected),
        ] {
            assert_eq!(refused(error).failure_kind(), Some(kind));
        }
    }
}
