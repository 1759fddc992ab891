//! `cassandra`: Apache Cassandra over its native protocol, version 4, in a codec of ours.
//!
//! A record is a row in a partition of its own, a blob a field. Each operation is one prepared
//! statement, one message: an update names every column and leaves those it does not set unset. Writes
//! are upserts, as Cassandra's are: an insert overwrites, and an update or a delete does not tell
//! whether there was a record. The layout `checked` asks for that by lightweight transactions.
//!
//! One node is spoken to, which coordinates where there are several. Cassandra's secondary indexes
//! answer in no order of the values, so there are no lookups.

mod codec;
#[cfg(test)]
mod codec_tests;
mod connection;
mod error;
mod frame;
mod loader;
mod system;
mod table;

use assay_model::{Capabilities, Durability, Support};

use self::table::Kind;
use crate::{
    Driver, Layout, Opening, Place, SettingDoc, System, SystemError, Verified, cache::Cache,
    link::Server,
};

/// The registry line.
pub static DRIVER: Driver = Driver {
    name: "cassandra",
    summary: "Apache Cassandra 4.1 or later over its native protocol, one node, without TLS",
    layouts: &[
        Layout {
            name: "row",
            summary: "a partition of one row a record; writes are upserts, and an update or delete \
                      of a missing key counts as done; no scans",
        },
        Layout {
            name: "ordered",
            summary: "the same with scans in key order, on a server with \
                      partitioner=ByteOrderedPartitioner",
        },
        Layout {
            name: "checked",
            summary: "a partition of one row a record; every write is a lightweight transaction that \
                      tells whether the key existed; no scans",
        },
    ],
    settings: &[SettingDoc {
        name: "consistency",
        default: "quorum",
        summary: "how many replicas answer for an operation: one, quorum, local_quorum or all; of one \
                  copy it is that one",
    }],
    place: Place::Server { recipe: "cassandra", default_port: 9042 },
    verified: Verified::ByTests,
    cache: Some(Cache::Unsized(
        "it has none of records by default, and reads its tables through the kernel's page cache; \
         heap_mib bounds Java's heap, where no records lie",
    )),
    rests: |_| false,
    capabilities,
    open,
};

const NO_SCAN: &str = "Cassandra orders partitions by a hash of the key; the layout 'ordered' has scans, \
                       on a server with partitioner=ByteOrderedPartitioner";

const NO_INDEX: &str = "Cassandra's secondary indexes answer in no order of the values";

/// The consistency levels, as the protocol numbers them.
const CONSISTENCY: [(&str, u16); 4] =
    [("one", 0x0001), ("quorum", 0x0004), ("local_quorum", 0x0006), ("all", 0x0005)];

/// The longest name of a table.
const MAX_NAME: usize = 48;

fn capabilities(layout: &str) -> Capabilities {
    Capabilities {
        scan: match layout {
            "ordered" => Support::Native,
            _ => Support::Unsupported(NO_SCAN),
        },
        lookup: Support::Unsupported(NO_INDEX),
        count: Support::Native,
        delete: Support::Native,
        durability: &[
            (Durability::None, "a keyspace with durable_writes = false"),
            (Durability::Buffered, "commitlog_sync: periodic"),
            (Durability::Synced, "commitlog_sync: batch"),
        ],
        // A message has 16 MiB, and so has a write in the commit log.
        max_value_bytes: Some(15 << 20),
        max_key_bytes: Some(0xffff),
    }
}

fn open(opening: Opening) -> Result<Box<dyn System>, SystemError> {
    let endpoint = opening.target.server(DRIVER.name)?;
    let given = opening.settings.get("consistency").map_or("quorum", String::as_str);
    let level = CONSISTENCY.iter().find(|(name, _)| *name == given);
    let (_, consistency) = level.ok_or_else(|| SystemError::BadSetting {
        system: DRIVER.name.into(),
        setting: "consistency".into(),
        why: format!("'{given}' is none of {}", CONSISTENCY.map(|(name, _)| name).join(", ")),
    })?;
    let server = Server { name: DRIVER.name, endpoint, timeout: opening.timeout };
    let name = opening.schema.table();
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(word) {
        let why = format!(
            "a table's name has letters, digits and '_' there, up to {MAX_NAME}, and not '{}': \
             choose another with --table",
            name.escape_debug()
        );
        return Err(server.failed("open", why));
    }
    let keyspace = server.endpoint.database.clone();
    let named = keyspace.as_deref().unwrap_or(system::KEYSPACE);
    let table = table::Table::new(opening.schema, named, kind_of(&opening.layout), *consistency);
    Ok(Box::new(system::Cassandra::new(server, table, keyspace, opening.durability)))
}

fn kind_of(layout: &str) -> Kind {
    match layout {
        "ordered" => Kind::Ordered,
        "checked" => Kind::Checked,
        _ => Kind::Hashed,
    }
}

/// A codec without a server.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn codec(
    layout: &str,
    schema: std::sync::Arc<assay_model::Schema>,
) -> Box<dyn crate::Codec> {
    let table = table::Table::new(schema, "ks", kind_of(layout), 1);
    // As at connect: whole records' statements are prepared.
    let ids = (0..).zip(table.statements()).map(|(at, one)| one.eager.then_some([at; 16]));
    let ids = ids.collect();
    Box::new(codec::CassandraCodec::new(std::sync::Arc::new(table), ids))
}
