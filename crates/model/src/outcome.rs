//! How an operation ended. A data store's error is an outcome to be counted, not a reason to stop.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How one operation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The store did what was asked.
    Done,
    /// A read, update or delete named a key that the store does not hold, or a lookup a range of
    /// values that no record has. It is never counted as a success.
    Missing,
    /// The store, the connection or the answer failed.
    Failed(Failure),
}

impl Outcome {
    /// Shorthand for [`Outcome::Failed`].
    pub fn failed(kind: FailureKind, message: impl Into<String>) -> Outcome {
        Outcome::Failed(Failure { kind, message: message.into().into_boxed_str() })
    }

    /// How a lookup ended that returned `rows` records of those up to `to`.
    pub fn of_lookup(to: Option<&[u8]>, rows: u64) -> Outcome {
        if to.is_some() && rows == 0 { Outcome::Missing } else { Outcome::Done }
    }

    /// The kind of failure, if this is one; a missing key is [`FailureKind::Missing`].
    pub fn failure_kind(&self) -> Option<FailureKind> {
        match self {
            Outcome::Done => None,
            Outcome::Missing => Some(FailureKind::Missing),
            Outcome::Failed(failure) => Some(failure.kind),
        }
    }
}

/// A failed operation: its kind, and what the store said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind under which it is counted.
    pub kind: FailureKind,
    /// The store's or the driver's own words, for the first few shown.
    pub message: Box<str>,
}

/// The kinds under which failed operations are counted.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum FailureKind {
    /// The key is not in the store.
    Missing,
    /// The answer is not what was written: a wrong value, a wrong key, rows out of order.
    WrongAnswer,
    /// No answer within the operation's time limit.
    Timeout,
    /// The connection was refused, reset or closed.
    Disconnected,
    /// The store refused because it has no memory or disk space left.
    Full,
    /// The store refused because of a conflict: a duplicate key, a serialization failure, a lock.
    Conflict,
    /// Any other refusal by the store.
    Rejected,
    /// The reply did not follow the protocol.
    Protocol,
}

impl FailureKind {
    /// Every kind, in the order in which tables show them.
    pub const ALL: [FailureKind; 8] = [
        FailureKind::Missing,
        FailureKind::WrongAnswer,
        FailureKind::Timeout,
        FailureKind::Disconnected,
        FailureKind::Full,
        FailureKind::Conflict,
        FailureKind::Rejected,
        FailureKind::Protocol,
    ];

    /// The kind's name in records and tables, for example `wrong_answer`.
    pub fn name(self) -> &'static str {
        match self {
            FailureKind::Missing => "missing",
            FailureKind::WrongAnswer => "wrong_answer",
            FailureKind::Timeout => "timeout",
            FailureKind::Disconnected => "disconnected",
            FailureKind::Full => "full",
            FailureKind::Conflict => "conflict",
            FailureKind::Rejected => "rejected",
            FailureKind::Protocol => "protocol",
        }
    }

    /// The kind's position in [`FailureKind::ALL`], for arrays indexed by kind.
    pub fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
