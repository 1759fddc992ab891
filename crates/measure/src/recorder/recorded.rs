//! What threads saw in a window, in the form in which it is reported.

use std::collections::BTreeMap;

use assay_model::{FailureKind, OperationKind};
use hdrhistogram::Histogram;

use super::{MESSAGES_KEPT, Packed, empty_histogram};

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
    /// How many operations failed in each second of the measurement, by the time they ended.
    pub failures_by_second: BTreeMap<u32, u64>,
    /// The first few different failures in the store's words.
    pub messages: Vec<String>,
    /// How many operations succeeded in each tenth of a second of the measurement, by the time they
    /// finished.
    pub ticks: Vec<u32>,
    /// Response times by second of the measurement, by the time they finished, of each thread.
    /// Seconds in which a kind did not finish are absent. [`Recorded::second`] unpacks them.
    pub seconds: BTreeMap<(u32, OperationKind), Vec<Packed>>,
    /// When the last counted operation finished.
    pub last_finish_ns: u64,
    /// How many operations succeeded within the window, whenever they started.
    pub finished_in_window: u64,
    /// How many operations failed within the window, whenever they started.
    pub failed_in_window: u64,
}

impl Recorded {
    /// Adds what another thread saw in the same window, or what was seen in a later one that goes
    /// on where this one ended.
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
        for (key, packed) in other.seconds {
            self.seconds.entry(key).or_default().extend(packed);
        }
        self.last_finish_ns = self.last_finish_ns.max(other.last_finish_ns);
        self.finished_in_window += other.finished_in_window;
        self.failed_in_window += other.failed_in_window;
    }

    /// Response times of one kind in one second of the measurement.
    pub fn second(&self, second: u32, kind: OperationKind) -> Histogram<u64> {
        let mut latencies = empty_histogram();
        for packed in self.seconds.get(&(second, kind)).into_iter().flatten() {
            packed.add_to(&mut latencies);
        }
        latencies
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
