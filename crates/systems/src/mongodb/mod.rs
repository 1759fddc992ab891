//! `mongodb`: MongoDB over its own protocol, OP_MSG, with a record as a document. `secantusdb` is the
//! same driver on SecantusDB, which speaks that protocol: a stand-in to test the driver with, where
//! there is no MongoDB. Its figures are not MongoDB's, and every report says so.
//!
//! [`layout`] says how a record is a document, [`commands`] what is asked, [`codec`] speaks during the
//! measurement, and [`connection`] does everything else on a blocking socket, as [`system`] asks. TLS
//! is not spoken.

mod bson;
mod codec;
mod commands;
mod connection;
mod error;
mod layout;
mod load;
mod login;
mod message;
mod scram;
mod system;

use std::fmt;

use assay_model::{Capabilities, Durability, Schema, Support};

use self::layout::{Coding, ID};
use crate::{Driver, Layout, Opening, Place, System, SystemError, Verified, cache::Cache};

/// The registry line of MongoDB.
pub static MONGODB: Driver = Driver {
    name: "mongodb",
    summary: "MongoDB 4.4 or later, one server or a replica set's primary, without TLS; keys are \
              UTF-8, and inserting a key that exists is a conflict",
    layouts: LAYOUTS,
    settings: &[],
    place: Place::Server { recipe: "mongodb", default_port: 27017 },
    verified: Verified::Never,
    cache: Some(Cache::Sized {
        setting: "wiredTigerCacheSizeGB",
        value: |mib| (mib as f64 / 1024.0).to_string(),
        least_mib: 256,
        reason: "WiredTiger's cache, in GiB as MongoDB means it; 0.25 is the least that it takes",
    }),
    rests: |_| false,
    capabilities,
    open: |opening| open(&Flavour { name: "mongodb", product: "MongoDB" }, opening),
};

/// The registry line of SecantusDB.
pub static SECANTUSDB: Driver = Driver {
    name: "secantusdb",
    summary: "SecantusDB, which speaks MongoDB's protocol: a stand-in to test with; its speed says \
              nothing about MongoDB",
    layouts: LAYOUTS,
    settings: &[],
    place: Place::Server { recipe: "secantusdb", default_port: 27017 },
    verified: Verified::ByTests,
    cache: Some(Cache::Sized {
        setting: "cache-size",
        value: |mib| format!("{mib}M"),
        least_mib: 64,
        reason: "WiredTiger's cache; its M are MiB. With much less its loads come to a stand",
    }),
    rests: |_| false,
    capabilities: stand_in_capabilities,
    open: |opening| open(&Flavour { name: "secantusdb", product: "SecantusDB" }, opening),
};

const LAYOUTS: &[Layout] = &[
    Layout { name: "document", summary: "a document of strings a record, the key in _id" },
    Layout {
        name: "binary",
        summary: "a document of binary data a record, as YCSB's client stores them; no lookups",
    },
];

/// Which of the products that speak the protocol is meant.
#[derive(Clone, Copy, Debug)]
struct Flavour {
    /// The driver's name.
    name: &'static str,
    /// The product's own name.
    product: &'static str,
}

impl Flavour {
    fn failed(&self, action: &str, why: impl fmt::Display) -> SystemError {
        SystemError::Failed {
            system: self.name.into(),
            action: action.into(),
            why: why.to_string(),
        }
    }
}

/// A document is at most 16 MiB; names, lengths and the key take their share.
const MAX_VALUE_BYTES: u64 = 0x00ff_0000;
/// The longest name of a collection with that of its database before it, in bytes.
const MAX_NAME_BYTES: usize = 255;

const NO_LOOKUP: &str = "MongoDB orders binary data by length first; the layout 'document' has \
                         strings, which are ordered by their bytes";

