//! What the checks are made of: a client that compares, the model, and made-up records.

use std::collections::BTreeMap;

use assay_model::{Answer, FailureKind, FieldValue, Fields, Operation, Outcome};

use super::{Content, Misses, Subject, Verdict, ensure};
use crate::{Client, Session, blocking::Blocking};

/// A record's values, by position.
pub(super) type Record = Vec<Vec<u8>>;
/// What the store should hold.
pub(super) type Model = BTreeMap<Vec<u8>, Record>;
/// The rows of an answer: keys and fields, the fields by position.
pub(super) type Rows = Vec<(Vec<u8>, Vec<(u16, Vec<u8>)>)>;

/// A lookup in an index.
#[derive(Clone, Copy)]
pub(super) struct Lookup<'a> {
    pub(super) field: u16,
    pub(super) from: &'a [u8],
    pub(super) to: Option<&'a [u8]>,
    pub(super) limit: u32,
    pub(super) fields: Fields,
}

/// A client of the subject.
pub(super) struct Probe {
    session: Box<dyn Session>,
    answer: Answer,
    misses: Misses,
}

impl Probe {
    pub(super) fn new(subject: &Subject<'_>) -> Result<Probe, String> {
        let session: Box<dyn Session> = match subject.system.connect() {
            Ok(Client::Call(session)) => session,
            Ok(Client::Wire(client)) => Box::new(Blocking::new(client)),
            Err(error) => return Err(format!("connect: {error}")),
        };
        Ok(Probe { session, answer: Answer::keeping(), misses: subject.misses })
    }

    /// How a delete of a missing key ends, and an update where it is [told](Probe::tells_misses).
    pub(super) fn miss(&self) -> Outcome {
        if self.tells_misses() { Outcome::Missing } else { Outcome::Done }
    }

    /// Whether updates and deletes tell that a key is missing.
    pub(super) fn tells_misses(&self) -> bool {
        self.misses == Misses::Told
    }

    /// Carries out an operation and returns its outcome and rows.
    pub(super) fn run(&mut self, operation: &Operation<'_>) -> Result<(Outcome, Rows), String> {
        self.answer.clear();
        let outcome = self.session.execute(operation, &mut self.answer);
        let mut rows = Rows::new();
        for row in self.answer.rows() {
            let mut fields: Vec<_> = row.fields().map(|(at, bytes)| (at, bytes.to_vec())).collect();
            fields.sort();
            let twice = fields.windows(2).any(|pair| pair[0].0 == pair[1].0);
            ensure!(!twice, "{} reported a field twice", shown(operation));
            rows.push((row.key().to_vec(), fields));
        }
        let bytes: usize = rows.iter().flat_map(|row| &row.1).map(|field| field.1.len()).sum();
        let counted = (self.answer.row_count(), self.answer.value_bytes());
        ensure!(
            counted == (rows.len() as u64, bytes as u64),
            "{} counted {counted:?} and kept {} rows of {bytes} bytes",
            shown(operation),
            rows.len()
        );
        Ok((outcome, rows))
    }

    /// An operation that must end in `expected` and return no rows.
    pub(super) fn expect(&mut self, operation: &Operation<'_>, expected: &Outcome) -> Verdict {
        let (outcome, rows) = self.run(operation)?;
        ensure!(
            outcome == *expected,
            "{} should end as {expected:?}, and ended as {outcome:?}",
            shown(operation)
        );
        ensure!(rows.is_empty(), "{} returned {} rows", shown(operation), rows.len());
        Ok(())
    }

    /// An operation that the system does not support.
    pub(super) fn expect_refusal(&mut self, operation: &Operation<'_>) -> Verdict {
        let (outcome, rows) = self.run(operation)?;
        let refused = matches!(
            &outcome,
            Outcome::Failed(failure)
                if failure.kind == FailureKind::Rejected && !failure.message.is_empty()
        );
        ensure!(
            refused && rows.is_empty(),
            "{} is declared unsupported and should be rejected with the reason; it ended as \
             {outcome:?}",
            shown(operation)
        );
        Ok(())
    }

    pub(super) fn insert(&mut self, key: &[u8], record: &Record) -> Verdict {
        let values = values(record);
        self.expect(&Operation::Insert { key, values: &values }, &Outcome::Done)
    }

    pub(super) fn update(&mut self, key: &[u8], changes: &[(u16, &[u8])]) -> Verdict {
        let values = changed(changes);
        self.expect(&Operation::Update { key, values: &values }, &Outcome::Done)
    }

