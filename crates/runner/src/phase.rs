//! One phase of a trial: the lanes run, this thread samples what client and server use.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use assay_experiment::Extent;
use assay_measure::{
    clock::Clock,
    pacing::Schedule,
    recorder::{Recorded, Recorder, Window},
    resources::{ProcessTree, Usage},
};
use assay_model::OperationKind;
use assay_systems::{Session, WireClient};
use assay_workload::{Acknowledged, CoreWorkload, ValuePool};

use crate::{
    TrialError, call,
    feed::{BLOCK, Feed},
    gate::{Gate, Opening},
    lane::{LaneReport, Phase},
    watch::{self, Watched},
    wire::{self, Connect},
};

/// The clients of a trial; they stay connected from phase to phase.
pub enum Clients {
    /// Library calls: a thread each.
    Call(Vec<Box<dyn Session>>),
    /// Sockets: divided among the threads. `None` is one that broke.
    Wire(Vec<Option<WireClient>>),
}

/// What a phase is to do.
pub struct Order<'a> {
    /// The clock of the trial.
    pub clock: Clock,
    /// The workload.
    pub workload: &'a CoreWorkload,
    /// The pool that values are slices of.
    pub pool: &'a ValuePool,
    /// The inserts acknowledged so far.
    pub acknowledged: &'a Acknowledged,
    /// What random choices follow from.
    pub seed: u64,
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
    /// The schedule of an open loop.
    pub schedule: Option<Schedule>,
    /// The longest an operation may take.
    pub timeout: Duration,
    /// Whether what is read is checked.
    pub verify: bool,
    /// How many threads drive wire clients.
    pub threads: usize,
    /// The cores that lanes are pinned to, one after the other; empty: not pinned.
    pub cores: &'a [usize],
    /// The server's processes, if they are on this machine and known.
    pub server: Option<ProcessTree>,
    /// Opens one more wire connection.
    pub connect: Connect<'a>,
    /// Asked every few milliseconds whether there is a reason to stop.
    pub why_stop: &'a (dyn Fn() -> Option<String> + Sync),
}

/// What a phase brought.
pub struct PhaseReport {
    /// What all lanes recorded.
    pub recorded: Recorded,
    /// When the window opened.
    pub opened_at: jiff::Timestamp,
    /// How far the clock drifted from the kernel's meanwhile, in nanoseconds.
    pub clock_drift_ns: i64,
    /// How long the window was, in nanoseconds: as ordered, or to the last operation's end.
    pub length_ns: u64,
    /// CPU that the lanes used within the window.
    pub client_cpu_ns: u64,
    /// How many threads the client had.
    pub lanes: usize,
    /// Operations carried out, recorded or not.
    pub executed: u64,
    /// Inserts that the store acknowledged, recorded or not.
    pub inserted: u64,
    /// Inserts that failed, recorded or not; the store may have carried them out.
    pub failed_inserts: u64,
    /// Reads that were checked.
    pub verified: u64,
    /// Operations of an open loop that the client itself started late.
    pub late_starts: u64,
    /// Operations of an open loop that were due in the window and never started: the queue was so
    /// long at its end.
    pub never_started: u64,
    /// The next operation's number.
    pub next: u64,
    /// What client and server used, second by second.
    pub samples: Vec<Sample>,
    /// What the server used in the window.
    pub server: Option<Usage>,
    /// What Assay's process used in the window.
    pub client: Usage,
    /// Why the phase ended before its time, if it did.
    pub cut_short: Option<String>,
}

impl PhaseReport {
    /// Adds a later phase of the same measurement.
    pub fn extend(&mut self, later: PhaseReport) {
        self.recorded.merge(later.recorded);
        self.clock_drift_ns += later.clock_drift_ns;
        self.length_ns += later.length_ns;
        self.client_cpu_ns += later.client_cpu_ns;
        self.executed += later.executed;
        self.inserted += later.inserted;
        self.failed_inserts += later.failed_inserts;
        self.verified += later.verified;
        self.late_starts += later.late_starts;
        self.never_started += later.never_started;
        self.next = later.next;
        for sample in later.samples {
            match self.samples.last_mut() {
                Some(last) if last.lacks(&sample) => last.extend(sample),
                _ => self.samples.push(sample),
            }
        }
        self.client = self.client.and(&later.client);
        self.server = self.server.zip(later.server).map(|(before, now)| before.and(&now));
        self.cut_short = self.cut_short.take().or(later.cut_short);
    }

