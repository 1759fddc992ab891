//! Folding the repeats of a trial into one cell: a system under a workload at a number of clients.

use std::collections::BTreeMap;

use assay_measure::statistics::Interval;
use assay_model::{Durability, FailureKind, OperationKind};
use serde_json::Value;

use crate::{
    Caveat, DataBytes, DurabilitySetting, FailedTrial, Failure, LatencySummary, Mode, Placement,
    TrialRecord, certainty::over_repeats,
};

const MESSAGES_KEPT: usize = 5;

/// A system under a workload: what its repeats say together.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The system as shown.
    pub system: String,
    /// The driver's name.
    pub driver: String,
    /// The driver's layout.
    pub layout: String,
    /// Product and version; the first repeat's.
    pub system_version: String,
    /// What an acknowledgement promised.
    pub durability: DurabilitySetting,
    /// The workload's name.
    pub workload: String,
    /// The workload's parameters.
    pub workload_parameters: Value,
    /// How many clients worked at once.
    pub clients: u32,
    /// Closed or open loop.
    pub mode: Mode,
    /// Where client and server ran.
    pub placement: Placement,
    /// Records loaded.
    pub records: u64,
    /// How many repeats the cell holds; 0 where the first one failed.
    pub repeats: u32,
    /// Successful operations a second of each repeat, by the repeat's number.
    pub throughputs: BTreeMap<u32, f64>,
    /// The median over the repeats. With a single repeat the interval tells only how steady that
    /// one was; of few that are unlike there is none.
    pub throughput_ops_per_s: Interval,
    /// Response times by kind of operation.
    pub latency_ns: BTreeMap<OperationKind, LatencyIntervals>,
    /// Service times by kind of operation, where they differ.
    pub service_latency_ns: BTreeMap<OperationKind, LatencyIntervals>,
    /// Failed operations by kind of failure, over all repeats.
    pub errors: BTreeMap<FailureKind, u64>,
    /// The same by kind of operation.
    pub errors_by_operation: BTreeMap<OperationKind, BTreeMap<FailureKind, u64>>,
    /// Operations that ended, over all repeats.
    pub operations: u64,
    /// The first few different failures in the store's words.
    pub error_messages: Vec<String>,
    /// CPU time of Assay an operation.
    pub client_cpu_ns_per_op: Option<Interval>,
    /// CPU time of the server an operation.
    pub server_cpu_ns_per_op: Option<Interval>,
    /// Median resident memory of the server.
    pub server_rss_bytes: Option<u64>,
    /// Median of Assay's own memory on huge pages, for an embedded system.
    pub huge_pages_bytes: Option<u64>,
    /// Median bytes a record takes.
    pub data_bytes_per_record: DataBytes,
    /// Wrong answers over all repeats.
    pub wrong_answers: u64,
    /// Successful operations of each second, of the repeat with the median throughput.
    pub series: Vec<u64>,
    /// What a reader of the figures must know; those of all repeats.
    pub caveats: Vec<Caveat>,
    /// Why the system cannot do this.
    pub unsupported: Option<String>,
    /// How a repeat failed, after which there were no more.
    pub failure: Option<Failure>,
}

/// The repeats of a cell: trials that ended, and one that failed, of which there is one at least.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeats<'a> {
    /// The trials that ended, in the order in which they ran.
    pub trials: Vec<&'a TrialRecord>,
    /// The trial that failed.
    pub failed: Option<&'a FailedTrial>,
}

/// Latencies over repeats in nanoseconds: the median repeat's, with the interval over repeats where
/// they are enough, or alike enough, for one.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyIntervals {
    /// Each repeat's summary, by the repeat's number.
    pub repeats: BTreeMap<u32, LatencySummary>,
    /// The median.
    pub p50: Interval,
    /// The 95th percentile.
    pub p95: Interval,
    /// The 99th percentile.
    pub p99: Interval,
    /// The 99.9th percentile.
    pub p999: Interval,
    /// The 99.99th percentile.
    pub p9999: Interval,
    /// The smallest of all repeats.
    pub min: u64,
    /// The largest of all repeats.
    pub max: u64,
    /// The mean of all operations.
    pub mean: f64,
    /// How many operations, over all repeats.
    pub count: u64,
}

