//! Logging in, and every way in which that fails.

use std::{path::PathBuf, time::Duration};

use assay_model::{Address, Endpoint};
use assay_systems::{Opening, SystemError};

use crate::{
    Server,
    logins::{self, as_user, impostor},
    open, opening,
    server::free_port,
    shared, system,
};

fn refusal(endpoint: Endpoint) -> String {
    logins::refusal(&*system(endpoint, "row", "column"))
}

fn unreachable(endpoint: Endpoint) -> String {
    logins::unreachable(&*system(endpoint, "row", "column"))
}

fn works(endpoint: Endpoint) {
    logins::works(&*system(endpoint, "jsonb", "column"));
}

#[test]
fn a_unix_socket_serves_as_tcp_does() {
    let Some(server) = shared() else { return };
    server.database("over_unix");
    works(server.unix("over_unix"));
    works(server.tcp("over_unix"));
}

#[test]
fn every_password_method_logs_in_and_a_wrong_password_does_not() {
    let Some(server) = shared() else { return };
    for (method, encryption) in
        [("scram", "scram-sha-256"), ("md5", "md5"), ("password", "scram-sha-256")]
    {
        let (database, role) = (format!("login_{method}"), format!("role_{method}"));
        let role_sql = format!(
            "SET password_encryption = '{encryption}'; \
             CREATE ROLE {role} LOGIN SUPERUSER PASSWORD 'pässword'"
        );
        server.sql("postgres", &role_sql);
        let endpoint = server.database(&database);
        works(as_user(endpoint.clone(), &role, Some("pässword")));

        let why = refusal(as_user(endpoint.clone(), &role, Some("wrong")));
        assert!(why.contains(&role) && why.contains("28P01"), "{method}: {why}");
        assert!(!why.contains("wrong"), "{why}");
        let why = refusal(as_user(endpoint.clone(), &role, None));
        assert!(why.contains("none was given"), "{method}: {why}");
        refusal(as_user(endpoint, &role, Some("a\0b")));
    }
}

#[test]
fn a_server_that_wants_tls_is_told_apart() {
    let Some(server) = shared() else { return };
    let why = refusal(server.database("login_tls"));
    assert!(why.contains("TLS") && why.contains("pg_hba.conf"), "{why}");
}

#[test]
fn an_unknown_database_or_role_is_named() {
    let Some(server) = shared() else { return };
    assert!(refusal(server.tcp("nowhere")).contains("nowhere"));
    assert!(refusal(as_user(server.tcp("postgres"), "nobody_here", None)).contains("nobody_here"));
}

#[test]
fn too_many_connections_name_the_limit() {
    let Some(server) = shared() else { return };
    let endpoint = server.database("crowded");
    server.sql("postgres", "CREATE ROLE guest LOGIN CONNECTION LIMIT 2");
    server.sql("crowded", "GRANT ALL ON SCHEMA public TO guest");
    let system = system(as_user(endpoint, "guest", None), "row", "column");
    system.prepare().unwrap();
    // The session that prepared may not have ended yet, and then counts.
    let mut clients = Vec::new();
    let why = loop {
        match system.connect() {
            Ok(client) => clients.push(client),
            Err(SystemError::Unreachable { why, .. }) => break why,
            Err(other) => panic!("{other}"),
        }
        assert!(clients.len() <= 2, "a third connection");
    };
    assert!(why.contains("max_connections") && why.contains("fewer clients"), "{why}");
}

#[test]
fn a_role_without_privileges_learns_what_it_lacks() {
    let Some(server) = shared() else { return };
    let endpoint = server.database("unprivileged");
    server.sql("postgres", "CREATE ROLE visitor LOGIN");
    server.sql("unprivileged", "REVOKE CREATE ON SCHEMA public FROM public");
    let visitor = as_user(endpoint, "visitor", None);
    let error = system(visitor.clone(), "hstore", "column").prepare().unwrap_err().to_string();
    assert!(error.contains("CREATE EXTENSION hstore") && error.contains("owner"), "{error}");
    let error = system(visitor.clone(), "row", "column").prepare().unwrap_err().to_string();
    assert!(error.contains("create the table") && error.contains("42501"), "{error}");

    // Without the right to checkpoint, settling does the rest.
    server.sql("unprivileged", "GRANT CREATE ON SCHEMA public TO visitor");
    let system = system(visitor, "row", "column");
    system.prepare().unwrap();
    system.settle().unwrap();
    system.remove().unwrap();
}

#[test]
fn nothing_listening_is_unreachable() {
    let address = Address::Tcp { host: "127.0.0.1".into(), port: free_port() };
    assert!(unreachable(Endpoint::at(address)).contains("refused"));
    unreachable(Endpoint::at(Address::Unix(PathBuf::from("/nowhere/.s.PGSQL.5432"))));
}

#[test]
fn something_else_listening_is_told_apart() {
    for reply in [
        &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
        b"-ERR unknown command\r\n",
        b"R\0\0\0\x03",
        b"R\0\0\0\x08\0\0\0\x63",
        b"Z\0\0\0\x05I",
    ] {
        let (endpoint, thread) = impostor(&[b"", reply]);
        let why = unreachable(endpoint);
        assert!(why.contains("check the address"), "{why}");
        thread.join().unwrap();
    }
}

#[test]
fn a_method_that_is_not_spoken_is_named() {
    let (endpoint, thread) = impostor(&[b"", b"R\0\0\0\x08\0\0\0\x07"]);
    let why = refusal(endpoint);
    assert!(why.contains("GSSAPI") && why.contains("pg_hba.conf"), "{why}");
    thread.join().unwrap();
}

#[test]
fn a_server_that_does_not_answer_runs_into_the_time_limit() {
    let (endpoint, thread) = impostor(&[]);
    let impatient =
        Opening { timeout: Duration::from_millis(50), ..opening(endpoint, "row", "column", 1) };
    match open(impatient).prepare() {
        Err(SystemError::Unreachable { why, .. }) => assert!(why.contains("time limit"), "{why}"),
        other => panic!("{other:?}"),
    }
    thread.join().unwrap();
}

#[test]
fn a_unix_socket_may_be_given_by_its_folder() {
    let Some(server) = Server::start(&[]) else { return };
    server.database("by_folder");
    let socket = match server.unix("by_folder").address {
        Address::Unix(path) => path,
        Address::Tcp { .. } => unreachable!(),
    };
    // libpq looks for the default port's socket in a folder.
    std::os::unix::fs::symlink(socket, server.folder().join(".s.PGSQL.5432")).unwrap();
    let endpoint = server.unix("by_folder");
    works(Endpoint { address: Address::Unix(server.folder().to_owned()), ..endpoint });
}
