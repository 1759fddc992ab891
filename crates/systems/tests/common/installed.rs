//! The servers and libraries that this machine has, found as `assay run` finds them: fetched ones too.

use std::{
    env,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use assay_provision::{Folders, Installed, library, recipe, require, require_library};

/// The server of this recipe. Without one the test is skipped and says so, past the test runner,
/// which keeps what a passing test prints to itself.
pub fn installed(name: &str) -> Option<Installed> {
    let recipe = recipe(name).expect("a recipe of this name");
    require(recipe, &Folders::from_env()).map_err(|missing| skip(&missing.to_string())).ok()
}

/// The file of this library, or the test is skipped, as for a server.
#[allow(dead_code, reason = "most of those who share this need a server")]
pub fn installed_library(name: &str) -> Option<PathBuf> {
    let library = library(name).expect("a library of this name");
    let found = require_library(library, &Folders::from_env());
    found.map(|found| found.path).map_err(|missing| skip(&missing.to_string())).ok()
}

/// Says that the current test is skipped.
pub fn skip(why: &str) {
    let current = thread::current();
    let test = current.name().unwrap_or("a test");
    let line = format!("skipped: {test}: {why}\n");
    std::io::stderr().write_all(line.as_bytes()).expect("standard error is open");
}

/// A call of `program`, with the libraries that came with the server.
pub fn command(installed: &Installed, program: &Path) -> Command {
    let mut command = Command::new(program);
    if !installed.library_folders.is_empty() {
        let inherited = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let folders = installed.library_folders.iter().cloned();
        let all = env::join_paths(folders.chain(env::split_paths(&inherited)));
        command.env("LD_LIBRARY_PATH", all.expect("folders without a colon"));
    }
    command
}
