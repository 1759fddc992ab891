//! HyPer: `hyperd`, the server in Tableau's Hyper API, in a folder of its own for each start.

use std::{collections::BTreeMap, ffi::OsString};

use assay_model::{Address, Durability, Endpoint};

use super::{PLACE, PROMISE, SECRET};
use crate::{
    ready::{Probe, postgres::USER},
    recipe::{IN_USE, Level, Recipe, Runs, SettingDoc, Site, Source, Wheel},
    warden::protocol::StopSignal,
};

const SOCKET: &str = ".s.PGSQL.7483";

pub(crate) static HYPER: Recipe = Recipe {
    name: "hyper",
    product: "HyPer",
    binary: "hyperd",
    runs: Runs::Program,
    packages: "tableauhyperapi of the Python package index, Tableau's Hyper API, which has the server in \
               it",
    levels: &[Level {
        durability: Durability::None,
        settings: &[],
        meaning: "a commit is in memory; a database's file is written when the last connection to it \
                  closes",
    }],
    settings: &[
        SettingDoc {
            name: "port",
            default: "",
            summary: "TCP port; the system picks a free one if not given",
        },
        SettingDoc {
            name: "memory-limit",
            default: "80%",
            summary: "of the machine's memory, HyPer's own default, or a size such as 4g; what does not \
                      fit goes to files",
        },
        SettingDoc {
            name: "hard-concurrent-query-thread-limit",
            default: "1",
            summary: "how many threads work on queries: with more, this build crashes when a read meets an \
                      update of the same record; 150% is its own default, and safe for reads alone",
        },
    ],
    other_settings: "any setting that `hyperd --settings` lists as global",
    companions: &[],
    usual_folders: &[
        "/usr/local/lib/python3*/site-packages/tableauhyperapi/bin/hyper",
        "/usr/local/lib/python3*/dist-packages/tableauhyperapi/bin/hyper",
        "/usr/lib/python3*/site-packages/tableauhyperapi/bin/hyper",
        "/opt/*/lib/python3*/site-packages/tableauhyperapi/bin/hyper",
        "/opt/*/bin/hyper",
    ],
    sources: &[Source::Wheel(Wheel {
        package: "tableauhyperapi",
        version: "0.0.26963",
        hashes: &[("x86_64", "35376f598c6fdfa52fe25769778f756e2daec1c124ff8f471b5e098cb9cf7863")],
        labelled: None,
        binary: "tableauhyperapi/bin/hyper/hyperd",
        unneeded: &["tableauhyperapi/bin/libtableauhyperapi.so"],
    })],
    version_in: |text| {
        // As in `Hyper version main.0.0.26963.r84171622`.
        let build = text.trim().strip_prefix("Hyper version ")?.split_whitespace().next()?;
        let build = build.strip_prefix("main.").unwrap_or(build);
        Some(build.split_once(".r").map_or(build, |(number, _)| number))
    },
    word_separator: "-",
    reserved: &[
        ("disable-fsync", PROMISE),
        ("callback-connection", PLACE),
        ("config", PLACE),
        ("config-dir", PLACE),
        ("database", PLACE),
        ("hyper-temp-directory-override", PLACE),
        ("listen-connection", PLACE),
        ("log-config", PLACE),
        ("log-dir", PLACE),
        ("skip-license", PLACE),
        ("strict-settings-mode", PLACE),
        ("encryption-secret", SECRET),
        ("init-user", SECRET),
        ("no-password", SECRET),
    ],
    stop: StopSignal::Terminate,
    probe: Probe::Hyper,
    port_taken: IN_USE,
    configuration: None,
    prepare: None,
    arguments,
    socket_name: Some(SOCKET),
    endpoint: |address| Endpoint { user: Some(USER.to_owned()), ..Endpoint::at(address) },
};

fn arguments(
    site: &Site<'_>,
    address: &Address,
    settings: &BTreeMap<String, String>,
) -> Vec<OsString> {
    let mut args: Vec<OsString> = [
        "run",
        "--skip-license=true",
        "--no-password=true",
        "--log-config=cerr,string,error",
        "--strict-settings-mode",
    ]
    .map(OsString::from)
    .into();
    args.push(format!("--init-user={USER}").into());
    args.extend(settings.iter().map(|(name, value)| format!("--{name}={value}").into()));
    args.push("--listen-connection".into());
    args.push(match address {
        Address::Tcp { host, port } => format!("tab.tcp://{host}:{port}").into(),
        Address::Unix(_) => {
            let mut connection = OsString::from("tab.domain://");
            connection.push(&site.socket);
            connection.push("/domain/");
            connection.push(SOCKET);
            connection
        }
    });
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read() {
        let told = "Hyper version main.0.0.26963.r84171622\nMaximum supported database version 4\n";
        assert_eq!((HYPER.version_in)(told), Some("0.0.26963"));
        assert_eq!((HYPER.version_in)("Hyperion 3"), None);
    }
}
