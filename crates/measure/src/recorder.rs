//! What one thread saw: latencies by kind of operation, errors, and how many operations ended in
//! each tenth of a second. No locks; nothing is shared until the thread has ended.
//!
//! Three times belong to an operation: when it was *intended* to start, when it *started* and when
//! it *finished*. Response time runs from intended to finished, service time from started to
//! finished. In a closed loop the two are the same and only one is kept.
//!
//! Latencies are held in HdrHistograms of three significant digits from 1 ns to one hour, so the
//! value reported is at most 0.1 % away from the value measured. A longer one counts as one hour.
//! A thread counts in its own form of them (`counts`) and puts each second away packed.

use std::collections::BTreeMap;

use assay_model::{FailureKind, OperationKind, Outcome};
use hdrhistogram::Histogram;

use counts::Counts;
pub use counts::Packed;
pub use recorded::{Latencies, Recorded};

mod counts;
mod recorded;
#[cfg(test)]
mod tests;

/// The longest latency that is told apart: one hour.
pub const LONGEST_NS: u64 = 3_600_000_000_000;
/// The width of a throughput interval.
pub const TICK_NS: u64 = 100_000_000;
/// How many throughput intervals make one interval of the latency series: one second.
pub const TICKS_PER_SECOND: usize = 10;

const MESSAGES_KEPT: usize = 5;
const KINDS: usize = OperationKind::ALL.len();
const FAILURES: usize = FailureKind::ALL.len();

/// An empty histogram of the recorder's range and precision.
pub fn empty_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("the bounds are constants and valid")
}

/// Which operations count. A latency counts if its operation was intended to start at or after
/// `from_ns` and before `until_ns`, however late it finishes; throughput counts what finishes in
/// that time, whenever it started.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// The first nanosecond that counts.
    pub from_ns: u64,
    /// The first nanosecond that counts no more.
    pub until_ns: u64,
    /// How long the earlier windows of the same measurement were: the series go on from there.
    pub before_ns: u64,
}

/// One operation's times, on the run's clock.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// When it was due. In a closed loop, when it started.
    pub intended_ns: u64,
    /// When the request was handed to the driver.
    pub started_ns: u64,
    /// When the driver had the whole answer.
    pub finished_ns: u64,
}

/// Records what one thread does.
pub struct Recorder {
    window: Window,
    kinds: [Option<KindRecorder>; KINDS],
    failed: Option<Counts>,
    errors: [[u64; FAILURES]; KINDS],
    failures_by_second: BTreeMap<u32, u64>,
    messages: Vec<String>,
    tick_end_ns: u64,
    in_tick: u32,
    ticks: Vec<u32>,
    seconds: Vec<(u32, OperationKind, Packed)>,
    scratch: Vec<u8>,
    last_finish_ns: u64,
    finished_in_window: u64,
    failed_in_window: u64,
}

struct KindRecorder {
    /// This second's.
    response: Counts,
    service: Option<ServiceRecorder>,
}

struct ServiceRecorder {
    now: Counts,
    before: Vec<Packed>,
}

impl Recorder {
    /// A recorder for operations of `kinds`; `open_loop` keeps service times too. Everything that
    /// it needs in the loop is allocated here.
    pub fn new(window: Window, kinds: &[OperationKind], open_loop: bool) -> Recorder {
        let mut recorder = Recorder {
            window,
            kinds: Default::default(),
            failed: None,
            errors: [[0; FAILURES]; KINDS],
            failures_by_second: BTreeMap::new(),
            messages: Vec::with_capacity(MESSAGES_KEPT),
            tick_end_ns: 0,
            in_tick: 0,
            ticks: Vec::with_capacity(600 * TICKS_PER_SECOND),
            seconds: Vec::with_capacity(600 * kinds.len()),
            scratch: Vec::with_capacity(1 << 16),
            last_finish_ns: 0,
            finished_in_window: 0,
            failed_in_window: 0,
        };
        for kind in kinds {
            recorder.kinds[kind.index()] = Some(KindRecorder {
                response: Counts::new(),
                service: open_loop
                    .then(|| ServiceRecorder { now: Counts::new(), before: Vec::new() }),
            });
        }
        recorder.open(window);
        recorder
    }

    /// Moves the window, which may be known only when every thread is ready. To be called before
    /// anything is recorded.
    pub fn open(&mut self, window: Window) {
        self.window = window;
        self.ticks.clear();
        self.ticks.resize((window.before_ns / TICK_NS) as usize, 0);
        self.tick_end_ns = window.from_ns.saturating_add(TICK_NS - window.before_ns % TICK_NS);
    }

