//! `voltdb`: VoltDB, the descendant of H-Store, over its own protocol, in a codec of ours.
//!
//! Every operation is one call of a stored procedure. [`procedures`] says which there are and how they
//! are declared, [`message`] what goes over the wire, [`codec`] speaks during the measurement, and
//! [`connection`] does everything else on a blocking socket, as [`system`] asks. TLS is not spoken.
//!
//! A client calls at the node that it is connected to. In a cluster that node passes a call on to the
//! one that has the partition, as for any client without affinity.

mod codec;
#[cfg(test)]
mod codec_tests;
mod connection;
mod loader;
mod message;
mod procedures;
mod system;

use assay_model::{Capabilities, Durability, Support};

use self::procedures::{Procedures, Spread};
use crate::{
    Driver, Layout, Opening, Place, SettingDoc, System, SystemError, Verified, cache::Cache,
    link::Server, registry::whole_number,
};

/// The registry line.
pub static DRIVER: Driver = Driver {
    name: "voltdb",
    summary: "VoltDB, without TLS (10.1.1 was tried): every operation is one call of a stored \
              procedure; inserting a key that exists is a conflict",
    layouts: &[
        Layout {
            name: "partitioned",
            summary: "a row in the partition of its key, which runs its operations one after another; \
                      scans and lookups ask every partition",
        },
        Layout {
            name: "replicated",
            summary: "every row on every site: reads, scans and lookups ask one, writes stop all",
        },
    ],
    settings: &[SettingDoc {
        name: KEY_BYTES,
        default: "1024",
        summary: "the longest key: up to 63 bytes it lies in the row itself, and elsewhere otherwise",
    }],
    place: Place::Server { recipe: "voltdb", default_port: 21212 },
    verified: Verified::ByTests,
    cache: Some(Cache::Unsized("all its records are in memory")),
    rests: |_| false,
    capabilities,
    open,
};

const KEY_BYTES: &str = "key_bytes";
const MAX_KEY_BYTES: u64 = 1024;

/// Ten fields of this length and the longest key fill a row, which has at most 2 MiB.
const MAX_VALUE_BYTES: u64 = 200 << 10;

fn capabilities(_layout: &str) -> Capabilities {
    Capabilities {
        scan: Support::Native,
        lookup: Support::Native,
        count: Support::Native,
        delete: Support::Native,
        durability: &[(Durability::None, "memory only: no command log")],
        max_value_bytes: Some(MAX_VALUE_BYTES),
        max_key_bytes: Some(MAX_KEY_BYTES),
    }
}

fn open(opening: Opening) -> Result<Box<dyn System>, SystemError> {
    let endpoint = opening.target.server(DRIVER.name)?;
    let server = Server { name: DRIVER.name, endpoint, timeout: opening.timeout };
    if let Some(name) = &server.endpoint.database {
        let why = format!("it has one database without a name: leave '/{name}' out of the URL");
        return Err(server.failed("open", why));
    }
    let spread = Spread::of_layout(&opening.layout)
        .ok_or_else(|| server.failed("open", format!("no layout '{}'", opening.layout)))?;
    let range = 1..=MAX_KEY_BYTES;
    let key_bytes = whole_number(DRIVER.name, &opening.settings, KEY_BYTES, MAX_KEY_BYTES, range)?;
    let schema = opening.schema;
    procedures::check_names(&schema).map_err(|why| {
        server.failed(&format!("lay out the table '{}'", schema.table().escape_debug()), why)
    })?;
    let procedures = Procedures::new(spread, &schema, key_bytes);
    Ok(Box::new(system::Volt::new(server, spread, schema, procedures)))
}

/// A codec without a server.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn codec(
    layout: &str,
    schema: std::sync::Arc<assay_model::Schema>,
) -> Box<dyn crate::Codec> {
    let spread = Spread::of_layout(layout).expect("a layout of the driver");
    let procedures = Procedures::new(spread, &schema, MAX_KEY_BYTES);
    Box::new(codec::VoltCodec::new(schema, std::sync::Arc::new(procedures)))
}
