//! The codec of one client.

use std::sync::Arc;

use assay_model::{Answer, FailureKind, Fields, Operation, Outcome};

use super::{
    NO_INDEX, NO_SCAN,
    error::{self, ServerError},
    frame::{self, Frame, Reader, Reply, opcode},
    table::{self, ID_BYTES, Id, Table},
};
use crate::{
    Codec, Step,
    sql::{self, broken, refused},
};

/// The number of every request: one is on its way at a time.
const STREAM: u16 = 0;

/// One client's codec. Its buffers are reused from one operation to the next.
pub(super) struct CassandraCodec {
    table: Arc<Table>,
    /// The numbers of those statements that are prepared.
    ids: Vec<Option<Id>>,
    due: Due,
    expected: Expected,
    /// The statement under way.
    statement: usize,
    fields: Fields,
    key: Vec<u8>,
    /// The message that runs the statement, kept for when the server has it prepared.
    message: Vec<u8>,
}

/// The next reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Nothing,
    /// The number of the statement under way, which then runs.
    Prepared,
    /// What the statement came to.
    Result,
    /// The answer to the request that stands for an operation that sends none.
    Options,
}

/// What the operation expects.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Expected {
    Record,
    /// So many at most.
    Rows(u32),
    /// Nothing to tell.
    Void,
    /// Whether a record was inserted; else the key exists.
    Inserted,
    /// Whether a record was changed; else there is none.
    Changed,
    /// What the client itself decided.
    Decided(Outcome),
}

impl CassandraCodec {
    /// `ids` are the numbers of the statements that are prepared.
    pub fn new(table: Arc<Table>, ids: Vec<Option<Id>>) -> CassandraCodec {
        CassandraCodec {
            table,
            ids,
            due: Due::Nothing,
            expected: Expected::Void,
            statement: 0,
            fields: Fields::All,
            key: Vec::new(),
            message: Vec::new(),
        }
    }

    /// Fills `message` and returns what is expected; the error is what needs no request.
    fn encode_known(&mut self, operation: &Operation<'_>) -> Result<Expected, Outcome> {
        let CassandraCodec { table, ids, key: known, message, statement, .. } = self;
        let schema = &table.schema;
        let if_checked = |at: usize, expected| match table.statements()[at].conditional {
            true => expected,
            false => Expected::Void,
        };
        message.clear();
        let mut begin = |at: usize, values: u16, message: &mut Vec<u8>| {
            *statement = at;
            table.begin(at, &ids[at].unwrap_or_default(), values, STREAM, message)
        };
        match *operation {
            Operation::Read { key, fields } => {
                if let Fields::One(field) = fields {
                    sql::check_field(schema, field)?;
                }
                known.clear();
                known.extend_from_slice(key);
                let start = begin(table.read(fields), 1, message);
                frame::write_value(key, message);
                frame::end(start, message);
                self.fields = fields;
                Ok(Expected::Record)
            }
            Operation::Scan { start: from, limit, fields } => {
                if let Fields::One(field) = fields {
                    sql::check_field(schema, field)?;
                }
                let at = table.scan(fields).ok_or_else(|| refused(NO_SCAN.into()))?;
                if limit == 0 {
                    // CQL has no such limit.
                    return Err(Outcome::Done);
                }
                let start = begin(at, 2, message);
                frame::write_value(from, message);
                frame::write_value(&limit.min(i32::MAX as u32).to_be_bytes(), message);
                frame::end(start, message);
                self.fields = fields;
                Ok(Expected::Rows(limit))
            }
            Operation::Lookup { .. } => Err(refused(NO_INDEX.into())),
            Operation::Insert { key, values } => {
                sql::check_values(schema, values)?;
                let at = table.insert();
                *statement = at;
                let id = ids[at].unwrap_or_default();
                table.write_insert(at, &id, STREAM, (key, values), message);
                Ok(if_checked(at, Expected::Inserted))
            }
            Operation::Update { key, values } => {
                sql::check_values(schema, values)?;
                let at = table.update();
                let start = begin(at, schema.field_count() + 1, message);
                table.write_columns(values, message);
                frame::write_value(key, message);
                frame::end(start, message);
                Ok(if_checked(at, Expected::Changed))
            }
            Operation::Delete { key } => {
                let at = table.delete();
                let start = begin(at, 1, message);
                frame::write_value(key, message);
                frame::end(start, message);
                Ok(if_checked(at, Expected::Changed))
            }
        }
    }

    /// Sends the message, or first has its statement prepared.
    fn send(&mut self, out: &mut Vec<u8>) {
        match self.ids[self.statement] {
            Some(_) => {
                out.extend_from_slice(&self.message);
                self.due = Due::Result;
            }
            None => {
                out.extend_from_slice(&self.table.statements()[self.statement].prepare);
                self.due = Due::Prepared;
            }
        }
    }

