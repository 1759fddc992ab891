//! The measured client: an operation to one COM_STMT_EXECUTE, and the reply, one pass over it, to
//! rows.
//!
//! Replies are taken a packet at a time, wherever the bytes were split on their way. Nothing is
//! allocated once the buffers have grown to the largest key and document.

use std::{mem, sync::Arc};

use assay_model::{Answer, FailureKind, Operation, Outcome, Schema};

use super::{
    connection::{Changed, IN_TRANSACTION, MORE_RESULTS, Prepared},
    error::ServerError,
    layout::Body,
    packet::{self, LONGEST, Reader},
    reply::RowReader,
    statement::{self, PING, Shape, Statements},
};
use crate::{Codec, Step, sql::broken};

mod request;

pub(super) use self::request::write_document;

/// The longest message that a server sends; more means that it is none.
const MESSAGE_LIMIT: usize = 1 << 30;

/// The codec of one connection.
pub(super) struct MysqlCodec {
    statements: Arc<Statements>,
    body: Body,
    schema: Arc<Schema>,
    /// The longest message that the server takes.
    max_message: u64,
    /// The numbers of the statements that the server has prepared on this connection.
    prepared: Box<[Option<u32>]>,
    pending: Pending,
    /// The message to send when its statement is prepared.
    deferred: Vec<u8>,
    /// The beginning of a message that takes several packets.
    partial: Vec<u8>,
    rows: RowReader,
}

/// The operation in flight.
#[derive(Debug)]
struct Pending {
    due: Due,
    expected: Expected,
    statement: usize,
    shape: Shape,
    /// The field asked for, where it is one.
    field: u16,
    rows: u64,
    failure: Option<Outcome>,
    /// The sequence number of the next packet.
    sequence: u8,
}

/// Which message comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    /// None: nothing is in flight.
    Nothing,
    /// OK to a ping, which stands for an operation that was not sent.
    Pong,
    /// The answer to preparing a statement.
    Prepared,
    /// This many packets that describe a statement, ends included.
    Descriptions { left: u32, id: u32 },
    /// The head of the answer.
    Head,
    /// This many definitions of columns, and an end.
    Columns { left: u64 },
    /// A row, or the end.
    Row,
}

/// What makes the operation a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// One record: without it, the key is missing.
    Record,
    /// A record or more: without one, what was asked for is missing.
    Records,
    /// Any number of rows.
    Rows,
    /// A changed record: without one, the key is missing.
    Change,
}

impl MysqlCodec {
    /// The codec of a connection on which the statements with a number in `prepared` have been
    /// prepared, to a server that takes messages of up to `max_message` bytes.
    pub fn new(
        statements: Arc<Statements>,
        body: Body,
        schema: Arc<Schema>,
        max_message: u64,
        prepared: Box<[Option<u32>]>,
    ) -> MysqlCodec {
        let pending = Pending {
            due: Due::Nothing,
            expected: Expected::Rows,
            statement: 0,
            shape: statements.get(0).shape,
            field: 0,
            rows: 0,
            failure: None,
            sequence: 0,
        };
        MysqlCodec {
            rows: RowReader::new(schema.clone()),
            statements,
            body,
            schema,
            max_message,
            prepared,
            pending,
            deferred: Vec::new(),
            partial: Vec::new(),
        }
    }

    /// Takes one whole message. The error means that the connection is of no more use.
    fn take(
        &mut self,
        payload: &[u8],
        out: &mut Vec<u8>,
        answer: &mut Answer,
    ) -> Result<Taken, Outcome> {
        if self.pending.due == Due::Nothing {
            return Err(broken("it sent something unasked"));
        }
        if payload.first() == Some(&0xff) {
            return self.take_error(payload);
        }
        match self.pending.due {
            Due::Nothing => {}
            Due::Pong => {
                let changed = changed(payload)?;
                return self.over(changed.status);
            }
            Due::Prepared => {
                let prepared = Prepared::parse(payload)
                    .ok_or_else(|| broken("no answer to preparing a statement"))?;
                let Prepared { id, descriptions } = prepared;
                self.described(descriptions, id, out);
            }
            Due::Descriptions { left, id } => self.described(left - 1, id, out),
            Due::Head if self.pending.expected == Expected::Change => {
                let changed = changed(payload)?;
                self.pending.rows = changed.rows;
                return self.over(changed.status);
            }
            Due::Head => {
                let mut reader = Reader::new(payload);
                let due = self.rows.columns(self.pending.shape) as u64;
                let left = match (reader.counted(), reader.rest) {
                    (Some(columns), [] | [1]) if columns == due => due,
                    // They are those that were described when the statement was prepared.
                    (Some(columns), [0]) if columns == due => 0,
                    _ => return Err(broken(&format!("no rows of {due} columns"))),
                };
                self.pending.due = Due::Columns { left };
            }
            Due::Columns { left: 0 } => {
                if !packet::is_end(payload) {
                    return Err(broken("more columns than announced"));
                }
                self.pending.due = Due::Row;
            }
            Due::Columns { left } => self.pending.due = Due::Columns { left: left - 1 },
            Due::Row if packet::is_end(payload) => {
                let status = Reader { rest: &payload[1..] }
                    .number(4)
                    .ok_or_else(|| broken("an end without a status"))?;
                return self.over((status >> 16) as u16);
            }
            Due::Row => {
                self.pending.rows += 1;
                if self.pending.expected == Expected::Record && self.pending.rows > 1 {
                    return Err(broken("two records of one key"));
                }
                let Pending { shape, field, .. } = self.pending;
                if let Err(why) = self.rows.read(payload, shape, field, answer)? {
                    self.fail(Outcome::failed(FailureKind::Protocol, why));
                }
            }
        }
        Ok(Taken::Part)
    }

