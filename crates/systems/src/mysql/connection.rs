//! A connection that waits for each answer: log-in, set-up, loading and checks run on it, and a
//! client's socket comes out of it with its statements prepared.

use std::io::Write;

use super::{
    error::{ServerError, Trouble},
    packet::{self, LONGEST, Reader},
};
use crate::{
    incoming::Incoming,
    socket::Socket,
    sql::{self, TextRow},
};

/// Runs SQL.
const QUERY: u8 = 0x03;

/// The longest message that a server sends before the log-in is over; more means that whatever
/// answers does not speak this protocol.
const LOGIN_MESSAGE_LIMIT: usize = 64 * 1024;

/// A blocking connection.
pub(super) struct Connection {
    pub socket: Socket,
    incoming: Incoming,
    longest: usize,
    /// The sequence number of the next packet, in either direction.
    sequence: u8,
}

/// A statement that the server has prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prepared {
    /// Its number on this connection.
    pub id: u32,
    /// How many packets that describe it follow.
    pub descriptions: u32,
}

impl Prepared {
    /// Reads the first packet of the answer; `None` if it is another one.
    pub fn parse(payload: &[u8]) -> Option<Prepared> {
        let mut reader = Reader::new(payload);
        if reader.byte()? != 0 {
            return None;
        }
        let id = reader.number(4)? as u32;
        let columns = reader.number(2)? as u32;
        let parameters = reader.number(2)? as u32;
        // Those of the parameters and those of the columns each have an end of their own.
        let ended = |count: u32| if count == 0 { 0 } else { count + 1 };
        Some(Prepared { id, descriptions: ended(parameters) + ended(columns) })
    }
}

/// What a command changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Changed {
    /// How many rows.
    pub rows: u64,
    /// The session's state, in bits: [`IN_TRANSACTION`], [`MORE_RESULTS`].
    pub status: u16,
}

/// A transaction is open.
pub(super) const IN_TRANSACTION: u16 = 1;
/// Another result follows.
pub(super) const MORE_RESULTS: u16 = 8;

impl Changed {
    /// Reads an OK packet; `None` if it is another one.
    pub fn parse(payload: &[u8]) -> Option<Changed> {
        let mut reader = Reader::new(payload);
        if reader.byte()? != 0 {
            return None;
        }
        let rows = reader.counted()?;
        reader.counted()?;
        Some(Changed { rows, status: reader.number(2)? as u16 })
    }
}

impl Connection {
    /// A connection before log-in.
    pub fn new(socket: Socket) -> Connection {
        let incoming = Incoming::new();
        Connection { socket, incoming, longest: LOGIN_MESSAGE_LIMIT, sequence: 0 }
    }

    /// The log-in is over: longer answers are in order.
    pub fn logged_in(&mut self) {
        self.longest = LONGEST;
    }

    /// Sends a message in answer to the last one that came.
    pub fn answer(&mut self, content: &[u8]) -> Result<(), Trouble> {
        let mut out = Vec::new();
        let start = packet::begin(&mut out);
        out.extend_from_slice(content);
        packet::end(&mut out, start, self.sequence);
        self.sequence = self.sequence.wrapping_add(1);
        Ok(self.socket.write_all(&out)?)
    }

    /// Sends commands, whole messages, without waiting for the answer.
    pub fn send(&mut self, message: &[u8]) -> Result<(), Trouble> {
        let packets = 1 + (message.len() - packet::HEADER_BYTES) / (packet::HEADER_BYTES + LONGEST);
        self.sequence = packets as u8;
        Ok(self.socket.write_all(message)?)
    }

