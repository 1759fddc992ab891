//! What a study asks of its runs beyond figures: who stands where over all loads, what one setting
//! changes, and what was published of both.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Called, Claim, OperationKind};

/// A study that a run belongs to.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// What it is called on the command line, as in `kvdb2024`.
    #[serde(default)]
    pub name: String,
    /// What it is called by people.
    pub title: String,
    /// The work whose experiments these are, and whose values stand beside ours.
    pub source: String,
    /// What a reader must know of how these experiments relate to the work's.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The orders of the systems over all loads.
    #[serde(default)]
    pub standings: Vec<Standing>,
    /// Pairs of systems that differ in one setting.
    #[serde(default)]
    pub changes: Vec<Change>,
    /// What the work says, each to be confirmed or refuted.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// The systems by the names that the claims have for them.
    #[serde(default)]
    pub called: Vec<Called>,
    /// The experiments that stand for all at a quick scale; all if there are none here.
    #[serde(default)]
    pub quick_experiments: Vec<String>,
    /// The least experiment that shows the shape: the records of its loads.
    #[serde(default)]
    pub quick_records: Vec<u64>,
}

/// An order of the systems over all loads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Standing {
    /// What it is called.
    pub title: String,
    /// By the mean response time of this kind of operation; by the throughput of all if not given.
    pub operation: Option<OperationKind>,
    /// The published order, the best first.
    pub published: Vec<PublishedPlace>,
}

/// A system in a published order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublishedPlace {
    /// The system, as they call it.
    pub name: String,
    /// The systems of ours that it is set beside, by their labels.
    #[serde(default)]
    pub systems: Vec<String>,
    /// The value and its unit, as published.
    pub value: Option<String>,
}

/// What one setting changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// What it is called.
    pub title: String,
    /// The label of the system before.
    pub from: String,
    /// The label of the system after.
    pub to: String,
    /// The published change of the throughput over all loads, as published.
    pub throughput: Option<String>,
    /// The published change of the failed operations, as published.
    pub failures: Option<String>,
}

/// A system that was asked for and is not in a run, because it is not on the machine or cannot do
/// what was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Absent {
    /// The system's label.
    pub system: String,
    /// Which of the two it is.
    pub reason: AbsentReason,
    /// Why, and how to get it or what to ask for instead.
    pub why: String,
}

/// Why a system is absent, in general.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AbsentReason {
    /// Its server, library or driver is not on this machine.
    NotHere,
    /// It cannot do what was asked.
    Cannot,
}

impl AbsentReason {
    /// In words that stand in place of the system's figures.
    pub fn words(self) -> &'static str {
        match self {
            AbsentReason::NotHere => "not on this machine",
            AbsentReason::Cannot => "cannot do this",
        }
    }
}
