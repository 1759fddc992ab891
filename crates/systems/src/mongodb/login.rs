//! From a socket to a logged-in connection: `hello`, then SCRAM where a user is given.

use std::{io::ErrorKind, time::Duration};

use assay_model::Endpoint;
use base64::{Engine, engine::general_purpose::STANDARD};

use super::{
    Flavour,
    bson::Value,
    connection::{Body, Connection},
    error::{AUTHENTICATION_FAILED, COMMAND_NOT_FOUND, Trouble, UNAUTHORIZED},
    scram::{Exchange, Mechanism},
};
use crate::{SystemError, link::Server, socket::Socket};

/// MongoDB 4.4, the oldest that is spoken to.
const OLDEST_WIRE: i64 = 9;
/// Random bytes of the client's number.
const NONCE_BYTES: usize = 24;

/// Connects and logs in, each step within `timeout`.
pub(super) fn open(
    flavour: &Flavour,
    endpoint: &Endpoint,
    timeout: Duration,
) -> Result<Connection, SystemError> {
    let server = Server { name: flavour.name, endpoint: endpoint.clone(), timeout };
    let unreachable = |why: String| server.unreachable(why);
    let socket = Socket::connect(server.address(), timeout)
        .map_err(|error| unreachable(error.to_string()))?;
    let mut connection = Connection::new(socket);
    match log_in(&mut connection, endpoint) {
        Ok(()) => Ok(connection),
        Err(Failure::Login(why)) => Err(server.login_refused(why)),
        Err(Failure::Unfit(why)) => Err(unreachable(why)),
        Err(Failure::Trouble(Trouble::Protocol(why))) => Err(unreachable(format!(
            "what listens there does not answer as {} does ({why}); check the address",
            flavour.product
        ))),
        Err(Failure::Trouble(Trouble::Connection(error)))
            if error.kind() == ErrorKind::UnexpectedEof =>
        {
            Err(unreachable(format!(
                "{error} before the log-in was over. So does a server that has as many \
                 connections as it takes (raise net.maxIncomingConnections, or use fewer clients), \
                 and one that wants TLS, which Assay does not speak (connect over the Unix socket, \
                 or set net.tls.mode=allowTLS)"
            )))
        }
        Err(Failure::Trouble(trouble)) => Err(unreachable(trouble.to_string())),
    }
}

enum Failure {
    Login(String),
    Unfit(String),
    Trouble(Trouble),
}

impl<T: Into<Trouble>> From<T> for Failure {
    fn from(trouble: T) -> Failure {
        Failure::Trouble(trouble.into())
    }
}

/// The database that a user is looked for in.
fn login_database(endpoint: &Endpoint) -> &str {
    let named = endpoint.login_database.as_deref().or(endpoint.database.as_deref());
    named.unwrap_or("admin")
}

fn log_in(connection: &mut Connection, endpoint: &Endpoint) -> Result<(), Failure> {
    let hello = hello(connection, endpoint)?;
    check(&hello)?;
    let Some(user) = &endpoint.user else { return Ok(()) };
    let password = endpoint.password.as_ref().ok_or_else(|| {
        Failure::Login(format!(
            "no password was given for '{user}': put it in the URL, as in \
             mongodb://{user}:PASSWORD@HOST:27017"
        ))
    })?;
    let mechanism = mechanism(&hello, user)?;
    scram(connection, login_database(endpoint), mechanism, user, password.reveal())
}

/// Says who is there, and asks the server the same.
fn hello(connection: &mut Connection, endpoint: &Endpoint) -> Result<Body, Failure> {
    let database = login_database(endpoint);
    let asked = connection.run("admin", |command| {
        command.int32("hello", 1);
        command.document("client", |client| {
            client.document("application", |it| it.string("name", b"assay"));
            client.document("driver", |driver| {
                driver.string("name", b"assay");
                driver.string("version", env!("CARGO_PKG_VERSION").as_bytes());
            });
            client.document("os", |os| os.string("type", b"Linux"));
        });
        if let Some(user) = &endpoint.user {
            let name = format!("{database}.{user}");
            command.string("saslSupportedMechs", name.as_bytes());
        }
    });
    match asked {
        Err(Trouble::Server(error)) if error.code == COMMAND_NOT_FOUND => Err(Failure::Unfit(
            "it is older than MongoDB 4.4.2, which Assay speaks to, and later versions".into(),
        )),
        other => Ok(other?),
    }
}

/// Refuses a server that cannot be measured.
fn check(hello: &Body) -> Result<(), Failure> {
    let wire = hello.whole(&["maxWireVersion"])?.unwrap_or(0);
    if wire < OLDEST_WIRE {
        return Err(Failure::Unfit(format!(
            "it speaks wire version {wire}, and Assay {OLDEST_WIRE} (MongoDB 4.4) and later: use a \
             newer server"
        )));
    }
    if hello.whole(&["isWritablePrimary"])? != Some(1) {
        let primary = hello.text(&["primary"])?;
        return Err(Failure::Unfit(format!(
            "it takes no writes, as a replica set's secondary does: name the primary{}",
            primary.map(|at| format!(", {at}")).unwrap_or_default()
        )));
    }
    Ok(())
}

