//! Connecting and logging in: trust, cleartext password, MD5 and SCRAM-SHA-256, without TLS.

use std::{path::Path, time::Duration};

use assay_model::{Address, Endpoint};
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::{
    authentication::{
        md5_hash,
        sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256},
    },
    message::{
        backend::{AuthenticationSaslBody, Message},
        frontend,
    },
};

use super::{
    connection::Connection,
    error::{ServerError, Trouble},
    flavour::Flavour,
};
use crate::{SystemError, socket::Socket};

/// Connects and logs in, each step within `timeout`.
pub(super) fn open(
    flavour: &Flavour,
    endpoint: &Endpoint,
    timeout: Duration,
) -> Result<Connection, SystemError> {
    let unreachable = |why: String| SystemError::Unreachable {
        system: flavour.name.into(),
        address: endpoint.address.to_string(),
        why,
    };
    let refused = |why: String| SystemError::LoginRefused {
        system: flavour.name.into(),
        address: endpoint.address.to_string(),
        why,
    };
    let socket = Socket::connect(&socket_address(flavour, &endpoint.address), timeout)
        .map_err(|error| unreachable(error.to_string()))?;
    let mut connection = Connection::new(socket);
    log_in(&mut connection, flavour, endpoint).map_err(|failure| match failure {
        Failure::Login(why) => refused(why),
        Failure::Trouble(Trouble::Server(error)) => match error.code.as_str() {
            // too_many_connections
            "53300" => unreachable(format!(
                "{error}. Raise max_connections (or the role's or database's CONNECTION LIMIT), \
                 or use fewer clients"
            )),
            code if flavour.refusals.iter().any(|start| code.starts_with(start)) => {
                refused(explain(&error))
            }
            _ => unreachable(error.to_string()),
        },
        Failure::Trouble(Trouble::Protocol(why)) => unreachable(format!(
            "what listens there does not answer as {} does ({why}); check the address",
            flavour.product
        )),
        Failure::Trouble(trouble) => unreachable(trouble.to_string()),
    })?;
    connection.logged_in();
    Ok(connection)
}

/// A refusal in the server's words, and what to do where these do not say it.
fn explain(error: &ServerError) -> String {
    let without_tls = ["no encryption", "SSL off", "SSL required"]
        .iter()
        .any(|part| error.message.contains(part));
    if without_tls {
        format!(
            "{error}. Assay does not speak TLS: allow this client with a 'host' line in \
             pg_hba.conf, or connect over the Unix socket"
        )
    } else {
        error.to_string()
    }
}

/// A Unix socket may be given as libpq takes it, by the folder it is in.
fn socket_address(flavour: &Flavour, address: &Address) -> Address {
    match address {
        Address::Unix(path) if Path::is_dir(path) => {
            Address::Unix(path.join(format!(".s.PGSQL.{}", flavour.port)))
        }
        other => other.clone(),
    }
}

enum Failure {
    Login(String),
    Trouble(Trouble),
}

impl<T: Into<Trouble>> From<T> for Failure {
    fn from(trouble: T) -> Failure {
        Failure::Trouble(trouble.into())
    }
}

fn log_in(
    connection: &mut Connection,
    flavour: &Flavour,
    endpoint: &Endpoint,
) -> Result<(), Failure> {
    let user = endpoint.user.as_deref().unwrap_or(flavour.default_user);
    let database = endpoint.database.as_deref().or(flavour.default_database);
    let parameters = [
        Some(("user", user)),
        database.map(|database| ("database", database)),
        Some(("application_name", "assay")),
        Some(("client_encoding", "UTF8")),
    ];
    let parameters = || parameters.into_iter().flatten();
    if parameters().any(|(_, value)| value.contains('\0')) {
        return Err(Failure::Login("a user or database name cannot hold a NUL byte".into()));
    }
    let mut out = BytesMut::new();
    frontend::startup_message(parameters(), &mut out)?;
    connection.send(&out)?;
    let password = || match &endpoint.password {
        Some(password) => Ok(password.reveal().as_bytes()),
        None => Err(Failure::Login(format!(
            "it asks for the password of '{user}' and none was given: put it in the URL, as in \
             {}://{user}:PASSWORD@host:{}/database",
            flavour.name, flavour.port
        ))),
    };
    loop {
        let method = match connection.receive()? {
            Message::AuthenticationOk => break,
            Message::AuthenticationCleartextPassword => {
                send_password(connection, password()?)?;
                continue;
            }
            Message::AuthenticationMd5Password(body) => {
                let hash = md5_hash(user.as_bytes(), password()?, body.salt());
                send_password(connection, hash.as_bytes())?;
                continue;
            }
            Message::AuthenticationSasl(body) => {
                scram(connection, &body, password()?)?;
                continue;
            }
            Message::ErrorResponse(body) => {
                return Err(Trouble::Server(ServerError::from_body(&body)?).into());
            }
            Message::AuthenticationGss => "GSSAPI",
            Message::AuthenticationKerberosV5 => "Kerberos 5",
            Message::AuthenticationSspi => "SSPI",
            Message::AuthenticationScmCredential => "SCM credentials",
            _ => return Err(unexpected()),
        };
        return Err(Failure::Login(format!(
            "it asks for {method}, which Assay does not speak: use scram-sha-256, md5, password \
             or trust for this client in pg_hba.conf"
        )));
    }
    connection.until_ready(|message| match message {
        Message::BackendKeyData(_) => Ok(()),
        _ => Err(std::io::Error::other("unexpected message after the log-in")),
    })?;
    Ok(())
}

fn unexpected() -> Failure {
    Trouble::Protocol("unexpected message during the log-in".into()).into()
}

fn send_password(connection: &mut Connection, password: &[u8]) -> Result<(), Failure> {
    let mut out = BytesMut::new();
    frontend::password_message(password, &mut out)
        .map_err(|_| Failure::Login("the password holds a NUL byte".into()))?;
    Ok(connection.send(&out)?)
}

/// SCRAM-SHA-256, in which the server proves as well that it knows the password.
fn scram(
    connection: &mut Connection,
    offer: &AuthenticationSaslBody,
    password: &[u8],
) -> Result<(), Failure> {
    let mut offered = offer.mechanisms();
    let mut found = false;
    while let Some(mechanism) = offered.next()? {
        found |= mechanism == SCRAM_SHA_256;
    }
    if !found {
        return Err(Failure::Login(
            "it offers no SASL mechanism that Assay speaks; SCRAM-SHA-256 would do".into(),
        ));
    }
    let mut exchange = ScramSha256::new(password, ChannelBinding::unsupported());
    let mut out = BytesMut::new();
    frontend::sasl_initial_response(SCRAM_SHA_256, exchange.message(), &mut out)?;
    connection.send(&out)?;
    let body = match connection.receive()? {
        Message::AuthenticationSaslContinue(body) => body,
        other => return Err(refusal(other)),
    };
    exchange.update(body.data())?;
    out.clear();
    frontend::sasl_response(exchange.message(), &mut out)?;
    connection.send(&out)?;
    let body = match connection.receive()? {
        Message::AuthenticationSaslFinal(body) => body,
        other => return Err(refusal(other)),
    };
    exchange.finish(body.data()).map_err(|error| {
        Failure::Login(format!("the server did not prove that it knows the password ({error})"))
    })
}

fn refusal(message: Message) -> Failure {
    match message {
        Message::ErrorResponse(body) => match ServerError::from_body(&body) {
            Ok(error) => Trouble::Server(error).into(),
            Err(error) => error.into(),
        },
        _ => unexpected(),
    }
}