impl LatencyIntervals {
    fn of(repeats: BTreeMap<u32, LatencySummary>) -> LatencyIntervals {
        let over = |of: fn(&LatencySummary) -> u64| {
            let values: Vec<f64> = repeats.values().map(|summary| of(summary) as f64).collect();
            over_repeats(&values).unwrap_or_default()
        };
        let count: u64 = repeats.values().map(|summary| summary.count).sum();
        let total: f64 = repeats.values().map(|s| s.mean * s.count as f64).sum();
        LatencyIntervals {
            p50: over(|s| s.p50),
            p95: over(|s| s.p95),
            p99: over(|s| s.p99),
            p999: over(|s| s.p999),
            p9999: over(|s| s.p9999),
            min: repeats.values().map(|s| s.min).min().unwrap_or(0),
            max: repeats.values().map(|s| s.max).max().unwrap_or(0),
            mean: if count > 0 { total / count as f64 } else { 0.0 },
            count,
            repeats,
        }
    }

    /// The figures without their intervals.
    pub fn summary(&self) -> LatencySummary {
        LatencySummary {
            min: self.min,
            p50: self.p50.median.round() as u64,
            p95: self.p95.median.round() as u64,
            p99: self.p99.median.round() as u64,
            p999: self.p999.median.round() as u64,
            p9999: self.p9999.median.round() as u64,
            max: self.max,
            mean: self.mean,
            count: self.count,
        }
    }
}

/// Folds repeats into cells, in the order in which their first trials ran. Trials belong together
/// that agree in system, workload and its parameters, clients, records, durability, loop and
/// placement.
pub fn summarize(trials: &[TrialRecord]) -> Vec<Cell> {
    repeats_of_cells(trials, &[]).iter().map(Cell::of).collect()
}

/// What is folded into each cell, in the order in which their first trials ran.
pub(crate) fn repeats_of_cells<'a>(
    trials: &'a [TrialRecord],
    failures: &'a [FailedTrial],
) -> Vec<Repeats<'a>> {
    let blanks: Vec<TrialRecord> = failures.iter().map(FailedTrial::blank_record).collect();
    let mut cells: Vec<(Key<'_>, Repeats<'a>)> = Vec::new();
    for trial in trials {
        let key = Key::of(trial);
        match cells.iter_mut().find(|(known, _)| *known == key) {
            Some((_, repeats)) => repeats.trials.push(trial),
            None => cells.push((key, Repeats { trials: vec![trial], failed: None })),
        }
    }
    for (failed, blank) in failures.iter().zip(&blanks) {
        let key = Key::of(blank);
        match cells.iter_mut().find(|(known, _)| *known == key) {
            Some((_, repeats)) => repeats.failed = repeats.failed.or(Some(failed)),
            None => cells.push((key, Repeats { trials: Vec::new(), failed: Some(failed) })),
        }
    }
    let mut cells: Vec<Repeats<'a>> = cells.into_iter().map(|(_, repeats)| repeats).collect();
    if !failures.is_empty() {
        cells.sort_by_key(Repeats::first);
    }
    cells
}

impl Repeats<'_> {
    /// The number of the first trial.
    fn first(&self) -> Option<u32> {
        let ended = self.trials.iter().map(|trial| trial.trial);
        ended.chain(self.failed.map(|failed| failed.trial)).min()
    }
}

/// In what the trials of a cell agree.
#[derive(PartialEq)]
struct Key<'a> {
    names: [&'a str; 5],
    workload_parameters: &'a Value,
    clients: u32,
    records: u64,
    level: Durability,
    mode: Mode,
    is_unsupported: bool,
}

