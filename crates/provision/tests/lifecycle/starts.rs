//! Servers started as asked, or refused with a clear message.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::{fs::PermissionsExt, net::UnixStream},
    path::{Path, PathBuf},
    process::Command,
};

use assay_model::{Address, Durability};
use assay_provision::{Account, Installed, Server, StartError, Transport, Warden};

use crate::world::{
    await_that, descendants, entries, installed, is_running, launch, place, start, status_field,
    warden,
};

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

fn connect(server: &Server) -> Box<dyn Stream> {
    match &server.endpoint().address {
        Address::Tcp { host, port } => {
            assert_eq!(host, "127.0.0.1");
            Box::new(TcpStream::connect((host.as_str(), *port)).expect("it listens"))
        }
        Address::Unix(path) => Box::new(UnixStream::connect(path).expect("it listens")),
    }
}

/// Sends `request` and reads until the reply has `end` in it.
fn ask(stream: &mut dyn Stream, request: &[u8], end: &[u8]) -> String {
    stream.write_all(request).expect("the server reads");
    let mut reply = Vec::new();
    let mut bytes = [0; 1024];
    while !reply.windows(end.len()).any(|window| window == end) {
        let count = stream.read(&mut bytes).expect("the server answers");
        assert_ne!(count, 0, "closed after {:?}", String::from_utf8_lossy(&reply));
        reply.extend_from_slice(&bytes[..count]);
    }
    String::from_utf8_lossy(&reply).into_owned()
}

/// A setting as a Redis or Valkey server reports it.
fn redis_setting(server: &Server, name: &str) -> String {
    let request = format!("CONFIG GET {name}\r\nECHO asked\r\n");
    let reply = ask(&mut *connect(server), request.as_bytes(), b"asked\r\n");
    reply.split("\r\n").nth(4).expect("a name and a value").to_owned()
}

/// A setting as a PostgreSQL server reports it.
fn postgres_setting(server: &Server, name: &str) -> String {
    let endpoint = server.endpoint();
    let mut body = 196_608_u32.to_be_bytes().to_vec();
    let user = endpoint.user.as_deref().expect("a user");
    let database = endpoint.database.as_deref().expect("a database");
    for word in ["user", user, "database", database, ""] {
        body.extend_from_slice(word.as_bytes());
        body.push(0);
    }
    let mut startup = (body.len() as u32 + 4).to_be_bytes().to_vec();
    startup.extend(body);
    let mut stream = connect(server);
    let ready = b"Z\0\0\0\x05I";
    ask(&mut *stream, &startup, ready);
    let query = format!("SHOW {name}\0");
    let mut request = vec![b'Q'];
    request.extend((query.len() as u32 + 4).to_be_bytes());
    request.extend(query.as_bytes());
    let reply = ask(&mut *stream, &request, ready);
    let row = reply.split("D\0\0\0").nth(1).expect("a row");
    let value = &row[7..];
    value[..value.find("C\0\0\0").expect("a command tag")].to_owned()
}

pub fn redis_keeps_its_durability_level() {
    redis_family_keeps_its_durability_level("redis");
}

pub fn valkey_keeps_its_durability_level() {
    redis_family_keeps_its_durability_level("valkey");
}

fn redis_family_keeps_its_durability_level(name: &str) {
    let Some(installed) = installed(name) else { return };
    let place = place();
    for (durability, appendonly, appendfsync) in [
        (Durability::None, "no", None),
        (Durability::Buffered, "yes", Some("everysec")),
        (Durability::Synced, "yes", Some("always")),
    ] {
        let mut launch = launch(&installed, place.path());
        launch.durability = durability;
        launch.settings.insert("hz".into(), "20".into());
        let server = start(launch);
        assert_eq!(redis_setting(&server, "appendonly"), appendonly);
        if let Some(appendfsync) = appendfsync {
            assert_eq!(redis_setting(&server, "appendfsync"), appendfsync);
        }
        assert_eq!(redis_setting(&server, "save"), "");
        assert_eq!(redis_setting(&server, "hz"), "20");
        assert_eq!(redis_setting(&server, "maxmemory-policy"), "noeviction");
        assert!(server.settings_applied().contains(&("appendonly".into(), appendonly.into())));
        assert!(server.command_line()[0].contains("server"), "{:?}", server.command_line());

        ask(&mut *connect(&server), b"SET key value\r\n", b"+OK\r\n");
        let kept = !entries(server.data_dir()).is_empty();
        assert_eq!(kept, durability != Durability::None, "{durability}");
        server.stop().expect("it stops");
    }
    assert_eq!(entries(place.path()), Vec::<PathBuf>::new());
}