    /// Refuses a measurement in which every operation failed, or none ended in time: it is no
    /// result.
    pub fn require_success(&self) -> Result<(), TrialError> {
        let recorded = &self.recorded;
        if recorded.finished_in_window > 0 {
            return Ok(());
        }
        let responses = recorded.kinds.values().map(|latencies| &latencies.response);
        let fastest_ns = responses.filter(|response| !response.is_empty()).map(|r| r.min()).min();
        if let Some(fastest_ns) = fastest_ns {
            let window = Duration::from_nanos(self.length_ns);
            let fastest = Duration::from_nanos(fastest_ns);
            return Err(TrialError::NothingInTime { window, fastest });
        }
        let first = recorded.messages.first().cloned().unwrap_or_else(|| {
            let counts: Vec<_> = recorded
                .errors
                .iter()
                .map(|((kind, failure), count)| format!("{count} × {} {failure}", kind.name()))
                .collect();
            if counts.is_empty() { "no operation ended".into() } else { counts.join(", ") }
        });
        Err(TrialError::NothingSucceeded(recorded.failures(), first))
    }
}

/// What client and server used in one interval.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The interval's length in seconds.
    pub length_s: f64,
    /// What Assay's process used.
    pub client: Usage,
    /// What the server used.
    pub server: Option<Usage>,
}

impl Sample {
    /// Whether it is nearer to a second with the later one than without.
    fn lacks(&self, later: &Sample) -> bool {
        self.length_s + later.length_s / 2.0 < 1.0
    }

    fn extend(&mut self, later: Sample) {
        self.length_s += later.length_s;
        self.client = self.client.and(&later.client);
        self.server = self.server.zip(later.server).map(|(before, now)| before.and(&now));
    }
}

/// How long before the window opens the lanes are told when.
const LEAD_NS: u64 = 1_000_000;

/// Runs the clients through one phase.
pub fn run(order: &Order<'_>, clients: &mut Clients) -> PhaseReport {
    let lanes = match clients {
        Clients::Call(sessions) => sessions.len(),
        Clients::Wire(sockets) => order.threads.clamp(1, sockets.len().max(1)),
    };
    let feed = feed(order, lanes);
    let drift_before_ns = order.clock.drift_ns();
    let (gate, abort) = (Gate::default(), AtomicBool::new(false));
    let running = AtomicUsize::new(lanes);
    let phase = Phase {
        clock: order.clock,
        workload: order.workload,
        pool: order.pool,
        acknowledged: order.acknowledged,
        seed: order.seed,
        feed: &feed,
        first: order.first,
        schedule: order.schedule.clone(),
        gate: &gate,
        timeout: order.timeout,
        verify: order.verify,
        abort: &abort,
    };
    let core =
        |lane: usize| (!order.cores.is_empty()).then(|| order.cores[lane % order.cores.len()]);

    let (opening, watched, reports) = thread::scope(|scope| {
        let (phase, leaving) = (&phase, || Leaving { running: &running, abort: &abort });
        let threads: Vec<_> = match clients {
            Clients::Call(sessions) => sessions
                .iter_mut()
                .enumerate()
                .map(|(lane, session)| {
                    let leaving = leaving();
                    scope.spawn(move || {
                        let report = call::run(phase, session.as_mut(), core(lane));
                        leaving.ended(report, phase.gate)
                    })
                })
                .collect(),
            Clients::Wire(sockets) => shares(sockets, lanes)
                .enumerate()
                .map(|(lane, share)| {
                    let (leaving, connect) = (leaving(), order.connect);
                    scope.spawn(move || {
                        let report = wire::run(phase, share, connect, core(lane));
                        leaving.ended(report, phase.gate)
                    })
                })
                .collect(),
        };
        while gate.ready() + (lanes - running.load(Ordering::Acquire)) < lanes {
            thread::sleep(Duration::from_micros(50));
        }
        let at_rest = watch::look(order);
        let opening = opening(order);
        gate.open(opening);
        let watched = watch::watch(order, opening, at_rest, &running, &abort);
        gate.release();
        let reports: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        (opening, watched, reports)
    });
    let mut report = gather(order, opening.window, reports, watched, &feed);
    report.clock_drift_ns = order.clock.drift_ns() - drift_before_ns;
    report
}

/// The operation numbers of the phase. Where every number counts as soon as it is due (an open
/// loop) or must be carried out once it is claimed (inserts), lanes claim one at a time. Otherwise
/// they claim blocks, and so small ones that no lane is left without work.
fn feed(order: &Order<'_>, lanes: usize) -> Feed {
    const BLOCKS_A_LANE: u64 = 64;
    let inserts = order.workload.proportion(OperationKind::Insert) > 0.0;
    let (end, block) = match order.extent {
        Extent::Operations(count) => {
            (order.first.saturating_add(count), count / (lanes as u64 * BLOCKS_A_LANE))
        }
        Extent::Time(_) => (u64::MAX, BLOCK),
    };
    let one_by_one = order.schedule.is_some() || inserts;
    Feed::new(order.first..end, if one_by_one { 1 } else { block.clamp(1, BLOCK) })
}

