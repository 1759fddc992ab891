//! What the threads of a phase have in common: the lane.
//!
//! A lane is one thread of the client with its stream of operations and its recorder. A call lane
//! ([`crate::call`]) is one client; a wire lane ([`crate::wire`]) is many, on one event loop. Both
//! go the same way for each operation: claim a number, prepare the operation, wait until it is due,
//! stamp, execute, stamp, record.

use std::{
    ops::Range,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use assay_measure::{
    clock::{self, Clock},
    pacing::Schedule,
    recorder::{Recorded, Recorder, Times, Window},
};
use assay_model::{Answer, FailureKind, OperationKind, Outcome};
use assay_workload::{Acknowledged, CoreWorkload, Prepared, Stream, ValuePool, Verifier};

use crate::{feed::Feed, placement};

/// What a phase's lanes share.
pub struct Phase<'p> {
    /// The clock that all stamps come from.
    pub clock: Clock,
    /// The workload.
    pub workload: &'p CoreWorkload,
    /// The pool that values are slices of.
    pub pool: &'p ValuePool,
    /// The inserts that the store has acknowledged.
    pub acknowledged: &'p Acknowledged,
    /// What random choices follow from.
    pub seed: u64,
    /// The operation numbers.
    pub feed: &'p Feed,
    /// The number of the first operation, which is due when the phase starts.
    pub first: u64,
    /// When each operation is due, in an open loop.
    pub schedule: Option<Schedule>,
    /// Which operations are recorded.
    pub window: Window,
    /// When the phase stops issuing, on the clock.
    pub stop_ns: u64,
    /// The longest an operation may take.
    pub timeout: Duration,
    /// Whether what is read is checked.
    pub verify: bool,
    /// Set when everybody is to stop: an interrupt, or a server that is gone.
    pub abort: &'p AtomicBool,
}

/// What a lane brings back.
pub struct LaneReport {
    /// What it recorded.
    pub recorded: Recorded,
    /// CPU that its thread used within the window, in nanoseconds.
    pub cpu_ns: u64,
    /// How many operations it carried out, recorded or not.
    pub executed: u64,
    /// How many inserts the store acknowledged, recorded or not.
    pub inserted: u64,
    /// How many reads it checked.
    pub verified: u64,
    /// How often an operation of an open loop started late although a client was free, by more
    /// than [`LATE_NS`].
    pub late_starts: u64,
    /// Why it gave up, if it did.
    pub gave_up: Option<String>,
}

/// A start that is later than this is the client's doing.
pub const LATE_NS: u64 = 1_000_000;

/// One thread's side of a phase.
pub struct Lane<'p> {
    pub(crate) phase: &'p Phase<'p>,
    pub(crate) stream: Stream<'p>,
    pub(crate) schedule: Option<Schedule>,
    pub(crate) recorder: Recorder,
    verifier: Option<Verifier<'p>>,
    verified: u64,
    pub(crate) late_starts: u64,
    executed: u64,
    inserted: u64,
    held: Range<u64>,
    cpu_start_ns: u64,
    cpu_in_window_ns: Option<u64>,
}

