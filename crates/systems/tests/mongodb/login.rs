//! Logging in, and every way in which that fails.

use std::{path::PathBuf, time::Duration};

use assay_model::{Address, Endpoint};
use assay_systems::{Opening, registry::find};

use crate::{
    Server,
    logins::{self, as_user, impostor},
    open, opening, paused,
    server::{Signal, free_port},
    shared, system,
};

fn unreachable(endpoint: Endpoint) -> String {
    logins::unreachable(&*system(endpoint, "document"))
}

/// OP_MSG with `{createUser: "bench", pwd: "pässword", roles: ["root"], $db: "admin"}`.
fn create_user() -> Vec<u8> {
    let mut body = Vec::new();
    for (name, text) in [("createUser", "bench"), ("pwd", "pässword"), ("$db", "admin")] {
        body.push(2);
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(&[0, text.len() as u8 + 1, 0, 0, 0]);
        body.extend_from_slice(text.as_bytes());
        body.push(0);
    }
    body.extend_from_slice(b"\x04roles\0\x11\0\0\0\x020\0\x05\0\0\0root\0\0");
    let length = body.len() as u8 + 5;
    let mut message = vec![length + 21, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xdd, 7, 0, 0];
    message.extend_from_slice(&[0, 0, 0, 0, 0, length, 0, 0, 0]);
    message.extend_from_slice(&body);
    message.push(0);
    message
}

#[test]
fn a_password_logs_in_and_a_wrong_one_does_not() {
    let Some(server) = Server::start(&[]) else { return };
    let reply = server.exchange(&create_user());
    assert!(!reply.windows(6).any(|part| part == b"errmsg"), "{}", reply.escape_ascii());
    let server = server.restart(Signal::TERM, &["--auth"]);
    let endpoint =
        Endpoint { login_database: Some("admin".into()), ..server.database("passwords") };
    logins::works(&*system(as_user(endpoint.clone(), "bench", Some("pässword")), "document"));
    for (user, wrong) in [("bench", "hunter2"), ("bench", ""), ("nobody_here", "hunter2")] {
        let system = system(as_user(endpoint.clone(), user, Some(wrong)), "document");
        let why = logins::refusal(&*system);
        assert!(why.contains("authSource") && !why.contains("hunter2"), "{why}");
    }
    let nowhere = Endpoint { login_database: None, ..endpoint.clone() };
    let elsewhere = system(as_user(nowhere, "bench", Some("pässword")), "document");
    let why = logins::refusal(&*elsewhere);
    assert!(why.contains("'passwords'"), "{why}");
    let why = logins::refusal(&*system(as_user(endpoint.clone(), "bench", None), "document"));
    assert!(why.contains("no password") && why.contains("bench:PASSWORD"), "{why}");
    let why = logins::refusal(&*system(endpoint, "document"));
    assert!(why.contains("mongodb://USER:PASSWORD"), "{why}");
}

#[test]
fn the_stand_in_does_not_pass_as_mongodb() {
    let Some(server) = shared() else { return };
    let driver = find("mongodb").expect("the driver is registered");
    let mongodb = (driver.open)(opening(server.database("posing"), "document", 1)).unwrap();
    let error = mongodb.prepare().unwrap_err().to_string();
    assert!(error.contains("SecantusDB") && error.contains("secantusdb=mongodb://"), "{error}");
    let identity = system(server.database("posing"), "document").identity().unwrap();
    assert!(identity.version.starts_with("SecantusDB 0."), "{identity:?}");
    assert!(!identity.version.contains("MongoDB"), "{identity:?}");
}

#[test]
fn nothing_listening_is_unreachable() {
    let address = Address::Tcp { host: "127.0.0.1".into(), port: free_port() };
    assert!(unreachable(Endpoint::at(address)).contains("refused"));
    unreachable(Endpoint::at(Address::Unix(PathBuf::from("/nowhere/mongodb.sock"))));
}

#[test]
fn something_else_listening_is_told_apart() {
    for reply in [
        &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x10\0\0\0\x01\0\0\0\x01\0\0\0\xdd\x07\0\0",
        // OP_REPLY, as servers of before 3.6 answer.
        b"\x24\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0",
    ] {
        let (endpoint, thread) = impostor(&[b"", reply]);
        let why = unreachable(endpoint);
        assert!(why.contains("check the address"), "{why}");
        thread.join().unwrap();
    }
}

#[test]
fn a_server_that_hangs_up_may_be_full_or_want_tls() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // What is unread when a socket closes resets the connection.
        let _ = std::io::Read::read(&mut stream, &mut [0; 4096]);
    });
    let why = unreachable(Endpoint::at(Address::Tcp { host: "127.0.0.1".into(), port }));
    assert!(why.contains("maxIncomingConnections") && why.contains("TLS"), "{why}");
    thread.join().unwrap();
}

#[test]
fn a_paused_server_runs_into_the_time_limit() {
    let Some(server) = Server::start(&[]) else { return };
    // The stand-in takes long to answer on a busy machine.
    let impatient = Opening {
        timeout: Duration::from_secs(2),
        ..opening(server.database("paused"), "document", 3)
    };
    let system = open(impatient);
    paused::runs_into_the_time_limit(&*system, || server.pause(), || server.resume());
}
