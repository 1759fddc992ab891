//! Aerospike: one node of its own, with one namespace. No registry has the server.

use std::ffi::OsString;

use assay_model::{Address, Durability, Endpoint};

use super::{PLACE, PROMISE, SECRET};
use crate::{
    ready::{Probe, cassandra::cluster_name},
    recipe::{
        Applied, Command, Configuration, ConfigurationFile, Level, Recipe, Runs, SettingDoc, Site,
    },
    settings::CORES,
    warden::protocol::StopSignal,
};

const ENGINE: &str = "storage-engine";
const SIZE: &str = "data-size";
const CONFIGURATION: &str = "aerospike.conf";
/// What asd wants to be there: for its own tables, and for functions of users.
const FOLDERS: [&str; 2] = ["smd", "udf"];

pub(crate) static AEROSPIKE: Recipe = Recipe {
    name: "aerospike",
    product: "Aerospike",
    binary: "asd",
    runs: Runs::Program,
    packages: "aerospike-server-community from aerospike.com/download, or built from \
               github.com/aerospike/aerospike-server",
    levels: &[
        Level {
            durability: Durability::None,
            settings: &[(ENGINE, "memory")],
            meaning: "records are in memory",
        },
        Level {
            durability: Durability::Buffered,
            settings: &[(ENGINE, "device")],
            meaning: "a write is acknowledged when it is in a write buffer, which goes to a file at \
                      the latest after 1 s (flush-max-ms), Aerospike's own default, and by way of the \
                      system's page cache",
        },
    ],
    settings: &[
        SettingDoc {
            name: "port",
            default: "",
            summary: "TCP port; the system picks a free one if not given",
        },
        SettingDoc {
            name: SIZE,
            default: "1G",
            summary: "the storage of the records: data-size of memory, at least 512M, or filesize of the \
                      file. At 70 % of it writes are refused (stop-writes-used-pct)",
        },
        SettingDoc {
            name: "service-threads",
            default: CORES,
            summary: "as many as the cores that it may use: Aerospike's own rule for records in memory; \
                      its rule for devices is five times as many, as they wait for reads, which those of \
                      a file in the page cache do not",
        },
        SettingDoc {
            name: "proto-fd-max",
            default: "4096",
            summary: "the most connections: Aerospike's own default, 15000, is more than many systems let \
                      a process have",
        },
        SettingDoc {
            name: "namespace.replication-factor",
            default: "1",
            summary: "there is one node",
        },
    ],
    other_settings: "any directive of the context service, or, with the context before it, of the \
                     namespace or its storage engine, for example \
                     storage-engine.post-write-cache=128M",
    companions: &[],
    usual_folders: &["/usr/bin", "/usr/local/bin", "/opt/*/bin", "/usr/local/*/bin"],
    sources: &[],
    version_in: |text| {
        let (edition, build) = text.trim().strip_prefix("Aerospike ")?.split_once(" build ")?;
        edition.ends_with("Edition").then(|| build.split_whitespace().next())?
    },
    word_separator: "-",
    reserved: &[
        (ENGINE, PROMISE),
        ("storage-engine.commit-to-device", PROMISE),
        ("storage-engine.commit-min-size", PROMISE),
        ("namespace.strong-consistency", PROMISE),
        ("namespace.storage-engine", PROMISE),
        ("storage-engine.file", PLACE),
        ("storage-engine.device", PLACE),
        ("storage-engine.data-size", "give data-size instead"),
        ("storage-engine.filesize", "give data-size instead"),
        ("cluster-name", PLACE),
        ("node-id", PLACE),
        ("node-id-interface", PLACE),
        ("work-directory", PLACE),
        ("pidfile", PLACE),
        ("user", PLACE),
        ("group", PLACE),
        ("run-as-daemon", PLACE),
        ("feature-key-file", SECRET),
    ],
    stop: StopSignal::Terminate,
    probe: Probe::Aerospike,
    // It waits for a port that is taken; its log says so where it had no time to.
    port_taken: &["in use, waiting"],
    configuration: Some(Configuration { extra_ports: 2, files }),
    prepare: Some(folders),
    arguments,
    socket_name: None,
    endpoint: Endpoint::at,
};

fn folders(site: &Site<'_>, _settings: &Applied) -> Command {
    let args = FOLDERS.map(|name| site.data.join(name).into());
    Command { program: "/bin/mkdir".into(), args: args.into() }
}

fn arguments(site: &Site<'_>, _address: &Address, _settings: &Applied) -> Vec<OsString> {
    // In the foreground; it then has neither a file for its process number nor a user of its own.
    vec!["--fgdaemon".into(), "--config-file".into(), site.files.join(CONFIGURATION).into()]
}

fn files(site: &Site<'_>, address: &Address, settings: &Applied) -> Vec<ConfigurationFile> {
    let Address::Tcp { host, port } = address else { return Vec::new() };
    let (data, cluster) = (site.data.display(), cluster_name(&site.data));
    let extra = |at: usize| site.ports.get(at).copied().unwrap_or_default();
    let (fabric, heartbeat) = (extra(0), extra(1));
    let value = |name: &str| settings.get(name).map_or("", String::as_str);
    let (engine, size) = (value(ENGINE), value(SIZE));
    let storage = match engine {
        "device" => format!("\t\tfile {data}/records.dat\n\t\tfilesize {size}\n"),
        _ => format!("\t\tdata-size {size}\n"),
    };
    let (mut of_service, mut of_namespace, mut of_engine) = Default::default();
    for (name, value) in settings.iter().filter(|(name, _)| ![ENGINE, SIZE].contains(&&***name)) {
        let (of, name): (&mut String, _) = match name.split_once('.') {
            Some(("namespace", name)) => (&mut of_namespace, name),
            Some((ENGINE, name)) => (&mut of_engine, name),
            _ => (&mut of_service, name),
        };
        of.push_str(&format!("\t\t{name} {value}\n"));
    }
    // The name of the cluster tells the server that was started from any other.
    let content = format!(
        "service {{\n\
         \t\tcluster-name {cluster}\n\
         \t\twork-directory {data}\n\
         {of_service}}}\n\
         logging {{\n\tconsole {{\n\t\tcontext any info\n\t}}\n}}\n\
         network {{\n\
         \tservice {{\n\t\taddress {host}\n\t\tport {port}\n\t}}\n\
         \tfabric {{\n\t\taddress {host}\n\t\tport {fabric}\n\t}}\n\
         \theartbeat {{\n\t\tmode mesh\n\t\taddress {host}\n\t\tport {heartbeat}\n\
         \t\tinterval 150\n\t\ttimeout 10\n\t}}\n\
         }}\n\
         mod-lua {{\n\t\tuser-path {data}/udf\n}}\n\
         namespace test {{\n\
         {of_namespace}\
         \tstorage-engine {engine} {{\n{storage}{of_engine}\t}}\n\
         }}\n"
    );
    vec![ConfigurationFile { name: CONFIGURATION, content }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_build() {
        let version = AEROSPIKE.version_in;
        assert_eq!(version("Aerospike Community Edition build 8.1.1.2\n"), Some("8.1.1.2"));
        assert_eq!(version("Aerospike Enterprise Edition build 7.0.0.3"), Some("7.0.0.3"));
        for other in ["asd 1.0", "Aerospike Tools build 8", "Aerospike Community Edition build "] {
            assert_eq!(version(other), None, "{other}");
        }
    }
}
