//! `mariadb` and `mysql`: one driver for both, with a record as a row of columns or as one JSON
//! document.
//!
//! [`flavour`] says what differs between the two, [`layout`] how each layout keeps records,
//! [`statement`] what SQL follows, [`codec`] speaks during the measurement, and [`connection`] does
//! everything else on a blocking socket, as [`system`] asks. TLS is not spoken.

mod auth;
mod codec;
mod connection;
mod error;
mod flavour;
mod layout;
mod load;
mod login;
mod packet;
mod reply;
mod statement;
mod system;

use assay_model::{Capabilities, Durability, Schema, Support};

use self::{flavour::Flavour, layout::Body};
use crate::{Driver, Layout, Opening, Place, System, SystemError, Verified, cache::Cache};

/// InnoDB's, in both products.
const CACHE: Cache = Cache::Sized {
    setting: "innodb_buffer_pool_size",
    value: |mib| format!("{mib}M"),
    least_mib: 8,
    reason: "the pages of InnoDB's tables and indexes; its M are MiB",
};

/// The registry line of MariaDB.
pub static MARIADB: Driver = Driver {
    name: flavour::MARIADB.name,
    summary: "MariaDB 10.2 or later with InnoDB, without TLS; inserting a key that exists is a \
              conflict",
    layouts: &[
        ROW,
        Layout {
            name: "json",
            summary: "one JSON document a record, which MariaDB keeps as a checked text; a stored \
                      generated column has the key",
        },
    ],
    settings: &[],
    place: Place::Server { recipe: flavour::MARIADB.name, default_port: 3306 },
    verified: Verified::ByTests,
    cache: Some(CACHE),
    rests: |_| false,
    capabilities,
    open: |opening| open(&flavour::MARIADB, opening),
};

/// The registry line of MySQL.
pub static MYSQL: Driver = Driver {
    name: flavour::MYSQL.name,
    summary: "MySQL 5.6 or later with InnoDB, without TLS; inserting a key that exists is a conflict",
    layouts: &[
        ROW,
        Layout {
            name: "json",
            summary: "one document of MySQL's binary JSON a record (from 5.7.22 on); a stored \
                      generated column has the key",
        },
    ],
    settings: &[],
    place: Place::Server { recipe: flavour::MYSQL.name, default_port: 3306 },
    verified: Verified::ByTests,
    cache: Some(CACHE),
    rests: |_| false,
    capabilities,
    open: |opening| open(&flavour::MYSQL, opening),
};

const ROW: Layout = Layout { name: "row", summary: "a column of any bytes a field" };

/// The longest name of a table or column, in characters.
const MAX_NAME_CHARS: usize = 64;
/// A table has at most 1,017 columns; one is the key.
const MAX_FIELD_COLUMNS: u16 = 1016;

fn capabilities(layout: &str) -> Capabilities {
    Capabilities {
        scan: Support::Native,
        lookup: Support::Native,
        count: Support::Native,
        delete: Support::Native,
        durability: &[
            (Durability::None, "innodb_flush_log_at_trx_commit=0, innodb_doublewrite=OFF"),
            (Durability::Buffered, "innodb_flush_log_at_trx_commit=2"),
            (Durability::Synced, "innodb_flush_log_at_trx_commit=1"),
        ],
        // A record goes in one message, of which MariaDB's servers take 16 MiB by default; escapes
        // can make a document six times as long.
        max_value_bytes: Some(if layout == "json" { 0x00ff_0000 / 6 } else { 0x00ff_0000 }),
        max_key_bytes: Some(layout::INDEXED_BYTES),
    }
}

fn open(flavour: &'static Flavour, opening: Opening) -> Result<Box<dyn System>, SystemError> {
    let endpoint = opening.target.server(flavour.name)?;
    let body = Body::of_layout(&opening.layout)
        .ok_or_else(|| flavour.failed("open", format!("no layout '{}'", opening.layout)))?;
    check_names(flavour, &opening.schema, body)?;
    Ok(Box::new(system::Mysql::new(
        flavour,
        endpoint,
        body,
        opening.schema,
        opening.durability,
        opening.timeout,
    )))
}

/// Why a server of this version cannot keep records in this layout of one of the two drivers, if it
/// cannot.
pub(crate) fn needs_newer(driver: &str, layout: &str, version: &str) -> Option<String> {
    let flavour = [&flavour::MARIADB, &flavour::MYSQL].into_iter().find(|of| of.name == driver)?;
    match Body::of_layout(layout)? {
        Body::Columns => None,
        _ => flavour.without_documents(version),
    }
}

/// A codec without a server.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn codec(layout: &str, schema: std::sync::Arc<Schema>) -> Box<dyn crate::Codec> {
    let body = Body::of_layout(layout).expect("a layout of the driver");
    let statements = statement::Statements::new(body, "`db`.`t`", &schema);
    // As at connect: those are prepared that are not about single fields of many.
    let prepared = (1..).zip(statements.iter()).map(|(id, one)| one.eager.then_some(id)).collect();
    let statements = std::sync::Arc::new(statements);
    Box::new(codec::MysqlCodec::new(statements, body, schema, 1 << 16, prepared))
}

/// Refuses names that the server cannot hold.
fn check_names(flavour: &Flavour, schema: &Schema, body: Body) -> Result<(), SystemError> {
    let action = format!("lay out the table '{}'", schema.table().escape_debug());
    let columns = match body {
        Body::Columns => schema.field_names(),
        Body::Document => &[],
    };
    if columns.len() > usize::from(MAX_FIELD_COLUMNS) {
        let why = format!(
            "layout row keeps up to {MAX_FIELD_COLUMNS} fields, and there are {}: use json",
            columns.len()
        );
        return Err(flavour.failed(&action, why));
    }
    let bad = |name: &str| name.is_empty() || name.contains('\0') || name.ends_with(' ');
    let mut names = schema.field_names().iter().map(String::as_str).chain([schema.table()]);
    if names.any(bad) {
        let why = "a name is empty, ends in a blank or holds a NUL byte: choose another";
        return Err(flavour.failed(&action, why));
    }
    let mut columns = columns.iter().map(String::as_str).chain([schema.table()]);
    match columns.find(|name| name.chars().count() > MAX_NAME_CHARS) {
        Some(long) => {
            let why = format!("the name '{long}' is longer than {MAX_NAME_CHARS} characters");
            Err(flavour.failed(&action, why))
        }
        None => Ok(()),
    }
}
