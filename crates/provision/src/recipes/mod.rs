//! The recipes, a module a family of products.

pub(crate) mod aerospike;
pub(crate) mod cassandra;
pub(crate) mod duckdb;
pub(crate) mod hyper;
pub(crate) mod memcached;
pub(crate) mod monetdb;
pub(crate) mod mongodb;
pub(crate) mod mysql;
pub(crate) mod postgres;
pub(crate) mod redis;
pub(crate) mod redis_cluster;
pub(crate) mod redis_instances;
pub(crate) mod riak;
pub(crate) mod rocksdb;
pub(crate) mod voltdb;

/// Where shared libraries lie; each may have one `*` for a part of a name.
const LIBRARY_FOLDERS: &[&str] = &[
    "/usr/local/lib",
    "/usr/local/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/lib/*-linux-gnu",
    "/opt/*/lib",
    "/home/linuxbrew/.linuxbrew/lib",
];

/// Why a setting that says where or how the server listens cannot be given.
const PLACE: &str = "Assay decides where a server it starts listens and keeps its files; attach to a server of \
     your own to have it otherwise";

/// Why a setting that bears on durability cannot be given.
const PROMISE: &str = "the durability level decides it; choose another level";

/// Why a setting that holds or needs a secret cannot be given.
const SECRET: &str = "a server that Assay starts has no passwords and no TLS; attach to a server of your own to \
     measure with them";
