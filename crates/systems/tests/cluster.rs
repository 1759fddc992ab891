//! `redis-cluster` and `valkey-cluster` on real clusters: 3 masters, and 3 with a replica each.

#[allow(dead_code, reason = "these tests take a part of what others share")]
mod common;
#[allow(dead_code, reason = "these tests take a part of what others share")]
#[path = "common/installed.rs"]
mod installed;
#[path = "cluster/instances.rs"]
mod instances;
#[path = "cluster/nodes.rs"]
mod nodes;
#[allow(dead_code, reason = "these tests take a part of what others share")]
#[path = "common/records.rs"]
mod records;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use assay_model::{
    Answer, Durability, Endpoint, FailureKind, Fields, Operation, Outcome, Schema, Secret,
};
use assay_systems::{
    Opening, Session, System, SystemError, Target,
    conformance::{Content, Updates},
    registry,
};
use common::Candidate;
use installed::installed;
use nodes::Cluster;
use records::{ask, delete, insert, read, row, scan, session, update};
use rustix::process::Signal;

fn open(
    driver: &str,
    layout: &str,
    target: Target,
    (fields, indexes): (usize, usize),
    timeout: Duration,
) -> Box<dyn System> {
    let driver = registry::find(driver).expect("the driver is in the registry");
    let schema = Schema::new("usertable", "field", fields).with_indexes(indexes);
    let opening = Opening {
        target,
        layout: layout.into(),
        schema: Arc::new(schema),
        durability: Durability::None,
        settings: Default::default(),
        timeout,
    };
    (driver.open)(opening).unwrap_or_else(|error| panic!("{error}"))
}

const PATIENT: Duration = Duration::from_secs(30);

fn conforms(driver: &'static str, layout: &'static str, replicas: usize) {
    let Some(program) = installed(driver) else { return };
    let cluster = Cluster::start(&program, 3, replicas, &[]);
    let mut candidate = Candidate::new(driver, layout);
    candidate.content = Content::Bytes;
    if layout == "string" {
        candidate.updates = Updates::MayBeLost;
    }
    candidate.conforms(|| cluster.target(1));
}

#[test]
fn redis_hash_conforms_on_three_nodes() {
    conforms("redis-cluster", "hash", 0);
}

#[test]
fn valkey_hash_conforms_on_three_nodes() {
    conforms("valkey-cluster", "hash", 0);
}

#[test]
fn redis_hash_conforms_with_replicas() {
    conforms("redis-cluster", "hash", 1);
}

#[test]
fn valkey_hash_conforms_with_replicas() {
    conforms("valkey-cluster", "hash", 1);
}

#[test]
fn other_layouts_conform() {
    conforms("redis-cluster", "hash-noindex", 0);
    conforms("valkey-cluster", "string", 1);
}

#[test]
fn records_lie_on_all_nodes_and_leave_with_the_table() {
    let Some(program) = installed("valkey-cluster") else { return };
    let cluster = Cluster::start(&program, 3, 0, &[]);
    cluster.ok(cluster.owner("theirs"), "SET theirs 1");
    for indexes in [0, 2] {
        let target = cluster.target(0);
        let system = open("valkey-cluster", "hash", target, (3, indexes), PATIENT);
        system.prepare().unwrap();
        records::load(&*system, 300).unwrap();
        assert_eq!(system.count().unwrap(), 300);
        for node in 0..3 {
            let keys: u64 = cluster.ask(node, "DBSIZE")[..].parse().unwrap();
            assert!(keys > 50, "node {node} has {keys} keys");
        }
        let identity = system.identity().unwrap();
        assert!(identity.version.starts_with("Valkey "), "{identity:?}");
        let has = |name: &str, value: &str| {
            assert!(identity.settings.contains(&(name.into(), value.into())), "{identity:?}");
        };
        has("cluster-masters", "3");
        has("cluster-replicas", "0");
        assert!(system.footprint().unwrap().memory_bytes.unwrap() > 30_000);
        system.remove().unwrap();
        let left: u64 = (0..3).map(|at| cluster.ask(at, "DBSIZE").parse::<u64>().unwrap()).sum();
        assert_eq!(left, 1, "theirs");
    }
    // A table without a set of its keys cannot be told from what is there.
    let system = open("valkey-cluster", "string", cluster.target(0), (1, 0), PATIENT);
    assert!(matches!(system.prepare(), Err(SystemError::AlreadyThere { .. })));
    cluster.ok(2, "CONFIG SET maxmemory 1gb");
    let settings = system.identity().unwrap().settings;
    let (_, maxmemory) = settings.iter().find(|(name, _)| name == "maxmemory").unwrap();
    assert!(maxmemory.contains(&format!("127.0.0.1:{}: 1073741824", cluster.nodes[2].port)));
}

