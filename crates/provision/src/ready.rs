//! Asking a server whether it is ready, and whether it is the one that was started: on a port that
//! was free a moment ago, somebody else may answer.

mod aerospike;
pub(crate) mod cassandra;
pub(crate) mod riak;
mod voltdb;

use std::{
    fs,
    io::{self, BufRead, BufReader, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use assay_model::Address;
use sha2::{Digest, Sha512};

/// The user that PostgreSQL and HyPer are set up with, a superuser without a password.
pub(crate) const POSTGRES_USER: &str = "bench";
/// The database that PostgreSQL is set up with.
pub(crate) const POSTGRES_DATABASE: &str = "postgres";

/// The user that MariaDB and MySQL are set up with, a superuser without a password.
pub(crate) const MYSQL_USER: &str = "root";
/// Where MariaDB and MySQL write their process number, in the folder of their data.
pub(crate) const MYSQL_PID_FILE: &str = "server.pid";

/// How long one attempt waits for a connection, and for each reply.
const ATTEMPT_LIMIT: Duration = Duration::from_secs(2);

/// The longest reply that is read.
const REPLY_BYTES: u64 = 1 << 20;

/// How a product is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    /// `PING`, then `INFO server` for its process number.
    Redis,
    /// Like `Redis`, of each node; then the nodes are made one cluster.
    RedisCluster,
    /// `stats` for its process number.
    Memcached,
    /// A login, and the process number in `postmaster.pid`.
    Postgres,
    /// A login, and a question for the process number.
    Hyper,
    /// A login as MonetDB's library takes it, and a question for the process number.
    Monetdb,
    /// The server's greeting, and the process number in its own file.
    Mysql,
    /// `serverStatus`, for its process number.
    Mongodb,
    /// A login, and a question for the name of its cluster.
    Cassandra,
    /// A login, and a question for the folder of its data.
    Voltdb,
    /// A question for the name of its cluster.
    Aerospike,
    /// A ping, and the process number in a file that it writes when it serves.
    Riak,
}

/// What an attempt found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// The server that was started serves.
    Ready,
    /// Not yet, and why.
    NotYet(String),
}

impl Probe {
    /// One attempt: is the server `pid` with its data in `data` ready at `address`?
    pub fn attempt(self, address: &Address, pid: u32, data: &Path) -> Readiness {
        let asked = connect(address).and_then(|stream| match self {
            Probe::Redis | Probe::RedisCluster => ask_redis(stream, pid),
            Probe::Memcached => ask_memcached(stream, pid),
            Probe::Postgres => ask_postgres(stream, pid, data),
            Probe::Hyper => ask_hyper(stream, pid),
            Probe::Monetdb => ask_monetdb(stream, address, pid),
            Probe::Mysql => ask_mysql(stream, pid, data),
            Probe::Mongodb => ask_mongodb(stream, pid),
            Probe::Cassandra => cassandra::ask(stream, data),
            Probe::Voltdb => voltdb::ask(stream, data),
            Probe::Aerospike => aerospike::ask(stream, data),
            Probe::Riak => riak::ask(stream, pid, data),
        });
        asked.unwrap_or_else(|error| Readiness::NotYet(error.to_string()))
    }
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

fn connect(address: &Address) -> io::Result<Box<dyn Stream>> {
    match address {
        Address::Tcp { host, port } => {
            let ip = host.parse().map_err(|_| io::Error::other(format!("'{host}' is no IP")))?;
            let stream = TcpStream::connect_timeout(&SocketAddr::new(ip, *port), ATTEMPT_LIMIT)?;
            stream.set_read_timeout(Some(ATTEMPT_LIMIT))?;
            stream.set_write_timeout(Some(ATTEMPT_LIMIT))?;
            Ok(Box::new(stream))
        }
        Address::Unix(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(ATTEMPT_LIMIT))?;
            stream.set_write_timeout(Some(ATTEMPT_LIMIT))?;
            Ok(Box::new(stream))
        }
    }
}

