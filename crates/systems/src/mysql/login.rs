//! Connecting and logging in by handshake version 10, without TLS: `mysql_native_password` and
//! `caching_sha2_password`.
//!
//! The latter asks now and then for the whole password, which goes through a Unix socket only.

use std::time::Duration;

use assay_model::{Address, Endpoint};

use super::{
    auth::Method,
    connection::{Changed, Connection},
    error::{ServerError, Trouble},
    flavour::Flavour,
    packet::{Reader, write_string},
};
use crate::{SystemError, link::Server, socket::Socket};

/// The user of an endpoint that names none.
const DEFAULT_USER: &str = "root";

/// What this client can do, in the protocol's bits: matched rows counted instead of changed ones,
/// long flags, protocol 4.1, transactions, the password methods of 4.1 and named ones.
const CAPABILITIES: u32 = 0x2 | 0x4 | 0x200 | 0x2000 | 0x8000 | 0x8_0000;
/// It speaks to MySQL, which has no extended capabilities.
const PLAIN: u32 = 0x1;
/// Of MariaDB's extended capabilities: the columns of a statement are described when it is prepared
/// and not again with each result.
const DESCRIBED_ONCE: u32 = 0x10;
/// What a server must be able to do: protocol 4.1 with its password methods.
const REQUIRED: u32 = 0x200 | 0x8000;
/// A database is named.
const WITH_DATABASE: u32 = 0x8;
/// The greeting names a method.
const NAMED_METHODS: u32 = 0x8_0000;
/// `utf8mb4_general_ci`, which every server from 5.5.3 on has.
const COLLATION: u8 = 45;
/// The longest packet that the client takes.
const LONGEST_PACKET: u32 = 1 << 30;

