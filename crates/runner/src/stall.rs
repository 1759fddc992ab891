//! Whether all clients of a closed loop stood still at once, from what was recorded anyway.
//!
//! Clients of a closed loop ask nothing while they wait, so a store that answers nobody for a second
//! leaves one slow operation a client, which no percentile shows. Two things tell of it:
//!
//! - In some second and the next one, by when they ended, as many operations as there are clients took
//!   T or longer. As no client waits for two answers at once, that was all of them, unless one
//!   client was slow again and again: where tenths of a second were counted at one go, T must have left
//!   as many of them without any answer as lie within it, or be still going on at the end.
//! - Tenths of a second went by without any answer, failures included, in a measurement in which
//!   the others have many. That also tells of waits that began before the measurement.
//!
//! It is a stall from [`LEAST`] on, if T is [`FAR`] times what 99 of 100 of the other operations took: a
//! store whose operations are slow explains its waits by them.

use std::time::Duration;

use assay_measure::recorder::{Recorded, TICK_NS, empty_histogram};
use hdrhistogram::Histogram;

use crate::phase::PhaseReport;

/// The shortest stall that is one.
pub const LEAST: Duration = Duration::from_millis(100);

/// How many times as long as the other operations a stall lasts.
pub const FAR: u64 = 10;

/// A tenth of a second in which so many answers are usual does not stay without any by chance: one
/// in 20,000 would.
const MANY: f64 = 10.0;

/// The longest time for which none of `clients` had an answer in a closed loop, if that is far above
/// what the other operations took. `turns` is in how many pieces it was measured.
pub fn longest(phase: &PhaseReport, clients: u32, turns: u32) -> Option<Duration> {
    let Silence { longest_ns: silence_ns, lasts } = silence(phase);
    let wait_ns = all_waited(&phase.recorded, u64::from(clients)).filter(|wait_ns| {
        let within = (wait_ns / TICK_NS).saturating_sub(1) * TICK_NS;
        clients == 1 || turns > 1 || lasts || silence_ns >= within
    });
    let longest_ns = wait_ns.unwrap_or(0).max(if is_regular(phase) { silence_ns } else { 0 });
    let longest = Duration::from_nanos(longest_ns);
    (longest >= LEAST && longest_ns >= FAR * others_ns(&phase.recorded, longest_ns))
        .then_some(longest)
}

/// How long as many operations as there are clients took at least, that ended in two seconds next to
/// each other.
fn all_waited(recorded: &Recorded, clients: u64) -> Option<u64> {
    let long = LEAST.as_nanos() as u64;
    let mut longest = None;
    let mut before: Option<(u32, Vec<u64>)> = None;
    let mut seconds: Vec<u32> = recorded.seconds.keys().map(|(second, _)| *second).collect();
    seconds.dedup();
    for second in seconds {
        let mut waits: Vec<u64> = Vec::new();
        let of_second = recorded.seconds.iter().filter(|((at, _), _)| *at == second);
        let mut latencies = empty_histogram();
        of_second.flat_map(|(_, packed)| packed).for_each(|packed| packed.add_to(&mut latencies));
        if latencies.max() >= long {
            for value in latencies.iter_recorded().filter(|of| of.value_iterated_to() >= long) {
                let times = value.count_since_last_iteration().min(clients);
                waits.extend((0..times).map(|_| value.value_iterated_to()));
            }
        }
        let mut together = waits.clone();
        if let Some((_, earlier)) = before.take().filter(|(at, _)| *at + 1 == second) {
            together.extend(earlier);
        }
        together.sort_unstable_by(|a, b| b.cmp(a));
        longest = longest.max(together.get(clients.saturating_sub(1) as usize).copied());
        before = Some((second, waits));
    }
    longest
}

/// Tenths of a second without any answer.
struct Silence {
    /// How long the most of them that follow each other are.
    longest_ns: u64,
    /// Whether the measurement ended with one.
    lasts: bool,
}

fn silence(phase: &PhaseReport) -> Silence {
    let counted = phase.recorded.ticks.iter().copied().chain(std::iter::repeat(0));
    let (mut longest, mut now) = (0, 0);
    for count in counted.take((phase.length_ns / TICK_NS) as usize) {
        now = if count == 0 { now + TICK_NS } else { 0 };
        longest = longest.max(now);
    }
    Silence { longest_ns: longest, lasts: now > 0 }
}

/// Whether a tenth of a second without any answer is no accident.
fn is_regular(phase: &PhaseReport) -> bool {
    let answered = phase.recorded.ticks.iter().filter(|count| **count > 0);
    let (tenths, answers) =
        answered.fold((0.0, 0.0), |(tenths, sum), count| (tenths + 1.0, sum + f64::from(*count)));
    phase.recorded.failures() == 0 && tenths > 0.0 && answers / tenths >= MANY
}

/// What 99 of 100 of the operations took that did not wait for half as long.
fn others_ns(recorded: &Recorded, longest_ns: u64) -> u64 {
    let mut all: Histogram<u64> = empty_histogram();
    recorded.kinds.values().for_each(|latencies| all += &latencies.response);
    let waited = match all.max() >= longest_ns / 2 {
        true => all.count_between(longest_ns / 2, all.max()),
        false => 0,
    };
    let others = all.len().saturating_sub(waited) as f64;
    match all.len() {
        0 => 0,
        total => all.value_at_quantile(0.99 * others / total as f64),
    }
}
