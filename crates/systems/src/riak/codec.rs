//! The codec of one client.

use std::{mem, sync::Arc};

use assay_model::{Answer, FailureKind, FieldValue, Fields, Operation, Outcome};

use super::{
    NO_INDEX, NO_SCAN, refused,
    rows::Rows,
    table::{Condition, Kind, Range, Table},
    text,
};
use crate::{
    Codec, Step,
    framing::{self, BAD_FRAMING, BadFraming, Changes},
    http::{self, Reply},
};

/// One client's codec. Its buffers are reused from one operation to the next.
pub(super) struct RiakCodec {
    table: Arc<Table>,
    expected: Expected,
    fields: Fields,
    key: Vec<u8>,
    /// The key as text.
    key_text: Vec<u8>,
    changes: Changes,
    record: Vec<u8>,
    rows: Rows,
    joined: Vec<u8>,
}

/// The next reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Nothing,
    Record,
    /// To the store of a new record.
    Inserted,
    /// To the store of a record on condition that there is one.
    Overwritten,
    /// The record that an update changes, and its vector clock.
    OldRecord,
    /// To the store of a record with the vector clock of the old one.
    Replaced,
    /// The record that a delete under strong consistency removes, and its vector clock: without it
    /// Riak says of a missing record too that it has deleted it.
    Doomed,
    Deleted,
    /// A page of keys, then their records.
    Rows,
    /// The answer to the ping that stands for an operation there is no request for.
    Refusal(&'static str),
}

/// What a reply leads to.
enum Next {
    More,
    End(Outcome),
    /// The operation failed, and the replies may no longer match the requests.
    Lost(Outcome),
}

impl RiakCodec {
    pub(super) fn new(table: Arc<Table>) -> RiakCodec {
        RiakCodec {
            table,
            expected: Expected::Nothing,
            fields: Fields::All,
            key: Vec::new(),
            key_text: Vec::new(),
            changes: Changes::default(),
            record: Vec::new(),
            rows: Rows::default(),
            joined: Vec::new(),
        }
    }

    fn take(&mut self, reply: &Reply<'_>, out: &mut Vec<u8>, answer: &mut Answer) -> Next {
        use Expected as E;
        let mut joined = mem::take(&mut self.joined);
        let body = reply.body(&mut joined);
        let next = match (self.expected, reply.status) {
            (E::Nothing, _) => Next::Lost(malformed("a reply that nothing asked for")),
            (E::Refusal(why), _) => Next::End(Outcome::failed(FailureKind::Rejected, why)),
            (E::Rows, status) => {
                let table = &self.table;
                match self.rows.take(table, status, body, self.fields, answer, out) {
                    Ok(None) => Next::More,
                    Ok(Some(outcome)) => Next::End(outcome),
                    Err(why) => Next::Lost(malformed(why)),
                }
            }
            (E::Record, 200) => Next::End(self.report(body, answer)),
            (E::OldRecord, 200) => self.replace(reply, body, out),
            (E::Doomed, 200) => self.delete(reply, out),
            (E::Record | E::OldRecord | E::Doomed | E::Deleted, 404) | (E::Overwritten, 412) => {
                Next::End(Outcome::Missing)
            }
            (E::Inserted | E::Overwritten | E::Replaced | E::Deleted, 200 | 204) => {
                if self.expected == E::Deleted {
                    self.table.note_delete();
                }
                Next::End(Outcome::Done)
            }
            (_, status @ (300 | 400..)) => Next::End(refused(status, body)),
            _ => Next::Lost(malformed("a reply of another status than the request has")),
        };
        self.joined = joined;
        next
    }

    fn report(&self, record: &[u8], answer: &mut Answer) -> Outcome {
        answer.begin_row(&self.key);
        let wanted = self.fields;
        let read = framing::read(record, self.table.schema.field_count(), |position, value| {
            if wanted.contains(position) {
                answer.field(position, value);
            }
        });
        read.map_or_else(|_| bad_framing(), |()| Outcome::Done)
    }

    /// Stores the record that came with the changes in it.
    fn replace(&mut self, reply: &Reply<'_>, old: &[u8], out: &mut Vec<u8>) -> Next {
        let Some(clock) = reply.header(b"x-riak-vclock") else {
            return Next::Lost(malformed("a record without its vector clock"));
        };
        let RiakCodec { table, changes, record, key_text, .. } = self;
        record.clear();
        if let Err(BadFraming) = changes.merge(old, table.schema.field_count(), record) {
            return Next::End(bad_framing());
        }
        match table.store(key_text, record, Condition::After(clock), out) {
            Ok(()) => {
                self.expected = Expected::Replaced;
                Next::More
            }
            Err(why) => Next::End(Outcome::failed(FailureKind::Rejected, why)),
        }
    }

