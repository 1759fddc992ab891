//! Contenders in turns: each runs for a twentieth of a second or so, then the next, and so on for
//! several rounds, so that a change of the machine's speed touches them all. Ratios are taken
//! within rounds.

use std::{iter, time::Duration};

use crate::table::{self, Promise};

/// How long a piece lasts.
const PIECE: Duration = Duration::from_millis(60);
/// What a first, unmeasured piece must last for the length of the others to be set by it.
const TRIAL: Duration = Duration::from_millis(4);
/// Fewest and most operations of a piece.
const OPERATIONS: (usize, usize) = (16, 1_000_000);

/// A part of the sequence of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins, counted on past the end.
    pub first: usize,
    /// Operations that fill the caches before the clock starts.
    pub warm_up: usize,
    /// Operations under the clock.
    pub timed: usize,
}

impl Piece {
    /// Its objects; the sequence begins again at its end.
    pub fn of(self, sequence: &[u32]) -> impl Iterator<Item = u32> + Clone {
        let start = self.first % sequence.len();
        sequence.iter().copied().cycle().skip(start).take(self.warm_up + self.timed)
    }
}

/// Costs by contender, then by round.
pub type Costs = Vec<Vec<f64>>;

/// Lets `contenders` contenders take turns. `run` runs a piece of one, and gives nanoseconds an
/// operation. Each round begins with another contender.
pub fn take(
    rounds: usize,
    contenders: usize,
    mut run: impl FnMut(usize, Piece) -> anyhow::Result<f64>,
) -> anyhow::Result<Costs> {
    let lengths = (0..contenders)
        .map(|contender| length(|piece| run(contender, piece)))
        .collect::<Result<Vec<_>, _>>()?;
    let furthest = lengths.iter().copied().max().unwrap_or(0) * 11 / 10;
    let mut costs = vec![Vec::with_capacity(rounds); contenders];
    for round in 0..rounds {
        for turn in 0..contenders {
            let contender = (round + turn) % contenders;
            let timed = lengths[contender];
            let piece = Piece { first: (round + 1) * furthest, warm_up: timed / 10, timed };
            costs[contender].push(run(contender, piece)?);
        }
    }
    Ok(costs)
}

/// How many operations last for a piece.
fn length(mut run: impl FnMut(Piece) -> anyhow::Result<f64>) -> anyhow::Result<usize> {
    let (least, most) = OPERATIONS;
    let lengths = iter::successors(Some(least), |length| Some(length * 4));
    for timed in lengths.take_while(|length| *length < most) {
        let cost_ns = run(Piece { first: 0, warm_up: timed / 10, timed })?;
        if cost_ns * timed as f64 >= TRIAL.as_nanos() as f64 {
            return Ok(((PIECE.as_nanos() as f64 / cost_ns) as usize).clamp(least, most));
        }
    }
    Ok(most)
}

/// The ratios of `above` to `below`, round by round.
pub fn ratios(above: &[f64], below: &[f64]) -> Vec<f64> {
    above.iter().zip(below).map(|(above, below)| above / below).collect()
}

/// The median of ratios, and their range, as words.
pub fn spread(ratios: &[f64]) -> String {
    let low = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let high = ratios.iter().copied().fold(0.0, f64::max);
    format!("{:.2} ({low:.2}–{high:.2})", table::median(ratios))
}

/// Prints what an operation cost each contender, and each to the first, slik.
pub fn table(
    names: impl Iterator<Item = &'static str>,
    costs: &[Vec<f64>],
    promise: impl Fn(usize) -> Option<Promise>,
) {
    println!("{:<30} {:>9}  times as long as slik", "", "ns");
    for (contender, (name, cost)) in names.zip(costs).enumerate() {
        let figure = table::median(cost);
        if contender == 0 {
            println!("{name:<30} {figure:>9.0}");
            continue;
        }
        let ratios = ratios(cost, &costs[0]);
        println!(
            "{name:<30} {figure:>9.0}  {:<22} {}",
            spread(&ratios),
            verdict(&ratios, promise(contender))
        );
    }
}

/// Prints ratios and, if something was promised of them, whether it was kept.
pub fn line(name: &str, ratios: &[f64], promise: Option<Promise>) {
    println!("{name:<44} {:<22} {}", spread(ratios), verdict(ratios, promise));
}

fn verdict(ratios: &[f64], promise: Option<Promise>) -> String {
    promise.map_or(String::new(), |promise| promise.verdict(table::median(ratios)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_goes_round_the_sequence() {
        let piece = Piece { first: 4, warm_up: 1, timed: 3 };
        assert_eq!(piece.of(&[10, 11, 12]).collect::<Vec<_>>(), [11, 12, 10, 11]);
    }

    #[test]
    fn every_contender_has_the_same_objects_in_a_round_and_others_in_the_next() {
        let mut measured = Vec::new();
        let costs = take(3, 2, |contender, piece| {
            let cost_ns = [1_000.0, 4_000.0][contender];
            if piece.first > 0 {
                measured.push((contender, piece));
            }
            Ok(cost_ns)
        })
        .unwrap();
        assert_eq!(costs, [[1_000.0; 3], [4_000.0; 3]]);
        let firsts: Vec<_> = measured.iter().map(|(_, piece)| piece.first).collect();
        assert_eq!(firsts, [66_000, 66_000, 132_000, 132_000, 198_000, 198_000]);
        let order: Vec<_> = measured.iter().map(|(contender, _)| *contender).collect();
        assert_eq!(order, [0, 1, 1, 0, 0, 1]);
        assert_eq!(measured[0].1, Piece { first: 66_000, warm_up: 6_000, timed: 60_000 });
        assert_eq!(measured[1].1, Piece { first: 66_000, warm_up: 1_500, timed: 15_000 });
    }

    #[test]
    fn a_ratio_is_shown_with_its_range() {
        assert_eq!(spread(&ratios(&[2.0, 3.0, 9.0], &[1.0, 1.0, 2.0])), "3.00 (2.00–4.50)");
    }
}
