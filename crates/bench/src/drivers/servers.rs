//! The servers whose drivers are measured, started as `assay run` starts them.

use std::path::{Path, PathBuf};

use anyhow::Context;
use assay_model::Durability;
use assay_provision::{Folders, Installed, Launch, Server, Transport};

use super::TIMEOUT;
use crate::stand;

/// The drivers that are measured. SecantusDB speaks MongoDB's protocol; what it takes itself is not
/// measured here.
pub const NAMES: &[&str] = &[
    "redis",
    "memcached",
    "postgres",
    "mariadb",
    "hyper",
    "monetdb",
    #[cfg(feature = "cassandra")]
    "cassandra",
    #[cfg(feature = "voltdb")]
    "voltdb",
    #[cfg(feature = "mongodb")]
    "secantusdb",
    #[cfg(feature = "aerospike")]
    "aerospike",
];

/// The layout that `name` is measured in.
pub fn layout(name: &str) -> &'static str {
    match name {
        "redis" => "hash-noindex",
        "memcached" => "value",
        "secantusdb" => "document",
        "voltdb" => "partitioned",
        "aerospike" => "bins",
        _ => "row",
    }
}

/// The file of the server `name`: its program, or the library that it is.
pub fn file(name: &str) -> anyhow::Result<PathBuf> {
    Ok(installed(name)?.binary)
}

fn installed(name: &str) -> anyhow::Result<Installed> {
    let recipe = assay_provision::recipe(name).with_context(|| format!("no recipe {name}"))?;
    Ok(assay_provision::require(recipe, &Folders::from_env())?)
}

/// Starts the server `name` below `folder`, on these cores.
pub fn start(name: &str, cores: &[usize], folder: &Path) -> anyhow::Result<Server> {
    Ok(assay_provision::start(Launch {
        installed: &installed(name)?,
        durability: Durability::None,
        transport: Transport::Tcp,
        settings: Default::default(),
        cpus: (!cores.is_empty()).then(|| cores.to_vec()),
        parent_folder: folder.to_path_buf(),
        warden: stand::warden(),
        ready_timeout: 6 * TIMEOUT,
    })?)
}
