//! `monetdb`: MonetDB, with a record as a row of columns.
//!
//! [`mapi`] frames messages, [`statement`] says what SQL is asked, [`codec`] speaks during the
//! measurement, and [`connection`] does everything else on a blocking socket, as [`system`] asks. TLS is
//! not spoken.

mod codec;
mod connection;
mod error;
mod load;
mod login;
mod mapi;
mod reply;
mod statement;
mod system;

use std::fmt;

use assay_model::{Capabilities, Durability, Schema, Support};

use crate::{Driver, Layout, Opening, Place, System, SystemError, Verified, cache::Cache};

const SYSTEM: &str = "monetdb";

/// The registry line.
pub static DRIVER: Driver = Driver {
    name: SYSTEM,
    summary: "MonetDB 11.41 or later by MAPI, without TLS; keys and values are UTF-8 without NUL, and \
              inserting a key that exists is a conflict",
    layouts: &[Layout { name: "row", summary: "a text column a field" }],
    settings: &[],
    place: Place::Server { recipe: SYSTEM, default_port: 50_000 },
    verified: Verified::ByTests,
    cache: Some(Cache::Unsized(
        "it has no cache of its own: columns lie in memory or in mapped files, which the kernel caches; \
             memory_mib, what it may take in all, is not told as in force by its library",
    )),
    rests: |_| false,
    capabilities: |_| Capabilities {
        scan: Support::Native,
        lookup: Support::Unsupported(
            "its indexes are hints that it may pass over, or go with the next write",
        ),
        count: Support::Native,
        delete: Support::Native,
        durability: &[
            (Durability::None, "a database in memory"),
            (Durability::Synced, "the write-ahead log is synced at each commit"),
        ],
        max_value_bytes: Some(MAX_TEXT_BYTES),
        max_key_bytes: Some(MAX_TEXT_BYTES),
    },
    open,
};

/// Of a text in a statement, which escapes can make twice as long.
const MAX_TEXT_BYTES: u64 = 0x1000_0000;
/// The longest name of a table or column, in bytes.
const MAX_NAME_BYTES: usize = 1024;

fn open(opening: Opening) -> Result<Box<dyn System>, SystemError> {
    let endpoint = opening.target.server(SYSTEM)?;
    check_names(&opening.schema)?;
    Ok(Box::new(system::MonetDb::new(
        endpoint,
        opening.schema,
        opening.durability,
        opening.timeout,
    )))
}

/// Refuses names that the server cannot hold.
fn check_names(schema: &Schema) -> Result<(), SystemError> {
    let action = format!("lay out the table '{}'", schema.table().escape_debug());
    let mut names = schema.field_names().iter().map(String::as_str).chain([schema.table()]);
    let bad = |name: &str| {
        name.is_empty() || name.len() > MAX_NAME_BYTES || name.chars().any(char::is_control)
    };
    match names.find(|name| bad(name)) {
        Some(_) => {
            let why = format!(
                "a name is empty, longer than {MAX_NAME_BYTES} bytes or holds a control character: \
                 choose another"
            );
            Err(failed(&action, why))
        }
        None => Ok(()),
    }
}

/// A codec without a server.
#[cfg(feature = "fuzzing")]
pub(crate) fn codec(schema: std::sync::Arc<assay_model::Schema>) -> Box<dyn crate::Codec> {
    let statements = std::sync::Arc::new(statement::Statements::new(&schema));
    Box::new(codec::MonetCodec::new(statements, schema, true))
}

fn failed(action: &str, why: impl fmt::Display) -> SystemError {
    SystemError::Failed { system: SYSTEM.into(), action: action.into(), why: why.to_string() }
}
