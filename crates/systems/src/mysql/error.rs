//! What the server reports as an error, and what kind of outcome that is.

use std::fmt;

use assay_model::{FailureKind, Outcome};

use super::packet::Reader;
use crate::sql;

/// An error packet. The numbers are those of `mysqld_error.h`; MariaDB has the same, and from 1900
/// on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerError {
    /// The error's number, as in 1062.
    pub code: u16,
    /// The SQLSTATE, as in `23000`; empty before the log-in.
    pub state: String,
    /// The message proper.
    pub message: String,
}

/// The table exists.
pub(super) const TABLE_EXISTS: u16 = 1050;
/// The database exists.
pub(super) const DATABASE_EXISTS: u16 = 1007;
/// A variable that this server does not have.
pub(super) const UNKNOWN_VARIABLE: u16 = 1193;
/// The user lacks a privilege.
pub(super) const LACKING: [u16; 5] = [1044, 1142, 1227, 1370, 1410];

impl ServerError {
    /// Reads an error packet, its first byte included; `None` if it is none.
    pub fn parse(payload: &[u8]) -> Option<ServerError> {
        let mut reader = Reader::new(payload);
        if reader.byte()? != 0xff {
            return None;
        }
        let code = reader.number(2)? as u16;
        let mut state = String::new();
        if reader.rest.first() == Some(&b'#') {
            state = String::from_utf8_lossy(&reader.bytes(6)?[1..]).into_owned();
        }
        let message = String::from_utf8_lossy(reader.rest).into_owned();
        Some(ServerError { code, state, message })
    }

    /// Whether the server closes the connection after this.
    pub fn closes(&self) -> bool {
        // ER_NET_PACKET_TOO_LARGE
        self.code == 1153 || self.kind() == FailureKind::Disconnected
    }

    /// The kind under which an operation that ended so is counted.
    pub fn kind(&self) -> FailureKind {
        match self.code {
            // a duplicate key, a record that changed, a lock not had in time, a deadlock
            1022 | 1062 | 1586 | 1020 | 1205 | 1213 => FailureKind::Conflict,
            // disk, memory, the table or the locks are full
            1021 | 1037 | 1038 | 1041 | 1114 | 1206 => FailureKind::Full,
            // interrupted, by MariaDB's or MySQL's limit of time or by somebody
            1317 | 1969 | 3024 => FailureKind::Timeout,
            // too many connections, shutdown, aborted, the network; a killed or idle session
            1040 | 1053 | 1152 | 1158..=1161 | 1184 | 1927 | 3169 | 4031 => {
                FailureKind::Disconnected
            }
            // an unknown command, a malformed packet
            1047 | 1835 => FailureKind::Protocol,
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
        write!(f, "{} (error {}", self.message, self.code)?;
        if !self.state.is_empty() {
            write!(f, ", SQLSTATE {}", self.state)?;
        }
        f.write_str(")")
    }
}

/// Why a command on a blocking connection failed.
pub(super) type Trouble = sql::Trouble<ServerError>;

impl Trouble {
    /// The error's number, if the server refused the command.
    pub fn code(&self) -> Option<u16> {
        match self {
            Trouble::Server(error) => Some(error.code),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: u16) -> ServerError {
        let mut payload = vec![0xff];
        payload.extend_from_slice(&code.to_le_bytes());
        payload.extend_from_slice(b"#HY000went wrong");
        ServerError::parse(&payload).unwrap()
    }

    #[test]
    fn each_number_has_its_kind() {
        for (code, kind, closes) in [
            (1062, FailureKind::Conflict, false),
            (1213, FailureKind::Conflict, false),
            (1205, FailureKind::Conflict, false),
            (1114, FailureKind::Full, false),
            (1317, FailureKind::Timeout, false),
            (1969, FailureKind::Timeout, false),
            (1053, FailureKind::Disconnected, true),
            (1927, FailureKind::Disconnected, true),
            (1153, FailureKind::Rejected, true),
            (1406, FailureKind::Rejected, false),
        ] {
            let error = error(code);
            assert_eq!((error.kind(), error.closes()), (kind, closes), "{code}");
        }
    }

    #[test]
    fn an_error_says_what_the_server_said() {
        assert_eq!(error(1062).to_string(), "went wrong (error 1062, SQLSTATE HY000)");
        let early = ServerError::parse(b"\xff\x10\x04Too many connections").unwrap();
        assert_eq!(early.to_string(), "Too many connections (error 1040)");
    }

    #[test]
    fn what_is_no_error_is_none() {
        for payload in [&b""[..], b"\0\0\0", b"\xff\x10", b"\xff\x10\x04#HY"] {
            assert_eq!(ServerError::parse(payload), None);
        }
    }
}
