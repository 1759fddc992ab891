//! Where a server listens and how to log in. A password never prints.

use std::{fmt, path::PathBuf};

use crate::REDACTED;

/// A server's address and the credentials for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Where it listens.
    pub address: Address,
    /// The user to log in as, if the server asks for one.
    pub user: Option<String>,
    /// The password, if the server asks for one.
    pub password: Option<Secret>,
    /// The database to use: a name for PostgreSQL, a number for Redis.
    pub database: Option<String>,
    /// The database that the user is looked for in, where that may be another: MongoDB's `authSource`.
    pub login_database: Option<String>,
    /// Where the store's other servers listen, if it is several that do not know of each other.
    pub others: Vec<Address>,
}

impl Endpoint {
    /// An endpoint without credentials.
    pub fn at(address: Address) -> Endpoint {
        Endpoint {
            address,
            user: None,
            password: None,
            database: None,
            login_database: None,
            others: Vec::new(),
        }
    }
}

/// A TCP address or a Unix socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A host name or IP address, and a port.
    Tcp {
        /// Host name or IP address.
        host: String,
        /// TCP port.
        port: u16,
    },
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Address::Tcp { host, port } => write!(f, "{host}:{port}"),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A string that is used but never shown or stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    pub fn new(secret: impl Into<String>) -> Secret {
        Secret(secret.into())
    }

    /// The secret itself, for the login exchange only.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_print() {
        let mut endpoint = Endpoint::at(Address::Tcp { host: "::1".into(), port: 6379 });
        endpoint.password = Some(Secret::new("hunter2"));
        assert!(!format!("{endpoint:?}").contains("hunter2"));
        assert_eq!(endpoint.address.to_string(), "[::1]:6379");
    }
}
