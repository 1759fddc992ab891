//! The servers whose drivers are measured, started as `assay run` starts them.

use std::path::Path;

use anyhow::Context;
use assay_model::Durability;
use assay_provision::{Folders, Launch, Server, Transport, Warden};

use super::TIMEOUT;

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

/// Starts the server `name` below `folder`.
pub fn start(
    name: &str,
    folders: &Folders,
    folder: &Path,
    warden: Warden,
) -> anyhow::Result<Server> {
    let recipe = assay_provision::recipe(name).with_context(|| format!("no recipe {name}"))?;
    let installed = assay_provision::require(recipe, folders)?;
    Ok(assay_provision::start(Launch {
        installed: &installed,
        durability: Durability::None,
        transport: Transport::Tcp,
        settings: Default::default(),
        cpus: None,
        parent_folder: folder.to_path_buf(),
        warden,
        ready_timeout: 6 * TIMEOUT,
    })?)
}
