//! A client: records and their entries in the tables of a library.

use std::{ops::ControlFlow, sync::Arc};

use assay_model::{Answer, FailureKind, FieldValue, Fields, Operation, Outcome};

use super::{Library, Refusal, Snapshot, Table, Transaction, shape::Shape};
use crate::{Session, entries, framing};

pub(super) struct OrderedSession<L> {
    library: Arc<L>,
    shape: Shape,
    /// The record that is replaced.
    old: Vec<u8>,
    /// The record to be written.
    new: Vec<u8>,
    entry: Vec<u8>,
    /// What the entries that are looked up stand before.
    end: Vec<u8>,
}

/// What a write does to the record that is there.
enum Change<'a> {
    Insert(&'a [FieldValue<'a>]),
    Update(&'a [FieldValue<'a>]),
    Delete,
}

impl<L: Library> OrderedSession<L> {
    pub(super) fn new(library: Arc<L>, shape: Shape) -> OrderedSession<L> {
        let (old, new, entry, end) = Default::default();
        OrderedSession { library, shape, old, new, entry, end }
    }

    fn read(&self, key: &[u8], fields: Fields, answer: &mut Answer) -> Result<Outcome, Refusal> {
        let found = self.shape.show(&self.library.read()?, key, fields, answer)?;
        Ok(if found { Outcome::Done } else { Outcome::Missing })
    }

    fn scan(
        &self,
        start: &[u8],
        limit: u32,
        fields: Fields,
        answer: &mut Answer,
    ) -> Result<Outcome, Refusal> {
        self.library.read()?.range(Table::Records, start, limit, |key, record| {
            self.shape.report(key, record, fields, answer)?;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(Outcome::Done)
    }

    fn look_up(
        &mut self,
        index: u16,
        (from, to): (&[u8], Option<&[u8]>),
        limit: u32,
        fields: Fields,
        answer: &mut Answer,
    ) -> Result<Outcome, Refusal> {
        let OrderedSession { library, shape, entry: start, end, .. } = self;
        start.clear();
        entries::write_start(from, start);
        end.clear();
        if let Some(to) = to {
            entries::write_end(to, end);
        }
        let snapshot = library.read()?;
        snapshot.range(Table::Index(index), start, limit, |entry, _| {
            if to.is_some() && entry >= end.as_slice() {
                return Ok(ControlFlow::Break(()));
            }
            let key = entries::key_of(entry).ok_or_else(bad_entry)?;
            match shape.show(&snapshot, key, fields, answer)? {
                true => Ok(ControlFlow::Continue(())),
                false => Err(bad_entry()),
            }
        })?;
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
        let new = match *change {
            Change::Insert(values) => {
                framing::write(values, shape.fields, new);
                Some(new.as_slice())
            }
            _ if !found => return Ok(Outcome::Missing),
            Change::Update(values) => {
                let changed = |position| framing::given(values, position);
                framing::write_merged(old, changed, shape.fields, new)?;
                Some(new.as_slice())
            }
            Change::Delete => None,
        };
        match new {
            Some(record) => transaction.put(Table::Records, key, record)?,
            None => transaction.remove(Table::Records, key)?,
        }
        let old = found.then_some(old.as_slice());
        shape.write_entries(&mut transaction, key, [old, new], entry)?;
        transaction.commit()?;
        Ok(Outcome::Done)
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
                self.look_up(field, (from, to), limit, fields, answer)
            }
            Operation::Delete { key } => self.change(key, &Change::Delete),
        };
        done.unwrap_or_else(Refusal::outcome)
    }
}

fn bad_entry() -> Refusal {
    Refusal::new(FailureKind::Protocol, "an index entry belongs to no record")
}
