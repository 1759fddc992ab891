//! Apache Cassandra: one node of its own, on Java 17, with the jars that Maven Central has.

use std::{ffi::OsString, path::Path};

use assay_model::{Address, Durability, Endpoint};

use super::{PLACE, PROMISE, SECRET};
use crate::{
    java::JavaVersions,
    maven::Jars,
    ready::{Probe, cassandra::cluster_name},
    recipe::{
        Applied, Configuration, ConfigurationFile, Level, Recipe, Runs, SettingDoc, Site, Source,
    },
    warden::protocol::StopSignal,
};

/// Of the heap; the others are directives of cassandra.yaml.
const HEAP: &str = "heap_mib";
const PARTITIONER: &str = "partitioner";
const CONFIGURATION: &str = "cassandra.yaml";
const LOGGING: &str = "logback.xml";

const PERIODIC: &[(&str, &str)] =
    &[("commitlog_sync", "periodic"), ("commitlog_sync_period", "10000ms")];

pub(crate) static CASSANDRA: Recipe = Recipe {
    name: "cassandra",
    product: "Apache Cassandra",
    binary: "apache-cassandra-*.jar",
    runs: Runs::Java(JavaVersions { oldest: 17, newest: 17 }),
    packages: "Apache Cassandra from cassandra.apache.org, whose jar apache-cassandra-VERSION.jar is in \
               its folder lib",
    levels: &[
        Level {
            durability: Durability::None,
            settings: PERIODIC,
            meaning: "the keyspace has no durable writes: they pass the commit log by and are in memory \
                      until a memtable is flushed",
        },
        Level {
            durability: Durability::Buffered,
            settings: PERIODIC,
            meaning: "a write is acknowledged when it is in the commit log's segment, which is synced \
                      every 10 s, Cassandra's own default",
        },
        Level {
            durability: Durability::Synced,
            settings: &[("commitlog_sync", "batch")],
            meaning: "the commit log is synced before a write is acknowledged, for those at once that \
                      wait together",
        },
    ],
    settings: &[
        SettingDoc {
            name: "port",
            default: "",
            summary: "TCP port; the system picks a free one if not given",
        },
        SettingDoc {
            name: HEAP,
            default: "1024",
            summary: "the heap, in MiB, least and most (-Xms, -Xmx), taken at the start; Cassandra's own \
                      rule gives a quarter of the machine's memory, up to 8192",
        },
        SettingDoc {
            name: PARTITIONER,
            default: "Murmur3Partitioner",
            summary: "how partitions are ordered: by a hash of the key, Cassandra's own default, or by \
                      the key itself with ByteOrderedPartitioner, which range scans need",
        },
        SettingDoc {
            name: "storage_compatibility_mode",
            default: "NONE",
            summary: "files need not be readable by Cassandra 4, as in its own cassandra_latest.yaml",
        },
        SettingDoc {
            name: "memtable",
            default: "{configurations: {default: {class_name: TrieMemtable}}}",
            summary: "the memtable in a trie, as in cassandra_latest.yaml",
        },
        SettingDoc {
            name: "memtable_allocation_type",
            default: "offheap_objects",
            summary: "records outside the heap, as in cassandra_latest.yaml",
        },
        SettingDoc {
            name: "sstable",
            default: "{selected_format: bti}",
            summary: "files indexed by a trie, as in cassandra_latest.yaml",
        },
        SettingDoc {
            name: "key_cache_size",
            default: "0MiB",
            summary: "the trie needs none, as in cassandra_latest.yaml",
        },
        SettingDoc {
            name: "default_compaction",
            default: "{class_name: UnifiedCompactionStrategy, parameters: {scaling_parameters: T4, \
                      target_sstable_size: 1GiB}}",
            summary: "as in cassandra_latest.yaml",
        },
    ],
    other_settings: "any directive of cassandra.yaml, for example concurrent_writes=64",
    companions: &[],
    usual_folders: &["/usr/share/cassandra", "/opt/*/lib", "/usr/local/*/lib"],
    sources: &[Source::Maven(Jars {
        lock: include_str!("cassandra.lock"),
        file: "jars/cassandra-all-*.jar",
    })],
    version_in: |names| {
        names.lines().find_map(|name| {
            let of = |start: &str| name.strip_prefix(start)?.strip_suffix(".jar");
            of("cassandra-all-").or_else(|| of("apache-cassandra-"))
        })
    },
    word_separator: "_",
    reserved: &[
        ("commitlog_sync", PROMISE),
        ("commitlog_sync_period", PROMISE),
        ("commitlog_sync_period_in_ms", PROMISE),
        ("commitlog_sync_group_window", PROMISE),
        ("commitlog_sync_group_window_in_ms", PROMISE),
        ("cluster_name", PLACE),
        ("listen_address", PLACE),
        ("listen_interface", PLACE),
        ("broadcast_address", PLACE),
        ("rpc_address", PLACE),
        ("rpc_interface", PLACE),
        ("broadcast_rpc_address", PLACE),
        ("start_native_transport", PLACE),
        ("native_transport_port", PLACE),
        ("storage_port", PLACE),
        ("ssl_storage_port", PLACE),
        ("seed_provider", PLACE),
        ("data_file_directories", PLACE),
        ("local_system_data_file_directory", PLACE),
        ("commitlog_directory", PLACE),
        ("hints_directory", PLACE),
        ("saved_caches_directory", PLACE),
        ("cdc_raw_directory", PLACE),
        ("authenticator", SECRET),
        ("authorizer", SECRET),
        ("client_encryption_options", SECRET),
        ("server_encryption_options", SECRET),
    ],
    stop: StopSignal::Terminate,
    probe: Probe::Cassandra,
    // Of the port for other nodes, and of that for clients.
    port_taken: &["is in use by another process", "Failed to bind port", "Address already in use"],
    configuration: Some(Configuration { extra_ports: 1, files }),
    prepare: None,
    arguments,
    socket_name: None,
    endpoint: Endpoint::at,
};

