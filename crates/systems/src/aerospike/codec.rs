//! The codec of one client.

use std::sync::Arc;

use assay_model::{Answer, FailureKind, Fields, Operation, Outcome};

use super::{
    NO_RANGES, NO_SCAN, NO_SUCH_INDEX,
    message::{self, Action, Bins, Reply},
    query::{self, Part, Query},
    refused,
    table::Table,
};
use crate::{Codec, Step};

/// One client's codec. Its buffers are reused from one operation to the next.
pub(super) struct AerospikeCodec {
    table: Arc<Table>,
    expected: Expected,
    key: Vec<u8>,
}

/// The next reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Nothing,
    Record(Fields),
    Done,
    /// Records of an index.
    Records(Found),
    /// The answer to the info request that stands for an operation there is no message for.
    Refusal(&'static str),
}

/// What has come of the answers to a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Found {
    fields: Fields,
    rows: u32,
    most: u32,
    /// How many nodes have more to say.
    nodes: usize,
    /// The first result that was none of success.
    refused: Option<u8>,
}

impl AerospikeCodec {
    pub(super) fn new(table: Arc<Table>) -> AerospikeCodec {
        AerospikeCodec { table, expected: Expected::Nothing, key: Vec::new() }
    }

    /// Appends the request for an operation to an empty buffer, an info request if there is none; returns
    /// the partition of the record that it is about.
    pub(super) fn encode_one(
        &mut self,
        operation: &Operation<'_>,
        out: &mut Vec<u8>,
    ) -> Option<u16> {
        self.encode(operation, out);
        match self.expected {
            Expected::Record(_) | Expected::Done => message::partition(out, &self.table.place),
            Expected::Records(_) | Expected::Refusal(_) | Expected::Nothing => None,
        }
    }

    /// Expects the answers of `nodes` to a lookup; `false` if there is no message for it.
    pub(super) fn begin_lookup(&mut self, operation: &Operation<'_>, nodes: usize) -> bool {
        let begun = self.query(operation).map(|(_, found)| Found { nodes, ..found });
        self.expected = begun.map_or(Expected::Nothing, Expected::Records);
        begun.is_ok()
    }

    /// Appends the request for the part of a lookup that is about these partitions.
    pub(super) fn encode_lookup(
        &self,
        operation: &Operation<'_>,
        partitions: &[u8],
        out: &mut Vec<u8>,
    ) {
        if let Ok((query, _)) = self.query(operation) {
            Query { partitions, ..query }.encode(out);
        }
    }

    fn encode_known(
        &mut self,
        operation: &Operation<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Expected, &'static str> {
        let table = &self.table;
        match *operation {
            Operation::Read { key, fields } => {
                self.key.clear();
                self.key.extend_from_slice(key);
                match fields {
                    Fields::All => table.begin(Action::ReadAll, key, 0, out).end(),
                    Fields::One(field) => {
                        let mut request = table.begin(Action::ReadSome, key, 1, out);
                        request.read(table.bin(field));
                        request.end();
                    }
                }
                Ok(Expected::Record(fields))
            }
            Operation::Insert { key, values } => {
                table.write(table.insert, key, values, out).map(|()| Expected::Done)
            }
            Operation::Update { key, values } => {
                table.write(Action::Update, key, values, out).map(|()| Expected::Done)
            }
            Operation::Delete { key } => {
                table.begin(Action::Delete, key, 0, out).end();
                Ok(Expected::Done)
            }
            Operation::Scan { .. } => Err(NO_SCAN),
            Operation::Lookup { .. } => {
                let (query, found) = self.query(operation)?;
                query.encode(out);
                Ok(Expected::Records(found))
            }
        }
    }

