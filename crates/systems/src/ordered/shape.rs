//! What records are made of: fields in one string, and the entries of those that have an index.

use assay_model::{Answer, Fields, MAX_INDEXES};

use super::{Refusal, Snapshot, Table, Transaction};
use crate::{
    entries,
    framing::{self, BadFraming},
};

/// What the records of a table are made of.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) fields: u16,
    /// How many of them, the first, have an index.
    pub(super) indexes: u16,
}

impl Shape {
    /// Reports the record of `key`. Returns whether there is one.
    pub(super) fn show(
        self,
        snapshot: &impl Snapshot,
        key: &[u8],
        fields: Fields,
        answer: &mut Answer,
    ) -> Result<bool, Refusal> {
        let mut reported = Ok(());
        let found = snapshot.get(Table::Records, key, |record| {
            reported = self.report(key, record, fields, answer);
        })?;
        reported.map(|()| found)
    }

    /// Reports a record.
    pub(super) fn report(
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

    /// Writes the entries in which a new record of `key` differs from the old one.
    pub(super) fn write_entries(
        self,
        transaction: &mut impl Transaction,
        key: &[u8],
        [old, new]: [Option<&[u8]>; 2],
        entry: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        if self.indexes == 0 {
            return Ok(());
        }
        let values = self.indexed(old)?.into_iter().zip(self.indexed(new)?);
        let both = (0..self.indexes).zip(values);
        for (index, (old, new)) in both.filter(|(_, (old, new))| old != new) {
            for (value, is_gone) in [(old, true), (new, false)] {
                let Some(value) = value else { continue };
                entry.clear();
                entries::write(value, key, entry);
                match is_gone {
                    true => transaction.remove(Table::Index(index), entry)?,
                    false => transaction.put(Table::Index(index), entry, &[])?,
                }
            }
        }
        Ok(())
    }

    /// The values that have an index, by position; none of no record.
    fn indexed(self, record: Option<&[u8]>) -> Result<[Option<&[u8]>; MAX_INDEXES], BadFraming> {
        let mut indexed = [None; MAX_INDEXES];
        let Some(record) = record else { return Ok(indexed) };
        framing::read(record, self.fields, |position, value| {
            if position < self.indexes {
                indexed[usize::from(position)] = Some(value);
            }
        })?;
        Ok(indexed)
    }
}
