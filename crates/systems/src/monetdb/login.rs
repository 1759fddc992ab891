//! Connecting and logging in: the server draws bytes, and the client proves with them that it knows the
//! hash of the password. Without TLS.
//!
//! Source: MonetDB's documentation, "MAPI protocol". A challenge is
//! `SALT:TYPE:9:HASHES:LIT|BIG:PASSWORDHASH:…:`, the answer
//! `LIT:USER:{HASH}PROOF:sql:DATABASE:`, where `PROOF` is the hash of the hexadecimal hash of the
//! password and the salt.

use std::{io::Write, time::Duration};

use assay_model::{Address, Endpoint};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha384, Sha512};

use super::{
    SYSTEM,
    connection::Connection,
    error::{ServerError, Trouble},
};
use crate::{SystemError, socket::Socket};

/// The user of an endpoint that names none.
const DEFAULT_USER: &str = "monetdb";
/// What stands in place of the password's hash in a server that MonetDB's library is, which keeps no
/// passwords. No password has this hash.
const NO_HASH: &str = "0";
/// How often a server may hand the client on to another.
const MOST_REDIRECTS: usize = 5;

/// Connects and logs in, each step within `timeout`.
pub(super) fn open(endpoint: &Endpoint, timeout: Duration) -> Result<Connection, SystemError> {
    let unreachable = |why: String| SystemError::Unreachable {
        system: SYSTEM.into(),
        address: endpoint.address.to_string(),
        why,
    };
    let socket = Socket::connect(&endpoint.address, timeout)
        .map_err(|error| unreachable(error.to_string()))?;
    let mut connection = Connection::new(socket);
    if let Address::Unix(_) = endpoint.address {
        // That no descriptor of a file comes along.
        connection.socket.write_all(b"0").map_err(|error| unreachable(error.to_string()))?;
    }
    log_in(&mut connection, endpoint).map_err(|failure| match failure {
        Failure::Login(why) => SystemError::LoginRefused {
            system: SYSTEM.into(),
            address: endpoint.address.to_string(),
            why,
        },
        Failure::Trouble(Trouble::Protocol(why)) => unreachable(format!(
            "what listens there does not answer as MonetDB does ({why}); check the address"
        )),
        Failure::Trouble(trouble) => unreachable(trouble.to_string()),
    })?;
    Ok(connection)
}

enum Failure {
    Login(String),
    Trouble(Trouble),
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Failure {
        Failure::Trouble(trouble)
    }
}

fn log_in(connection: &mut Connection, endpoint: &Endpoint) -> Result<(), Failure> {
    for _ in 0..MOST_REDIRECTS {
        let challenge = connection.receive()?.to_vec();
        let challenge = Challenge::parse(&challenge)
            .ok_or_else(|| Trouble::Protocol("no challenge".to_owned()))?;
        let answer = challenge.answer(endpoint).map_err(Failure::Login)?;
        connection.send_message(answer.as_bytes())?;
        let reply = String::from_utf8_lossy(connection.receive()?).into_owned();
        match reply.lines().find(|line| !line.starts_with('#')) {
            None => return Ok(connection.begin()?),
            Some(line) if line.starts_with('!') => {
                return Err(Failure::Login(ServerError::parse(line.as_bytes()).message));
            }
            // The same connection goes on with a challenge of the database's own server.
            Some(line) if line.starts_with("^mapi:merovingian:") => {}
            Some(line) if line.starts_with('^') => {
                return Err(Failure::Login(format!(
                    "it hands its clients on to another address: connect to {} itself",
                    line.trim_start_matches('^')
                )));
            }
            Some(_) => return Ok(connection.begin()?),
        }
    }
    Err(Failure::Login("it hands its clients on without end".to_owned()))
}

/// What the server draws and demands.
struct Challenge<'a> {
    salt: &'a str,
    hashes: &'a str,
    password_hash: &'a str,
}

