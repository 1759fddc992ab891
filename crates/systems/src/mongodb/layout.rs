//! How a record is a document: `_id` is the key, a string, and each field is a member.

use assay_model::{FieldValue, Outcome};

use super::bson::Writer;
use crate::sql::refused;

/// The member that is the key.
pub(super) const ID: &str = "_id";

/// What the values of fields are in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    /// Strings, which BSON wants to be UTF-8. They are ordered by their bytes.
    Text,
    /// Binary data of any bytes. They are ordered by their length first.
    Binary,
}

impl Coding {
    /// The coding of the layout called `name`.
    pub fn of_layout(name: &str) -> Option<Coding> {
        match name {
            "document" => Some(Coding::Text),
            "binary" => Some(Coding::Binary),
            _ => None,
        }
    }

    /// Writes a value; whether it can be one has been checked.
    pub fn write(self, document: &mut Writer<'_>, name: &str, bytes: &[u8]) {
        match self {
            Coding::Text => document.string(name, bytes),
            Coding::Binary => document.binary(name, bytes),
        }
    }

    /// Refuses a value that BSON has no string for.
    pub fn check(self, bytes: &[u8]) -> Result<(), Outcome> {
        match self {
            Coding::Text => text(bytes, "a value"),
            Coding::Binary => Ok(()),
        }
    }

    /// Refuses values that BSON has no string for.
    pub fn check_all(self, values: &[FieldValue<'_>]) -> Result<(), Outcome> {
        values.iter().try_for_each(|value| self.check(value.bytes))
    }
}

/// Refuses a key that BSON has no string for. Binary keys would not do: their order is by length first,
/// and so would scans be.
pub(super) fn check_key(key: &[u8]) -> Result<(), Outcome> {
    text(key, "a key")
}

fn text(bytes: &[u8], what: &str) -> Result<(), Outcome> {
    match std::str::from_utf8(bytes) {
        Ok(_) => Ok(()),
        Err(error) => Err(refused(format!(
            "{what} that is not UTF-8 (at byte {}): BSON has strings of UTF-8 only",
            error.valid_up_to()
        ))),
    }
}
