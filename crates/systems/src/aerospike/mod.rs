//! `aerospike`, over its own protocol, in a codec of ours.
//!
//! A record is one in a set, with a bin a field, whose value is a blob. Keys go as their digests, so
//! the server does not keep the keys themselves, as with Aerospike's own clients unless they are told
//! otherwise. Each operation is one message: a read of all bins or one, an insert that puts the bins in
//! the place of whatever is there (or refuses a key that exists, with the setting `insert=create`), an
//! update of any bins that fails on a missing key (`UPDATE_ONLY`), a delete.
//!
//! Records lie in the order of their digests, so there are no scans in the order of keys; the binding
//! of YCSB has none either. A secondary index has the hashes of a bin's values, so there are lookups of
//! one value, and none of ranges ([`query`]). Their answers have no keys but those that the server keeps, so a
//! table with indexes has it keep them.
//!
//! A node that is alone is spoken to on one socket a client. In a cluster, each record is asked for at the node
//! that has its partition ([`partitions`], [`router`]), and the map of these is kept up to date ([`cluster`]).

mod cluster;
mod codec;
#[cfg(test)]
mod codec_tests;
mod connection;
mod loader;
mod message;
mod partitions;
mod query;
mod router;
#[cfg(test)]
mod router_tests;
mod system;
mod table;

use assay_model::{Capabilities, Durability, FailureKind, Outcome, Support};

use crate::{
    Driver, Layout, Opening, Place, SettingDoc, Settings, System, SystemError, Verified,
    link::Server,
};

/// The registry line.
pub static DRIVER: Driver = Driver {
    name: "aerospike",
    summary: "Aerospike over its own protocol, a socket a client to each node",
    layouts: &[Layout {
        name: "bins",
        summary: "a record in a set, a bin a field; every operation is one message; no scans, \
                  and lookups of one value",
    }],
    settings: &[
        SettingDoc {
            name: "insert",
            default: "replace",
            summary: "replace: an insert of a key that exists overwrites it; create: it is refused \
                      as a conflict",
        },
        SettingDoc {
            name: "commit_level",
            default: "all",
            summary: "all: a write is acknowledged when its replicas have it; master: before that",
        },
    ],
    place: Place::Server { recipe: "aerospike", default_port: 3000 },
    verified: Verified::ByHand("Aerospike Community Edition 8.1.1.2, built from its public source"),
    cache: None,
    rests: |_| false,
    capabilities,
    open,
};

const NO_SCAN: &str = "Aerospike's records have no order by key";

const NO_RANGES: &str = "Aerospike's secondary indexes of bytes have the hashes of the values: they \
                         answer for one value, and neither for ranges nor in an order";

const NO_SUCH_INDEX: &str = "the field has no index";

/// The namespace of a server as it is installed.
const NAMESPACE: &str = "test";

/// The longest name of a bin, and of a set.
const MAX_BIN_NAME: usize = 15;
const MAX_SET_NAME: usize = 63;

fn capabilities(_layout: &str) -> Capabilities {
    Capabilities {
        scan: Support::Unsupported(NO_SCAN),
        lookup: Support::InPart(NO_RANGES),
        count: Support::Native,
        delete: Support::Native,
        durability: &[
            (Durability::None, "storage-engine memory"),
            (Durability::Buffered, "storage-engine device, or memory with files"),
            (
                Durability::Synced,
                "commit-to-device true, which the Enterprise Edition has for namespaces with \
                 strong-consistency",
            ),
        ],
        // `max-record-size` of a namespace, as it is by default, less what a record has around it.
        max_value_bytes: Some((1 << 20) - 4096),
        max_key_bytes: None,
    }
}

fn open(opening: Opening) -> Result<Box<dyn System>, SystemError> {
    let endpoint = opening.target.server(DRIVER.name)?;
    let settings = &opening.settings;
    let insert = match one_of(settings, "insert", ["replace", "create"])? {
        "create" => message::Action::Create,
        _ => message::Action::Replace,
    };
    let master_only = one_of(settings, "commit_level", ["all", "master"])? == "master";
    let namespace = endpoint.database.clone().unwrap_or_else(|| NAMESPACE.into());
    let server = Server { name: DRIVER.name, endpoint, timeout: opening.timeout };
    let schema = opening.schema;
    let bins = schema.field_names().iter().find(|name| name.len() > MAX_BIN_NAME);
    if let Some(name) = bins {
        let why = format!("a field's name has at most {MAX_BIN_NAME} bytes there: '{name}'");
        return Err(server.failed("open", why));
    }
    let set = schema.table();
    if set.len() > MAX_SET_NAME || set.contains([':', ';', '/']) {
        let why = format!(
            "a set's name has at most {MAX_SET_NAME} bytes and none of ':', ';' and '/': choose \
             another with --table"
        );
        return Err(server.failed("open", why));
    }
    let table = table::Table::new(schema, namespace, insert, master_only);
    Ok(Box::new(system::Aerospike::new(server, table, opening.durability)))
}

/// The value of a setting that is one of two words, the first of them if it was not given.
fn one_of(
    settings: &Settings,
    name: &str,
    words: [&'static str; 2],
) -> Result<&'static str, SystemError> {
    let Some(text) = settings.get(name) else { return Ok(words[0]) };
    words.into_iter().find(|word| word == text).ok_or_else(|| SystemError::BadSetting {
        system: DRIVER.name.into(),
        setting: name.into(),
        why: format!("'{text}' is neither {} nor {}", words[0], words[1]),
    })
}

/// A codec without a server.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn codec(schema: std::sync::Arc<assay_model::Schema>) -> Box<dyn crate::Codec> {
    let table = table::Table::new(schema, NAMESPACE.into(), message::Action::Replace, false);
    Box::new(codec::AerospikeCodec::new(std::sync::Arc::new(table)))
}

/// A result code in words.
fn meaning(code: u8) -> String {
    let words = match code {
        1 => "an error of the server",
        2 => "no such record",
        3 => "the record has another generation",
        4 => "a request that it does not understand",
        5 => "the record exists",
        8 => "out of memory or storage, or past its stop-writes limits",
        9 => "its time limit",
        10 => "always forbidden",
        11 => "the partition is not available",
        12 => "a bin of another kind",
        13 => "the record is too big",
        14 => "too many requests for one key",
        18 => "the device cannot keep up",
        20 => "no such namespace",
        22 => "forbidden now",
        80 => "not logged in",
        201 => "no such index",
        203 => "the index is not whole yet",
        _ => return format!("result code {code}"),
    };
    format!("result code {code}: {words}")
}

/// The outcome of an operation that the server refused with `code`.
fn refused(code: u8) -> Outcome {
    let kind = match code {
        2 => return Outcome::Missing,
        3 | 5 | 14 => FailureKind::Conflict,
        8 => FailureKind::Full,
        9 => FailureKind::Timeout,
        _ => FailureKind::Rejected,
    };
    Outcome::failed(kind, meaning(code))
}
