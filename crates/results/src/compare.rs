//! Two runs side by side: the ratio of each figure with its interval, and a verdict.

use std::collections::BTreeMap;

use assay_measure::statistics::{Ratio, Verdict, ratio_unpaired};
use assay_model::{Durability, OperationKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cell, Failure, LatencySummary, Mode, Run, rank::ratio_of};

/// Which systems to set against each other, by their labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Across<'a> {
    /// Each system with itself.
    SameSystem,
    /// One system of the first run with another of the second.
    Systems {
        /// The system of the first run.
        a: &'a str,
        /// The system of the second run.
        b: &'a str,
    },
}

/// One cell of the first run and its counterpart in the second. Ratios are second to first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The system of the first run.
    pub system_a: String,
    /// The system of the second run.
    pub system_b: String,
    /// The workload's name.
    pub workload: String,
    /// How many clients worked at once.
    pub clients: u32,
    /// Records loaded.
    pub records: u64,
    /// The durability level.
    pub durability: Durability,
    /// Closed or open loop.
    pub mode: Mode,
    /// Throughput of the second divided by that of the first, if both did anything.
    pub throughput: Option<Ratio>,
    /// Response times by kind of operation that both have.
    pub latency: BTreeMap<OperationKind, LatencyRatios>,
    /// Operations that failed in the first, over all repeats.
    pub errors_a: u64,
    /// Operations that failed in the second, over all repeats.
    pub errors_b: u64,
    /// How a repeat of the first failed, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_a: Option<Failure>,
    /// How a repeat of the second failed, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_b: Option<Failure>,
    /// What is said of the second: by throughput, or in an open loop by the 99th percentile of the
    /// first's main kind of operation. A second that did nothing where the first did, or that failed
    /// at once, is slower.
    pub verdict: Verdict,
}

/// Ratios of response times, the second divided by the first. The verdict is on the second, of
/// which less is faster.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyRatios {
    /// Of the medians.
    pub p50: Option<Ratio>,
    /// Of the 99th percentiles.
    pub p99: Option<Ratio>,
}

/// Everything that two runs have in common, and what they have not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparisons {
    /// Cells with a counterpart.
    pub matched: Vec<Comparison>,
    /// Cells of the first run without a counterpart that has figures, as `redis ycsb/a c4`.
    pub only_in_a: Vec<String>,
    /// Those of the second.
    pub only_in_b: Vec<String>,
    /// Differences between the runs other than what was measured: machine, versions.
    pub differences: Vec<String>,
}

impl Comparisons {
    /// Whether any cell of the second run is slower, or failed where that of the first did not, for
    /// an exit status.
    pub fn any_worse(&self) -> bool {
        self.matched.iter().any(|comparison| {
            comparison.verdict == Verdict::Slower
                || (comparison.failure_b.is_some() && comparison.failure_a.is_none())
        })
    }
}

/// Compares the second run with the first. Within one run (`a` and `b` the same) repeats ran next
/// to each other and are compared in pairs; those of two runs did not, and drift between the runs
/// is not seen.
pub fn compare(a: &Run, b: &Run, across: Across<'_>) -> Comparisons {
    let in_pairs = a.header.id == b.header.id;
    let of_system = |run: &Run, system: Option<&str>| -> Vec<Cell> {
        let cells = run.cells().into_iter();
        cells.filter(|cell| system.is_none_or(|system| cell.system == system)).collect()
    };
    let (system_a, system_b) = match across {
        Across::SameSystem => (None, None),
        Across::Systems { a, b } => (Some(a), Some(b)),
    };
    let cells_a = of_system(a, system_a);
    let mut cells_b = of_system(b, system_b);
    let mut comparisons = Comparisons {
        matched: Vec::new(),
        only_in_a: Vec::new(),
        only_in_b: Vec::new(),
        differences: differences(a, b),
    };
    for cell in &cells_a {
        let counterpart = cells_b.iter().position(|other| {
            cell.same_question(other)
                && (across != Across::SameSystem || cell.system == other.system)
        });
        let Some(other) = counterpart.map(|found| cells_b.remove(found)) else {
            comparisons.only_in_a.push(name(cell));
            continue;
        };
        match (&cell.unsupported, &other.unsupported) {
            (None, None) => comparisons.matched.push(compare_cells(cell, &other, in_pairs)),
            (None, Some(_)) => comparisons.only_in_a.push(name(cell)),
            (Some(_), None) => comparisons.only_in_b.push(name(&other)),
            (Some(_), Some(_)) => {}
        }
    }
    comparisons.only_in_b.extend(cells_b.iter().map(name));
    comparisons
}

