//! `riak`: Riak KV over its HTTP interface (Riak KV 3.0 or later for durability `synced`), in
//! HTTP/1.1 of our own ([`crate::http`]) on connections that stay open.
//!
//! A record is one object in the crate's framing of records; a table of one field stores the field
//! as it is. Keys are text of their own ([`text`]), which is the key itself but for rare bytes.
//! Reading one field reads the object and decodes the field here. There is no update in Riak: one
//! of every field is a `PUT` with `If-Match: *`, which fails on a missing key (the server reads the
//! object first); one of some is a `GET` and a `PUT` with the vector clock that came with it, two
//! round trips. With eventual consistency the later of two such updates at once wins and the other
//! is lost; with strong consistency it is refused (412) and counted as a conflict.
//!
//! The bucket is set to keep one version of an object (`allow_mult` off), so there are no siblings;
//! a server that answers with several all the same (300) is counted as a conflict, never guessed at.
//!
//! A scan is a query of the index `$key`, then a `GET` a record, many requests on their way at a
//! time; a lookup is the same on an index of entries that go with the object in headers. Both skip
//! records that were deleted since: Riak keeps a deleted key listed for three seconds.

mod codec;
#[cfg(test)]
mod codec_tests;
mod connection;
mod loader;
mod page;
mod rows;
mod system;
mod table;
mod text;

use assay_model::{Capabilities, Durability, FailureKind, Outcome, Support};

use crate::{
    Driver, Layout, Opening, Place, SettingDoc, Settings, System, SystemError, Verified,
    cache::Cache, link::Server,
};

/// The registry line.
pub static DRIVER: Driver = Driver {
    name: "riak",
    summary: "Riak KV over its HTTP interface, with eventual or strong consistency",
    layouts: &[
        Layout {
            name: "value",
            summary: "eventual consistency: one object a record, secondary indexes (2i) for scans \
                      and lookups; needs the backend leveldb, leveled or memory",
        },
        Layout {
            name: "value-noindex",
            summary: "eventual consistency: one object a record, no scans; on any backend, Bitcask \
                      too",
        },
        Layout {
            name: "strong",
            summary: "strong consistency: one object a record in a bucket type of that kind, which a \
                      server that Assay starts has with strong_consistency=on; every update and delete \
                      reads first; no scans",
        },
    ],
    settings: SETTINGS,
    place: Place::Server { recipe: "riak", default_port: 8098 },
    verified: Verified::ByHand("Riak KV 3.2.1, one node built from its public source"),
    cache: Some(Cache::Sized {
        setting: "leveldb.maximum_memory",
        value: |mib| format!("{mib}MB"),
        least_mib: 1536,
        reason: "all that LevelDB takes in all partitions; its MB are MiB. Of the 8 partitions each has \
                 write buffers and a log of up to 160 MiB in it, and the rest is cache",
    }),
    rests: |_| false,
    capabilities,
    open,
};

const SETTINGS: &[SettingDoc] = &[
    SettingDoc {
        name: "bucket_type",
        default: "",
        summary: "the bucket type of the table's bucket: default, and strong for the layout strong",
    },
    SettingDoc {
        name: "n_val",
        default: "",
        summary: "copies of each object: 1 on a cluster of one node, where more would lie on the \
                  same disk, and 3 on others",
    },
    SettingDoc { name: "r", default: "quorum", summary: "copies that a read waits for" },
    SettingDoc { name: "w", default: "quorum", summary: "copies that a write waits for" },
    SettingDoc {
        name: "dw",
        default: "quorum",
        summary: "copies that a write waits for until the backend has them",
    },
    SettingDoc { name: "pr", default: "0", summary: "of the r, those on their own nodes" },
    SettingDoc { name: "pw", default: "0", summary: "of the w, those on their own nodes" },
];

/// The settings that are properties of the bucket.
const QUORUMS: [(&str, &str); 5] =
    [("r", "quorum"), ("w", "quorum"), ("dw", "quorum"), ("pr", "0"), ("pw", "0")];

const NO_SCAN: &str = "this layout has no ordered keys; the layout 'value' has, on the backends \
                       leveldb, leveled and memory";

const NO_INDEX: &str = "the table has no secondary index of this field; the layout 'value' keeps \
                        those that a workload asks for";

const COUNTED: &str = "a listing of all keys, which is counted here; after deletes, and with strong \
                       consistency always, each key is asked for, as Riak lists deleted ones too";

