//! A run that did not come to its end: whoever reads its figures is told.

use assay_results::{Caveat, Run};

use crate::speech::say;

/// Says on standard error what became of a run, if it did not come to its end.
pub fn say_of(run: &Run) {
    if let Some(how) = run.how_unfinished() {
        say!("assay: {} {how}: here are the trials that ended", run.path.display());
    }
}

/// The same as a caveat of every figure of the run.
pub fn caveat(run: &Run) -> Option<Caveat> {
    let text = format!("the run {}: these are the trials that ended", run.how_unfinished()?);
    Some(Caveat { code: "unfinished_run".to_owned(), text })
}