/// What Cassandra 5.0's own `jvm-server.options` and `jvm17-server.options` give to Java 17, without
/// what only JMX and tools need.
const RUNTIME: &[&str] = &[
    "-ea",
    "-da:net.openhft...",
    "-XX:+UseThreadPriorities",
    "-Xss256k",
    "-XX:+AlwaysPreTouch",
    "-XX:+UseTLAB",
    "-XX:+ResizeTLAB",
    "-XX:+UseNUMA",
    "-Djava.net.preferIPv4Stack=true",
    "-XX:+UseG1GC",
    "-XX:+ParallelRefProcEnabled",
    "-XX:MaxTenuringThreshold=1",
    "-XX:G1HeapRegionSize=16m",
    "-XX:G1RSetUpdatingPauseTimePercent=5",
    "-XX:MaxGCPauseMillis=300",
    "-XX:InitiatingHeapOccupancyPercent=70",
    "-Djdk.attach.allowAttachSelf=true",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.useCacheForAllThreads=true",
    "-Dio.netty.allocator.maxOrder=11",
    "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
    "--add-exports=java.management.rmi/com.sun.jmx.remote.internal.rmi=ALL-UNNAMED",
    "--add-exports=java.rmi/sun.rmi.registry=ALL-UNNAMED",
    "--add-exports=java.rmi/sun.rmi.server=ALL-UNNAMED",
    "--add-exports=java.sql/java.sql=ALL-UNNAMED",
    "--add-exports=java.base/java.lang.ref=ALL-UNNAMED",
    "--add-exports=jdk.unsupported/sun.misc=ALL-UNNAMED",
    "--add-opens=java.base/java.lang.module=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.loader=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.reflect=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.math=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.module=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.util.jar=ALL-UNNAMED",
    "--add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
];

/// What keeps a node from waiting for others, which there are none of.
const ALONE: &[&str] = &[
    "-Dcassandra.ring_delay_ms=0",
    "-Dcassandra.skip_wait_for_gossip_to_settle=0",
    "-Dcassandra.superuser_setup_delay_ms=0",
    "-Dcassandra.shutdown_announce_in_ms=0",
    "-Dcassandra-foreground=yes",
];

fn arguments(site: &Site<'_>, _address: &Address, settings: &Applied) -> Vec<OsString> {
    let property = |name: &str, place: &str, path: &Path| {
        let mut property = OsString::from(format!("-D{name}={place}"));
        property.push(path);
        property
    };
    let heap = settings.get(HEAP).map_or("", String::as_str);
    let mut args: Vec<OsString> =
        vec![format!("-Xms{heap}m").into(), format!("-Xmx{heap}m").into()];
    args.extend(RUNTIME.iter().chain(ALONE).map(OsString::from));
    args.push(property("cassandra.config", "file://", &site.files.join(CONFIGURATION)));
    args.push(property("logback.configurationFile", "", &site.files.join(LOGGING)));
    args.push(property("cassandra.storagedir", "", &site.data));
    args.push("org.apache.cassandra.service.CassandraDaemon".into());
    args
}

fn files(site: &Site<'_>, address: &Address, settings: &Applied) -> Vec<ConfigurationFile> {
    let Address::Tcp { host, port } = address else { return Vec::new() };
    let storage_port = site.ports.first().copied().unwrap_or_default();
    let data = site.data.display();
    // It tells the server that was started from any other.
    let cluster = cluster_name(&site.data);
    let mut yaml = format!(
        "cluster_name: '{cluster}'\n\
         num_tokens: 1\n\
         data_file_directories: ['{data}/data']\n\
         commitlog_directory: '{data}/commitlog'\n\
         hints_directory: '{data}/hints'\n\
         saved_caches_directory: '{data}/saved_caches'\n\
         cdc_raw_directory: '{data}/cdc_raw'\n\
         listen_address: {host}\n\
         rpc_address: {host}\n\
         start_native_transport: true\n\
         native_transport_port: {port}\n\
         storage_port: {storage_port}\n\
         endpoint_snitch: SimpleSnitch\n\
         seed_provider: [{{class_name: org.apache.cassandra.locator.SimpleSeedProvider, \
         parameters: [{{seeds: '{host}:{storage_port}'}}]}}]\n"
    );
    for (name, value) in settings.iter().filter(|(name, _)| *name != HEAP) {
        yaml.push_str(&format!("{name}: {value}\n"));
    }
    vec![
        ConfigurationFile { name: CONFIGURATION, content: yaml },
        ConfigurationFile { name: LOGGING, content: LOGBACK.to_owned() },
    ]
}

/// To standard output, without debugging messages.
const LOGBACK: &str = "<configuration>\n\
    <appender name=\"out\" class=\"ch.qos.logback.core.ConsoleAppender\">\n\
    <encoder><pattern>%-5level %date{ISO8601} %logger{0}: %msg%n</pattern></encoder>\n\
    </appender>\n\
    <root level=\"INFO\"><appender-ref ref=\"out\"/></root>\n\
    </configuration>\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_jar() {
        let fetched = "agrona-1.17.1.jar\ncassandra-all-5.0.4.jar\n";
        let unpacked = "apache-cassandra-4.1.7.jar\ncassandra-driver-core-3.11.5-shaded.jar\n";
        assert_eq!((CASSANDRA.version_in)(fetched), Some("5.0.4"));
        assert_eq!((CASSANDRA.version_in)(unpacked), Some("4.1.7"));
        assert_eq!((CASSANDRA.version_in)("agrona-1.17.1.jar\n"), None);
    }
}
