//! The measured client: an operation to one OP_MSG, and the reply, one pass over it, to rows.
//!
//! A reply is taken when all of it is there. Nothing is allocated once the caller's buffers have grown.

use std::sync::Arc;

use assay_model::{Answer, Operation, Outcome, Schema};

use super::{
    bson::{Elements, Malformed, Value},
    commands::Commands,
    error::ServerError,
    layout::ID,
    message::{self, Message},
};
use crate::{Codec, Step, document::Names, sql::broken};

/// The codec of one connection.
pub(super) struct MongoCodec {
    commands: Arc<Commands>,
    pending: Option<Pending>,
    /// The key that is read, where one is.
    key: Vec<u8>,
    /// The number of the last message.
    number: i32,
}

/// The operation in flight.
#[derive(Debug)]
struct Pending {
    expected: Expected,
    rows: u64,
    /// Why nothing but a ping was sent.
    refusal: Option<Outcome>,
}

/// What makes the operation a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// One record: without it, the key is missing.
    Record,
    /// Up to so many records; without one, what was asked for is missing if there is an end.
    Records { limit: u64, ended: bool },
    /// A new record.
    NewRecord,
    /// A changed or removed record: without one, the key is missing.
    Change,
    /// Nothing.
    Pong,
}

/// Which rows a reply may have.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    Nothing,
    /// One, of this key.
    Record(&'a [u8]),
    Records,
}

impl Expected {
    fn of(operation: &Operation<'_>) -> Expected {
        match *operation {
            Operation::Read { .. } => Expected::Record,
            Operation::Scan { limit, .. } => {
                Expected::Records { limit: limit.into(), ended: false }
            }
            Operation::Lookup { limit, to, .. } => {
                Expected::Records { limit: limit.into(), ended: to.is_some() }
            }
            Operation::Insert { .. } => Expected::NewRecord,
            Operation::Update { .. } | Operation::Delete { .. } => Expected::Change,
        }
    }

    /// The outcome of `rows` records, where nothing failed.
    fn outcome(self, rows: u64) -> Outcome {
        match self {
            Expected::Record | Expected::Change if rows == 0 => Outcome::Missing,
            Expected::Records { ended: true, .. } if rows == 0 => Outcome::Missing,
            _ => Outcome::Done,
        }
    }
}

/// What the body of a reply says besides rows.
#[derive(Default)]
struct Reply {
    written: u64,
    rows: u64,
    /// The cursor that has more; 0 if none has.
    cursor: i64,
    /// Whether it has a row that nobody asked for.
    astray: bool,
    failure: Option<ServerError>,
}

impl MongoCodec {
    /// A codec that numbers its messages on from `number`.
    pub fn new(commands: Arc<Commands>, number: i32) -> MongoCodec {
        MongoCodec { commands, pending: None, key: Vec::new(), number }
    }

    fn next_number(&mut self) -> i32 {
        self.number = self.number.wrapping_add(1);
        self.number
    }

    /// Takes a whole message: the outcome if the operation is over. The error means that the
    /// connection is of no more use.
    fn take(
        &mut self,
        message: &Message<'_>,
        out: &mut Vec<u8>,
        answer: &mut Answer,
    ) -> Result<Option<Outcome>, Outcome> {
        let Some(mut pending) = self.pending.take() else {
            return Err(broken("it sent something unasked"));
        };
        if message.answers != self.number {
            return Err(broken(&format!(
                "an answer to message {} where that to {} is due",
                message.answers, self.number
            )));
        }
        let wanted = match pending.expected {
            Expected::Record => Wanted::Record(&self.key),
            Expected::Records { .. } => Wanted::Records,
            Expected::NewRecord | Expected::Change | Expected::Pong => Wanted::Nothing,
        };
        let reply = Reply::read(message.body, wanted, self.commands.schema(), answer)
            .map_err(|error| broken(&error.to_string()))?;
        if reply.astray {
            return Err(broken("a record that was not asked for"));
        }
        if let Some(failure) = reply.failure {
            let outcome = failure.outcome();
            return if failure.closes() { Err(outcome) } else { Ok(Some(outcome)) };
        }
        if let Some(refusal) = pending.refusal {
            return Ok(Some(refusal));
        }
        pending.rows += match wanted {
            Wanted::Nothing => reply.written,
            Wanted::Record(_) | Wanted::Records => reply.rows,
        };
        match pending.expected {
            Expected::NewRecord if pending.rows != 1 => {
                Err(broken("an insert of one record that is none of one"))
            }
            Expected::Change if pending.rows > 1 => Err(broken("a change of several records")),
            Expected::Records { limit, .. } if pending.rows > limit => {
                Err(broken("more records than were asked for"))
            }
            Expected::Records { limit, .. } if reply.cursor != 0 => {
                // Nothing would come of asking again and again.
                if reply.rows == 0 {
                    return Err(broken("an empty batch that is not the last"));
                }
                let left = limit - pending.rows;
                let number = self.next_number();
                self.commands.write_more(reply.cursor, left, number, out);
                self.pending = Some(pending);
                Ok(None)
            }
            expected => Ok(Some(expected.outcome(pending.rows))),
        }
    }
}

