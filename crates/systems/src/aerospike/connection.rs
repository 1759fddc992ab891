//! A connection for set-up, loading and checks: it waits for each reply.

use std::{io::Write, time::Duration};

use super::{
    DRIVER, Server,
    message::{self, Reply},
};
use crate::{
    SystemError,
    incoming::{Incoming, SET_UP_TIMEOUT},
    socket::Socket,
};

/// A connection on which the server has answered.
pub(super) struct Connection<'a> {
    server: &'a Server,
    socket: Socket,
    incoming: Incoming,
}

impl<'a> Connection<'a> {
    /// Connects, and refuses what this driver cannot speak to.
    pub(super) fn open(server: &'a Server) -> Result<Connection<'a>, SystemError> {
        let refused = |why: &str| SystemError::LoginRefused {
            system: DRIVER.name.into(),
            address: server.endpoint.address.to_string(),
            why: why.into(),
        };
        if server.endpoint.user.is_some() || server.endpoint.password.is_some() {
            return Err(refused(
                "only Aerospike's Enterprise Edition has logins, and Assay does not speak them: \
                 leave user and password out of the URL, and use a server without security",
            ));
        }
        let socket = Socket::connect(&server.endpoint.address, server.timeout)
            .map_err(|error| server.unreachable(error.to_string()))?;
        let mut connection = Connection { server, socket, incoming: Incoming::new() };
        let told = connection.info("answer what it is", "statistics");
        let told = told.map_err(|error| error.unanswered(&server.endpoint.address))?;
        if told.to_ascii_lowercase().contains("not authenticated") {
            return Err(refused(
                "it asks for a login, which Assay does not speak: use a server \
                                without security",
            ));
        }
        match pair(&told, "cluster_size") {
            Some("1") => {}
            Some(nodes) => {
                return Err(server.failed(
                    "open a connection",
                    format!(
                        "it is one of {nodes} nodes of a cluster, and each record is asked for at \
                         the node that has it, which this driver does not do: give the address of \
                         a node that is alone"
                    ),
                ));
            }
            None => return Err(server.unreachable(format!("it answered '{told}'"))),
        }
        connection.limit(server.timeout.max(SET_UP_TIMEOUT))?;
        Ok(connection)
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

    /// Waits for one reply and hands it to `take`.
    pub(super) fn reply<T>(
        &mut self,
        action: &str,
        take: impl FnOnce(Reply<'_>) -> T,
    ) -> Result<T, SystemError> {
        loop {
            let found = message::reply(self.incoming.bytes())
                .map_err(|why| self.server.failed(action, format!("it sent {why}")))?;
            if let Some((reply, length)) = found {
                let taken = take(reply);
                self.incoming.consume(length);
                return Ok(taken);
            }
            self.incoming
                .fill(&mut self.socket)
                .map_err(|error| self.server.failed(action, error.to_string()))?;
        }
    }

    /// What the server answers to an info command.
    pub(super) fn info(&mut self, action: &str, command: &str) -> Result<String, SystemError> {
        let mut request = Vec::new();
        message::info(&format!("{command}\n"), &mut request);
        self.send(action, &request)?;
        let answer = self.reply(action, |reply| match reply {
            Reply::Info(text) => Some(String::from_utf8_lossy(text).into_owned()),
            Reply::Record { .. } => None,
        })?;
        let answer = answer.ok_or_else(|| {
            self.server.failed(action, "it sent a reply that nothing asked for".into())
        })?;
        let answer = answer.trim_end();
        Ok(answer.split_once('\t').map_or(answer, |(_, value)| value).to_owned())
    }
}

/// The value of `name` in `name=value;…` or `name=value:…`.
pub(super) fn pair<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.split([';', ':']).find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}
