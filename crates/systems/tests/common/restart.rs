//! A server that restarts while it has clients.

use assay_model::{Answer, FailureKind, FieldValue, Fields, Operation, Outcome};
use assay_systems::{Client, Session, System, blocking::Blocking};

/// A client of a server that restarts is told so and not kept waiting; a new one finds what `is_kept`.
pub fn goes_on_after_a_restart(
    system: &dyn System,
    fields: u16,
    is_kept: bool,
    restart: impl FnOnce(),
) {
    let values: Vec<_> = (0..fields).map(|field| FieldValue { field, bytes: b"value" }).collect();
    let insert = |key| Operation::Insert { key, values: &values };
    let read = Operation::Read { key: b"k", fields: Fields::All };
    let run =
        |session: &mut dyn Session, operation| session.execute(&operation, &mut Answer::counting());
    system.prepare().unwrap();
    let mut before = session(system);
    assert_eq!(run(&mut *before, insert(b"k")), Outcome::Done);
    restart();
    for _ in 0..2 {
        let outcome = run(&mut *before, read);
        assert_eq!(outcome.failure_kind(), Some(FailureKind::Disconnected), "{outcome:?}");
    }
    let mut after = session(system);
    let found = if is_kept { Outcome::Done } else { Outcome::Missing };
    assert_eq!(run(&mut *after, read), found);
    assert_eq!(run(&mut *after, insert(b"afterwards")), Outcome::Done);
    system.remove().unwrap();
}

fn session(system: &dyn System) -> Box<dyn Session> {
    match system.connect().unwrap_or_else(|error| panic!("{error}")) {
        Client::Wire(client) => Box::new(Blocking::new(client)),
        Client::Call(session) => session,
    }
}
