//! Why a server or a library cannot be found, fetched, started or stopped. Each message ends with the next
//! step.

use std::{fmt, io, path::PathBuf};

use thiserror::Error;

/// Why a search for a server failed.
#[derive(Debug, Error)]
pub enum FindError {
    /// Nothing on the machine.
    #[error(
        "{name} is not installed: run `assay fetch {name}`, or install {packages}, or point \
         {variable} at it"
    )]
    Missing {
        /// The recipe's name.
        name: &'static str,
        /// The distributions' packages that have it.
        packages: &'static str,
        /// The environment variable that names a binary.
        variable: String,
    },
    /// Nothing on the machine, and no registry has it.
    #[error(
        "{name} is not installed, and no package registry that Assay knows has it: install \
         {packages}, or point {variable} at it"
    )]
    Unfetchable {
        /// The recipe's name.
        name: &'static str,
        /// Where it can be had.
        packages: &'static str,
        /// The environment variable that names a binary.
        variable: String,
    },
    /// It runs on Java, and none of its versions is here.
    #[error("{name} needs {versions}, and {why}: {next}")]
    Java {
        /// The recipe's name.
        name: &'static str,
        /// The versions.
        versions: crate::JavaVersions,
        /// Which there are.
        why: String,
        /// What to do.
        next: String,
    },
    /// The binary that was named does not serve.
    #[error("{variable} names {path}, which {why}: correct it or unset it", path = path.display())]
    Override {
        /// The environment variable.
        variable: String,
        /// What it names.
        path: PathBuf,
        /// What is wrong with it, as in "does not exist".
        why: String,
    },
}

/// Why a server could not be fetched.
#[derive(Debug, Error)]
pub enum FetchError {
    /// Assay's own folder cannot be written to.
    #[error("cannot {action} {path}: {source}; set ASSAY_HOME to a folder that can be written to",
        path = path.display())]
    Folder {
        /// What was tried, as in "create".
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// No source of the recipe worked.
    #[error("cannot fetch {name}: {}; it can also be installed as {packages}", list(attempts))]
    NoSource {
        /// The recipe's name.
        name: &'static str,
        /// Each source tried and why it failed.
        attempts: Vec<String>,
        /// The distributions' packages that have it.
        packages: &'static str,
    },
    /// The search for what was fetched before failed.
    #[error(transparent)]
    Find(#[from] FindError),
}

/// Why a server did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The recipe has no such level.
    #[error("{name} cannot promise durability '{asked}': use {nearest}")]
    Durability {
        /// The recipe's name.
        name: &'static str,
        /// The level asked for.
        asked: assay_model::Durability,
        /// The nearest level that it has.
        nearest: assay_model::Durability,
    },
    /// A setting is unknown, badly formed or not open to change.
    #[error("{name}: setting '{setting}': {why}")]
    Setting {
        /// The recipe's name.
        name: &'static str,
        /// The setting.
        setting: String,
        /// What is wrong and what would be right.
        why: String,
    },
    /// The port that was asked for is taken.
    #[error(
        "{name}: port {port} on 127.0.0.1 cannot be used: {why}; stop what listens there, or \
        leave the setting 'port' out and the system picks a free one"
    )]
    Port {
        /// The recipe's name.
        name: &'static str,
        /// The port.
        port: u16,
        /// What the operating system said.
        why: String,
    },
    /// No folder could be made for the server.
    #[error("cannot make a temporary folder in {parent}: {why}; choose another with --data-folder",
        parent = parent.display())]
    Folder {
        /// Where it was to be.
        parent: PathBuf,
        /// What the operating system said.
        why: String,
    },
    /// The account that runs the server cannot get at a path.
    #[error("{what} {path} is out of reach of the user '{account}', under whom servers run when \
        Assay is root: {blocked} is closed to it; {next}",
        path = path.display(), blocked = blocked.display())]
    OutOfReach {
        /// What the path is, as in "the binary".
        what: &'static str,
        /// The path.
        path: PathBuf,
        /// The user.
        account: String,
        /// The folder or file that is closed.
        blocked: PathBuf,
        /// What to do.
        next: &'static str,
    },
    /// Assay is root and finds nobody to run the server as.
    #[error(
        "Assay is root and servers must not be, but none of the users {tried} exists: create \
        one (`useradd --system assay`), or run Assay as an ordinary user"
    )]
    NoAccount {
        /// The names looked for in /etc/passwd.
        tried: String,
    },
    /// The process that keeps the server failed.
    #[error("the warden of {name} ({program}) {why}", program = program.display())]
    Warden {
        /// The recipe's name, or "a folder".
        name: String,
        /// The program that was run as the warden.
        program: PathBuf,
        /// What went wrong.
        why: String,
    },
    /// The server's program cannot be run.
    #[error("{name}: cannot run {program}: {why}", program = program.display())]
    CannotRun {
        /// The recipe's name.
        name: &'static str,
        /// The program.
        program: PathBuf,
        /// What the operating system said.
        why: String,
    },
    /// The disk is full.
    #[error("{name}: no space left in {folder} while it was starting: free some, or choose \
        another disk with --data-folder{}", quoted(log), folder = folder.display())]
    DiskFull {
        /// The recipe's name.
        name: &'static str,
        /// Where the server's folder is.
        folder: PathBuf,
        /// The last lines of its log.
        log: Vec<String>,
    },
    /// The server, or the program that prepares its data folder, ended.
    #[error("{name}: {program} ended while starting ({status}){}", quoted(log))]
    Exited {
        /// The recipe's name.
        name: &'static str,
        /// The program's file name.
        program: String,
        /// How it ended.
        status: String,
        /// The last lines of its log.
        log: Vec<String>,
    },
    /// The server runs but does not answer as it should.
    #[error("{name}: not ready after {seconds:.1} s: {why}{}", quoted(log))]
    NotReady {
        /// The recipe's name.
        name: &'static str,
        /// How long was waited, in seconds.
        seconds: f64,
        /// What the last attempt got.
        why: String,
        /// The last lines of its log.
        log: Vec<String>,
    },
}

/// Why a server or a folder could not be taken away.
#[derive(Debug, Error)]
pub enum StopError {
    /// The warden could not clean up.
    #[error("{name}: {why}; look at {folder}", folder = folder.display())]
    Left {
        /// The recipe's name, or "a folder".
        name: String,
        /// The folder that may be left.
        folder: PathBuf,
        /// What went wrong.
        why: String,
    },
}

fn list(attempts: &[String]) -> impl fmt::Display {
    attempts.join("; ")
}

fn quoted(log: &[String]) -> impl fmt::Display {
    if log.is_empty() {
        return String::from("; its log is empty");
    }
    let mut text = String::from("; the end of its log:");
    for line in log {
        text.push_str("\n    ");
        text.push_str(line);
    }
    text
}