pub fn postgres_keeps_its_durability_level() {
    let Some(installed) = installed("postgres") else { return };
    let place = place();
    for (durability, fsync, synchronous_commit) in [
        (Durability::None, "off", "off"),
        (Durability::Buffered, "on", "off"),
        (Durability::Synced, "on", "on"),
    ] {
        let mut launch = launch(&installed, place.path());
        launch.durability = durability;
        launch.settings.insert("work_mem".into(), "7MB".into());
        let server = start(launch);
        assert_eq!(postgres_setting(&server, "fsync"), fsync);
        assert_eq!(postgres_setting(&server, "synchronous_commit"), synchronous_commit);
        assert_eq!(postgres_setting(&server, "work_mem"), "7MB");
        assert_eq!(postgres_setting(&server, "shared_buffers"), "256MB");
        assert_eq!(postgres_setting(&server, "listen_addresses"), "127.0.0.1");
        server.stop().expect("it stops");
    }
    assert_eq!(entries(place.path()), Vec::<PathBuf>::new());
}

pub fn monetdb_has_files_where_its_level_promises_them() {
    let Some(installed) = installed("monetdb") else { return };
    let place = place();
    for (durability, on_disk) in [(Durability::None, false), (Durability::Synced, true)] {
        let mut launch = launch(&installed, place.path());
        launch.durability = durability;
        let server = start(launch);
        let log = server.data_dir().join("database/sql_logs");
        assert_eq!(log.is_dir(), on_disk, "{durability}");
        server.stop().expect("it stops");
    }
    assert_eq!(entries(place.path()), Vec::<PathBuf>::new());
}

pub fn aerospike_keeps_its_durability_level() {
    let Some(installed) = installed("aerospike") else { return };
    let place = place();
    for (durability, engine) in [(Durability::None, "memory"), (Durability::Buffered, "device")] {
        let mut launch = launch(&installed, place.path());
        launch.durability = durability;
        launch.settings.insert("data_size".into(), "512M".into());
        launch.settings.insert("namespace.default-ttl".into(), "0".into());
        if durability == Durability::Buffered {
            launch.settings.insert("storage-engine.flush-max-ms".into(), "700".into());
        }
        let server = start(launch);
        let request = b"\x02\x01\0\0\0\0\0\x0fnamespace/test\n";
        let told = ask(&mut *connect(&server), request, b"\n");
        for word in [&format!("storage-engine={engine};"), ";replication-factor=1;"] {
            assert!(told.contains(word), "{word}: {told}");
        }
        let on_disk = server.data_dir().join("records.dat").is_file();
        assert_eq!(on_disk, engine == "device", "{durability}");
        assert_eq!(told.contains("flush-max-ms=700"), on_disk);
        server.stop().expect("it stops");
    }
    let mut synced = launch(&installed, place.path());
    synced.durability = Durability::Synced;
    let error = refused(synced);
    assert!(error.to_string().contains("use buffered"), "{error}");
    for (name, value) in [("storage-engine.commit-to-device", "true"), ("cluster_name", "other")] {
        let error = refused(with_setting(&installed, place.path(), name, value));
        assert!(matches!(error, StartError::Setting { .. }), "{error}");
    }
    assert_eq!(entries(place.path()), Vec::<PathBuf>::new());
}

pub fn a_setting_that_a_server_does_not_know_stops_it_and_is_named() {
    for name in ["hyper", "monetdb", "aerospike"] {
        let Some(installed) = installed(name) else { continue };
        let place = place();
        let mut launch = launch(&installed, place.path());
        launch.settings.insert("no_such_thing".into(), "1".into());
        let error = assay_provision::start(launch).expect_err("it knows its settings");
        let StartError::Exited { log, .. } = &error else { panic!("{error}") };
        assert!(log.iter().any(|line| line.replace('-', "_").contains("no_such_thing")), "{error}");
        assert_eq!(entries(place.path()), Vec::<PathBuf>::new());
    }
}

