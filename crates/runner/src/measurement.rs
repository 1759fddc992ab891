//! The warm-up and the measurement of a trial: at one go, or in pieces between other trials' turns.

use std::time::Duration;

use assay_experiment::{Cell, Extent};

use crate::{
    TrialError,
    phase::PhaseReport,
    trial::Stage,
    turns::{self, Seat},
};

/// One phase of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The number of the first operation.
    pub first: u64,
    /// How long the earlier phases of the same measurement were.
    pub before: Duration,
    /// How long.
    pub extent: Extent,
    /// How long to go on afterwards, if the extent is a time.
    pub cooldown: Duration,
}

/// What warm-up and measurement brought.
pub struct Measurement {
    /// The warm-up, with what led in to each piece.
    pub warmup: Option<PhaseReport>,
    /// The measurement.
    pub measured: PhaseReport,
    /// In how many pieces it was taken.
    pub turns: u32,
}

/// Has `run` carry out the phases of `cell`.
pub fn measure(
    cell: &Cell,
    seat: &Seat<'_>,
    watcher: &dyn Fn(Stage),
    mut run: impl FnMut(Span) -> Result<PhaseReport, TrialError>,
) -> Result<Measurement, TrialError> {
    let unmeasured =
        |first, extent| Span { first, before: Duration::ZERO, extent, cooldown: Duration::ZERO };
    let mut warmup = match cell.warmup {
        Extent::Time(Duration::ZERO) | Extent::Operations(0) => None,
        extent => {
            watcher(Stage::WarmingUp);
            Some(run(unmeasured(0, extent))?)
        }
    };
    let first = warmup.as_ref().map_or(0, |warmup| warmup.next);
    let time = match cell.measure {
        Extent::Time(time) => Some(time),
        Extent::Operations(_) => None,
    };
    let Some(time) = time.filter(|_| seat.has_company()) else {
        watcher(Stage::Measuring(time));
        let whole = Span { cooldown: cell.cooldown.0, ..unmeasured(first, cell.measure) };
        return Ok(Measurement { warmup, measured: run(whole)?, turns: 1 });
    };
    let turns = turns::in_time(time);
    let mut measured = None;
    let mut next = first;
    for turn in 0..turns {
        seat.pass();
        watcher(Stage::Measuring(Some(time)));
        let lead_in = run(unmeasured(next, Extent::Time(turns::LEAD_IN)))?;
        let length = time / turns;
        let piece = unmeasured(lead_in.next, Extent::Time(length));
        let piece = run(Span { before: length * turn, ..piece })?;
        next = piece.next;
        extend(&mut warmup, lead_in);
        extend(&mut measured, piece);
    }
    // The answers are checked when every trial has had its last turn.
    seat.pass();
    Ok(Measurement { warmup, measured: measured.expect("there is a turn at least"), turns })
}

fn extend(phases: &mut Option<PhaseReport>, later: PhaseReport) {
    match phases {
        Some(phases) => phases.extend(later),
        None => *phases = Some(later),
    }
}