    /// The next message; an error that the server reports is an error here.
    pub fn receive(&mut self) -> Result<Vec<u8>, Trouble> {
        loop {
            let input = self.incoming.bytes();
            if let Some(&[low, middle, high, _]) = input.first_chunk() {
                let length = u32::from_le_bytes([low, middle, high, 0]) as usize;
                if length >= self.longest {
                    return Err(Trouble::Protocol(format!("a packet of {length} bytes")));
                }
            }
            let Some(packet) = packet::first(input) else {
                self.incoming.fill(&mut self.socket)?;
                continue;
            };
            let (bytes, sequence) = (packet.bytes(), packet.sequence);
            let payload = packet.payload.to_vec();
            self.incoming.consume(bytes);
            // An error before the log-in may come unnumbered, from a thread that greets nobody.
            if let Some(error) = ServerError::parse(&payload) {
                return Err(Trouble::Server(error));
            }
            if sequence != self.sequence {
                let due = self.sequence;
                return Err(Trouble::Protocol(format!("packet {sequence} where {due} is due")));
            }
            self.sequence = self.sequence.wrapping_add(1);
            return Ok(payload);
        }
    }

    /// Runs SQL. Returns the rows as text.
    pub fn query(&mut self, sql: &str) -> Result<Vec<TextRow>, Trouble> {
        self.send(&packet::command(QUERY, sql.as_bytes()))?;
        let head = self.receive()?;
        if Changed::parse(&head).is_some() {
            return Ok(Vec::new());
        }
        let columns = Reader::new(&head).counted().ok_or_else(|| unexpected("a query"))?;
        for _ in 0..columns {
            self.receive()?;
        }
        if !packet::is_end(&self.receive()?) {
            return Err(unexpected("the columns of a query"));
        }
        let mut rows = Vec::new();
        loop {
            let row = self.receive()?;
            if packet::is_end(&row) {
                return Ok(rows);
            }
            rows.push(text_row(&row, columns).ok_or_else(|| unexpected("a query"))?);
        }
    }

    /// Runs SQL whose rows, if any, do not matter.
    pub fn run(&mut self, sql: &str) -> Result<(), Trouble> {
        self.query(sql).map(drop)
    }

    /// Runs SQL that gives one value.
    pub fn value(&mut self, sql: &str) -> Result<String, Trouble> {
        sql::value(self.query(sql)?, sql)
    }

    /// Runs SQL that gives one number.
    pub fn number(&mut self, sql: &str) -> Result<u64, Trouble> {
        sql::number(&self.value(sql)?)
    }

    /// Takes the answer to a command that changes rows. Returns how many.
    pub fn changed(&mut self) -> Result<u64, Trouble> {
        let answer = self.receive()?;
        let changed = Changed::parse(&answer).ok_or_else(|| unexpected("a change"))?;
        Ok(changed.rows)
    }

    /// Has the server prepare a statement, of which `message` is the whole command. Returns its
    /// number.
    pub fn prepare(&mut self, message: &[u8]) -> Result<u32, Trouble> {
        self.send(message)?;
        let head = self.receive()?;
        let prepared = Prepared::parse(&head).ok_or_else(|| unexpected("a statement"))?;
        for _ in 0..prepared.descriptions {
            self.receive()?;
        }
        Ok(prepared.id)
    }

    /// The socket, when nothing is in flight on it.
    pub fn into_socket(self) -> Result<Socket, Trouble> {
        if self.incoming.bytes().is_empty() {
            Ok(self.socket)
        } else {
            Err(Trouble::Protocol("it sent something unasked".to_owned()))
        }
    }
}

/// What is sent to run SQL that is not UTF-8 throughout.
pub(super) fn begin_query(out: &mut Vec<u8>) -> usize {
    let start = packet::begin(out);
    out.push(QUERY);
    start
}

fn text_row(payload: &[u8], columns: u64) -> Option<TextRow> {
    let mut reader = Reader::new(payload);
    let mut row = Vec::new();
    for _ in 0..columns {
        if reader.rest.first() == Some(&0xfb) {
            reader.byte();
            row.push(None);
        } else {
            row.push(Some(String::from_utf8_lossy(reader.string()?).into_owned()));
        }
    }
    reader.rest.is_empty().then_some(row)
}

fn unexpected(what: &str) -> Trouble {
    Trouble::Protocol(format!("no answer to {what}"))
}
