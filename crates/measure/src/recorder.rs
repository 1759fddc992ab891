//! What one thread saw: latencies by kind of operation, errors, and how many operations ended in
//! each tenth of a second. No locks; nothing is shared until the thread has ended.
//!
//! Three times belong to an operation: when it was *intended* to start, when it *started* and when
//! it *finished*. Response time runs from intended to finished, service time from started to
//! finished. In a closed loop the two are the same and only one is kept.
//!
//! Latencies are held in HdrHistograms of three significant digits from 1 ns to one hour, so the
//! value reported is at most 0.1 % away from the value measured. A longer one counts as one hour.

use std::collections::BTreeMap;

use assay_model::{FailureKind, OperationKind, Outcome};
use hdrhistogram::{
    Histogram,
    serialization::{Deserializer, Serializer, V2Serializer},
};

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

/// Which operations count: those intended to start at or after `from_ns` and before `until_ns`,
/// however late they finish.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// The first nanosecond that counts; the series start here.
    pub from_ns: u64,
    /// The first nanosecond that counts no more.
    pub until_ns: u64,
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
    kinds: [Option<Box<KindRecorder>>; KINDS],
    failed: Histogram<u64>,
    errors: [[u64; FAILURES]; KINDS],
    failures_by_second: BTreeMap<u32, u64>,
    messages: Vec<String>,
    tick_end_ns: u64,
    in_tick: u32,
    ticks: Vec<u32>,
    seconds: Vec<SecondEntry>,
    seconds_bytes: Vec<u8>,
    serializer: V2Serializer,
    first_start_ns: u64,
    last_finish_ns: u64,
    in_window: u64,
}

struct KindRecorder {
    response: Histogram<u64>,
    response_now: Histogram<u64>,
    service: Option<Histogram<u64>>,
}

struct SecondEntry {
    second: u32,
    kind: OperationKind,
    bytes: std::ops::Range<usize>,
}

impl Recorder {
    /// A recorder for operations of `kinds`; `open_loop` keeps service times too. Everything that
    /// it needs in the loop is allocated here.
    pub fn new(window: Window, kinds: &[OperationKind], open_loop: bool) -> Recorder {
        let mut recorder = Recorder {
            window,
            kinds: Default::default(),
            failed: empty_histogram(),
            errors: [[0; FAILURES]; KINDS],
            failures_by_second: BTreeMap::new(),
            messages: Vec::with_capacity(MESSAGES_KEPT),
            tick_end_ns: window.from_ns.saturating_add(TICK_NS),
            in_tick: 0,
            ticks: Vec::with_capacity(600 * TICKS_PER_SECOND),
            seconds: Vec::with_capacity(600 * kinds.len()),
            seconds_bytes: Vec::with_capacity(1 << 20),
            serializer: V2Serializer::new(),
            first_start_ns: u64::MAX,
            last_finish_ns: 0,
            in_window: 0,
        };
        for kind in kinds {
            recorder.kinds[kind.index()] = Some(Box::new(KindRecorder {
                response: empty_histogram(),
                response_now: empty_histogram(),
                service: open_loop.then(empty_histogram),
            }));
        }
        recorder
    }

    /// Adds one operation. Operations outside the window are left out.
    ///
    /// # Panics
    /// If `kind` was not announced to [`Recorder::new`].
    #[inline]
    pub fn record(&mut self, kind: OperationKind, times: Times, outcome: &Outcome) {
        if times.intended_ns < self.window.from_ns || times.intended_ns >= self.window.until_ns {
            return;
        }
        if times.finished_ns >= self.tick_end_ns {
            self.close_ticks(times.finished_ns);
        }
        self.first_start_ns = self.first_start_ns.min(times.started_ns);
        self.last_finish_ns = self.last_finish_ns.max(times.finished_ns);
        let response_ns = times.finished_ns.saturating_sub(times.intended_ns);
        if matches!(outcome, Outcome::Done) {
            self.in_tick += 1;
            self.in_window += u64::from(times.finished_ns < self.window.until_ns);
            let recorder = self.kinds[kind.index()].as_mut().expect("the kind was announced");
            recorder.response_now.saturating_record(response_ns);
            if let Some(service) = &mut recorder.service {
                service.saturating_record(times.finished_ns - times.started_ns);
            }
        } else {
            self.record_failure(kind, response_ns, outcome);
        }
    }

