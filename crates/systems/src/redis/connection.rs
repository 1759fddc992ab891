//! A logged-in connection for set-up, loading and checks: it waits for each reply.

use std::{
    borrow::Cow,
    io::{self, Write},
    time::Duration,
};

use super::{
    Server,
    resp::{self, Item},
};
use crate::{
    SystemError,
    incoming::{Incoming, SET_UP_TIMEOUT},
    socket::Socket,
};

/// A reply, copied out of the connection's buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// A status or a string.
    Text(Vec<u8>),
    /// A number.
    Integer(i64),
    /// No string, or no array.
    Null,
    /// An array without arrays in it.
    Array(Vec<Reply>),
    /// A refusal.
    Error(String),
}

impl Reply {
    /// The text of a status or a string.
    pub(super) fn text(&self) -> Option<&[u8]> {
        match self {
            Reply::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// A connection that is logged in and has its database selected.
pub(super) struct Connection<'a> {
    server: Cow<'a, Server>,
    socket: Socket,
    incoming: Incoming,
    request: Vec<u8>,
}

enum Part {
    Whole(Reply),
    Array(usize),
}

impl<'a> Connection<'a> {
    /// Connects, logs in and selects the database.
    pub(super) fn open(server: impl Into<Cow<'a, Server>>) -> Result<Connection<'a>, SystemError> {
        let server = server.into();
        let endpoint = server.endpoint.clone();
        let timeout = server.timeout;
        let socket = Socket::connect(&endpoint.address, timeout)
            .map_err(|error| server.unreachable(error.to_string()))?;
        let mut connection =
            Connection { server, socket, incoming: Incoming::new(), request: Vec::new() };
        connection.log_in().map_err(|error| error.unanswered(&endpoint.address))?;
        if let Some(database) = &endpoint.database {
            connection.expect("select the database", &[b"SELECT", database.as_bytes()])?;
        }
        connection.limit(timeout.max(SET_UP_TIMEOUT))?;
        Ok(connection)
    }

    fn log_in(&mut self) -> Result<(), SystemError> {
        let endpoint = self.server.endpoint.clone();
        let reply = match (&endpoint.user, &endpoint.password) {
            (Some(user), Some(password)) => {
                let password = password.reveal().as_bytes();
                self.command("log in", &[b"AUTH", user.as_bytes(), password])?
            }
            (None, Some(password)) => {
                self.command("log in", &[b"AUTH", password.reveal().as_bytes()])?
            }
            (_, None) => self.command("answer a PING", &[b"PING"])?,
        };
        match reply {
            Reply::Error(why) if why.starts_with("NOAUTH") || endpoint.password.is_some() => {
                Err(self.server.login_refused(why))
            }
            Reply::Error(why) => Err(self.server.unreachable(why)),
            _ => Ok(()),
        }
    }

    /// The socket alone, for a client, with an operation's time limit.
    pub(super) fn into_socket(self) -> Result<Socket, SystemError> {
        self.limit(self.server.timeout)?;
        Ok(self.socket)
    }

    fn limit(&self, timeout: Duration) -> Result<(), SystemError> {
        let limited = self.socket.set_timeout(Some(timeout));
        limited.map_err(|error| self.server.unreachable(error.to_string()))
    }

    /// Sends one command and waits for its reply, which may be a refusal.
    pub(super) fn command(
        &mut self,
        action: &str,
        arguments: &[&[u8]],
    ) -> Result<Reply, SystemError> {
        self.request.clear();
        resp::request(arguments, &mut self.request);
        self.socket.write_all(&self.request).map_err(|error| self.failed(action, error))?;
        self.reply(action)
    }

    /// Like [`command`](Self::command); a refusal is an error.
    pub(super) fn expect(
        &mut self,
        action: &str,
        arguments: &[&[u8]],
    ) -> Result<Reply, SystemError> {
        match self.command(action, arguments)? {
            Reply::Error(why) => Err(self.server.failed(action, why)),
            reply => Ok(reply),
        }
    }

    /// Like [`expect`](Self::expect) for a command that answers with a count.
    pub(super) fn number(&mut self, action: &str, arguments: &[&[u8]]) -> Result<u64, SystemError> {
        let reply = self.expect(action, arguments)?;
        match reply {
            Reply::Integer(value) if value >= 0 => Ok(value as u64),
            other => Err(self.server.failed(action, format!("it answered {other:?}"))),
        }
    }

    /// Like [`expect`](Self::expect) for a command that answers with a string.
    pub(super) fn text(
        &mut self,
        action: &str,
        arguments: &[&[u8]],
    ) -> Result<Vec<u8>, SystemError> {
        match self.expect(action, arguments)? {
            Reply::Text(text) => Ok(text),
            other => Err(self.server.failed(action, format!("it answered {other:?}"))),
        }
    }

    /// Like [`expect`](Self::expect); the reply's bytes, whatever arrays are in it.
    pub(super) fn bytes(
        &mut self,
        action: &str,
        arguments: &[&[u8]],
    ) -> Result<Vec<u8>, SystemError> {
        self.request.clear();
        resp::request(arguments, &mut self.request);
        self.socket.write_all(&self.request).map_err(|error| self.failed(action, error))?;
        let bytes = self.reply_bytes().map_err(|error| self.failed(action, error))?;
        match resp::item(&bytes) {
            Ok(Some((Item::Error(why), _))) => {
                Err(self.server.failed(action, String::from_utf8_lossy(why).into_owned()))
            }
            _ => Ok(bytes),
        }
    }

    fn reply_bytes(&mut self) -> io::Result<Vec<u8>> {
        let mut whole = resp::Whole::default();
        loop {
            let length = whole
                .length(self.incoming.bytes())
                .map_err(|why| io::Error::other(format!("it sent {why}")))?;
            if let Some(length) = length {
                let bytes = self.incoming.bytes()[..length].to_vec();
                self.incoming.consume(length);
                return Ok(bytes);
            }
            self.incoming.fill(&mut self.socket)?;
        }
    }

    /// Sends requests that are encoded already.
    pub(super) fn send(&mut self, action: &str, requests: &[u8]) -> Result<(), SystemError> {
        self.socket.write_all(requests).map_err(|error| self.failed(action, error))
    }

    /// Waits for the next reply.
    pub(super) fn reply(&mut self, action: &str) -> Result<Reply, SystemError> {
        self.read_reply().map_err(|error| self.failed(action, error))
    }

    fn read_reply(&mut self) -> io::Result<Reply> {
        match self.part()? {
            Part::Whole(reply) => Ok(reply),
            Part::Array(count) => (0..count)
                .map(|_| match self.part()? {
                    Part::Whole(reply) => Ok(reply),
                    Part::Array(_) => Err(io::Error::other("it sent an array in an array")),
                })
                .collect::<io::Result<_>>()
                .map(Reply::Array),
        }
    }

    fn part(&mut self) -> io::Result<Part> {
        loop {
            let item = resp::item(self.incoming.bytes())
                .map_err(|why| io::Error::other(format!("it sent {why}")))?;
            let Some((item, length)) = item else {
                self.incoming.fill(&mut self.socket)?;
                continue;
            };
            let part = match item {
                Item::Array(count) => Part::Array(count),
                Item::Simple(text) | Item::Bulk(text) => Part::Whole(Reply::Text(text.to_vec())),
                Item::Error(text) => {
                    Part::Whole(Reply::Error(String::from_utf8_lossy(text).into()))
                }
                Item::Integer(value) => Part::Whole(Reply::Integer(value)),
                Item::Null => Part::Whole(Reply::Null),
            };
            self.incoming.consume(length);
            return Ok(part);
        }
    }

    fn failed(&self, action: &str, error: io::Error) -> SystemError {
        self.server.failed(action, error.to_string())
    }
}