fn capabilities(layout: &str) -> Capabilities {
    Capabilities {
        scan: Support::Native,
        lookup: match layout {
            "binary" => Support::Unsupported(NO_LOOKUP),
            _ => Support::Native,
        },
        count: Support::Native,
        delete: Support::Native,
        durability: &[
            (Durability::None, "w: 1, j: false; journalCommitInterval=500"),
            (Durability::Buffered, "w: 1, j: false; journalCommitInterval=100"),
            (Durability::Synced, "w: 1, j: true"),
        ],
        max_value_bytes: Some(MAX_VALUE_BYTES),
        max_key_bytes: None,
    }
}

/// Its log has no interval to set.
fn stand_in_capabilities(layout: &str) -> Capabilities {
    Capabilities {
        durability: &[
            (Durability::None, "w: 1, j: false"),
            (Durability::Buffered, "w: 1, j: false"),
            (Durability::Synced, "w: 1, j: true"),
        ],
        ..capabilities(layout)
    }
}

fn open(flavour: &Flavour, opening: Opening) -> Result<Box<dyn System>, SystemError> {
    let endpoint = opening.target.server(flavour.name)?;
    let coding = Coding::of_layout(&opening.layout)
        .ok_or_else(|| flavour.failed("open", format!("no layout '{}'", opening.layout)))?;
    let database = endpoint.database.clone().unwrap_or_else(|| DEFAULT_DATABASE.to_owned());
    check_names(flavour, &opening.schema, &database)?;
    Ok(Box::new(system::Mongo::new(
        *flavour,
        endpoint,
        database,
        coding,
        opening.schema,
        opening.durability,
        opening.timeout,
    )))
}

/// The database of an endpoint that names none. The server makes one when a collection is made in it.
const DEFAULT_DATABASE: &str = "assay";

/// A codec without a server.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn codec(layout: &str, schema: std::sync::Arc<Schema>) -> Box<dyn crate::Codec> {
    let coding = Coding::of_layout(layout).expect("a layout of the driver");
    let commands = commands::Commands::new(schema, coding, "db", Durability::None);
    Box::new(codec::MongoCodec::new(std::sync::Arc::new(commands), 0))
}

/// Refuses names that the server cannot hold, or would take for something else.
fn check_names(flavour: &Flavour, schema: &Schema, database: &str) -> Result<(), SystemError> {
    let table = schema.table();
    let action = format!("lay out the collection '{}'", table.escape_debug());
    let refuse = |why: String| Err(flavour.failed(&action, why));
    if table.is_empty() || table.contains(['\0', '$']) || table.starts_with("system.") {
        return refuse(
            "a collection's name is not empty, holds neither '$' nor a NUL byte, and does not \
             begin with 'system.': choose another with --table"
                .into(),
        );
    }
    if database.len() + 1 + table.len() > MAX_NAME_BYTES {
        return refuse(format!(
            "with that of its database, '{database}', its name is longer than {MAX_NAME_BYTES} \
             bytes: choose a shorter one with --table"
        ));
    }
    let bad = |name: &&String| {
        name.is_empty() || name.contains(['\0', '.']) || name.starts_with('$') || *name == ID
    };
    match schema.field_names().iter().find(bad) {
        Some(name) => refuse(format!(
            "'{}' cannot be a member: a name is not '{ID}', is not empty, holds neither '.' nor a \
             NUL byte, and does not begin with '$'",
            name.escape_debug()
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(schema: &Schema, database: &str) -> Option<String> {
        let flavour = Flavour { name: "mongodb", product: "MongoDB" };
        check_names(&flavour, schema, database).err().map(|error| error.to_string())
    }

    #[test]
    fn names_that_mean_something_else_are_refused() {
        assert_eq!(refusal(&Schema::new("usertable", "field", 3), "db"), None);
        for (table, prefix) in [
            ("", "f"),
            ("a$b", "f"),
            ("system.users", "f"),
            ("a\0", "f"),
            ("t", "$f"),
            ("t", "a.b"),
        ] {
            assert!(refusal(&Schema::new(table, prefix, 1), "db").is_some(), "{table} {prefix}");
        }
        let long = "t".repeat(250);
        let why = refusal(&Schema::new(&long, "f", 1), "database").unwrap();
        assert!(why.contains("--table"), "{why}");
    }
}