#[test]
fn what_is_there_is_not_overwritten() {
    let Some(program) = installed("redis-cluster") else { return };
    let cluster = Cluster::start(&program, 3, 0, &[]);
    cluster.ok(cluster.owner("user000007"), "SET user000007 theirs");
    let system = open("redis-cluster", "hash", cluster.target(2), (3, 1), PATIENT);
    system.prepare().unwrap();
    let error = records::load(&*system, 20).unwrap_err();
    assert!(matches!(error, SystemError::AlreadyThere { .. }), "{error}");
    system.remove().unwrap();
    assert_eq!(cluster.ask(cluster.owner("user000007"), "GET user000007"), "theirs");
    let key = "_indices:field0";
    cluster.ask(cluster.owner(key), &format!("ZADD {key} 0 theirs"));
    let error = system.prepare().unwrap_err().to_string();
    assert!(error.contains(key), "{error}");
}

/// A slot moves from one node to another, key by key, while a client works on its records.
#[test]
fn a_slot_that_moves_is_followed() {
    let Some(program) = installed("redis-cluster") else { return };
    let cluster = Cluster::start(&program, 3, 0, &[]);
    let system = open("redis-cluster", "hash", cluster.target(0), (2, 1), PATIENT);
    system.prepare().unwrap();
    let (mut client, mut other) = (session(&*system), session(&*system));
    let key = |at: usize| format!("{{moving}}{at}");
    for at in 0..20 {
        assert_eq!(insert(&mut client, &key(at), &[(0, "old"), (1, "x")]), Outcome::Done);
    }
    let slot = cluster.ask(0, "CLUSTER KEYSLOT {moving}");
    let from = cluster.owner("moving");
    let to = (from + 1) % 3;
    let id = |at: usize| cluster.ask(at, "CLUSTER MYID");
    cluster.ok(to, &format!("CLUSTER SETSLOT {slot} IMPORTING {}", id(from)));
    cluster.ok(from, &format!("CLUSTER SETSLOT {slot} MIGRATING {}", id(to)));
    let migrate = |key: &str| {
        let port = cluster.nodes[to].port;
        cluster.ok(from, &format!("MIGRATE 127.0.0.1 {port} {key} 0 5000"));
    };
    for at in 0..10 {
        migrate(&key(at));
    }
    // Half of the records are asked for at their new node, record by record.
    for at in 0..20 {
        let (outcome, rows) = read(&mut client, &key(at), Fields::One(1));
        assert_eq!((outcome, rows.len()), (Outcome::Done, 1), "{at}");
    }
    assert_eq!(scan(&mut client, "{", 50, Fields::All).len(), 20);
    (10..20).for_each(|at| migrate(&key(at)));
    // The counter of the slot's writes is the last key there.
    let counter = cluster.ask(from, &format!("CLUSTER COUNTKEYSINSLOT {slot}"));
    assert_eq!(counter, "1");
    let find = "EVAL \"return redis.call('KEYS','_indices:{*')[1]\" 0";
    let names = cluster.ask(from, find);
    migrate(&names);
    for at in 0..3 {
        cluster.ok((to + at) % 3, &format!("CLUSTER SETSLOT {slot} NODE {}", id(to)));
    }
    for (at, session) in [&mut client, &mut other].into_iter().enumerate() {
        for record in 0..20 {
            let value = format!("new{at}");
            let updated = update(session, &key(record), &[(0, &value)]);
            assert_eq!(updated, Outcome::Done, "{record}");
        }
        let (from, to) = (&b"new"[..], Some(&b"new9"[..]));
        let lookup = Operation::Lookup { field: 0, from, to, limit: 99, fields: Fields::All };
        let (outcome, rows) = ask(session, lookup);
        assert_eq!((outcome, rows.len()), (Outcome::Done, 20));
    }
    assert_eq!(delete(&mut other, &key(0)), Outcome::Done);
    assert_eq!(scan(&mut client, "{", 50, Fields::All).len(), 19);
}