    /// The query of every partition that a lookup is, and what to expect of one node.
    fn query<'a>(&'a self, operation: &Operation<'a>) -> Result<(Query<'a>, Found), &'static str> {
        let table = &self.table;
        let Operation::Lookup { field, from, to, limit, fields } = *operation else {
            return Err(NO_RANGES);
        };
        if to != Some(from) {
            return Err(NO_RANGES);
        }
        if field >= table.schema.index_count() {
            return Err(NO_SUCH_INDEX);
        }
        table.check(field, from)?;
        let query = Query {
            place: &table.place,
            partitions: &table.everywhere,
            bin: table.bin(field),
            value: from,
            // 0 would be all.
            most: limit.max(1),
            wanted: match fields {
                Fields::All => None,
                Fields::One(wanted) => Some(table.bin(wanted)),
            },
        };
        Ok((query, Found { fields, rows: 0, most: limit, nodes: 1, refused: None }))
    }

    /// Takes a reply; `None` if the operation waits for more.
    pub(super) fn take(
        &mut self,
        reply: Reply<'_>,
        answer: &mut Answer,
    ) -> Result<Option<Outcome>, &'static str> {
        let taken = match (self.expected, reply) {
            (Expected::Refusal(why), Reply::Info(_)) => {
                Ok(Some(Outcome::failed(FailureKind::Rejected, why)))
            }
            (Expected::Records(found), Reply::Messages(messages)) => {
                self.take_records(found, messages, answer)
            }
            (Expected::Record(fields), Reply::Messages(messages)) => {
                let (message, _) = message::first(messages)?;
                if message.code != 0 {
                    Ok(Some(refused(message.code)))
                } else {
                    answer.begin_row(&self.key);
                    self.report(message.bins, fields, answer).map(|()| Some(Outcome::Done))
                }
            }
            (Expected::Done, Reply::Messages(messages)) => {
                let (message, _) = message::first(messages)?;
                Ok(Some(if message.code == 0 { Outcome::Done } else { refused(message.code) }))
            }
            _ => Err("a reply that nothing asked for"),
        };
        if !matches!(taken, Ok(None)) {
            self.expected = Expected::Nothing;
        }
        taken
    }

    fn take_records(
        &mut self,
        mut found: Found,
        mut messages: &[u8],
        answer: &mut Answer,
    ) -> Result<Option<Outcome>, &'static str> {
        while !messages.is_empty() {
            let (part, rest) = query::part(messages)?;
            messages = rest;
            match part {
                // Each node gives as many as are wanted in all.
                Part::Record { .. } if found.rows == found.most => {}
                Part::Record { key, bins } => {
                    found.rows += 1;
                    answer.begin_row(key);
                    self.report(bins, found.fields, answer)?;
                }
                Part::Nothing => {}
                Part::Refused { code, ends } => {
                    found.refused = found.refused.or(Some(code));
                    found.nodes -= usize::from(ends);
                }
                Part::End => found.nodes -= 1,
            }
            if found.nodes == 0 {
                let ended = match found.refused {
                    Some(code) => refused(code),
                    // A lookup of one value has an end.
                    None => Outcome::of_lookup(Some(b""), found.rows.into()),
                };
                return Ok(Some(ended));
            }
        }
        self.expected = Expected::Records(found);
        Ok(None)
    }

    fn report(
        &self,
        bins: Bins<'_>,
        fields: Fields,
        answer: &mut Answer,
    ) -> Result<(), &'static str> {
        bins.read(|name, value| {
            let position = self.table.schema.field_position(name);
            let position = position.ok_or("a record with a bin that the table has not")?;
            if fields.contains(position) {
                answer.field(position, value);
            }
            Ok(())
        })
    }
}

impl Codec for AerospikeCodec {
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) {
        self.expected = self.encode_known(operation, out).unwrap_or_else(|why| {
            message::info("build\n", out);
            Expected::Refusal(why)
        });
    }

    fn decode(&mut self, input: &[u8], _out: &mut Vec<u8>, answer: &mut Answer) -> Step {
        let mut consumed = 0;
        loop {
            let taken = match message::reply(&input[consumed..]) {
                Ok(None) => return Step::More { consumed },
                Ok(Some((reply, length))) => {
                    consumed += length;
                    self.take(reply, answer)
                }
                Err(why) => Err(why),
            };
            match taken {
                Ok(None) => {}
                Ok(Some(outcome)) => return Step::Done { consumed, outcome },
                Err(why) => return Step::Broken(broken(why)),
            }
        }
    }
}

/// The outcome of an operation that the server answered with what it should not.
pub(super) fn broken(why: &str) -> Outcome {
    Outcome::failed(FailureKind::Protocol, format!("the server sent {why}"))
}
