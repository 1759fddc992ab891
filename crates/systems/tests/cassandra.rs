//! The `cassandra` driver against a real server of Apache Cassandra. It takes seconds to start, so one
//! test goes through all that is asked of it. Skipped, by name, where none is installed.

#[path = "common/logins.rs"]
mod logins;
#[path = "common/paused.rs"]
mod paused;
#[allow(dead_code, reason = "these tests take a part of what others share")]
#[path = "common/records.rs"]
mod records;
#[path = "common/restart.rs"]
mod restart;

#[path = "cassandra/server.rs"]
mod server;

use std::{collections::BTreeMap, net::TcpListener, sync::Arc, thread, time::Duration};

use assay_model::{Address, Durability, Endpoint, FailureKind, Fields, Outcome, Schema};
use assay_systems::{
    Opening, System, SystemError, Target,
    conformance::{self, Content, Misses, Subject, Updates},
    registry::find,
};
use logins::{as_user, impostor, refusal, unreachable, works};
use records::{delete, insert, kind, load, read, row, session, update};
use server::Server;

fn opening(endpoint: Endpoint, layout: &str, durability: Durability) -> Opening {
    Opening {
        target: Target::Server(endpoint),
        layout: layout.into(),
        schema: Arc::new(Schema::new("Users", "field", 3)),
        durability,
        settings: BTreeMap::new(),
        timeout: Duration::from_secs(30),
    }
}

fn open(opening: Opening) -> Result<Box<dyn System>, SystemError> {
    (find("cassandra").expect("the driver is registered").open)(opening)
}