/// A master is killed while clients work: what lies elsewhere goes on, and its replica is found.
#[test]
fn a_failover_is_followed_and_the_others_go_on() {
    let Some(program) = installed("valkey-cluster") else { return };
    let mut cluster = Cluster::start(&program, 3, 1, &["--cluster-require-full-coverage", "no"]);
    let system = open("valkey-cluster", "hash", cluster.target(0), (1, 0), PATIENT);
    system.prepare().unwrap();
    let mut client = session(&*system);
    let keys: Vec<String> = (0..60).map(|at| format!("user{at}")).collect();
    for key in &keys {
        assert_eq!(insert(&mut client, key, &[(0, "value")]), Outcome::Done);
    }
    let answers = |node: usize| cluster.ask(node, "DBSIZE");
    for master in 0..3 {
        cluster.await_that(3 + master, "DBSIZE", |keys| keys == answers(master));
    }
    let first = (0..3).find(|node| *node != index_node(&cluster)).expect("three masters");
    cluster.nodes[first].kill();
    let begun = Instant::now();
    let (mut failed, mut done) = (0, 0);
    loop {
        let mut failures = 0;
        for key in &keys {
            match read(&mut client, key, Fields::All).0 {
                Outcome::Done => done += 1,
                outcome => {
                    assert_eq!(outcome.failure_kind(), Some(FailureKind::Disconnected));
                    failures += 1;
                }
            }
        }
        failed += failures;
        if failures == 0 {
            break;
        }
        assert!(begun.elapsed() < PATIENT, "{failures} of {} still fail", keys.len());
        thread::sleep(Duration::from_millis(20));
    }
    assert!(failed > 0 && done > failed, "{done} answered, {failed} failed");
    assert_eq!(update(&mut client, &keys[0], &[(0, "changed")]), Outcome::Done);
    assert_eq!(scan(&mut session(&*system), "", 100, Fields::All).len(), 60);
    assert_eq!(system.count().unwrap(), 60);
    system.remove().unwrap();
}

/// The node that has the set of all keys.
fn index_node(cluster: &Cluster) -> usize {
    let slot: usize = cluster.ask(0, "CLUSTER KEYSLOT _indices").parse().unwrap();
    (0..3).find(|at| slot < 16_384 * (at + 1) / 3).unwrap()
}

#[test]
fn a_paused_node_fails_its_operations_in_time_and_no_others() {
    let Some(program) = installed("redis-cluster") else { return };
    let cluster = Cluster::start(&program, 3, 0, &["--cluster-require-full-coverage", "no"]);
    let timeout = Duration::from_millis(500);
    let system = open("redis-cluster", "string", cluster.target(0), (1, 0), timeout);
    system.prepare().unwrap();
    let mut client = session(&*system);
    let key_on = |node: usize| {
        (0..).map(|at| format!("user{at}")).find(|key| cluster.owner(key) == node).unwrap()
    };
    let keys = [0, 1, 2].map(key_on);
    for key in &keys {
        assert_eq!(insert(&mut client, key, &[(0, "value")]), Outcome::Done);
    }
    cluster.signal(1, Signal::STOP);
    let begun = Instant::now();
    let stuck = read(&mut client, &keys[1], Fields::All).0;
    assert_eq!(stuck.failure_kind(), Some(FailureKind::Timeout), "{stuck:?}");
    assert!(begun.elapsed() < 4 * timeout, "{:?}", begun.elapsed());
    // As the event loop does with a client whose operation timed out.
    let begun = Instant::now();
    let mut client = session(&*system);
    for key in [&keys[0], &keys[2]] {
        assert_eq!(read(&mut client, key, Fields::All).0, Outcome::Done);
    }
    assert!(begun.elapsed() < timeout, "{:?}", begun.elapsed());
    cluster.signal(1, Signal::CONT);
    cluster.await_that(0, "CLUSTER INFO", |reply| reply.contains("cluster_slots_ok:16384"));
    assert_eq!(read(&mut client, &keys[1], Fields::All).1, [row(&keys[1], &[(0, "value")])]);
}

