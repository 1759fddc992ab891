//! What the drivers of SQL databases have in common, whatever the protocol: the forms of lookups, what is
//! refused before it is sent, and why a command on a connection that waits failed.

use std::{io, time::Duration};

use assay_model::{FailureKind, FieldValue, Outcome, Schema};
use thiserror::Error;

/// How long a server's set-up commands may take. Counting or tidying a large table takes far longer
/// than an operation may.
pub(crate) const SETUP_TIMEOUT: Duration = Duration::from_secs(3600);

/// The form of the range of values that a lookup asks for. Each has a statement of its own: where
/// both ends are parameters, a planner cannot see that they are the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Range {
    /// One value.
    One,
    /// From one value up to another.
    UpTo,
    /// From a value on.
    From,
}

impl Range {
    pub const ALL: [Range; 3] = [Range::One, Range::UpTo, Range::From];

    /// The form of the range from `from` up to `to`.
    pub fn of(from: &[u8], to: Option<&[u8]>) -> Range {
        match to {
            Some(to) if to == from => Range::One,
            Some(_) => Range::UpTo,
            None => Range::From,
        }
    }
}

/// Where the statements of lookups are among all: in the order of the fields, then the ranges, then
/// what is selected.
#[derive(Debug)]
pub(crate) struct Lookups {
    /// The first of them.
    pub first: usize,
    /// How many fields, from the first, have an index.
    pub index_count: u16,
    /// How many statements there are for each field and range.
    pub selections: usize,
}

impl Lookups {
    /// The statement that looks up values in `range` of the field at `position`. The error is that
    /// it has no index.
    pub fn find(&self, position: u16, range: Range, selection: usize) -> Result<usize, Outcome> {
        if position >= self.index_count {
            return Err(refused(format!(
                "field {position} has no index to look it up in: give the table more indexes"
            )));
        }
        let ranges = usize::from(position) * Range::ALL.len() + range as usize;
        Ok(self.first + ranges * self.selections + selection)
    }
}

/// Refuses a field that the table does not have.
pub(crate) fn check_field(schema: &Schema, field: u16) -> Result<(), Outcome> {
    let count = schema.field_count();
    if field < count {
        return Ok(());
    }
    Err(refused(format!("field {field} of a table with {count} fields")))
}

/// Refuses values of fields that the table does not have.
pub(crate) fn check_values(schema: &Schema, values: &[FieldValue<'_>]) -> Result<(), Outcome> {
    values.iter().try_for_each(|value| check_field(schema, value.field))
}

/// The outcome of an operation that the client itself refuses.
pub(crate) fn refused(why: String) -> Outcome {
    Outcome::failed(FailureKind::Rejected, why)
}

/// The outcome of an operation whose reply makes no sense.
pub(crate) fn broken(why: &str) -> Outcome {
    Outcome::failed(FailureKind::Protocol, format!("the server broke the protocol: {why}"))
}

/// A row as text, column by column.
pub(crate) type TextRow = Vec<Option<String>>;

/// The settings in rows of a name and a value.
pub(crate) fn settings(rows: Vec<TextRow>) -> Vec<(String, String)> {
    rows.into_iter()
        .filter_map(|row| <[Option<String>; 2]>::try_from(row).ok())
        .map(|[name, value]| (name.unwrap_or_default(), value.unwrap_or_default()))
        .collect()
}

/// Why a command on a connection that waits for each answer failed; `E` is what the server reports.
#[derive(Debug, Error)]
pub(crate) enum Trouble<E> {
    /// The server refused it.
    #[error("{0}")]
    Server(E),
    /// The connection failed.
    #[error("{0}")]
    Connection(io::Error),
    /// The reply makes no sense.
    #[error("the server broke the protocol: {0}")]
    Protocol(String),
}

impl<E> From<io::Error> for Trouble<E> {
    fn from(error: io::Error) -> Trouble<E> {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                let why = "the server did not answer within the time limit";
                Trouble::Connection(io::Error::new(io::ErrorKind::TimedOut, why))
            }
            io::ErrorKind::UnexpectedEof => {
                let why = "the server closed the connection";
                Trouble::Connection(io::Error::new(io::ErrorKind::UnexpectedEof, why))
            }
            _ => Trouble::Connection(error),
        }
    }
}

/// The first value of the first row that `sql` gave.
pub(crate) fn value<E>(rows: Vec<TextRow>, sql: &str) -> Result<String, Trouble<E>> {
    let first = rows.into_iter().next().and_then(|row| row.into_iter().next());
    first.flatten().ok_or_else(|| Trouble::Protocol(format!("no value from: {sql}")))
}

/// The number that `text`, a value that a server gave, is.
pub(crate) fn number<E>(text: &str) -> Result<u64, Trouble<E>> {
    text.parse().map_err(|_| Trouble::Protocol(format!("'{text}' in place of a number")))
}