fn system(endpoint: Endpoint, layout: &str) -> Box<dyn System> {
    open(opening(endpoint, layout, Durability::None)).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_real_server_is_served_as_the_driver_says() {
    let Some(mut server) = Server::start() else { return };
    let endpoint = server.endpoint();
    let serves = || system(endpoint.clone(), "row").identity().is_ok();
    server.wait(serves);
    let kept = open(opening(endpoint.clone(), "row", Durability::Buffered)).unwrap();
    restart::goes_on_after_a_restart(&*kept, 3, true, || {
        // What a crash of the server leaves of its log goes up to a mark that it sets ten times a second.
        thread::sleep(Duration::from_secs(1));
        server.restart(serves);
    });
    who_logs_in(&server);
    every_layout_conforms(&server);
    what_is_written_is_read(&server);
    what_is_there_is_left_alone(&server);
    less_durability_than_asked_for_is_refused(&server);
    the_server_tells_who_it_is(&server);
    let impatient = Opening {
        timeout: Duration::from_millis(500),
        ..opening(endpoint.clone(), "row", Durability::None)
    };
    let impatient = open(impatient).unwrap();
    paused::runs_into_the_time_limit(&*impatient, || server.pause(), || server.resume());
}

fn who_logs_in(server: &Server) {
    works(&*system(server.endpoint(), "checked"));
    let why = refusal(&*system(server.bare(), "row"));
    assert!(why.contains("cassandra://USER:PASSWORD@HOST"), "{why}");
    for (user, password) in [("cassandra", "hunter2"), ("nobody_here", "cassandra2")] {
        let wrong = as_user(server.bare(), user, Some(password));
        let why = refusal(&*system(wrong, "row"));
        assert!(why.contains("check the user and the password"), "{why}");
        assert!(!why.contains(password), "{why}");
    }
}

fn every_layout_conforms(server: &Server) {
    // As long as it holds a table, the keyspace stays for those of the checks: each comes and goes slowly.
    let holder = system(server.endpoint(), "row");
    holder.prepare().unwrap_or_else(|error| panic!("{error}"));
    // So do tables: those of one field are checked in the layout with the most operations.
    for (layout, fields) in [("row", 10), ("ordered", 10), ("ordered", 1), ("checked", 10)] {
        let driver = find("cassandra").expect("the driver is registered");
        let schema = Arc::new(Schema::new("usertable", "field", fields));
        let opening = opening(server.endpoint(), layout, Durability::None);
        let subject = Subject {
            name: &format!("cassandra:{layout} ({fields} fields)"),
            system: &*open(Opening { schema: Arc::clone(&schema), ..opening }).unwrap(),
            capabilities: &(driver.capabilities)(layout),
            schema: &schema,
            content: Content::Bytes,
            updates: Updates::Isolated,
            misses: if layout == "checked" { Misses::Told } else { Misses::Unseen },
        };
        conformance::check(&subject).unwrap_or_else(|failure| panic!("{failure}"));
    }
    holder.remove().unwrap_or_else(|error| panic!("{error}"));
}

/// Upserts create what they do not find, and conditions tell.
fn what_is_written_is_read(server: &Server) {
    for (layout, checked) in [("ordered", false), ("checked", true)] {
        let system = system(server.endpoint(), layout);
        system.prepare().unwrap();
        let client = &mut session(&*system);
        let fields = [(0, "a"), (1, "b"), (2, "c")];
        assert_eq!(insert(client, "k", &fields), Outcome::Done);
        assert_eq!(update(client, "k", &[(1, "new")]), Outcome::Done);
        let changed = [(0, "a"), (1, "new"), (2, "c")];
        assert_eq!(read(client, "k", Fields::All), (Outcome::Done, vec![row("k", &changed)]));
        let (again, missed) = (insert(client, "k", &fields), update(client, "none", &[(0, "x")]));
        let gone = [delete(client, "k"), delete(client, "k")];
        if checked {
            assert_eq!(kind(&again), FailureKind::Conflict);
            assert_eq!(missed, Outcome::Missing);
            assert_eq!(gone, [Outcome::Done, Outcome::Missing]);
            assert_eq!(system.count().unwrap(), 0);
        } else {
            assert_eq!((again, missed), (Outcome::Done, Outcome::Done));
            assert_eq!(gone, [Outcome::Done, Outcome::Done]);
            // The upsert made a record of the one field.
            let made = read(client, "none", Fields::All);
            assert_eq!(made, (Outcome::Done, vec![row("none", &[(0, "x")])]));
        }
        assert_eq!(kind(&insert(client, "", &fields)), FailureKind::Rejected);
        system.remove().unwrap();
    }
}

fn what_is_there_is_left_alone(server: &Server) {
    let (theirs, ours) = (system(server.endpoint(), "row"), system(server.endpoint(), "row"));
    theirs.prepare().unwrap();
    load(&*theirs, 2_000).unwrap_or_else(|error| panic!("{error}"));
    match ours.prepare() {
        Err(SystemError::AlreadyThere { what, .. }) => assert!(what.contains("Users"), "{what}"),
        other => panic!("{other:?}"),
    }
    ours.remove().unwrap();
    assert_eq!(theirs.count().unwrap(), 2_000);
    theirs.remove().unwrap();
    // The keyspace that Assay made has gone with its table.
    let named = Endpoint { database: Some("assay".into()), ..server.endpoint() };
    let error = system(named, "row").prepare().unwrap_err().to_string();
    assert!(error.contains("no keyspace 'assay'"), "{error}");
}

fn less_durability_than_asked_for_is_refused(server: &Server) {
    let at = |durability, database: Option<&str>| {
        let database = database.map(str::to_owned);
        open(opening(Endpoint { database, ..server.endpoint() }, "row", durability)).unwrap()
    };
    let error = at(Durability::Synced, None).prepare().unwrap_err().to_string();
    assert!(error.contains("commitlog_sync: periodic"), "{error}");
    // Refused, it leaves no keyspace.
    let volatile = at(Durability::None, None);
    volatile.prepare().unwrap();
    let error = at(Durability::Buffered, Some("assay")).prepare().unwrap_err().to_string();
    assert!(error.contains("durable_writes = false"), "{error}");
    volatile.remove().unwrap();
}

fn the_server_tells_who_it_is(server: &Server) {
    let identity = system(server.endpoint(), "row").identity().unwrap();
    assert!(identity.version.starts_with("Apache Cassandra 5."), "{}", identity.version);
    let settings = BTreeMap::from_iter(identity.settings);
    assert!(settings["partitioner"].ends_with("ByteOrderedPartitioner"), "{settings:?}");
    assert_eq!(settings["commitlog_sync"], "periodic");
}

#[test]
fn what_is_no_cassandra_is_named_as_such() {
    let (endpoint, thread) = impostor(&[b"HTTP/1.1 400 Bad Request\r\n\r\n"]);
    let why = unreachable(&*system(endpoint, "row"));
    assert!(why.contains("no response of version 4"), "{why}");
    thread.join().unwrap();
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let nobody = Endpoint::at(Address::Tcp { host: "127.0.0.1".into(), port });
    let error = system(nobody, "row").prepare().unwrap_err().to_string();
    assert!(error.contains("refused") && error.contains(&port.to_string()), "{error}");
}

#[test]
fn a_partitioner_that_keeps_no_order_is_told_with_the_next_step() {
    // A server that is ready, and whose partitioner is the usual one.
    const READY: &[u8] = b"\x84\0\0\0\x02\0\0\0\0";
    const MURMUR: &[u8] = b"\x84\0\0\0\x08\0\0\0\x31\0\0\0\x02\0\0\0\x04\0\0\0\x01\0\0\0\x01\0\0\0\x1dx.y.dht.aa.Murmur3Partitioner";
    let (endpoint, thread) = impostor(&[READY, MURMUR]);
    let error = system(endpoint, "ordered").prepare().unwrap_err().to_string();
    assert!(error.contains("Murmur3Partitioner: start one with"), "{error}");
    thread.join().unwrap();
}

#[test]
fn settings_and_names_that_cannot_be_are_refused() {
    let nowhere = || Endpoint::at(Address::Tcp { host: "127.0.0.1".into(), port: 1 });
    let mut odd = opening(nowhere(), "row", Durability::None);
    odd.settings.insert("consistency".into(), "some".into());
    match open(odd) {
        Err(SystemError::BadSetting { why, .. }) => assert!(why.contains("quorum"), "{why}"),
        _ => panic!("'some' is no level"),
    }
    for name in ["", "a b", "a'b", &"t".repeat(49)] {
        let schema = Arc::new(Schema::new(name, "field", 1));
        let odd = Opening { schema, ..opening(nowhere(), "row", Durability::None) };
        assert!(matches!(open(odd), Err(SystemError::Failed { .. })), "{name}");
    }
}
