//! The measured client: an operation to one write of Bind, Execute and Sync, and the reply, one
//! pass over it, to rows.
//!
//! Replies are taken a message at a time, wherever the bytes were split on their way. Nothing is
//! allocated once the buffers have grown to the largest key and document.

use std::sync::Arc;

use assay_model::{Answer, FailureKind, Fields, Operation, Outcome, Schema};

use super::{
    error::ServerError,
    flavour::Limit,
    layout::{Body, Dialect},
    record,
    reply::RowReader,
    statement::{MESSAGE_LIMIT, Replacement, SYNC, Shape, Statements},
};
use crate::{
    Codec, Step,
    sql::{self, Range, broken},
};

/// The codec of one connection.
pub(super) struct PostgresCodec {
    statements: Arc<Statements>,
    dialect: Dialect,
    schema: Arc<Schema>,
    /// Which statements the server has parsed on this connection.
    parsed: Box<[bool]>,
    /// Which statement the one without a name is, and with what limit.
    unnamed: Option<(usize, u32)>,
    pending: Pending,
    rows: RowReader,
}

/// The operation in flight.
#[derive(Debug)]
struct Pending {
    expected: Expected,
    statement: usize,
    /// The most rows, where the statement says it.
    limit: u32,
    shape: Option<Shape>,
    /// The field asked for, where it is one.
    field: u16,
    rows: u64,
    /// The count in the CommandComplete message.
    completed: Option<u64>,
    failure: Option<Outcome>,
}

/// What makes the operation a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// Nothing is in flight.
    Nothing,
    /// A record or more: without one, what was asked for is missing.
    Record,
    /// Any number of rows.
    Rows,
    /// A changed record: without one, the key is missing.
    Change,
    /// A record that was not there: without one, its key exists.
    NewRecord,
}

impl PostgresCodec {
    /// The codec of a connection on which the eager statements have been parsed.
    pub fn new(
        statements: Arc<Statements>,
        dialect: Dialect,
        schema: Arc<Schema>,
    ) -> PostgresCodec {
        let parsed = statements.iter().map(|statement| statement.eager).collect();
        let pending = Pending {
            expected: Expected::Nothing,
            statement: 0,
            limit: 0,
            shape: None,
            field: 0,
            rows: 0,
            completed: None,
            failure: None,
        };
        let rows = RowReader::new(schema.clone());
        PostgresCodec { statements, dialect, schema, parsed, unnamed: None, pending, rows }
    }

    /// Appends the request with the statement at `index`, whose parameters `parameters` appends.
    fn request(
        &mut self,
        expected: Expected,
        index: usize,
        out: &mut Vec<u8>,
        parameters: impl FnOnce(&PostgresCodec, &mut Vec<u8>),
    ) -> Result<(), Outcome> {
        self.request_up_to(0, expected, index, out, parameters)
    }

    /// As [`PostgresCodec::request`], for at most `limit` rows: where the statement has no parameter
    /// for them, its text says so.
    fn request_up_to(
        &mut self,
        limit: u32,
        expected: Expected,
        index: usize,
        out: &mut Vec<u8>,
        parameters: impl FnOnce(&PostgresCodec, &mut Vec<u8>),
    ) -> Result<(), Outcome> {
        let statement = self.statements.get(index);
        let parsed = match statement.has_literal_limit() {
            true => self.unnamed == Some((index, limit)),
            false => self.parsed[index],
        };
        if !parsed {
            statement.parse(limit, out);
            if statement.has_literal_limit() {
                self.unnamed = None;
            }
        }
        let start = statement.begin(out);
        parameters(self, out);
        if !statement.end(out, start) {
            let product = self.dialect.flavour.product;
            let why = format!("the record is larger than {product} takes, {MESSAGE_LIMIT} bytes");
            return Err(sql::refused(why));
        }
        self.pending.expected = expected;
        self.pending.statement = index;
        self.pending.limit = limit;
        self.pending.shape = Some(statement.shape);
        Ok(())
    }

