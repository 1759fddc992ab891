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
    recorder::{Recorder, Times, Window},
};
use assay_model::{Answer, FailureKind, OperationKind, Outcome};
use assay_workload::{Acknowledged, CoreWorkload, Prepared, Stream, ValuePool, Verifier};

use crate::{
    feed::Feed,
    gate::{Gate, Opening},
    placement, wait,
};

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
    /// Where the lanes wait until all are ready.
    pub gate: &'p Gate,
    /// The longest an operation may take.
    pub timeout: Duration,
    /// Whether what is read is checked.
    pub verify: bool,
    /// Set when everybody is to stop: an interrupt, or a server that is gone.
    pub abort: &'p AtomicBool,
}

/// What a lane brings back.
pub struct LaneReport {
    /// What it recorded: still packed, so that the sums of all lanes are not held at once.
    pub recorder: Recorder,
    /// CPU that its thread used within the window, in nanoseconds, without what it took to wait
    /// until operations of an open loop were due.
    pub cpu_ns: u64,
    /// How many operations it carried out, recorded or not.
    pub executed: u64,
    /// How many inserts the store acknowledged, recorded or not.
    pub inserted: u64,
    /// How many inserts failed, recorded or not. The store may have carried them out.
    pub failed_inserts: u64,
    /// How many reads it checked.
    pub verified: u64,
    /// How often an operation of an open loop started late although a client was free, by more
    /// than a millisecond.
    pub late_starts: u64,
    /// Why it gave up, if it did.
    pub gave_up: Option<String>,
}

/// A start that is later than this is the client's doing.
const LATE_NS: u64 = 1_000_000;

/// One thread's side of a phase.
pub struct Lane<'p> {
    pub(crate) phase: &'p Phase<'p>,
    stream: Stream<'p>,
    schedule: Option<Schedule>,
    recorder: Recorder,
    opening: Opening,
    verifier: Option<Verifier<'p>>,
    held: Range<u64>,
    verified: u64,
    late_starts: u64,
    executed: u64,
    inserted: u64,
    failed_inserts: u64,
    waiting_cpu_ns: u64,
    cpu_start_ns: Option<u64>,
    cpu_in_window_ns: Option<u64>,
    /// When the window opens or, once it has, closes.
    edge_ns: u64,
}

