//! A client: records and their entries in the tables of a library.

use std::{ops::ControlFlow, sync::Arc};

use assay_model::{Answer, FailureKind, FieldValue, Fields, Operation, Outcome};

use super::{BATCH, Library, Refusal, Shape, Snapshot, Table, Transaction};
use crate::{
    Session, entries,
    framing::{self, BAD_FRAMING, BadFraming},
};

pub(super) struct OrderedSession<L> {
    library: Arc<L>,
    shape: Shape,
    /// The record that is replaced.
    old: Vec<u8>,
    /// The record to be written.
    new: Vec<u8>,
    entry: Vec<u8>,
    /// What the loader has yet to commit.
    batch: Batch,
}

/// Records, one behind the other.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// For each where its key and its record end.
    ends: Vec<[usize; 2]>,
}

/// What a write does to the record that is there.
enum Change<'a> {
    Insert(&'a [FieldValue<'a>]),
    Update(&'a [FieldValue<'a>]),
    Delete,
}

impl<L: Library> OrderedSession<L> {
    pub(super) fn new(library: Arc<L>, shape: Shape) -> OrderedSession<L> {
        let (old, new, entry) = Default::default();
        OrderedSession { library, shape, old, new, entry, batch: Batch::default() }
    }

    fn read(&self, key: &[u8], fields: Fields, answer: &mut Answer) -> Result<Outcome, Refusal> {
        let mut reported = Ok(());
        let found = self.library.read()?.get(Table::Records, key, |record| {
            reported = self.shape.report(key, record, fields, answer);
        })?;
        reported?;
        Ok(if found { Outcome::Done } else { Outcome::Missing })
    }

