//! What the server reports as an error, and what kind of outcome that is.

use std::fmt;

use assay_model::{FailureKind, Outcome};

use crate::sql;

/// A line of a reply that begins with an exclamation mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerError {
    /// The SQLSTATE, as in `40002`; empty if it has none.
    pub code: String,
    /// The message proper.
    pub message: String,
}

/// The name of a table is in use.
pub(super) const TABLE_EXISTS: &str = "42S01";

/// What the loser of a conflict is told.
const LOST: [&str; 3] = ["Update failed", "Delete failed", "Append failed"];

impl ServerError {
    /// Reads such a line, as in `!40002!INSERT INTO: …`.
    pub fn parse(line: &[u8]) -> ServerError {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_start_matches('!').trim_end();
        let (code, message) = match text.split_once('!') {
            Some((code, message)) if code.len() == 5 => (code, message),
            _ => ("", text),
        };
        ServerError { code: code.to_owned(), message: message.to_owned() }
    }

    /// The kind under which an operation that ended so is counted.
    pub fn kind(&self) -> FailureKind {
        let says = |word: &str| self.message.to_ascii_lowercase().contains(word);
        match self.code.as_str() {
            // A constraint violated; and serialization failures, of which some have another code.
            code if code.starts_with("40") => FailureKind::Conflict,
            _ if says("conflict") => FailureKind::Conflict,
            // A row that another transaction changed, in versions that do not call it a conflict.
            "42000" if LOST.contains(&self.message.as_str()) => FailureKind::Conflict,
            "HY013" | "HY001" => FailureKind::Full,
            _ if says("timeout") || says("timed out") => FailureKind::Timeout,
            code if code.starts_with("08") => FailureKind::Disconnected,
            _ => FailureKind::Rejected,
        }
    }

    /// The outcome of the operation that ended so.
    pub fn outcome(&self) -> Outcome {
        Outcome::failed(self.kind(), self.to_string())
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match self.code.as_str() {
            "" => Ok(()),
            code => write!(f, " (SQLSTATE {code})"),
        }
    }
}

/// Why a command on a blocking connection failed.
pub(super) type Trouble = sql::Trouble<ServerError>;

impl Trouble {
    /// The SQLSTATE, if the server refused the command.
    pub fn code(&self) -> Option<&str> {
        match self {
            Trouble::Server(error) => Some(&error.code),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_its_kind_and_its_words() {
        for (line, kind, text) in [
            (
                &b"!40002!INSERT INTO: PRIMARY KEY constraint 't.p' violated\n"[..],
                FailureKind::Conflict,
                "INSERT INTO: PRIMARY KEY constraint 't.p' violated (SQLSTATE 40002)",
            ),
            (
                b"!42000!COMMIT: transaction is aborted because of concurrency conflicts",
                FailureKind::Conflict,
                "COMMIT: transaction is aborted because of concurrency conflicts (SQLSTATE 42000)",
            ),
            (b"!42000!Update failed", FailureKind::Conflict, "Update failed (SQLSTATE 42000)"),
            (b"!Illegal argument\n", FailureKind::Rejected, "Illegal argument"),
            (b"!42S02!no such table", FailureKind::Rejected, "no such table (SQLSTATE 42S02)"),
        ] {
            let error = ServerError::parse(line);
            assert_eq!((error.kind(), error.to_string().as_str()), (kind, text));
        }
    }
}
