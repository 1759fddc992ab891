//! What differs between PostgreSQL and HyPer, which speaks PostgreSQL's protocol, as values.

use std::fmt;

use crate::SystemError;

/// One of the two products.
#[derive(Debug)]
pub(super) struct Flavour {
    /// The driver's name.
    pub name: &'static str,
    /// The product's own name.
    pub product: &'static str,
    /// The port in examples of URLs.
    pub port: u16,
    /// The user of an endpoint that names none.
    pub default_user: &'static str,
    /// The database of an endpoint that names none; without one, the log-in names none either.
    pub default_database: Option<&'static str>,
    /// How the SQLSTATEs begin that refuse a log-in.
    pub refusals: &'static [&'static str],
    /// What to do about too many columns.
    pub too_many_columns: &'static str,
    /// What keeps keys apart.
    pub keys: Keys,
    /// How a statement is limited to a number of rows.
    pub limit: Limit,
    /// How records are loaded.
    pub copy: CopyFormat,
    /// The type of parameters that are text, where the server does not find it out by itself.
    pub text_type: Option<u32>,
}

/// What keeps keys apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keys {
    /// The index of the primary key.
    Indexed,
    /// Each insert looks for its key first, through the whole table. The primary key is one that the
    /// server believes in and never checks.
    Assumed,
}

/// How a statement is limited to a number of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    /// By its second parameter.
    Parameter,
    /// By a number at its end: parsed anew for each, in the same write. Only for tables with a column
    /// a field.
    Literal,
}

/// The format of COPY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyFormat {
    /// PostgreSQL's binary format.
    Binary,
    /// Quoted text.
    Csv,
}

pub(super) static POSTGRES: Flavour = Flavour {
    name: "postgres",
    product: "PostgreSQL",
    port: 5432,
    default_user: "postgres",
    default_database: Some("postgres"),
    // invalid_authorization_specification, invalid_password, invalid_catalog_name
    refusals: &["28", "3D000"],
    too_many_columns: ": use jsonb",
    keys: Keys::Indexed,
    limit: Limit::Parameter,
    copy: CopyFormat::Binary,
    text_type: None,
};

pub(super) static HYPER: Flavour = Flavour {
    name: "hyper",
    product: "HyPer",
    port: 7483,
    default_user: "bench",
    default_database: None,
    // insufficient_privilege, and a file that is no database or not there
    refusals: &["42501", "58S01"],
    too_many_columns: "",
    keys: Keys::Assumed,
    limit: Limit::Literal,
    copy: CopyFormat::Csv,
    text_type: Some(TEXT_OID),
};

/// The number of the type `text`.
const TEXT_OID: u32 = 25;

impl Flavour {
    /// An error while doing `action`.
    pub fn failed(&self, action: &str, why: impl fmt::Display) -> SystemError {
        SystemError::Failed {
            system: self.name.into(),
            action: action.into(),
            why: why.to_string(),
        }
    }
}
