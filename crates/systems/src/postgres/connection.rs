//! A connection that waits for each answer: log-in, set-up, loading and checks run on it, and a
//! client's socket comes out of it with its statements prepared.

use std::io::{self, Read, Write};

use assay_model::Durability;
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::{
    backend::{Header, Message},
    frontend,
};

use super::{
    error::{ServerError, Trouble},
    statement::{SYNC, Statements},
};
use crate::{
    socket::Socket,
    sql::{self, TextRow},
};

/// A blocking connection.
pub(super) struct Connection {
    pub socket: Socket,
    input: BytesMut,
    longest: usize,
}

/// The longest message that a server sends before the log-in is over; more means that whatever
/// answers does not speak this protocol.
const LOGIN_MESSAGE_LIMIT: usize = 64 * 1024;
/// The longest answer to a set-up command.
const ANSWER_LIMIT: usize = 16 * 1024 * 1024;
const READ_BYTES: usize = 8 * 1024;

impl Connection {
    /// A connection before log-in.
    pub fn new(socket: Socket) -> Connection {
        Connection { socket, input: BytesMut::new(), longest: LOGIN_MESSAGE_LIMIT }
    }

    /// The log-in is over: longer answers are in order.
    pub fn logged_in(&mut self) {
        self.longest = ANSWER_LIMIT;
    }

    pub fn send(&mut self, messages: &[u8]) -> Result<(), Trouble> {
        Ok(self.socket.write_all(messages)?)
    }

    /// The next message that is an answer. Notices and settings may come at any time and are left
    /// out.
    pub fn receive(&mut self) -> Result<Message, Trouble> {
        loop {
            match self.received()? {
                Some(message) => return Ok(message),
                None => self.read()?,
            }
        }
    }

    /// Reads once, and returns the next answer if the whole of it came.
    pub fn receive_some(&mut self) -> Result<Option<Message>, Trouble> {
        self.read()?;
        self.received()
    }

    /// The next answer if the whole of it is here already.
    fn received(&mut self) -> Result<Option<Message>, Trouble> {
        loop {
            self.check_length()?;
            match protocol(Message::parse(&mut self.input))? {
                Some(
                    Message::NoticeResponse(_)
                    | Message::ParameterStatus(_)
                    | Message::NotificationResponse(_),
                ) => {}
                other => return Ok(other),
            }
        }
    }

    fn check_length(&self) -> Result<(), Trouble> {
        match protocol(Header::parse(&self.input))? {
            Some(header) if header.len() as usize > self.longest => {
                let length = header.len();
                Err(Trouble::Protocol(format!("a message of {length} bytes at this point")))
            }
            _ => Ok(()),
        }
    }

    fn read(&mut self) -> Result<(), Trouble> {
        let mut buffer = [0; READ_BYTES];
        let count = loop {
            match self.socket.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        if count == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        self.input.extend_from_slice(&buffer[..count]);
        Ok(())
    }

    /// Runs SQL, one transaction unless it says otherwise. Returns the rows as text.
    pub fn query(&mut self, sql: &str) -> Result<Vec<TextRow>, Trouble> {
        self.begin_query(sql)?;
        let mut rows = Vec::new();
        self.until_ready(|message| {
            if let Message::DataRow(row) = message {
                let text = |range: Option<std::ops::Range<usize>>| {
                    range.map(|range| String::from_utf8_lossy(&row.buffer()[range]).into_owned())
                };
                rows.push(row.ranges().map(|range| Ok(text(range))).collect()?);
            }
            Ok(())
        })?;
        Ok(rows)
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

    /// Sends SQL without waiting for the answer.
    pub fn begin_query(&mut self, sql: &str) -> Result<(), Trouble> {
        let mut message = BytesMut::new();
        frontend::query(sql, &mut message)?;
        self.send(&message)
    }

    /// Takes messages until the server is ready for the next command. The first error it reported
    /// is the result.
    pub fn until_ready(
        &mut self,
        mut each: impl FnMut(&Message) -> io::Result<()>,
    ) -> Result<(), Trouble> {
        let mut refusal = None;
        loop {
            let message = match self.receive() {
                Ok(message) => message,
                // Why the connection ended, if the server said so.
                Err(trouble) => return Err(refusal.map_or(trouble, Trouble::Server)),
            };
            match message {
                Message::ReadyForQuery(_) => {
                    return refusal.map_or(Ok(()), |error| Err(Trouble::Server(error)));
                }
                Message::ErrorResponse(body) => {
                    let error = protocol(ServerError::from_body(&body))?;
                    if error.closes() {
                        return Err(Trouble::Server(error));
                    }
                    refusal.get_or_insert(error);
                }
                message => protocol(each(&message))?,
            }
        }
    }

    /// Sets what an acknowledged commit of this session promises. Whether the server flushes at
    /// all (`fsync`) is decided where it is started.
    pub fn set_durability(&mut self, durability: Durability) -> Result<(), Trouble> {
        let level = match durability {
            Durability::None | Durability::Buffered => "off",
            Durability::Synced => "on",
        };
        self.run(&format!("SET synchronous_commit = {level}"))
    }

    /// Prepares the statements that are parsed at connect, all in one round trip.
    pub fn prepare(&mut self, statements: &Statements) -> Result<(), Trouble> {
        let mut messages = Vec::new();
        for statement in statements.iter().filter(|statement| statement.eager) {
            statement.parse(0, &mut messages);
        }
        messages.extend_from_slice(SYNC);
        self.send(&messages)?;
        self.until_ready(|_| Ok(()))
    }

    /// The socket, when nothing is in flight on it.
    pub fn into_socket(mut self) -> Result<Socket, Trouble> {
        loop {
            match self.received()? {
                None if self.input.is_empty() => return Ok(self.socket),
                None => self.read()?,
                Some(Message::ErrorResponse(body)) => {
                    return Err(Trouble::Server(protocol(ServerError::from_body(&body))?));
                }
                Some(_) => return Err(Trouble::Protocol("it sent something unasked".to_owned())),
            }
        }
    }
}

fn protocol<T>(result: io::Result<T>) -> Result<T, Trouble> {
    result.map_err(|error| Trouble::Protocol(error.to_string()))
}
