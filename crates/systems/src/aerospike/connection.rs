//! A connection for set-up, loading and checks: it waits for each reply.

use std::borrow::Cow;

use super::{
    Server,
    message::{self, Reply},
};
use crate::{SystemError, link::Link, socket::Socket};

/// A connection on which the server has answered.
pub(super) struct Connection<'a> {
    link: Link<'a>,
    /// How many nodes the server is one of.
    pub(super) nodes: usize,
}

impl<'a> Connection<'a> {
    /// Connects, and refuses what this driver cannot speak to.
    pub(super) fn open(server: &'a Server) -> Result<Connection<'a>, SystemError> {
        Connection::to(Cow::Borrowed(server))
    }

    /// The same to a server that nobody keeps.
    pub(super) fn open_owned(server: Server) -> Result<Connection<'static>, SystemError> {
        Connection::to(Cow::Owned(server))
    }

    fn to(server: Cow<'a, Server>) -> Result<Connection<'a>, SystemError> {
        if server.endpoint.user.is_some() || server.endpoint.password.is_some() {
            return Err(server.login_refused(
                "only Aerospike's Enterprise Edition has logins, and Assay does not speak them: \
                 leave user and password out of the URL, and use a server without security",
            ));
        }
        let mut connection = Connection { link: Link::open(server)?, nodes: 1 };
        let told = connection.info("answer what it is", "statistics");
        let server = &connection.link.server;
        let told = told.map_err(|error| error.unanswered(&server.endpoint.address))?;
        if told.to_ascii_lowercase().contains("not authenticated") {
            return Err(server.login_refused(
                "it asks for a login, which Assay does not speak: use a server without security",
            ));
        }
        let size = pair(&told, "cluster_size").and_then(|size| size.parse().ok());
        connection.nodes =
            size.ok_or_else(|| server.unreachable(format!("it answered '{told}'")))?;
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
        take: impl Fn(Reply<'_>) -> Result<T, &'static str>,
    ) -> Result<T, SystemError> {
        self.link.reply(action, |bytes| {
            let Some((reply, length)) = message::reply(bytes)? else { return Ok(None) };
            Ok::<_, &str>(Some((take(reply)?, length)))
        })
    }

    /// What the server answers to an info command.
    pub(super) fn info(&mut self, action: &str, command: &str) -> Result<String, SystemError> {
        let mut request = Vec::new();
        message::info(&format!("{command}\n"), &mut request);
        self.send(action, &request)?;
        let answer = self.reply(action, |reply| match reply {
            Reply::Info(text) => Ok(String::from_utf8_lossy(text).into_owned()),
            Reply::Messages(_) => Err("a reply that nothing asked for"),
        })?;
        let answer = answer.trim_end();
        Ok(answer.split_once('\t').map_or(answer, |(_, value)| value).to_owned())
    }
}

/// The value of `name` in `name=value;…` or `name=value:…`.
pub(super) fn pair<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.split([';', ':']).find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}
