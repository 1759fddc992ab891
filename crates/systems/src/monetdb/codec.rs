//! The measured client: an operation to one `EXEC` of a prepared statement, and the reply, one pass over
//! it, to rows.
//!
//! A statement is prepared before its first use, and again after an error: MonetDB then drops all of a
//! session's statements. Nothing is allocated once the buffers have grown to the largest reply.

use std::{str, sync::Arc};

use assay_model::{Answer, FieldValue, Fields, NO_INDEXES, Operation, Outcome, Schema};

use super::{
    mapi,
    reply::{Line, Malformed, Values, lines},
    statement::{FieldsFrom, Shape, Statements, write_literal},
};
use crate::{
    Codec, Step, decimal, framing,
    sql::{self, broken},
};

/// The longest message that a server sends; more means that it is none.
const MESSAGE_LIMIT: usize = 1 << 30;

/// Asks for nothing: what the client itself refuses still takes a round trip.
const PING: &[u8] = b"sSELECT 1 WHERE FALSE\n;";

/// The codec of one connection.
pub(super) struct MonetCodec {
    statements: Arc<Statements>,
    schema: Arc<Schema>,
    /// The numbers of the statements that the server has prepared on this connection.
    prepared: Box<[Option<u32>]>,
    /// Whether the server does not tell how many rows a change changed, and is asked for it.
    quiet: bool,
    pending: Pending,
    /// The literals of the operation in flight, in parentheses.
    literals: Vec<u8>,
    /// A message on its way into blocks.
    message: Vec<u8>,
    /// A reply as it comes.
    reply: Vec<u8>,
    /// The key asked for.
    key: Vec<u8>,
    scratch: Vec<u8>,
}

/// The operation in flight.
#[derive(Debug)]
struct Pending {
    due: Due,
    expected: Expected,
    statement: usize,
    /// The field asked for, where it is one.
    field: u16,
    failure: Option<Outcome>,
}

/// Which reply comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    /// None: nothing is in flight.
    Nothing,
    /// That to a ping, which stands for an operation that was not sent.
    Pong,
    /// That to preparing a statement.
    Prepared,
    /// That to the operation.
    Answer,
}

/// What makes the operation a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// A record: without one, the key is missing.
    Record,
    /// Any number of rows.
    Rows,
    /// A changed record: without one, the key is missing.
    Change,
    /// A new record.
    NewRecord,
}

