//! What clients write is what they read.

use assay_model::{FailureKind, Fields, Outcome};
use assay_systems::{System, blocking::Blocking};

use crate::records::{delete, insert, kind, read, row, scan, update};

/// Writes records of three fields in every way, and reads them. A key that exists is refused.
pub fn is_read(system: &dyn System, session: &mut Blocking) {
    assert_eq!(insert(session, "k1", &[(0, "a"), (1, "b"), (2, "c")]), Outcome::Done);
    // The order given does not matter.
    assert_eq!(insert(session, "k2", &[(2, "z"), (0, "x"), (1, "y")]), Outcome::Done);
    assert_eq!(update(session, "k1", &[(1, "one")]), Outcome::Done);
    // What is there already is a change as well.
    assert_eq!(update(session, "k1", &[(1, "one")]), Outcome::Done);
    assert_eq!(update(session, "k2", &[(2, "two"), (0, "nil")]), Outcome::Done);
    let both = [
        row("k1", &[(0, "a"), (1, "one"), (2, "c")]),
        row("k2", &[(0, "nil"), (1, "y"), (2, "two")]),
    ];
    assert_eq!(scan(session, "", 10, Fields::All), both);
    let outcome = insert(session, "k1", &[(0, "x"), (1, "y"), (2, "z")]);
    assert_eq!(kind(&outcome), FailureKind::Conflict, "{outcome:?}");
    assert_eq!(system.count().unwrap(), 2);
    assert_eq!(delete(session, "k1"), Outcome::Done);
    assert_eq!(delete(session, "k1"), Outcome::Missing);
    assert_eq!(scan(session, "", 10, Fields::One(1)), [row("k2", &[(1, "y")])]);
    assert_eq!(read(session, "k2", Fields::One(2)).1, [row("k2", &[(2, "two")])]);
    assert_eq!(update(session, "none", &[(0, "a")]), Outcome::Missing);
    assert_eq!(read(session, "none", Fields::One(1)), (Outcome::Missing, vec![]));
}