/// Settings as a MariaDB server that has no passwords reports them, in one row.
fn mariadb_settings(server: &Server, names: &str) -> String {
    let mut stream = connect(server);
    let mut packet = |sent: Option<(u8, &[u8])>| {
        if let Some((sequence, payload)) = sent {
            let length = (payload.len() as u32).to_le_bytes();
            let header = [length[0], length[1], length[2], sequence];
            stream.write_all(&[&header[..], payload].concat()).expect("the server reads");
        }
        let mut header = [0; 4];
        stream.read_exact(&mut header).expect("a header");
        let mut payload = vec![0; usize::from(header[0]) + 256 * usize::from(header[1])];
        stream.read_exact(&mut payload).expect("a packet");
        payload
    };
    packet(None);
    // Protocol 4.1 with its password methods, packets of up to 1 MiB, UTF-8, no password.
    let login = [&[0, 0x82, 0, 0, 0, 0, 16, 0, 33][..], &[0; 23], b"root\0\0"].concat();
    assert_eq!(packet(Some((1, &login)))[0], 0, "logged in");
    let query = format!("\x03SELECT CONCAT_WS(' ', {names})");
    packet(Some((0, query.as_bytes())));
    let (_definition, _end) = (packet(None), packet(None));
    String::from_utf8(packet(None)[1..].to_vec()).expect("text")
}

pub fn mariadb_keeps_its_durability_level() {
    let Some(installed) = installed("mariadb") else { return };
    let place = place();
    for (durability, flush, doublewrite) in [
        (Durability::None, 0, "OFF"),
        (Durability::Buffered, 2, "ON"),
        (Durability::Synced, 1, "ON"),
    ] {
        let mut launch = launch(&installed, place.path());
        launch.durability = durability;
        launch.settings.insert("innodb-io-capacity".into(), "777".into());
        // A beginning of a name that the level decides: the server would take it.
        launch.settings.insert("innodb_flush_log_at_trx".into(), "2".into());
        launch.settings.insert("innodb_doublewrit".into(), "OFF".into());
        let server = start(launch);
        let names = "@@innodb_flush_log_at_trx_commit, @@innodb_doublewrite, @@log_bin, \
                     @@innodb_io_capacity, @@innodb_buffer_pool_size, @@max_allowed_packet, \
                     @@bind_address";
        let expected = format!("{flush} {doublewrite} OFF 777 268435456 1073741824 127.0.0.1");
        assert_eq!(mariadb_settings(&server, names), expected);
        server.stop().expect("it stops");
    }
    assert_eq!(entries(place.path()), Vec::<PathBuf>::new());
}

pub fn memcached_has_the_settings_given() {
    let Some(installed) = installed("memcached") else { return };
    let place = place();
    let mut launch = launch(&installed, place.path());
    launch.settings.insert("threads".into(), "2".into());
    launch.settings.insert("memory_mib".into(), "64".into());
    launch.settings.insert("slab_automove".into(), "0".into());
    let server = start(launch);
    let settings = ask(&mut *connect(&server), b"stats settings\r\n", b"END\r\n");
    for line in [
        "num_threads 2\r",
        "maxbytes 67108864\r",
        "slab_automove 0\r",
        "maxconns 4096\r",
        "item_size_max 8388608\r",
        "evictions off\r",
        "udpport 0\r",
    ] {
        assert!(settings.contains(&format!("STAT {line}")), "{line} in {settings}");
    }
}

pub fn riak_has_its_bucket_type_and_no_epmd() {
    let Some(installed) = installed("riak") else { return };
    let place = place();
    let mut launch = launch(&installed, place.path());
    launch.settings.insert("strong_consistency".into(), "on".into());
    let server = start(launch);
    let request = "GET /types/strong/props HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    let properties = ask(&mut *connect(&server), request.as_bytes(), b"}}");
    for property in ["\"consistent\":true", "\"n_val\":1"] {
        assert!(properties.contains(property), "{properties}");
    }
    let processes = descendants(server.warden_pid());
    assert!(processes.contains(&server.pid()), "{processes:?}");
    for &pid in &processes {
        assert_ne!(status_field(pid, "Name"), "epmd", "it would be left behind");
    }
    server.stop().expect("it stops");
    await_that("Riak gone", || !processes.iter().any(|&pid| is_running(pid)));
    assert_eq!(entries(place.path()), Vec::<PathBuf>::new());
}

