//! Clients allocate nothing once their buffers have grown: codecs neither when they encode nor when
//! they decode, sessions of a foreign library nothing beside it.

#[allow(dead_code, reason = "these tests take a part of what others share")]
#[allow(clippy::duplicate_mod, reason = "a file without a state of its own")]
#[path = "aerospike/server.rs"]
mod aerospike;
#[path = "common/attached.rs"]
mod attached;
#[allow(dead_code, reason = "these tests take a part of what others share")]
#[allow(clippy::duplicate_mod, reason = "a file without a state of its own")]
#[path = "cassandra/server.rs"]
mod cassandra;
#[allow(dead_code, reason = "these tests take a part of what others share")]
#[path = "cluster/nodes.rs"]
mod cluster;
#[allow(dead_code, reason = "these tests take a part of what others share")]
mod common;
#[allow(dead_code, reason = "these tests take a part of what others share")]
#[allow(clippy::duplicate_mod, reason = "files without a state of their own")]
#[path = "hyper/server.rs"]
mod hyper;
#[allow(dead_code, reason = "these tests take a part of what others share")]
#[allow(clippy::duplicate_mod, reason = "a file without a state of its own")]
#[path = "mysql/server.rs"]
mod mariadb;
#[allow(dead_code, reason = "these tests take a part of what others share")]
#[allow(clippy::duplicate_mod, reason = "a file without a state of its own")]
#[path = "monetdb/server.rs"]
mod monetdb;
#[allow(dead_code, reason = "these tests take a part of what others share")]
#[allow(clippy::duplicate_mod, reason = "a file without a state of its own")]
#[path = "riak/server.rs"]
mod riak;
#[allow(dead_code, reason = "these tests take a part of what others share")]
#[allow(clippy::duplicate_mod, reason = "a file without a state of its own")]
#[path = "mongodb/server.rs"]
mod secantusdb;
#[allow(dead_code, reason = "these tests take a part of what others share")]
#[path = "common/server.rs"]
mod server;
#[allow(dead_code, reason = "these tests take a part of what others share")]
#[allow(clippy::duplicate_mod, reason = "a file without a state of its own")]
#[path = "voltdb/server.rs"]
mod voltdb;

use std::{
    alloc::{GlobalAlloc, Layout, System as Heap},
    cell::Cell,
    io::{Read, Write},
    sync::Arc,
    time::{Duration, Instant},
};

use assay_model::{Answer, Feature, FieldValue, Fields, Operation, Outcome, Schema, Support};
use assay_systems::{Client, Step, System, Target, WireClient};
use attached::attached;
use common::Candidate;
use server::{Server, installed, installed::installed_library};

/// The ordinary heap, counting each thread's requests.
struct Counting;

