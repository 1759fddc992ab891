//! Lines over what a sweep goes over.

use assay_results::{Interval, OperationKind};
use schemars::JsonSchema;
use serde::Serialize;

/// What a sweep goes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SweepAxis {
    /// Clients at work: throughput against clients.
    Clients,
    /// Operations due a second of an open loop: response time against throughput.
    Rate,
    /// Records loaded: throughput against records.
    Records,
}

/// Groups that differ in one thing only, as lines, one a system.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SweepPanel {
    /// What it goes over.
    pub over: SweepAxis,
    /// What its groups have in common, in few words; unique among panels over the same.
    pub name: String,
    /// What they have in common, in one line.
    pub heading: String,
    /// The kind of operation whose response times the points hold: the one with the most operations.
    pub kind: Option<OperationKind>,
    /// Whether x is better drawn on a log axis.
    pub log_x: bool,
    /// The lines, in the order of the systems. A system without any figure has none.
    pub lines: Vec<SweepLine>,
}

/// A system in a panel.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SweepLine {
    /// The system.
    pub system: u32,
    /// Its points, in the order of x.
    pub points: Vec<SweepPoint>,
}

/// A cell as a point of a line.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SweepPoint {
    /// Clients, operations due a second, or records.
    pub x: f64,
    /// The group that the point's cell stands in.
    pub group: u32,
    /// Successful operations a second.
    pub throughput_ops_per_s: Interval,
    /// Median response time of the panel's kind of operation.
    pub p50_ns: Option<Interval>,
    /// 99th percentile of the same.
    pub p99_ns: Option<Interval>,
    /// 99.9th percentile of the same.
    pub p999_ns: Option<Interval>,
}
