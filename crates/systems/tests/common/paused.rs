//! A server that is stopped from running while it has clients.

use assay_model::{FailureKind, Fields, Outcome};
use assay_systems::{System, SystemError};

use crate::records::{insert, kind, read, session};

/// Whoever asks a paused server is told so once the time limit of `system` has passed.
pub fn runs_into_the_time_limit(system: &dyn System, pause: impl FnOnce(), resume: impl FnOnce()) {
    system.prepare().unwrap();
    let mut session = session(system);
    assert_eq!(insert(&mut session, "k", &[(0, "a"), (1, "b"), (2, "c")]), Outcome::Done);
    pause();
    let (outcome, _) = read(&mut session, "k", Fields::All);
    assert_eq!(kind(&outcome), FailureKind::Timeout, "{outcome:?}");
    for error in [system.connect().err(), system.prepare().err()] {
        match error.expect("it does not answer") {
            SystemError::Unreachable { why, .. } => assert!(why.contains("time limit"), "{why}"),
            other => panic!("{other}"),
        }
    }
    resume();
    drop(session);
    system.remove().unwrap();
}