thread_local! {
    static REQUESTS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending has no counter any more, and nobody asks for it.
    let _ = REQUESTS.try_with(|requests| requests.set(requests.get() + 1));
}

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is the one asked for.
        unsafe { Heap.alloc(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is the one asked for.
        unsafe { Heap.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is the one asked for.
        unsafe { Heap.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static HEAP: Counting = Counting;

/// A client whose input buffer never grows.
struct Fixed {
    client: WireClient,
    input: Vec<u8>,
    output: Vec<u8>,
    answer: Answer,
}

impl Fixed {
    fn new(client: WireClient) -> Fixed {
        Fixed {
            client,
            input: vec![0; 1 << 20],
            output: Vec::with_capacity(1 << 16),
            answer: Answer::counting(),
        }
    }

    fn run(&mut self, operation: &Operation<'_>) -> Outcome {
        self.answer.clear();
        self.output.clear();
        self.client.codec.encode(operation, &mut self.output);
        let mut received = 0;
        loop {
            self.client.socket.write_all(&self.output).unwrap();
            self.output.clear();
            received += self.client.socket.read(&mut self.input[received..]).unwrap();
            let input = &self.input[..received];
            match self.client.codec.decode(input, &mut self.output, &mut self.answer) {
                Step::More { consumed } => {
                    self.input.copy_within(consumed..received, 0);
                    received -= consumed;
                }
                Step::Done { outcome, .. } => return outcome,
                Step::Broken(outcome) => panic!("{outcome:?}"),
            }
        }
    }
}

/// Carries out operations of one client of the system.
fn client(system: &dyn System) -> Box<dyn FnMut(&Operation<'_>) -> Outcome> {
    match system.connect().unwrap() {
        Client::Wire(client) => {
            let mut client = Fixed::new(client);
            Box::new(move |operation| client.run(operation))
        }
        Client::Call(mut session) => {
            let mut answer = Answer::counting();
            Box::new(move |operation| {
                answer.clear();
                session.execute(operation, &mut answer)
            })
        }
    }
}

fn allocates_nothing(driver: &'static str, layout: &'static str, indexes: usize, target: Target) {
    let schema = Schema::new("t", "field", 10).with_indexes(indexes);
    let candidate = Candidate::new(driver, layout);
    let system = candidate.open(target, &Arc::new(schema));
    system.prepare().unwrap();
    let value = [b'v'; 100];
    let values: Vec<FieldValue<'_>> =
        (0..10).map(|field| FieldValue { field, bytes: &value }).collect();
    let keys: Vec<String> = (0..40).map(|at| format!("user{at:08}")).collect();
    let can = candidate.capabilities();
    let scans = !matches!(can.scan, Support::Unsupported(_));
    let ranges = !matches!(can.support(Feature::LookupRanges), Support::Unsupported(_));
    let mut run = client(&*system);
    let mut round = || {
        for key in &keys {
            let key = key.as_bytes();
            // Not every store takes an insert of a key that exists, as it does in the second round.
            let deleted = run(&Operation::Delete { key });
            assert!(matches!(deleted, Outcome::Done | Outcome::Missing), "{deleted:?}");
            let mut done = |operation| assert_eq!(run(&operation), Outcome::Done);
            done(Operation::Insert { key, values: &values });
            done(Operation::Read { key, fields: Fields::All });
            done(Operation::Read { key, fields: Fields::One(3) });
            done(Operation::Update { key, values: &values });
            done(Operation::Update { key, values: &values[4..5] });
            if scans {
                done(Operation::Scan { start: b"user", limit: 30, fields: Fields::All });
            }
            for fields in [Fields::All, Fields::One(3)].into_iter().filter(|_| indexes > 0) {
                if ranges {
                    done(Operation::Lookup { field: 1, from: b"", to: None, limit: 30, fields });
                }
                done(Operation::Lookup {
                    field: 1,
                    from: &value,
                    to: Some(&value),
                    limit: 30,
                    fields,
                });
            }
        }
    };
    // How far a buffer must grow depends on how replies come, in one piece or in several: a later round may
    // still have one grow. What asks for memory at every operation does so in every round.
    const ROUNDS: usize = 6;
    let mut asked = Vec::new();
    while asked.last() != Some(&0) && asked.len() < ROUNDS {
        let before = REQUESTS.get();
        round();
        asked.push(REQUESTS.get() - before);
    }
    assert_eq!(
        asked.last(),
        Some(&0),
        "{driver}:{layout} with {indexes} indexes asked for memory: {asked:?} by round"
    );
    system.remove().unwrap();
}

#[test]
fn redis_codecs_allocate_nothing_in_the_steady_state() {
    let Some(program) = installed("redis") else { return };
    let server = Server::redis(&program, &[]);
    for (layout, indexes) in [("hash", 0), ("hash", 2), ("hash-noindex", 0), ("string", 0)] {
        allocates_nothing("redis", layout, indexes, server.target());
    }
}

#[test]
fn the_codec_of_a_cluster_allocates_nothing_in_the_steady_state() {
    let Some(program) = installed("redis-cluster") else { return };
    let cluster = cluster::Cluster::start(&program, 3, 0, &[]);
    for (layout, indexes) in [("hash", 0), ("hash", 2), ("hash-noindex", 0), ("string", 0)] {
        allocates_nothing("redis-cluster", layout, indexes, cluster.target(0));
    }
    let servers = cluster::Cluster::apart(&program, 3, &[]);
    allocates_nothing("redis-instances", "hash", 2, servers.all());
}

#[test]
fn the_memcached_codec_allocates_nothing_in_the_steady_state() {
    let Some(program) = installed("memcached") else { return };
    let server = Server::memcached(&program, &[]);
    allocates_nothing("memcached", "value", 0, server.target());
}

#[test]
fn the_duckdb_session_allocates_nothing_in_the_steady_state() {
    allocates_nothing_in_library("duckdb", "row");
}

#[test]
fn the_rocksdb_session_allocates_nothing_in_the_steady_state() {
    allocates_nothing_in_library("rocksdb", "record");
}

fn allocates_nothing_in_library(driver: &'static str, layout: &'static str) {
    let Some(library) = installed_library(driver) else { return };
    let folder = tempfile::tempdir().unwrap();
    for indexes in [0, 2] {
        let (library, data_dir) = (library.clone(), folder.path().to_owned());
        allocates_nothing(driver, layout, indexes, Target::Library { library, data_dir });
    }
}

#[test]
fn the_mongodb_codec_allocates_nothing_in_the_steady_state() {
    let Some(server) = secantusdb::Server::start(&[]) else { return };
    for (layout, indexes) in [("document", 0), ("document", 2), ("binary", 0)] {
        allocates_nothing("secantusdb", layout, indexes, Target::Server(server.endpoint()));
    }
}

#[test]
fn the_mysql_codec_allocates_nothing_in_the_steady_state() {
    let Some(server) = mariadb::Server::start(&[]) else { return };
    for (layout, indexes) in [("row", 0), ("row", 2), ("json", 0), ("json", 2)] {
        allocates_nothing("mariadb", layout, indexes, Target::Server(server.endpoint()));
    }
}

/// Does nothing as a test: the next one starts this program with it alone, as its server.
#[test]
fn host() {
    monetdb::host();
}

#[test]
fn the_monetdb_codec_allocates_nothing_in_the_steady_state() {
    let Some(server) = monetdb::Server::start(true) else { return };
    let target = Target::Server(server.endpoint());
    let begun = Instant::now();
    let schema = Arc::new(Schema::new("t", "field", 1));
    while let Err(error) = Candidate::new("monetdb", "row").open(target.clone(), &schema).identity()
    {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not come up: {error}");
        std::thread::sleep(Duration::from_millis(50));
    }
    allocates_nothing("monetdb", "row", 0, target);
}

#[test]
fn the_hyper_codec_allocates_nothing_in_the_steady_state() {
    let Some(server) = hyper::Server::start(None) else { return };
    allocates_nothing("hyper", "row", 0, Target::Server(server.endpoint()));
}

#[test]
fn the_cassandra_codec_allocates_nothing_in_the_steady_state() {
    let Some(mut server) = cassandra::Server::start() else { return };
    let target = Target::Server(server.endpoint());
    let schema = Arc::new(Schema::new("t", "field", 1));
    let some = Candidate::new("cassandra", "row");
    server.wait(|| some.open(target.clone(), &schema).identity().is_ok());
    for layout in ["row", "ordered", "checked"] {
        allocates_nothing("cassandra", layout, 0, target.clone());
    }
}

#[test]
fn the_riak_codec_allocates_nothing_in_the_steady_state() {
    let named = attached("riak");
    let own = if named.is_none() { riak::Server::start() } else { None };
    let Some(endpoint) = named.or(own.as_ref().map(riak::Server::endpoint)) else { return };
    for (layout, indexes) in [("value", 0), ("value", 2), ("value-noindex", 0), ("strong", 0)] {
        allocates_nothing("riak", layout, indexes, Target::Server(endpoint.clone()));
    }
}

#[test]
fn the_aerospike_codec_allocates_nothing_in_the_steady_state() {
    for nodes in [1, 3] {
        let Some(server) = aerospike::Server::cluster(nodes, aerospike::Storage::Memory) else {
            return;
        };
        for indexes in [0, 2] {
            allocates_nothing("aerospike", "bins", indexes, server.target());
        }
    }
}

#[test]
fn the_voltdb_codec_allocates_nothing_in_the_steady_state() {
    let Some(server) = voltdb::Server::start("") else { return };
    for (layout, indexes) in [("partitioned", 0), ("partitioned", 2), ("replicated", 2)] {
        allocates_nothing("voltdb", layout, indexes, server.target());
    }
}
