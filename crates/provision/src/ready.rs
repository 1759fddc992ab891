//! Asking a server whether it is ready, and whether it is the one that was started: on a port that
//! was free a moment ago, somebody else may answer.

mod aerospike;
pub(crate) mod cassandra;
mod memcached;
mod monetdb;
mod mongodb;
pub(crate) mod mysql;
pub(crate) mod postgres;
mod redis;
pub(crate) mod riak;
mod voltdb;

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use assay_model::Address;

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
            Probe::Redis | Probe::RedisCluster => redis::ask(stream, pid),
            Probe::Memcached => memcached::ask(stream, pid),
            Probe::Postgres => postgres::ask(stream, pid, data),
            Probe::Hyper => postgres::ask_hyper(stream, pid),
            Probe::Monetdb => monetdb::ask(stream, address, pid),
            Probe::Mysql => mysql::ask(stream, pid, data),
            Probe::Mongodb => mongodb::ask(stream, pid),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Replies that are read, and requests that nobody reads.
    pub(super) struct Replies(pub &'static [u8]);

    impl Read for Replies {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.0.read(into)
        }
    }

    impl Write for Replies {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
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
            Probe::Voltdb,
            Probe::Aerospike,
            Probe::Riak,
        ] {
            let readiness = probe.attempt(&nobody, 42, Path::new("/nonexistent"));
            assert!(matches!(readiness, Readiness::NotYet(_)), "{readiness:?}");
        }
    }
}
