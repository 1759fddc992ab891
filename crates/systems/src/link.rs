//! Where a server is, and a connection to it that waits for each reply: for set-up, loading and checks.

use std::{borrow::Cow, fmt::Display, io::Write, time::Duration};

use assay_model::{Address, Endpoint};

use crate::{
    SystemError,
    incoming::{Incoming, SET_UP_TIMEOUT},
    socket::Socket,
};

/// Where a server is, and what its driver is called.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) name: &'static str,
    pub(crate) endpoint: Endpoint,
    /// The longest an operation may take.
    pub(crate) timeout: Duration,
}

impl Server {
    pub(crate) fn address(&self) -> &Address {
        &self.endpoint.address
    }

    pub(crate) fn failed(&self, action: &str, why: impl Display) -> SystemError {
        let why = why.to_string();
        SystemError::Failed { system: self.name.into(), action: action.into(), why }
    }

    pub(crate) fn unreachable(&self, why: impl Display) -> SystemError {
        let (system, address) = (self.name.into(), self.address().to_string());
        SystemError::Unreachable { system, address, why: why.to_string() }
    }

    pub(crate) fn login_refused(&self, why: impl Display) -> SystemError {
        let (system, address) = (self.name.into(), self.address().to_string());
        SystemError::LoginRefused { system, address, why: why.to_string() }
    }
}

impl<'a> From<&'a Server> for Cow<'a, Server> {
    fn from(server: &'a Server) -> Cow<'a, Server> {
        Cow::Borrowed(server)
    }
}

impl From<Server> for Cow<'_, Server> {
    fn from(server: Server) -> Self {
        Cow::Owned(server)
    }
}

/// A connection to a server.
pub(crate) struct Link<'a> {
    pub(crate) server: Cow<'a, Server>,
    socket: Socket,
    incoming: Incoming,
}

impl<'a> Link<'a> {
    /// Connects. Until [`be_patient`](Link::be_patient), each step may take as long as an operation.
    pub(crate) fn open(server: impl Into<Cow<'a, Server>>) -> Result<Link<'a>, SystemError> {
        let server = server.into();
        let socket = Socket::connect(server.address(), server.timeout)
            .map_err(|error| server.unreachable(error))?;
        Ok(Link { server, socket, incoming: Incoming::new() })
    }

    /// Lets each step take as long as set-up may.
    pub(crate) fn be_patient(&self) -> Result<(), SystemError> {
        self.limit(self.server.timeout.max(SET_UP_TIMEOUT))
    }

    /// The socket alone, for a client, with an operation's time limit.
    pub(crate) fn into_socket(self) -> Result<Socket, SystemError> {
        self.limit(self.server.timeout)?;
        Ok(self.socket)
    }

    fn limit(&self, timeout: Duration) -> Result<(), SystemError> {
        let limited = self.socket.set_timeout(Some(timeout));
        limited.map_err(|error| self.server.unreachable(error))
    }

    /// Sends requests.
    pub(crate) fn send(&mut self, action: &str, requests: &[u8]) -> Result<(), SystemError> {
        self.socket.write_all(requests).map_err(|error| self.server.failed(action, error))
    }

    /// Waits for one reply. `parse` finds it, and its length, at the beginning of what has come, if all of
    /// it is there; else it says what came instead.
    pub(crate) fn reply<T, E: Display>(
        &mut self,
        action: &str,
        mut parse: impl FnMut(&[u8]) -> Result<Option<(T, usize)>, E>,
    ) -> Result<T, SystemError> {
        loop {
            let found = parse(self.incoming.bytes())
                .map_err(|why| self.server.failed(action, format!("it sent {why}")))?;
            if let Some((reply, length)) = found {
                self.incoming.consume(length);
                return Ok(reply);
            }
            self.incoming
                .fill(&mut self.socket)
                .map_err(|error| self.server.failed(action, error))?;
        }
    }
}
