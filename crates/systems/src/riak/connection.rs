//! A connection for set-up, loading and checks: it waits for each reply.

use super::{Server, refusal, table::Table};
use crate::{
    SystemError,
    http::{self, Reply},
    link::Link,
    socket::Socket,
};

/// A connection on which the server has answered.
pub(super) struct Connection<'a> {
    link: Link<'a>,
    table: &'a Table,
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
        if server.endpoint.user.is_some() || server.endpoint.password.is_some() {
            let why = "Riak takes passwords over TLS only, which Assay does not speak: leave user \
                       and password out of the URL, and use a cluster whose security is off";
            return Err(server.login_refused(why));
        }
        let link = Link::open(server)?;
        let mut connection = Connection { link, table, request: Vec::new() };
        let pinged = connection.get("answer a ping", "/ping");
        let answered = pinged.map_err(|error| error.unanswered(&server.endpoint.address))?;
        match answered.status {
            200 => {}
            status @ (401 | 403 | 426) => {
                return Err(server.login_refused(format!(
                    "{}; Assay speaks no TLS: use a cluster whose security is off",
                    refusal(status, &answered.body)
                )));
            }
            status => {
                let why = refusal(status, &answered.body);
                return Err(server.unreachable(format!("it answered a ping with {why}")));
            }
        }
        connection.link.be_patient()?;
        Ok(connection)
    }

    /// The socket alone, for a client, with an operation's time limit.
    pub(super) fn into_socket(self) -> Result<Socket, SystemError> {
        self.link.into_socket()
    }

    /// Sends requests.
    pub(super) fn send(&mut self, action: &str, requests: &[u8]) -> Result<(), SystemError> {
        self.link.send(action, requests)
    }

    /// Waits for one reply and hands it to `take`.
    pub(super) fn reply<T>(
        &mut self,
        action: &str,
        take: impl Fn(&Reply<'_>) -> T,
    ) -> Result<T, SystemError> {
        self.link.reply(action, |bytes| {
            Ok::<_, &str>(http::reply(bytes)?.map(|(reply, length)| (take(&reply), length)))
        })
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
        let host = self.link.server.address();
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
                    return Err(self.link.server.failed(action, why));
                }
                each(status);
            }
        }
        Ok(())
    }
}