    fn scan(
        &self,
        start: &[u8],
        limit: u32,
        fields: Fields,
        answer: &mut Answer,
    ) -> Result<Outcome, Refusal> {
        let mut left = limit;
        if left > 0 {
            self.library.read()?.range(Table::Records, start, |key, record| {
                self.shape.report(key, record, fields, answer)?;
                left -= 1;
                Ok(if left > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
            })?;
        }
        Ok(Outcome::Done)
    }

    fn look_up(
        &mut self,
        index: u16,
        [from, to]: [Option<&[u8]>; 2],
        limit: u32,
        fields: Fields,
        answer: &mut Answer,
    ) -> Result<Outcome, Refusal> {
        // Where the range begins, and in `new` where it ends.
        let OrderedSession { library, shape, new: end, entry: start, .. } = self;
        start.clear();
        entries::write_start(from.unwrap_or_default(), start);
        end.clear();
        if let Some(to) = to {
            entries::write_end(to, end);
        }
        let mut left = limit;
        if left > 0 {
            let snapshot = library.read()?;
            snapshot.range(Table::Index(index), start, |entry, _| {
                if to.is_some() && entry >= end.as_slice() {
                    return Ok(ControlFlow::Break(()));
                }
                let key = entries::key_of(entry).ok_or_else(bad_entry)?;
                let mut reported = Ok(());
                let found = snapshot.get(Table::Records, key, |record| {
                    reported = shape.report(key, record, fields, answer);
                })?;
                reported?;
                if !found {
                    return Err(bad_entry());
                }
                left -= 1;
                Ok(if left > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
            })?;
        }
        Ok(Outcome::of_lookup(to, answer.row_count()))
    }

    fn change(&mut self, key: &[u8], change: &Change<'_>) -> Result<Outcome, Refusal> {
        let OrderedSession { library, shape, old, new, entry, .. } = self;
        let mut transaction = library.write()?;
        old.clear();
        // Without indexes an insert leaves nothing of what was there.
        let is_blind = matches!(change, Change::Insert(_)) && shape.indexes == 0;
        let found = !is_blind
            && transaction.get(Table::Records, key, |record| old.extend_from_slice(record))?;
        new.clear();
        match *change {
            Change::Insert(values) => framing::write(values, shape.fields, new),
            _ if !found => return Ok(Outcome::Missing),
            Change::Update(values) => {
                let changed = |position| framing::given(values, position);
                framing::write_merged(old, changed, shape.fields, new)?;
            }
            Change::Delete => {
                transaction.remove(Table::Records, key)?;
                shape.each_key(old, |index, value| {
                    entry.clear();
                    entries::write(value, key, entry);
                    transaction.remove(Table::Index(index), entry)
                })?;
                transaction.commit()?;
                return Ok(Outcome::Done);
            }
        }
        transaction.put(Table::Records, key, new)?;
        let mut olds = [&[][..]; assay_model::MAX_INDEXES];
        if found {
            shape.each_key(old, |index, value| {
                olds[usize::from(index)] = value;
                Ok(())
            })?;
        }
        shape.each_key(new, |index, value| {
            let old = olds[usize::from(index)];
            if found && old == value {
                return Ok(());
            }
            if found {
                entry.clear();
                entries::write(old, key, entry);
                transaction.remove(Table::Index(index), entry)?;
            }
            entry.clear();
            entries::write(value, key, entry);
            transaction.put(Table::Index(index), entry, &[])
        })?;
        transaction.commit()?;
        Ok(Outcome::Done)
    }

    /// Adds a new record to those that are committed together, and commits them if they are enough.
    pub(super) fn add_to_batch(
        &mut self,
        key: &[u8],
        values: &[FieldValue<'_>],
    ) -> Result<(), Refusal> {
        let Batch { bytes, ends } = &mut self.batch;
        bytes.extend_from_slice(key);
        let key_end = bytes.len();
        framing::write(values, self.shape.fields, bytes);
        ends.push([key_end, bytes.len()]);
        if ends.len() < BATCH as usize { Ok(()) } else { self.write_batch() }
    }

    /// Commits the records that were added since the last time.
    pub(super) fn write_batch(&mut self) -> Result<(), Refusal> {
        let OrderedSession { library, shape, entry, batch: Batch { bytes, ends }, .. } = self;
        if ends.is_empty() {
            return Ok(());
        }
        let mut transaction = library.write()?;
        let mut start = 0;
        for &[key_end, record_end] in &*ends {
            let (key, record) = (&bytes[start..key_end], &bytes[key_end..record_end]);
            transaction.put(Table::Records, key, record)?;
            shape.each_key(record, |index, value| {
                entry.clear();
                entries::write(value, key, entry);
                transaction.put(Table::Index(index), entry, &[])
            })?;
            start = record_end;
        }
        transaction.commit()?;
        bytes.clear();
        ends.clear();
        Ok(())
    }
}

impl Shape {
    fn report(
        self,
        key: &[u8],
        record: &[u8],
        fields: Fields,
        answer: &mut Answer,
    ) -> Result<(), Refusal> {
        answer.begin_row(key);
        Ok(framing::read(record, self.fields, |position, bytes| {
            if fields.contains(position) {
                answer.field(position, bytes);
            }
        })?)
    }

    /// Calls `each` with the indexed values of a record.
    fn each_key<'r>(
        self,
        record: &'r [u8],
        mut each: impl FnMut(u16, &'r [u8]) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        if self.indexes == 0 {
            return Ok(());
        }
        let mut done = Ok(());
        framing::read(record, self.fields, |position, value| {
            if position < self.indexes && done.is_ok() {
                done = each(position, value);
            }
        })?;
        done
    }
}

impl<L: Library> Session for OrderedSession<L> {
    fn execute(&mut self, operation: &Operation<'_>, answer: &mut Answer) -> Outcome {
        let done = match *operation {
            Operation::Read { key, fields } => self.read(key, fields, answer),
            Operation::Insert { key, values } => self.change(key, &Change::Insert(values)),
            Operation::Update { key, values } => self.change(key, &Change::Update(values)),
            Operation::Scan { start, limit, fields } => self.scan(start, limit, fields, answer),
            Operation::Lookup { field, from, to, limit, fields } => {
                self.look_up(field, [Some(from), to], limit, fields, answer)
            }
            Operation::Delete { key } => self.change(key, &Change::Delete),
        };
        done.unwrap_or_else(Refusal::outcome)
    }
}

impl From<BadFraming> for Refusal {
    fn from(_: BadFraming) -> Refusal {
        Refusal::new(FailureKind::Protocol, BAD_FRAMING)
    }
}

fn bad_entry() -> Refusal {
    Refusal::new(FailureKind::Protocol, "an index entry belongs to no record")
}