    fn encode_operation(
        &mut self,
        operation: &Operation<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Outcome> {
        match *operation {
            Operation::Read { key, fields } => {
                self.select(fields)?;
                self.rows.set_key(key);
                let index = self.statements.read(fields);
                self.request(Expected::Record, index, out, |codec, out| {
                    record::write_value(out, key);
                    codec.write_member(fields, out);
                })
            }
            Operation::Scan { start, limit, fields } => {
                self.select(fields)?;
                let index = self.statements.scan(fields);
                self.request_up_to(limit, Expected::Rows, index, out, |codec, out| {
                    record::write_value(out, start);
                    if codec.dialect.flavour.limit == Limit::Parameter {
                        record::write_value(out, &i64::from(limit).to_be_bytes());
                    }
                    codec.write_member(fields, out);
                })
            }
            Operation::Lookup { field, from, to, limit, fields } => {
                self.select(fields)?;
                let range = Range::of(from, to);
                let index = self.statements.lookup(field, range, fields)?;
                let expected = match Outcome::of_lookup(to, 0) {
                    Outcome::Missing => Expected::Record,
                    _ => Expected::Rows,
                };
                self.request(expected, index, out, |codec, out| {
                    record::write_value(out, from);
                    record::write_value(out, &i64::from(limit).to_be_bytes());
                    codec.write_member(fields, out);
                    if let (Range::UpTo, Some(to)) = (range, to) {
                        record::write_value(out, to);
                    }
                })
            }
            Operation::Insert { key, values } => {
                sql::check_values(&self.schema, values)?;
                let index = self.statements.insert();
                self.request(Expected::NewRecord, index, out, |codec, out| {
                    record::write_record(out, codec.dialect, &codec.schema, key, values);
                })
            }
            Operation::Update { key, values } => {
                sql::check_values(&self.schema, values)?;
                let (index, replacement) = self.statements.update(values);
                self.request(Expected::Change, index, out, |codec, out| {
                    record::write_value(out, key);
                    match (replacement, codec.dialect.body) {
                        (Replacement::Document, Body::Document(document)) => {
                            record::write_document(
                                out,
                                document.patch,
                                &codec.schema,
                                None,
                                values,
                            );
                        }
                        (Replacement::Column, _) => record::write_value(out, values[0].bytes),
                        _ => record::write_columns(out, &codec.schema, values),
                    }
                })
            }
            Operation::Delete { key } => {
                let index = self.statements.delete();
                self.request(Expected::Change, index, out, |_, out| record::write_value(out, key))
            }
        }
    }

    /// Notes which fields are asked for.
    fn select(&mut self, fields: Fields) -> Result<(), Outcome> {
        match fields {
            Fields::One(field) => {
                sql::check_field(&self.schema, field)?;
                self.pending.field = field;
            }
            Fields::All => {}
        }
        Ok(())
    }

    /// Where fields are members of a document, the name of the one asked for is a parameter.
    fn write_member(&self, fields: Fields, out: &mut Vec<u8>) {
        if let (Fields::One(field), Body::Document(_)) = (fields, self.dialect.body) {
            record::write_value(out, self.schema.field_name(field).as_bytes());
        }
    }

    /// Takes one whole message. `body` is what follows its tag and length.
    fn take(&mut self, tag: u8, message: &[u8], answer: &mut Answer) -> Result<Taken, Outcome> {
        let body = &message[HEADER_BYTES..];
        match tag {
            b'D' => {
                let shape = self.pending.shape.filter(|_| self.pending.completed.is_none());
                let shape = shape.ok_or_else(|| broken("a row that nothing asked for"))?;
                self.pending.rows += 1;
                let row = self.rows.read(body, shape, self.pending.field, answer)?;
                if let Err(why) = row {
                    self.fail(Outcome::failed(FailureKind::Protocol, why));
                }
            }
            b'C' => {
                if self.pending.completed.replace(affected(body)).is_some() {
                    return Err(broken("the operation completed twice"));
                }
            }
            b'Z' => return self.ready(body).map(Taken::Ready),
            // BindComplete, and what may come at any time: notices, settings, notifications.
            b'2' | b'N' | b'S' | b'A' => {}
            b'1' => self.parsed(),
            b'E' => {
                let error = ServerError::parse(message)
                    .map_err(|error| broken(&format!("an unreadable error: {error}")))?;
                if error.closes() {
                    return Err(error.outcome());
                }
                self.fail(error.outcome());
            }
            other => {
                let other = other.escape_ascii();
                return Err(broken(&format!("a message of type '{other}' during an operation")));
            }
        }
        Ok(Taken::Part)
    }

    /// The server has parsed the statement in flight.
    fn parsed(&mut self) {
        let Pending { statement, limit, .. } = self.pending;
        if self.statements.get(statement).has_literal_limit() {
            self.unnamed = Some((statement, limit));
        } else {
            self.parsed[statement] = true;
        }
    }

    /// The first failure is the one that counts.
    fn fail(&mut self, outcome: Outcome) {
        self.pending.failure.get_or_insert(outcome);
    }

    /// The outcome, now that the server is ready for the next operation.
    fn ready(&mut self, status: &[u8]) -> Result<Outcome, Outcome> {
        if status != b"I" {
            return Err(broken("it is in a transaction that nothing began"));
        }
        let expected = std::mem::replace(&mut self.pending.expected, Expected::Nothing);
        self.pending.shape = None;
        if let Some(failure) = self.pending.failure.take() {
            return Ok(failure);
        }
        let Some(count) = self.pending.completed else {
            return Err(broken("it is ready before the operation completed"));
        };
        let rows = self.pending.rows;
        match expected {
            Expected::Record | Expected::Rows if count != rows => {
                Err(broken(&format!("{rows} rows came of {count} announced")))
            }
            Expected::Rows => Ok(Outcome::Done),
            Expected::Record | Expected::Change if count == 0 => Ok(Outcome::Missing),
            Expected::NewRecord if count == 0 => {
                Ok(Outcome::failed(FailureKind::Conflict, "a record with this key exists"))
            }
            Expected::Record | Expected::Change | Expected::NewRecord => Ok(Outcome::Done),
            Expected::Nothing => Err(broken("it is ready, but nothing was asked")),
        }
    }
}

/// A message's tag and length.
const HEADER_BYTES: usize = 5;

enum Taken {
    /// There is more to come.
    Part,
    /// The operation is over.
    Ready(Outcome),
}

/// The number at the end of a command tag, as in `UPDATE 1`; 0 if there is none.
fn affected(tag: &[u8]) -> u64 {
    let tag = tag.strip_suffix(b"\0").unwrap_or(tag);
    let digits = tag.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    tag[tag.len() - digits..]
        .iter()
        .fold(0u64, |number, &digit| number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')))
}

impl Codec for PostgresCodec {
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) {
        self.pending.rows = 0;
        self.pending.completed = None;
        self.pending.failure = None;
        self.pending.expected = Expected::Nothing;
        let start = out.len();
        if let Err(outcome) = self.encode_operation(operation, out) {
            // What the client itself refuses still takes a round trip, so that the caller has one
            // way of learning outcomes.
            out.truncate(start);
            out.extend_from_slice(SYNC);
            self.fail(outcome);
        }
    }

    fn decode(&mut self, input: &[u8], _: &mut Vec<u8>, answer: &mut Answer) -> Step {
        let mut consumed = 0;
        while let Some((header, _)) = input[consumed..].split_first_chunk::<HEADER_BYTES>() {
            let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
            if !(4..=MESSAGE_LIMIT).contains(&length) {
                return Step::Broken(broken(&format!("a message of {length} bytes")));
            }
            let Some(message) = input.get(consumed..consumed + 1 + length) else { break };
            consumed += message.len();
            match self.take(header[0], message, answer) {
                Ok(Taken::Part) => {}
                Ok(Taken::Ready(outcome)) => return Step::Done { consumed, outcome },
                Err(outcome) => return Step::Broken(outcome),
            }
        }
        Step::More { consumed }
    }
}

#[cfg(test)]
mod tests;
