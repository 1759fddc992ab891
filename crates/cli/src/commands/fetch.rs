//! `assay fetch`: gets servers and libraries from the package registries.

use std::{io::Write, process::ExitCode};

use anyhow::{Context, bail};
use assay_provision::{Folders, LIBRARIES, RECIPES};

use crate::{
    args::FetchArguments,
    mistake::mistaken,
    speech::{out, say, told},
};

/// Fetches each server or library named; one that fails does not keep the others from being fetched.
pub fn fetch(arguments: FetchArguments) -> anyhow::Result<ExitCode> {
    let folders = Folders::from_env();
    let mut failed = Vec::new();
    for name in &arguments.names {
        let progress = &mut |line: &str| say!("{name}: {line}");
        let fetched = if let Some(recipe) = assay_provision::recipe(name) {
            assay_provision::fetch(recipe, &folders, progress)
                .map(|server| (server.version, server.binary))
        } else if let Some(library) = assay_provision::library(name) {
            assay_provision::fetch_library(library, &folders, progress)
                .map(|library| (library.version.unwrap_or_default(), library.path))
        } else {
            let servers = RECIPES.iter().map(|recipe| recipe.name);
            let libraries = LIBRARIES.iter().map(|library| library.name);
            let known: Vec<_> = servers.chain(libraries).collect();
            mistaken!("there is no '{name}' to fetch: there are {}", known.join(", "));
        };
        match fetched.with_context(|| format!("cannot fetch {name}")) {
            Ok((version, path)) => writeln!(out(), "{name} {version} is in {}", path.display())?,
            Err(error) => {
                say!("assay: {}", told(&error));
                failed.push(name.as_str());
            }
        }
    }
    match failed.is_empty() {
        true => Ok(ExitCode::SUCCESS),
        false => bail!("not fetched: {}", failed.join(", ")),
    }
}
