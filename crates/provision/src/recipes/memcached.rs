//! Memcached.

use std::{collections::BTreeMap, ffi::OsString};

use assay_model::{Address, Durability, Endpoint};

use super::{PLACE, SECRET};
use crate::{
    ready::Probe,
    recipe::{IN_USE, Level, Recipe, Runs, SettingDoc, Site, Source},
    settings::CORES,
    warden::protocol::StopSignal,
};

pub(crate) static MEMCACHED: Recipe = Recipe {
    name: "memcached",
    product: "Memcached",
    binary: "memcached",
    runs: Runs::Program,
    packages: "memcached (Debian, Ubuntu, Fedora, Alpine, Homebrew)",
    levels: &[Level {
        durability: Durability::None,
        settings: &[],
        meaning: "a cache: the data is in memory only",
    }],
    settings: &[
        SettingDoc {
            name: "port",
            default: "",
            summary: "TCP port; the system picks a free one if not given",
        },
        SettingDoc {
            name: "memory_mib",
            default: "2048",
            summary: "the most memory for records, in MiB (-m); taken as it is needed",
        },
        SettingDoc {
            name: "threads",
            default: CORES,
            summary: "worker threads (-t); more than the server's cores wait for each other",
        },
        SettingDoc {
            name: "connections",
            default: "4096",
            summary: "the most connections at a time (-c)",
        },
        SettingDoc {
            name: "max_item_bytes",
            default: "8388608",
            summary: "the largest record, in bytes (-I); Memcached's own default is 1 MiB",
        },
        SettingDoc {
            name: "evict",
            default: "no",
            summary: "no: a full server refuses writes instead of dropping records unnoticed (-M)",
        },
    ],
    other_settings: "any extended option of memcached -o, for example no_lru_crawler=",
    companions: &[],
    usual_folders: &[
        "/usr/bin",
        "/usr/sbin",
        "/usr/local/bin",
        "/usr/local/sbin",
        "/opt/*/bin",
        "/home/linuxbrew/.linuxbrew/bin",
    ],
    sources: &[Source::Debian { packages: &["memcached"], binary: "usr/bin/memcached" }],
    version_in: |text| text.trim().strip_prefix("memcached ")?.split_whitespace().next(),
    word_separator: "_",
    reserved: &[
        ("listen", PLACE),
        ("unix_socket", PLACE),
        ("ssl_key", SECRET),
        ("ssl_chain_cert", SECRET),
    ],
    stop: StopSignal::Terminate,
    probe: Probe::Memcached,
    port_taken: IN_USE,
    configuration: None,
    prepare: None,
    arguments,
    socket_name: Some("memcached.sock"),
    endpoint: Endpoint::at,
};

fn arguments(
    _site: &Site<'_>,
    address: &Address,
    settings: &BTreeMap<String, String>,
) -> Vec<OsString> {
    let mut args: Vec<OsString> = match address {
        Address::Tcp { host, port } => {
            ["-l", host, "-p", &port.to_string(), "-U", "0"].map(OsString::from).into()
        }
        Address::Unix(path) => {
            vec!["-s".into(), path.into(), "-a".into(), "700".into()]
        }
    };
    for (name, value) in settings {
        let flag = match name.as_str() {
            "memory_mib" => "-m",
            "threads" => "-t",
            "connections" => "-c",
            "max_item_bytes" => "-I",
            "evict" => {
                if value != "yes" {
                    args.push("-M".into());
                }
                continue;
            }
            _ => {
                let option =
                    if value.is_empty() { name.clone() } else { format!("{name}={value}") };
                args.extend(["-o".into(), option.into()]);
                continue;
            }
        };
        args.extend([flag, value].map(OsString::from));
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read() {
        assert_eq!((MEMCACHED.version_in)("memcached 1.6.18\n"), Some("1.6.18"));
        assert_eq!((MEMCACHED.version_in)("something else"), None);
    }
}