impl<'a> Key<'a> {
    fn of(trial: &'a TrialRecord) -> Key<'a> {
        let TrialRecord { system, driver, layout, workload, placement, .. } = trial;
        Key {
            names: [system, driver, layout, workload, &placement.policy],
            workload_parameters: &trial.workload_parameters,
            clients: trial.clients,
            records: trial.records,
            level: trial.durability.level,
            mode: trial.mode,
            is_unsupported: trial.unsupported.is_some(),
        }
    }
}

fn over_trials(
    trials: &[&TrialRecord],
    of: impl Fn(&TrialRecord) -> Option<f64>,
) -> Option<Interval> {
    let values: Vec<f64> = trials.iter().filter_map(|trial| of(trial)).collect();
    over_repeats(&values)
}

fn median_bytes(trials: &[&TrialRecord], of: impl Fn(&TrialRecord) -> Option<u64>) -> Option<u64> {
    let bytes = over_trials(trials, |trial| of(trial).map(|bytes| bytes as f64))?;
    Some(bytes.median.round() as u64)
}

fn latencies(
    trials: &[&TrialRecord],
    of: impl Fn(&TrialRecord) -> &BTreeMap<OperationKind, LatencySummary>,
) -> BTreeMap<OperationKind, LatencyIntervals> {
    let mut by_kind: BTreeMap<OperationKind, BTreeMap<u32, LatencySummary>> = BTreeMap::new();
    for trial in trials {
        for (kind, summary) in of(trial).iter().filter(|(_, summary)| summary.count > 0) {
            by_kind.entry(*kind).or_default().insert(trial.repeat, *summary);
        }
    }
    by_kind.into_iter().map(|(kind, repeats)| (kind, LatencyIntervals::of(repeats))).collect()
}

/// The trial in the middle by throughput, if there is any; of an even number the slower.
pub fn median_trial<'a>(trials: &[&'a TrialRecord]) -> Option<&'a TrialRecord> {
    let mut sorted = trials.to_vec();
    sorted.sort_by(|a, b| a.throughput_ops_per_s.median.total_cmp(&b.throughput_ops_per_s.median));
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}

/// Groups of cells that answer one question, in order of first appearance: same workload and
/// parameters, clients, records, durability, loop and placement; only the system differs.
pub fn group_cells(cells: &[Cell]) -> Vec<Vec<&Cell>> {
    let mut groups: Vec<Vec<&Cell>> = Vec::new();
    for cell in cells {
        match groups.iter_mut().find(|group| cell.same_question(group[0])) {
            Some(group) => group.push(cell),
            None => groups.push(vec![cell]),
        }
    }
    groups
}

