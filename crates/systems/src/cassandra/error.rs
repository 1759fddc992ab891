//! What the server says went wrong (`native_protocol_v4.spec`, section 9).

use std::fmt;

use assay_model::{FailureKind, Outcome};

use super::frame::Reader;

/// The login was refused.
pub(super) const BAD_CREDENTIALS: u32 = 0x0100;
/// Too many requests.
pub(super) const OVERLOADED: u32 = 0x1001;
/// The user may not.
pub(super) const UNAUTHORIZED: u32 = 0x2100;
/// The keyspace or table is there.
pub(super) const ALREADY_EXISTS: u32 = 0x2400;
/// The statement is no longer prepared.
pub(super) const UNPREPARED: u32 = 0x2500;

/// An error of the server's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ServerError<'a> {
    pub code: u32,
    message: &'a [u8],
}

impl<'a> ServerError<'a> {
    /// Reads the body of an error; `None` if it is cut short.
    pub fn parse(body: &'a [u8]) -> Option<ServerError<'a>> {
        let mut reader = Reader(body);
        Some(ServerError { code: reader.int()?, message: reader.string()? })
    }

    /// The kind under which the failed operation is counted.
    pub fn kind(self) -> FailureKind {
        match self.code {
            // The protocol was broken.
            0x000a => FailureKind::Protocol,
            // Too few replicas answered a write or a read in time, or it is not known whether they did.
            0x1100 | 0x1200 | 0x1700 => FailureKind::Timeout,
            ALREADY_EXISTS => FailureKind::Conflict,
            _ => FailureKind::Rejected,
        }
    }

    /// The outcome of the operation that ended so.
    pub fn outcome(self) -> Outcome {
        Outcome::failed(self.kind(), self.to_string())
    }

    fn name(self) -> &'static str {
        match self.code {
            0x0000 => "server error",
            0x000a => "protocol error",
            BAD_CREDENTIALS => "bad credentials",
            0x1000 => "unavailable",
            OVERLOADED => "overloaded",
            0x1002 => "is bootstrapping",
            0x1003 => "truncate error",
            0x1100 => "write timeout",
            0x1200 => "read timeout",
            0x1300 => "read failure",
            0x1500 => "write failure",
            0x1700 => "write unknown",
            0x2000 => "syntax error",
            UNAUTHORIZED => "unauthorized",
            0x2200 => "invalid",
            0x2300 => "configuration error",
            ALREADY_EXISTS => "already exists",
            UNPREPARED => "unprepared",
            _ => "error",
        }
    }
}

impl fmt::Display for ServerError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = String::from_utf8_lossy(self.message);
        write!(f, "{} ({}, 0x{:04x})", message, self.name(), self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_its_kind() {
        for (code, kind) in [
            (0x000a, FailureKind::Protocol),
            (0x1000, FailureKind::Rejected),
            (0x1001, FailureKind::Rejected),
            (0x1100, FailureKind::Timeout),
            (0x1200, FailureKind::Timeout),
            (0x1500, FailureKind::Rejected),
            (0x2200, FailureKind::Rejected),
            (0x2400, FailureKind::Conflict),
        ] {
            let error = ServerError { code, message: b"no" };
            assert_eq!(error.kind(), kind, "{error}");
        }
    }

    #[test]
    fn an_error_says_what_the_server_said() {
        let body = b"\0\0\x10\0\0\x04Cannot\0\x04";
        let error = ServerError::parse(body).expect("whole");
        assert_eq!(error.to_string(), "Cann (unavailable, 0x1000)");
        assert_eq!(ServerError::parse(&body[..7]), None);
    }
}
