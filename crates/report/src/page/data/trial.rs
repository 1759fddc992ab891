//! Every trial, in little room: a run may have a thousand, each of many seconds.

use assay_results::{Answers, OperationKind, PhaseSeconds, Placement};
use schemars::JsonSchema;
use serde::Serialize;

/// One repetition of one system in one group.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TrialSummary {
    /// The run.
    pub run: u32,
    /// Its number in the run, from 1 in the order in which they ran.
    pub number: u32,
    /// The group.
    pub group: u32,
    /// The system.
    pub system: u32,
    /// Which repetition of the cell in its run, from 1.
    pub repeat: u32,
    /// The seed, as text: it may be beyond what a double holds exactly.
    pub seed: String,
    /// When it began, UTC, RFC 3339.
    pub started_at: String,
    /// Threads of Assay that drove the clients.
    pub threads: u32,
    /// Where client and server ran.
    pub placement: Placement,
    /// Product and version.
    pub version: String,
    /// The settings in force: which of the report's `settings_sets`.
    pub settings_set: u32,
    /// How long each phase took, in seconds.
    pub phases: PhaseSeconds,
    /// In how many pieces the measurement was taken, with other systems' pieces between them.
    pub turns: u32,
    /// Operations that ended, failed ones included.
    pub operations: u64,
    /// Failed operations.
    pub failed: u64,
    /// Successful operations a second.
    pub throughput_ops_per_s: f64,
    /// Response times by kind of operation.
    pub latency: Vec<TrialLatency>,
    /// What the checks of the answers found.
    pub answers: Answers,
    /// The command that repeats it.
    pub rerun: String,
    /// The caveats.
    pub caveats: Vec<u32>,
    /// The trial second by second.
    pub series: TrialSeries,
}

/// Response times of one kind of operation in one trial.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TrialLatency {
    /// The kind of operation.
    pub kind: OperationKind,
    /// The median.
    pub p50_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The 99.99th percentile.
    pub p9999_ns: u64,
    /// The largest.
    pub max_ns: u64,
}

/// The seconds of a trial, in columns of equal length. A column of which nothing was measured is
/// null; a second of which something was not measured is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TrialSeries {
    /// When each second began, from the start of the measured phase.
    pub t_s: Vec<f64>,
    /// Operations that succeeded.
    pub operations: Vec<u64>,
    /// Operations that failed; null if none did.
    pub errors: Option<Vec<u64>>,
    /// Median response time over all kinds.
    pub p50_ns: Option<Vec<Option<u64>>>,
    /// 99th percentile response time over all kinds.
    pub p99_ns: Option<Vec<Option<u64>>>,
    /// CPU time of Assay.
    pub client_cpu_ns: Option<Vec<Option<u64>>>,
    /// CPU time of the server.
    pub server_cpu_ns: Option<Vec<Option<u64>>>,
    /// Resident memory of Assay.
    pub client_rss_bytes: Option<Vec<Option<u64>>>,
    /// Resident memory of the server.
    pub server_rss_bytes: Option<Vec<Option<u64>>>,
    /// Bytes that the server read from storage.
    pub server_read_bytes: Option<Vec<Option<u64>>>,
    /// Bytes that the server wrote to storage.
    pub server_written_bytes: Option<Vec<Option<u64>>>,
}
