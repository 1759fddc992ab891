//! Compressed archives, unpacked by tar.

use std::{fs, path::Path, process::Command};

use crate::command::run_needed;

/// Unpacks `tarball` into `folder`, and removes it.
pub(crate) fn unpack(
    tarball: &Path,
    folder: &Path,
    on_progress: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--gzip", "--no-same-owner", "--file"]).arg(tarball).current_dir(folder);
    let unpacked = run_needed("tar", &mut tar, "install tar", on_progress)?;
    if !unpacked.status.success() {
        return Err(format!(
            "tar could not unpack {}: {}",
            tarball.display(),
            unpacked.last_words()
        ));
    }
    fs::remove_file(tarball).map_err(|error| format!("{}: {error}", tarball.display()))
}