fn compare_cells(a: &Cell, b: &Cell, in_pairs: bool) -> Comparison {
    let ratio = |a: &BTreeMap<u32, f64>, b: &BTreeMap<u32, f64>| {
        if in_pairs {
            return ratio_of(a, b);
        }
        let values = |of: &BTreeMap<u32, f64>| of.values().copied().collect::<Vec<f64>>();
        ratio_unpaired(&values(a), &values(b))
    };
    let of_times = |kind: OperationKind, of: fn(&LatencySummary) -> u64| {
        let values = |cell: &Cell| -> Option<BTreeMap<u32, f64>> {
            let repeats = &cell.latency_ns.get(&kind)?.repeats;
            Some(repeats.iter().map(|(repeat, s)| (*repeat, of(s) as f64)).collect())
        };
        ratio(&values(a)?, &values(b)?).map(Ratio::of_times)
    };
    let latency: BTreeMap<OperationKind, LatencyRatios> = a
        .latency_ns
        .keys()
        .filter(|kind| b.latency_ns.contains_key(kind))
        .map(|kind| {
            let ratios =
                LatencyRatios { p50: of_times(*kind, |s| s.p50), p99: of_times(*kind, |s| s.p99) };
            (*kind, ratios)
        })
        .collect();
    let throughput = ratio(&a.throughputs, &b.throughputs);
    let decisive = match a.mode {
        Mode::Closed => throughput,
        Mode::Open { .. } => {
            a.main_kind().and_then(|kind| latency.get(&kind)).and_then(|ratios| ratios.p99)
        }
    };
    let verdict = match decisive {
        Some(ratio) => ratio.verdict,
        None => verdict_without_ratio(a, b),
    };
    Comparison {
        system_a: a.system.clone(),
        system_b: b.system.clone(),
        workload: a.workload.clone(),
        clients: a.clients,
        records: a.records,
        durability: a.durability.level,
        mode: a.mode,
        throughput,
        latency,
        errors_a: a.failed(),
        errors_b: b.failed(),
        failure_a: a.failure.clone(),
        failure_b: b.failure.clone(),
        verdict,
    }
}

/// No ratio can be made of a rate of zero, but something may be said of it.
fn verdict_without_ratio(a: &Cell, b: &Cell) -> Verdict {
    let works = |cell: &Cell| cell.throughputs.values().any(|rate| *rate > 0.0);
    let works_always =
        |cell: &Cell| cell.has_run() && cell.throughputs.values().all(|rate| *rate > 0.0);
    match (works_always(a), works_always(b)) {
        (true, false) => Verdict::Slower,
        (false, true) => Verdict::Faster,
        _ if !a.has_run() && !b.has_run() => Verdict::Undecided,
        _ if !works(a) && !works(b) => Verdict::Tie,
        _ => Verdict::Undecided,
    }
}

fn name(cell: &Cell) -> String {
    let failed = cell.failure.as_ref().map(|failure| format!(", which {}", failure.sentence()));
    let failed = failed.unwrap_or_default();
    format!("{} {} c{}{failed}", cell.system, cell.workload, cell.clients)
}