    pub(super) fn delete(&mut self, key: &[u8]) -> Verdict {
        self.expect(&Operation::Delete { key }, &Outcome::Done)
    }

    /// Reads `key` whole and field by field; `None`: it must be missing.
    pub(super) fn expect_record(&mut self, key: &[u8], record: Option<&Record>) -> Verdict {
        let one = 0..record.map_or(1, |record| record.len() as u16);
        for fields in [Fields::All].into_iter().chain(one.map(Fields::One)) {
            let operation = Operation::Read { key, fields };
            match record {
                None => self.expect(&operation, &Outcome::Missing)?,
                Some(record) => {
                    let (outcome, rows) = self.run(&operation)?;
                    ensure!(outcome == Outcome::Done, "{} ended as {outcome:?}", shown(&operation));
                    let expected = vec![(key.to_vec(), wanted(record, fields))];
                    same_rows(&operation, &rows, &expected)?;
                }
            }
        }
        Ok(())
    }

    /// Scans and compares with the model.
    pub(super) fn expect_scan(
        &mut self,
        start: &[u8],
        limit: u32,
        fields: Fields,
        model: &Model,
    ) -> Verdict {
        let operation = Operation::Scan { start, limit, fields };
        let (outcome, rows) = self.run(&operation)?;
        ensure!(outcome == Outcome::Done, "{} ended as {outcome:?}", shown(&operation));
        let range = model.range(start.to_vec()..).take(limit as usize);
        let expected: Rows =
            range.map(|(key, record)| (key.clone(), wanted(record, fields))).collect();
        same_rows(&operation, &rows, &expected)
    }
}

impl Probe {
    /// Looks up and compares with the model. Records of one value may come in any order, and where
    /// the limit cuts them off it may be any of them.
    pub(super) fn expect_lookup(&mut self, lookup: Lookup<'_>, model: &Model) -> Verdict {
        let Lookup { field, from, to, limit, fields } = lookup;
        let operation = Operation::Lookup { field, from, to, limit, fields };
        let (outcome, rows) = self.run(&operation)?;
        let value = |key: &[u8]| model.get(key).map(|record| record[usize::from(field)].as_slice());
        let mut expected: Vec<&[u8]> = model
            .keys()
            .filter_map(|key| value(key))
            .filter(|value| *value >= from && to.is_none_or(|to| *value <= to))
            .collect();
        expected.sort_unstable();
        expected.truncate(limit as usize);
        let ended = Outcome::of_lookup(to, expected.len() as u64);
        ensure!(outcome == ended, "{} ended as {outcome:?}, not {ended:?}", shown(&operation));
        let found: Vec<&[u8]> = rows.iter().filter_map(|(key, _)| value(key)).collect();
        ensure!(
            found == expected && rows.len() == expected.len(),
            "{} returned {} rows where {} belong; the values of the first are {:?}, and should be \
             {:?}",
            shown(&operation),
            rows.len(),
            expected.len(),
            found.iter().take(3).map(|value| text(value)).collect::<Vec<_>>(),
            expected.iter().take(3).map(|value| text(value)).collect::<Vec<_>>()
        );
        let mut keys: Vec<&[u8]> = rows.iter().map(|(key, _)| key.as_slice()).collect();
        keys.sort_unstable();
        keys.dedup();
        ensure!(keys.len() == rows.len(), "{} returned a record twice", shown(&operation));
        let records: Rows =
            rows.iter().map(|(key, _)| (key.clone(), wanted(&model[key], fields))).collect();
        same_rows(&operation, &rows, &records)
    }
}

/// Compares the store's whole content with the model: every record, the count, and the order.
pub(super) fn expect_content(subject: &Subject<'_>, probe: &mut Probe, model: &Model) -> Verdict {
    for (key, record) in model {
        probe.expect_record(key, Some(record))?;
    }
    expect_count(subject, model.len())?;
    if can_scan(subject) {
        probe.expect_scan(b"", model.len() as u32 + 10, Fields::All, model)?;
    }
    Ok(())
}

/// Compares the store's own count, if it has one.
pub(super) fn expect_count(subject: &Subject<'_>, expected: usize) -> Verdict {
    if matches!(subject.capabilities.count, assay_model::Support::Unsupported(_)) {
        return Ok(());
    }
    let count = subject.system.count().map_err(|error| format!("count: {error}"))?;
    ensure!(count == expected as u64, "the store counts {count} records where {expected} are");
    Ok(())
}

