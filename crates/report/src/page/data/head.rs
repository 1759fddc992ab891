//! Runs, systems, durability, settings.

use assay_results::{Durability, Machine, RunStatus};
use schemars::JsonSchema;
use serde::Serialize;

/// A run as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunSummary {
    /// The name of its folder.
    pub id: String,
    /// What its experiment is called; may be empty.
    pub title: String,
    /// When it started, UTC, RFC 3339.
    pub started_at: String,
    /// When it ended, UTC, RFC 3339; null if it did not, or could not say so.
    pub finished_at: Option<String>,
    /// How far it came.
    pub status: RunStatus,
    /// The version of the Assay that ran it.
    pub assay_version: String,
    /// The git revision of that Assay, if known.
    pub git_revision: Option<String>,
    /// The command line, quoted for a shell.
    pub command: String,
    /// Where it ran.
    pub machine: Machine,
    /// How many trials it has.
    pub trials: u32,
}

/// A system.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SystemSummary {
    /// Its name as shown: its label, with the run's number behind it where runs of one report measured
    /// the same.
    pub name: String,
    /// The driver, for example `postgres`.
    pub driver: String,
    /// The driver's layout, for example `jsonb`.
    pub layout: String,
    /// Product and version as the store reports them; several if runs had different ones.
    pub versions: Vec<String>,
    /// Whether it works in Assay's own process, so that the client's CPU time is its own too.
    pub embedded: bool,
    /// Whether it stores nothing and shows what the harness itself costs (the No-DB line). It is no
    /// competitor: no rank, a muted color, a reference line.
    pub no_db: bool,
    /// The run that it was measured in, where its name says so; null if that needs no saying.
    pub run: Option<u32>,
}

/// A durability level and what it means to each system.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DurabilityNote {
    /// The level.
    pub level: Durability,
    /// What an acknowledged write promises, in a sentence.
    pub promise: String,
    /// The systems' own settings for it, equal ones together.
    pub settings: Vec<LevelSetting>,
}

/// What a durability level means to some systems.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LevelSetting {
    /// The setting in the systems' own words.
    pub setting: String,
    /// The systems.
    pub systems: Vec<u32>,
}

/// A setting in force.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Setting {
    /// The name.
    pub name: String,
    /// Its values by system, in the order of the systems: none where a system has no such setting,
    /// several where it changed between trials.
    pub values: Vec<Vec<String>>,
    /// Whether systems that have it differ in it.
    pub differs: bool,
}