impl MonetCodec {
    /// The codec of a new connection to a server that is `quiet` about how many rows changed.
    pub fn new(statements: Arc<Statements>, schema: Arc<Schema>, quiet: bool) -> MonetCodec {
        MonetCodec {
            prepared: vec![None; statements.len()].into(),
            statements,
            schema,
            quiet,
            pending: Pending {
                due: Due::Nothing,
                expected: Expected::Rows,
                statement: 0,
                field: 0,
                failure: None,
            },
            literals: Vec::new(),
            message: Vec::new(),
            reply: Vec::new(),
            key: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Notes the statement and the literals of an operation; the error is why it is not sent.
    fn write_operation(&mut self, operation: &Operation<'_>) -> Result<(), Outcome> {
        self.literals.clear();
        self.literals.push(b'(');
        let (expected, statement) = match *operation {
            Operation::Read { key, fields } => {
                self.select(fields)?;
                self.literal(key)?;
                (Expected::Record, self.statements.read(fields))
            }
            Operation::Scan { start, limit, fields } => {
                self.select(fields)?;
                self.literal(start)?;
                self.literals.push(b',');
                decimal::write(u64::from(limit), &mut self.literals);
                (Expected::Rows, self.statements.scan(fields))
            }
            Operation::Insert { key, values } => {
                sql::check_values(&self.schema, values)?;
                self.literal(key)?;
                self.columns(values)?;
                (Expected::NewRecord, self.statements.insert())
            }
            Operation::Update { key, values } => {
                sql::check_values(&self.schema, values)?;
                let (statement, each_column) = self.statements.update(values);
                match each_column {
                    true => self.columns(values)?,
                    false => self.literal(values[0].bytes)?,
                }
                self.literal(key)?;
                (Expected::Change, statement)
            }
            Operation::Delete { key } => {
                self.literal(key)?;
                (Expected::Change, self.statements.delete())
            }
            Operation::Lookup { .. } => return Err(sql::refused(NO_INDEXES.to_owned())),
        };
        self.literals.push(b')');
        self.pending.expected = expected;
        self.pending.statement = statement;
        Ok(())
    }

    /// Notes which fields are asked for.
    fn select(&mut self, fields: Fields) -> Result<(), Outcome> {
        if let Fields::One(field) = fields {
            sql::check_field(&self.schema, field)?;
            self.pending.field = field;
        }
        Ok(())
    }

    fn comma(&mut self) {
        if self.literals.len() > 1 {
            self.literals.push(b',');
        }
    }

    fn literal(&mut self, bytes: &[u8]) -> Result<(), Outcome> {
        check_text(bytes).map_err(sql::refused)?;
        self.comma();
        write_literal(&mut self.literals, bytes);
        Ok(())
    }

    /// Every field as a literal, NULL where `values` lacks it.
    fn columns(&mut self, values: &[FieldValue<'_>]) -> Result<(), Outcome> {
        for position in 0..self.schema.field_count() {
            match framing::given(values, position) {
                Some(bytes) => self.literal(bytes)?,
                None => {
                    self.comma();
                    self.literals.extend_from_slice(b"NULL");
                }
            }
        }
        Ok(())
    }

    /// Appends the message that carries the operation out, or first the one that prepares its
    /// statement.
    fn send(&mut self, out: &mut Vec<u8>) {
        let statement = self.statements.get(self.pending.statement);
        let Some(id) = self.prepared[self.pending.statement] else {
            self.pending.due = Due::Prepared;
            mapi::write(out, &statement.prepare);
            return;
        };
        self.pending.due = Due::Answer;
        self.message.clear();
        self.message.extend_from_slice(b"sEXEC ");
        decimal::write(u64::from(id), &mut self.message);
        self.message.extend_from_slice(&self.literals);
        if self.quiet && self.pending.expected == Expected::Change {
            self.message.extend_from_slice(b";SELECT rowcnt");
        }
        self.message.extend_from_slice(b"\n;");
        mapi::write(out, &self.message);
    }

    /// Takes a whole reply. `None`: there is more to come. The outer error means that the connection is
    /// of no more use.
    fn take(&mut self, out: &mut Vec<u8>, answer: &mut Answer) -> Result<Option<Outcome>, Outcome> {
        let due = std::mem::replace(&mut self.pending.due, Due::Nothing);
        match due {
            Due::Nothing => Err(broken("it sent something unasked")),
            Due::Pong => Ok(Some(self.pending.failure.take().unwrap_or(Outcome::Done))),
            Due::Prepared => {
                let id = self.prepared_id()?;
                let failed = self.pending.failure.take();
                if failed.is_some() {
                    self.prepared.fill(None);
                    return Ok(failed);
                }
                self.prepared[self.pending.statement] = Some(id);
                self.send(out);
                Ok(None)
            }
            Due::Answer => self.answer(answer).map(Some),
        }
    }

    /// The number in the reply to preparing a statement: the server's own word, or what was asked.
    fn prepared_id(&mut self) -> Result<u32, Outcome> {
        let mut id = None;
        for line in lines(&self.reply) {
            match line {
                Line::Prepared(number) => id = Some(number),
                Line::Row(row) if id.is_none() => id = number(row),
                Line::Error(error) => {
                    self.pending.failure.get_or_insert(error.outcome());
                }
                Line::Broken => return Err(broken("an unreadable line in a reply")),
                _ => {}
            }
        }
        match (id, &self.pending.failure) {
            (Some(id), _) => Ok(id),
            (None, Some(_)) => Ok(0),
            (None, None) => Err(broken("no answer to preparing a statement")),
        }
    }

    /// The outcome that the reply to an operation says; its rows go to `answer`.
    fn answer(&mut self, answer: &mut Answer) -> Result<Outcome, Outcome> {
        let Pending { expected, statement, field, .. } = self.pending;
        let shape = self.statements.get(statement).shape;
        let (mut rows, mut announced, mut changed, mut failure) = (0, None, None, None);
        for line in lines(&self.reply) {
            match line {
                Line::Result { rows } => announced = Some(rows),
                Line::Changed(count) => changed = Some(count),
                Line::Row(row) if shape.fields == FieldsFrom::Nothing => {
                    rows += 1;
                    changed = number(row).map(u64::from);
                }
                Line::Row(_) if expected == Expected::Record && rows > 0 => {
                    return Err(broken("several records of one key"));
                }
                Line::Row(row) => {
                    rows += 1;
                    let key = (expected == Expected::Record).then_some(&self.key[..]);
                    let reading = Reading { shape, field, key };
                    reading.report(row, &self.schema, &mut self.scratch, answer)?;
                }
                Line::Error(error) => {
                    failure.get_or_insert(error.outcome());
                }
                Line::Prepared(_) | Line::Broken => {
                    return Err(broken("an unreadable line in a reply"));
                }
                Line::Other => {}
            }
        }
        if let Some(failure) = failure {
            self.prepared.fill(None);
            return Ok(failure);
        }
        match announced {
            Some(due) if due != rows => {
                return Err(broken(&format!("{rows} rows came of {due} announced")));
            }
            None if matches!(expected, Expected::Record | Expected::Rows) => {
                return Err(broken("no answer to a question"));
            }
            _ => {}
        }
        Ok(match expected {
            Expected::Rows => Outcome::Done,
            Expected::Record if rows == 0 => Outcome::Missing,
            Expected::Record | Expected::NewRecord => Outcome::Done,
            Expected::Change => match changed {
                Some(0) => Outcome::Missing,
                Some(_) => Outcome::Done,
                None => return Err(broken("no answer to a change")),
            },
        })
    }
}

/// How the rows of a reply are to be read.
struct Reading<'a> {
    shape: Shape,
    field: u16,
    /// The key asked for, where it is one.
    key: Option<&'a [u8]>,
}

impl Reading<'_> {
    fn report(
        &self,
        row: &[u8],
        schema: &Schema,
        scratch: &mut Vec<u8>,
        answer: &mut Answer,
    ) -> Result<(), Outcome> {
        let malformed = |_: Malformed| broken("an unreadable row");
        let mut values = Values::of(row);
        match self.shape.keyed {
            true => {
                let key = values.next(scratch).map_err(malformed)?;
                let key = key.ok_or_else(|| broken("a row without a key"))?;
                if self.key.is_some_and(|wanted| wanted != key) {
                    return Err(broken("a record of another key"));
                }
                answer.begin_row(key);
            }
            false => answer.begin_row(self.key.unwrap_or_default()),
        }
        let fields = match self.shape.fields {
            FieldsFrom::Columns => 0..schema.field_count(),
            FieldsFrom::One => self.field..self.field + 1,
            FieldsFrom::Nothing => 0..0,
        };
        for field in fields {
            if let Some(value) = values.next(scratch).map_err(malformed)? {
                answer.field(field, value);
            }
        }
        match values.is_over() {
            true => Ok(()),
            false => Err(broken("more columns than asked for")),
        }
    }
}

/// Why bytes are no text that MonetDB takes.
pub(super) fn check_text(bytes: &[u8]) -> Result<(), String> {
    match str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(()),
        Ok(_) => Err("a text with a NUL byte, which MonetDB cannot hold".to_owned()),
        Err(_) => Err("bytes that are no UTF-8, of which MonetDB's texts are".to_owned()),
    }
}

