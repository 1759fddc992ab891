//! The codec of the layouts `hash` and `hash-noindex`.

use std::sync::Arc;

use assay_model::{Answer, FailureKind, Fields, Operation, Outcome};

use super::{NO_INDEX, UNEXPECTED, decode_items, refused, resp, resp::Item, table::Table};
use crate::{Codec, Step};

/// One client's codec. Its buffers are reused from one operation to the next.
pub(super) struct HashCodec {
    table: Arc<Table>,
    expected: Expected,
    fields: Fields,
    /// The keys of the records asked for: one, or those of a scan.
    keys: Keys,
    /// Which of `keys` the next record belongs to.
    row: usize,
    /// The fields that an update sets.
    changed: Vec<u16>,
    /// The field whose value comes next.
    field: u16,
    failure: Option<Outcome>,
}

/// The next item of the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Nothing,
    /// The counts that `HSET`, and perhaps `ZADD`, answer.
    Inserted {
        left: usize,
    },
    /// How many fields an update created.
    Updated,
    /// How many of those were taken away again.
    Undone,
    /// How many keys `DEL` found.
    Deleted,
    /// How many keys `ZREM` found.
    Unindexed {
        found: bool,
    },
    /// How many keys the range holds.
    Range,
    /// The keys of the range.
    RangeKeys {
        left: usize,
    },
    /// The header of a record, or the value of its field.
    Record {
        scan: bool,
    },
    /// The names and values of a record: a name when `left` is even.
    Pairs {
        left: usize,
        scan: bool,
    },
    /// The answer to the `PING` that stands for an operation there is no command for.
    Refusal,
}

/// Keys in one buffer.
#[derive(Default)]
struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    fn set(&mut self, keys: &[&[u8]]) {
        self.bytes.clear();
        self.ends.clear();
        keys.iter().for_each(|key| self.push(key));
    }

    fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }
}

impl HashCodec {
    pub(super) fn new(table: Arc<Table>) -> HashCodec {
        HashCodec {
            table,
            expected: Expected::Nothing,
            fields: Fields::All,
            keys: Keys::default(),
            row: 0,
            changed: Vec::new(),
            field: 0,
            failure: None,
        }
    }

