//! What a figure of an experiment shows: one quantity against another, and published values to
//! stand beside the measured ones.

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};

use crate::OperationKind;

/// A figure, resolved: every part set and fitting the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Figure {
    /// What it is called where a run has several; the run's own title if not given.
    #[serde(default)]
    pub title: Option<String>,
    /// The parts that it has; all if there are none here.
    #[serde(default)]
    pub only: BTreeSet<String>,
    /// What it goes over.
    pub x: Axis,
    /// How `x` is spread.
    pub x_scale: Scale,
    /// What it shows.
    pub y: Measure,
    /// Of which kind of operation; `None` for a throughput, which is of all.
    pub operation: Option<OperationKind>,
    /// The unit of `y`, in the figure and in what is published.
    pub unit: Unit,
    /// Where the published values stand: work, figure, table.
    pub source: Option<String>,
    /// The published values.
    pub published: Vec<Published>,
    /// Workloads that are drawn together, each a part of the figure with lines of its own.
    pub parts: Vec<Part>,
}

/// Workloads that differ in what a figure goes over only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Part {
    /// What they are called together.
    pub name: String,
    /// Their names.
    pub workloads: BTreeSet<String>,
}

/// What a figure goes over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(with = "String")]
pub enum Axis {
    /// Records in the store, `records`.
    Records,
    /// Clients at work, `clients`.
    Clients,
    /// Operations due a second of an open loop, `rate`.
    Rate,
    /// The percentiles of one distribution of response times, `percentile`.
    Percentile,
    /// A numeric parameter of the workload, by its name.
    Parameter(String),
}

impl Axis {
    /// The axes that are no parameter of a workload.
    pub const FIXED: [Axis; 4] = [Axis::Records, Axis::Clients, Axis::Rate, Axis::Percentile];

    /// The name in experiment files, records and headings.
    pub fn name(&self) -> &str {
        match self {
            Axis::Records => "records",
            Axis::Clients => "clients",
            Axis::Rate => "rate",
            Axis::Percentile => "percentile",
            Axis::Parameter(name) => name,
        }
    }
}

impl From<String> for Axis {
    fn from(name: String) -> Axis {
        match name.as_str() {
            // The workload's own word for it.
            "record_count" => Axis::Records,
            other => Axis::FIXED
                .into_iter()
                .find(|axis| axis.name() == other)
                .unwrap_or(Axis::Parameter(name)),
        }
    }
}

impl From<Axis> for String {
    fn from(axis: Axis) -> String {
        axis.name().to_owned()
    }
}

/// How an axis is spread.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Equal differences take equal room.
    #[default]
    Linear,
    /// Equal ratios take equal room.
    Log,
}

/// What a figure shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Successful operations a second.
    Throughput,
    /// The smallest response time.
    Min,
    /// The mean response time.
    Mean,
    /// The median response time.
    P50,
    /// The 95th percentile of the response times.
    P95,
    /// The 99th percentile of the response times.
    P99,
    /// The 99.9th percentile of the response times.
    P999,
    /// The 99.99th percentile of the response times.
    P9999,
    /// The largest response time.
    Max,
    /// The response time at each percentile, where the figure goes over these.
    Latency,
}

impl Measure {
    /// The percentiles that a figure over them has, with what stands at each.
    pub const PERCENTILES: [(f64, Measure); 5] = [
        (50.0, Measure::P50),
        (95.0, Measure::P95),
        (99.0, Measure::P99),
        (99.9, Measure::P999),
        (99.99, Measure::P9999),
    ];

    /// The name in experiment files and records, for example `p999`.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Throughput => "throughput",
            Measure::Min => "min",
            Measure::Mean => "mean",
            Measure::P50 => "p50",
            Measure::P95 => "p95",
            Measure::P99 => "p99",
            Measure::P999 => "p999",
            Measure::P9999 => "p9999",
            Measure::Max => "max",
            Measure::Latency => "latency",
        }
    }

    /// What people call it, for example `p99.9`.
    pub fn title(self) -> &'static str {
        match self {
            Measure::P999 => "p99.9",
            Measure::P9999 => "p99.99",
            other => other.name(),
        }
    }

    /// Whether it is a time.
    pub fn is_time(self) -> bool {
        self != Measure::Throughput
    }
}

/// What the values of a figure are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub enum Unit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Microseconds. The letter is written in two ways that look the same, and as `u`.
    #[serde(rename = "µs", alias = "μs", alias = "us")]
    Microseconds,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Operations a second.
    #[serde(rename = "ops/s")]
    PerSecond,
    /// Thousands of operations a second.
    #[serde(rename = "kops/s")]
    ThousandsPerSecond,
    /// Millions of operations a second.
    #[serde(rename = "Mops/s")]
    MillionsPerSecond,
}

impl Unit {
    /// How many nanoseconds, or operations a second, are one of it.
    pub fn size(self) -> f64 {
        match self {
            Unit::Nanoseconds | Unit::PerSecond => 1.0,
            Unit::Microseconds | Unit::ThousandsPerSecond => 1e3,
            Unit::Milliseconds | Unit::MillionsPerSecond => 1e6,
            Unit::Seconds => 1e9,
        }
    }

    /// Whether it is one of time.
    pub fn is_of_time(self) -> bool {
        matches!(self, Unit::Nanoseconds | Unit::Microseconds | Unit::Milliseconds | Unit::Seconds)
    }

    /// Its sign, as in experiment files.
    pub fn sign(self) -> &'static str {
        match self {
            Unit::Nanoseconds => "ns",
            Unit::Microseconds => "µs",
            Unit::Milliseconds => "ms",
            Unit::Seconds => "s",
            Unit::PerSecond => "ops/s",
            Unit::ThousandsPerSecond => "kops/s",
            Unit::MillionsPerSecond => "Mops/s",
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sign())
    }
}

/// What others have published of one system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Published {
    /// The system, as they call it.
    pub name: String,
    /// The part of the figure that it belongs to; `None`: to each.
    pub part: Option<String>,
    /// The values.
    pub values: PublishedValues,
}

/// Published values, in the figure's unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PublishedValues {
    /// Each x with its y, in the order of x.
    Points(Vec<(f64, f64)>),
    /// The lowest and the highest value over the whole axis, where no more is told.
    Range {
        /// The lowest.
        low: f64,
        /// The highest.
        high: f64,
    },
}
