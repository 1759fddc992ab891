//! A connection for set-up, loading and checks: it waits for each reply.

use super::{
    Server,
    meta::{self, Reply},
};
use crate::{SystemError, link::Link, socket::Socket};

/// A connection that is logged in.
pub(super) struct Connection<'a> {
    link: Link<'a>,
}

impl<'a> Connection<'a> {
    /// Connects, and logs in if the server asks for it.
    pub(super) fn open(server: &'a Server) -> Result<Connection<'a>, SystemError> {
        let mut connection = Connection { link: Link::open(server)? };
        connection.log_in().map_err(|error| error.unanswered(&server.endpoint.address))?;
        connection.link.be_patient()?;
        Ok(connection)
    }

    fn log_in(&mut self) -> Result<(), SystemError> {
        let hello = self.command("answer a no-op", "mn")?;
        if hello == "MN" {
            return Ok(());
        }
        if !hello.contains("unauthenticated") {
            let why = format!("it answered '{hello}' to a meta command: it must be 1.6 or later");
            return Err(self.link.server.unreachable(why));
        }
        let server = self.link.server.clone();
        let endpoint = &server.endpoint;
        let (Some(user), Some(password)) = (&endpoint.user, &endpoint.password) else {
            let why = "it asks for a user and a password, and none were given";
            return Err(server.login_refused(why));
        };
        let login = format!("{user} {}", password.reveal());
        self.send("log in", format!("set auth 0 0 {}\r\n{login}\r\n", login.len()).as_bytes())?;
        match self.line("log in")?.as_str() {
            "STORED" => Ok(()),
            why => Err(server.login_refused(why)),
        }
    }

    /// The socket alone, for a client, with an operation's time limit.
    pub(super) fn into_socket(self) -> Result<Socket, SystemError> {
        self.link.into_socket()
    }

    /// Sends requests.
    pub(super) fn send(&mut self, action: &str, requests: &[u8]) -> Result<(), SystemError> {
        self.link.send(action, requests)
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
                return Err(self.link.server.failed(action, format!("it answered '{line}'")));
            };
            let (name, value) = pair.split_once(' ').unwrap_or((pair, ""));
            stats.push((name.to_owned(), value.to_owned()));
            line = self.line(action)?;
        }
        Ok(Stats(stats))
    }

    /// Waits until a no-op sent before is answered; replies in between are failures.
    pub(super) fn finish_quiet(&mut self, action: &str) -> Result<(), SystemError> {
        let ended = self.link.reply(action, |bytes| {
            let found = meta::reply(bytes)?.map(|(reply, length)| {
                let ended = match reply {
                    Reply::NoOp => Ok(()),
                    Reply::Error(why) => Err(String::from_utf8_lossy(why).into_owned()),
                    other => Err(format!("it answered {other:?}")),
                };
                (ended, length)
            });
            Ok::<_, &str>(found)
        })?;
        ended.map_err(|why| self.link.server.failed(action, why))
    }

    fn line(&mut self, action: &str) -> Result<String, SystemError> {
        self.link.reply(action, |bytes| {
            let line = meta::line(bytes)?;
            let text = |line: &[u8]| (String::from_utf8_lossy(line).into_owned(), line.len() + 2);
            Ok::<_, &str>(line.map(text))
        })
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
