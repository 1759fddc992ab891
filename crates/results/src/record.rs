//! The record of one trial: one repetition of one system under one workload. It explains itself:
//! plan, seed, versions, settings in force, machine.

use std::collections::BTreeMap;

use assay_measure::statistics::Interval;
use assay_model::{Durability, FailureKind, OperationKind};
use hdrhistogram::Histogram;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Machine;

/// One repetition of one system under one workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRecord {
    /// The version of this format. Set when the record is written.
    pub format_version: u32,
    /// The trial's number in its run, from 1 in the order in which they ran.
    pub trial: u32,
    /// Which repetition this is, from 1. Equal repeats of different systems ran next to each other.
    pub repeat: u32,

    /// The system and its layout and settings as shown, for example `postgres:jsonb`.
    pub system: String,
    /// The driver's name.
    pub driver: String,
    /// The driver's layout.
    pub layout: String,
    /// Product and version, as the store reports them.
    pub system_version: String,
    /// The settings in force that bear on the result, as the store reports them.
    pub settings: BTreeMap<String, String>,
    /// What an acknowledgement promised, and the store's own setting for it.
    pub durability: DurabilitySetting,

    /// The workload's name, for example `ycsb/a`.
    pub workload: String,
    /// The workload's parameters, by name.
    pub workload_parameters: Value,
    /// How many clients worked at once.
    pub clients: u32,
    /// On how many threads of Assay.
    pub threads: u32,
    /// Closed loop, or open loop at a rate.
    pub mode: Mode,
    /// Where client and server ran.
    pub placement: Placement,
    /// Records loaded before the measurement.
    pub records: u64,
    /// Operations of the measured phase that ended, failed ones included.
    pub operations: u64,
    /// The seed of keys, values and order.
    pub seed: u64,

    /// When the trial began, UTC: before the store was started.
    #[schemars(with = "String")]
    pub started_at: Timestamp,
    /// How long each phase took.
    pub phases: PhaseSeconds,
    /// In how many pieces the measurement was taken, with other systems' pieces between them; 1: at
    /// one go. Series and interval log leave out the time of the others.
    #[serde(default)]
    pub turns: u32,

    /// Successful operations a second: the mean over the measured phase and how steady it was
    /// within this trial.
    pub throughput_ops_per_s: Interval,
    /// Response times of successful operations by kind. In an open loop they count from the
    /// intended start.
    pub latency_ns: BTreeMap<OperationKind, LatencySummary>,
    /// Service times of successful operations by kind, where they differ: in an open loop.
    #[serde(default)]
    pub service_latency_ns: BTreeMap<OperationKind, LatencySummary>,
    /// Response times of failed operations, if there were any.
    #[serde(default)]
    pub failed_latency_ns: Option<LatencySummary>,
    /// Failed operations by kind of failure.
    pub errors: BTreeMap<FailureKind, u64>,
    /// Failed operations by kind of operation and of failure.
    #[serde(default)]
    pub errors_by_operation: BTreeMap<OperationKind, BTreeMap<FailureKind, u64>>,
    /// The first few different failures in the store's words.
    #[serde(default)]
    pub error_messages: Vec<String>,

    /// CPU time of Assay an operation.
    pub client_cpu_ns_per_op: Option<f64>,
    /// CPU time of the server and its children an operation. Absent for an embedded system, whose
    /// work is in the client's.
    pub server_cpu_ns_per_op: Option<f64>,
    /// Resident memory of the server at the end of the measured phase.
    pub server_rss_bytes: Option<u64>,
    /// Assay's own memory that lay on huge pages when the system, an embedded one, was loaded: that
    /// of all systems in its process at that time. Absent for a server.
    #[serde(default)]
    pub huge_pages_bytes: Option<u64>,
    /// What Assay's own process used in the measured phase.
    pub client: ResourceUse,
    /// What the server used in the measured phase, its children included.
    pub server: Option<ResourceUse>,
    /// Bytes a record takes, by the store's own account.
    pub data_bytes_per_record: DataBytes,
    /// The trial second by second.
    pub series: Vec<SeriesPoint>,

    /// What the checks of the answers found.
    pub answers: Answers,
    /// What a reader of the figures must know.
    pub caveats: Vec<Caveat>,
    /// Why the system cannot do this workload; the figures are then empty.
    pub unsupported: Option<String>,

    /// The command that repeats this trial. Set when the record is written.
    pub rerun: String,
    /// This trial's part of the plan.
    pub plan: Value,
    /// Where the trial ran.
    pub machine: Machine,
    /// Assay's version.
    pub assay_version: String,
    /// The git revision that Assay was built from, if known.
    pub git_revision: Option<String>,
    /// The name of the interval log beside this record. Set when the record is written.
    #[serde(default)]
    pub interval_log: Option<String>,
}

