//! `redis-cluster` and `valkey-cluster`: the layouts of [`redis`](super), with every record in the slot of
//! its key, and the sorted set of all keys and those of secondary indexes each in a slot of its own.
//!
//! - [`router`] is the codec of a client: the codec of one server, its commands sent to the nodes that
//!   have their keys, its replies put back in order. [`bundle`](crate::bundle) is its sockets.
//! - [`system`] makes, measures, identifies and removes the table over a [`fleet`] of connections.
//! - [`slots`](super::slots) is the map of slots.
//! - [`super::apart`] keeps indexes that lie on other nodes than their records.

mod fleet;
pub mod instances;
mod loader;
pub(super) mod router;
#[cfg(test)]
mod router_tests;
mod system;

use assay_model::{Capabilities, Durability, Support};

use super::{CACHE, LAYOUTS, SETTINGS, Server, table};
use crate::{Driver, Opening, Place, System, SystemError, Verified};

/// What can be done about keys that are there already: a cluster has one database.
const OTHER_CLUSTER: &str =
    "delete it, use another cluster, or leave the URL out and Assay starts one";

/// The same of servers that do not know of each other.
const OTHER_SERVERS: &str =
    "delete it, use other servers, or leave the URL out and Assay starts them";

/// The registry line of Redis Cluster.
pub static REDIS: Driver = Driver {
    name: "redis-cluster",
    summary: "Redis Cluster over its own protocol, RESP2, a socket a client to each master",
    layouts: LAYOUTS,
    settings: SETTINGS,
    place: Place::Server { recipe: "redis-cluster", default_port: 6379 },
    verified: Verified::ByTests,
    cache: Some(CACHE),
    rests,
    capabilities,
    open: |opening| open("redis-cluster", opening),
};

/// The registry line of Valkey Cluster.
pub static VALKEY: Driver = Driver {
    name: "valkey-cluster",
    summary: "Valkey Cluster over its own protocol, RESP2, a socket a client to each master",
    layouts: LAYOUTS,
    settings: SETTINGS,
    place: Place::Server { recipe: "valkey-cluster", default_port: 6379 },
    verified: Verified::ByTests,
    cache: Some(CACHE),
    rests,
    capabilities,
    open: |opening| open("valkey-cluster", opening),
};

/// Nodes talk to each other, and replicas lag behind.
fn rests(_: Durability) -> bool {
    false
}

fn capabilities(layout: &str) -> Capabilities {
    let one_server = super::capabilities(layout);
    Capabilities {
        scan: match one_server.scan {
            Support::Emulated(_) => Support::Emulated(
                "a sorted set of all keys, on one node, gives the range; then each record is read by \
                 its key from the node that has it, in a second round trip; the set follows a write, \
                 and is not changed together with the record",
            ),
            other => other,
        },
        lookup: match one_server.lookup {
            Support::Emulated(_) => Support::Emulated(
                "a sorted set of values and keys, on one node, is the index, and follows each write of \
                 the record before that is acknowledged, in a second round trip; a lookup reads a range \
                 of it and then each record by its key, without those that changed in between",
            ),
            other => other,
        },
        ..one_server
    }
}

fn open(name: &'static str, opening: Opening) -> Result<Box<dyn System>, SystemError> {
    open_as(name, system::Kind::Cluster, opening)
}

fn open_as(
    name: &'static str,
    kind: system::Kind,
    opening: Opening,
) -> Result<Box<dyn System>, SystemError> {
    let mut endpoint = opening.target.server(name)?;
    let index = opening.settings.get("index").map_or("_indices", String::as_str);
    let refused = |setting: &str, why: &str| SystemError::BadSetting {
        system: name.into(),
        setting: setting.into(),
        why: why.into(),
    };
    if index.is_empty() || index.contains(['{', '}']) {
        let why = "the key of a sorted set is not empty, and without braces, which would bring the \
                   sets into one slot";
        return Err(refused("index", why));
    }
    if endpoint.database.take().is_some_and(|database| database != "0") {
        let action = "open the database";
        let why = "it is number 0 on every node: leave the number out of the URL".into();
        return Err(SystemError::Failed { system: name.into(), action: action.into(), why });
    }
    let server = Server { name, endpoint, timeout: opening.timeout };
    let table = table::Table::new(opening.schema, &opening.layout, index).over_nodes();
    Ok(Box::new(system::Cluster::new(server, kind, table, opening.durability)))
}

/// A codec without servers, of a client of three.
#[cfg(feature = "fuzzing")]
pub(crate) fn codec(
    layout: &str,
    schema: std::sync::Arc<assay_model::Schema>,
) -> Box<dyn crate::Codec> {
    use std::sync::Arc;

    let at = |port| assay_model::Address::Tcp { host: "127.0.0.1".into(), port };
    let shared =
        Arc::new(super::slots::Shared::new(super::slots::Map::spread(&[at(1), at(2), at(3)])));
    let table = shared_table(layout, &schema);
    let (codec, map) = (super::codec_over_nodes(table), shared.map());
    Box::new(router::Router::new(codec, Arc::default(), shared, map))
}

/// The table, which takes long to make and which all clients share.
#[cfg(feature = "fuzzing")]
fn shared_table(
    layout: &str,
    schema: &std::sync::Arc<assay_model::Schema>,
) -> std::sync::Arc<table::Table> {
    use std::sync::{Arc, Mutex, PoisonError};

    static MADE: Mutex<Vec<(String, Arc<table::Table>)>> = Mutex::new(Vec::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it =
        |(name, table): &&(String, Arc<table::Table>)| name == layout && table.schema == *schema;
    if let Some((_, table)) = made.iter().find(is_it) {
        return Arc::clone(table);
    }
    let table = table::Table::new(Arc::clone(schema), layout, "_indices").over_nodes();
    let table = Arc::new(table);
    made.push((layout.to_owned(), Arc::clone(&table)));
    table
}