    #[cold]
    fn record_failure(&mut self, kind: OperationKind, response_ns: u64, outcome: &Outcome) {
        let Some(failure) = outcome.failure_kind() else { return };
        self.failed.saturating_record(response_ns);
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
                self.close_second(self.ticks.len() / TICKS_PER_SECOND - 1);
            }
        }
    }

    fn close_second(&mut self, second: usize) {
        for kind in OperationKind::ALL {
            let Some(recorder) = &mut self.kinds[kind.index()] else { continue };
            if recorder.response_now.is_empty() {
                continue;
            }
            let start = self.seconds_bytes.len();
            self.serializer
                .serialize(&recorder.response_now, &mut self.seconds_bytes)
                .expect("writing to memory does not fail and the counts fit");
            let bytes = start..self.seconds_bytes.len();
            self.seconds.push(SecondEntry { second: second as u32, kind, bytes });
            recorder.response += &recorder.response_now;
            recorder.response_now.reset();
        }
    }

    /// Ends the recording and gives what was seen.
    pub fn finish(mut self) -> Recorded {
        self.ticks.push(self.in_tick);
        self.close_second((self.ticks.len() - 1) / TICKS_PER_SECOND);
        let mut recorded = Recorded {
            kinds: BTreeMap::new(),
            failed: self.failed,
            errors: BTreeMap::new(),
            failures_by_second: self.failures_by_second,
            messages: self.messages,
            ticks: self.ticks,
            seconds: BTreeMap::new(),
            first_start_ns: self.first_start_ns,
            last_finish_ns: self.last_finish_ns,
            finished_in_window: self.in_window,
        };
        for (kind, recorder) in OperationKind::ALL.into_iter().zip(self.kinds) {
            if let Some(recorder) = recorder {
                recorded.kinds.insert(
                    kind,
                    Latencies { response: recorder.response, service: recorder.service },
                );
            }
            for failure in FailureKind::ALL {
                let count = self.errors[kind.index()][failure.index()];
                if count > 0 {
                    recorded.errors.insert((kind, failure), count);
                }
            }
        }
        let mut deserializer = Deserializer::new();
        for entry in self.seconds {
            let histogram: Histogram<u64> = deserializer
                .deserialize(&mut &self.seconds_bytes[entry.bytes])
                .expect("this recorder serialized it");
            merge_into(recorded.seconds.entry((entry.second, entry.kind)), &histogram);
        }
        recorded
    }
}

fn merge_into<K: Ord>(
    entry: std::collections::btree_map::Entry<'_, K, Histogram<u64>>,
    histogram: &Histogram<u64>,
) {
    *entry.or_insert_with(empty_histogram) += histogram;
}

/// Latencies of one kind of operation.
#[derive(Clone, Debug)]
pub struct Latencies {
    /// From intended start to end, in nanoseconds.
    pub response: Histogram<u64>,
    /// From actual start to end, in nanoseconds; only in an open loop, where they differ.
    pub service: Option<Histogram<u64>>,
}

/// What one thread saw, or several after [`Recorded::merge`].
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Latencies of the operations that succeeded, by kind.
    pub kinds: BTreeMap<OperationKind, Latencies>,
    /// Response times of the operations that failed.
    pub failed: Histogram<u64>,
    /// How many operations failed, by kind of operation and of failure.
    pub errors: BTreeMap<(OperationKind, FailureKind), u64>,
    /// How many operations failed in each second from the window's start, by the time they ended.
    pub failures_by_second: BTreeMap<u32, u64>,
    /// The first few different failures in the store's words.
    pub messages: Vec<String>,
    /// How many operations succeeded in each tenth of a second from the window's start, by the time
    /// they finished.
    pub ticks: Vec<u32>,
    /// Response times by second from the window's start, by the time they finished. Seconds in
    /// which a kind did not finish are absent.
    pub seconds: BTreeMap<(u32, OperationKind), Histogram<u64>>,
    /// When the first counted operation started.
    pub first_start_ns: u64,
    /// When the last counted operation finished.
    pub last_finish_ns: u64,
    /// How many operations both counted and succeeded before the window closed.
    pub finished_in_window: u64,
}

impl Recorded {
    /// Adds what another thread saw in the same window.
    pub fn merge(&mut self, other: Recorded) {
        for (kind, latencies) in other.kinds {
            match self.kinds.get_mut(&kind) {
                None => {
                    self.kinds.insert(kind, latencies);
                }
                Some(mine) => {
                    mine.response += &latencies.response;
                    if let (Some(mine), Some(theirs)) = (&mut mine.service, &latencies.service) {
                        *mine += theirs;
                    }
                }
            }
        }
        self.failed += &other.failed;
        for (key, count) in other.errors {
            *self.errors.entry(key).or_default() += count;
        }
        for (second, count) in other.failures_by_second {
            *self.failures_by_second.entry(second).or_default() += count;
        }
        for message in other.messages {
            if self.messages.len() < MESSAGES_KEPT && !self.messages.contains(&message) {
                self.messages.push(message);
            }
        }
        if self.ticks.len() < other.ticks.len() {
            self.ticks.resize(other.ticks.len(), 0);
        }
        for (mine, theirs) in self.ticks.iter_mut().zip(other.ticks) {
            *mine += theirs;
        }
        for (key, histogram) in other.seconds {
            merge_into(self.seconds.entry(key), &histogram);
        }
        self.first_start_ns = self.first_start_ns.min(other.first_start_ns);
        self.last_finish_ns = self.last_finish_ns.max(other.last_finish_ns);
        self.finished_in_window += other.finished_in_window;
    }

