//! Who stands where over all loads of a run, and what one setting changes.

use std::collections::{BTreeMap, BTreeSet};

use assay_measure::statistics::{Interval, Ratio};
use assay_model::OperationKind;

use crate::{Cell, Mode, Rank, certainty::over_repeats, group_cells, rank, rank::ratio_of};

/// A system in an order over several loads.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The system.
    pub system: String,
    /// Its place.
    pub rank: Option<Rank>,
    /// The mean over the loads: operations a second, or nanoseconds of one kind of operation.
    pub value: Interval,
}

/// An order of systems over loads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Order {
    /// The systems, best first.
    pub placed: Vec<Placed>,
    /// Over how many loads: those that every system has figures of.
    pub loads: usize,
    /// How many loads were left out because a system had no figures there.
    pub left_out: usize,
}

/// The order of the systems over all loads: by the mean of their throughputs, or of the mean response
/// times of one kind of operation. Each load counts as much as another. A repeat's value is the mean
/// over the loads in this repeat, so that repeats of different systems are compared in pairs, as
/// within one load.
pub fn order(cells: &[Cell], operation: Option<OperationKind>) -> Order {
    let (values, loads, left_out) = over_loads(cells, operation);
    let ranked: Vec<Cell> = values
        .iter()
        .filter_map(|(system, repeats)| as_cell(cells, system, repeats, operation))
        .collect();
    let ranks = rank(&ranked.iter().collect::<Vec<_>>());
    let mut placed: Vec<Placed> = ranked
        .iter()
        .zip(ranks)
        .filter_map(|(cell, rank)| {
            let values: Vec<f64> = values.get(&cell.system)?.values().copied().collect();
            Some(Placed { system: cell.system.clone(), rank, value: over_repeats(&values)? })
        })
        .collect();
    placed.sort_by(|a, b| {
        let place = |placed: &Placed| placed.rank.map_or(u32::MAX, |rank| rank.place);
        place(a).cmp(&place(b)).then_with(|| match operation {
            Some(_) => a.value.median.total_cmp(&b.value.median),
            None => b.value.median.total_cmp(&a.value.median),
        })
    });
    Order { placed, loads, left_out }
}

/// What going from one system to another changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    /// The mean throughput over the loads after, divided by that before.
    pub throughput: Option<Ratio>,
    /// Over how many loads.
    pub loads: usize,
    /// By kind of operation, the share that failed before and after, over all loads.
    pub failed: BTreeMap<OperationKind, (f64, f64)>,
}

/// What going from the system `from` to the system `to` changes, over the loads that both have.
pub fn change(cells: &[Cell], from: &str, to: &str) -> Option<Changed> {
    let both: Vec<Cell> =
        cells.iter().filter(|cell| cell.system == from || cell.system == to).cloned().collect();
    let (values, loads, _) = over_loads(&both, None);
    let throughput = ratio_of(values.get(from)?, values.get(to)?);
    let share = |system: &str, kind: OperationKind| {
        let of_system = both.iter().filter(|cell| cell.system == system);
        let (ok, failed) = of_system.fold((0, 0), |(ok, failed), cell| {
            (ok + succeeded(cell, kind), failed + failures(cell, kind))
        });
        (ok + failed > 0).then(|| failed as f64 / (ok + failed) as f64)
    };
    let failed = OperationKind::ALL
        .into_iter()
        .filter_map(|kind| Some((kind, (share(from, kind)?, share(to, kind)?))))
        .collect();
    Some(Changed { throughput, loads, failed })
}

/// How many operations of a kind succeeded, over all repeats.
pub fn succeeded(cell: &Cell, kind: OperationKind) -> u64 {
    cell.latency_ns.get(&kind).map_or(0, |latency| latency.count)
}

/// How many operations of a kind failed, over all repeats.
pub fn failures(cell: &Cell, kind: OperationKind) -> u64 {
    cell.errors_by_operation.get(&kind).map_or(0, |kinds| kinds.values().sum())
}

/// By repeat, the mean over the loads.
type Repeats = BTreeMap<u32, f64>;

/// The repeats of each system over the loads that all have, how many loads these are, and how many
/// others there are.
fn over_loads(
    cells: &[Cell],
    operation: Option<OperationKind>,
) -> (BTreeMap<String, Repeats>, usize, usize) {
    let of_loads: Vec<Vec<(&str, Repeats)>> = group_cells(cells)
        .into_iter()
        .map(|group| {
            let known = group
                .into_iter()
                .filter_map(|cell| Some((cell.system.as_str(), repeats(cell, operation)?)));
            known.collect()
        })
        .filter(|load: &Vec<_>| !load.is_empty())
        .collect();
    let systems: BTreeSet<&str> = of_loads.iter().flatten().map(|(system, _)| *system).collect();
    let (whole, partial): (Vec<_>, Vec<_>) =
        of_loads.into_iter().partition(|load| load.len() == systems.len());
    let mut sums: BTreeMap<String, BTreeMap<u32, (usize, f64)>> = BTreeMap::new();
    for (system, repeats) in whole.iter().flatten() {
        let sums = sums.entry((*system).to_owned()).or_default();
        for (repeat, value) in repeats {
            let (count, sum) = sums.entry(*repeat).or_default();
            *count += 1;
            *sum += value;
        }
    }
    let values = sums
        .into_iter()
        .map(|(system, sums)| {
            let in_all = sums.into_iter().filter(|(_, (count, _))| *count == whole.len());
            (system, in_all.map(|(repeat, (count, sum))| (repeat, sum / count as f64)).collect())
        })
        .collect();
    (values, whole.len(), partial.len())
}

