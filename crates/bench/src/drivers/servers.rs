//! The servers whose drivers are measured, started as `assay run` starts them.

use std::path::Path;

use anyhow::Context;
use assay_model::Durability;
use assay_provision::{Folders, Launch, Server, Transport};

use super::TIMEOUT;
use crate::stand;

/// The drivers that are measured. SecantusDB speaks MongoDB's protocol; what it takes itself is not
/// measured here.
pub const NAMES: &[&str] = &[
    "redis",
    "memcached",
    "postgres",
    "mariadb",
    #[cfg(feature = "mongodb")]
    "secantusdb",
];

/// The layout that `name` is measured in.
pub fn layout(name: &str) -> &'static str {
    match name {
        "redis" => "hash-noindex",
        "memcached" => "value",
        "secantusdb" => "document",
        _ => "row",
    }
}

/// Starts the server `name` below `folder`, on these cores.
pub fn start(name: &str, cores: &[usize], folder: &Path) -> anyhow::Result<Server> {
    let recipe = assay_provision::recipe(name).with_context(|| format!("no recipe {name}"))?;
    let installed = assay_provision::require(recipe, &Folders::from_env())?;
    Ok(assay_provision::start(Launch {
        installed: &installed,
        durability: Durability::None,
        transport: Transport::Tcp,
        settings: Default::default(),
        cpus: (!cores.is_empty()).then(|| cores.to_vec()),
        parent_folder: folder.to_path_buf(),
        warden: stand::warden(),
        ready_timeout: 6 * TIMEOUT,
    })?)
}
