//! A connection for set-up, loading and checks: it waits for each reply.

use std::{
    io::{self, Write},
    time::Duration,
};

use super::{
    DRIVER, Server,
    meta::{self, Reply},
};
use crate::{
    SystemError,
    incoming::{Incoming, SET_UP_TIMEOUT},
    socket::Socket,
};

/// A connection that is logged in.
pub(super) struct Connection<'a> {
    server: &'a Server,
    socket: Socket,
    incoming: Incoming,
}

impl<'a> Connection<'a> {
    /// Connects, and logs in if the server asks for it.
    pub(super) fn open(server: &'a Server) -> Result<Connection<'a>, SystemError> {
        let socket = Socket::connect(&server.endpoint.address, server.timeout)
            .map_err(|error| server.unreachable(error.to_string()))?;
        let mut connection = Connection { server, socket, incoming: Incoming::new() };
        connection.log_in().map_err(|error| error.unanswered(&server.endpoint.address))?;
        connection.limit(server.timeout.max(SET_UP_TIMEOUT))?;
        Ok(connection)
    }

    fn log_in(&mut self) -> Result<(), SystemError> {
        self.socket
            .write_all(b"mn\r\n")
            .map_err(|error| self.server.unreachable(error.to_string()))?;
        let hello = self.line("answer a no-op")?;
        if hello == "MN" {
            return Ok(());
        }
        if !hello.contains("unauthenticated") {
            let why = format!("it answered '{hello}' to a meta command: it must be 1.6 or later");
            return Err(self.server.unreachable(why));
        }
        let endpoint = &self.server.endpoint;
        let refused = |why: &str| SystemError::LoginRefused {
            system: DRIVER.name.into(),
            address: endpoint.address.to_string(),
            why: why.into(),
        };
        let (Some(user), Some(password)) = (&endpoint.user, &endpoint.password) else {
            return Err(refused("it asks for a user and a password, and none were given"));
        };
        let login = format!("{user} {}", password.reveal());
        self.send("log in", format!("set auth 0 0 {}\r\n{login}\r\n", login.len()).as_bytes())?;
        match self.line("log in")?.as_str() {
            "STORED" => Ok(()),
            why => Err(refused(why)),
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

    /// Sends requests.
    pub(super) fn send(&mut self, action: &str, requests: &[u8]) -> Result<(), SystemError> {
        self.socket
            .write_all(requests)
            .map_err(|error| self.server.failed(action, error.to_string()))
    }

    /// Sends a command whose answer is one line.
    pub(super) fn command(&mut self, action: &str, command: &str) -> Result<String, SystemError> {
        self.send(action, format!("{command}\r\n").as_bytes())?;
        self.line(action)
    }

    /// What `stats`, or one of its variants, tells, by name.
    pub(super) fn stats(&mut self, command: &str) -> Result<Stats, SystemError> {
        let action = "read the statistics";
        let mut line = self.command(action, command)?;
        let mut stats = Vec::new();
        while line != "END" {
            let Some(pair) = line.strip_prefix("STAT ") else {
                return Err(self.server.failed(action, format!("it answered '{line}'")));
            };
            let (name, value) = pair.split_once(' ').unwrap_or((pair, ""));
            stats.push((name.to_owned(), value.to_owned()));
            line = self.line(action)?;
        }
        Ok(Stats(stats))
    }

    /// Waits until a no-op sent before is answered; replies in between are failures.
    pub(super) fn finish_quiet(&mut self, action: &str) -> Result<(), SystemError> {
        loop {
            let reply = meta::reply(self.incoming.bytes())
                .map_err(|why| self.server.failed(action, format!("it sent {why}")))?;
            match reply {
                None => self
                    .incoming
                    .fill(&mut self.socket)
                    .map_err(|error| self.server.failed(action, error.to_string()))?,
                Some((Reply::NoOp, length)) => {
                    self.incoming.consume(length);
                    return Ok(());
                }
                Some((Reply::Error(why), _)) => {
                    let why = String::from_utf8_lossy(why).into_owned();
                    return Err(self.server.failed(action, why));
                }
                Some((other, _)) => {
                    return Err(self.server.failed(action, format!("it answered {other:?}")));
                }
            }
        }
    }

    fn line(&mut self, action: &str) -> Result<String, SystemError> {
        self.read_line().map_err(|error| self.server.failed(action, error.to_string()))
    }

    fn read_line(&mut self) -> io::Result<String> {
        loop {
            let line = meta::line(self.incoming.bytes())
                .map_err(|why| io::Error::other(format!("it sent {why}")))?;
            if let Some(line) = line {
                let text = String::from_utf8_lossy(line).into_owned();
                let length = line.len() + 2;
                self.incoming.consume(length);
                return Ok(text);
            }
            self.incoming.fill(&mut self.socket)?;
        }
    }
}

/// Statistics by name, in the server's order.
pub(super) struct Stats(Vec<(String, String)>);

impl Stats {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }
}
