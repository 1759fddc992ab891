//! Codecs without their sockets, for the targets in `fuzz/`.

use std::sync::Arc;

use assay_model::Schema;

pub use crate::replay::{KeptRow, Replayed, replay};
use crate::{
    Codec, aerospike, cassandra, memcached, monetdb, mongodb, mysql, postgres, redis, riak, voltdb,
};

/// The codec that a client of `driver` has. `key` is the setting of that name, where the driver
/// has it.
///
/// # Panics
/// If the driver has no codec or the layout no such place for the key.
pub fn codec(driver: &str, layout: &str, key: &str, schema: Arc<Schema>) -> Box<dyn Codec> {
    match driver {
        "redis" | "valkey" => redis::codec(layout, schema),
        "redis-cluster" => redis::cluster::codec(layout, schema),
        "memcached" => memcached::codec(schema.field_count()),
        "postgres" => postgres::codec(layout, key, schema),
        "mariadb" | "mysql" => mysql::codec(layout, schema),
        "monetdb" => monetdb::codec(schema),
        "mongodb" => mongodb::codec(layout, schema),
        "aerospike" => aerospike::codec(schema),
        "cassandra" => cassandra::codec(layout, schema),
        "riak" => riak::codec(layout, schema),
        "voltdb" => voltdb::codec(layout, schema),
        other => panic!("{other} has no codec"),
    }
}
