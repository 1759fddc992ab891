//! Groups of cells that answer one question, and the answers.

use assay_results::{
    DataBytes, Durability, FailureKind, Interval, Mode, OperationKind, Placement, Ratio,
};
use schemars::JsonSchema;
use serde::Serialize;

/// Cells that differ in the system only: one table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Group {
    /// What it is about in few words: the workload, and of the rest only what other groups have
    /// otherwise. Unique in the report.
    pub name: String,
    /// What it is about in one line, with everything.
    pub heading: String,
    /// The workload's name.
    pub workload: String,
    /// The workload's parameters. Those in which groups of the same workload differ are marked.
    pub parameters: Vec<Parameter>,
    /// How many clients worked at once.
    pub clients: u32,
    /// Records loaded.
    pub records: u64,
    /// Closed or open loop.
    pub mode: Mode,
    /// What an acknowledgement promised.
    pub durability: Durability,
    /// Where client and server ran.
    pub placement: Placement,
    /// The kind with the most operations, whose response times stand for the group's.
    pub main_kind: Option<OperationKind>,
    /// The kinds of operation that occur, in the order of tables.
    pub kinds: Vec<OperationKind>,
    /// The cells: ranked ones best first, then those without a rank, then those of systems that stand
    /// for the harness's own cost, then failed ones, then unsupported ones.
    pub cells: Vec<GroupCell>,
}

/// A parameter of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its value as in an experiment file.
    pub value: String,
    /// Whether another group of the same workload has another value.
    pub differs: bool,
}

/// A system in a group: what its repeats say together.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GroupCell {
    /// The system.
    pub system: u32,
    /// Why the system cannot do this; everything else is then empty.
    pub unsupported: Option<String>,
    /// How a repeat failed, after which there were no more, as in "failed while it was measured in
    /// repeat 1: …"; the figures are those of the repeats before it.
    pub failure: Option<String>,
    /// Its place; null for the harness's own cost, and where there is no figure to rank by.
    pub rank: Option<Ranked>,
    /// Product and version.
    pub version: String,
    /// The system's own setting for the durability level.
    pub durability_setting: String,
    /// How many repeats the figures are of; 0 where there are none.
    pub repeats: u32,
    /// Successful operations a second, the median over repeats. Of a single repeat, or of few that
    /// are unlike, there is no interval.
    pub throughput_ops_per_s: Interval,
    /// The throughput of each repeat.
    pub throughputs: Vec<RepeatFigure>,
    /// Response times by kind of operation, in the order of tables.
    pub latency: Vec<KindLatency>,
    /// Service times by kind of operation, where they differ: in an open loop.
    pub service_latency: Vec<KindLatency>,
    /// Operations that ended, failed ones included, over all repeats.
    pub operations: u64,
    /// Failed operations by kind of failure, over all repeats.
    pub errors: Vec<FailureCount>,
    /// The first few different failures in the store's words.
    pub error_messages: Vec<String>,
    /// Wrong answers over all repeats.
    pub wrong_answers: u64,
    /// CPU time of Assay an operation. Of an embedded system, that of the store too.
    pub client_cpu_ns_per_op: Option<Interval>,
    /// CPU time of the server an operation; null for an embedded system.
    pub server_cpu_ns_per_op: Option<Interval>,
    /// Resident memory of the server, the median over repeats; null for an embedded system.
    pub server_rss_bytes: Option<u64>,
    /// Assay's own memory on huge pages, for an embedded system.
    pub huge_pages_bytes: Option<u64>,
    /// Bytes a record takes by the store's own account, on disk and in memory.
    pub data_bytes_per_record: DataBytes,
    /// Successful operations of each second (or, if there are many, of each of several, their mean),
    /// of the median repeat.
    pub sparkline_operations: Vec<f64>,
    /// The median repeat's trial; null where nothing ran.
    pub median_trial: Option<u32>,
    /// All trials of the cell, by run and repeat.
    pub trials: Vec<u32>,
    /// The caveats.
    pub caveats: Vec<u32>,
}

/// A system's place in its group.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Ranked {
    /// From 1; systems that tie share a place.
    pub place: u32,
    /// Whether others share the place.
    pub tied: bool,
    /// Whether there were repeats enough to tell noise from difference.
    pub decided: bool,
    /// This system's figure (the throughput; in an open loop the p99) divided by that of the best;
    /// null for the best itself.
    pub to_best: Option<Ratio>,
}

/// A figure of one repeat.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RepeatFigure {
    /// The repeat's trial.
    pub trial: u32,
    /// The figure, in the unit of the field that holds it.
    pub value: f64,
}

/// Response or service times of successful operations of one kind, over repeats.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct KindLatency {
    /// The kind of operation.
    pub kind: OperationKind,
    /// The smallest of all repeats.
    pub min_ns: u64,
    /// The median: its median over repeats, like all percentiles.
    pub p50_ns: Interval,
    /// The 95th percentile.
    pub p95_ns: Interval,
    /// The 99th percentile.
    pub p99_ns: Interval,
    /// The 99.9th percentile.
    pub p999_ns: Interval,
    /// The 99.99th percentile.
    pub p9999_ns: Interval,
    /// The largest of all repeats.
    pub max_ns: u64,
    /// The mean of all operations.
    pub mean_ns: f64,
    /// How many operations, over all repeats.
    pub count: u64,
}

/// How often something failed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FailureCount {
    /// The kind of failure.
    pub kind: FailureKind,
    /// How often.
    pub count: u64,
}

/// What kind of answer a group gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerKind {
    /// One system leads.
    Lead,
    /// Several tie at the top.
    Tie,
    /// Repeats are too few to tell noise from difference.
    Undecided,
    /// There is one system only: its figure is the answer.
    Alone,
    /// No system has a figure.
    Nothing,
}

/// What a group found out.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// The group.
    pub group: u32,
    /// The whole sentence.
    pub sentence: String,
    /// What kind of answer it is.
    pub kind: AnswerKind,
    /// Which figure decided.
    pub by: AnswerBasis,
    /// The systems on the first place; several if they tie.
    pub leaders: Vec<u32>,
    /// The best system on the next place.
    pub next: Option<u32>,
    /// By how much the first leads: how many times the throughput of the next one, or in an open
    /// loop how many times as long the p99 of the next one is. More than 1 is a lead.
    pub lead: Option<Ratio>,
    /// Places below the first that several systems share.
    pub ties: Vec<Vec<u32>>,
}

/// The answers of one or several groups in one sentence.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Headline {
    /// The sentence.
    pub sentence: String,
    /// The groups whose answers it tells: one, or those of a panel.
    pub groups: Vec<u32>,
}

/// The figure that systems are ranked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerBasis {
    /// Successful operations a second, in a closed loop.
    Throughput,
    /// The 99th percentile of response times of the main kind of operation, in an open loop.
    P99,
}