/// What two runs differ in other than what was measured: machine, versions. As `kernel: 6.1 and 6.2`.
pub fn differences(a: &Run, b: &Run) -> Vec<String> {
    let (one, two) = (&a.header, &b.header);
    let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let pairs = [
        ("Assay", one.assay_version.clone(), two.assay_version.clone()),
        ("Assay's revision", shown(&one.git_revision), shown(&two.git_revision)),
        ("processor", shown(&one.machine.cpu), shown(&two.machine.cpu)),
        ("cores", one.machine.cores.to_string(), two.machine.cores.to_string()),
        ("kernel", shown(&one.machine.kernel), shown(&two.machine.kernel)),
        ("clock source", shown(&one.machine.clocksource), shown(&two.machine.clocksource)),
        ("governor", shown(&one.machine.governor), shown(&two.machine.governor)),
    ];
    pairs
        .into_iter()
        .filter(|(_, a, b)| a != b)
        .map(|(what, a, b)| format!("{what}: {a} and {b}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FailedTrial, Interval, RunHeader, TrialPhase, TrialRecord};

    fn run(id: &str, systems: &[(&str, f64)]) -> Run {
        let mut header = RunHeader::starting(vec![], serde_json::Value::Null);
        header.id = id.into();
        let trials = (1..=8)
            .flat_map(|repeat| {
                systems.iter().map(move |(system, rate)| {
                    let jitter = 1.0 + 0.002 * f64::from(repeat % 3);
                    let p50 = (1e9 / (rate * jitter)) as u64;
                    TrialRecord {
                        system: (*system).into(),
                        workload: "ycsb/a".into(),
                        repeat,
                        throughput_ops_per_s: Interval::unsure(rate * jitter),
                        latency_ns: [(
                            OperationKind::Read,
                            LatencySummary { p50, p99: p50, count: 9, ..Default::default() },
                        )]
                        .into(),
                        ..TrialRecord::default()
                    }
                })
            })
            .collect();
        Run { path: "x".into(), header, trials }
    }

    #[test]
    fn a_slower_second_run_is_called_slower_and_its_latency_too() {
        let before = run("1", &[("a", 100_000.0), ("b", 500.0), ("gone", 1.0)]);
        let after = run("2", &[("a", 90_000.0), ("b", 500.0), ("new", 1.0)]);
        let comparisons = compare(&before, &after, Across::SameSystem);
        let verdicts: Vec<Verdict> = comparisons.matched.iter().map(|c| c.verdict).collect();
        assert_eq!(verdicts, [Verdict::Slower, Verdict::Tie]);
        assert!(comparisons.any_worse());
        let first = &comparisons.matched[0];
        assert!((first.throughput.unwrap().ratio - 0.9).abs() < 0.005);
        let read = first.latency[&OperationKind::Read].p50.unwrap();
        assert!(read.ratio > 1.09 && read.verdict == Verdict::Slower);
        assert_eq!(comparisons.only_in_a, ["gone ycsb/a c0"]);
        assert_eq!(comparisons.only_in_b, ["new ycsb/a c0"]);
        assert!(comparisons.differences.is_empty());
    }

    #[test]
    fn what_one_run_could_not_do_is_missing_there_and_what_neither_could_is_no_news() {
        let can = run("1", &[("a", 1.0), ("b", 1.0)]);
        let mut cannot = run("2", &[("a", 1.0), ("b", 1.0)]);
        let forbid = |run: &mut Run, system: &str| {
            let trials = run.trials.iter_mut().filter(|trial| trial.system == system);
            trials.for_each(|trial| trial.unsupported = Some("no".into()));
        };
        forbid(&mut cannot, "a");
        let comparisons = compare(&can, &cannot, Across::SameSystem);
        assert_eq!(comparisons.only_in_a, ["a ycsb/a c0"]);
        assert_eq!(compare(&cannot, &can, Across::SameSystem).only_in_b, ["a ycsb/a c0"]);
        forbid(&mut cannot, "b");
        let neither = compare(&cannot, &cannot, Across::SameSystem);
        assert!(neither.matched.is_empty() && neither.only_in_a.is_empty());
    }

    #[test]
    fn two_systems_of_one_run_are_compared_in_pairs() {
        let run = run("1", &[("a", 100.0), ("b", 200.0)]);
        let comparisons = compare(&run, &run, Across::Systems { a: "a", b: "b" });
        assert_eq!(comparisons.matched.len(), 1);
        assert_eq!(comparisons.matched[0].verdict, Verdict::Faster);
        let ratio = comparisons.matched[0].throughput.unwrap();
        assert!((ratio.low.unwrap() - 2.0).abs() < 1e-9, "in pairs the jitter cancels");
    }

    #[test]
    fn a_system_that_failed_is_worse_whatever_its_figures_say() {
        let before = run("1", &[("a", 100.0), ("b", 100.0)]);
        let mut after = run("2", &[("a", 100.0), ("b", 100.0)]);
        let fail = |run: &mut Run, system: &str| {
            let of_system = run.trials.iter().find(|trial| trial.system == system).unwrap();
            let failed = FailedTrial::of(of_system.clone(), TrialPhase::Measure, "it died");
            run.header.failures.push(failed);
        };
        fail(&mut after, "a");
        let late = compare(&before, &after, Across::SameSystem);
        assert_eq!(late.matched[0].verdict, Verdict::Tie, "of the repeats before");
        assert_eq!(late.matched[0].failure_b.as_ref().unwrap().error, "it died");
        assert!(late.any_worse() && !compare(&after, &after, Across::SameSystem).any_worse());

        after.trials.retain(|trial| trial.system != "a");
        let at_once = compare(&before, &after, Across::SameSystem);
        assert_eq!(at_once.matched.len(), 2, "{at_once:?}");
        let of_a = |compared: &Comparisons| {
            let of_a = compared.matched.iter().find(|of| of.system_a == "a").unwrap();
            (of_a.throughput, of_a.verdict)
        };
        assert_eq!(of_a(&at_once), (None, Verdict::Slower));
        let back = compare(&after, &before, Across::SameSystem);
        assert_eq!(of_a(&back), (None, Verdict::Faster));
        let neither = compare(&after, &after, Across::SameSystem);
        assert_eq!(of_a(&neither), (None, Verdict::Undecided));
    }

    #[test]
    fn a_run_that_did_nothing_is_slower() {
        let before = run("1", &[("a", 100.0)]);
        let mut after = run("2", &[("a", 100.0)]);
        after.trials.iter_mut().for_each(|t| t.throughput_ops_per_s = Interval::unsure(0.0));
        after.header.machine.kernel = Some("other".into());
        let comparisons = compare(&before, &after, Across::SameSystem);
        assert_eq!(comparisons.matched[0].throughput, None);
        assert_eq!(comparisons.matched[0].verdict, Verdict::Slower);
        assert!(comparisons.differences[0].starts_with("kernel: "), "{comparisons:?}");
    }
}