impl Cell {
    /// Folds the repeats of one cell.
    ///
    /// # Panics
    /// Without any.
    pub fn of(repeats: &Repeats<'_>) -> Cell {
        let Repeats { trials, failed } = repeats;
        let blank = failed.map(FailedTrial::blank_record);
        let first = trials.first().copied().or(blank.as_ref());
        let first = first.expect("a cell has a trial that ended or one that failed");
        let throughputs: BTreeMap<u32, f64> = trials
            .iter()
            .filter(|trial| trial.unsupported.is_none())
            .map(|trial| (trial.repeat, trial.throughput_ops_per_s.median))
            .collect();
        let rates: Vec<f64> = throughputs.values().copied().collect();
        let throughput = match trials.as_slice() {
            [only] => only.throughput_ops_per_s,
            _ => over_repeats(&rates).unwrap_or_default(),
        };
        let mut caveats: Vec<Caveat> = Vec::new();
        let mut error_messages: Vec<String> = Vec::new();
        let mut errors = BTreeMap::new();
        let mut errors_by_operation: BTreeMap<OperationKind, BTreeMap<FailureKind, u64>> =
            BTreeMap::new();
        for trial in trials {
            for caveat in &trial.caveats {
                if !caveats.iter().any(|known| known.code == caveat.code) {
                    caveats.push(caveat.clone());
                }
            }
            for message in &trial.error_messages {
                if error_messages.len() < MESSAGES_KEPT && !error_messages.contains(message) {
                    error_messages.push(message.clone());
                }
            }
            for (kind, count) in &trial.errors {
                *errors.entry(*kind).or_default() += count;
            }
            for (operation, kinds) in &trial.errors_by_operation {
                let of_operation = errors_by_operation.entry(*operation).or_default();
                for (kind, count) in kinds {
                    *of_operation.entry(*kind).or_default() += count;
                }
            }
        }
        Cell {
            system: first.system.clone(),
            driver: first.driver.clone(),
            layout: first.layout.clone(),
            system_version: first.system_version.clone(),
            durability: first.durability.clone(),
            workload: first.workload.clone(),
            workload_parameters: first.workload_parameters.clone(),
            clients: first.clients,
            mode: first.mode,
            placement: first.placement.clone(),
            records: first.records,
            repeats: trials.len() as u32,
            throughput_ops_per_s: throughput,
            latency_ns: latencies(trials, |trial| &trial.latency_ns),
            service_latency_ns: latencies(trials, |trial| &trial.service_latency_ns),
            errors,
            errors_by_operation,
            operations: trials.iter().map(|trial| trial.operations).sum(),
            error_messages,
            client_cpu_ns_per_op: over_trials(trials, |trial| trial.client_cpu_ns_per_op),
            server_cpu_ns_per_op: over_trials(trials, |trial| trial.server_cpu_ns_per_op),
            server_rss_bytes: median_bytes(trials, |trial| trial.server_rss_bytes),
            huge_pages_bytes: median_bytes(trials, |trial| trial.huge_pages_bytes),
            data_bytes_per_record: DataBytes {
                disk: over_trials(trials, |trial| trial.data_bytes_per_record.disk)
                    .map(|bytes| bytes.median),
                memory: over_trials(trials, |trial| trial.data_bytes_per_record.memory)
                    .map(|bytes| bytes.median),
            },
            wrong_answers: trials.iter().map(|trial| trial.answers.wrong).sum(),
            series: median_trial(trials).map_or(Vec::new(), |median| {
                median.series.iter().map(|point| point.operations).collect()
            }),
            caveats,
            unsupported: first.unsupported.clone(),
            failure: failed.map(|failed| failed.failure.clone()),
            throughputs,
        }
    }

    /// Whether any trial of it ended with figures.
    pub fn has_run(&self) -> bool {
        self.unsupported.is_none() && self.repeats > 0
    }

    /// Whether two cells differ in the system only.
    pub fn same_question(&self, other: &Cell) -> bool {
        (&self.workload, &self.workload_parameters, self.clients, self.records, self.mode)
            == (
                &other.workload,
                &other.workload_parameters,
                other.clients,
                other.records,
                other.mode,
            )
            && (self.durability.level, &self.placement.policy)
                == (other.durability.level, &other.placement.policy)
    }

    /// The records in question: those loaded, or, where none were, those that the measurement was to
    /// insert, if that was set.
    pub fn records_in_question(&self) -> u64 {
        match self.records {
            0 => self.workload_parameters["operation_count"].as_u64().unwrap_or(0),
            loaded => loaded,
        }
    }

    /// How many operations failed, over all repeats.
    pub fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    /// The kind of operation with the most operations, whose latencies stand for the cell's.
    pub fn main_kind(&self) -> Option<OperationKind> {
        main_kind(self.latency_ns.iter().map(|(kind, latency)| (*kind, latency.count)))
    }
}

