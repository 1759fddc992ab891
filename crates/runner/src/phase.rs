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
    recorder::{Recorded, Window},
    resources::{ProcessTree, Usage},
};
use assay_systems::{Session, WireClient};
use assay_workload::{Acknowledged, CoreWorkload, ValuePool};

use crate::{
    call,
    feed::{BLOCK, Feed},
    lane::{LaneReport, Phase, wait_until},
    wire::{self, Connect},
};

/// The clients of a trial; they stay connected from phase to phase.
pub enum Clients {
    /// Library calls: a thread each.
    Call(Vec<Box<dyn Session>>),
    /// Sockets: divided among the threads.
    Wire(Vec<WireClient>),
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
    /// When the window opened, on the clock.
    pub from_ns: u64,
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
    /// Reads that were checked.
    pub verified: u64,
    /// Operations of an open loop that the client itself started late.
    pub late_starts: u64,
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

/// What client and server used in one interval.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The interval's end, in seconds after the window opened.
    pub at_s: f64,
    /// The interval's length in seconds.
    pub length_s: f64,
    /// What Assay's process used.
    pub client: Usage,
    /// What the server used.
    pub server: Option<Usage>,
}

/// Runs the clients through one phase.
pub fn run(order: &Order<'_>, clients: &mut Clients) -> PhaseReport {
    let lanes = match clients {
        Clients::Call(sessions) => sessions.len(),
        Clients::Wire(sockets) => order.threads.clamp(1, sockets.len().max(1)),
    };
    let every_number_counts =
        order.schedule.is_some() || order.workload.proportion(assay_model::OperationKind::Insert) > 0.0;
    let end = match order.extent {
        Extent::Operations(count) => order.first.saturating_add(count),
        Extent::Time(_) => u64::MAX,
    };
    let feed = Feed::new(order.first..end, if every_number_counts { 1 } else { BLOCK });
    let abort = AtomicBool::new(false);
    let running = AtomicUsize::new(lanes);

    // Far enough ahead for every lane to be ready when the window opens.
    let from_ns = order.clock.now() + 2_000_000;
    let (until_ns, stop_ns) = match order.extent {
        Extent::Operations(_) => (u64::MAX, u64::MAX),
        Extent::Time(time) => {
            let until_ns = from_ns.saturating_add(time.as_nanos() as u64);
            (until_ns, until_ns.saturating_add(order.cooldown.as_nanos() as u64))
        }
    };
    let phase = Phase {
        clock: order.clock,
        workload: order.workload,
        pool: order.pool,
        acknowledged: order.acknowledged,
        seed: order.seed,
        feed: &feed,
        first: order.first,
        schedule: order.schedule.clone(),
        window: Window { from_ns, until_ns },
        stop_ns,
        timeout: order.timeout,
        verify: order.verify,
        abort: &abort,
    };
    let core = |lane: usize| (!order.cores.is_empty()).then(|| order.cores[lane % order.cores.len()]);

    let (reports, watched) = thread::scope(|scope| {
        let phase = &phase;
        let running = &running;
        let threads: Vec<_> = match clients {
            Clients::Call(sessions) => sessions
                .iter_mut()
                .enumerate()
                .map(|(lane, session)| {
                    scope.spawn(move || {
                        let _leaving = Leaving(running);
                        call::run(phase, session.as_mut(), core(lane))
                    })
                })
                .collect(),
            Clients::Wire(sockets) => {
                let share = sockets.len().div_ceil(lanes).max(1);
                let shares = sockets.chunks_mut(share);
                running.store(shares.len(), Ordering::Relaxed);
                shares
                    .enumerate()
                    .map(|(lane, share)| {
                        let connect = order.connect;
                        scope.spawn(move || {
                            let _leaving = Leaving(running);
                            wire::run(phase, share, connect, core(lane))
                        })
                    })
                    .collect()
            }
        };
        let watched = watch(order, phase, running);
        let reports: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        (reports, watched)
    });
    gather(order, reports, watched, &phase)
}

/// Counts a lane out however it ends.
struct Leaving<'a>(&'a AtomicUsize);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// What the watching thread saw.
struct Watched {
    samples: Vec<Sample>,
    server: Option<Usage>,
    client: Usage,
    window_s: f64,
    why: Option<String>,
}

