//! The warm-up and the measurement of a trial: at one go, or in pieces between other trials' turns.

use std::time::Duration;

use assay_experiment::{Cell, Extent};
use assay_model::FailureKind;

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
    /// How long the clients work before the extent begins, if it is a time.
    pub lead_in: Duration,
    /// How long.
    pub extent: Extent,
    /// How long to go on afterwards, if the extent is a time.
    pub cooldown: Duration,
}

/// What warm-up and measurement brought.
pub struct Measurement {
    /// The warm-up.
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
    let whole = |first, extent, cooldown| Span {
        first,
        before: Duration::ZERO,
        lead_in: Duration::ZERO,
        extent,
        cooldown,
    };
    let warmup = match cell.warmup {
        Extent::Time(Duration::ZERO) | Extent::Operations(0) => None,
        extent => {
            watcher(Stage::WarmingUp);
            Some(run(whole(0, extent, Duration::ZERO))?)
        }
    };
    let first = warmup.as_ref().map_or(0, |warmup| warmup.next);
    let in_turns = match cell.measure {
        Extent::Time(time) if seat.has_company() => {
            Some((time, Pieces::of(time, slowest(warmup.as_ref()))))
        }
        _ => None,
    };
    let Some((time, pieces)) = in_turns.filter(|(_, pieces)| pieces.count > 1) else {
        watcher(Stage::Measuring(match cell.measure {
            Extent::Time(time) => Some(time),
            Extent::Operations(_) => None,
        }));
        let measured = run(whole(first, cell.measure, cell.cooldown.0))?;
        return Ok(Measurement { warmup, measured, turns: 1 });
    };
    let mut measured: Option<PhaseReport> = None;
    let length = time / pieces.count;
    for turn in 0..pieces.count {
        seat.pass();
        watcher(Stage::Measuring(Some(time)));
        let piece = run(Span {
            first: measured.as_ref().map_or(first, |measured| measured.next),
            before: length * turn,
            lead_in: pieces.lead_in,
            extent: Extent::Time(length),
            cooldown: turns::LEAD_OUT,
        })?;
        require_answers(&piece, cell.timeout.0)?;
        match &mut measured {
            Some(measured) => measured.extend(piece),
            None => measured = Some(piece),
        }
    }
    // The answers are checked when every trial has had its last turn.
    seat.pass();
    let measured = measured.expect("there is a piece at least");
    Ok(Measurement { warmup, measured, turns: pieces.count })
}

/// How a measurement is divided.
struct Pieces {
    count: u32,
    lead_in: Duration,
}

impl Pieces {
    /// Pieces of [`turns::TURN`], or longer ones where operations are slow: a piece holds many times
    /// the `slowest`, and what leads in to it several, or the beginning would tell in the figures.
    fn of(time: Duration, slowest: Duration) -> Pieces {
        let length = turns::TURN.max(slowest * 50);
        let count = (time.as_secs_f64() / length.as_secs_f64()).round() as u32;
        Pieces { count: count.max(1), lead_in: turns::LEAD_IN.max(slowest * 5) }
    }
}

/// The 99th percentile of the slowest kind of operation.
fn slowest(warmup: Option<&PhaseReport>) -> Duration {
    let kinds = warmup.into_iter().flat_map(|warmup| warmup.recorded.kinds.values());
    let p99_ns = kinds.map(|latencies| latencies.response.value_at_quantile(0.99)).max();
    Duration::from_nanos(p99_ns.unwrap_or_default())
}

/// A store that has fallen silent is not asked again at every turn.
fn require_answers(piece: &PhaseReport, timeout: Duration) -> Result<(), TrialError> {
    let silent = |failure| matches!(failure, FailureKind::Timeout | FailureKind::Disconnected);
    let recorded = &piece.recorded;
    if recorded.finished_in_window > 0 || !recorded.errors.keys().any(|(_, kind)| silent(*kind)) {
        return Ok(());
    }
    let first = recorded.messages.first().map_or("", String::as_str);
    Err(TrialError::GaveUp(format!("no operation was answered within {timeout:?}: {first}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milliseconds(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn pieces_are_short_and_where_operations_are_slow_they_are_longer() {
        for (time, slowest, count, lead_in) in [
            (milliseconds(1000), Duration::from_micros(2), 10, milliseconds(20)),
            (milliseconds(250), Duration::ZERO, 3, milliseconds(20)),
            (milliseconds(40), Duration::ZERO, 1, milliseconds(20)),
            (milliseconds(1000), milliseconds(5), 4, milliseconds(25)),
            (milliseconds(1000), milliseconds(45), 1, milliseconds(225)),
        ] {
            let pieces = Pieces::of(time, slowest);
            assert_eq!((pieces.count, pieces.lead_in), (count, lead_in), "{time:?} {slowest:?}");
        }
    }
}