impl Reply {
    /// Reads the body of a reply and reports its rows.
    fn read(
        body: Elements<'_>,
        wanted: Wanted<'_>,
        schema: &Schema,
        answer: &mut Answer,
    ) -> Result<Reply, Malformed> {
        let (mut reply, mut ok) = (Reply::default(), None);
        let mut elements = body;
        while let Some((name, value)) = elements.next()? {
            match name {
                b"ok" => ok = value.whole(),
                b"n" => {
                    let written = value.whole().and_then(|number| u64::try_from(number).ok());
                    reply.written = written.ok_or(Malformed)?;
                }
                b"cursor" => reply.read_cursor(value, wanted, schema, answer)?,
                b"writeErrors" => {
                    let errors = value.inner().ok_or(Malformed)?;
                    reply.failure = ServerError::first(errors)?.or(reply.failure);
                }
                // A write's own error is the one that counts.
                b"writeConcernError" if reply.failure.is_none() => {
                    reply.failure = Some(ServerError::read(value.inner().ok_or(Malformed)?)?);
                }
                _ => {}
            }
        }
        match ok {
            Some(1) => {}
            Some(_) => reply.failure = Some(ServerError::read(body)?),
            None => return Err(Malformed),
        }
        Ok(reply)
    }

    fn read_cursor(
        &mut self,
        cursor: Value<'_>,
        wanted: Wanted<'_>,
        schema: &Schema,
        answer: &mut Answer,
    ) -> Result<(), Malformed> {
        let Value::Document(mut cursor) = cursor else { return Err(Malformed) };
        while let Some((name, value)) = cursor.next()? {
            match (name, value) {
                (b"id", id) => self.cursor = id.whole().ok_or(Malformed)?,
                (b"firstBatch" | b"nextBatch", Value::Array(mut rows)) => {
                    while let Some((_, row)) = rows.next()? {
                        let Value::Document(row) = row else { return Err(Malformed) };
                        let key = key_of(row)?;
                        let due = match wanted {
                            Wanted::Nothing => false,
                            Wanted::Record(asked) => self.rows == 0 && key == asked,
                            Wanted::Records => true,
                        };
                        if due {
                            answer.begin_row(key);
                            report(row, schema, answer)?;
                            self.rows += 1;
                        } else {
                            self.astray = true;
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The key of a document. MongoDB has `_id` come first.
fn key_of(row: Elements<'_>) -> Result<&[u8], Malformed> {
    row.find(ID)?.and_then(Value::bytes).ok_or(Malformed)
}

/// Reports the fields of a document.
fn report(mut row: Elements<'_>, schema: &Schema, answer: &mut Answer) -> Result<(), Malformed> {
    let mut names = Names::new(schema);
    while let Some((name, value)) = row.next()? {
        // A member that is no string is no field, and neither is the key.
        if let Some(bytes) = value.bytes().filter(|_| name != ID.as_bytes()) {
            names.report(name, bytes, answer);
        }
    }
    Ok(())
}

impl Codec for MongoCodec {
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) {
        let (start, number) = (out.len(), self.next_number());
        if let Operation::Read { key, .. } = *operation {
            self.key.clear();
            self.key.extend_from_slice(key);
        }
        let mut pending = Pending { expected: Expected::of(operation), rows: 0, refusal: None };
        if let Expected::Records { limit: 0, .. } = pending.expected {
            // To the server, a limit of 0 is none.
            pending.refusal = Some(pending.expected.outcome(0));
        } else {
            pending.refusal = self.commands.write(operation, number, out).err();
        }
        if pending.refusal.is_some() {
            // What is not sent still takes a round trip, so that the caller has one way of learning
            // outcomes.
            out.truncate(start);
            self.commands.write_ping(number, out);
            pending.expected = Expected::Pong;
        }
        self.pending = Some(pending);
    }

    fn decode(&mut self, input: &[u8], out: &mut Vec<u8>, answer: &mut Answer) -> Step {
        let mut consumed = 0;
        loop {
            let message = match message::first(&input[consumed..]) {
                Ok(Some(message)) => message,
                Ok(None) => return Step::More { consumed },
                Err(outcome) => return Step::Broken(outcome),
            };
            consumed += message.bytes;
            match self.take(&message, out, answer) {
                Ok(Some(outcome)) => return Step::Done { consumed, outcome },
                Ok(None) => {}
                Err(outcome) => return Step::Broken(outcome),
            }
        }
    }
}

#[cfg(test)]
mod tests;
