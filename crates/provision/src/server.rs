//! A running server.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use assay_model::{Address, Endpoint};

use crate::{
    account::Account, error::StopError, lifeline::Lifeline, logfile, recipe::Recipe,
    warden::protocol::Report,
};

/// How many lines of the log a report of a server's end has.
const LOG_LINES: usize = 12;

/// A server that Assay started. It stops, and its folder disappears, when this is dropped and
/// however Assay ends.
#[derive(Debug)]
pub struct Server {
    pub(crate) recipe: &'static Recipe,
    pub(crate) endpoint: Endpoint,
    pub(crate) first: Node,
    /// The other nodes of a cluster.
    pub(crate) others: Vec<Node>,
    pub(crate) warden_pid: u32,
    pub(crate) account: Option<Account>,
    pub(crate) data_dir: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) command_line: Vec<String>,
    pub(crate) settings_applied: Vec<(String, String)>,
    pub(crate) remarks: Vec<String>,
    pub(crate) life: Mutex<Life>,
}

/// One process of a server: the only one, or a node of a cluster.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its process number.
    pub pid: u32,
    /// Where it listens.
    pub address: Address,
    /// The file that it writes its log to.
    pub(crate) log: PathBuf,
}

/// The warden's reports, and what they told.
#[derive(Debug)]
pub(crate) struct Life {
    lifeline: Lifeline,
    exit: Option<ExitReport>,
}

impl Life {
    pub fn new(lifeline: Lifeline) -> Life {
        Life { lifeline, exit: None }
    }
}

/// How a server ended by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExitReport {
    /// How it ended, for example "killed by signal 9, SIGKILL".
    pub status: String,
    /// The last lines of its log, oldest first.
    pub log: Vec<String>,
}

impl std::fmt::Display for ExitReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.status)?;
        self.log.iter().try_for_each(|line| write!(f, "\n    {line}"))
    }
}

impl Server {
    /// The recipe that started it.
    pub fn recipe(&self) -> &'static Recipe {
        self.recipe
    }

    /// Where it listens and how to log in.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The server's main process, in a cluster that of the first node. What it forks are its
    /// descendants.
    pub fn pid(&self) -> u32 {
        self.first.pid
    }

    /// Its processes: the nodes of a cluster, or one.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Whether it is a cluster of several processes.
    pub fn is_cluster(&self) -> bool {
        !self.others.is_empty()
    }

    /// The process that keeps the server; it uses next to nothing.
    pub fn warden_pid(&self) -> u32 {
        self.warden_pid
    }

    /// The user that it runs as, if not Assay's own.
    pub fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// The folder with its data and nothing else, to be counted. Empty if it keeps none.
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// The temporary folder with all that belongs to it: data, socket, log.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What was started, the program first; in a cluster, the first node. It holds no secrets.
    pub fn command_line(&self) -> &[String] {
        &self.command_line
    }

    /// Every setting that it was started with, by name: the durability level's, Assay's defaults
    /// and those given.
    pub fn settings_applied(&self) -> &[(String, String)] {
        &self.settings_applied
    }

    /// What was done otherwise than asked, in sentences, such as a socket in another folder.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// How it ended, if it did so by itself. Does not wait.
    pub fn exited(&self) -> Option<ExitReport> {
        let mut life = self.life();
        while life.exit.is_none() {
            let (status, node) = match life.lifeline.report_within(Duration::ZERO) {
                Ok(None) => break,
                Ok(Some(Report::Exited { pid, status, .. })) => {
                    match self.nodes().find(|node| node.pid == pid) {
                        None => continue,
                        Some(node) if self.is_cluster() => {
                            (format!("the node at {}: {status}", node.address), node)
                        }
                        Some(node) => (status, node),
                    }
                }
                Ok(Some(_)) => continue,
                Err(error) => (format!("no longer kept: {error}"), &self.first),
            };
            life.exit = Some(ExitReport { status, log: logfile::tail(&node.log, LOG_LINES) });
        }
        life.exit.clone()
    }

    /// The last `count` lines of its log, in a cluster the first node's, oldest first.
    pub fn log_tail(&self, count: usize) -> Vec<String> {
        logfile::tail(&self.first.log, count)
    }

    /// Stops it, in order if it obeys, and removes its folder; says if something is left. Dropping
    /// does the same in silence.
    pub fn stop(self) -> Result<(), StopError> {
        self.life().lifeline.close()
    }

    fn life(&self) -> MutexGuard<'_, Life> {
        // What a panicking thread left is still a pipe and a report.
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