    /// How many operations succeeded.
    pub fn succeeded(&self) -> u64 {
        self.kinds.values().map(|latencies| latencies.response.len()).sum()
    }

    /// How many operations failed.
    pub fn failures(&self) -> u64 {
        self.errors.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn window() -> Window {
        Window { from_ns: 1000 * MS, until_ns: 3000 * MS }
    }

    fn at(intended: u64, started: u64, finished: u64) -> Times {
        Times { intended_ns: intended * MS, started_ns: started * MS, finished_ns: finished * MS }
    }

    #[test]
    fn a_slow_operation_that_crosses_the_end_of_the_window_is_kept() {
        let mut recorder = Recorder::new(window(), &[OperationKind::Read], false);
        recorder.record(OperationKind::Read, at(2990, 2990, 9000), &Outcome::Done);
        recorder.record(OperationKind::Read, at(3000, 3000, 3001), &Outcome::Done);
        recorder.record(OperationKind::Read, at(999, 999, 1001), &Outcome::Done);
        let recorded = recorder.finish();
        let response = &recorded.kinds[&OperationKind::Read].response;
        assert_eq!(response.len(), 1);
        assert!(response.max() >= 6009 * MS);
        assert_eq!(recorded.finished_in_window, 0, "it is no throughput of this window");
    }

    #[test]
    fn response_time_starts_when_it_was_intended_and_service_time_when_it_started() {
        let mut recorder = Recorder::new(window(), &[OperationKind::Read], true);
        recorder.record(OperationKind::Read, at(1100, 2100, 2101), &Outcome::Done);
        let recorded = recorder.finish();
        let latencies = &recorded.kinds[&OperationKind::Read];
        let service = latencies.service.as_ref().unwrap();
        assert!(latencies.response.equivalent(latencies.response.max(), 1001 * MS));
        assert!(service.equivalent(service.max(), MS));
    }

    #[test]
    fn a_missing_key_is_not_a_success() {
        let mut recorder = Recorder::new(window(), &[OperationKind::Read], false);
        recorder.record(OperationKind::Read, at(1100, 1100, 1101), &Outcome::Missing);
        let refused = Outcome::failed(FailureKind::Rejected, "no");
        recorder.record(OperationKind::Read, at(1100, 1100, 1101), &refused);
        let recorded = recorder.finish();
        assert_eq!((recorded.succeeded(), recorded.failures()), (0, 2));
        assert_eq!(recorded.errors[&(OperationKind::Read, FailureKind::Missing)], 1);
        assert_eq!(recorded.messages, ["read rejected: no"]);
        assert_eq!(recorded.failed.len(), 2);
        assert_eq!(recorded.ticks.iter().sum::<u32>(), 0);
    }

    #[test]
    fn latencies_below_a_microsecond_are_told_apart() {
        let mut recorder = Recorder::new(window(), &[OperationKind::Read], false);
        for ns in [61, 62, 997] {
            let start = 1500 * MS;
            let times = Times { intended_ns: start, started_ns: start, finished_ns: start + ns };
            recorder.record(OperationKind::Read, times, &Outcome::Done);
        }
        let recorded = recorder.finish();
        let response = &recorded.kinds[&OperationKind::Read].response;
        let values: Vec<u64> = response.iter_recorded().map(|v| v.value_iterated_to()).collect();
        assert_eq!(values, [61, 62, 997]);
    }

    #[test]
    fn threads_merge_exactly_and_series_add_up() {
        let record = |shift: u64| {
            let mut recorder =
                Recorder::new(window(), &[OperationKind::Read, OperationKind::Update], false);
            for i in 0..1900 {
                let kind = if i % 2 == 0 { OperationKind::Read } else { OperationKind::Update };
                recorder.record(kind, at(1000 + i, 1000 + i, 1000 + i + shift), &Outcome::Done);
            }
            recorder.finish()
        };
        let mut merged = record(1);
        merged.merge(record(40));
        assert_eq!(merged.succeeded(), 3800);
        assert_eq!(merged.ticks.iter().sum::<u32>(), 3800);
        let by_second: u64 = merged.seconds.values().map(|h| h.len()).sum();
        assert_eq!(by_second, 3800);
        assert_eq!(merged.seconds.keys().map(|(second, _)| *second).max(), Some(1));
        assert_eq!(merged.kinds[&OperationKind::Read].response.len(), 1900);
    }
}