fn if_ours(answering: Option<u32>, pid: u32) -> Readiness {
    match answering {
        Some(answering) if answering == pid => Readiness::Ready,
        Some(other) => Readiness::NotYet(format!(
            "process {other} answers at its address, and not process {pid} that was started"
        )),
        None => Readiness::NotYet("what answers does not tell its process number".to_owned()),
    }
}

fn ask_redis(mut stream: impl Stream, pid: u32) -> io::Result<Readiness> {
    stream.write_all(b"PING\r\n")?;
    let mut stream = BufReader::new(stream.take(REPLY_BYTES));
    let mut line = String::new();
    stream.read_line(&mut line)?;
    if line.trim_end() != "+PONG" {
        return Ok(Readiness::NotYet(format!("PING was answered with '{}'", line.trim_end())));
    }
    stream.get_mut().get_mut().write_all(b"INFO server\r\n")?;
    line.clear();
    stream.read_line(&mut line)?;
    let length = line.trim_end().strip_prefix('$').and_then(|length| length.parse().ok());
    let Some(length) = length else {
        return Ok(Readiness::NotYet(format!("INFO was answered with '{}'", line.trim_end())));
    };
    let mut info = String::new();
    stream.take(length).read_to_string(&mut info)?;
    let answering = info.lines().find_map(|line| line.strip_prefix("process_id:"));
    Ok(if_ours(answering.and_then(|number| number.trim().parse().ok()), pid))
}

fn ask_memcached(mut stream: impl Stream, pid: u32) -> io::Result<Readiness> {
    stream.write_all(b"stats\r\n")?;
    let mut answering = None;
    for line in BufReader::new(stream.take(REPLY_BYTES)).lines() {
        let line = line?;
        if line == "END" {
            return Ok(if_ours(answering, pid));
        }
        match line.strip_prefix("STAT ").and_then(|stat| stat.split_once(' ')) {
            Some(("pid", number)) => answering = number.parse().ok(),
            Some(_) => {}
            None => return Ok(Readiness::NotYet(format!("stats was answered with '{line}'"))),
        }
    }
    Err(ErrorKind::UnexpectedEof.into())
}

/// A login by protocol 3.0. A server that still starts refuses it with SQLSTATE 57P03.
fn ask_postgres(mut stream: impl Stream, pid: u32, data: &Path) -> io::Result<Readiness> {
    let words = ["user", POSTGRES_USER, "database", POSTGRES_DATABASE];
    if let Err(not_yet) = log_in_to_postgres(&mut stream, &words)? {
        return Ok(Readiness::NotYet(not_yet));
    }
    // Terminate; the server may close first.
    let _ = stream.write_all(&[b'X', 0, 0, 0, 4]);
    let status = fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
    Ok(if_ours(status.lines().next().and_then(|number| number.trim().parse().ok()), pid))
}

/// The same login, but to no database, and a query: HyPer's own tables tell its process.
fn ask_hyper(mut stream: impl Stream, pid: u32) -> io::Result<Readiness> {
    if let Err(not_yet) = log_in_to_postgres(&mut stream, &["user", POSTGRES_USER])? {
        return Ok(Readiness::NotYet(not_yet));
    }
    let query = b"SELECT procpid FROM pg_stat_activity LIMIT 1\0";
    stream.write_all(b"Q")?;
    stream.write_all(&(query.len() as u32 + 4).to_be_bytes())?;
    stream.write_all(query)?;
    let mut answering = None;
    let mut each = |kind, body: &[u8]| {
        if kind == b'D' {
            // One column: the count of columns, its length, the number as text.
            let digits = body.get(6..).and_then(|digits| std::str::from_utf8(digits).ok());
            answering = digits.and_then(|digits| digits.parse().ok());
        }
    };
    Ok(match until_ready(&mut stream, &mut each)? {
        Ok(()) => if_ours(answering, pid),
        Err(not_yet) => Readiness::NotYet(not_yet),
    })
}