pub fn every_server_serves_on_a_unix_socket() {
    for name in [
        "redis",
        "valkey",
        "memcached",
        "postgres",
        "hyper",
        "monetdb",
        "mariadb",
        "mysql",
        "mongodb",
    ] {
        let Some(installed) = installed(name) else { continue };
        let place = place();
        let mut launch = launch(&installed, place.path());
        launch.transport = Transport::Unix;
        let server = start(launch);
        let Address::Unix(path) = &server.endpoint().address else { panic!("{name}: no socket") };
        assert!(path.starts_with(server.folder()), "{}", path.display());
        assert_eq!(server.remarks(), Vec::<String>::new());
        drop(connect(&server));
        server.stop().expect("it stops");
        assert_eq!(entries(place.path()), Vec::<PathBuf>::new());
    }
}

pub fn a_long_folder_has_its_socket_elsewhere() {
    let Some(installed) = installed("redis") else { return };
    let place = place();
    let long = place.path().join("x".repeat(90));
    fs::create_dir(&long).expect("created");
    fs::set_permissions(&long, fs::Permissions::from_mode(0o755)).expect("set");
    let mut launch = launch(&installed, &long);
    launch.transport = Transport::Unix;
    let server = start(launch);
    let Address::Unix(path) = server.endpoint().address.clone() else { panic!("no socket") };
    assert!(path.starts_with("/tmp"), "{}", path.display());
    assert_eq!(server.remarks().len(), 1);
    drop(connect(&server));
    server.stop().expect("it stops");
    assert!(!path.parent().and_then(Path::parent).expect("a folder").exists());
    assert_eq!(entries(&long), Vec::<PathBuf>::new());
}

pub fn a_server_is_not_root() {
    for name in ["redis", "valkey", "memcached", "postgres", "mariadb"] {
        let Some(installed) = installed(name) else { continue };
        let place = place();
        let server = start(launch(&installed, place.path()));
        let uids = status_field(server.pid(), "Uid");
        let gids = status_field(server.pid(), "Gid");
        assert!(!uids.split_whitespace().any(|uid| uid == "0"), "{name}: {uids}");
        if let Some(account) = server.account() {
            assert!(gids.split_whitespace().all(|gid| gid == account.gid.to_string()), "{gids}");
            assert_eq!(status_field(server.pid(), "Groups"), "", "{name}");
        }
    }
}

pub fn a_server_is_pinned() {
    let Some(installed) = installed("postgres") else { return };
    let place = place();
    let mut pinned = launch(&installed, place.path());
    pinned.cpus = Some(vec![0]);
    let server = start(pinned);
    let mut processes = crate::world::descendants(server.pid());
    assert!(!processes.is_empty(), "PostgreSQL has background processes");
    processes.push(server.pid());
    for pid in processes {
        assert_eq!(status_field(pid, "Cpus_allowed_list"), "0");
    }
    drop(server);

    let mut nowhere = launch(&installed, place.path());
    nowhere.cpus = Some(vec![1000]);
    let error = refused(nowhere);
    assert!(error.to_string().contains("[1000]"), "{error}");
}

/// The error of a start that must fail, after which nothing may be left.
fn refused(launch: assay_provision::Launch<'_>) -> StartError {
    let parent = launch.parent_folder.clone();
    let error = assay_provision::start(launch).expect_err("refused");
    if parent.is_dir() && !parent.starts_with("/proc") {
        assert_eq!(entries(&parent), Vec::<PathBuf>::new());
    }
    error
}

fn with_setting<'a>(
    installed: &'a Installed,
    parent: &Path,
    name: &str,
    value: &str,
) -> assay_provision::Launch<'a> {
    let mut launch = launch(installed, parent);
    launch.settings.insert(name.into(), value.into());
    launch
}