/// A durability level and what it means to the system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DurabilitySetting {
    /// The level.
    pub level: Durability,
    /// The system's own setting for it.
    pub setting: String,
}

/// How operations are paced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "loop", rename_all = "snake_case")]
pub enum Mode {
    /// Each client begins an operation when its last one has ended.
    #[default]
    Closed,
    /// Operations are due at times of their own; one that starts late counts from when it was due.
    Open {
        /// Operations due a second, over all clients.
        rate_per_s: f64,
        /// How the due times are spread.
        arrivals: Arrivals,
    },
}

/// How the due times of an open loop are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Evenly.
    Uniform,
    /// At random, as independent users come.
    Poisson,
}

/// Where client and server ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Placement {
    /// `free`, `split` or `same`.
    pub policy: String,
    /// The cores that Assay was bound to; empty for all.
    pub client_cpus: Vec<u32>,
    /// The cores that the server was bound to; empty for all.
    pub server_cpus: Vec<u32>,
}

/// How long each phase of a trial took, in seconds. A phase that did not happen took none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseSeconds {
    /// Starting or attaching to the server.
    pub start: f64,
    /// Creating the table and loading it.
    pub load: f64,
    /// Bringing the store to rest after the load.
    pub settle: f64,
    /// Operations that do not count.
    pub warm_up: f64,
    /// Operations that count.
    pub measure: f64,
    /// Waiting for operations that were under way.
    pub cool_down: f64,
    /// Checking counts and checksums.
    pub check: f64,
}

/// A distribution of latencies in nanoseconds, at most 0.1 % from the values measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencySummary {
    /// The smallest.
    pub min: u64,
    /// The median.
    pub p50: u64,
    /// The 95th percentile.
    pub p95: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p999: u64,
    /// The 99.99th percentile.
    pub p9999: u64,
    /// The largest.
    pub max: u64,
    /// The arithmetic mean.
    pub mean: f64,
    /// How many operations.
    pub count: u64,
}

impl LatencySummary {
    /// Summarizes a histogram of nanoseconds; all zero for an empty one.
    pub fn of(histogram: &Histogram<u64>) -> LatencySummary {
        if histogram.is_empty() {
            return LatencySummary::default();
        }
        let quantile = |q: f64| histogram.value_at_quantile(q).min(histogram.max());
        LatencySummary {
            min: histogram.min(),
            p50: quantile(0.5),
            p95: quantile(0.95),
            p99: quantile(0.99),
            p999: quantile(0.999),
            p9999: quantile(0.9999),
            max: histogram.max(),
            mean: histogram.mean(),
            count: histogram.len(),
        }
    }
}

/// What a process used over a phase, its children included for a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceUse {
    /// CPU time, user and system.
    pub cpu_ns: u64,
    /// Resident memory at the phase's end.
    pub rss_bytes: u64,
    /// The highest resident memory seen.
    pub rss_peak_bytes: u64,
    /// Bytes read from storage.
    pub read_bytes: u64,
    /// Bytes written to storage.
    pub written_bytes: u64,
    /// Context switches because of waiting.
    pub voluntary_switches: u64,
    /// Context switches because another thread got the core.
    pub involuntary_switches: u64,
}

