//! The `voltdb` driver against a real VoltDB. Where it is not installed, tests are skipped by name.

#[allow(dead_code, reason = "these tests take a part of what others share")]
mod common;
#[path = "common/logins.rs"]
mod logins;
#[path = "common/paused.rs"]
mod paused;
#[allow(dead_code, reason = "these tests take a part of what others share")]
#[path = "common/records.rs"]
mod records;
#[path = "common/written.rs"]
mod written;

#[path = "voltdb/server.rs"]
mod server;

use std::{sync::Arc, time::Duration};

use assay_model::{Durability, Endpoint, FailureKind, Fields, Outcome, Schema};
use assay_systems::{Opening, System, SystemError, Target, registry::find};
use common::Candidate;
use logins::{as_user, impostor};
use records::{delete, insert, kind, read, row, session};
use server::Server;

fn opening(endpoint: Endpoint, layout: &str) -> Opening {
    Opening {
        target: Target::Server(endpoint),
        layout: layout.into(),
        schema: Arc::new(Schema::new("UserTable", "Field", 3)),
        durability: Durability::None,
        settings: Default::default(),
        timeout: Duration::from_secs(30),
    }
}

fn open(opening: Opening) -> Box<dyn System> {
    let driver = find("voltdb").expect("the driver is registered");
    (driver.open)(opening).unwrap_or_else(|error| panic!("{error}"))
}

fn conforms(layout: &'static str) {
    let Some(server) = Server::start("") else { return };
    Candidate::new("voltdb", layout).conforms(|| server.target());
}

#[test]
fn a_partitioned_table_conforms() {
    conforms("partitioned");
}

#[test]
fn a_replicated_table_conforms() {
    conforms("replicated");
}

#[test]
fn what_is_written_is_read_and_what_is_there_is_left_alone() {
    let Some(server) = Server::start("") else { return };
    for layout in ["partitioned", "replicated"] {
        let system = open(opening(server.endpoint(), layout));
        system.prepare().unwrap();
        let mut client = session(&*system);
        written::is_read(&*system, &mut client);
        // Names are the same in small letters and capital ones.
        let schema = Arc::new(Schema::new("USERTABLE", "x", 1));
        let other = open(Opening { schema, ..opening(server.endpoint(), layout) });
        match other.prepare() {
            Err(SystemError::AlreadyThere { what, .. }) => assert!(what.contains("USERTABLE")),
            refused => panic!("{refused:?}"),
        }
        other.remove().unwrap();
        assert_eq!(insert(&mut client, "k", &[(0, "a"), (1, "b"), (2, "c")]), Outcome::Done);
        let long = "k".repeat(1025);
        let outcome = insert(&mut client, &long, &[(0, "a"), (1, "b"), (2, "c")]);
        assert_eq!(kind(&outcome), FailureKind::Rejected, "{outcome:?}");
        let expected = [row("k", &[(0, "a"), (1, "b"), (2, "c")])];
        assert_eq!(read(&mut client, "k", Fields::All).1, expected);
        let identity = system.identity().unwrap();
        assert!(identity.version.starts_with("VoltDB 10."), "{}", identity.version);
        assert!(identity.settings.contains(&("sitesperhost".into(), "2".into())));
        system.remove().unwrap();
    }
}

#[test]
fn a_password_logs_in_and_a_wrong_one_does_not() {
    let users = "<security enabled=\"true\" provider=\"hash\"/><users>\
                 <user name=\"bench\" password=\"pässword\" roles=\"administrator\"/></users>";
    let Some(server) = Server::start(users) else { return };
    let system =
        |user, password| open(opening(as_user(server.endpoint(), user, password), "partitioned"));
    logins::works(&*system("bench", Some("pässword")));
    for (user, wrong) in [("bench", Some("hunter2")), ("bench", None), ("nobody", Some("hunter2"))]
    {
        let why = logins::refusal(&*system(user, wrong));
        assert!(why.contains("voltdb://USER:PASSWORD") && !why.contains("hunter2"), "{why}");
    }
    let why = logins::refusal(&*open(opening(server.endpoint(), "partitioned")));
    assert!(why.contains("voltdb://USER:PASSWORD"), "{why}");
}

#[test]
fn a_paused_server_runs_into_the_time_limit() {
    let Some(server) = Server::start("") else { return };
    let patient = opening(server.endpoint(), "partitioned");
    let system = open(Opening { timeout: Duration::from_secs(2), ..patient });
    paused::runs_into_the_time_limit(&*system, || server.pause(), || server.resume());
}

#[test]
fn clients_of_a_server_that_ended_are_told_and_it_has_nothing_afterwards() {
    let Some(mut server) = Server::start("") else { return };
    let system = open(opening(server.endpoint(), "partitioned"));
    system.prepare().unwrap();
    let mut before = session(&*system);
    assert_eq!(insert(&mut before, "k", &[(0, "a"), (1, "b"), (2, "c")]), Outcome::Done);
    assert_eq!(delete(&mut before, "k"), Outcome::Done);
    server.restart();
    for _ in 0..2 {
        let (outcome, _) = read(&mut before, "k", Fields::All);
        assert_eq!(kind(&outcome), FailureKind::Disconnected, "{outcome:?}");
    }
    // The table was in memory, and is gone with its procedures.
    let (outcome, _) = read(&mut session(&*system), "k", Fields::All);
    assert_eq!(kind(&outcome), FailureKind::Rejected, "{outcome:?}");
    system.remove().unwrap();
}

#[test]
fn what_is_no_voltdb_is_told_from_one() {
    for reply in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b"\0\0\0\x01\0", b""] {
        let (endpoint, asked) = impostor(&[b"", reply]);
        let limit = Duration::from_millis(300);
        let system = open(Opening { timeout: limit, ..opening(endpoint, "partitioned") });
        let why = logins::unreachable(&*system);
        assert!(why.contains("answer the login"), "{why}");
        drop(system);
        let asked = asked.join().expect("it ends");
        assert!(asked.windows(8).any(|part| part == b"database"), "{asked:?}");
    }
}

#[test]
fn stronger_levels_are_not_promised() {
    let capabilities = (find("voltdb").expect("registered").capabilities)("partitioned");
    for level in [Durability::Buffered, Durability::Synced] {
        assert_eq!(capabilities.durability_setting(level), None);
    }
    let recipe = assay_provision::recipe("voltdb").expect("listed");
    assert!(recipe.level(Durability::Buffered).is_none());
}