pub fn a_port_in_use_is_named() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    for name in ["redis", "memcached", "postgres", "mariadb"] {
        let Some(installed) = installed(name) else { continue };
        let place = place();
        let error = refused(with_setting(&installed, place.path(), "port", &port.to_string()));
        assert!(matches!(error, StartError::Port { port: named, .. } if named == port), "{error}");
        assert!(error.to_string().contains(&format!("port {port}")), "{error}");
    }
}

pub fn a_given_port_is_used() {
    let Some(installed) = installed("redis") else { return };
    let place = place();
    let port = {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        listener.local_addr().expect("an address").port()
    };
    let server = start(with_setting(&installed, place.path(), "port", &port.to_string()));
    assert_eq!(server.endpoint().address, Address::Tcp { host: "127.0.0.1".into(), port });
}

pub fn a_server_that_exits_shows_its_log() {
    for (name, setting, words) in [
        ("redis", "hz", "FATAL CONFIG FILE ERROR"),
        ("valkey", "hz", "FATAL CONFIG FILE ERROR"),
        ("memcached", "threads", "threads"),
        ("postgres", "shared_buffers", "invalid value for parameter \"shared_buffers\""),
        ("mariadb", "character_set_server", "Character set 'nonsense' is not"),
    ] {
        let Some(installed) = installed(name) else { continue };
        let place = place();
        let error = refused(with_setting(&installed, place.path(), setting, "nonsense"));
        let StartError::Exited { status, log, .. } = &error else { panic!("{error}") };
        assert!(status.starts_with("exit status "), "{status}");
        assert!(log.iter().any(|line| line.contains(words)), "{log:?}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

pub fn a_folder_out_of_reach_is_named() {
    let Ok(Some(account)) = Account::for_servers() else {
        eprintln!("skipped: out of reach, which needs root");
        return;
    };
    let Some(installed) = installed("redis") else { return };
    let place = place();
    let closed = place.path().join("closed");
    fs::create_dir(&closed).expect("created");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).expect("set");
    let error = refused(launch(&installed, &closed));
    assert!(matches!(error, StartError::OutOfReach { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("closed") && text.contains(&account.name), "{text}");

    let mut copy = installed.clone();
    copy.binary = closed.join("redis-server");
    fs::copy(&installed.binary, &copy.binary).expect("copied");
    let text = refused(launch(&copy, Path::new("/tmp/none-of-this-name"))).to_string();
    assert!(text.contains("ASSAY_HOME"), "{text}");
}

pub fn an_unwritable_parent_is_named() {
    let Some(installed) = installed("redis") else { return };
    for parent in ["/proc", "/nonexistent/folder"] {
        let error = refused(launch(&installed, Path::new(parent)));
        assert!(matches!(error, StartError::Folder { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(parent) && text.contains("--data-folder"), "{text}");
    }
}

pub fn a_full_disk_is_named() {
    let Some(installed) = installed("postgres") else { return };
    let place = place();
    let disk = place.path().join("disk");
    fs::create_dir(&disk).expect("created");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=12m,mode=755", "tmpfs"])
        .arg(&disk)
        .status()
        .is_ok_and(|status| status.success());
    if !mounted {
        eprintln!("skipped: a full disk, which needs the right to mount one");
        return;
    }
    let outcome = assay_provision::start(launch(&installed, &disk));
    let left = entries(&disk);
    let unmounted = Command::new("umount").arg(&disk).status().expect("umount runs");
    assert!(unmounted.success());
    let error = outcome.expect_err("12 MB are too little");
    assert!(matches!(error, StartError::DiskFull { .. }), "{error}");
    assert!(error.to_string().contains("no space left"), "{error}");
    assert_eq!(left, Vec::<PathBuf>::new());
}

pub fn a_warden_that_is_none_is_named() {
    let Some(installed) = installed("redis") else { return };
    let place = place();
    for program in ["/bin/true", "/bin/cat", "/nonexistent/assay"] {
        let mut launch = launch(&installed, place.path());
        launch.warden = Warden { program: program.into(), leading_args: Vec::new() };
        let error = refused(launch);
        assert!(matches!(error, StartError::Warden { .. }), "{error}");
        assert!(error.to_string().contains(program), "{error}");
    }
    // By hand, without pipes, it does nothing.
    let by_hand = Command::new(warden().program).args(["warden", "please"]).output();
    assert_eq!(by_hand.expect("it runs").status.code(), Some(2));
}