/// A cell's figure in each repeat.
fn repeats(cell: &Cell, operation: Option<OperationKind>) -> Option<Repeats> {
    if !cell.has_run() || cell.mode != Mode::Closed {
        return None;
    }
    let Some(kind) = operation else { return Some(cell.throughputs.clone()) };
    let latency = cell.latency_ns.get(&kind)?;
    Some(latency.repeats.iter().map(|(repeat, summary)| (*repeat, summary.mean)).collect())
}

/// The system as a cell that can be ranked by its throughput.
fn as_cell(
    cells: &[Cell],
    system: &str,
    repeats: &Repeats,
    operation: Option<OperationKind>,
) -> Option<Cell> {
    const NS_A_SECOND: f64 = 1e9;
    let like = cells.iter().find(|cell| cell.system == system && cell.has_run())?;
    let rate = |value: f64| if operation.is_some() { NS_A_SECOND / value } else { value };
    let throughputs: Repeats =
        repeats.iter().map(|(repeat, value)| (*repeat, rate(*value))).collect();
    let rates: Vec<f64> = throughputs.values().copied().collect();
    Some(Cell {
        throughput_ops_per_s: over_repeats(&rates)?,
        repeats: rates.len() as u32,
        throughputs,
        ..like.clone()
    })
}

#[cfg(test)]
mod tests {
    use assay_measure::statistics::Verdict;
    use assay_model::FailureKind;

    use super::*;
    use crate::{LatencySummary, TrialRecord, summarize};

    fn trial(system: &str, records: u64, repeat: u32, rate: f64) -> TrialRecord {
        let mean = 4e9 / rate;
        let summary = LatencySummary { mean, count: 95, ..LatencySummary::default() };
        TrialRecord {
            system: system.into(),
            workload: "w".into(),
            records,
            repeat,
            throughput_ops_per_s: Interval::unsure(rate * (1.0 + f64::from(repeat) * 1e-4)),
            latency_ns: [(OperationKind::Update, summary)].into(),
            operations: 100,
            ..TrialRecord::default()
        }
    }

    fn trials(rates: &[(&str, u64, f64)]) -> Vec<TrialRecord> {
        (1..=5)
            .flat_map(|repeat| {
                rates
                    .iter()
                    .map(move |(system, records, rate)| trial(system, *records, repeat, *rate))
            })
            .collect()
    }

    #[test]
    fn each_load_counts_as_much_and_the_order_has_ties_and_intervals() {
        let cells = summarize(&trials(&[
            ("slow", 10, 100.0),
            ("slow", 1000, 300.0),
            ("quick", 10, 1000.0),
            ("quick", 1000, 500.0),
            ("alike", 10, 500.0),
            ("alike", 1000, 1000.0),
        ]));
        let all = order(&cells, None);
        assert_eq!((all.loads, all.left_out), (2, 0));
        let told: Vec<(&str, u32, bool, u64)> = all
            .placed
            .iter()
            .map(|placed| {
                let rank = placed.rank.unwrap();
                (placed.system.as_str(), rank.place, rank.tied, placed.value.median as u64)
            })
            .collect();
        let (first, second) = (told[0].0, told[1].0);
        assert!([("quick", "alike"), ("alike", "quick")].contains(&(first, second)), "{told:?}");
        assert_eq!((told[0].1, told[0].2, told[0].3), (1, true, 750));
        assert_eq!(told[2], ("slow", 3, false, 200));
    }

    #[test]
    fn a_kind_of_operation_is_ordered_by_time_the_shortest_first() {
        let cells = summarize(&trials(&[("slow", 10, 100.0), ("quick", 10, 1000.0)]));
        let updates = order(&cells, Some(OperationKind::Update));
        let told: Vec<(&str, f64)> = updates
            .placed
            .iter()
            .map(|placed| (placed.system.as_str(), placed.value.median))
            .collect();
        assert_eq!(told, [("quick", 4e6), ("slow", 4e7)]);
        assert_eq!(order(&cells, Some(OperationKind::Scan)), Order::default());
    }

    #[test]
    fn loads_that_one_system_lacks_are_left_out_and_counted() {
        let cells = summarize(&trials(&[("a", 10, 100.0), ("b", 10, 200.0), ("b", 1000, 1.0)]));
        let order = order(&cells, None);
        assert_eq!((order.loads, order.left_out), (1, 1));
        assert_eq!(order.placed[0].system, "b");
    }

    #[test]
    fn a_change_has_a_ratio_with_its_interval_and_the_failures_of_each_kind() {
        let mut trials = trials(&[("strong", 10, 1000.0), ("eventual", 10, 1226.0)]);
        for trial in trials.iter_mut().filter(|trial| trial.system == "strong") {
            trial.errors = [(FailureKind::Conflict, 5)].into();
            let conflicts = [(FailureKind::Conflict, 5)].into();
            trial.errors_by_operation = [(OperationKind::Update, conflicts)].into();
        }
        let changed = change(&summarize(&trials), "strong", "eventual").unwrap();
        let ratio = changed.throughput.unwrap();
        assert!((ratio.ratio - 1.226).abs() < 1e-9 && ratio.verdict == Verdict::Faster);
        assert_eq!(changed.failed, [(OperationKind::Update, (0.05, 0.0))].into());
        assert_eq!(change(&summarize(&trials), "strong", "gone"), None);
    }
}
