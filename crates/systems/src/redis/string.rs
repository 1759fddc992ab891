//! The codec of the layout `string`.

use std::sync::Arc;

use assay_model::{Answer, FailureKind, FieldValue, Fields, Operation, Outcome};

use super::{
    NO_INDEX, NO_LOOKUP, PING, UNEXPECTED, decode_items, refused, resp, resp::Item, table::Table,
};
use crate::{
    Codec, Step,
    framing::{self, BAD_FRAMING, Changes},
};

/// One client's codec. Its buffers are reused from one operation to the next.
pub(super) struct StringCodec {
    table: Arc<Table>,
    expected: Expected,
    fields: Fields,
    key: Vec<u8>,
    changes: Changes,
    record: Vec<u8>,
}

/// The next reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Nothing,
    Record,
    /// The record that an update changes.
    OldRecord,
    Written,
    Deleted,
    /// The answer to the `PING` that stands for an operation there is no command for.
    Refusal(&'static str),
}

impl StringCodec {
    pub(super) fn new(table: Arc<Table>) -> StringCodec {
        StringCodec {
            table,
            expected: Expected::Nothing,
            fields: Fields::All,
            key: Vec::new(),
            changes: Changes::default(),
            record: Vec::new(),
        }
    }

    /// Deals with one reply; an outcome ends the operation.
    fn take(
        &mut self,
        item: Item<'_>,
        out: &mut Vec<u8>,
        answer: &mut Answer,
    ) -> Result<Option<Outcome>, &'static str> {
        let outcome = match (self.expected, item) {
            (Expected::Nothing, _) => return Err("a reply that nothing asked for"),
            (Expected::Refusal(why), _) => Outcome::failed(FailureKind::Rejected, why),
            (_, Item::Error(why)) => refused(why),
            (Expected::Record, Item::Bulk(record)) => self.report(record, answer),
            (Expected::OldRecord, Item::Bulk(record)) => match self.encode_changed(record, out) {
                Ok(()) => {
                    self.expected = Expected::Written;
                    return Ok(None);
                }
                Err(framing::BadFraming) => bad_framing(),
            },
            (Expected::Written, Item::Simple(_)) => Outcome::Done,
            (Expected::Record | Expected::OldRecord | Expected::Written, Item::Null)
            | (Expected::Deleted, Item::Integer(0)) => Outcome::Missing,
            (Expected::Deleted, Item::Integer(_)) => Outcome::Done,
            _ => return Err(UNEXPECTED),
        };
        Ok(Some(outcome))
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

    fn encode_changed(
        &mut self,
        record: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), framing::BadFraming> {
        self.record.clear();
        let count = self.table.schema.field_count();
        self.changes.merge(record, count, &mut self.record)?;
        out.extend_from_slice(SET_EXISTING);
        resp::bulk(&self.key, out);
        resp::bulk(&self.record, out);
        out.extend_from_slice(IF_EXISTS);
        Ok(())
    }

    fn encode_get(&mut self, key: &[u8], out: &mut Vec<u8>) {
        self.key.clear();
        self.key.extend_from_slice(key);
        out.extend_from_slice(b"*2\r\n$3\r\nGET\r\n");
        resp::bulk(key, out);
    }

    fn encode_update(
        &mut self,
        key: &[u8],
        values: &[FieldValue<'_>],
        out: &mut Vec<u8>,
    ) -> Expected {
        if framing::covers_all(values, self.table.schema.field_count()) {
            out.extend_from_slice(SET_EXISTING);
            resp::bulk(key, out);
            self.table.record(values, out);
            out.extend_from_slice(IF_EXISTS);
            return Expected::Written;
        }
        self.changes.set(values);
        self.encode_get(key, out);
        Expected::OldRecord
    }
}

const SET_EXISTING: &[u8] = b"*4\r\n$3\r\nSET\r\n";
const IF_EXISTS: &[u8] = b"$2\r\nXX\r\n";

fn bad_framing() -> Outcome {
    Outcome::failed(FailureKind::WrongAnswer, BAD_FRAMING)
}

impl Codec for StringCodec {
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) {
        self.expected = match *operation {
            Operation::Read { key, fields } => {
                self.fields = fields;
                self.encode_get(key, out);
                Expected::Record
            }
            Operation::Insert { key, values } => {
                self.table.insert(key, values, out);
                Expected::Written
            }
            Operation::Update { key, values } => self.encode_update(key, values, out),
            Operation::Delete { key } => {
                out.extend_from_slice(b"*2\r\n$3\r\nDEL\r\n");
                resp::bulk(key, out);
                Expected::Deleted
            }
            Operation::Scan { .. } => {
                out.extend_from_slice(PING);
                Expected::Refusal(NO_INDEX)
            }
            Operation::Lookup { .. } => {
                out.extend_from_slice(PING);
                Expected::Refusal(NO_LOOKUP)
            }
        };
    }

    fn decode(&mut self, input: &[u8], out: &mut Vec<u8>, answer: &mut Answer) -> Step {
        let step = decode_items(input, |item| self.take(item, out, answer));
        if matches!(step, Step::Done { .. }) {
            self.expected = Expected::Nothing;
        }
        step
    }
}
