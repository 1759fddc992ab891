//! Several servers of Redis or Valkey that do not know of each other: the programs of [`redis`](super::redis),
//! which work on commands with one thread each.

use std::{collections::BTreeMap, ffi::OsString};

use assay_model::Address;

use super::redis::{self, FAMILY};
use crate::recipe::{Recipe, Runs, SettingDoc, Site};

/// How many servers there are.
pub(crate) const INSTANCES: &str = "instances";

pub(crate) static REDIS: Recipe = Recipe {
    name: "redis-instances",
    runs: Runs::Instances(redis::REDIS.name),
    product: redis::REDIS.product,
    binary: redis::REDIS.binary,
    packages: redis::REDIS.packages,
    sources: redis::REDIS.sources,
    version_in: redis::REDIS.version_in,
    ..SEVERAL
};

pub(crate) static VALKEY: Recipe = Recipe {
    name: "valkey-instances",
    runs: Runs::Instances(redis::VALKEY.name),
    product: redis::VALKEY.product,
    binary: redis::VALKEY.binary,
    packages: redis::VALKEY.packages,
    sources: redis::VALKEY.sources,
    version_in: redis::VALKEY.version_in,
    ..SEVERAL
};

/// What both have in common.
const SEVERAL: Recipe = Recipe {
    settings: &[
        SettingDoc {
            name: INSTANCES,
            default: "3",
            summary: "how many servers the client spreads the records over, each a process of its own",
        },
        SettingDoc {
            name: "port",
            default: "",
            summary: "TCP port of the first server, the others have the next ones; the system picks \
                      free ones if not given",
        },
        SettingDoc {
            name: "maxmemory-policy",
            default: "noeviction",
            summary: "a full server refuses writes instead of dropping records unnoticed",
        },
        SettingDoc {
            name: "protected-mode",
            default: "yes",
            summary: "connections from other machines are refused",
        },
    ],
    other_settings: "any directive of redis.conf, which every server gets, for example maxmemory=1gb",
    arguments,
    ..FAMILY
};

fn arguments(
    site: &Site<'_>,
    address: &Address,
    settings: &BTreeMap<String, String>,
) -> Vec<OsString> {
    let mut own = settings.clone();
    own.remove(INSTANCES);
    redis::arguments(site, address, &own)
}
