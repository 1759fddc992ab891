//! Logging in, and every way in which that fails.

use std::{path::PathBuf, time::Duration};

use assay_model::{Address, Endpoint};
use assay_systems::{Opening, SystemError, registry::find};

use crate::{
    Server,
    logins::{self, as_user, impostor},
    open, opening, paused,
    server::free_port,
    shared, system,
};

fn refusal(endpoint: Endpoint) -> String {
    logins::refusal(&*system(endpoint, "row"))
}

fn unreachable(endpoint: Endpoint) -> String {
    logins::unreachable(&*system(endpoint, "row"))
}

fn works(endpoint: Endpoint) {
    logins::works(&*system(endpoint, "row"));
}

#[test]
fn a_password_logs_in_and_a_wrong_one_does_not() {
    let Some(server) = shared() else { return };
    let endpoint = server.database("passwords");
    server.sql("CREATE USER bench IDENTIFIED BY 'pässword'; GRANT ALL ON *.* TO bench");
    for endpoint in [endpoint, server.unix("passwords")] {
        works(as_user(endpoint.clone(), "bench", Some("pässword")));
        for wrong in [Some("hunter2"), Some(""), None] {
            let why = refusal(as_user(endpoint.clone(), "bench", wrong));
            assert!(why.contains("bench") && why.contains("1045"), "{why}");
            assert!(!why.contains("hunter2"), "{why}");
        }
        let why = refusal(as_user(endpoint.clone(), "nobody_here", Some("pässword")));
        assert!(why.contains("nobody_here") && !why.contains("pässword"), "{why}");
        refusal(as_user(endpoint, "a\0b", None));
    }
}

#[test]
fn the_server_may_ask_for_another_method_than_it_offers() {
    let Some(server) = shared() else { return };
    let endpoint = server.database("methods");
    // Without a password there is nothing to prove by the method that is not spoken.
    server.sql("CREATE USER odd IDENTIFIED VIA unix_socket");
    let why = refusal(as_user(endpoint.clone(), "odd", Some("hunter2")));
    assert!(why.contains("odd") && !why.contains("hunter2"), "{why}");
    server.sql("CREATE USER old IDENTIFIED VIA mysql_old_password USING '0123456789abcdef'");
    let why = refusal(as_user(endpoint, "old", Some("hunter2")));
    assert!(why.contains("old") && !why.contains("hunter2"), "{why}");
}

#[test]
fn a_server_that_wants_tls_is_told_apart() {
    let Some(server) = Server::start(&["--require-secure-transport=ON"]) else { return };
    server.database("secured");
    let why = refusal(server.tcp("secured"));
    assert!(why.contains("TLS") && why.contains("Unix socket"), "{why}");
    works(server.unix("secured"));
}

#[test]
fn an_unknown_database_is_named() {
    let Some(server) = shared() else { return };
    assert!(refusal(server.tcp("nowhere")).contains("nowhere"));
}

#[test]
fn too_many_connections_name_the_limit() {
    let Some(server) = Server::start(&["--max-connections=10", "--extra-max-connections=1"]) else {
        return;
    };
    let system = system(server.database("crowded"), "row");
    system.prepare().unwrap();
    let mut clients = Vec::new();
    let why = loop {
        match system.connect() {
            Ok(client) => clients.push(client),
            Err(SystemError::Unreachable { why, .. }) => break why,
            Err(other) => panic!("{other}"),
        }
        assert!(clients.len() <= 11, "more connections than there may be");
    };
    assert!(why.contains("max_connections") && why.contains("fewer clients"), "{why}");
}

#[test]
fn a_user_without_privileges_learns_what_it_lacks() {
    let Some(server) = shared() else { return };
    let endpoint = server.database("unprivileged");
    server.sql("CREATE USER visitor");
    let why = refusal(as_user(endpoint.clone(), "visitor", None));
    assert!(why.contains("unprivileged"), "{why}");
    let error = system(as_user(server.endpoint(), "visitor", None), "row").prepare().unwrap_err();
    let error = error.to_string();
    assert!(error.contains("mariadb://USER@HOST/DATABASE"), "{error}");

    // Without the right to flush tables, settling does the rest.
    server.sql("GRANT ALL ON unprivileged.* TO visitor");
    let system = system(as_user(endpoint, "visitor", None), "row");
    system.prepare().unwrap();
    system.settle().unwrap();
    system.remove().unwrap();
}

