//! The codec of the layouts `hash` and `hash-noindex`.

use std::sync::Arc;

use assay_model::{Answer, FailureKind, FieldValue, Operation, Outcome};

use super::{
    NO_INDEX, NO_LOOKUP, PING, UNEXPECTED, apart::Write, decode_items, records::Records, refused,
    resp, resp::Item, scripts::Scripts, table::Table,
};
use crate::{Codec, Step};

/// One client's codec. Its buffers are reused from one operation to the next.
pub(super) struct HashCodec {
    table: Arc<Table>,
    keeping: Keeping,
    expected: Expected,
    /// The records that are read.
    records: Records,
    /// The record that is updated, and the fields that are set.
    key: Vec<u8>,
    changed: Vec<u16>,
    failure: Option<Outcome>,
}

/// How secondary indexes are kept.
pub(super) enum Keeping {
    /// There are none.
    Nothing,
    /// By scripts that change a record and its entries as one.
    Together(Scripts),
    /// By a second round trip, to the nodes that have them.
    Apart(Write),
}

impl From<Option<Scripts>> for Keeping {
    fn from(scripts: Option<Scripts>) -> Keeping {
        scripts.map_or(Keeping::Nothing, Keeping::Together)
    }
}

/// The next item of the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Nothing,
    /// What `HSET` and perhaps `ZADD` answer, or the script.
    Inserted {
        left: usize,
    },
    /// The number of a write that indexes are to follow.
    Number,
    /// How many fields an update created.
    Updated,
    /// How many of those were taken away again.
    Undone,
    /// Whether the script that updates or deletes found the record.
    Found,
    /// How many keys `DEL` found.
    Deleted,
    /// How many keys `ZREM` found.
    Unindexed {
        found: bool,
    },
    /// How many members the range holds.
    Range,
    /// The members of the range.
    Members {
        left: usize,
    },
    /// The next item of the records.
    Records,
    /// The answer to the `PING` that stands for an operation there is no command for.
    Refusal(&'static str),
}