/// Logs in with the startup parameters `words`, a name and a value each. The inner error says why the
/// server does not serve yet.
fn log_in_to_postgres(stream: &mut impl Stream, words: &[&str]) -> io::Result<Result<(), String>> {
    let mut body = 196_608_u32.to_be_bytes().to_vec();
    for text in words.iter().chain(&[""]) {
        body.extend_from_slice(text.as_bytes());
        body.push(0);
    }
    stream.write_all(&(body.len() as u32 + 4).to_be_bytes())?;
    stream.write_all(&body)?;
    until_ready(stream, &mut |_, _| ())
}

/// Reads messages of PostgreSQL's protocol until the server is ready for the next.
fn until_ready(
    stream: &mut impl Stream,
    each: &mut dyn FnMut(u8, &[u8]),
) -> io::Result<Result<(), String>> {
    loop {
        let mut header = [0; 5];
        stream.read_exact(&mut header)?;
        let [kind, length @ ..] = header;
        let length = u64::from(u32::from_be_bytes(length)).saturating_sub(4);
        if length > REPLY_BYTES {
            return Ok(Err("what answers does not speak PostgreSQL's protocol".to_owned()));
        }
        let mut body = vec![0; length as usize];
        stream.read_exact(&mut body)?;
        match kind {
            b'E' => return Ok(Err(postgres_error(&body))),
            b'Z' => return Ok(Ok(())),
            _ => each(kind, &body),
        }
    }
}

/// A login by MAPI. In place of a password's hash the library has the text `0`. A server that still opens
/// its database closes the connection.
fn ask_monetdb(mut stream: impl Stream, address: &Address, pid: u32) -> io::Result<Readiness> {
    if let Address::Unix(_) = address {
        // That no descriptor of a file comes along.
        stream.write_all(b"0")?;
    }
    let challenge = read_mapi(&mut stream)?;
    let Some((salt, _)) = challenge.split_once(":mserver:9:") else {
        return Ok(Readiness::NotYet("what answers is not MonetDB".to_owned()));
    };
    let proof: String =
        Sha512::digest(format!("0{salt}")).iter().map(|b| format!("{b:02x}")).collect();
    write_mapi(&mut stream, &format!("LIT:monetdb:{{SHA512}}{proof}:sql::"))?;
    let refusal = read_mapi(&mut stream)?;
    if refusal.starts_with('!') {
        return Ok(Readiness::NotYet(refusal));
    }
    write_mapi(&mut stream, "sSELECT value FROM sys.environment WHERE name = 'monet_pid'\n;")?;
    let reply = read_mapi(&mut stream)?;
    let number = reply.lines().find_map(|line| line.strip_prefix("[ \"")?.split('"').next());
    Ok(if_ours(number.and_then(|number| number.parse().ok()), pid))
}

/// Sends a message of one block: its length, shifted by one, and that it is the last.
fn write_mapi(stream: &mut impl Stream, message: &str) -> io::Result<()> {
    stream.write_all(&((message.len() as u16) << 1 | 1).to_le_bytes())?;
    stream.write_all(message.as_bytes())
}

fn read_mapi(stream: &mut impl Stream) -> io::Result<String> {
    let mut message = Vec::new();
    loop {
        let mut header = [0; 2];
        stream.read_exact(&mut header)?;
        let header = u16::from_le_bytes(header);
        let mut block = vec![0; usize::from(header >> 1)];
        stream.read_exact(&mut block)?;
        message.extend_from_slice(&block);
        if header & 1 == 1 || message.len() as u64 > REPLY_BYTES {
            return Ok(String::from_utf8_lossy(&message).into_owned());
        }
    }
}

