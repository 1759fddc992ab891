//! A connection for set-up, loading and checks: it waits for each reply.

use super::{
    Server,
    message::{self, Reply},
};
use crate::{SystemError, link::Link, socket::Socket};

/// A connection on which the server has answered.
pub(super) struct Connection<'a> {
    link: Link<'a>,
}

impl<'a> Connection<'a> {
    /// Connects, and refuses what this driver cannot speak to.
    pub(super) fn open(server: &'a Server) -> Result<Connection<'a>, SystemError> {
        if server.endpoint.user.is_some() || server.endpoint.password.is_some() {
            return Err(server.login_refused(
                "only Aerospike's Enterprise Edition has logins, and Assay does not speak them: \
                 leave user and password out of the URL, and use a server without security",
            ));
        }
        let mut connection = Connection { link: Link::open(server)? };
        let told = connection.info("answer what it is", "statistics");
        let told = told.map_err(|error| error.unanswered(&server.endpoint.address))?;
        if told.to_ascii_lowercase().contains("not authenticated") {
            return Err(server.login_refused(
                "it asks for a login, which Assay does not speak: use a server without security",
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
        take: impl Fn(Reply<'_>) -> T,
    ) -> Result<T, SystemError> {
        self.link.reply(action, |bytes| {
            Ok::<_, &str>(message::reply(bytes)?.map(|(reply, length)| (take(reply), length)))
        })
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
            self.link.server.failed(action, "it sent a reply that nothing asked for")
        })?;
        let answer = answer.trim_end();
        Ok(answer.split_once('\t').map_or(answer, |(_, value)| value).to_owned())
    }
}

/// The value of `name` in `name=value;…` or `name=value:…`.
pub(super) fn pair<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.split([';', ':']).find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}