impl<'a> Challenge<'a> {
    fn parse(message: &'a [u8]) -> Option<Challenge<'a>> {
        let mut parts = std::str::from_utf8(message).ok()?.split(':');
        let salt = parts.next()?;
        let _server = parts.next()?;
        let version = parts.next()?;
        let hashes = parts.next()?;
        let _byte_order = parts.next()?;
        let password_hash = parts.next()?;
        (version == "9").then_some(Challenge { salt, hashes, password_hash })
    }

    /// The answer to it; the error says what cannot be spoken.
    fn answer(&self, endpoint: &Endpoint) -> Result<String, String> {
        let user = endpoint.user.as_deref().unwrap_or(DEFAULT_USER);
        let database = endpoint.database.as_deref().unwrap_or_default();
        if [user, database].iter().any(|name| name.contains([':', '\n', '\0'])) {
            return Err("a user or database name cannot hold a colon".to_owned());
        }
        let hash = match &endpoint.password {
            None => NO_HASH.to_owned(),
            Some(password) => hexadecimal(self.password_hash, password.reveal().as_bytes())
                .ok_or_else(|| unspoken("keeps its passwords as", self.password_hash))?,
        };
        let offered = || self.hashes.split(',');
        let name = ["SHA512", "SHA384", "SHA256", "SHA1"]
            .into_iter()
            .find(|name| offered().any(|offered| offered == *name))
            .ok_or_else(|| unspoken("asks for one of", self.hashes))?;
        let proof = hexadecimal(name, format!("{hash}{}", self.salt).as_bytes())
            .ok_or_else(|| unspoken("asks for", name))?;
        Ok(format!("LIT:{user}:{{{name}}}{proof}:sql:{database}:"))
    }
}

fn unspoken(it: &str, hashes: &str) -> String {
    format!("it {it} {hashes}, which Assay does not speak; SHA512 would do")
}

/// The hash called `name`, in hexadecimal.
fn hexadecimal(name: &str, bytes: &[u8]) -> Option<String> {
    let digest = match name {
        "SHA512" => Sha512::digest(bytes).to_vec(),
        "SHA384" => Sha384::digest(bytes).to_vec(),
        "SHA256" => Sha256::digest(bytes).to_vec(),
        "SHA1" => Sha1::digest(bytes).to_vec(),
        _ => return None,
    };
    Some(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use assay_model::Secret;

    use super::*;

    fn endpoint(password: Option<&str>) -> Endpoint {
        let address = Address::Tcp { host: "localhost".into(), port: 50_000 };
        Endpoint { password: password.map(Secret::new), ..Endpoint::at(address) }
    }

    const CHALLENGE: &[u8] = b"aSalt:mserver:9:RIPEMD160,SHA512,SHA256,SHA1:LIT:SHA512:sql=6:";

    #[test]
    fn the_proof_is_the_hash_of_the_hash_and_the_salt() {
        let challenge = Challenge::parse(CHALLENGE).expect("it is one");
        let hash = hexadecimal("SHA512", b"monetdb").expect("known");
        // SHA-512 of the default password.
        assert!(hash.starts_with("a73f1d8638344643"), "{hash}");
        let proof = hexadecimal("SHA512", format!("{hash}aSalt").as_bytes()).expect("known");
        let answer = challenge.answer(&endpoint(Some("monetdb"))).expect("spoken");
        assert_eq!(answer, format!("LIT:monetdb:{{SHA512}}{proof}:sql::"));
        let proof = hexadecimal("SHA512", b"0aSalt").expect("known");
        assert!(challenge.answer(&endpoint(None)).expect("spoken").contains(&proof));
    }

    #[test]
    fn what_is_no_challenge_or_not_spoken_is_told() {
        for other in [&b""[..], b"HTTP/1.1 400", b"s:mserver:8:SHA512:LIT:SHA512:", b"a:b:9\xff"] {
            assert!(Challenge::parse(other).is_none());
        }
        let old = Challenge::parse(b"s:mserver:9:MD5:LIT:SHA512:").expect("it is one");
        assert!(old.answer(&endpoint(None)).expect_err("not spoken").contains("MD5"));
    }
}