    fn delete(&mut self, reply: &Reply<'_>, out: &mut Vec<u8>) -> Next {
        let Some(clock) = reply.header(b"x-riak-vclock") else {
            return Next::Lost(malformed("a record without its vector clock"));
        };
        self.table.delete_after(&self.key_text, clock, out);
        self.expected = Expected::Deleted;
        Next::More
    }

    fn set_key(&mut self, key: &[u8]) -> Result<(), &'static str> {
        if key.is_empty() {
            return Err("Riak has no empty keys");
        }
        self.key.clear();
        self.key.extend_from_slice(key);
        self.key_text.clear();
        text::write(key, &mut self.key_text);
        Ok(())
    }

    fn encode_store(
        &mut self,
        values: &[FieldValue<'_>],
        condition: Condition<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        self.table.frame(values, &mut self.record);
        self.table.store(&self.key_text, &self.record, condition, out)
    }

    fn encode_known(
        &mut self,
        operation: &Operation<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Expected, &'static str> {
        match *operation {
            Operation::Read { key, fields } => {
                self.set_key(key)?;
                self.fields = fields;
                self.table.of_record(b"GET", &self.key_text, out);
                Ok(Expected::Record)
            }
            Operation::Insert { key, values } => {
                self.set_key(key)?;
                self.encode_store(values, Condition::Always, out)?;
                Ok(Expected::Inserted)
            }
            Operation::Update { key, values } => {
                self.set_key(key)?;
                let all = framing::covers_all(values, self.table.schema.field_count());
                if all && self.table.kind != Kind::Strong {
                    self.encode_store(values, Condition::Exists, out)?;
                    return Ok(Expected::Overwritten);
                }
                self.changes.set(values);
                self.table.of_record(b"GET", &self.key_text, out);
                Ok(Expected::OldRecord)
            }
            Operation::Delete { key } => {
                self.set_key(key)?;
                if self.table.kind == Kind::Strong {
                    self.table.of_record(b"GET", &self.key_text, out);
                    return Ok(Expected::Doomed);
                }
                self.table.of_record(b"DELETE", &self.key_text, out);
                Ok(Expected::Deleted)
            }
            Operation::Scan { .. } if self.table.kind != Kind::Indexed => Err(NO_SCAN),
            Operation::Scan { start, limit, fields } => {
                self.fields = fields;
                let range = Range::Keys { from: start };
                self.rows.begin(&self.table, range, limit, out);
                Ok(Expected::Rows)
            }
            Operation::Lookup { field, .. } if field >= self.table.index_count() => Err(NO_INDEX),
            Operation::Lookup { field, from, to, limit, fields } => {
                self.fields = fields;
                let range = Range::Entries { field, from, to };
                self.rows.begin(&self.table, range, limit, out);
                Ok(Expected::Rows)
            }
        }
    }
}

pub(super) fn bad_framing() -> Outcome {
    Outcome::failed(FailureKind::WrongAnswer, BAD_FRAMING)
}

fn malformed(why: &str) -> Outcome {
    Outcome::failed(FailureKind::Protocol, format!("the server sent {why}"))
}

impl Codec for RiakCodec {
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) {
        self.expected = self.encode_known(operation, out).unwrap_or_else(|why| {
            self.table.request(b"GET", |out| out.extend_from_slice(b"/ping"), out);
            Expected::Refusal(why)
        });
    }

    fn decode(&mut self, input: &[u8], out: &mut Vec<u8>, answer: &mut Answer) -> Step {
        let mut consumed = 0;
        loop {
            let (reply, length) = match http::reply(&input[consumed..]) {
                Ok(Some(found)) => found,
                Ok(None) => return Step::More { consumed },
                Err(why) => return Step::Broken(malformed(why)),
            };
            consumed += length;
            let next = self.take(&reply, out, answer);
            match next {
                Next::Lost(outcome) => return Step::Broken(outcome),
                Next::End(outcome) if reply.closes => return Step::Broken(outcome),
                Next::End(outcome) => {
                    self.expected = Expected::Nothing;
                    return Step::Done { consumed, outcome };
                }
                Next::More if reply.closes => {
                    let why = "the server closes the connection in the middle of an operation";
                    return Step::Broken(Outcome::failed(FailureKind::Disconnected, why));
                }
                Next::More => {}
            }
        }
    }
}