    /// Deals with one item; an outcome ends the operation.
    fn take(
        &mut self,
        item: Item<'_>,
        out: &mut Vec<u8>,
        answer: &mut Answer,
    ) -> Result<Option<Outcome>, &'static str> {
        match (self.expected, item) {
            (Expected::Nothing, _) => Err("a reply that nothing asked for"),
            (Expected::Record { scan }, item) => self.record(item, scan, answer),
            (Expected::Pairs { left, scan }, Item::Bulk(text)) => {
                self.pair(left, text, answer)?;
                if left > 1 {
                    self.expected = Expected::Pairs { left: left - 1, scan };
                    return Ok(None);
                }
                Ok(self.next_record(scan))
            }
            (Expected::Inserted { left }, item) => {
                self.count(item)?;
                self.expected = Expected::Inserted { left: left - 1 };
                Ok((left == 1).then(|| self.end(Outcome::Done)))
            }
            (Expected::Updated, item) => match self.count(item)? {
                0 => Ok(Some(self.end(Outcome::Done))),
                _ => {
                    self.encode_undo(out);
                    self.expected = Expected::Undone;
                    Ok(None)
                }
            },
            (Expected::Undone, item) => {
                self.count(item)?;
                Ok(Some(self.end(Outcome::Missing)))
            }
            (Expected::Deleted, item) => {
                let found = self.count(item)? > 0;
                if self.table.indexed() {
                    self.expected = Expected::Unindexed { found };
                    return Ok(None);
                }
                Ok(Some(self.end(if found { Outcome::Done } else { Outcome::Missing })))
            }
            (Expected::Unindexed { found }, item) => {
                self.count(item)?;
                Ok(Some(self.end(if found { Outcome::Done } else { Outcome::Missing })))
            }
            (Expected::Range, Item::Array(count)) => Ok(self.range(count, out)),
            (Expected::Range, Item::Error(why)) => Ok(Some(refused(why))),
            (Expected::RangeKeys { left }, Item::Bulk(key)) => {
                self.keys.push(key);
                Ok(self.range(left - 1, out))
            }
            (Expected::Refusal, _) => Ok(Some(Outcome::failed(FailureKind::Rejected, NO_INDEX))),
            _ => Err(UNEXPECTED),
        }
    }

    /// The count in a reply; a refusal is remembered and counts for nothing.
    fn count(&mut self, item: Item<'_>) -> Result<i64, &'static str> {
        match item {
            Item::Integer(count) => Ok(count),
            Item::Error(why) => {
                self.failure.get_or_insert_with(|| refused(why));
                Ok(0)
            }
            _ => Err(UNEXPECTED),
        }
    }

    fn end(&mut self, outcome: Outcome) -> Outcome {
        self.failure.take().unwrap_or(outcome)
    }

    fn record(
        &mut self,
        item: Item<'_>,
        scan: bool,
        answer: &mut Answer,
    ) -> Result<Option<Outcome>, &'static str> {
        match (item, self.fields) {
            (Item::Array(0), Fields::All) | (Item::Null, Fields::One(_)) => {
                // A record of a scan may have been deleted since the range was read.
                if !scan {
                    self.failure = Some(Outcome::Missing);
                }
            }
            (Item::Array(count), Fields::All) if count.is_multiple_of(2) => {
                answer.begin_row(self.keys.get(self.row));
                self.expected = Expected::Pairs { left: count, scan };
                return Ok(None);
            }
            (Item::Bulk(value), Fields::One(field)) => {
                answer.begin_row(self.keys.get(self.row));
                answer.field(field, value);
            }
            (Item::Error(why), _) => {
                self.failure.get_or_insert_with(|| refused(why));
            }
            _ => return Err(UNEXPECTED),
        }
        Ok(self.next_record(scan))
    }

    fn pair(&mut self, left: usize, text: &[u8], answer: &mut Answer) -> Result<(), &'static str> {
        if left.is_multiple_of(2) {
            let position = self.table.schema.field_position(text);
            self.field = position.ok_or("a record with a field that the table has not")?;
        } else {
            answer.field(self.field, text);
        }
        Ok(())
    }

    fn next_record(&mut self, scan: bool) -> Option<Outcome> {
        self.row += 1;
        if self.row == self.keys.ends.len() {
            return Some(self.end(Outcome::Done));
        }
        self.expected = Expected::Record { scan };
        None
    }

    /// Goes on with a range of which `left` keys are still to come.
    fn range(&mut self, left: usize, out: &mut Vec<u8>) -> Option<Outcome> {
        if left > 0 {
            self.expected = Expected::RangeKeys { left };
            return None;
        }
        if self.keys.ends.is_empty() {
            return Some(Outcome::Done);
        }
        for row in 0..self.keys.ends.len() {
            self.encode_read(row, out);
        }
        self.expected = Expected::Record { scan: true };
        None
    }

    fn encode_read(&self, row: usize, out: &mut Vec<u8>) {
        let key = self.keys.get(row);
        match self.fields {
            Fields::All => {
                out.extend_from_slice(b"*2\r\n$7\r\nHGETALL\r\n");
                resp::bulk(key, out);
            }
            Fields::One(field) => {
                out.extend_from_slice(b"*3\r\n$4\r\nHGET\r\n");
                resp::bulk(key, out);
                self.table.name(field, out);
            }
        }
    }

    /// Takes the fields away that an update of a missing record has created.
    fn encode_undo(&self, out: &mut Vec<u8>) {
        resp::array(2 + self.changed.len(), out);
        out.extend_from_slice(b"$4\r\nHDEL\r\n");
        resp::bulk(self.keys.get(0), out);
        for field in &self.changed {
            self.table.name(*field, out);
        }
    }
}

impl Codec for HashCodec {
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) {
        self.failure = None;
        self.row = 0;
        self.expected = match *operation {
            Operation::Read { key, fields } => {
                self.fields = fields;
                self.keys.set(&[key]);
                self.encode_read(0, out);
                Expected::Record { scan: false }
            }
            Operation::Insert { key, values } => {
                Expected::Inserted { left: self.table.insert(key, values, out) }
            }
            Operation::Update { key, values } => {
                self.keys.set(&[key]);
                self.changed.clear();
                self.changed.extend(values.iter().map(|value| value.field));
                self.table.set_fields(key, values, out);
                Expected::Updated
            }
            Operation::Delete { key } => {
                out.extend_from_slice(b"*2\r\n$3\r\nDEL\r\n");
                resp::bulk(key, out);
                if self.table.indexed() {
                    out.extend_from_slice(b"*3\r\n$4\r\nZREM\r\n");
                    self.table.index(out);
                    resp::bulk(key, out);
                }
                Expected::Deleted
            }
            Operation::Scan { start, limit, fields } if self.table.indexed() => {
                self.fields = fields;
                self.keys.set(&[]);
                out.extend_from_slice(b"*8\r\n$6\r\nZRANGE\r\n");
                self.table.index(out);
                resp::bulk_header(1 + start.len(), out);
                out.push(b'[');
                out.extend_from_slice(start);
                out.extend_from_slice(b"\r\n$1\r\n+\r\n$5\r\nBYLEX\r\n$5\r\nLIMIT\r\n$1\r\n0\r\n");
                resp::bulk_decimal(limit as usize, out);
                Expected::Range
            }
            Operation::Scan { .. } => {
                out.extend_from_slice(b"*1\r\n$4\r\nPING\r\n");
                Expected::Refusal
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
