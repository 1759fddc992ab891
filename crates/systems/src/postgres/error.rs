//! What the server reports as an error, and what kind of outcome that is.

use std::{fmt, io};

use assay_model::{FailureKind, Outcome};
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{ErrorResponseBody, Message};

use crate::sql;

/// An ErrorResponse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ServerError {
    /// `ERROR`, `FATAL` or `PANIC`, not translated.
    pub severity: String,
    /// The SQLSTATE, as in `23505`.
    pub code: String,
    /// The message proper.
    pub message: String,
    detail: Option<String>,
    hint: Option<String>,
}

impl ServerError {
    /// Reads a whole ErrorResponse message, its tag and length included.
    pub fn parse(message: &[u8]) -> io::Result<ServerError> {
        match Message::parse(&mut BytesMut::from(message))? {
            Some(Message::ErrorResponse(body)) => ServerError::from_body(&body),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "not a whole error message")),
        }
    }

    pub fn from_body(body: &ErrorResponseBody) -> io::Result<ServerError> {
        let mut error = ServerError::default();
        let mut fields = body.fields();
        while let Some(field) = fields.next()? {
            let value = String::from_utf8_lossy(field.value_bytes()).into_owned();
            match field.type_() {
                b'V' => error.severity = value,
                // Servers before 9.6 have the translated severity only.
                b'S' if error.severity.is_empty() => error.severity = value,
                b'C' => error.code = value,
                b'M' => error.message = value,
                b'D' => error.detail = Some(value),
                b'H' => error.hint = Some(value),
                _ => {}
            }
        }
        Ok(error)
    }

    /// Whether the server closes the connection after this.
    pub fn closes(&self) -> bool {
        matches!(self.severity.as_str(), "FATAL" | "PANIC")
    }

    /// The kind under which an operation that ended so is counted.
    pub fn kind(&self) -> FailureKind {
        match self.code.as_str() {
            // unique_violation, serialization_failure, deadlock_detected, lock_not_available
            "23505" | "40001" | "40P01" | "55P03" => FailureKind::Conflict,
            // disk_full, out_of_memory
            "53100" | "53200" => FailureKind::Full,
            // query_canceled
            "57014" => FailureKind::Timeout,
            // protocol_violation
            "08P01" => FailureKind::Protocol,
            // admin_shutdown, crash_shutdown, cannot_connect_now, idle_session_timeout
            "57P01" | "57P02" | "57P03" | "57P05" => FailureKind::Disconnected,
            code if code.starts_with("08") => FailureKind::Disconnected,
            _ if self.closes() => FailureKind::Disconnected,
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
        write!(f, "{} (SQLSTATE {})", self.message, self.code)?;
        for more in [&self.detail, &self.hint].into_iter().flatten() {
            write!(f, ". {}", more.trim_end_matches('.'))?;
        }
        Ok(())
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

    fn error(severity: &str, code: &str) -> ServerError {
        let fields =
            format!("S{severity}\0V{severity}\0C{code}\0Mwent wrong\0DWhy.\0HDo this.\0\0");
        let mut message = vec![b'E'];
        message.extend_from_slice(&(fields.len() as u32 + 4).to_be_bytes());
        message.extend_from_slice(fields.as_bytes());
        ServerError::parse(&message).unwrap()
    }

    #[test]
    fn each_sqlstate_has_its_kind() {
        for (code, kind) in [
            ("23505", FailureKind::Conflict),
            ("40001", FailureKind::Conflict),
            ("40P01", FailureKind::Conflict),
            ("55P03", FailureKind::Conflict),
            ("53100", FailureKind::Full),
            ("53200", FailureKind::Full),
            ("57014", FailureKind::Timeout),
            ("57P01", FailureKind::Disconnected),
            ("08006", FailureKind::Disconnected),
            ("08P01", FailureKind::Protocol),
            ("22021", FailureKind::Rejected),
        ] {
            assert_eq!(error("ERROR", code).kind(), kind, "{code}");
        }
        assert_eq!(error("FATAL", "XX000").kind(), FailureKind::Disconnected);
        assert!(error("PANIC", "XX000").closes() && !error("ERROR", "XX000").closes());
    }

    #[test]
    fn an_error_says_what_the_server_said() {
        let text = error("ERROR", "23505").to_string();
        assert_eq!(text, "went wrong (SQLSTATE 23505). Why. Do this");
    }
}
