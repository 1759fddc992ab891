//! Compressed archives, unpacked by tar.

use std::{fs, io::ErrorKind, path::Path, process::Command};

use crate::{
    command::{Finished, run_within},
    fetch::COMMAND_LIMIT,
};

/// Unpacks `tarball` into `folder`, and removes it.
pub(crate) fn unpack(
    tarball: &Path,
    folder: &Path,
    on_progress: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--gzip", "--no-same-owner", "--file"]).arg(tarball).current_dir(folder);
    let unpacked = run("tar", &mut tar, "install tar", on_progress)?;
    if !unpacked.status.success() {
        return Err(format!(
            "tar could not unpack {}: {}",
            tarball.display(),
            unpacked.last_words()
        ));
    }
    fs::remove_file(tarball).map_err(|error| format!("{}: {error}", tarball.display()))
}

/// Runs a program that a fetch needs, and says what to do where it is missing.
pub(crate) fn run(
    program: &str,
    command: &mut Command,
    if_missing: &str,
    on_progress: &mut dyn FnMut(&str),
) -> Result<Finished, String> {
    run_within(command, COMMAND_LIMIT, on_progress).map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("{program} is not here: {if_missing}"),
        _ => format!("{program}: {error}"),
    })
}