/// Connects and logs in, each step within `timeout`.
pub(super) fn open(
    flavour: &Flavour,
    endpoint: &Endpoint,
    timeout: Duration,
) -> Result<Connection, SystemError> {
    let server = Server { name: flavour.name, endpoint: endpoint.clone(), timeout };
    let unreachable = |why: String| server.unreachable(why);
    let refused = |why: String| server.login_refused(why);
    let socket = Socket::connect(server.address(), timeout)
        .map_err(|error| unreachable(error.to_string()))?;
    let mut connection = Connection::new(socket);
    log_in(&mut connection, flavour, endpoint).map_err(|failure| match failure {
        Failure::Login(why) => refused(why),
        Failure::Trouble(Trouble::Server(error)) => match error.code {
            // too many connections, of all and of one user
            1040 | 1203 | 1226 => unreachable(format!(
                "{error}. Raise max_connections (or the user's own limit), or use fewer clients"
            )),
            // access denied, unknown database, host not allowed, methods that do not meet, expired
            // passwords, locked accounts, insecure transport
            1044 | 1045 | 1049 | 1130 | 1251 | 1275 | 1524 | 1698 | 1862 | 3118 | 3159 | 4131
            | 4151 => refused(explain(&error, &endpoint.address)),
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
fn explain(error: &ServerError, address: &Address) -> String {
    match (error.code, address) {
        (3159, _) => {
            format!("{error}. Assay does not speak TLS: {WITHOUT_TLS}")
        }
        // MariaDB says no more if it is TLS that is wanting.
        (1045, Address::Tcp { .. }) => format!(
            "{error}. Check the user and the password. So are also refused those who do not speak \
             TLS where it is required, as Assay does not: then {WITHOUT_TLS}"
        ),
        _ => error.to_string(),
    }
}

const WITHOUT_TLS: &str = "connect over the Unix socket, or lift require_secure_transport and the \
                           account's REQUIRE";

enum Failure {
    Login(String),
    Trouble(Trouble),
}

impl<T: Into<Trouble>> From<T> for Failure {
    fn from(trouble: T) -> Failure {
        Failure::Trouble(trouble.into())
    }
}

/// What a server says first.
#[derive(Debug, PartialEq, Eq)]
struct Greeting<'a> {
    version: &'a [u8],
    capabilities: u32,
    extended: u32,
    /// The bytes that the password is proven with.
    drawn: Vec<u8>,
    method: &'a [u8],
}

impl<'a> Greeting<'a> {
    fn parse(payload: &'a [u8]) -> Option<Greeting<'a>> {
        let mut reader = Reader::new(payload);
        if reader.byte()? != 10 {
            return None;
        }
        let version = reader.terminated();
        // The connection's number.
        reader.bytes(4)?;
        let mut drawn = reader.bytes(8)?.to_vec();
        reader.byte()?;
        let low = reader.number(2)? as u32;
        // The collation and the status.
        reader.bytes(3)?;
        let capabilities = low | (reader.number(2)? as u32) << 16;
        let drawn_bytes = usize::from(reader.byte()?);
        reader.bytes(6)?;
        let extended = reader.number(4)? as u32;
        let extended = if capabilities & PLAIN == 0 { extended } else { 0 };
        // The second part ends in a NUL byte that belongs to none of them.
        let second = reader.bytes(drawn_bytes.saturating_sub(8).max(13))?;
        drawn.extend_from_slice(&second[..second.len() - 1]);
        let named = capabilities & NAMED_METHODS != 0;
        let method = if named { reader.terminated() } else { b"mysql_native_password" };
        Some(Greeting { version, capabilities, extended, drawn, method })
    }
}

fn log_in(
    connection: &mut Connection,
    flavour: &Flavour,
    endpoint: &Endpoint,
) -> Result<(), Failure> {
    let user = endpoint.user.as_deref().unwrap_or(DEFAULT_USER);
    let database = endpoint.database.as_deref();
    if user.contains('\0') || database.is_some_and(|name| name.contains('\0')) {
        return Err(Failure::Login("a user or database name cannot hold a NUL byte".into()));
    }
    let payload = connection.receive()?;
    let greeting = Greeting::parse(&payload)
        .ok_or_else(|| Trouble::Protocol("its greeting is not one of version 10".into()))?;
    flavour.check(&String::from_utf8_lossy(greeting.version)).map_err(Failure::Login)?;
    if greeting.capabilities & REQUIRED != REQUIRED {
        let why =
            "it is older than version 4.1: Assay speaks to MySQL 5.6 or MariaDB 10.2 and later";
        return Err(Failure::Login(why.into()));
    }
    let password = endpoint.password.as_ref().map_or("", |password| password.reveal()).as_bytes();
    // A method that is not spoken may be the server's default and not the account's: the server
    // names the account's when it has seen an answer.
    let mut method = Method::named(greeting.method).unwrap_or(Method::Native);
    let mut drawn = greeting.drawn;
    let described_once = greeting.extended & DESCRIBED_ONCE;
    let proof = method.answer(password, &drawn);
    connection.answer(&response(described_once, user, database, method, &proof))?;
    loop {
        let payload = connection.receive()?;
        match payload.first() {
            Some(0) if Changed::parse(&payload).is_some() => return Ok(()),
            Some(0xfe) => {
                let mut reader = Reader::new(&payload[1..]);
                let name = reader.terminated();
                method = Method::named(name).ok_or_else(|| unspoken(name, user))?;
                drawn = reader.rest.strip_suffix(b"\0").unwrap_or(reader.rest).to_vec();
                connection.answer(&method.answer(password, &drawn))?;
            }
            Some(1) if method == Method::CachingSha2 => match payload[1..] {
                // The proof was right; OK follows.
                [3] => {}
                [4] => whole_password(connection, endpoint, password)?,
                _ => return Err(unexpected()),
            },
            _ => return Err(unexpected()),
        }
    }
}

/// The server has forgotten, or never had, what it checks a proof with.
fn whole_password(
    connection: &mut Connection,
    endpoint: &Endpoint,
    password: &[u8],
) -> Result<(), Failure> {
    match endpoint.address {
        Address::Unix(_) => Ok(connection.answer(&[password, b"\0"].concat())?),
        Address::Tcp { .. } => Err(Failure::Login(
            "it asks for the whole password, as caching_sha2_password does at an account's first \
             login after a start, and Assay sends that through a Unix socket only: connect by the \
             socket, log in once with another client, or give the account mysql_native_password"
                .into(),
        )),
    }
}

/// The client's answer to the greeting.
fn response(
    extended: u32,
    user: &str,
    database: Option<&str>,
    method: Method,
    answer: &[u8],
) -> Vec<u8> {
    let with_database = if database.is_some() { WITH_DATABASE } else { 0 };
    let plain = if extended == 0 { PLAIN } else { 0 };
    let mut out = (CAPABILITIES | with_database | plain).to_le_bytes().to_vec();
    out.extend_from_slice(&LONGEST_PACKET.to_le_bytes());
    out.push(COLLATION);
    out.extend_from_slice(&[0; 19]);
    out.extend_from_slice(&extended.to_le_bytes());
    out.extend_from_slice(user.as_bytes());
    out.push(0);
    write_string(&mut out, answer);
    if let Some(database) = database {
        out.extend_from_slice(database.as_bytes());
        out.push(0);
    }
    out.extend_from_slice(method.name().as_bytes());
    out.push(0);
    out
}

fn unspoken(method: &[u8], user: &str) -> Failure {
    // A single byte: the method of before 4.1.
    let method = if method.is_empty() {
        "mysql_old_password".into()
    } else {
        String::from_utf8_lossy(method)
    };
    Failure::Login(format!(
        "it asks '{user}' for {method}, which Assay does not speak: give the account \
         mysql_native_password or caching_sha2_password, or use another account"
    ))
}

fn unexpected() -> Failure {
    Trouble::Protocol("unexpected message during the log-in".into()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What MariaDB 10.11 says first, with the bytes it draws replaced.
    const MARIADB: &[u8] = b"\x0a5.5.5-10.11.19-MariaDB\0\x05\0\0\0abcdefgh\0\xfe\xf7\x2d\x02\0\
        \xff\x81\x15\0\0\0\0\0\0\x3d\0\0\0ijklmnopqrst\0mysql_native_password\0";

    #[test]
    fn a_greeting_is_read() {
        let greeting = Greeting::parse(MARIADB).unwrap();
        assert_eq!(greeting.version, b"5.5.5-10.11.19-MariaDB");
        assert_eq!(greeting.capabilities & (REQUIRED | NAMED_METHODS), REQUIRED | NAMED_METHODS);
        assert_eq!(greeting.extended & DESCRIBED_ONCE, DESCRIBED_ONCE);
        assert_eq!(greeting.drawn, b"abcdefghijklmnopqrst");
        assert_eq!(greeting.method, b"mysql_native_password");
    }

    #[test]
    fn a_greeting_cut_short_or_of_another_version_is_none() {
        let method = MARIADB.len() - b"mysql_native_password\0".len();
        for end in 0..method {
            assert_eq!(Greeting::parse(&MARIADB[..end]), None, "cut at {end}");
        }
        let mut other = MARIADB.to_vec();
        other[0] = 9;
        assert_eq!(Greeting::parse(&other), None);
    }

    #[test]
    fn the_response_has_its_parts_in_order() {
        let response = response(DESCRIBED_ONCE, "me", Some("db"), Method::Native, b"proof");
        assert_eq!(response[8], COLLATION);
        assert_eq!(response[28..32], DESCRIBED_ONCE.to_le_bytes());
        assert_eq!(&response[32..], b"me\0\x05proofdb\0mysql_native_password\0");
        assert_eq!(u32::from(response[0]) & (WITH_DATABASE | PLAIN), WITH_DATABASE);
    }
}