#[test]
fn a_server_of_the_other_product_is_named() {
    let Some(server) = shared() else { return };
    let driver = find("mysql").expect("the driver is registered");
    let system = (driver.open)(opening(server.database("other_product"), "row", 1)).unwrap();
    let error = system.prepare().unwrap_err().to_string();
    assert!(error.contains("MariaDB") && error.contains("name the system 'mariadb'"), "{error}");
}

#[test]
fn nothing_listening_is_unreachable() {
    let address = Address::Tcp { host: "127.0.0.1".into(), port: free_port() };
    assert!(unreachable(Endpoint::at(address)).contains("refused"));
    unreachable(Endpoint::at(Address::Unix(PathBuf::from("/nowhere/mysql.sock"))));
}

#[test]
fn something_else_listening_is_told_apart() {
    for reply in [
        &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x01\0\0\0\x09",
        b"\x02\0\0\0\x0a\0",
        b"\x01\0\0\x07\x0a",
    ] {
        let (endpoint, thread) = impostor(&[reply]);
        let why = unreachable(endpoint);
        assert!(why.contains("check the address"), "{why}");
        thread.join().unwrap();
    }
}

/// What MySQL 8 says first.
const MYSQL_8: &[u8] = b"\x4a\0\0\0\x0a8.0.36\0\x08\0\0\0abcdefgh\0\xff\xff\xff\x02\0\xff\xdf\x15\
    \0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0caching_sha2_password\0";

/// The outcome of logging in to a MySQL that answers so.
fn mysql_8(answers: &[&'static [u8]], password: Option<&str>) -> (SystemError, Vec<u8>) {
    let (endpoint, thread) = impostor(answers);
    let driver = find("mysql").expect("the driver is registered");
    let system =
        (driver.open)(opening(as_user(endpoint, "me", password), "row", 1)).expect("it opens");
    let error = system.prepare().unwrap_err();
    (error, thread.join().unwrap())
}

#[test]
fn caching_sha2_is_proven_and_the_whole_password_stays_home() {
    // A proof that is right: the session's settings come next.
    let (_, asked) = mysql_8(
        &[
            MYSQL_8,
            b"\x02\0\0\x02\x01\x03\x07\0\0\x03\0\0\0\x02\0\0\0",
            b"\x17\0\0\x01\xff\x15\x04#28000Access denied.",
        ],
        Some("secret"),
    );
    let asked = asked.escape_ascii().to_string();
    assert!(asked.contains("SET NAMES utf8mb4"), "{asked}");

    // The server wants the password itself.
    let (error, asked) = mysql_8(&[MYSQL_8, b"\x02\0\0\x02\x01\x04"], Some("secret"));
    let SystemError::LoginRefused { why, .. } = &error else { panic!("{error}") };
    assert!(why.contains("Unix socket") && why.contains("mysql_native_password"), "{why}");
    assert!(!asked.windows(6).any(|part| part == b"secret"));

    // Another method, spoken and not.
    let (error, asked) = mysql_8(
        &[
            MYSQL_8,
            b"\x2c\0\0\x02\xfemysql_native_password\0abcdefghijklmnopqrst\0",
            b"\x17\0\0\x04\xff\x15\x04#28000Access denied.",
        ],
        Some("secret"),
    );
    assert!(matches!(error, SystemError::LoginRefused { .. }), "{error}");
    let proof = asked.len() - 24;
    assert_eq!(asked[proof..proof + 4], *b"\x14\0\0\x03", "20 bytes of proof");
    for (asks, name) in [
        (&b"\x17\0\0\x02\xfesha256_password\0abcde\0"[..], "sha256_password"),
        (b"\x01\0\0\x02\xfe", "mysql_old_password"),
    ] {
        let (error, _) = mysql_8(&[MYSQL_8, asks], Some("secret"));
        let SystemError::LoginRefused { why, .. } = &error else { panic!("{error}") };
        assert!(why.contains(name) && why.contains("caching_sha2_password"), "{why}");
    }
}

#[test]
fn a_paused_server_runs_into_the_time_limit() {
    let Some(server) = Server::start(&[]) else { return };
    let impatient = Opening {
        timeout: Duration::from_millis(300),
        ..opening(server.database("paused"), "row", 3)
    };
    let system = open(impatient);
    paused::runs_into_the_time_limit(&*system, || server.pause(), || server.resume());
}