#[test]
fn a_wrong_password_is_refused_and_the_right_one_serves_every_node() {
    let Some(program) = installed("redis-cluster") else { return };
    let arguments = ["--requirepass", "secret", "--masterauth", "secret"];
    let cluster = Cluster::start(&program, 3, 0, &arguments);
    let target = |password: Option<&str>| {
        let Target::Server(endpoint) = cluster.target(0) else { unreachable!() };
        Target::Server(Endpoint { password: password.map(Secret::new), ..endpoint })
    };
    for password in [None, Some("wrong-hunter2")] {
        let system = open("redis-cluster", "hash", target(password), (1, 0), PATIENT);
        let error = system.prepare().unwrap_err();
        assert!(matches!(error, SystemError::LoginRefused { .. }), "{error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
    let system = open("redis-cluster", "hash", target(Some("secret")), (1, 1), PATIENT);
    system.prepare().unwrap();
    let mut client = session(&*system);
    for at in 0..20 {
        assert_eq!(insert(&mut client, &format!("user{at}"), &[(0, "value")]), Outcome::Done);
    }
    assert_eq!(scan(&mut client, "", 99, Fields::All).len(), 20);
    system.remove().unwrap();
}

#[test]
fn a_server_that_is_no_cluster_is_refused_with_the_next_step() {
    for (driver, one) in [("redis-cluster", "'redis'"), ("valkey-cluster", "'valkey'")] {
        let Some(program) = installed(driver) else { continue };
        let lone = nodes::lone(&program, false);
        let system = open(driver, "hash", nodes::target(&lone), (1, 0), PATIENT);
        let error = system.prepare().unwrap_err().to_string();
        assert!(error.contains(one) && error.contains("cluster-enabled yes"), "{error}");
        let unformed = nodes::lone(&program, true);
        let system = open(driver, "hash", nodes::target(&unformed), (1, 0), PATIENT);
        let error = system.prepare().unwrap_err().to_string();
        assert!(error.contains("16384 slots have no node"), "{error}");
    }
}

/// Writers change one indexed field of the same few records: whoever is last, the index has its value.
#[test]
fn an_index_on_another_node_ends_with_the_last_write() {
    const RECORDS: usize = 8;
    let Some(program) = installed("redis-cluster") else { return };
    let cluster = Cluster::start(&program, 3, 0, &[]);
    let system = open("redis-cluster", "hash", cluster.target(0), (2, 1), PATIENT);
    system.prepare().unwrap();
    let mut client = session(&*system);
    for at in 0..RECORDS {
        let fields = [(0, "m"), (1, "rest")];
        assert_eq!(insert(&mut client, &format!("user{at}"), &fields), Outcome::Done);
    }
    let enough = AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 0..6 {
            let (mut session, enough) = (session(&*system), &enough);
            scope.spawn(move || {
                for round in 0.. {
                    if enough.load(Ordering::Relaxed) {
                        return;
                    }
                    let key = format!("user{}", (round * 5 + writer) % RECORDS);
                    let value = char::from(b'a' + ((round * 7 + writer) % 26) as u8).to_string();
                    let outcome = match (round + writer) % 9 {
                        0 => delete(&mut session, &key),
                        1 => insert(&mut session, &key, &[(0, &value), (1, "rest")]),
                        _ => update(&mut session, &key, &[(0, &value)]),
                    };
                    assert!(matches!(outcome, Outcome::Done | Outcome::Missing), "{outcome:?}");
                }
            });
        }
        thread::sleep(Duration::from_secs(2));
        enough.store(true, Ordering::Relaxed);
    });
    for at in 0..RECORDS {
        let fields = [(0, "m"), (1, "rest")];
        assert_eq!(insert(&mut client, &format!("user{at}"), &fields), Outcome::Done);
    }
    let entries = cluster.ask(cluster.owner("_indices:field0"), "ZCARD _indices:field0");
    assert_eq!(entries, RECORDS.to_string(), "no entry is left behind");
    let mut answer = Answer::counting();
    let to = Some(&b"m"[..]);
    let lookup = Operation::Lookup { field: 0, from: b"m", to, limit: 99, fields: Fields::All };
    assert_eq!(client.execute(&lookup, &mut answer), Outcome::Done);
    assert_eq!(answer.row_count(), RECORDS as u64);
}