    /// Takes one reply: `None` if the operation goes on. The error means that the connection is of no
    /// more use.
    fn take(
        &mut self,
        frame: Frame<'_>,
        out: &mut Vec<u8>,
        answer: &mut Answer,
    ) -> Result<Option<Outcome>, Outcome> {
        if self.due == Due::Nothing || frame.stream != STREAM {
            return Err(broken("it sent something unasked"));
        }
        if frame.opcode == opcode::ERROR {
            let error =
                ServerError::parse(frame.body).ok_or_else(|| broken("an unreadable error"))?;
            // It may have forgotten the statement, but not while it was being told of it.
            if error.code == error::UNPREPARED && self.due == Due::Result {
                self.ids[self.statement] = None;
                self.send(out);
                return Ok(None);
            }
            return Ok(Some(error.outcome()));
        }
        match (self.due, frame.opcode) {
            (Due::Options, opcode::SUPPORTED) => match &self.expected {
                Expected::Decided(outcome) => Ok(Some(outcome.clone())),
                _ => Err(broken("it sent something unasked")),
            },
            (Due::Prepared | Due::Result, opcode::RESULT) => {
                let reply =
                    Reply::parse(frame.body).ok_or_else(|| broken("an unreadable result"))?;
                match (self.due, reply) {
                    (Due::Prepared, Reply::Prepared(id)) => {
                        let id = Id::try_from(id).map_err(|_| {
                            broken(&format!("a statement's number is not of {ID_BYTES} bytes"))
                        })?;
                        self.ids[self.statement] = Some(id);
                        table::set_id(&mut self.message, &id);
                        out.extend_from_slice(&self.message);
                        self.due = Due::Result;
                        Ok(None)
                    }
                    (Due::Result, reply) => self.result(reply, answer).map(Some),
                    _ => Err(broken("no number of a statement")),
                }
            }
            _ => Err(broken("a message of a kind that is not due")),
        }
    }

    /// What the statement came to.
    fn result(&self, reply: Reply<'_>, answer: &mut Answer) -> Result<Outcome, Outcome> {
        match (&self.expected, reply) {
            (Expected::Void, Reply::Void) => Ok(Outcome::Done),
            (Expected::Record, Reply::Rows { rows: 0, .. }) => Ok(Outcome::Missing),
            (Expected::Record, Reply::Rows { rows: 1, columns, mut values }) => {
                self.row(columns, &mut values, false, answer).ok_or_else(unreadable)?;
                Ok(Outcome::Done)
            }
            (Expected::Rows(limit), Reply::Rows { rows, .. }) if rows > *limit => {
                Err(broken("more records than were asked for"))
            }
            (Expected::Rows(_), Reply::Rows { rows, columns, mut values }) => {
                for _ in 0..rows {
                    self.row(columns, &mut values, true, answer).ok_or_else(unreadable)?;
                }
                Ok(Outcome::Done)
            }
            (
                Expected::Inserted | Expected::Changed,
                Reply::Rows { rows: 1, columns: 1.., mut values },
            ) => match (values.value(), &self.expected) {
                (Some(Some([0])), Expected::Inserted) => {
                    Ok(Outcome::failed(FailureKind::Conflict, "the key exists"))
                }
                (Some(Some([0])), _) => Ok(Outcome::Missing),
                (Some(Some([_])), _) => Ok(Outcome::Done),
                _ => Err(unreadable()),
            },
            _ => Err(broken("a result of another kind than the statement's")),
        }
    }

    /// Reports a row; `None` if it is no such row.
    fn row(
        &self,
        columns: u32,
        values: &mut Reader<'_>,
        keyed: bool,
        answer: &mut Answer,
    ) -> Option<()> {
        let (first, count) = match self.fields {
            Fields::All => (0, self.table.schema.field_count()),
            Fields::One(field) => (field, 1),
        };
        if columns != u32::from(count) + u32::from(keyed) {
            return None;
        }
        match keyed {
            true => answer.begin_row(values.value()??),
            false => answer.begin_row(&self.key),
        }
        for position in first..first + count {
            // A field that was never set has no value.
            if let Some(bytes) = values.value()? {
                answer.field(position, bytes);
            }
        }
        Some(())
    }
}

fn unreadable() -> Outcome {
    broken("an unreadable row")
}

impl Codec for CassandraCodec {
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) {
        match self.encode_known(operation) {
            Ok(expected) => {
                self.expected = expected;
                self.send(out);
            }
            Err(outcome) => {
                // What needs no request still takes a round trip, so that the caller has one way of
                // learning outcomes.
                let start = frame::begin(opcode::OPTIONS, STREAM, out);
                frame::end(start, out);
                self.expected = Expected::Decided(outcome);
                self.due = Due::Options;
            }
        }
    }

    fn decode(&mut self, input: &[u8], out: &mut Vec<u8>, answer: &mut Answer) -> Step {
        let mut consumed = 0;
        loop {
            let (frame, length) = match frame::first(&input[consumed..]) {
                Ok(Some(found)) => found,
                Ok(None) => return Step::More { consumed },
                Err(why) => return Step::Broken(broken(why)),
            };
            consumed += length;
            match self.take(frame, out, answer) {
                Ok(None) => {}
                Ok(Some(outcome)) => {
                    self.due = Due::Nothing;
                    return Step::Done { consumed, outcome };
                }
                Err(outcome) => return Step::Broken(outcome),
            }
        }
    }
}
