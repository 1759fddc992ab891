//! The order of the systems of a group, with ties.

use std::{cmp::Ordering, collections::BTreeMap};

use assay_measure::statistics::{Ratio, Verdict, ratio_over_pairs, ratio_unpaired};

use crate::{Cell, Mode};

/// A system's place in its group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rank {
    /// From 1; systems that tie share a place, and the next place counts them all.
    pub place: u32,
    /// Whether others share the place.
    pub tied: bool,
    /// Whether there were repeats enough, and alike enough, to tell noise from difference.
    /// Otherwise the place is that of the bare figures.
    pub decided: bool,
    /// This system's figure divided by that of the best of the group, with a verdict on this
    /// system; `None` for the best itself and where a figure is zero.
    pub to_best: Option<Ratio>,
}

/// Ranks the cells of one group: by throughput, and in an open loop, whose rate is given, by the
/// 99th percentile of the response time of the main kind of operation. A system ties with the best
/// one still without a place if their ratio's verdict is a tie. If that ratio is hardly known, it
/// does not, and the places of both are undecided. The result is in the order of `cells`; unsupported
/// cells and those without figures have no rank.
pub fn rank(cells: &[&Cell]) -> Vec<Option<Rank>> {
    let mut ranks: Vec<Option<Rank>> = vec![None; cells.len()];
    let mut unsure = vec![false; cells.len()];
    let mut waiting: Vec<usize> =
        (0..cells.len()).filter(|index| score(cells[*index]).is_some()).collect();
    waiting.sort_by(|a, b| {
        let order = score(cells[*b]).partial_cmp(&score(cells[*a]));
        order.unwrap_or(Ordering::Equal)
    });
    let best = waiting.first().copied();
    let mut place = 1;
    while let Some(leader) = waiting.first().copied() {
        let (with_leader, rest): (Vec<usize>, Vec<usize>) =
            waiting.into_iter().partition(|index| {
                let stands = if *index == leader {
                    Standing::Tied
                } else {
                    standing(cells[leader], cells[*index])
                };
                if stands == Standing::Unsure {
                    unsure[leader] = true;
                    unsure[*index] = true;
                }
                stands == Standing::Tied
            });
        for index in &with_leader {
            let to_best = best
                .filter(|best| best != index)
                .and_then(|best| figure_ratio(cells[best], cells[*index]));
            ranks[*index] = Some(Rank {
                place,
                tied: with_leader.len() > 1,
                decided: cells[*index].repeats > 1,
                to_best,
            });
        }
        place += with_leader.len() as u32;
        waiting = rest;
    }
    for (rank, unsure) in ranks.iter_mut().zip(unsure) {
        rank.iter_mut().for_each(|rank| rank.decided &= !unsure);
    }
    ranks
}

/// The figure by which cells are ranked, more being better.
fn score(cell: &Cell) -> Option<f64> {
    if !cell.has_run() {
        return None;
    }
    match cell.mode {
        Mode::Closed => Some(cell.throughput_ops_per_s.median).filter(|rate| rate.is_finite()),
        Mode::Open { .. } => cell.main_kind().map(|kind| -cell.latency_ns[&kind].p99.median),
    }
}

/// How a cell stands to one that is not worse.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Tied,
    Behind,
    /// The repeats of the two do not tell.
    Unsure,
}

fn standing(leader: &Cell, other: &Cell) -> Standing {
    match figure_ratio(leader, other) {
        Some(ratio) if ratio.verdict == Verdict::Tie => Standing::Tied,
        Some(ratio) if is_unsure(&ratio) => Standing::Unsure,
        None if score(leader) == score(other) => Standing::Tied,
        _ => Standing::Behind,
    }
}

/// Whether there were repeats enough, but too unlike.
fn is_unsure(ratio: &Ratio) -> bool {
    ratio.verdict == Verdict::Undecided && ratio.low.is_some()
}

/// `other`'s figure divided by `base`'s.
fn figure_ratio(base: &Cell, other: &Cell) -> Option<Ratio> {
    match base.mode {
        Mode::Closed => ratio_of(&base.throughputs, &other.throughputs),
        Mode::Open { .. } => {
            let p99 = |cell: &Cell| {
                let repeats = &cell.latency_ns[&cell.main_kind()?].repeats;
                Some(repeats.iter().map(|(repeat, s)| (*repeat, s.p99 as f64)).collect())
            };
            ratio_of(&p99(base)?, &p99(other)?).map(Ratio::of_times)
        }
    }
}

