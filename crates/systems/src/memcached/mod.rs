//! `memcached`, over the meta commands of its text protocol (server 1.6 or later).
//!
//! A record is one value in the crate's framing of records; a table of one field stores the field
//! as it is. Reading one field reads the record and decodes the field here. An update of every
//! field is `ms … MR`, which fails on a missing key; an update of some reads the record with its
//! CAS number and stores it on condition that the number still holds, again up to
//! [`CAS_ATTEMPTS`] times. An insert overwrites a record that exists.
//!
//! Keys with spaces or control characters go in base64 (flag `b`), which shortens the longest to
//! 186 bytes.

mod codec;
#[cfg(test)]
mod codec_tests;
mod connection;
mod loader;
mod meta;
mod system;

use assay_model::{Capabilities, Durability, FailureKind, NO_INDEXES, Outcome, Support};

use crate::{
    Driver, Layout, Opening, Place, System, SystemError, Verified, cache::Cache, link::Server,
};

/// The registry line.
pub static DRIVER: Driver = Driver {
    name: "memcached",
    summary: "Memcached over the meta commands of its text protocol",
    layouts: &[Layout {
        name: "value",
        summary: "one value a record; reading one field reads all, updating some of several reads \
                  the record and writes it back by compare-and-swap; no scans",
    }],
    settings: &[],
    place: Place::Server { recipe: "memcached", default_port: 11211 },
    verified: Verified::ByTests,
    cache: Some(Cache::Unsized(
        "all its records are in memory; memory_mib is the room for them, and not a cache of others",
    )),
    rests: |_| true,
    capabilities: |_| Capabilities {
        scan: Support::Unsupported(NO_SCANS),
        lookup: Support::Unsupported(NO_INDEXES),
        count: Support::Emulated("the server's count of all its items, no others being there"),
        delete: Support::Native,
        durability: &[(Durability::None, "memory only")],
        max_value_bytes: Some(MAX_RECORD_BYTES),
        max_key_bytes: Some(MAX_KEY_BYTES as u64),
    },
    open,
};

const NO_SCANS: &str = "memcached has no ordered keys";

/// The longest key on the wire.
const MAX_KEY_BYTES: usize = 250;

/// An item of 8 MiB, which Assay starts the server with (`-I`), less room for its header, its key
/// and the framing. A server that was started by others may refuse more than 1 MiB.
const MAX_RECORD_BYTES: u64 = (8 << 20) - 4096;

/// How often an update of some fields tries before it gives way to other clients.
const CAS_ATTEMPTS: u32 = 16;

fn open(opening: Opening) -> Result<Box<dyn System>, SystemError> {
    let endpoint = opening.target.server(DRIVER.name)?;
    let server = Server { name: DRIVER.name, endpoint, timeout: opening.timeout };
    Ok(Box::new(system::Memcached::new(server, opening.schema.field_count())))
}

/// A codec without a server.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn codec(field_count: u16) -> Box<dyn crate::Codec> {
    Box::new(codec::MetaCodec::new(field_count))
}

/// The outcome of an operation that the server refused with `error`.
fn refused(error: &[u8]) -> Outcome {
    const SHOWN: usize = 300;
    let message = String::from_utf8_lossy(&error[..error.len().min(SHOWN)]);
    let full = message.starts_with("SERVER_ERROR out of memory");
    let kind = if full { FailureKind::Full } else { FailureKind::Rejected };
    Outcome::failed(kind, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_apart() {
        for (error, kind) in [
            (&b"SERVER_ERROR out of memory storing object"[..], FailureKind::Full),
            (b"SERVER_ERROR object too large for cache", FailureKind::Rejected),
            (b"CLIENT_ERROR bad command line format", FailureKind::Rejected),
        ] {
            assert_eq!(refused(error).failure_kind(), Some(kind));
        }
    }
}
