//! `postgres`: PostgreSQL, with a record as a row of columns or as one `hstore`, `jsonb` or `json`
//! document; and `hyper`: HyPer, which speaks the same protocol, with a row of columns.
//!
//! [`flavour`] says what differs between the two, [`layout`] how each layout keeps records,
//! [`statement`] what SQL follows, [`codec`] speaks during the measurement, and [`connection`] does
//! everything else on a blocking socket, as [`system`] and [`hyper`] ask. TLS is not spoken.

mod codec;
mod connection;
mod csv;
mod error;
mod flavour;
mod hstore;
mod hyper;
mod layout;
mod load;
mod login;
mod record;
mod reply;
mod statement;
mod system;

use assay_model::{Capabilities, Durability, Schema, Support};

pub use self::hyper::DRIVER as HYPER;
use self::{
    flavour::{Flavour, POSTGRES},
    layout::{Body, Dialect, KeyPlace},
};
use crate::{
    Driver, Layout, Opening, Place, SettingDoc, System, SystemError, Verified, cache::Cache,
};

/// The registry line.
pub static DRIVER: Driver = Driver {
    name: flavour::POSTGRES.name,
    summary: "PostgreSQL 10 or later, without TLS; keys and values are UTF-8 without NUL, and \
              inserting a key that exists is a conflict",
    layouts: &[
        Layout { name: "row", summary: "a text column a field" },
        Layout { name: "hstore", summary: "one hstore document a record (needs the extension)" },
        Layout { name: "jsonb", summary: "one jsonb document a record" },
        Layout {
            name: "json",
            summary: "one json text a record; an update parses, merges and rewrites all of it",
        },
    ],
    settings: &[SettingDoc {
        name: "key",
        default: "column",
        summary: "column: the key is the primary key column; document: it is a member of the \
                  document, with a unique B-tree index on the expression (not in layout row)",
    }],
    place: Place::Server { recipe: flavour::POSTGRES.name, default_port: flavour::POSTGRES.port },
    verified: Verified::ByTests,
    cache: Some(Cache::Sized {
        setting: "shared_buffers",
        value: |mib| format!("{mib}MB"),
        least_mib: 1,
        reason: "the pages that all connections share; PostgreSQL's MB are MiB. What is read past it \
                     comes from the kernel's page cache",
    }),
    rests: |_| false,
    capabilities,
    open,
};

/// A B-tree entry is at most 2,704 bytes, and 12 of them are not the key's.
const MAX_KEY_BYTES: u64 = 2692;
/// Identifiers are cut at this length, so that longer ones could meet.
const MAX_NAME_BYTES: usize = 63;
/// A table has at most 1,600 columns; one is the key.
const MAX_FIELD_COLUMNS: u16 = 1599;

fn capabilities(layout: &str) -> Capabilities {
    Capabilities {
        scan: Support::Native,
        lookup: Support::Native,
        count: Support::Native,
        delete: Support::Native,
        durability: &[
            (Durability::None, "fsync=off, synchronous_commit=off, full_page_writes=off"),
            (Durability::Buffered, "synchronous_commit=off"),
            (Durability::Synced, "fsync=on, synchronous_commit=on"),
        ],
        max_value_bytes: Some(match layout {
            // A string in a jsonb; updates of json go through jsonb.
            "jsonb" | "json" => 0x0fff_ffff,
            // A message with the whole record, its key and lengths is at most 1 GiB - 2.
            _ => 0x3fff_0000,
        }),
        max_key_bytes: Some(MAX_KEY_BYTES),
    }
}

fn open(opening: Opening) -> Result<Box<dyn System>, SystemError> {
    let endpoint = opening.target.clone().server(POSTGRES.name)?;
    let body = Body::of_layout(&opening.layout)
        .ok_or_else(|| POSTGRES.failed("open", format!("no layout '{}'", opening.layout)))?;
    let key = key_place(opening.settings.get("key").map(String::as_str), body)?;
    check_names(&POSTGRES, &opening.schema, body)?;
    let dialect = Dialect { flavour: &POSTGRES, body, key };
    Ok(Box::new(system::Postgres::new(endpoint, dialect, opening)))
}

/// A codec without a server.
#[cfg(feature = "fuzzing")]
pub(crate) fn codec(
    layout: &str,
    key: &str,
    schema: std::sync::Arc<Schema>,
) -> Box<dyn crate::Codec> {
    let body = Body::of_layout(layout).expect("a layout of the driver");
    let key = key_place(Some(key), body).expect("a place for the key in that layout");
    let dialect = Dialect { flavour: &POSTGRES, body, key };
    let statements = std::sync::Arc::new(statement::Statements::new(dialect, &schema));
    Box::new(codec::PostgresCodec::new(statements, dialect, schema))
}

fn key_place(setting: Option<&str>, body: Body) -> Result<KeyPlace, SystemError> {
    let why = match (setting.unwrap_or("column"), body) {
        ("column", _) => return Ok(KeyPlace::Column),
        ("document", Body::Document(_)) => return Ok(KeyPlace::Document),
        ("document", Body::Columns) => {
            "layout row has no document to keep the key in: use key=column, or layout hstore, \
             jsonb or json"
                .to_owned()
        }
        (other, _) => format!("'{other}' is not a place for the key: use column or document"),
    };
    Err(SystemError::BadSetting { system: POSTGRES.name.into(), setting: "key".into(), why })
}

/// Refuses names that the server would cut or cannot hold.
fn check_names(flavour: &Flavour, schema: &Schema, body: Body) -> Result<(), SystemError> {
    let action = format!("lay out the table '{}'", schema.table().escape_debug());
    let columns: &[String] = match body {
        Body::Columns => schema.field_names(),
        Body::Document(_) => &[],
    };
    if schema.field_count() > MAX_FIELD_COLUMNS && matches!(body, Body::Columns) {
        let why = format!(
            "layout row keeps up to {MAX_FIELD_COLUMNS} fields, and there are {}{}",
            schema.field_count(),
            flavour.too_many_columns
        );
        return Err(flavour.failed(&action, why));
    }
    let names = || schema.field_names().iter().map(String::as_str).chain([schema.table()]);
    if names().any(|name| name.contains('\0')) || schema.table().is_empty() {
        let why = "a name is empty or holds a NUL byte: choose another";
        return Err(flavour.failed(&action, why));
    }
    let columns = columns.iter().map(String::as_str);
    match columns.chain([schema.table()]).find(|name| name.len() > MAX_NAME_BYTES) {
        Some(long) => {
            let why = format!("the name '{long}' is longer than {MAX_NAME_BYTES} bytes");
            Err(flavour.failed(&action, why))
        }
        None => Ok(()),
    }
}