pub(super) fn can_scan(subject: &Subject<'_>) -> bool {
    !matches!(subject.capabilities.scan, assay_model::Support::Unsupported(_))
}

pub(super) fn can_delete(subject: &Subject<'_>) -> bool {
    !matches!(subject.capabilities.delete, assay_model::Support::Unsupported(_))
}

fn same_rows(operation: &Operation<'_>, rows: &Rows, expected: &Rows) -> Verdict {
    ensure!(
        rows.len() == expected.len(),
        "{} returned {} rows where {} belong; the first keys are {:?}",
        shown(operation),
        rows.len(),
        expected.len(),
        rows.iter().take(3).map(|row| text(&row.0)).collect::<Vec<_>>()
    );
    for (at, (row, expected)) in rows.iter().zip(expected).enumerate() {
        ensure!(
            row.0 == expected.0,
            "row {at} of {} is '{}' where '{}' belongs",
            shown(operation),
            text(&row.0),
            text(&expected.0)
        );
        let positions = |fields: &[(u16, Vec<u8>)]| -> Vec<u16> {
            fields.iter().map(|field| field.0).collect()
        };
        ensure!(
            positions(&row.1) == positions(&expected.1),
            "row {at} of {} has the fields {:?} where {:?} belong",
            shown(operation),
            positions(&row.1),
            positions(&expected.1)
        );
        for (field, expected) in row.1.iter().zip(&expected.1) {
            ensure!(
                field == expected,
                "field {} of row {at} of {} is '{}' where '{}' belongs",
                field.0,
                shown(operation),
                text(&field.1),
                text(&expected.1)
            );
        }
    }
    Ok(())
}

fn wanted(record: &Record, fields: Fields) -> Vec<(u16, Vec<u8>)> {
    let all = (0..).zip(record);
    all.filter(|(at, _)| fields.contains(*at)).map(|(at, bytes)| (at, bytes.clone())).collect()
}

/// A record as an operation has it.
pub(super) fn values(record: &Record) -> Vec<FieldValue<'_>> {
    (0..).zip(record).map(|(field, bytes)| FieldValue { field, bytes }).collect()
}

/// Changes as an operation has them.
pub(super) fn changed<'a>(changes: &[(u16, &'a [u8])]) -> Vec<FieldValue<'a>> {
    changes.iter().map(|&(field, bytes)| FieldValue { field, bytes }).collect()
}

/// An operation in a few words.
fn shown(operation: &Operation<'_>) -> String {
    match operation {
        Operation::Read { key, fields } => format!("a read of {fields:?} of '{}'", text(key)),
        Operation::Insert { key, .. } => format!("an insert of '{}'", text(key)),
        Operation::Update { key, values } => {
            format!("an update of {} fields of '{}'", values.len(), text(key))
        }
        Operation::Scan { start, limit, fields } => {
            format!("a scan of {fields:?} of {limit} records from '{}'", text(start))
        }
        Operation::Lookup { field, from, to, limit, fields } => format!(
            "a lookup of {fields:?} of {limit} records by field {field} from '{}'{}",
            text(from),
            to.map(|to| format!(" to '{}'", text(to))).unwrap_or_default()
        ),
        Operation::Delete { key } => format!("a delete of '{}'", text(key)),
    }
}

/// The beginning of some bytes, to be read by people.
fn text(bytes: &[u8]) -> String {
    const SHOWN: usize = 60;
    let start = bytes[..bytes.len().min(SHOWN)].escape_ascii().to_string();
    if bytes.len() > SHOWN { format!("{start}… ({} bytes)", bytes.len()) } else { start }
}

/// SplitMix64: the same numbers from the same seed, everywhere.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// Up to `longest` bytes of what `content` allows.
    pub(super) fn value(&mut self, content: Content, longest: usize) -> Vec<u8> {
        let length = self.below(longest + 1);
        let byte = |random: &mut Random| match content {
            Content::Bytes => random.below(256) as u8,
            Content::Text => b' ' + random.below(95) as u8,
        };
        (0..length).map(|_| byte(self)).collect()
    }

    /// A record of the subject's table, with values of up to 40 bytes.
    pub(super) fn record(&mut self, subject: &Subject<'_>) -> Record {
        (0..subject.schema.field_count()).map(|_| self.value(subject.content, 40)).collect()
    }
}
