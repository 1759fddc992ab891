//! MongoDB, and SecantusDB, which speaks its protocol and stands in for it in tests.

use std::{collections::BTreeMap, ffi::OsString};

use assay_model::{Address, Durability, Endpoint};

use super::{PLACE, PROMISE, SECRET};
use crate::{
    python::{PinnedWheel, Program},
    ready::Probe,
    recipe::{IN_USE, Level, Recipe, Runs, SettingDoc, Site, Source},
    warden::protocol::StopSignal,
};

const PORT: SettingDoc = SettingDoc {
    name: "port",
    default: "",
    summary: "TCP port; the system picks a free one if not given",
};

const USUAL_FOLDERS: &[&str] = &[
    "/usr/bin",
    "/usr/local/bin",
    "/opt/*/bin",
    "/usr/local/*/bin",
    "/home/linuxbrew/.linuxbrew/bin",
];

pub(crate) static MONGODB: Recipe = Recipe {
    name: "mongodb",
    product: "MongoDB",
    binary: "mongod",
    runs: Runs::Program,
    packages: "MongoDB Community Server from mongodb.com/try/download/community or MongoDB's own \
               package repositories (mongodb-org-server)",
    levels: &[
        Level {
            durability: Durability::None,
            settings: &[("journalCommitInterval", "500")],
            meaning: "a write is acknowledged from memory; the journal, which MongoDB has had no \
                      switch for since 6.1, goes to the disk every 500 ms, the longest it may wait",
        },
        Level {
            durability: Durability::Buffered,
            settings: &[("journalCommitInterval", "100")],
            meaning: "a write is acknowledged when it is in the journal's buffer, which goes to the \
                      disk every 100 ms, MongoDB's own default: a crash of the server or of the \
                      machine may lose that much",
        },
        Level {
            durability: Durability::Synced,
            settings: &[("journalCommitInterval", "100")],
            meaning: "a write asks for its journal entry to be on the disk before it is \
                      acknowledged (j: true)",
        },
    ],
    settings: &[
        PORT,
        SettingDoc {
            name: "wiredTigerCacheSizeGB",
            default: "0.25",
            summary: "the cache of the storage engine; MongoDB's own default is half of the \
                      machine's memory, which would not be comparable",
        },
    ],
    other_settings: "any option of mongod, as it is written there, for example maxConns=2000",
    companions: &[],
    usual_folders: USUAL_FOLDERS,
    sources: &[],
    version_in: |text| text.trim_start().strip_prefix("db version v")?.split_whitespace().next(),
    word_separator: "",
    reserved: &[
        ("journalCommitInterval", PROMISE),
        ("journal", PROMISE),
        ("nojournal", PROMISE),
        ("storageEngine", PROMISE),
        ("inMemorySizeGB", PROMISE),
        ("config", PLACE),
        ("configExpand", PLACE),
        ("dbpath", PLACE),
        ("bind_ip", PLACE),
        ("bind_ip_all", PLACE),
        ("ipv6", PLACE),
        ("unixSocketPrefix", PLACE),
        ("nounixsocket", PLACE),
        ("fork", PLACE),
        ("pidfilepath", PLACE),
        ("logpath", PLACE),
        ("syslog", PLACE),
        ("replSet", PLACE),
        ("shardsvr", PLACE),
        ("configsvr", PLACE),
        ("auth", SECRET),
        ("keyFile", SECRET),
        ("clusterAuthMode", SECRET),
        ("tlsMode", SECRET),
        ("tlsCertificateKeyFile", SECRET),
    ],
    stop: StopSignal::Terminate,
    probe: Probe::Mongodb,
    port_taken: IN_USE,
    configuration: None,
    prepare: None,
    arguments: mongod_arguments,
    socket_name: Some("mongodb.sock"),
    endpoint: Endpoint::at,
};

