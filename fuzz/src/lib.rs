//! What the targets share: an operation and its replies, drawn from the fuzzer's bytes, and what
//! must hold of every codec whatever the replies.

use std::sync::Arc;

use arbitrary::Arbitrary;
use assay_model::{FieldValue, Fields, Operation, Outcome, Schema};
use assay_systems::{
    Codec,
    fuzzing::{KeptRow, Replayed, codec, replay},
};

/// One operation and what the server sends, of which `R` are the parts.
#[derive(Arbitrary, Debug)]
pub struct Case<'a, R> {
    /// Chooses the layout.
    pub layout: u8,
    /// Chooses how many fields the table has, 70 seldom.
    pub fields: u8,
    /// Whether the first two fields have secondary indexes.
    pub indexed: bool,
    /// The operation.
    pub asked: Asked<'a>,
    /// What the server sends.
    pub replies: Vec<R>,
    /// Where the stream is cut, each as the length of a piece.
    pub pieces: Vec<u16>,
}

/// An operation.
#[derive(Arbitrary, Debug)]
pub enum Asked<'a> {
    Read { key: &'a [u8], field: Option<u8> },
    Insert { key: &'a [u8], value: &'a [u8] },
    Update { key: &'a [u8], value: &'a [u8], field: Option<u8> },
    Scan { start: &'a [u8], limit: u16, field: Option<u8> },
    Lookup { by: bool, from: &'a [u8], to: Option<&'a [u8]>, limit: u16, field: Option<u8> },
    Delete { key: &'a [u8] },
}

/// Numbers of fields: one has framings of its own, and of the most, PostgreSQL's driver prepares
/// some statements late.
const FIELDS: [u16; 5] = [1, 2, 3, 10, 70];

/// Feeds the case to the codec of `driver` in `layout`, whole, in its pieces and byte by byte,
/// which must all come to the same.
pub fn check<R>(
    driver: &str,
    layout: &str,
    key: &str,
    case: &Case<'_, R>,
    append: impl Fn(&R, &mut Vec<u8>),
) {
    let fields = FIELDS[case.fields.trailing_ones() as usize % FIELDS.len()];
    let indexes = if case.indexed { fields.min(2) } else { 0 };
    let schema = Schema::new("usertable", "field", fields.into()).with_indexes(indexes.into());
    let schema = Arc::new(schema);
    let new_codec = || codec(driver, layout, key, Arc::clone(&schema));
    let mut replies = Vec::new();
    case.replies.iter().for_each(|reply| append(reply, &mut replies));
    let mut cuts: Vec<usize> = Vec::new();
    for piece in &case.pieces {
        cuts.push((cuts.last().copied().unwrap_or(0) + usize::from(*piece)).min(replies.len()));
    }
    let mut bytewise: Vec<usize> = Vec::new();
    if replies.len() < 1024 {
        bytewise.extend(0..replies.len());
    }
    with_operation(&case.asked, fields, |operation| {
        let mut used = new_codec();
        let whole = replay(&mut *used, operation, &replies, []);
        holds(operation, &whole);
        let reported = |row: &KeptRow| row.1.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
        let reported: usize = whole.rows.iter().map(reported).sum();
        assert!(reported <= replies.len(), "{reported} bytes were reported of {}", replies.len());
        assert!(whole.rows.len() <= replies.len(), "more rows than bytes came");
        for cuts in [cuts, bytewise] {
            let split = replay(&mut *new_codec(), operation, &replies, cuts);
            // The codec of several servers takes what came of the others as well.
            same(&split, &whole, driver == "redis-cluster");
        }
        // What came behind the end, which that codec has taken, is no longer to be told from replies.
        if driver != "redis-cluster" {
            again(&mut *used, operation, &replies, &whole);
        }
    });
}

/// What an operation leaves behind must not show in the next.
fn again(used: &mut dyn Codec, operation: &Operation<'_>, replies: &[u8], first: &Replayed) {
    if first.outcome.is_some() && !first.broken {
        let second = replay(used, operation, replies, []);
        if second.requests != first.requests {
            // A statement that is prepared by now is run in another way, with another answer.
            return;
        }
        assert_eq!((&second.outcome, &second.rows), (&first.outcome, &first.rows));
    }
}

fn same(split: &Replayed, whole: &Replayed, takes_all: bool) {
    assert_eq!(split.outcome, whole.outcome);
    assert_eq!((split.broken, &split.rows), (whole.broken, &whole.rows));
    assert_eq!(split.requests, whole.requests);
    if !whole.broken && !takes_all {
        assert_eq!(split.left, whole.left);
    }
}

fn holds(operation: &Operation<'_>, replayed: &Replayed) {
    assert!(!replayed.requests.is_empty(), "an operation that sends nothing is never answered");
    assert!(!replayed.broken || replayed.outcome.is_some(), "a broken operation has an outcome");
    let rows = &replayed.rows;
    match (operation, &replayed.outcome) {
        (_, Some(Outcome::Missing)) => assert_eq!(rows.len(), 0, "a missing record has no row"),
        (Operation::Read { key, .. }, Some(Outcome::Done)) => {
            assert_eq!(rows.iter().map(|row| &row.0[..]).collect::<Vec<_>>(), [*key]);
        }
        (Operation::Scan { .. } | Operation::Lookup { .. } | Operation::Read { .. }, _) => {}
        _ => assert_eq!(rows.len(), 0, "a write returns no rows"),
    }
}

fn with_operation(asked: &Asked<'_>, fields: u16, run: impl FnOnce(&Operation<'_>)) {
    let wanted = |field: Option<u8>| match field {
        None => Fields::All,
        Some(field) => Fields::One(u16::from(field) % fields),
    };
    let record = |bytes, field: Option<u8>| -> Vec<FieldValue<'_>> {
        let all = (0..fields).map(|field| FieldValue { field, bytes });
        all.filter(|value| wanted(field).contains(value.field)).collect()
    };
    match *asked {
        Asked::Read { key, field } => run(&Operation::Read { key, fields: wanted(field) }),
        Asked::Insert { key, value } => {
            run(&Operation::Insert { key, values: &record(value, None) });
        }
        Asked::Update { key, value, field } => {
            run(&Operation::Update { key, values: &record(value, field) });
        }
        Asked::Scan { start, limit, field } => {
            run(&Operation::Scan { start, limit: limit.into(), fields: wanted(field) });
        }
        Asked::Lookup { by, from, to, limit, field } => run(&Operation::Lookup {
            field: u16::from(by).min(fields - 1),
            from,
            to,
            limit: limit.into(),
            fields: wanted(field),
        }),
        Asked::Delete { key } => run(&Operation::Delete { key }),
    }
}