/// Divides the clients among `lanes` threads: no two have shares that differ by more than one.
fn shares<T>(mut clients: &mut [T], lanes: usize) -> impl Iterator<Item = &mut [T]> {
    (0..lanes).rev().map(move |others| {
        let length = clients.len().div_ceil(others + 1);
        let (share, rest) = std::mem::take(&mut clients).split_at_mut(length);
        clients = rest;
        share
    })
}

/// When the lanes begin, far enough ahead for every one to have woken up, and when the window
/// opens and closes.
fn opening(order: &Order<'_>) -> Opening {
    let begin_ns = order.clock.now() + LEAD_NS;
    let from_ns = begin_ns + order.lead_in.as_nanos() as u64;
    let (until_ns, stop_ns) = match order.extent {
        Extent::Operations(_) => (u64::MAX, u64::MAX),
        Extent::Time(time) => {
            let until_ns = from_ns.saturating_add(time.as_nanos() as u64);
            (until_ns, until_ns.saturating_add(order.cooldown.as_nanos() as u64))
        }
    };
    let before_ns = order.before.as_nanos() as u64;
    Opening { begin_ns, window: Window { from_ns, until_ns, before_ns }, stop_ns }
}

/// Counts a lane out however it ends.
struct Leaving<'a> {
    running: &'a AtomicUsize,
    abort: &'a AtomicBool,
}

impl Leaving<'_> {
    /// The lane has ended; its thread stays until its use of the processor has been sampled.
    fn ended(self, report: LaneReport, gate: &Gate) -> LaneReport {
        if report.gave_up.is_some() {
            self.abort.store(true, Ordering::Relaxed);
        }
        drop(self);
        gate.leave();
        report
    }
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            // There is no result without this lane: the others need not go on.
            self.abort.store(true, Ordering::Relaxed);
        }
        self.running.fetch_sub(1, Ordering::Release);
    }
}

fn gather(
    order: &Order<'_>,
    window: Window,
    reports: Vec<thread::Result<LaneReport>>,
    watched: Watched,
    feed: &Feed,
) -> PhaseReport {
    let mut report = PhaseReport {
        recorded: Recorder::new(window, &[], false).finish(),
        opened_at: watched.opened_at,
        clock_drift_ns: 0,
        length_ns: 0,
        client_cpu_ns: 0,
        lanes: reports.len(),
        executed: 0,
        inserted: 0,
        failed_inserts: 0,
        verified: 0,
        late_starts: 0,
        never_started: never_started(order, window, feed),
        next: feed.position(),
        samples: watched.samples,
        server: watched.server,
        client: watched.client,
        cut_short: watched.why,
    };
    for lane in reports {
        match lane {
            Ok(lane) => {
                report.client_cpu_ns += lane.cpu_ns;
                report.executed += lane.executed;
                report.inserted += lane.inserted;
                report.failed_inserts += lane.failed_inserts;
                report.verified += lane.verified;
                report.late_starts += lane.late_starts;
                report.cut_short = report.cut_short.or(lane.gave_up);
                report.recorded.merge(lane.recorder.finish());
            }
            Err(panic) => {
                let what = panic
                    .downcast_ref::<String>()
                    .map(String::as_str)
                    .or_else(|| panic.downcast_ref::<&str>().copied())
                    .unwrap_or("no message");
                report.cut_short = Some(format!("a client thread panicked: {what}"));
            }
        }
    }
    report.length_ns = match order.extent {
        Extent::Time(time) => time.as_nanos() as u64,
        Extent::Operations(_) => report.recorded.last_finish_ns.saturating_sub(window.from_ns),
    };
    report
}

fn never_started(order: &Order<'_>, window: Window, feed: &Feed) -> u64 {
    let (Some(mut schedule), Extent::Time(_)) = (order.schedule.clone(), order.extent) else {
        return 0;
    };
    schedule.due_before(window.until_ns - window.from_ns, feed.position() - order.first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_divided_evenly_and_every_thread_has_one() {
        for (clients, lanes, expected) in [
            (5, 4, vec![2, 1, 1, 1]),
            (16, 3, vec![6, 5, 5]),
            (3, 3, vec![1, 1, 1]),
            (2, 1, vec![2]),
        ] {
            let mut all: Vec<usize> = (0..clients).collect();
            let shares: Vec<Vec<usize>> =
                shares(&mut all, lanes).map(|share| share.to_vec()).collect();
            assert_eq!(shares.iter().map(Vec::len).collect::<Vec<_>>(), expected);
            assert_eq!(shares.concat(), (0..clients).collect::<Vec<_>>());
        }
    }
}
