//! Redis Cluster and Valkey Cluster: the programs of [`redis`](super::redis), several processes each.

use std::{collections::BTreeMap, ffi::OsString};

use assay_model::Address;

use super::redis::{self, FAMILY};
use crate::{
    ready::Probe,
    recipe::{Recipe, Runs, SettingDoc, Site},
};

/// How many masters there are.
pub(crate) const NODES: &str = "nodes";
/// How many replicas each of them has.
pub(crate) const REPLICAS: &str = "replicas";

pub(crate) static REDIS: Recipe = Recipe {
    name: "redis-cluster",
    product: redis::REDIS.product,
    binary: redis::REDIS.binary,
    runs: Runs::Cluster(redis::REDIS.name),
    packages: redis::REDIS.packages,
    sources: redis::REDIS.sources,
    version_in: redis::REDIS.version_in,
    ..CLUSTER
};

pub(crate) static VALKEY: Recipe = Recipe {
    name: "valkey-cluster",
    product: redis::VALKEY.product,
    binary: redis::VALKEY.binary,
    runs: Runs::Cluster(redis::VALKEY.name),
    packages: redis::VALKEY.packages,
    sources: redis::VALKEY.sources,
    version_in: redis::VALKEY.version_in,
    ..CLUSTER
};

/// What both have in common.
const CLUSTER: Recipe = Recipe {
    settings: &[
        SettingDoc {
            name: NODES,
            default: "3",
            summary: "how many masters share the 16,384 slots, each a process of its own",
        },
        SettingDoc {
            name: REPLICAS,
            default: "0",
            summary: "how many replicas each master has, each a process of its own",
        },
        SettingDoc {
            name: "port",
            default: "",
            summary: "TCP port of the first node, the others have the next ones; the system picks \
                      free ones if not given",
        },
        SettingDoc {
            name: "cluster-node-timeout",
            default: "5000",
            summary: "milliseconds without an answer after which a node counts as failed and a \
                      replica takes its place",
        },
        SettingDoc {
            name: "repl-diskless-sync-delay",
            default: "0",
            summary: "a replica is filled at once: nobody else is to come",
        },
        SettingDoc {
            name: "maxmemory-policy",
            default: "noeviction",
            summary: "a full node refuses writes instead of dropping records unnoticed",
        },
        SettingDoc {
            name: "protected-mode",
            default: "yes",
            summary: "connections from other machines are refused",
        },
    ],
    other_settings: "any directive of redis.conf, which every node gets, for example io-threads=2",
    probe: Probe::RedisCluster,
    arguments,
    ..FAMILY
};

fn arguments(
    site: &Site<'_>,
    address: &Address,
    settings: &BTreeMap<String, String>,
) -> Vec<OsString> {
    let mut own = settings.clone();
    own.remove(NODES);
    own.remove(REPLICAS);
    let mut args = redis::arguments(site, address, &own);
    for (name, value) in [("cluster-enabled", "yes"), ("cluster-config-file", "nodes.conf")] {
        args.extend([format!("--{name}").into(), value.into()]);
    }
    args
}
