//! A Cassandra with passwords, in a folder of its own, killed when the test ends. It sorts by keys, so
//! that every layout is served; it is small and quick to start, not quick.

#[allow(dead_code, reason = "these tests take a part of what others share")]
#[path = "../common/site.rs"]
mod site;
#[path = "../common/stopped.rs"]
mod stopped;

use std::{
    fs,
    process::{Child, Command},
    thread,
    time::{Duration, Instant},
};

use assay_model::{Address, Endpoint, Secret};

use self::site::{Site, free_port, installed::installed};

/// What of Java's own Cassandra reaches into.
const OPENED: &[&str] = &[
    "java.lang",
    "java.lang.module",
    "java.lang.ref",
    "java.lang.reflect",
    "java.io",
    "java.nio",
    "java.util",
    "sun.nio.ch",
    "jdk.internal.loader",
    "jdk.internal.math",
    "jdk.internal.misc",
    "jdk.internal.module",
    "jdk.internal.ref",
    "jdk.internal.reflect",
    "jdk.internal.util.jar",
];

const RUNTIME: &[&str] = &[
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-Xss256k",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Djdk.attach.allowAttachSelf=true",
    "-Djava.io.tmpdir=.",
    "-Dcassandra.storagedir=data",
    "-Dcassandra.ring_delay_ms=0",
    "-Dcassandra.skip_wait_for_gossip_to_settle=0",
    "-Dcassandra.superuser_setup_delay_ms=0",
    // Every client that logs in would take a tenth of a second.
    "-Dcassandra.auth_bcrypt_gensalt_log2_rounds=4",
    "-Dcassandra-foreground=yes",
];

/// A running server.
pub struct Server {
    command: Command,
    process: Child,
    site: Site,
    port: u16,
}

impl Server {
    /// Starts it, if it is installed.
    pub fn start() -> Option<Server> {
        let site = Site::new(installed("cassandra")?);
        let (port, storage_port) = (free_port(), free_port());
        let yaml = format!(
            "cluster_name: test\n\
             num_tokens: 1\n\
             partitioner: ByteOrderedPartitioner\n\
             commitlog_sync: periodic\n\
             commitlog_sync_period: 10000ms\n\
             listen_address: 127.0.0.1\n\
             rpc_address: 127.0.0.1\n\
             native_transport_port: {port}\n\
             storage_port: {storage_port}\n\
             authenticator: PasswordAuthenticator\n\
             authorizer: CassandraAuthorizer\n\
             endpoint_snitch: SimpleSnitch\n\
             seed_provider: [{{class_name: org.apache.cassandra.locator.SimpleSeedProvider, \
             parameters: [{{seeds: '127.0.0.1:{storage_port}'}}]}}]\n"
        );
        let logback = "<configuration><root level=\"OFF\"/></configuration>";
        fs::write(site.folder().join("cassandra.yaml"), yaml).expect("written");
        fs::write(site.folder().join("logback.xml"), logback).expect("written");
        let java = site.installed.java.clone().expect("it was found with a Java");
        let mut command = site.command(&java);
        let exports = OPENED.iter().flat_map(|package| {
            let all = format!("java.base/{package}=ALL-UNNAMED");
            [format!("--add-exports={all}"), format!("--add-opens={all}")]
        });
        command
            .args(RUNTIME)
            .args(exports)
            .arg("--add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED")
            .arg("--add-exports=java.management.rmi/com.sun.jmx.remote.internal.rmi=ALL-UNNAMED")
            .arg("--add-exports=java.rmi/sun.rmi.registry=ALL-UNNAMED")
            .arg("--add-exports=java.rmi/sun.rmi.server=ALL-UNNAMED")
            .arg(format!("-Dcassandra.config=file://{}/cassandra.yaml", site.folder().display()))
            .arg("-Dlogback.configurationFile=logback.xml")
            .arg("-cp")
            .arg(site.installed.binary.with_file_name("*"))
            .arg("org.apache.cassandra.service.CassandraDaemon");
        let process = command.spawn().expect("the server starts");
        Some(Server { command, process, site, port })
    }

    /// Waits until `serves`.
    pub fn wait(&mut self, serves: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(120);
        while !serves() {
            let ended = self.process.try_wait().expect("its state");
            assert!(ended.is_none(), "the server ended: {ended:?}");
            assert!(Instant::now() < deadline, "the server does not come up");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Where it is, without a login.
    pub fn bare(&self) -> Endpoint {
        Endpoint::at(Address::Tcp { host: "127.0.0.1".into(), port: self.port })
    }

    /// Where it is, as its superuser.
    pub fn endpoint(&self) -> Endpoint {
        let password = Some(Secret::new("cassandra"));
        Endpoint { user: Some("cassandra".into()), password, ..self.bare() }
    }

    /// Stops it as a crash would, and starts it again. From then on tables come and go without a sync
    /// for each, which takes most of the time of tests of many tables.
    pub fn restart(&mut self, serves: impl Fn() -> bool) {
        self.kill();
        self.command.env("JDK_JAVA_OPTIONS", "-Dcassandra.unsafesystem=true");
        self.process = self.command.spawn().expect("the server starts");
        self.wait(serves);
    }

    /// Stops it from running, without ending it.
    pub fn pause(&self) {
        stopped::pause(&self.process);
    }

    /// Lets it run again.
    pub fn resume(&self) {
        stopped::resume(&self.process);
    }

    fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        // The folder goes when nothing writes in it any more.
        let _ = &self.site;
    }
}
