//! One sentence a group: who leads, by how much, and who ties.

use assay_results::{Cell, Mode, Rank, Ratio, Verdict as RatioVerdict, group_cells, rank};

use crate::{
    text::{counted, escape, listed},
    units::ratio,
};

/// The driver whose figures are the harness's own cost; it is no competitor.
pub const NO_DB: &str = "null";

/// The sentences for every group with at least two systems to set against each other, for example
/// `memory is 2.13× (2.02–2.25) sqlite on ycsb/a with 1 client; redis and valkey tie`.
pub fn verdicts(cells: &[Cell]) -> Vec<String> {
    group_cells(cells).iter().filter_map(|group| verdict(group)).collect()
}

/// The competitors of a group with their ranks, best first.
pub fn competitors<'a>(group: &[&'a Cell]) -> Vec<(&'a Cell, Rank)> {
    let cells: Vec<&Cell> = group.iter().copied().filter(|cell| cell.driver != NO_DB).collect();
    let mut ranked: Vec<(&Cell, Rank)> =
        cells.iter().zip(rank(&cells)).filter_map(|(cell, rank)| Some((*cell, rank?))).collect();
    // A stable order: by place, and among ties by the figure.
    ranked.sort_by(|(a, x), (b, y)| {
        let rates = b.throughput_ops_per_s.median.total_cmp(&a.throughput_ops_per_s.median);
        x.place.cmp(&y.place).then(rates)
    });
    ranked
}

/// The sentence for one group, if there is anything to compare.
pub fn verdict(group: &[&Cell]) -> Option<String> {
    let first = group.first()?;
    let on =
        format!("on {} with {}", escape(&first.workload), counted(first.clients.into(), "client"));
    verdict_on(&competitors(group), &on)
}

/// The sentence for competitors, best first, with `on` as what they are compared on, if there are
/// at least two.
pub fn verdict_on(ranked: &[(&Cell, Rank)], on: &str) -> Option<String> {
    let (first, first_rank) = ranked.first()?;
    if ranked.len() < 2 {
        return None;
    }
    if ranked.iter().any(|(cell, _)| cell.repeats == 1) {
        let leader = escape(&first.system);
        return Some(format!("{leader} leads {on} by a single repeat, which decides nothing"));
    }
    let at = |place: u32| -> Vec<String> {
        let there = ranked.iter().filter(|(_, rank)| rank.place == place);
        there.map(|(cell, _)| escape(&cell.system)).collect()
    };
    let leaders = at(first_rank.place);
    if !first_rank.decided {
        return Some(unsure(&leaders, ranked, on));
    }
    let next = ranked.iter().find(|(_, rank)| rank.place != first_rank.place);
    let mut clauses = Vec::new();
    match next {
        None => clauses.push(format!("{} tie {on}", listed(&leaders))),
        Some((cell, rank)) => {
            if leaders.len() > 1 {
                clauses.push(format!("{} tie at the top", listed(&leaders)));
            }
            clauses.push(lead(first, cell, rank.to_best, on));
        }
    }
    let mut places: Vec<u32> = ranked.iter().map(|(_, rank)| rank.place).collect();
    places.dedup();
    for place in places.into_iter().skip(1) {
        let tied = at(place);
        if tied.len() > 1 {
            clauses.push(format!("{} tie", listed(&tied)));
        }
    }
    Some(clauses.join("; "))
}

/// Whether a single repeat, or repeats that are too unlike, leave open who is best.
pub fn is_open(ranked: &[(&Cell, Rank)]) -> bool {
    ranked.iter().any(|(cell, _)| cell.repeats == 1)
        || ranked.first().is_some_and(|(_, rank)| !rank.decided)
}

/// `a is ahead on …, but the repeats are too few or too unlike to tell it from b`.
fn unsure(leaders: &[String], ranked: &[(&Cell, Rank)], on: &str) -> String {
    let best = ranked[0].1.place;
    let others: Vec<String> = ranked
        .iter()
        .filter(|(_, rank)| rank.place != best && !rank.decided)
        .filter(|(_, rank)| {
            rank.to_best.is_some_and(|ratio| ratio.verdict == RatioVerdict::Undecided)
        })
        .map(|(cell, _)| escape(&cell.system))
        .collect();
    let (are, them) = if leaders.len() == 1 { ("is", "it") } else { ("are", "them") };
    let (leaders, others) = (listed(leaders), listed(&others));
    let open = format!(
        "{leaders} {are} ahead {on}, but the repeats are too few or too unlike to tell {them} from \
         {others}"
    );
    // What they do tell: whom the first is ahead of for sure.
    let behind = ranked.iter().find(|(_, rank)| {
        rank.place != best
            && rank.to_best.is_some_and(|ratio| ratio.verdict != RatioVerdict::Undecided)
    });
    match behind {
        Some((next, rank)) => {
            format!("{open}; {}", lead(ranked[0].0, next, rank.to_best, ""))
        }
        None => open,
    }
}

/// `a is 2.13× (2.02–2.25) b on …`; in an open loop, of times: `b's p99 is 2.13× (…) a's on …`.
fn lead(best: &Cell, next: &Cell, to_best: Option<Ratio>, on: &str) -> String {
    let (best_name, next_name) = (escape(&best.system), escape(&next.system));
    let words = match (to_best, best.mode) {
        (None, _) => format!("{best_name} is ahead of {next_name} {on}"),
        (Some(of_times), Mode::Open { .. }) => {
            format!("{next_name}'s p99 is {} {best_name}'s {on}", times(&of_times))
        }
        (Some(to_best), Mode::Closed) => {
            format!("{best_name} is {} {next_name} {on}", times(&to_best.inverted()))
        }
    };
    words.trim_end().to_owned()
}

/// `2.13× (2.02–2.25)`.
pub fn times(of: &Ratio) -> String {
    let middle = ratio(of.ratio);
    match (of.low, of.high) {
        (Some(low), Some(high)) if ratio(low) != ratio(high) => {
            format!("{middle}× ({}–{})", ratio(low), ratio(high))
        }
        _ => format!("{middle}×"),
    }
}
