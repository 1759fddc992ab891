//! A connection for set-up, loading and checks: it waits for each reply.

use std::{io::Write, time::Duration};

use super::{DRIVER, Server, refusal, table::Table};
use crate::{
    SystemError,
    http::{self, Reply},
    incoming::{Incoming, SET_UP_TIMEOUT},
    socket::Socket,
};

/// A connection on which the server has answered.
pub(super) struct Connection<'a> {
    server: &'a Server,
    table: &'a Table,
    socket: Socket,
    incoming: Incoming,
    request: Vec<u8>,
}

/// A reply of its own.
pub(super) struct Answered {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

impl<'a> Connection<'a> {
    /// Connects and pings.
    pub(super) fn open(
        server: &'a Server,
        table: &'a Table,
    ) -> Result<Connection<'a>, SystemError> {
        let refused = |why: String| SystemError::LoginRefused {
            system: DRIVER.name.into(),
            address: server.endpoint.address.to_string(),
            why,
        };
        if server.endpoint.user.is_some() || server.endpoint.password.is_some() {
            let why = "Riak takes passwords over TLS only, which Assay does not speak: leave user \
                       and password out of the URL, and use a cluster whose security is off";
            return Err(refused(why.into()));
        }
        let socket = Socket::connect(&server.endpoint.address, server.timeout)
            .map_err(|error| server.unreachable(error.to_string()))?;
        let incoming = Incoming::new();
        let mut connection = Connection { server, table, socket, incoming, request: Vec::new() };
        let pinged = connection.get("answer a ping", "/ping");
        let answered = pinged.map_err(|error| error.unanswered(&server.endpoint.address))?;
        match answered.status {
            200 => {}
            status @ (401 | 403 | 426) => {
                return Err(refused(format!(
                    "{}; Assay speaks no TLS: use a cluster whose security is off",
                    refusal(status, &answered.body)
                )));
            }
            status => {
                let why = refusal(status, &answered.body);
                return Err(server.unreachable(format!("it answered a ping with {why}")));
            }
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
        take: impl FnOnce(&Reply<'_>) -> T,
    ) -> Result<T, SystemError> {
        loop {
            let found = http::reply(self.incoming.bytes())
                .map_err(|why| self.server.failed(action, format!("it sent {why}")))?;
            if let Some((reply, length)) = found {
                let taken = take(&reply);
                self.incoming.consume(length);
                return Ok(taken);
            }
            self.incoming
                .fill(&mut self.socket)
                .map_err(|error| self.server.failed(action, error.to_string()))?;
        }
    }

    /// Carries out a request without a body.
    pub(super) fn get(&mut self, action: &str, target: &str) -> Result<Answered, SystemError> {
        self.ask(action, b"GET", target)
    }

    /// Carries out a request without a body.
    pub(super) fn ask(
        &mut self,
        action: &str,
        method: &[u8],
        target: &str,
    ) -> Result<Answered, SystemError> {
        let mut request = std::mem::take(&mut self.request);
        request.clear();
        self.table.request(method, |out| out.extend_from_slice(target.as_bytes()), &mut request);
        let sent = self.send(action, &request);
        self.request = request;
        sent?;
        self.answered(action)
    }

    /// Sets what `target` names to some JSON.
    pub(super) fn put(
        &mut self,
        action: &str,
        target: &str,
        json: &str,
    ) -> Result<Answered, SystemError> {
        let host = &self.server.endpoint.address;
        let request = format!(
            "PUT {target} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{json}",
            json.len()
        );
        self.send(action, request.as_bytes())?;
        self.answered(action)
    }

    fn answered(&mut self, action: &str) -> Result<Answered, SystemError> {
        self.reply(action, |reply| Answered {
            status: reply.status,
            body: reply.body(&mut Vec::new()).to_vec(),
        })
    }

    /// Sends a request for each of `keys`, some at a time, and hands the status of each to `each`.
    pub(super) fn for_each(
        &mut self,
        action: &str,
        method: &[u8],
        keys: &super::page::Strings,
        mut each: impl FnMut(u16),
    ) -> Result<(), SystemError> {
        const AT_A_TIME: usize = 64;
        for start in (0..keys.len()).step_by(AT_A_TIME) {
            let end = keys.len().min(start + AT_A_TIME);
            let mut requests = Vec::new();
            for at in start..end {
                self.table.of_record(method, keys.get(at), &mut requests);
            }
            self.send(action, &requests)?;
            for _ in start..end {
                let (status, why) = self.reply(action, |reply| {
                    (reply.status, refusal(reply.status, reply.body(&mut Vec::new())))
                })?;
                if !matches!(status, 200 | 204 | 300 | 404) {
                    return Err(self.server.failed(action, why));
                }
                each(status);
            }
        }
        Ok(())
    }
}
