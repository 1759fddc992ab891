//! A logged-in connection for set-up, loading and checks: it waits for each reply.

use std::borrow::Cow;

use super::resp::{self, Item};
use crate::{
    SystemError,
    link::{Link, Server},
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
    link: Link<'a>,
    request: Vec<u8>,
}

enum Part {
    Whole(Reply),
    Array(usize),
}

impl<'a> Connection<'a> {
    /// Connects, logs in and selects the database.
    pub(super) fn open(server: impl Into<Cow<'a, Server>>) -> Result<Connection<'a>, SystemError> {
        let mut connection = Connection { link: Link::open(server)?, request: Vec::new() };
        let endpoint = connection.link.server.endpoint.clone();
        connection.log_in().map_err(|error| error.unanswered(&endpoint.address))?;
        if let Some(database) = &endpoint.database {
            connection.expect("select the database", &[b"SELECT", database.as_bytes()])?;
        }
        connection.link.be_patient()?;
        Ok(connection)
    }

    fn log_in(&mut self) -> Result<(), SystemError> {
        let endpoint = self.link.server.endpoint.clone();
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
                Err(self.link.server.login_refused(why))
            }
            Reply::Error(why) => Err(self.link.server.unreachable(why)),
            _ => Ok(()),
        }
    }

    /// The socket alone, for a client, with an operation's time limit.
    pub(super) fn into_socket(self) -> Result<Socket, SystemError> {
        self.link.into_socket()
    }

    /// Sends one command and waits for its reply, which may be a refusal.
    pub(super) fn command(
        &mut self,
        action: &str,
        arguments: &[&[u8]],
    ) -> Result<Reply, SystemError> {
        self.request.clear();
        resp::request(arguments, &mut self.request);
        self.link.send(action, &self.request)?;
        self.reply(action)
    }

    /// Like [`command`](Self::command); a refusal is an error.
    pub(super) fn expect(
        &mut self,
        action: &str,
        arguments: &[&[u8]],
    ) -> Result<Reply, SystemError> {
        match self.command(action, arguments)? {
            Reply::Error(why) => Err(self.link.server.failed(action, why)),
            reply => Ok(reply),
        }
    }

    /// Like [`expect`](Self::expect) for a command that answers with a count.
    pub(super) fn number(&mut self, action: &str, arguments: &[&[u8]]) -> Result<u64, SystemError> {
        let reply = self.expect(action, arguments)?;
        match reply {
            Reply::Integer(value) if value >= 0 => Ok(value as u64),
            other => Err(self.link.server.failed(action, format!("it answered {other:?}"))),
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
            other => Err(self.link.server.failed(action, format!("it answered {other:?}"))),
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
        self.link.send(action, &self.request)?;
        let mut whole = resp::Whole::default();
        let bytes = self.link.reply(action, |bytes| {
            let length = whole.length(bytes)?;
            Ok::<_, &str>(length.map(|length| (bytes[..length].to_vec(), length)))
        })?;
        match resp::item(&bytes) {
            Ok(Some((Item::Error(why), _))) => {
                Err(self.link.server.failed(action, String::from_utf8_lossy(why).into_owned()))
            }
            _ => Ok(bytes),
        }
    }

    /// Sends requests that are encoded already.
    pub(super) fn send(&mut self, action: &str, requests: &[u8]) -> Result<(), SystemError> {
        self.link.send(action, requests)
    }

    /// Waits for the next reply.
    pub(super) fn reply(&mut self, action: &str) -> Result<Reply, SystemError> {
        let count = match self.part(action)? {
            Part::Whole(reply) => return Ok(reply),
            Part::Array(count) => count,
        };
        let parts = (0..count).map(|_| match self.part(action)? {
            Part::Whole(reply) => Ok(reply),
            Part::Array(_) => Err(self.link.server.failed(action, "it sent an array in an array")),
        });
        parts.collect::<Result<_, _>>().map(Reply::Array)
    }

    fn part(&mut self, action: &str) -> Result<Part, SystemError> {
        self.link.reply(action, |bytes| {
            Ok::<_, &str>(resp::item(bytes)?.map(|(item, length)| (Part::of(item), length)))
        })
    }
}

impl Part {
    fn of(item: Item<'_>) -> Part {
        Part::Whole(match item {
            Item::Array(count) => return Part::Array(count),
            Item::Simple(text) | Item::Bulk(text) => Reply::Text(text.to_vec()),
            Item::Error(text) => Reply::Error(String::from_utf8_lossy(text).into()),
            Item::Integer(value) => Reply::Integer(value),
            Item::Null => Reply::Null,
        })
    }
}
