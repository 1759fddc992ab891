//! A run that did not come to its end: whoever reads its figures is told.

use assay_results::{Caveat, Run, RunStatus, is_being_written};

use crate::speech::say;

/// What became of a run, if it did not come to its end.
pub fn how(run: &Run) -> Option<&'static str> {
    match run.header.status {
        RunStatus::Finished => None,
        RunStatus::Interrupted => Some("was interrupted"),
        RunStatus::Running if is_being_written(&run.path) => Some("is not over"),
        RunStatus::Running => Some("was killed, or ended without a chance to say so"),
    }
}

/// Says on standard error what became of a run, if it did not come to its end.
pub fn say_of(run: &Run) {
    if let Some(how) = how(run) {
        say!("assay: {} {how}: here are the trials that ended", run.path.display());
    }
}

/// The same as a caveat of every figure of the run.
pub fn caveat(run: &Run) -> Option<Caveat> {
    let text = format!("the run {}: these are the trials that ended", how(run)?);
    Some(Caveat { code: "unfinished_run".to_owned(), text })
}
