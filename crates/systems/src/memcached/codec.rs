//! The codec of one client.

use assay_model::{Answer, FailureKind, FieldValue, Fields, NO_INDEXES, Operation, Outcome};

use super::{
    CAS_ATTEMPTS, NO_SCANS,
    meta::{self, Condition, Reply, WireKey},
    refused,
};
use crate::{
    Codec, Step,
    framing::{self, BAD_FRAMING, BadFraming, Changes},
};

/// One client's codec. Its buffers are reused from one operation to the next.
pub(super) struct MetaCodec {
    field_count: u16,
    expected: Expected,
    fields: Fields,
    key: Vec<u8>,
    wire_key: WireKey,
    changes: Changes,
    record: Vec<u8>,
}

/// The next reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Nothing,
    Record,
    Stored,
    /// The record that an update changes, and its CAS number.
    OldRecord {
        attempt: u32,
    },
    Swapped {
        attempt: u32,
    },
    Deleted,
    /// The answer to the no-op that stands for an operation there is no command for.
    Refusal(&'static str),
}

/// What a reply leads to.
enum Next {
    More(Expected),
    End(Outcome),
    /// The operation failed, and the replies may no longer match the requests.
    Lost(Outcome),
}

impl MetaCodec {
    pub(super) fn new(field_count: u16) -> MetaCodec {
        MetaCodec {
            field_count,
            expected: Expected::Nothing,
            fields: Fields::All,
            key: Vec::new(),
            wire_key: WireKey::default(),
            changes: Changes::default(),
            record: Vec::new(),
        }
    }

    fn take(&mut self, reply: Reply<'_>, out: &mut Vec<u8>, answer: &mut Answer) -> Next {
        use Expected as E;
        match (self.expected, reply) {
            (E::Refusal(why), Reply::NoOp) => {
                Next::End(Outcome::failed(FailureKind::Rejected, why))
            }
            (E::Stored | E::Swapped { .. }, Reply::Error(why))
                if !why.starts_with(b"SERVER_ERROR") =>
            {
                // The server may have taken the data for commands.
                Next::Lost(refused(why))
            }
            (E::Nothing, _) => Next::Lost(unexpected()),
            (_, Reply::Error(why)) => Next::End(refused(why)),
            (E::Record, Reply::Value { bytes, .. }) => Next::End(self.report(bytes, answer)),
            (E::OldRecord { attempt }, Reply::Value { bytes, cas: Some(cas) }) => {
                match self.encode_swap(bytes, cas, out) {
                    Ok(()) => Next::More(E::Swapped { attempt }),
                    Err(BadFraming) => Next::End(bad_framing()),
                }
            }
            (E::Swapped { attempt }, Reply::Changed) if attempt < CAS_ATTEMPTS => {
                self.wire_key.request(b"mg", b" v c", out);
                Next::More(E::OldRecord { attempt: attempt + 1 })
            }
            (E::Swapped { .. }, Reply::Changed) => Next::End(Outcome::failed(
                FailureKind::Conflict,
                format!("another client changed the record first, {CAS_ATTEMPTS} times"),
            )),
            (E::Stored | E::Swapped { .. } | E::Deleted, Reply::Done) => Next::End(Outcome::Done),
            (E::Record | E::OldRecord { .. }, Reply::NoItem)
            | (E::Stored, Reply::NotStored)
            | (E::Swapped { .. } | E::Deleted, Reply::NotFound) => Next::End(Outcome::Missing),
            _ => Next::Lost(unexpected()),
        }
    }

    fn report(&self, record: &[u8], answer: &mut Answer) -> Outcome {
        answer.begin_row(&self.key);
        let wanted = self.fields;
        let read = framing::read(record, self.field_count, |position, value| {
            if wanted.contains(position) {
                answer.field(position, value);
            }
        });
        read.map_or_else(|_| bad_framing(), |()| Outcome::Done)
    }

    fn encode_swap(
        &mut self,
        record: &[u8],
        cas: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), BadFraming> {
        let MetaCodec { changes, record: merged, .. } = self;
        merged.clear();
        changes.merge(record, self.field_count, merged)?;
        self.wire_key.store(merged.len(), Condition::Unchanged(cas), out);
        out.extend_from_slice(merged);
        out.extend_from_slice(b"\r\n");
        Ok(())
    }

    fn encode_update(&mut self, values: &[FieldValue<'_>], out: &mut Vec<u8>) -> Expected {
        if framing::covers_all(values, self.field_count) {
            store(&self.wire_key, values, self.field_count, Condition::Exists, out);
            return Expected::Stored;
        }
        self.changes.set(values);
        self.wire_key.request(b"mg", b" v c", out);
        Expected::OldRecord { attempt: 1 }
    }

    fn encode_known(
        &mut self,
        operation: &Operation<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Expected, &'static str> {
        match *operation {
            Operation::Read { key, fields } => {
                self.wire_key.set(key)?;
                self.fields = fields;
                self.key.clear();
                self.key.extend_from_slice(key);
                self.wire_key.request(b"mg", b" v", out);
                Ok(Expected::Record)
            }
            Operation::Insert { key, values } => {
                self.wire_key.set(key)?;
                store(&self.wire_key, values, self.field_count, Condition::Always, out);
                Ok(Expected::Stored)
            }
            Operation::Update { key, values } => {
                self.wire_key.set(key)?;
                Ok(self.encode_update(values, out))
            }
            Operation::Delete { key } => {
                self.wire_key.set(key)?;
                self.wire_key.request(b"md", b"", out);
                Ok(Expected::Deleted)
            }
            Operation::Scan { .. } => Err(NO_SCANS),
            Operation::Lookup { .. } => Err(NO_INDEXES),
        }
    }
}

/// Appends the store of a whole record.
pub(super) fn store(
    key: &WireKey,
    values: &[FieldValue<'_>],
    field_count: u16,
    condition: Condition,
    out: &mut Vec<u8>,
) {
    key.store(framing::written_len(values, field_count), condition, out);
    framing::write(values, field_count, out);
    out.extend_from_slice(b"\r\n");
}

fn bad_framing() -> Outcome {
    Outcome::failed(FailureKind::WrongAnswer, BAD_FRAMING)
}

fn unexpected() -> Outcome {
    malformed("a reply of another type than the command has")
}

fn malformed(why: &str) -> Outcome {
    Outcome::failed(FailureKind::Protocol, format!("the server sent {why}"))
}

impl Codec for MetaCodec {
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) {
        self.expected = self.encode_known(operation, out).unwrap_or_else(|why| {
            out.extend_from_slice(b"mn\r\n");
            Expected::Refusal(why)
        });
    }

    fn decode(&mut self, input: &[u8], out: &mut Vec<u8>, answer: &mut Answer) -> Step {
        let mut consumed = 0;
        loop {
            let (reply, length) = match meta::reply(&input[consumed..]) {
                Ok(Some(found)) => found,
                Ok(None) => return Step::More { consumed },
                Err(why) => return Step::Broken(malformed(why)),
            };
            consumed += length;
            match self.take(reply, out, answer) {
                Next::More(expected) => self.expected = expected,
                Next::End(outcome) => {
                    self.expected = Expected::Nothing;
                    return Step::Done { consumed, outcome };
                }
                Next::Lost(outcome) => return Step::Broken(outcome),
            }
        }
    }
}