impl HashCodec {
    /// The codec of a table whose secondary indexes, if it has any, are kept so.
    pub(super) fn new(table: Arc<Table>, keeping: Keeping) -> HashCodec {
        HashCodec {
            table,
            keeping,
            expected: Expected::Nothing,
            records: Records::new(),
            key: Vec::new(),
            changed: Vec::new(),
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
            (Expected::Records, item) => self.records.take(&self.table, item, answer),
            (Expected::Inserted { left }, item) => {
                self.count(item)?;
                self.expected = Expected::Inserted { left: left - 1 };
                Ok((left == 1).then(|| self.end(Outcome::Done)))
            }
            (Expected::Number, item) => match self.count(item)? {
                0 => Ok(Some(self.end(Outcome::Missing))),
                number => Ok(self.follow(number, out)),
            },
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
            (Expected::Found, item) => {
                let found = self.count(item)? > 0;
                Ok(Some(self.end(done_if(found))))
            }
            (Expected::Deleted, item) => {
                let found = self.count(item)? > 0;
                if self.table.indexed() {
                    self.expected = Expected::Unindexed { found };
                    return Ok(None);
                }
                Ok(Some(self.end(done_if(found))))
            }
            (Expected::Unindexed { found }, item) => {
                self.count(item)?;
                Ok(Some(self.end(done_if(found))))
            }
            (Expected::Range, Item::Array(count)) => Ok(self.range(count, out)),
            (Expected::Range, Item::Error(why)) => Ok(Some(refused(why))),
            (Expected::Members { left }, Item::Bulk(member)) => {
                self.records.member(member)?;
                Ok(self.range(left - 1, out))
            }
            (Expected::Refusal(why), _) => Ok(Some(Outcome::failed(FailureKind::Rejected, why))),
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

    /// Has the indexes follow a write.
    fn follow(&mut self, number: i64, out: &mut Vec<u8>) -> Option<Outcome> {
        let left = match &self.keeping {
            Keeping::Apart(write) => write.follow(&self.table, number, out),
            Keeping::Nothing | Keeping::Together(_) => 0,
        };
        if left == 0 {
            return Some(self.end(Outcome::Done));
        }
        self.expected = Expected::Inserted { left };
        None
    }

    /// Goes on with a range of which `left` members are still to come.
    fn range(&mut self, left: usize, out: &mut Vec<u8>) -> Option<Outcome> {
        if left > 0 {
            self.expected = Expected::Members { left };
            return None;
        }
        self.expected = Expected::Records;
        self.records.range_ended(&self.table, out)
    }

    fn encode_insert(
        &mut self,
        key: &[u8],
        values: &[FieldValue<'_>],
        out: &mut Vec<u8>,
    ) -> Expected {
        match &mut self.keeping {
            Keeping::Nothing => Expected::Inserted { left: self.table.insert(key, values, out) },
            Keeping::Together(scripts) => {
                scripts.insert(&self.table, key, values, out);
                Expected::Inserted { left: 1 }
            }
            Keeping::Apart(write) => {
                write.insert(&self.table, key, values, out);
                Expected::Number
            }
        }
    }

    fn encode_update(
        &mut self,
        key: &[u8],
        values: &[FieldValue<'_>],
        out: &mut Vec<u8>,
    ) -> Expected {
        if values.iter().any(|value| self.table.has_index(value.field)) {
            match &mut self.keeping {
                Keeping::Nothing => {}
                Keeping::Together(scripts) => {
                    scripts.update(&self.table, key, values, out);
                    return Expected::Found;
                }
                Keeping::Apart(write) => {
                    write.update(&self.table, key, values, out);
                    return Expected::Number;
                }
            }
        }
        self.key.clear();
        self.key.extend_from_slice(key);
        self.changed.clear();
        self.changed.extend(values.iter().map(|value| value.field));
        self.table.set_fields(key, values, out);
        Expected::Updated
    }

    /// Takes the fields away that an update of a missing record has created.
    fn encode_undo(&self, out: &mut Vec<u8>) {
        resp::array(2 + self.changed.len(), out);
        out.extend_from_slice(b"$4\r\nHDEL\r\n");
        resp::bulk(&self.key, out);
        for field in &self.changed {
            self.table.name(*field, out);
        }
    }

    fn encode_delete(&mut self, key: &[u8], out: &mut Vec<u8>) -> Expected {
        match &mut self.keeping {
            Keeping::Nothing => {}
            Keeping::Together(scripts) => {
                scripts.delete(&self.table, key, out);
                return Expected::Found;
            }
            Keeping::Apart(write) => {
                write.delete(&self.table, key, out);
                return Expected::Number;
            }
        }
        out.extend_from_slice(b"*2\r\n$3\r\nDEL\r\n");
        resp::bulk(key, out);
        if self.table.indexed() {
            out.extend_from_slice(b"*3\r\n$4\r\nZREM\r\n");
            self.table.index(out);
            resp::bulk(key, out);
        }
        Expected::Deleted
    }
}

fn done_if(found: bool) -> Outcome {
    if found { Outcome::Done } else { Outcome::Missing }
}

impl Codec for HashCodec {
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) {
        self.failure = None;
        self.expected = match *operation {
            Operation::Read { key, fields } => {
                self.records.read(&self.table, key, fields, out);
                Expected::Records
            }
            Operation::Insert { key, values } => self.encode_insert(key, values, out),
            Operation::Update { key, values } => self.encode_update(key, values, out),
            Operation::Delete { key } => self.encode_delete(key, out),
            Operation::Scan { .. } if !self.table.indexed() => {
                out.extend_from_slice(PING);
                Expected::Refusal(NO_INDEX)
            }
            Operation::Scan { start, limit, fields } => {
                self.records.scan(&self.table, start, limit, fields, out);
                Expected::Range
            }
            Operation::Lookup { field, .. } if !self.table.has_index(field) => {
                out.extend_from_slice(PING);
                Expected::Refusal(NO_LOOKUP)
            }
            Operation::Lookup { field, from, to, limit, fields } => {
                self.records.lookup(&self.table, (field, from, to), limit, fields, out);
                Expected::Range
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
