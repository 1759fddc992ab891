//! Clusters: several processes that are one store, started and stopped as one.

use std::{
    collections::BTreeSet,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::PathBuf,
};

use assay_model::{Address, Durability};
use assay_provision::{Launch, Node, Server, StartError, Transport};
use rustix::process::Signal;

use crate::world::{
    LIMIT, await_that, descendants, entries, installed, is_running, launch, place, signal, start,
};

const NAMES: [&str; 2] = ["redis-cluster", "valkey-cluster"];

/// What a node answers to commands, all together, after which it hangs up.
fn ask(node: &Node, commands: &str) -> String {
    let Address::Tcp { host, port } = &node.address else { panic!("no port") };
    let mut stream = TcpStream::connect((host.as_str(), *port)).expect("it listens");
    stream.set_read_timeout(Some(LIMIT)).expect("set");
    stream.write_all(format!("{commands}\r\nQUIT\r\n").as_bytes()).expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers and hangs up");
    text
}

fn is_whole(server: &Server, masters: usize) {
    let known = server.nodes().count();
    for node in server.nodes() {
        let told = ask(node, "CLUSTER INFO");
        for line in [
            "cluster_state:ok".to_owned(),
            "cluster_slots_ok:16384".to_owned(),
            format!("cluster_known_nodes:{known}"),
            format!("cluster_size:{masters}"),
        ] {
            assert!(told.contains(&format!("{line}\r")), "{line} at {}: {told}", node.address);
        }
    }
}

fn with<'a>(launch: Launch<'a>, settings: &[(&str, &str)]) -> Launch<'a> {
    let mut launch = launch;
    let settings = settings.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
    launch.settings.extend(settings);
    launch
}

pub fn a_cluster_of_three_is_one() {
    for name in NAMES {
        let Some(installed) = installed(name) else { continue };
        let place = place();
        let mut launch = with(launch(&installed, place.path()), &[("io-threads", "2")]);
        launch.durability = Durability::Synced;
        let server = start(launch);
        is_whole(&server, 3);
        let applied: Vec<_> = server.settings_applied().to_vec();
        for (setting, value) in [("nodes", "3"), ("replicas", "0"), ("appendfsync", "always")] {
            assert!(applied.contains(&(setting.into(), value.into())), "{applied:?}");
        }
        for node in server.nodes() {
            let told = ask(node, "CONFIG GET appendfsync\r\nCONFIG GET io-threads");
            assert!(told.contains("always\r") && told.contains("\r\n2\r"), "{told}");
        }
        let pids: BTreeSet<u32> = server.nodes().map(|node| node.pid).collect();
        assert_eq!(pids.len(), 3);
        assert!(pids.iter().all(|pid| descendants(server.warden_pid()).contains(pid)));
        assert_eq!(entries(server.data_dir()).len(), 3, "a folder each");
        server.stop().expect("it stops");
        assert!(!pids.into_iter().any(is_running));
        assert_eq!(entries(place.path()), Vec::<PathBuf>::new());
    }
}

pub fn instances_are_several_that_know_nobody() {
    for name in ["redis-instances", "valkey-instances"] {
        let Some(installed) = installed(name) else { continue };
        let place = place();
        let mut launch = with(launch(&installed, place.path()), &[("instances", "2")]);
        launch.durability = Durability::Buffered;
        let server = start(launch.clone());
        let addresses: Vec<&Address> = server.nodes().map(|node| &node.address).collect();
        let endpoint = server.endpoint();
        assert_eq!(
            (addresses[0], &[addresses[1].clone()][..]),
            (&endpoint.address, &*endpoint.others)
        );
        for node in server.nodes() {
            let told = ask(node, "INFO cluster\r\nCONFIG GET appendfsync");
            assert!(told.contains("cluster_enabled:0\r") && told.contains("everysec\r"), "{told}");
        }
        let pids: Vec<u32> = server.nodes().map(|node| node.pid).collect();
        assert_eq!(entries(server.data_dir()).len(), 2, "a folder each");
        signal(pids[1], Signal::KILL);
        await_that("a report", || server.exited().is_some());
        server.stop().expect("it stops");
        assert!(!pids.into_iter().any(is_running));
        assert_eq!(entries(place.path()), Vec::<PathBuf>::new());

        launch.settings.insert("instances".into(), "65".into());
        let refused = assay_provision::start(launch.clone()).expect_err("refused").to_string();
        assert!(refused.contains("1 to 64"), "{refused}");
        launch.settings.insert("instances".into(), "1".into());
        launch.transport = Transport::Unix;
        let refused = assay_provision::start(launch).expect_err("refused").to_string();
        assert!(refused.contains("TCP"), "{refused}");
    }
}

pub fn three_masters_have_a_replica_each() {
    for name in NAMES {
        let Some(installed) = installed(name) else { continue };
        let place = place();
        let server = start(with(launch(&installed, place.path()), &[("replicas", "1")]));
        is_whole(&server, 3);
        let (masters, replicas): (Vec<&Node>, Vec<&Node>) =
            server.nodes().partition(|node| ask(node, "INFO replication").contains("role:master"));
        assert_eq!((masters.len(), replicas.len()), (3, 3));
        for node in masters {
            assert!(ask(node, "INFO replication").contains("connected_slaves:1\r"));
        }
        for node in replicas {
            assert!(ask(node, "INFO replication").contains("master_link_status:up\r"));
        }
    }
}

pub fn a_node_that_was_killed_is_named() {
    let Some(installed) = installed("valkey-cluster") else { return };
    let place = place();
    let server = start(launch(&installed, place.path()));
    let node = server.nodes().nth(1).expect("three nodes").clone();
    assert_eq!(server.exited(), None);
    signal(node.pid, Signal::KILL);
    await_that("a report", || server.exited().is_some());
    let report = server.exited().expect("just awaited");
    let address = node.address.to_string();
    assert!(report.status.contains(&address) && report.status.contains("SIGKILL"), "{report}");
    assert!(!report.log.is_empty());
    server.stop().expect("it stops");
    assert_eq!(entries(place.path()), Vec::<PathBuf>::new());
}

pub fn a_node_that_was_paused_is_stopped() {
    let Some(installed) = installed("redis-cluster") else { return };
    let place = place();
    let server = start(launch(&installed, place.path()));
    let pids: Vec<u32> = server.nodes().map(|node| node.pid).collect();
    signal(pids[2], Signal::STOP);
    server.stop().expect("it stops");
    assert!(!pids.into_iter().any(is_running));
    assert_eq!(entries(place.path()), Vec::<PathBuf>::new());
}

pub fn a_cluster_that_cannot_be_is_refused() {
    let Some(installed) = installed("redis-cluster") else { return };
    let place = place();
    let refused = |launch: Launch<'_>| assay_provision::start(launch).expect_err("refused");
    for (setting, value) in [
        ("nodes", "0"),
        ("nodes", "many"),
        ("replicas", "-1"),
        ("cluster-port", "1"),
        ("cluster-config-file", "/etc/passwd"),
    ] {
        let error = refused(with(launch(&installed, place.path()), &[(setting, value)]));
        assert!(error.to_string().contains(&format!("setting '{setting}'")), "{error}");
    }
    let mut on_socket = launch(&installed, place.path());
    on_socket.transport = Transport::Unix;
    let error = refused(on_socket);
    assert!(error.to_string().contains("TCP"), "{error}");

    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let error = refused(with(launch(&installed, place.path()), &[("port", &port.to_string())]));
    assert!(matches!(error, StartError::Port { port: named, .. } if named == port), "{error}");
    assert_eq!(entries(place.path()), Vec::<PathBuf>::new());
}
