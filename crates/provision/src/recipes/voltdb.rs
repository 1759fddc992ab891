//! VoltDB, the community edition: one node of its own, on Java 17, with the jars that Maven Central has.
//!
//! The published jar names no dependencies, and some that it has are on no public repository: classes of
//! Confluent's registry of schemas, which are named where a class is verified and never used. So bytecode
//! is not verified.

use std::{ffi::OsString, path::Path};

use assay_model::{Address, Durability, Endpoint};

use super::PLACE;
use crate::{
    java::JavaVersions,
    maven::Jars,
    ready::Probe,
    recipe::{
        Applied, Configuration, ConfigurationFile, IN_USE, Level, Recipe, Runs, SettingDoc, Site,
        Source,
    },
    settings::CORES,
    warden::protocol::StopSignal,
};

const HEAP: &str = "heap_mib";
const SITES: &str = "sites_per_host";
const TEMPORARY: &str = "temptables_mib";
const DEPLOYMENT: &str = "deployment.xml";
const LOGGING: &str = "log4j.properties";

pub(crate) static VOLTDB: Recipe = Recipe {
    name: "voltdb",
    product: "VoltDB",
    binary: "voltdb-*.jar",
    runs: Runs::Java(JavaVersions { oldest: 17, newest: 17 }),
    packages: "VoltDB's community edition, whose jar voltdb-VERSION.jar is in one folder with all those \
               of its folder lib",
    levels: &[Level {
        durability: Durability::None,
        settings: &[],
        meaning: "records are in memory: neither a command log, which the Enterprise edition has, nor \
                  snapshots",
    }],
    settings: &[
        SettingDoc {
            name: "port",
            default: "",
            summary: "TCP port; the system picks a free one if not given",
        },
        SettingDoc {
            name: SITES,
            default: CORES,
            summary: "how many partitions, each with a thread of its own; as many as the cores that it \
                      may use, and VoltDB's own default is 8",
        },
        SettingDoc {
            name: HEAP,
            default: "2048",
            summary: "the most that the heap may take, in MiB (-Xmx), as in VoltDB's own script; records \
                      lie outside of it",
        },
        SettingDoc {
            name: TEMPORARY,
            default: "100",
            summary: "the most that one query's intermediate results may take, in MiB: VoltDB's own \
                      default",
        },
    ],
    other_settings: "any Java property that VoltDB reads, for example MPI_READ_POOL_SIZE=2",
    companions: &[],
    usual_folders: &[],
    sources: &[Source::Maven(Jars {
        lock: include_str!("voltdb.lock"),
        file: "jars/voltdb-*.jar",
    })],
    version_in: |names| {
        names.lines().find_map(|name| name.strip_prefix("voltdb-")?.strip_suffix(".jar"))
    },
    word_separator: "",
    reserved: &[("java.io.tmpdir", PLACE), ("log4j.configuration", PLACE)],
    stop: StopSignal::Terminate,
    probe: Probe::Voltdb,
    port_taken: IN_USE,
    configuration: Some(Configuration { extra_ports: 4, files }),
    prepare: None,
    arguments,
    socket_name: None,
    endpoint: Endpoint::at,
};

/// Without what is missing; what VoltDB's own script gives to Java from version 11 on; and access to what
/// Java 17 closes.
const RUNTIME: &[&str] = &[
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
    "-Xss1m",
    "-Djava.awt.headless=true",
    "-Djava.net.preferIPv4Stack=true",
    "-XX:+UseTLAB",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.net=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
];

fn arguments(site: &Site<'_>, address: &Address, settings: &Applied) -> Vec<OsString> {
    let Address::Tcp { host, port } = address else { return Vec::new() };
    let own = [HEAP, SITES, TEMPORARY];
    let heap = settings.get(HEAP).map_or("", String::as_str);
    let mut args: Vec<OsString> = vec![format!("-Xmx{heap}m").into()];
    args.extend(RUNTIME.iter().map(OsString::from));
    let others = settings.iter().filter(|(name, _)| !own.contains(&name.as_str()));
    args.extend(others.map(|(name, value)| format!("-D{name}={value}").into()));
    args.push(joined("-Dlog4j.configuration=file:", &site.files.join(LOGGING)));
    args.extend(["org.voltdb.VoltDB", "create", "force"].map(OsString::from));
    args.extend(["deployment".into(), site.files.join(DEPLOYMENT).into()]);
    args.extend(["voltdbroot".into(), site.data.clone().into()]);
    let mut say = |name: &str, value: String| args.extend([name.into(), value.into()]);
    say("internalinterface", host.clone());
    say("externalinterface", host.clone());
    say("port", format!("{host}:{port}"));
    let names = ["internalport", "zkport", "adminport", "replicationport"];
    for (name, port) in names.iter().zip(&site.ports) {
        say(name, format!("{host}:{port}"));
    }
    // The node whose start the others wait for is this one, and there are no others.
    let leader = site.ports.first().copied().unwrap_or_default();
    say("host", format!("{host}:{leader}"));
    args
}

fn joined(start: &str, path: &Path) -> OsString {
    let mut joined = OsString::from(start);
    joined.push(path);
    joined
}

fn files(_site: &Site<'_>, _address: &Address, settings: &Applied) -> Vec<ConfigurationFile> {
    let value = |name: &str| {
        let value = settings.get(name).map_or("", String::as_str);
        value.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
    };
    let deployment = format!(
        "<?xml version=\"1.0\"?>\n\
         <deployment>\n\
         <cluster hostcount=\"1\" sitesperhost=\"{}\" kfactor=\"0\"/>\n\
         <httpd enabled=\"false\"/>\n\
         <snapshot enabled=\"false\"/>\n\
         <systemsettings><temptables maxsize=\"{}\"/></systemsettings>\n\
         </deployment>\n",
        value(SITES),
        value(TEMPORARY)
    );
    vec![
        ConfigurationFile { name: DEPLOYMENT, content: deployment },
        ConfigurationFile { name: LOGGING, content: LOG4J.to_owned() },
    ]
}

/// To standard output, without debugging messages.
const LOG4J: &str = "log4j.rootLogger=INFO, out\n\
    log4j.appender.out=org.apache.log4j.ConsoleAppender\n\
    log4j.appender.out.layout=org.apache.log4j.PatternLayout\n\
    log4j.appender.out.layout.ConversionPattern=%d %-5p %c: %m%n\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_jar() {
        let names = "avro-1.10.0.jar\nvoltdb-10.1.1.jar\n";
        assert_eq!((VOLTDB.version_in)(names), Some("10.1.1"));
        assert_eq!((VOLTDB.version_in)("avro-1.10.0.jar\n"), None);
    }
}