    /// An error ends the command; the connection goes on, unless the server closes it.
    fn take_error(&mut self, payload: &[u8]) -> Result<Taken, Outcome> {
        let error = ServerError::parse(payload).ok_or_else(|| broken("an unreadable error"))?;
        if error.closes() {
            return Err(error.outcome());
        }
        self.fail(error.outcome());
        self.over(0)
    }

    /// `left` packets that describe the statement `id` are still to come. After the last one, what
    /// waited for the statement is sent.
    fn described(&mut self, left: u32, id: u32, out: &mut Vec<u8>) {
        if left > 0 {
            self.pending.due = Due::Descriptions { left, id };
            return;
        }
        self.prepared[self.pending.statement] = Some(id);
        statement::set_id(&mut self.deferred, id);
        out.extend_from_slice(&self.deferred);
        // Headers count too little to matter: a message is as many packets with them as without.
        let length = self.deferred.len() as u64 / (LONGEST + packet::HEADER_BYTES) as u64;
        self.await_answer(Due::Head, length * LONGEST as u64);
    }

    /// The first failure is the one that counts.
    fn fail(&mut self, outcome: Outcome) {
        self.pending.failure.get_or_insert(outcome);
    }

    /// The outcome, now that the command is over.
    fn over(&mut self, status: u16) -> Result<Taken, Outcome> {
        if status & IN_TRANSACTION != 0 {
            return Err(broken("it is in a transaction that nothing began"));
        }
        if status & MORE_RESULTS != 0 {
            return Err(broken("it has a second answer to one question"));
        }
        self.pending.due = Due::Nothing;
        if let Some(failure) = self.pending.failure.take() {
            return Ok(Taken::Over(failure));
        }
        Ok(Taken::Over(match self.pending.expected {
            Expected::Rows => Outcome::Done,
            _ if self.pending.rows == 0 => Outcome::Missing,
            _ => Outcome::Done,
        }))
    }

    /// Takes a packet, which may be a part of a message.
    fn take_packet(
        &mut self,
        payload: &[u8],
        out: &mut Vec<u8>,
        answer: &mut Answer,
    ) -> Result<Taken, Outcome> {
        if payload.len() < LONGEST && self.partial.is_empty() {
            return self.take(payload, out, answer);
        }
        if self.partial.len() + payload.len() > MESSAGE_LIMIT {
            return Err(broken("a message of more than 1 GiB"));
        }
        self.partial.extend_from_slice(payload);
        if payload.len() == LONGEST {
            return Ok(Taken::Part);
        }
        let mut whole = mem::take(&mut self.partial);
        let taken = self.take(&whole, out, answer);
        whole.clear();
        self.partial = whole;
        taken
    }
}

enum Taken {
    /// There is more to come.
    Part,
    /// The operation is over.
    Over(Outcome),
}

fn changed(payload: &[u8]) -> Result<Changed, Outcome> {
    Changed::parse(payload).ok_or_else(|| broken("no answer to a change"))
}

impl Codec for MysqlCodec {
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) {
        self.pending.rows = 0;
        self.pending.failure = None;
        self.partial.clear();
        let start = out.len();
        if let Err(outcome) = self.encode_operation(operation, out) {
            // What the client itself refuses still takes a round trip, so that the caller has one
            // way of learning outcomes.
            out.truncate(start);
            out.extend_from_slice(PING);
            self.await_answer(Due::Pong, 0);
            self.fail(outcome);
        }
    }

    fn decode(&mut self, input: &[u8], out: &mut Vec<u8>, answer: &mut Answer) -> Step {
        let mut consumed = 0;
        while let Some(packet) = packet::first(&input[consumed..]) {
            consumed += packet.bytes();
            if packet.sequence != self.pending.sequence {
                let due = self.pending.sequence;
                let why = format!("packet {} where {due} is due", packet.sequence);
                return Step::Broken(broken(&why));
            }
            self.pending.sequence = packet.sequence.wrapping_add(1);
            match self.take_packet(packet.payload, out, answer) {
                Ok(Taken::Part) => {}
                Ok(Taken::Over(outcome)) => return Step::Done { consumed, outcome },
                Err(outcome) => return Step::Broken(outcome),
            }
        }
        Step::More { consumed }
    }
}

#[cfg(test)]
mod tests;