/// The greeting of protocol version 10, which a server sends when it takes connections.
fn ask_mysql(mut stream: impl Stream, pid: u32, data: &Path) -> io::Result<Readiness> {
    let mut header = [0; 4];
    stream.read_exact(&mut header)?;
    let [low, middle, high, _] = header;
    let length = u64::from(u32::from_le_bytes([low, middle, high, 0]));
    if length > REPLY_BYTES {
        return Ok(Readiness::NotYet("what answers is neither MariaDB nor MySQL".to_owned()));
    }
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body)?;
    match body.first() {
        Some(10) => {
            let number = fs::read_to_string(data.join(MYSQL_PID_FILE)).unwrap_or_default();
            Ok(if_ours(number.trim().parse().ok(), pid))
        }
        // An error's number, then its words.
        Some(0xff) => {
            let words = body.get(3..).unwrap_or_default();
            Ok(Readiness::NotYet(String::from_utf8_lossy(words).into_owned()))
        }
        _ => Ok(Readiness::NotYet("what answers is neither MariaDB nor MySQL".to_owned())),
    }
}

/// `{serverStatus: 1, $db: "admin"}` as OP_MSG number 1.
const MONGODB_STATUS: &[u8] = b"\x3b\0\0\0\x01\0\0\0\0\0\0\0\xdd\x07\0\0\0\0\0\0\0\
    \x26\0\0\0\x10serverStatus\0\x01\0\0\0\x02$db\0\x06\0\0\0admin\0\0";

/// The process number is a whole number of 32 or 64 bits that is called `pid`.
fn ask_mongodb(mut stream: impl Stream, pid: u32) -> io::Result<Readiness> {
    stream.write_all(MONGODB_STATUS)?;
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u64::from(u32::from_le_bytes(length)).saturating_sub(4);
    if length > REPLY_BYTES {
        return Ok(Readiness::NotYet("what answers does not speak MongoDB's protocol".to_owned()));
    }
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body)?;
    let number = body.windows(9).find_map(|window| match window.split_at(5) {
        (b"\x10pid\0" | b"\x12pid\0", number) => {
            Some(u32::from_le_bytes([number[0], number[1], number[2], number[3]]))
        }
        _ => None,
    });
    Ok(if_ours(number, pid))
}

