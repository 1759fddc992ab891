//! A connection that waits for each answer: log-in, set-up, loading and checks run on it, and a
//! client's socket comes out of it.

use std::io::{self, Write};

use super::{
    error::Trouble,
    mapi,
    reply::{Line, Values, lines},
};
use crate::{
    incoming::Incoming,
    socket::Socket,
    sql::{self, TextRow},
};

/// The longest answer to a set-up command.
const ANSWER_LIMIT: usize = 16 << 20;

/// A blocking connection.
pub(super) struct Connection {
    pub socket: Socket,
    input: Incoming,
    message: Vec<u8>,
    output: Vec<u8>,
}

impl Connection {
    /// A connection before log-in.
    pub fn new(socket: Socket) -> Connection {
        Connection { socket, input: Incoming::new(), message: Vec::new(), output: Vec::new() }
    }

    /// After the log-in: results come whole, not a hundred rows at a time.
    pub fn begin(&mut self) -> Result<(), Trouble> {
        self.send_message(b"Xreply_size -1\n")?;
        self.receive()?;
        self.changed_by_reply().map(drop)
    }

    /// Sends a message in blocks.
    pub fn send_message(&mut self, message: &[u8]) -> Result<(), Trouble> {
        self.output.clear();
        mapi::write(&mut self.output, message);
        Ok(self.socket.write_all(&self.output)?)
    }

    /// The next message.
    pub fn receive(&mut self) -> Result<&[u8], Trouble> {
        self.message.clear();
        loop {
            let Some(block) = mapi::first(self.input.bytes()) else {
                self.input.fill(&mut self.socket).map_err(Trouble::from)?;
                continue;
            };
            let (bytes, last) = (block.bytes(), block.last);
            self.message.extend_from_slice(block.payload);
            self.input.consume(bytes);
            if self.message.len() > ANSWER_LIMIT {
                return Err(Trouble::Protocol("an answer of more than 16 MiB".to_owned()));
            }
            if last {
                return Ok(&self.message);
            }
        }
    }

    /// Runs SQL. Returns the rows as text.
    pub fn query(&mut self, sql: &str) -> Result<Vec<TextRow>, Trouble> {
        self.send_message(format!("s{sql}\n;").as_bytes())?;
        self.receive()?;
        let (mut rows, mut scratch) = (Vec::new(), Vec::new());
        for line in lines(&self.message) {
            match line {
                Line::Row(row) => {
                    let mut values = Values::of(row);
                    let mut text = Vec::new();
                    while !values.is_over() {
                        let value = values
                            .next(&mut scratch)
                            .map_err(|_| Trouble::Protocol("an unreadable row".to_owned()))?;
                        text.push(value.map(|value| String::from_utf8_lossy(value).into_owned()));
                    }
                    rows.push(text);
                }
                Line::Error(error) => return Err(Trouble::Server(error)),
                Line::Broken => {
                    return Err(Trouble::Protocol("an unreadable line in a reply".to_owned()));
                }
                _ => {}
            }
        }
        Ok(rows)
    }

    /// The number of rows that the reply just received says were changed, if it says it.
    pub fn changed_by_reply(&self) -> Result<Option<u64>, Trouble> {
        let mut changed = None;
        for line in lines(&self.message) {
            match line {
                Line::Changed(rows) => changed = Some(rows),
                Line::Error(error) => return Err(Trouble::Server(error)),
                Line::Broken => {
                    return Err(Trouble::Protocol("an unreadable line in a reply".to_owned()));
                }
                _ => {}
            }
        }
        Ok(changed)
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

    /// The socket, when nothing is in flight on it.
    pub fn into_socket(self) -> Result<Socket, Trouble> {
        match self.input.bytes() {
            [] => Ok(self.socket),
            _ => Err(io::Error::other("it sent something unasked").into()),
        }
    }
}