fn mongod_arguments(
    site: &Site<'_>,
    address: &Address,
    settings: &BTreeMap<String, String>,
) -> Vec<OsString> {
    let mut args: Vec<OsString> = vec!["--dbpath".into(), site.data.clone().into()];
    match address {
        Address::Tcp { host, port } => {
            args.extend(["--bind_ip".into(), host.into(), "--nounixsocket".into()]);
            args.extend(["--port".into(), port.to_string().into()]);
        }
        // Bound to a path and to no address, it listens there alone.
        Address::Unix(path) => args.extend(["--bind_ip".into(), path.into()]),
    }
    for (name, value) in settings {
        args.push(format!("--{name}").into());
        if !value.is_empty() {
            args.push(value.into());
        }
    }
    args
}

pub(crate) static SECANTUSDB: Recipe = Recipe {
    name: "secantusdb",
    product: "SecantusDB",
    binary: "secantusd",
    runs: Runs::Program,
    packages: "the Python package secantusdb, whose program tells no version: fetch it",
    levels: &[
        Level {
            durability: Durability::None,
            settings: &[],
            meaning: "a write is acknowledged when it is in the log's buffer, as at buffered",
        },
        Level {
            durability: Durability::Buffered,
            settings: &[],
            meaning: "a write is acknowledged when it is in the log's buffer",
        },
        Level {
            durability: Durability::Synced,
            settings: &[],
            meaning: "a write asks for the log to be synced before it is acknowledged (j: true)",
        },
    ],
    settings: &[
        PORT,
        SettingDoc {
            name: "cache-size",
            default: "256M",
            summary: "the cache of the storage engine, WiredTiger",
        },
        SettingDoc {
            name: "log-level",
            default: "WARNING",
            summary: "what is logged; its own default has a line for each connection",
        },
    ],
    other_settings: "any option with a value of secantusd-py, for example session-max=2000",
    companions: &[],
    usual_folders: USUAL_FOLDERS,
    sources: &[Source::Python(Program {
        wheels: &[
            PinnedWheel {
                package: "secantusdb",
                version: "0.7.0b3",
                sha256: &[
                    "0a21af2f488d5263c45beb328e68cea989217edf6a385fc491c24ea62ac3cec0",
                    "ba26333efc24f3b6c621ffa0b463a15e0d5f75ed34b33f6eeede8a3f9af2a64e",
                    "6240de589ec53a4de0701d026e9131097464ac5a1eaa47eb0001c5fcb76a9150",
                    "9378836e42d2dd6cf7b750d0af01b2119eb0f0c1be0e5b3541450c2c0f0e4aed",
                    "17e39ed4b962be8f79d7554e06b9d5f02f8fb4f27cde7ed454f9024f645d00c1",
                    "edbfc1a9652ff25c23eeafc6091044114578bbf5915fd7b0f5d6db8469453693",
                ],
            },
            PinnedWheel {
                package: "pymongo",
                version: "4.20.0",
                sha256: &[
                    "f04ead86207f1452ed0919398db9fddb61ed6564e1e42b97ed48c352dca94ccb",
                    "5bc6935e32bb0e107628cc2e012e754c2e19745fd84e102ef047e1e4dd2882de",
                    "c8d695149898ac6bb277ecef7292cf95cdd5f55049f903f9f189031fd07848cd",
                    "3eed80e4cbff2bc91846110d9f0e2de14fe98dc2ea49db5d4e1a510e4ba4e3cc",
                    "610c92f225ae994379065f3bf11e27c1c0b219c9ae4e432070d61bdf46064b70",
                    "1eea226b3a93180de36cd31c445fbd9c4b46f254abc6e4384c0778e5579137a3",
                ],
            },
            PinnedWheel {
                package: "shapely",
                version: "2.2.0",
                sha256: &[
                    "5d61088e2ef71dafad0dd4fae8a521cc1f20da4a89d3096bab5b3260b39b3052",
                    "7765e0e5d51d63eae0a911861cbda87165a01677bc9bce6ed20d06858ccde99f",
                    "650a5f4d8a8e3c96982079d8c99b6ddbe6602bbd1e34c75c2b95dbc0d28ac997",
                    "a9a380624cdd7a7e661bf15a4d1625082766f07ccd2540cb0a9e0df1ad4f6c11",
                    "f340e7f99aaee3df5acd6b247cddf723051a7c93d1e1ef09025b80d84e4c0ded",
                    "4ed79beb8d4b6cc7c67780fd381feed25848a5f9b8a2385ac5711eccd115647a",
                ],
            },
            PinnedWheel {
                package: "numpy",
                version: "2.4.6",
                sha256: &[
                    "89cd468399cfd2504718f0ba50e410dca55a170b61a02ad92bb18c8a65186e93",
                    "0ab0a9c4ffb1a6d95ef519fe4247dba8eb6b18ad93999f76b7f657039acabd47",
                    "90f9849678c75fe7afa2d348ac842c168b0a4d3d61919687216dfc547976d853",
                    "5f9fb9157b4ce2971008323afe46053787b526ef624fea915b261468a8421a0f",
                    "a7830bab239b79cda9c08c2da014761cafb48da6150e1da17ac06283f43b6089",
                    "72fbe16c6fac95aedf5937fa873445cec2110be35d8a4e9433d7501fd98dae6b",
                ],
            },
            PinnedWheel {
                package: "s2sphere",
                version: "0.2.5",
                sha256: &["d2340c9cf458ddc9a89afd1d8048a4195ce6fa6b0095ab900d4be5271e537401"],
            },
            PinnedWheel {
                package: "future",
                version: "1.0.0",
                sha256: &["929292d34f5872e70396626ef385ec22355a1fae8ad29e1a734c3e43f9fbc216"],
            },
        ],
        pythons: &["3.13", "3.12", "3.11"],
        platform: "manylinux_2_28_",
        binary: "secantusd",
        product: "SecantusDB",
        main: ("secantus.cli", "main"),
    })],
    version_in: |text| text.trim().strip_prefix("SecantusDB ")?.split_whitespace().next(),
    word_separator: "-",
    reserved: &[
        ("sync-on-commit", PROMISE),
        ("config", PLACE),
        ("host", PLACE),
        ("storage-path", PLACE),
        ("standalone", PLACE),
        ("auth", SECRET),
        ("tls-cert-file", SECRET),
        ("tls-key-file", SECRET),
        ("tls-ca-file", SECRET),
        ("tls-require-client-cert", SECRET),
    ],
    stop: StopSignal::Terminate,
    probe: Probe::Mongodb,
    port_taken: IN_USE,
    configuration: None,
    prepare: None,
    arguments: secantusd_arguments,
    socket_name: None,
    endpoint: Endpoint::at,
};