    /// Adds one operation. Operations outside the window are left out.
    ///
    /// # Panics
    /// If `kind` was not announced to [`Recorder::new`].
    #[inline]
    pub fn record(&mut self, kind: OperationKind, times: Times, outcome: &Outcome) {
        let Window { from_ns, until_ns, .. } = self.window;
        let has_latency = times.intended_ns >= from_ns && times.intended_ns < until_ns;
        let in_window = times.finished_ns >= from_ns && times.finished_ns < until_ns;
        if !has_latency && !in_window {
            return;
        }
        if times.finished_ns >= self.tick_end_ns {
            // What ends after the window belongs to its last moment: the next one may be another
            // window's.
            self.close_ticks(times.finished_ns.min(until_ns - 1));
        }
        if matches!(outcome, Outcome::Done) {
            self.in_tick += u32::from(in_window);
            self.finished_in_window += u64::from(in_window);
        } else {
            self.failed_in_window += u64::from(in_window);
        }
        if !has_latency {
            return;
        }
        self.last_finish_ns = self.last_finish_ns.max(times.finished_ns);
        let response_ns = times.finished_ns.saturating_sub(times.intended_ns);
        if matches!(outcome, Outcome::Done) {
            let recorder = self.kinds[kind.index()].as_mut().expect("the kind was announced");
            recorder.response.count(response_ns);
            if let Some(service) = &mut recorder.service {
                service.now.count(times.finished_ns.saturating_sub(times.started_ns));
            }
        } else {
            self.record_failure(kind, response_ns, outcome);
        }
    }

    #[cold]
    fn record_failure(&mut self, kind: OperationKind, response_ns: u64, outcome: &Outcome) {
        let Some(failure) = outcome.failure_kind() else { return };
        self.failed.get_or_insert_with(Counts::new).count(response_ns);
        self.errors[kind.index()][failure.index()] += 1;
        let second = (self.ticks.len() / TICKS_PER_SECOND) as u32;
        *self.failures_by_second.entry(second).or_default() += 1;
        if self.messages.len() < MESSAGES_KEPT
            && let Outcome::Failed(failed) = outcome
        {
            let message = format!("{} {}: {}", kind.name(), failed.kind, failed.message);
            if !self.messages.contains(&message) {
                self.messages.push(message);
            }
        }
    }

    #[cold]
    fn close_ticks(&mut self, now_ns: u64) {
        while now_ns >= self.tick_end_ns {
            self.ticks.push(self.in_tick);
            self.in_tick = 0;
            self.tick_end_ns += TICK_NS;
            if self.ticks.len().is_multiple_of(TICKS_PER_SECOND) {
                self.close_second((self.ticks.len() / TICKS_PER_SECOND - 1) as u32);
            }
        }
    }

    fn close_second(&mut self, second: u32) {
        // Often enough that no counter of 32 bits is ever full.
        const SERVICE_EVERY: u32 = 60;
        for kind in OperationKind::ALL {
            let Some(recorder) = &mut self.kinds[kind.index()] else { continue };
            if !recorder.response.is_empty() {
                let packed = recorder.response.pack(&mut self.scratch);
                self.seconds.push((second, kind, packed));
            }
            if second.is_multiple_of(SERVICE_EVERY)
                && let Some(service) = &mut recorder.service
            {
                service.before.push(service.now.pack(&mut self.scratch));
            }
        }
    }

    /// Ends the recording and gives what was seen.
    pub fn finish(mut self) -> Recorded {
        self.ticks.push(self.in_tick);
        self.close_second(((self.ticks.len() - 1) / TICKS_PER_SECOND) as u32);
        let mut recorded = Recorded {
            kinds: BTreeMap::new(),
            failed: empty_histogram(),
            errors: BTreeMap::new(),
            failures_by_second: self.failures_by_second,
            messages: self.messages,
            ticks: self.ticks,
            seconds: BTreeMap::new(),
            last_finish_ns: self.last_finish_ns,
            finished_in_window: self.finished_in_window,
            failed_in_window: self.failed_in_window,
        };
        if let Some(mut failed) = self.failed {
            failed.pack(&mut self.scratch).add_to(&mut recorded.failed);
        }
        for (kind, recorder) in OperationKind::ALL.into_iter().zip(self.kinds) {
            if let Some(recorder) = recorder {
                let service = recorder.service.map(|service| service.sum(&mut self.scratch));
                let latencies = Latencies { response: empty_histogram(), service };
                recorded.kinds.insert(kind, latencies);
            }
            for failure in FailureKind::ALL {
                let count = self.errors[kind.index()][failure.index()];
                if count > 0 {
                    recorded.errors.insert((kind, failure), count);
                }
            }
        }
        for (second, kind, packed) in self.seconds {
            if let Some(latencies) = recorded.kinds.get_mut(&kind) {
                packed.add_to(&mut latencies.response);
            }
            recorded.seconds.entry((second, kind)).or_default().push(packed);
        }
        recorded
    }
}

impl ServiceRecorder {
    fn sum(mut self, scratch: &mut Vec<u8>) -> Histogram<u64> {
        let mut all = empty_histogram();
        self.before.push(self.now.pack(scratch));
        self.before.iter().for_each(|packed| packed.add_to(&mut all));
        all
    }
}
