//! Whether the user that runs the server gets at what it needs.

use std::path::Path;

use super::Launch;
use crate::{account::Account, error::StartError, recipe::Runs};

/// An error names the first folder that keeps `account` out, and what to do.
pub(super) fn check(
    account: &Account,
    launch: &Launch<'_>,
    parent: &Path,
) -> Result<(), StartError> {
    let Launch { installed, warden, .. } = launch;
    let binary: (&str, &Path, &str) = (
        "the server",
        match (installed.recipe.runs, installed.binary.parent()) {
            // Read and not run.
            (Runs::Java(_) | Runs::Release, Some(folder)) => folder,
            _ => &installed.binary,
        },
        "set ASSAY_HOME to a folder that every user can enter and fetch it again, or open that \
         one with chmod a+x",
    );
    let parent =
        ("the folder", parent, "choose another with --data-folder, for example --data-folder /tmp");
    let host = (installed.recipe.runs == Runs::Library).then_some((
        "Assay, which hosts the library,",
        warden.program.as_path(),
        "install it in a folder that every user can enter, such as /usr/local/bin, or open that one with \
         chmod a+x",
    ));
    let java = installed.java.as_deref().map(|java| {
        ("Java", java, "install one in a folder that every user can enter, and set JAVA_HOME to it")
    });
    for (what, path, next) in [binary, parent].into_iter().chain(host).chain(java) {
        if let Some(blocked) = account.blocked_at(path) {
            return Err(StartError::OutOfReach {
                what,
                path: path.to_path_buf(),
                account: account.name.clone(),
                blocked,
                next,
            });
        }
    }
    Ok(())
}