fn secantusd_arguments(
    site: &Site<'_>,
    address: &Address,
    settings: &BTreeMap<String, String>,
) -> Vec<OsString> {
    let (host, port) = match address {
        Address::Tcp { host, port } => (host.into(), port.to_string()),
        // It has none, and says so.
        Address::Unix(path) => (OsString::from(path), "0".to_owned()),
    };
    let mut args: Vec<OsString> = ["--standalone", "--host"].map(Into::into).into();
    args.extend([host, "--port".into(), port.into(), "--storage-path".into()]);
    args.push(site.data.clone().into());
    for (name, value) in settings {
        args.push(format!("--{name}").into());
        if !value.is_empty() {
            args.push(value.into());
        }
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stand_in_is_not_mongodb_and_the_other_way_round() {
        let mongod = "db version v8.0.4\nBuild Info: {\n    \"version\": \"8.0.4\"\n}\n";
        let stand_in = "SecantusDB 0.7.0b3\n";
        assert_eq!((MONGODB.version_in)(mongod), Some("8.0.4"));
        assert_eq!((SECANTUSDB.version_in)(stand_in), Some("0.7.0b3"));
        assert_eq!((MONGODB.version_in)(stand_in), None);
        assert_eq!((SECANTUSDB.version_in)(mongod), None);
    }
}