/// Bytes a record takes, indexes and logs included. `None`: the store does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DataBytes {
    /// On disk.
    pub disk: Option<f64>,
    /// In the store's memory.
    pub memory: Option<f64>,
}

/// One second of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesPoint {
    /// When the second began, in seconds from the start of the measured phase.
    pub t_s: f64,
    /// Operations that succeeded.
    pub operations: u64,
    /// Median response time over all kinds.
    pub p50_ns: Option<u64>,
    /// 99th percentile response time over all kinds.
    pub p99_ns: Option<u64>,
    /// Operations that failed.
    pub errors: u64,
    /// CPU time of Assay.
    pub client_cpu_ns: Option<u64>,
    /// CPU time of the server.
    pub server_cpu_ns: Option<u64>,
    /// Resident memory of Assay.
    pub client_rss_bytes: Option<u64>,
    /// Resident memory of the server.
    pub server_rss_bytes: Option<u64>,
    /// Context switches of Assay's threads, of either kind.
    #[serde(default)]
    pub client_switches: Option<u64>,
    /// Context switches of the server's threads, of either kind.
    #[serde(default)]
    pub server_switches: Option<u64>,
    /// Bytes that the server read from storage.
    pub server_read_bytes: Option<u64>,
    /// Bytes that the server wrote to storage.
    pub server_written_bytes: Option<u64>,
}

/// What the checks of the answers found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answers {
    /// Reads whose every value was checked.
    pub verified_reads: u64,
    /// Answers that were wrong.
    pub wrong: u64,
    /// Checksum of a sample of the records after the run, in hexadecimal: equal on every system.
    pub sample_checksum: Option<String>,
    /// Records in the store after the run, if it can count.
    pub record_count: Option<u64>,
    /// Records that the acknowledged inserts and deletes should have left.
    pub expected_count: Option<u64>,
}

/// Something that a reader of the figures must know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Caveat {
    /// A short fixed name, for example `client_bottleneck`.
    pub code: String,
    /// The whole sentence.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_holds_the_histograms_figures() {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        (1..=1000).for_each(|value| histogram.record(value).unwrap());
        let summary = LatencySummary::of(&histogram);
        assert_eq!((summary.min, summary.p50, summary.p99), (1, 500, 990));
        assert_eq!((summary.p999, summary.max, summary.count), (999, 1000, 1000));
        assert!((summary.mean - 500.5).abs() < 0.5);
        let empty = LatencySummary::of(&Histogram::new(3).unwrap());
        assert_eq!(empty, LatencySummary::default());
    }

    #[test]
    fn the_names_of_the_documented_fields_stay() {
        let record = TrialRecord {
            latency_ns: [(OperationKind::ReadModifyWrite, LatencySummary::default())].into(),
            errors: [(FailureKind::WrongAnswer, 1)].into(),
            mode: Mode::Open { rate_per_s: 10.0, arrivals: Arrivals::Poisson },
            ..TrialRecord::default()
        };
        let json = serde_json::to_value(&record).unwrap();
        for name in [
            "system",
            "workload",
            "clients",
            "records",
            "durability",
            "throughput_ops_per_s",
            "client_cpu_ns_per_op",
            "server_cpu_ns_per_op",
            "server_rss_bytes",
            "data_bytes_per_record",
            "caveats",
        ] {
            assert!(json.get(name).is_some(), "{name}");
        }
        assert_eq!(json["durability"]["level"], "none");
        assert_eq!(json["errors"]["wrong_answer"], 1);
        assert_eq!(json["latency_ns"]["read_modify_write"]["p999"], 0);
        assert_eq!(json["mode"]["loop"], "open");
        assert_eq!(json["mode"]["arrivals"], "poisson");
        assert_eq!(serde_json::from_value::<TrialRecord>(json).unwrap(), record);
    }

    #[test]
    fn the_records_schema_names_its_fields() {
        let schema = serde_json::to_value(schemars::schema_for!(TrialRecord)).unwrap();
        assert!(schema["properties"]["throughput_ops_per_s"].is_object());
        assert_eq!(schema["properties"]["started_at"]["type"], "string");
    }
}
