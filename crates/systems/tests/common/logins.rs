//! What the tests of logging in share: ways in, ways in which it fails, and servers that are none.

use std::{
    io::{Read, Write},
    net::TcpListener,
    thread::{JoinHandle, spawn},
};

use assay_model::{Address, Endpoint, Outcome, Secret};
use assay_systems::{System, SystemError};

use crate::{delete, insert, session};

pub fn as_user(endpoint: Endpoint, user: &str, password: Option<&str>) -> Endpoint {
    Endpoint { user: Some(user.into()), password: password.map(Secret::new), ..endpoint }
}

/// Why the system's server does not let the user in.
pub fn refusal(system: &dyn System) -> String {
    match system.prepare() {
        Err(SystemError::LoginRefused { why, .. }) => why,
        other => panic!("{other:?}"),
    }
}

/// Why the system's server cannot be reached.
pub fn unreachable(system: &dyn System) -> String {
    match system.prepare() {
        Err(SystemError::Unreachable { why, .. }) => why,
        other => panic!("{other:?}"),
    }
}

/// Has a client log in and write.
pub fn works(system: &dyn System) {
    system.prepare().unwrap_or_else(|error| panic!("{error}"));
    let mut session = session(system);
    assert_eq!(insert(&mut session, "k", &[(0, "a"), (1, "b"), (2, "c")]), Outcome::Done);
    assert_eq!(delete(&mut session, "k"), Outcome::Done);
    system.remove().unwrap_or_else(|error| panic!("{error}"));
}

/// Sends its first client each of `replies`, after the first whatever it asked, then waits for it
/// to go. Returns what it asked.
pub fn impostor(replies: &[&'static [u8]]) -> (Endpoint, JoinHandle<Vec<u8>>) {
    let replies = replies.to_vec();
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = Vec::new();
        for reply in replies {
            let _ = stream.write_all(reply);
            let mut bytes = [0; 1024];
            let count = stream.read(&mut bytes).unwrap_or(0);
            asked.extend_from_slice(&bytes[..count]);
        }
        while matches!(stream.read(&mut [0; 1024]), Ok(count) if count > 0) {}
        asked
    });
    (Endpoint::at(Address::Tcp { host: "127.0.0.1".into(), port }), thread)
}