/// The mechanism for this user, the strongest that the server has for it and that is spoken here. A
/// server that does not tell may have no such user, which the login will show.
fn mechanism(hello: &Body, user: &str) -> Result<Mechanism, Failure> {
    let Some(mut offered) = hello.find(&["saslSupportedMechs"])?.and_then(Value::inner) else {
        return Ok(Mechanism::Sha256);
    };
    let mut names = Vec::new();
    while let Some((_, name)) = offered.next()? {
        names.extend(name.text());
    }
    let spoken = [Mechanism::Sha256, Mechanism::Sha1];
    let found = spoken.into_iter().find(|known| names.iter().any(|name| name == known.name()));
    found.ok_or_else(|| {
        Failure::Login(format!(
            "it asks '{user}' for {}, which Assay does not speak: give the user SCRAM-SHA-256 or \
             SCRAM-SHA-1",
            if names.is_empty() { "no mechanism".to_owned() } else { names.join(" or ") }
        ))
    })
}

fn scram(
    connection: &mut Connection,
    database: &str,
    mechanism: Mechanism,
    user: &str,
    password: &str,
) -> Result<(), Failure> {
    let mut random = [0; NONCE_BYTES];
    getrandom::fill(&mut random)
        .map_err(|error| Failure::Unfit(format!("no random number: {error}")))?;
    let login = |error: super::scram::ScramError| Failure::Login(error.to_string());
    let mut exchange =
        Exchange::new(mechanism, user, password, &STANDARD.encode(random)).map_err(login)?;
    let refused = |trouble: Trouble| match trouble {
        Trouble::Server(error) if [AUTHENTICATION_FAILED, UNAUTHORIZED].contains(&error.code) => {
            Failure::Login(format!(
                "{error}. Check the user, the password, and the database that the user is in \
                 ('{database}'; authSource=NAME in the URL names another)"
            ))
        }
        other => Failure::Trouble(other),
    };
    let reply = connection
        .run(database, |command| {
            command.int32("saslStart", 1);
            command.string("mechanism", mechanism.name().as_bytes());
            command.binary("payload", exchange.first().as_bytes());
            command.document("options", |options| options.boolean("skipEmptyExchange", true));
        })
        .map_err(refused)?;
    let proof = exchange.prove(&payload(&reply)?).map_err(login)?;
    let mut reply = proceed(connection, database, &reply, proof.as_bytes()).map_err(refused)?;
    exchange.check(&payload(&reply)?).map_err(login)?;
    if reply.whole(&["done"])? != Some(1) {
        // A server that does not skip the empty exchange wants it.
        reply = proceed(connection, database, &reply, b"").map_err(refused)?;
        if reply.whole(&["done"])? != Some(1) {
            return Err(Trouble::Protocol("a login that does not end".into()).into());
        }
    }
    Ok(())
}

/// Sends the next message of the exchange.
fn proceed(
    connection: &mut Connection,
    database: &str,
    last: &Body,
    payload: &[u8],
) -> Result<Body, Trouble> {
    let conversation = last.whole(&["conversationId"])?.unwrap_or(1);
    connection.run(database, |command| {
        command.int32("saslContinue", 1);
        command.int32("conversationId", conversation as i32);
        command.binary("payload", payload);
    })
}

fn payload(reply: &Body) -> Result<Vec<u8>, Failure> {
    match reply.find(&["payload"])?.and_then(Value::bytes) {
        Some(payload) => Ok(payload.to_vec()),
        None => Err(Trouble::Protocol("a step of the login without its payload".into()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mongodb::{bson::Writer, connection::body};

    fn unfit(fill: impl FnOnce(&mut Writer<'_>)) -> String {
        match check(&body(fill)) {
            Err(Failure::Unfit(why)) => why,
            _ => panic!("it is fit"),
        }
    }

    #[test]
    fn an_old_server_and_a_secondary_are_refused() {
        let old = unfit(|hello| {
            hello.boolean("isWritablePrimary", true);
            hello.int32("maxWireVersion", 8);
        });
        assert!(old.contains("MongoDB 4.4"), "{old}");
        let secondary = unfit(|hello| {
            hello.boolean("isWritablePrimary", false);
            hello.string("primary", b"other:27017");
            hello.int32("maxWireVersion", 21);
        });
        assert!(secondary.ends_with("name the primary, other:27017"), "{secondary}");
    }

    #[test]
    fn the_strongest_mechanism_that_is_offered_is_taken() {
        let offered = |names: &[&str]| {
            body(|hello| {
                hello.array("saslSupportedMechs", |array| {
                    for (at, name) in names.iter().enumerate() {
                        array.string(&at.to_string(), name.as_bytes());
                    }
                });
            })
        };
        for (names, expected) in [
            (&["SCRAM-SHA-1", "SCRAM-SHA-256"][..], Mechanism::Sha256),
            (&["SCRAM-SHA-1"], Mechanism::Sha1),
        ] {
            assert_eq!(mechanism(&offered(names), "u").ok(), Some(expected));
        }
        assert_eq!(mechanism(&body(|_| {}), "u").ok(), Some(Mechanism::Sha256));
        let Err(Failure::Login(why)) = mechanism(&offered(&["PLAIN"]), "u") else {
            panic!("PLAIN is not spoken")
        };
        assert!(why.contains("PLAIN") && why.contains("SCRAM-SHA-256"), "{why}");
    }
}