fn capabilities(layout: &str) -> Capabilities {
    let indexed = layout == "value";
    let durability: &[_] = match layout {
        // Ensembles write through their own road, which knows no such property.
        "strong" => &[
            (Durability::None, "as buffered: Riak has nothing weaker on a disk"),
            (Durability::Buffered, "sync_on_write is the backend's own"),
        ],
        _ => &[
            (Durability::None, "as buffered: Riak has nothing weaker on a disk; backend memory is"),
            (Durability::Buffered, "bucket property sync_on_write=backend"),
            (Durability::Synced, "bucket property sync_on_write=all"),
        ],
    };
    Capabilities {
        scan: if indexed {
            Support::Emulated(
                "a query of the index $key gives the keys, then each record is read by its key",
            )
        } else {
            Support::Unsupported(NO_SCAN)
        },
        lookup: if indexed {
            Support::Emulated(
                "a query of a secondary index (2i) gives the keys, then each record is read by its \
                 key, without those that changed in between",
            )
        } else {
            Support::Unsupported(NO_INDEX)
        },
        count: Support::Emulated(COUNTED),
        delete: Support::Native,
        durability,
        // Riak's own advice is 1 MiB; larger objects are taken and slow the cluster down.
        max_value_bytes: Some(4 << 20),
        max_key_bytes: Some(1024),
    }
}

fn open(opening: Opening) -> Result<Box<dyn System>, SystemError> {
    let endpoint = opening.target.server(DRIVER.name)?;
    let properties = system::Properties::read(&opening.settings, opening.durability)?;
    let strong = opening.layout == "strong";
    let given = opening.settings.get("bucket_type").map(String::as_str);
    let bucket_type = match given.unwrap_or_default() {
        "" if strong => "strong",
        "" => "default",
        named => named,
    };
    if strong {
        let tuned = QUORUMS.map(|(name, _)| name);
        let tuned = tuned.into_iter().chain(["n_val"]).find(|name| is_set(&opening.settings, name));
        if let Some(name) = tuned {
            return Err(bad_setting(
                name,
                "strong consistency decides by majority, and its copies are the bucket type's: \
                 leave the setting out"
                    .into(),
            ));
        }
    }
    let host = endpoint.address.to_string();
    let table = table::Table::new(opening.schema, &opening.layout, bucket_type, &host);
    let server = Server { name: DRIVER.name, endpoint, timeout: opening.timeout };
    Ok(Box::new(system::Riak::new(server, table, bucket_type.into(), properties)))
}

fn is_set(settings: &Settings, name: &str) -> bool {
    settings.get(name).is_some_and(|value| !value.is_empty())
}

fn bad_setting(name: &str, why: String) -> SystemError {
    SystemError::BadSetting { system: DRIVER.name.into(), setting: name.into(), why }
}

/// A codec without a server.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn codec(
    layout: &str,
    schema: std::sync::Arc<assay_model::Schema>,
) -> Box<dyn crate::Codec> {
    let bucket_type = if layout == "strong" { "strong" } else { "default" };
    let table = table::Table::new(schema, layout, bucket_type, "127.0.0.1:8098");
    Box::new(codec::RiakCodec::new(std::sync::Arc::new(table)))
}

/// A refusal in words.
fn refusal(status: u16, body: &[u8]) -> String {
    const SHOWN: usize = 300;
    let text = String::from_utf8_lossy(&body[..body.len().min(SHOWN)]);
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        [] => format!("HTTP status {status}"),
        words => format!("HTTP status {status}: {}", words.join(" ")),
    }
}

/// The outcome of an operation that the server refused.
fn refused(status: u16, body: &[u8]) -> Outcome {
    match status {
        300 => Outcome::failed(
            FailureKind::Conflict,
            "the record has several versions (siblings): the bucket must have allow_mult off",
        ),
        412 => {
            Outcome::failed(FailureKind::Conflict, "another client changed the record first (412)")
        }
        _ => {
            let message = refusal(status, body);
            let kind = if message.contains("enospc") {
                FailureKind::Full
            } else if status == 503 && message.contains("timed out") {
                FailureKind::Timeout
            } else {
                FailureKind::Rejected
            };
            Outcome::failed(kind, message)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_apart() {
        for (status, body, kind) in [
            (300, &b"Siblings:\n16vic4eU9ny46o4KPiDz1f\n"[..], FailureKind::Conflict),
            (412, b"<html><head><title>412 Precondition Failed</title>", FailureKind::Conflict),
            (503, b"request timed out\n", FailureKind::Timeout),
            (503, b"PW-value unsatisfied: 1/2\n", FailureKind::Rejected),
            (500, b"Error:\nunavailable\n", FailureKind::Rejected),
            (500, b"Error:\n{error,{file_error,enospc}}\n", FailureKind::Full),
            (
                400,
                b"Specified w/dw/pw values invalid for bucket n value of 3",
                FailureKind::Rejected,
            ),
        ] {
            assert_eq!(refused(status, body).failure_kind(), Some(kind), "{status}");
        }
        assert_eq!(refusal(500, b"Error:\nunavailable\n"), "HTTP status 500: Error: unavailable");
        assert_eq!(refusal(400, b""), "HTTP status 400");
    }
}
