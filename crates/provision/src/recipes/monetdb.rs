//! MonetDB: the library that is in Python's package `monetdbe`, hosted as a server by Assay's own
//! program, with a database of its own for each start.

use std::{collections::BTreeMap, ffi::OsString};

use assay_model::{Address, Durability, Endpoint};

use super::{PLACE, PROMISE};
use crate::{
    ready::Probe,
    recipe::{IN_USE, Level, Recipe, Runs, SettingDoc, Site, Source, Wheel},
    settings::CORES,
    warden::protocol::StopSignal,
};

/// Whether the database is in memory.
const IN_MEMORY: &str = "in_memory";

pub(crate) static MONETDB: Recipe = Recipe {
    name: "monetdb",
    product: "MonetDB",
    binary: "libmonetdbe.so",
    runs: Runs::Library,
    packages: "monetdbe of the Python package index, which has MonetDB as a library; a server of your \
               own (mserver5 or monetdbd) is used by its URL",
    levels: &[
        Level {
            durability: Durability::None,
            settings: &[(IN_MEMORY, "true")],
            meaning: "the database is in memory",
        },
        Level {
            durability: Durability::Synced,
            settings: &[(IN_MEMORY, "false")],
            meaning: "the write-ahead log is synced before a commit is acknowledged, as always",
        },
    ],
    settings: &[
        SettingDoc {
            name: "port",
            default: "",
            summary: "TCP port; the system picks a free one if not given",
        },
        SettingDoc {
            name: "threads",
            default: CORES,
            summary: "how many work on queries; as many as the cores that the server may use",
        },
        SettingDoc {
            name: "memory_mib",
            default: "0",
            summary: "what it may take of memory, in MiB; 0 for MonetDB's own choice, four fifths of the \
                      machine's",
        },
    ],
    other_settings: "none: the library takes no others",
    companions: &[],
    usual_folders: &["/usr/local/lib", "/usr/lib", "/usr/lib64", "/usr/lib/*-linux-gnu"],
    sources: &[Source::Wheel(Wheel {
        package: "monetdbe",
        version: "0.11",
        hashes: &[("x86_64", "4f42d6328ac2ffddc6de07271671431c90c40c5560ce4790e789a24ef6dfa55d")],
        labelled: Some(("310", "manylinux_2_17_")),
        binary: "monetdbe.libs/libmonetdbe-*",
        unneeded: &["monetdbe/_lowlevel.abi3.so"],
    })],
    // Of the files beside it; its SQL library has the version in its name.
    version_in: |names| {
        let name = names.lines().find(|name| name.starts_with("libmonetdbsql"))?;
        let (_, version) = name.split_once(".so.")?;
        Some(version)
    },
    word_separator: "_",
    reserved: &[(IN_MEMORY, PROMISE), ("folder", PLACE), ("socket", PLACE)],
    stop: StopSignal::Terminate,
    probe: Probe::Monetdb,
    port_taken: IN_USE,
    configuration: None,
    prepare: None,
    arguments,
    socket_name: Some("mapi.sock"),
    endpoint: Endpoint::at,
};

fn arguments(
    site: &Site<'_>,
    address: &Address,
    settings: &BTreeMap<String, String>,
) -> Vec<OsString> {
    let option = |name: &str, value: OsString| {
        let mut option = OsString::from(format!("{name}="));
        option.push(value);
        option
    };
    let mut args: Vec<OsString> = vec![site.installed.binary.clone().into()];
    let given = settings.iter().filter(|(name, _)| *name != IN_MEMORY);
    args.extend(given.map(|(name, value)| option(name, value.into())));
    if settings.get(IN_MEMORY).is_some_and(|value| value == "false") {
        // In the folder that it is started in. Of a whole path, it would want to read every part.
        args.push(option("folder", "./database".into()));
    }
    args.push(match address {
        Address::Tcp { port, .. } => option("port", port.to_string().into()),
        Address::Unix(path) => option("socket", path.clone().into()),
    });
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_file_beside() {
        let names = "libbat-8d78345c.so.23.0.4\nlibmonetdbsql-807dccaa.so.11.41.14\n";
        assert_eq!((MONETDB.version_in)(names), Some("11.41.14"));
        assert_eq!((MONETDB.version_in)("libmonetdbe.so"), None);
    }
}
