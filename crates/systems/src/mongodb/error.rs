//! What the server reports as an error, and what kind of outcome that is.

use std::fmt;

use assay_model::{FailureKind, Outcome};

use super::bson::{Elements, Malformed, Value};
use crate::sql;

/// An error of a command, of one of its writes or of its write concern. The numbers are those of
/// MongoDB's `error_codes.yml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerError {
    /// The error's number, as in 11000; 0 if the server gave none.
    pub code: i64,
    /// Its name, as in `DuplicateKey`; empty if the server gave none.
    pub name: String,
    /// The message proper.
    pub message: String,
}

/// The user lacks a privilege, or did not log in.
pub(super) const UNAUTHORIZED: i64 = 13;
/// The login failed.
pub(super) const AUTHENTICATION_FAILED: i64 = 18;
/// The collection exists.
pub(super) const NAMESPACE_EXISTS: i64 = 48;
/// The collection does not exist.
pub(super) const NAMESPACE_NOT_FOUND: i64 = 26;
/// The server has no such command.
pub(super) const COMMAND_NOT_FOUND: i64 = 59;

impl ServerError {
    /// Reads the elements of an error.
    pub fn read(mut elements: Elements<'_>) -> Result<ServerError, Malformed> {
        let mut error = ServerError { code: 0, name: String::new(), message: String::new() };
        while let Some((name, value)) = elements.next()? {
            match name {
                b"code" => error.code = value.whole().unwrap_or(0),
                b"codeName" => error.name = value.text().unwrap_or_default(),
                b"errmsg" => error.message = value.text().unwrap_or_default(),
                _ => {}
            }
        }
        Ok(error)
    }

    /// Reads the first of several.
    pub fn first(mut errors: Elements<'_>) -> Result<Option<ServerError>, Malformed> {
        match errors.next()? {
            Some((_, Value::Document(error))) => ServerError::read(error).map(Some),
            Some(_) => Err(Malformed),
            None => Ok(None),
        }
    }

    /// Whether the server closes the connection after this.
    pub fn closes(&self) -> bool {
        self.kind() == FailureKind::Disconnected
    }

    /// The kind under which an operation that ended so is counted.
    pub fn kind(&self) -> FailureKind {
        match self.code {
            // a lock not had in time or busy, a write conflict, an object that is busy, a lock that
            // failed, a duplicate key
            24 | 46 | 112 | 314 | 107 | 11000 | 11001 | 12582 => FailureKind::Conflict,
            // memory, disk
            146 | 14031 | 8_000_052 => FailureKind::Full,
            // a limit of time of the operation, of a write concern or of the network between servers;
            // interrupted
            50 | 64 | 89 | 202 | 262 | 11601 => FailureKind::Timeout,
            // shutting down
            91 | 11600 => FailureKind::Disconnected,
            // what the server cannot read
            17 | 22 | 40415 => FailureKind::Protocol,
            _ => FailureKind::Rejected,
        }
    }

    /// What its reader can do, where the message does not say it.
    fn next_step(&self) -> Option<&'static str> {
        match self.code {
            // not writable, not a primary, in the words of old servers; stepped down; recovering
            10107 | 13435 | 13436 | 10058 | 189 | 11602 => {
                Some("name the replica set's primary, and run again when it stays one")
            }
            _ => None,
        }
    }

    /// The outcome of the operation that ended so.
    pub fn outcome(&self) -> Outcome {
        Outcome::failed(self.kind(), self.to_string())
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = if self.message.is_empty() { "it gave no reason" } else { &self.message };
        write!(f, "{message} (error {}", self.code)?;
        if !self.name.is_empty() {
            write!(f, ", {}", self.name)?;
        }
        f.write_str(")")?;
        match self.next_step() {
            Some(next) => write!(f, ": {next}"),
            None => Ok(()),
        }
    }
}

/// Why a command on a blocking connection failed.
pub(super) type Trouble = sql::Trouble<ServerError>;

impl Trouble {
    /// The error's number, if the server refused the command.
    pub fn number_of_error(&self) -> Option<i64> {
        match self {
            Trouble::Server(error) => Some(error.code),
            _ => None,
        }
    }
}

impl From<Malformed> for Trouble {
    fn from(error: Malformed) -> Trouble {
        Trouble::Protocol(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mongodb::bson;

    fn error(code: i32, name: &str) -> ServerError {
        let mut out = Vec::new();
        bson::write(&mut out, |document| {
            document.int32("index", 0);
            document.int32("code", code);
            if !name.is_empty() {
                document.string("codeName", name.as_bytes());
            }
            document.string("errmsg", b"went wrong");
        });
        ServerError::read(Elements::of(&out).unwrap()).unwrap()
    }

    #[test]
    fn each_number_has_its_kind() {
        for (code, kind, closes) in [
            (11000, FailureKind::Conflict, false),
            (112, FailureKind::Conflict, false),
            (50, FailureKind::Timeout, false),
            (64, FailureKind::Timeout, false),
            (11601, FailureKind::Timeout, false),
            (14031, FailureKind::Full, false),
            (10107, FailureKind::Rejected, false),
            (13, FailureKind::Rejected, false),
            (10334, FailureKind::Rejected, false),
            (91, FailureKind::Disconnected, true),
            (11600, FailureKind::Disconnected, true),
        ] {
            let error = error(code, "");
            assert_eq!((error.kind(), error.closes()), (kind, closes), "{code}");
        }
    }

    #[test]
    fn an_error_says_what_the_server_said_and_what_to_do() {
        assert_eq!(
            error(11000, "DuplicateKey").to_string(),
            "went wrong (error 11000, DuplicateKey)"
        );
        assert_eq!(error(26, "").to_string(), "went wrong (error 26)");
        let primary = error(10107, "NotWritablePrimary").to_string();
        assert!(primary.contains("replica set's primary"), "{primary}");
    }

    #[test]
    fn the_first_of_several_is_read() {
        let mut out = Vec::new();
        bson::write(&mut out, |_| {});
        assert_eq!(ServerError::first(Elements::of(&out).unwrap()), Ok(None));
        out.clear();
        bson::write(&mut out, |array| array.int32("0", 1));
        assert_eq!(ServerError::first(Elements::of(&out).unwrap()), Err(Malformed));
    }
}