impl<'p> Lane<'p> {
    /// A lane on the calling thread, pinned to `core`. Everything that it needs is made here; it
    /// begins with `Lane::begin`.
    pub fn new(phase: &'p Phase<'p>, core: Option<usize>) -> Lane<'p> {
        if let Some(core) = core {
            placement::pin(core);
        }
        wait::sleep_precisely();
        let kinds = phase.workload.operation_kinds();
        let never = Window { from_ns: 0, until_ns: 0, before_ns: 0 };
        Lane {
            phase,
            stream: Stream::new(phase.workload, phase.pool, phase.acknowledged, phase.seed),
            schedule: phase.schedule.clone(),
            recorder: Recorder::new(never, &kinds, phase.schedule.is_some()),
            opening: Opening { begin_ns: 0, window: never, stop_ns: 0 },
            verifier: phase.verify.then(|| Verifier::new(phase.workload, phase.pool)),
            held: 0..0,
            verified: 0,
            late_starts: 0,
            executed: 0,
            inserted: 0,
            failed_inserts: 0,
            waiting_cpu_ns: 0,
            cpu_start_ns: None,
            cpu_in_window_ns: None,
            edge_ns: 0,
        }
    }

    /// Waits until every lane is ready and it is time, so that all begin together.
    pub(crate) fn begin(&mut self) {
        self.opening = self.phase.gate.enter();
        let Opening { begin_ns, window, .. } = self.opening;
        self.recorder.open(window);
        self.edge_ns = window.from_ns;
        wait::until(&self.phase.clock, begin_ns, self.phase.abort);
        if begin_ns >= window.from_ns {
            self.cross_edge(window.from_ns);
        }
    }

    /// Prepares the next operation and says when it is due (`None`: at once), or `None` when the
    /// phase is over. `now_ns` is the latest stamp at hand.
    #[inline]
    pub(crate) fn next(&mut self, now_ns: u64, into: &mut Prepared<'p>) -> Option<Option<u64>> {
        if now_ns >= self.edge_ns {
            self.cross_edge(now_ns);
        }
        if self.is_over(now_ns) {
            return None;
        }
        let n = self.phase.feed.claim(&mut self.held)?;
        self.stream.prepare(n, into);
        let from_ns = self.opening.window.from_ns;
        let due = self.schedule.as_mut().map(|s| from_ns + s.due_ns(n - self.phase.first));
        // A number that was claimed is carried out, or the keys of inserts would have gaps: one
        // that is due after the end comes at the end, outside the window.
        Some(due.map(|due| due.min(self.opening.stop_ns)))
    }

    /// Whether nothing more is to be issued.
    #[inline]
    pub(crate) fn is_over(&mut self, now_ns: u64) -> bool {
        (now_ns >= self.opening.stop_ns && !self.is_behind(now_ns))
            || self.phase.abort.load(Ordering::Relaxed)
    }

    /// Whether operations that were due in the window have yet to start, as after a stall. They
    /// are late, and not left out; but they do not hold the phase up for longer than one of them
    /// may take.
    #[cold]
    fn is_behind(&mut self, now_ns: u64) -> bool {
        let Some(schedule) = &mut self.schedule else { return false };
        let Opening { window, stop_ns, .. } = self.opening;
        let next = self.phase.feed.position() - self.phase.first;
        now_ns.saturating_sub(stop_ns) < self.phase.timeout.as_nanos() as u64
            && window.from_ns + schedule.due_ns(next) < window.until_ns
    }

    /// Waits until an operation of an open loop is due.
    pub(crate) fn wait_until(&mut self, due_ns: u64) {
        if self.phase.clock.now() < due_ns {
            let waited = wait::until(&self.phase.clock, due_ns, self.phase.abort);
            self.waited(waited.cpu_ns);
            self.started_after_waiting(due_ns, waited.now_ns);
        }
    }

    /// Processor time went into waiting: it is no cost of the operations.
    pub(crate) fn waited(&mut self, cpu_ns: u64) {
        self.waiting_cpu_ns += cpu_ns;
    }

    /// An operation for which a client was waiting starts now.
    pub(crate) fn started_after_waiting(&mut self, due_ns: u64, now_ns: u64) {
        self.late_starts += u64::from(now_ns.saturating_sub(due_ns) > LATE_NS);
    }

    /// The window opens or closes: its processor time is what lies between.
    #[cold]
    fn cross_edge(&mut self, now_ns: u64) {
        let Window { until_ns, .. } = self.opening.window;
        if self.cpu_start_ns.is_none() {
            self.cpu_start_ns = Some(clock::thread_cpu_ns());
            self.waiting_cpu_ns = 0;
            self.edge_ns = until_ns;
        }
        if now_ns >= until_ns {
            self.close_window();
        }
    }

    fn close_window(&mut self) {
        let used_ns = self.cpu_start_ns.map_or(0, |start_ns| clock::thread_cpu_ns() - start_ns);
        self.cpu_in_window_ns.get_or_insert(used_ns.saturating_sub(self.waiting_cpu_ns));
        self.edge_ns = u64::MAX;
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
            let done = outcome == Outcome::Done;
            self.inserted += u64::from(done);
            self.failed_inserts += u64::from(!done);
        }
    }

    fn verify(&mut self, prepared: &Prepared<'p>, answer: &Answer) -> Outcome {
        let reads = matches!(
            prepared.kind(),
            OperationKind::Read
                | OperationKind::Scan
                | OperationKind::Lookup
                | OperationKind::ReadModifyWrite
        );
        let Some(verifier) = self.verifier.as_mut().filter(|_| reads) else {
            return Outcome::Done;
        };
        self.verified += 1;
        match verifier.check(&prepared.operation(), answer) {
            Ok(()) => Outcome::Done,
            Err(wrong) => Outcome::failed(FailureKind::WrongAnswer, wrong.to_string()),
        }
    }

    /// Ends the lane.
    pub(crate) fn finish(mut self, gave_up: Option<String>) -> LaneReport {
        self.close_window();
        LaneReport {
            recorder: self.recorder,
            cpu_ns: self.cpu_in_window_ns.unwrap_or_default(),
            executed: self.executed,
            inserted: self.inserted,
            failed_inserts: self.failed_inserts,
            verified: self.verified,
            late_starts: self.late_starts,
            gave_up,
        }
    }
}