/// Samples resources each second and looks for reasons to stop, until every lane has ended.
fn watch(order: &Order<'_>, phase: &Phase<'_>, running: &AtomicUsize) -> Watched {
    const LOOK_EVERY: Duration = Duration::from_millis(10);
    const SAMPLE_EVERY_NS: u64 = 1_000_000_000;
    let read = || {
        (
            order.clock.now(),
            ProcessTree::own().sample().unwrap_or_default(),
            order.server.and_then(|server| server.sample().ok()),
        )
    };
    let Window { from_ns, until_ns } = phase.window;
    wait_until(&order.clock, from_ns);
    let first = read();
    let mut last = first;
    let mut samples = Vec::new();
    let mut why = None;
    let mut next_ns = from_ns + SAMPLE_EVERY_NS;
    loop {
        let ended = running.load(Ordering::Acquire) == 0;
        let now_ns = order.clock.now();
        let window_ended = now_ns >= until_ns;
        if (now_ns >= next_ns || ended || window_ended) && last.0 < until_ns {
            let now = read();
            samples.push(Sample {
                at_s: now.0.saturating_sub(from_ns) as f64 / 1e9,
                length_s: (now.0 - last.0) as f64 / 1e9,
                client: now.1.since(&last.1),
                server: now.2.zip(last.2).map(|(now, last)| now.since(&last)),
            });
            last = now;
            next_ns += SAMPLE_EVERY_NS;
        }
        if ended {
            break;
        }
        if why.is_none()
            && let Some(reason) = (order.why_stop)()
        {
            why = Some(reason);
            phase.abort.store(true, Ordering::Relaxed);
        }
        let next_look = LOOK_EVERY.as_nanos() as u64;
        let pause_ns = next_look.min(until_ns.saturating_sub(now_ns).max(100_000));
        thread::sleep(Duration::from_nanos(pause_ns));
    }
    Watched {
        samples,
        server: last.2.zip(first.2).map(|(last, first)| last.since(&first)),
        client: last.1.since(&first.1),
        window_s: (last.0 - first.0) as f64 / 1e9,
        why,
    }
}

fn gather(
    order: &Order<'_>,
    reports: Vec<thread::Result<LaneReport>>,
    watched: Watched,
    phase: &Phase<'_>,
) -> PhaseReport {
    let lanes = reports.len();
    let mut cut_short = watched.why;
    let mut merged: Option<Recorded> = None;
    let (mut client_cpu_ns, mut executed, mut inserted, mut verified, mut late_starts) = (0, 0, 0, 0, 0);
    for report in reports {
        match report {
            Ok(report) => {
                client_cpu_ns += report.cpu_ns;
                executed += report.executed;
                inserted += report.inserted;
                verified += report.verified;
                late_starts += report.late_starts;
                cut_short = cut_short.or(report.gave_up);
                match &mut merged {
                    None => merged = Some(report.recorded),
                    Some(merged) => merged.merge(report.recorded),
                }
            }
            Err(panic) => {
                let what = panic
                    .downcast_ref::<String>()
                    .map(String::as_str)
                    .or_else(|| panic.downcast_ref::<&str>().copied())
                    .unwrap_or("no message");
                cut_short = Some(format!("a client thread panicked: {what}"));
            }
        }
    }
    let recorded = merged.unwrap_or_else(|| {
        assay_measure::recorder::Recorder::new(phase.window, &[], false).finish()
    });
    let length_ns = match order.extent {
        Extent::Time(time) => time.as_nanos() as u64,
        Extent::Operations(_) => recorded.last_finish_ns.saturating_sub(phase.window.from_ns),
    };
    // The samples' edges are not quite the window's: what was used is scaled to the window.
    let scale = if watched.window_s > 0.0 { length_ns as f64 / 1e9 / watched.window_s } else { 1.0 };
    let scaled = |usage: Usage| Usage { cpu_ns: (usage.cpu_ns as f64 * scale) as u64, ..usage };
    PhaseReport {
        recorded,
        from_ns: phase.window.from_ns,
        length_ns,
        client_cpu_ns,
        lanes,
        executed,
        inserted,
        verified,
        late_starts,
        next: phase.feed.position(),
        samples: watched.samples,
        server: watched.server.map(scaled),
        client: scaled(watched.client),
        cut_short,
    }
}
