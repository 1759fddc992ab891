//! The measured loop of a call client: one thread, one session.

use assay_measure::recorder::Times;
use assay_model::{Answer, OperationKind, Outcome};
use assay_systems::Session;
use assay_workload::Prepared;

use crate::lane::{Lane, LaneReport, Phase};

/// Runs one client until the phase is over.
pub fn run<'p>(phase: &'p Phase<'p>, session: &mut dyn Session, core: Option<usize>) -> LaneReport {
    let mut lane = Lane::new(phase, core);
    let clock = phase.clock;
    let mut prepared = Prepared::new();
    let mut answer = if phase.verify { Answer::keeping() } else { Answer::counting() };
    lane.begin();
    let mut now_ns = clock.now();
    while let Some(due) = lane.next(now_ns, &mut prepared) {
        if let Some(due_ns) = due {
            lane.wait_until(due_ns);
        }
        let started_ns = clock.now();
        let outcome = execute(session, &prepared, &mut answer);
        let finished_ns = clock.now();
        let intended_ns = due.unwrap_or(started_ns);
        lane.done(&prepared, Times { intended_ns, started_ns, finished_ns }, outcome, &answer);
        now_ns = finished_ns;
    }
    lane.finish(None)
}

#[inline]
fn execute(session: &mut dyn Session, prepared: &Prepared<'_>, answer: &mut Answer) -> Outcome {
    answer.clear();
    if prepared.kind() != OperationKind::ReadModifyWrite {
        return session.execute(&prepared.operation(), answer);
    }
    match session.execute(&prepared.read(), answer) {
        Outcome::Done => session.execute(&prepared.write(), &mut Answer::counting()),
        failed => failed,
    }
}
