//! Scans and lookups: a page of an index, then the records of its keys, several requests at a time.

use assay_model::{Answer, FailureKind, Fields, Outcome};

use super::{
    codec::bad_framing,
    page::Page,
    refused,
    table::{Range, Table, write_entry},
    text,
};
use crate::framing;

/// How many records are asked for before the first of them has come. The server answers them one
/// after the other; more would fill the connection both ways.
const AHEAD: usize = 64;

/// The records of a range of keys or index entries, as they come.
#[derive(Default)]
pub(super) struct Rows {
    /// The query's target, for its further pages.
    query: Vec<u8>,
    /// The field by which it is, in a lookup.
    by: Option<u16>,
    /// Whether the range has an end.
    ends: bool,
    limit: u64,
    page: Page,
    /// Whether the next reply is a page.
    awaits_page: bool,
    asked: usize,
    answered: usize,
    key: Vec<u8>,
    entry: Vec<u8>,
    failure: Option<Outcome>,
}

impl Rows {
    /// Asks for the first page.
    pub(super) fn begin(&mut self, table: &Table, range: Range<'_>, limit: u32, out: &mut Vec<u8>) {
        self.query.clear();
        table.query(range, &mut self.query);
        (self.by, self.ends) = match range {
            Range::Keys { .. } => (None, false),
            Range::Entries { field, to, .. } => (Some(field), to.is_some()),
        };
        self.limit = u64::from(limit);
        self.failure = None;
        self.awaits_page = true;
        // The server answers a page of none with an error.
        table.page(&self.query, self.limit.max(1), b"", out);
    }

    /// Takes a reply; an outcome ends the operation.
    pub(super) fn take(
        &mut self,
        table: &Table,
        status: u16,
        body: &[u8],
        fields: Fields,
        answer: &mut Answer,
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, &'static str> {
        if self.awaits_page {
            if status != 200 {
                return Ok(Some(refused(status, body)));
            }
            self.page.read(body)?;
            if self.limit == 0 {
                self.page.clear();
            }
            if self.by.is_some() && self.page.entries.len() != self.page.keys.len() {
                return Err("a page of an index without its entries");
            }
            self.awaits_page = false;
            (self.asked, self.answered) = (0, 0);
        } else {
            self.record(table, status, body, fields, answer)?;
            self.answered += 1;
        }
        // After a failure only what was asked for is awaited.
        let keys = if self.failure.is_some() { self.asked } else { self.page.keys.len() };
        while self.asked < keys && self.asked - self.answered < AHEAD {
            table.of_record(b"GET", self.page.keys.get(self.asked), out);
            self.asked += 1;
        }
        if self.answered < self.asked {
            return Ok(None);
        }
        if let Some(failure) = self.failure.take() {
            return Ok(Some(failure));
        }
        let left = self.limit.saturating_sub(answer.row_count());
        if left > 0 && !self.page.continuation.is_empty() {
            // Some of the keys had no record any more.
            self.awaits_page = true;
            table.page(&self.query, left, &self.page.continuation, out);
            return Ok(None);
        }
        let missing = self.ends && answer.row_count() == 0;
        Ok(Some(if missing { Outcome::Missing } else { Outcome::Done }))
    }

    fn record(
        &mut self,
        table: &Table,
        status: u16,
        body: &[u8],
        fields: Fields,
        answer: &mut Answer,
    ) -> Result<(), &'static str> {
        match status {
            200 => {}
            // It was deleted since; its key stands in the indexes for a while.
            404 => return Ok(()),
            300 | 400.. => {
                self.failure.get_or_insert_with(|| refused(status, body));
                return Ok(());
            }
            _ => return Err("a reply of another status than the request has"),
        }
        let count = table.schema.field_count();
        if let Some(by) = self.by {
            self.entry.clear();
            let entry = &mut self.entry;
            let read = framing::read(body, count, |field, value| {
                if field == by {
                    write_entry(value, entry);
                }
            });
            // It has got another value since the index was read.
            if read.is_ok() && self.entry != self.page.entries.get(self.answered) {
                return Ok(());
            }
        }
        self.key.clear();
        if text::read(self.page.keys.get(self.answered), &mut self.key).is_none() {
            let why = "the bucket has a key that Assay did not write";
            self.failure.get_or_insert_with(|| Outcome::failed(FailureKind::WrongAnswer, why));
            return Ok(());
        }
        answer.begin_row(&self.key);
        let read = framing::read(body, count, |field, value| {
            if fields.contains(field) {
                answer.field(field, value);
            }
        });
        if read.is_err() {
            self.failure.get_or_insert_with(bad_framing);
        }
        Ok(())
    }
}