impl<'p> Lane<'p> {
    /// A lane on the calling thread, pinned to `core`. Returns when the window opens, so that all
    /// lanes begin together.
    pub fn new(phase: &'p Phase<'p>, core: Option<usize>) -> Lane<'p> {
        if let Some(core) = core {
            placement::pin(core);
        }
        let kinds = phase.workload.operation_kinds();
        let mut lane = Lane {
            phase,
            stream: Stream::new(phase.workload, phase.pool, phase.acknowledged, phase.seed),
            schedule: phase.schedule.clone(),
            recorder: Recorder::new(phase.window, &kinds, phase.schedule.is_some()),
            verifier: phase.verify.then(|| Verifier::new(phase.workload, phase.pool)),
            verified: 0,
            late_starts: 0,
            executed: 0,
            inserted: 0,
            held: 0..0,
            cpu_start_ns: 0,
            cpu_in_window_ns: None,
        };
        wait_until(&phase.clock, phase.window.from_ns);
        lane.cpu_start_ns = clock::thread_cpu_ns();
        lane
    }

    /// Prepares the next operation and says when it is due (`None`: at once), or `None` when the
    /// phase is over. `now_ns` is the latest stamp at hand.
    #[inline]
    pub(crate) fn next(&mut self, now_ns: u64, into: &mut Prepared<'p>) -> Option<Option<u64>> {
        if now_ns >= self.phase.window.until_ns && self.cpu_in_window_ns.is_none() {
            self.close_window();
        }
        if now_ns >= self.phase.stop_ns || self.phase.abort.load(Ordering::Relaxed) {
            return None;
        }
        let n = self.phase.feed.claim(&mut self.held)?;
        self.stream.prepare(n, into);
        let window = &self.phase.window;
        let due = self.schedule.as_mut().map(|schedule| {
            window.from_ns + schedule.due_ns(n - self.phase.first)
        });
        // A number that was claimed is carried out, or the keys of inserts would have gaps: one
        // that is due after the end comes at the end, outside the window.
        Some(due.map(|due| due.min(self.phase.stop_ns)))
    }

    #[cold]
    fn close_window(&mut self) {
        self.cpu_in_window_ns = Some(clock::thread_cpu_ns() - self.cpu_start_ns);
    }

    /// Checks and records an operation that has ended.
    #[inline]
    pub(crate) fn done(
        &mut self,
        prepared: &Prepared<'p>,
        times: Times,
        mut outcome: Outcome,
        answer: &Answer,
    ) {
        if outcome == Outcome::Done && self.verifier.is_some() {
            outcome = self.verify(prepared, answer);
        }
        self.executed += 1;
        self.recorder.record(prepared.kind(), times, &outcome);
        if prepared.kind() == OperationKind::Insert {
            // A failed one too, or `latest` would never get past it.
            self.phase.acknowledged.acknowledge(prepared.key_number());
            self.inserted += u64::from(outcome == Outcome::Done);
        }
    }

    fn verify(&mut self, prepared: &Prepared<'p>, answer: &Answer) -> Outcome {
        let reads = matches!(
            prepared.kind(),
            OperationKind::Read | OperationKind::Scan | OperationKind::ReadModifyWrite
        );
        let Some(verifier) = self.verifier.as_mut().filter(|_| reads) else {
            return Outcome::Done;
        };
        self.verified += 1;
        match verifier.check(&prepared.read(), answer) {
            Ok(()) => Outcome::Done,
            Err(wrong) => Outcome::failed(FailureKind::WrongAnswer, wrong.to_string()),
        }
    }

    /// Ends the lane.
    pub(crate) fn finish(mut self, gave_up: Option<String>) -> LaneReport {
        if self.cpu_in_window_ns.is_none() {
            self.close_window();
        }
        LaneReport {
            recorded: self.recorder.finish(),
            cpu_ns: self.cpu_in_window_ns.unwrap_or_default(),
            executed: self.executed,
            inserted: self.inserted,
            verified: self.verified,
            late_starts: self.late_starts,
            gave_up,
        }
    }
}

/// Sleeps most of the way and spins the rest, because a sleep may end a scheduler's tick late.
/// Says whether there was anything to wait for.
pub(crate) fn wait_until(clock: &Clock, due_ns: u64) -> bool {
    const SPIN_NS: u64 = 100_000;
    let mut now_ns = clock.now();
    if now_ns >= due_ns {
        return false;
    }
    if due_ns - now_ns > SPIN_NS {
        std::thread::sleep(Duration::from_nanos(due_ns - now_ns - SPIN_NS));
    }
    while now_ns < due_ns {
        std::hint::spin_loop();
        now_ns = clock.now();
    }
    true
}