/// Pairs by the repeats' numbers where both have the same ones.
pub(crate) fn ratio_of(base: &BTreeMap<u32, f64>, other: &BTreeMap<u32, f64>) -> Option<Ratio> {
    let values = |of: &BTreeMap<u32, f64>| of.values().copied().collect::<Vec<f64>>();
    if base.keys().eq(other.keys()) {
        ratio_over_pairs(&values(base), &values(other))
    } else {
        ratio_unpaired(&values(base), &values(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrivals, Interval, LatencySummary, OperationKind, TrialRecord, summarize};

    fn cells(systems: &[(&str, &[f64])]) -> Vec<Cell> {
        let mut trials = Vec::new();
        for (system, rates) in systems {
            for (repeat, rate) in (1..).zip(*rates) {
                trials.push(TrialRecord {
                    system: (*system).into(),
                    repeat,
                    throughput_ops_per_s: Interval::unsure(*rate),
                    ..TrialRecord::default()
                });
            }
        }
        summarize(&trials)
    }

    fn places(cells: &[Cell]) -> Vec<Option<(u32, bool)>> {
        let ranks = rank(&cells.iter().collect::<Vec<_>>());
        ranks.into_iter().map(|rank| rank.map(|rank| (rank.place, rank.tied))).collect()
    }

    #[test]
    fn systems_inside_the_noise_share_a_place_and_the_next_counts_them() {
        let cells = cells(&[
            ("slow", &[50.0, 51.0, 49.0, 50.5, 50.0]),
            ("a", &[100.0, 101.0, 99.0, 102.0, 98.0]),
            ("b", &[101.0, 99.0, 100.0, 98.0, 102.0]),
        ]);
        assert_eq!(places(&cells), [Some((3, false)), Some((1, true)), Some((1, true))]);
        let ranks = rank(&cells.iter().collect::<Vec<_>>());
        let slow = ranks[0].unwrap().to_best.unwrap();
        assert!(slow.verdict == Verdict::Slower && (slow.ratio - 0.5).abs() < 0.02);
    }

    #[test]
    fn what_scatters_too_much_to_tell_is_no_tie_and_stands_by_its_figure() {
        let cells = cells(&[
            ("wild", &[20.0, 150.0]),
            ("best", &[400.0, 410.0]),
            ("third", &[130.0, 135.0]),
            ("close", &[402.0, 405.0]),
        ]);
        assert_eq!(
            places(&cells),
            [Some((4, false)), Some((1, true)), Some((3, false)), Some((1, true))]
        );
        let ranks = rank(&cells.iter().collect::<Vec<_>>());
        let decided: Vec<bool> = ranks.iter().flatten().map(|rank| rank.decided).collect();
        assert_eq!(
            decided,
            [false, false, false, true],
            "the wild one may be the best or the last"
        );
    }

    #[test]
    fn single_repeats_are_ordered_but_not_decided() {
        let cells = cells(&[("a", &[100.0]), ("b", &[200.0])]);
        let ranks = rank(&cells.iter().collect::<Vec<_>>());
        assert_eq!(
            ranks[1].map(|rank| (rank.place, rank.tied, rank.decided)),
            Some((1, false, false))
        );
        assert_eq!(ranks[0].map(|rank| rank.place), Some(2));
    }

    #[test]
    fn a_system_that_did_nothing_is_last_and_one_that_cannot_has_no_place() {
        let mut cells = cells(&[("dead", &[0.0, 0.0]), ("a", &[1.0, 1.1]), ("cannot", &[0.0])]);
        cells[2].unsupported = Some("no scans".into());
        assert_eq!(places(&cells), [Some((2, false)), Some((1, false)), None]);
    }

    #[test]
    fn an_open_loop_is_ranked_by_response_time() {
        let trial = |system: &str, repeat: u32, p99: u64| TrialRecord {
            system: system.into(),
            repeat,
            mode: Mode::Open { rate_per_s: 10.0, arrivals: Arrivals::Uniform },
            throughput_ops_per_s: Interval::unsure(10.0),
            latency_ns: [(
                OperationKind::Read,
                LatencySummary { p99, count: 1, ..LatencySummary::default() },
            )]
            .into(),
            ..TrialRecord::default()
        };
        let trials: Vec<TrialRecord> = (1..6)
            .flat_map(|repeat| {
                [trial("late", repeat, 9000 + u64::from(repeat)), trial("prompt", repeat, 100)]
            })
            .collect();
        let cells = summarize(&trials);
        assert_eq!(places(&cells), [Some((2, false)), Some((1, false))]);
    }
}
