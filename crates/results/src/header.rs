//! The run as a whole: when, where, by which command, and how far it came.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{FORMAT_VERSION, FailedTrial, Machine};

/// How far a run came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// It runs, or it ended without a chance to say so. The trials that ended are all there.
    Running,
    /// Every trial ended, or failed.
    Finished,
    /// It was stopped before every trial had run.
    Interrupted,
}

/// What `run.json` holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunHeader {
    /// The version of this format.
    pub format_version: u32,
    /// The run's name, that of its folder. Given by [`RunFolder::create`](crate::RunFolder).
    pub id: String,
    /// When the run started, UTC.
    #[schemars(with = "String")]
    pub started_at: Timestamp,
    /// When the run ended, UTC, if it did.
    #[schemars(with = "Option<String>")]
    pub finished_at: Option<Timestamp>,
    /// How far the run came.
    pub status: RunStatus,
    /// Assay's version.
    pub assay_version: String,
    /// The git revision that Assay was built from, if known.
    pub git_revision: Option<String>,
    /// Where the run ran.
    pub machine: Machine,
    /// The command line, without secrets.
    pub command_line: Vec<String>,
    /// The resolved plan, without secrets.
    pub plan: Value,
    /// The trials that failed and so have no record. An older Assay did not keep them.
    #[serde(default)]
    pub failures: Vec<FailedTrial>,
}

impl RunHeader {
    /// The header of a run that starts now on this machine.
    pub fn starting(command_line: Vec<String>, plan: Value) -> RunHeader {
        RunHeader {
            format_version: FORMAT_VERSION,
            id: String::new(),
            started_at: Timestamp::now(),
            finished_at: None,
            status: RunStatus::Running,
            assay_version: env!("CARGO_PKG_VERSION").to_owned(),
            git_revision: None,
            machine: Machine::detect(),
            command_line,
            plan,
            failures: Vec::new(),
        }
    }
}