/// The message and the SQLSTATE of an error response.
fn postgres_error(body: &[u8]) -> String {
    let field = |code: u8| {
        body.split(|&byte| byte == 0)
            .find(|field| field.first() == Some(&code))
            .map(|field| String::from_utf8_lossy(&field[1..]).into_owned())
            .unwrap_or_default()
    };
    format!("{} ({})", field(b'M'), field(b'C'))
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, thread};

    use super::*;

    /// A listener that answers the first bytes of its first client with each of `replies`.
    pub(super) fn answering(replies: &'static [&'static [u8]]) -> Address {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            for reply in replies {
                let mut bytes = [0; 512];
                let _ = stream.read(&mut bytes);
                stream.write_all(reply).expect("the client reads");
            }
        });
        Address::Tcp { host: "127.0.0.1".into(), port }
    }

    /// A listener that sends its first client `replies` unasked.
    fn greeting_first(replies: &'static [&'static [u8]]) -> Address {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            replies.iter().for_each(|reply| stream.write_all(reply).expect("the client reads"));
        });
        Address::Tcp { host: "127.0.0.1".into(), port }
    }

    const INFO: &[&[u8]] =
        &[b"+PONG\r\n", b"$42\r\n# Server\r\nredis_version:7\r\nprocess_id:42\r\n\r\n"];

    #[test]
    fn a_redis_server_that_is_not_the_one_started_is_not_ready() {
        let none = Path::new("/nonexistent");
        assert_eq!(Probe::Redis.attempt(&answering(INFO), 42, none), Readiness::Ready);
        match Probe::Redis.attempt(&answering(INFO), 43, none) {
            Readiness::NotYet(why) => assert!(why.contains("process 42 answers"), "{why}"),
            Readiness::Ready => panic!("process 42 is not process 43"),
        }
    }

    #[test]
    fn a_redis_server_that_loads_is_not_ready() {
        let loading = answering(&[b"-LOADING Redis is loading the dataset in memory\r\n"]);
        match Probe::Redis.attempt(&loading, 42, Path::new("/nonexistent")) {
            Readiness::NotYet(why) => assert!(why.contains("LOADING"), "{why}"),
            Readiness::Ready => panic!("it is loading"),
        }
    }

    #[test]
    fn memcached_is_asked_for_its_process() {
        let stats = answering(&[b"STAT pid 42\r\nSTAT uptime 1\r\nEND\r\n"]);
        assert_eq!(
            Probe::Memcached.attempt(&stats, 42, Path::new("/nonexistent")),
            Readiness::Ready
        );
    }

    #[test]
    fn a_postgres_server_that_starts_up_is_not_ready() {
        let starting: &[&[u8]] =
            &[b"E\0\0\0\x34SFATAL\0C57P03\0Mthe database system is starting\0\0"];
        match Probe::Postgres.attempt(&answering(starting), 42, Path::new("/nonexistent")) {
            Readiness::NotYet(why) => {
                assert_eq!(why, "the database system is starting (57P03)");
            }
            Readiness::Ready => panic!("it is starting"),
        }
    }

    #[test]
    fn a_mysql_server_is_ready_when_it_greets_and_its_file_names_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join(MYSQL_PID_FILE), "42\n").expect("written");
        let greeting: &[&[u8]] = &[b"\x08\0\0\0\x0a10.11\0\x01"];
        let full: &[&[u8]] = &[b"\x17\0\0\0\xff\x10\x04Too many connections"];
        let attempt =
            |replies, pid| Probe::Mysql.attempt(&greeting_first(replies), pid, folder.path());
        assert_eq!(attempt(greeting, 42), Readiness::Ready);
        for (replies, pid, word) in [(greeting, 43, "process 42"), (full, 42, "Too many")] {
            match attempt(replies, pid) {
                Readiness::NotYet(why) => assert!(why.contains(word), "{why}"),
                Readiness::Ready => panic!("{word}"),
            }
        }
    }

    #[test]
    fn mongodb_is_asked_for_its_process() {
        let none = Path::new("/nonexistent");
        let long: &[&[u8]] = &[b"\x15\0\0\0\x12pid\0\x2a\0\0\0\0\0\0\0\x01\0\0\0"];
        let short: &[&[u8]] = &[b"\x0d\0\0\0\x10pid\0\x2a\0\0\0"];
        for reply in [long, short] {
            assert_eq!(Probe::Mongodb.attempt(&answering(reply), 42, none), Readiness::Ready);
        }
        for reply in [&b"\x0d\0\0\0\x10pid\0\x2b\0\0\0"[..], b"\x06\0\0\0ok", b"HTTP/1.1 400"] {
            let reply: &'static [&'static [u8]] = Box::leak(Box::new([reply]));
            let other = Probe::Mongodb.attempt(&answering(reply), 42, none);
            assert!(matches!(other, Readiness::NotYet(_)), "{other:?}");
        }
    }

    #[test]
    fn nobody_there_is_not_ready() {
        let port = crate::port::free().expect("a port");
        let nobody = Address::Tcp { host: "127.0.0.1".into(), port };
        for probe in [
            Probe::Redis,
            Probe::Memcached,
            Probe::Postgres,
            Probe::Hyper,
            Probe::Monetdb,
            Probe::Mysql,
            Probe::Mongodb,
            Probe::Cassandra,
            Probe::Aerospike,
            Probe::Riak,
        ] {
            let readiness = probe.attempt(&nobody, 42, Path::new("/nonexistent"));
            assert!(matches!(readiness, Readiness::NotYet(_)), "{readiness:?}");
        }
    }
}
