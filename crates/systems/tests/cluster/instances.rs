//! `redis-instances` and `valkey-instances` on three real servers that do not know of each other.

use std::time::{Duration, Instant};

use assay_model::{Endpoint, FailureKind, Fields, Outcome, Secret};
use assay_systems::{
    SystemError, Target,
    conformance::{Content, Updates},
};
use rustix::process::Signal;

use super::{
    PATIENT,
    common::Candidate,
    installed::installed,
    nodes::{self, Cluster},
    open,
    records::{self, delete, insert, read, row, scan, session},
};

fn conforms(driver: &'static str, layout: &'static str) {
    let Some(program) = installed(driver) else { return };
    let servers = Cluster::apart(&program, 3, &[]);
    let mut candidate = Candidate::new(driver, layout);
    candidate.content = Content::Bytes;
    if layout == "string" {
        candidate.updates = Updates::MayBeLost;
    }
    candidate.conforms(|| servers.all());
}

#[test]
fn redis_hash_conforms_on_three_servers() {
    conforms("redis-instances", "hash");
}

#[test]
fn valkey_hash_conforms_on_three_servers() {
    conforms("valkey-instances", "hash");
}

#[test]
fn other_layouts_conform_on_three_servers() {
    conforms("redis-instances", "hash-noindex");
    conforms("valkey-instances", "string");
}

#[test]
fn records_lie_on_all_servers_and_leave_with_the_table() {
    let Some(program) = installed("valkey-instances") else { return };
    let servers = Cluster::apart(&program, 3, &[]);
    servers.ok(1, "SET theirs 1");
    for indexes in [0, 2] {
        let system = open("valkey-instances", "hash", servers.all(), (3, indexes), PATIENT);
        system.prepare().unwrap();
        records::load(&*system, 300).unwrap();
        assert_eq!(system.count().unwrap(), 300);
        for server in 0..3 {
            let keys: u64 = servers.ask(server, "DBSIZE")[..].parse().unwrap();
            assert!(keys > 50, "server {server} has {keys} keys");
        }
        let identity = system.identity().unwrap();
        assert!(identity.version.starts_with("Valkey "), "{identity:?}");
        for (name, value) in [("instances", "3"), ("mode", "instances"), ("appendonly", "no")] {
            assert!(identity.settings.contains(&(name.into(), value.into())), "{identity:?}");
        }
        assert!(system.footprint().unwrap().memory_bytes.unwrap() > 30_000);
        system.remove().unwrap();
        let left: u64 = (0..3).map(|at| servers.ask(at, "DBSIZE").parse::<u64>().unwrap()).sum();
        assert_eq!(left, 1, "theirs");
    }
    // A table without a set of its keys cannot be told from what is there.
    let system = open("valkey-instances", "string", servers.all(), (1, 0), PATIENT);
    let error = system.prepare().unwrap_err();
    assert!(matches!(error, SystemError::AlreadyThere { .. }), "{error}");
    assert!(error.to_string().contains("use other servers"), "{error}");
    assert_eq!(servers.ask(1, "GET theirs"), "1");
}

#[test]
fn a_server_that_is_paused_or_gone_fails_its_operations_and_no_others() {
    let Some(program) = installed("redis-instances") else { return };
    let mut servers = Cluster::apart(&program, 3, &[]);
    let timeout = Duration::from_millis(500);
    let system = open("redis-instances", "hash-noindex", servers.all(), (1, 0), timeout);
    system.prepare().unwrap();
    let mut client = session(&*system);
    let keys: Vec<String> = (0..60).map(|at| format!("user{at}")).collect();
    for key in &keys {
        assert_eq!(insert(&mut client, key, &[(0, "value")]), Outcome::Done);
    }
    let on = |server: usize| {
        keys.iter().find(|key| servers.ask(server, &format!("EXISTS {key}")) == "1").unwrap()
    };
    let keys = [0, 1, 2].map(on).map(String::clone);
    servers.signal(1, Signal::STOP);
    let begun = Instant::now();
    let stuck = read(&mut client, &keys[1], Fields::All).0;
    assert_eq!(stuck.failure_kind(), Some(FailureKind::Timeout), "{stuck:?}");
    assert!(begun.elapsed() < 4 * timeout, "{:?}", begun.elapsed());
    // As the event loop does with a client whose operation timed out.
    let mut client = session(&*system);
    for key in [&keys[0], &keys[2]] {
        assert_eq!(read(&mut client, key, Fields::All).0, Outcome::Done);
    }
    servers.signal(1, Signal::CONT);
    assert_eq!(read(&mut client, &keys[1], Fields::All).1, [row(&keys[1], &[(0, "value")])]);
    servers.nodes[1].kill();
    for _ in 0..3 {
        let lost = read(&mut client, &keys[1], Fields::All).0;
        assert_eq!(lost.failure_kind(), Some(FailureKind::Disconnected), "{lost:?}");
        for key in [&keys[0], &keys[2]] {
            assert_eq!(read(&mut client, key, Fields::All).0, Outcome::Done);
        }
    }
    let error = system.count().unwrap_err().to_string();
    assert!(error.contains(&servers.nodes[1].port.to_string()), "{error}");
}

#[test]
fn every_server_wants_the_password() {
    let Some(program) = installed("redis-instances") else { return };
    let servers = Cluster::apart(&program, 3, &["--requirepass", "secret"]);
    let target = |password: Option<&str>| {
        let Target::Server(endpoint) = servers.all() else { unreachable!() };
        Target::Server(Endpoint { password: password.map(Secret::new), ..endpoint })
    };
    for password in [None, Some("wrong-hunter2")] {
        let system = open("redis-instances", "hash", target(password), (1, 0), PATIENT);
        let error = system.prepare().unwrap_err();
        assert!(matches!(error, SystemError::LoginRefused { .. }), "{error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
    let system = open("redis-instances", "hash", target(Some("secret")), (1, 1), PATIENT);
    system.prepare().unwrap();
    let mut client = session(&*system);
    for at in 0..20 {
        assert_eq!(insert(&mut client, &format!("user{at}"), &[(0, "value")]), Outcome::Done);
    }
    assert_eq!(delete(&mut client, "user3"), Outcome::Done);
    assert_eq!(scan(&mut client, "", 99, Fields::All).len(), 19);
    system.remove().unwrap();
}

#[test]
fn what_is_not_several_servers_is_refused_with_the_next_step() {
    let Some(program) = installed("redis-instances") else { return };
    let in_cluster_mode = nodes::lone(&program, true);
    let target = nodes::target(&in_cluster_mode);
    let system = open("redis-instances", "hash", target, (1, 0), PATIENT);
    let error = system.prepare().unwrap_err().to_string();
    assert!(error.contains("'redis-cluster'") && error.contains("cluster-enabled no"), "{error}");

    let servers = Cluster::apart(&program, 2, &[]);
    let Target::Server(mut endpoint) = servers.all() else { unreachable!() };
    // The same server by another name.
    let port = servers.nodes[0].port;
    endpoint.others.push(assay_model::Address::Tcp { host: "localhost".into(), port });
    let system = open("redis-instances", "hash", Target::Server(endpoint), (1, 0), PATIENT);
    let error = system.prepare().unwrap_err().to_string();
    assert!(error.contains("are one server"), "{error}");
}
