//! What a study says of its systems, in its words and in a form that results can be held to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A sentence of a study, and what has to hold for it to be confirmed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// What the study says, in its words.
    pub text: String,
    /// Where it says so.
    pub source: String,
    /// How the words were read, where they can be read in several ways.
    #[serde(default)]
    pub reading: Option<String>,
    /// The experiments that can decide it, by their names; all if there are none here.
    #[serde(default)]
    pub experiments: Vec<String>,
    /// With fewer cores of its own for the server, nothing is decided.
    #[serde(default)]
    pub server_cores: Option<u32>,
    /// With fewer cores of its own for the server, it may be confirmed, and is not refuted.
    #[serde(default)]
    pub server_cores_to_refute: Option<u32>,
    /// What must hold, all of it.
    pub checks: Vec<Check>,
}

/// Something that holds of throughputs, or does not. Systems are named as the study names them
/// ([`Called`]), workloads as the experiments do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case", deny_unknown_fields)]
pub enum Check {
    /// A system does more than each of the others on each workload.
    Ahead {
        /// The system.
        system: String,
        /// The others.
        of: Vec<String>,
        /// The workloads.
        workloads: Vec<String>,
        /// At how many clients.
        #[serde(default)]
        clients: AtClients,
    },
    /// Each system does more on each workload with the most clients than with the fewest.
    Grows {
        /// The systems.
        systems: Vec<String>,
        /// The workloads.
        workloads: Vec<String>,
        /// At least this many times as much.
        by: f64,
    },
    /// Each system does less after a change.
    Falls {
        /// The systems.
        systems: Vec<String>,
        /// The change.
        change: Between,
        /// Another change: what is left counts in relation to what this one leaves.
        #[serde(default)]
        than: Option<Between>,
        /// Other systems: what is left counts in relation to what the change leaves to each of them, and
        /// not to another change.
        #[serde(default)]
        than_systems: Vec<String>,
        /// At most this share is left.
        to: f64,
    },
    /// Each system does as much after a change, or nearly.
    Keeps {
        /// The systems.
        systems: Vec<String>,
        /// The change.
        change: Between,
        /// At least this share is left.
        share: f64,
    },
}

/// Which numbers of clients a check is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AtClients {
    /// Each that was measured.
    #[default]
    Each,
    /// The most that were measured.
    Most,
}

/// Two conditions. The second has the most clients that were measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Between {
    /// The workloads before; those after, if there are none here.
    #[serde(default)]
    pub from: Vec<String>,
    /// The number of clients before.
    #[serde(default)]
    pub from_clients: FromClients,
    /// The workloads after, in step with those before.
    pub to: Vec<String>,
}

/// The number of clients of the first of two conditions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FromClients {
    /// The most that were measured, as in the second.
    #[default]
    Most,
    /// The fewest that were measured.
    Fewest,
    /// Those with the highest throughput.
    Peak,
}

/// A system of ours by the name that a study has for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Called {
    /// What the study calls it.
    pub name: String,
    /// Its label here.
    pub system: String,
    /// The label of another one that is shown in its place where it is absent, and decides nothing.
    #[serde(default)]
    pub in_place: Option<String>,
}