/// The number that is the only value of a row.
fn number(row: &[u8]) -> Option<u32> {
    str::from_utf8(row).ok()?.parse().ok()
}

impl Codec for MonetCodec {
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) {
        self.pending.failure = None;
        self.reply.clear();
        self.key.clear();
        if let Operation::Read { key, .. } = operation {
            self.key.extend_from_slice(key);
        }
        let nothing_due = matches!(operation, Operation::Scan { limit: 0, .. });
        match self.write_operation(operation) {
            // A limit of 0 is an error to MonetDB, if it is a parameter.
            Ok(()) if !nothing_due => return self.send(out),
            Ok(()) => {}
            Err(outcome) => self.pending.failure = Some(outcome),
        }
        self.pending.due = Due::Pong;
        mapi::write(out, PING);
    }

    fn decode(&mut self, input: &[u8], out: &mut Vec<u8>, answer: &mut Answer) -> Step {
        let mut consumed = 0;
        while let Some(block) = mapi::first(&input[consumed..]) {
            consumed += block.bytes();
            self.reply.extend_from_slice(block.payload);
            if self.reply.len() > MESSAGE_LIMIT {
                return Step::Broken(broken("a message of more than 1 GiB"));
            }
            if !block.last {
                continue;
            }
            let taken = self.take(out, answer);
            self.reply.clear();
            match taken {
                Ok(None) => {}
                Ok(Some(outcome)) => return Step::Done { consumed, outcome },
                Err(outcome) => return Step::Broken(outcome),
            }
        }
        Step::More { consumed }
    }
}

#[cfg(test)]
mod tests;