/// The kind with the most operations. Where another has as many but for chance (within 1 %), it is
/// the first in the order of tables, so that systems that are compared have the same one.
pub fn main_kind(counts: impl IntoIterator<Item = (OperationKind, u64)>) -> Option<OperationKind> {
    const AS_MANY: f64 = 0.99;
    let counts: BTreeMap<OperationKind, u64> = counts.into_iter().collect();
    let most = counts.values().copied().max().filter(|most| *most > 0)?;
    let as_many = |kind: &OperationKind| {
        counts.get(kind).is_some_and(|count| *count as f64 >= most as f64 * AS_MANY)
    };
    OperationKind::ALL.into_iter().find(as_many)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrivals, SeriesPoint};

    fn trial(system: &str, repeat: u32, rate: f64) -> TrialRecord {
        let p50 = (1e9 / rate) as u64;
        TrialRecord {
            system: system.into(),
            workload: "ycsb/a".into(),
            repeat,
            clients: 1,
            throughput_ops_per_s: Interval {
                median: rate,
                low: Some(rate - 1.0),
                high: Some(rate + 1.0),
            },
            latency_ns: [(
                OperationKind::Read,
                LatencySummary {
                    p50,
                    mean: p50 as f64,
                    count: 100,
                    max: p50,
                    ..Default::default()
                },
            )]
            .into(),
            series: vec![SeriesPoint { operations: rate as u64, ..SeriesPoint::default() }],
            operations: 100,
            ..TrialRecord::default()
        }
    }

    #[test]
    fn repeats_fold_into_a_cell_with_the_median() {
        let trials: Vec<TrialRecord> = [300.0, 100.0, 200.0]
            .into_iter()
            .zip(1..)
            .flat_map(|(rate, repeat)| [trial("a", repeat, rate), trial("b", repeat, rate * 2.0)])
            .collect();
        let cells = summarize(&trials);
        let systems: Vec<&str> = cells.iter().map(|cell| cell.system.as_str()).collect();
        assert_eq!(systems, ["a", "b"]);
        let a = &cells[0];
        assert_eq!((a.repeats, a.operations), (3, 300));
        assert_eq!(a.throughput_ops_per_s.median, 200.0);
        assert_eq!(a.throughput_ops_per_s.low, None, "three repeats so unlike say nothing");
        assert_eq!(a.throughputs, [(1, 300.0), (2, 100.0), (3, 200.0)].into());
        assert_eq!(a.series, [200]);
        let read = &a.latency_ns[&OperationKind::Read];
        assert_eq!((read.p50.median, read.count, read.max), (5e6, 300, 10_000_000));
        assert_eq!(group_cells(&cells).len(), 1);
    }

    #[test]
    fn a_single_repeat_keeps_its_own_interval() {
        let cells = summarize(&[trial("a", 1, 100.0)]);
        assert_eq!(cells[0].throughput_ops_per_s.low, Some(99.0));
        assert_eq!(cells[0].latency_ns[&OperationKind::Read].p50.low, None);
    }

    #[test]
    fn different_questions_stay_apart() {
        let base = trial("a", 1, 100.0);
        let open = Mode::Open { rate_per_s: 5.0, arrivals: Arrivals::Uniform };
        let trials = [
            base.clone(),
            TrialRecord { clients: 4, ..base.clone() },
            TrialRecord { records: 9, ..base.clone() },
            TrialRecord { mode: open, ..base.clone() },
            TrialRecord { workload_parameters: serde_json::json!({"x": 1}), ..base.clone() },
        ];
        let cells = summarize(&trials);
        assert_eq!(cells.len(), 5);
        assert_eq!(group_cells(&cells).len(), 5);
    }

    #[test]
    fn errors_add_up_and_caveats_are_said_once() {
        let caveat = Caveat { code: "c".into(), text: "a".into() };
        let failing = |repeat| TrialRecord {
            errors: [(FailureKind::Timeout, 2)].into(),
            error_messages: vec!["slow".into()],
            caveats: vec![caveat.clone()],
            ..trial("a", repeat, 1.0)
        };
        let cells = summarize(&[failing(1), failing(2)]);
        assert_eq!(cells[0].failed(), 4);
        assert_eq!(cells[0].error_messages, ["slow"]);
        assert_eq!(cells[0].caveats, [caveat]);
    }
}
