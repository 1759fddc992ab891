//! A store on a loopback socket that answers each request as a test wants, and its codec.
//!
//! A request is a length of four bytes and the operation as bytes; the reply is the same again. The
//! codec knows what it asked, so a reply to another request is a wrong answer.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use assay_model::{Answer, FailureKind, Operation, Outcome};
use assay_runner::phase::Clients;
use assay_systems::{Codec, Step, SystemError, WireClient, socket::Socket};

use crate::fakes::written;

/// A request as the server sees it.
pub struct Request<'a> {
    /// How many requests came before it, over all connections.
    pub number: u64,
    /// How many requests came before it on this connection.
    pub on_connection: u64,
    /// The operation.
    pub operation: &'a [u8],
}

/// What the server does: answers, or says whether the connection goes on.
pub type Manner = dyn Fn(&Request<'_>, &mut TcpStream) -> io::Result<bool> + Send + Sync;

pub struct Server {
    address: SocketAddr,
    closed: Arc<AtomicBool>,
    pub connections: Arc<AtomicU64>,
}

impl Server {
    pub fn start(
        manner: impl Fn(&Request<'_>, &mut TcpStream) -> io::Result<bool> + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (closed, connections) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let server = Server { address, closed: closed.clone(), connections: connections.clone() };
        let (manner, requests): (Arc<Manner>, _) = (Arc::new(manner), Arc::<AtomicU64>::default());
        thread::spawn(move || {
            for stream in listener.incoming() {
                if closed.load(Ordering::SeqCst) {
                    return;
                }
                connections.fetch_add(1, Ordering::SeqCst);
                let (manner, requests) = (manner.clone(), requests.clone());
                // The end of a connection, on either side, ends its thread.
                thread::spawn(move || stream.and_then(|stream| serve(stream, &*manner, &requests)));
            }
        });
        server
    }

    /// Opens one connection.
    pub fn connect(&self) -> Result<WireClient, SystemError> {
        let refused = |error: io::Error| SystemError::Failed {
            system: "the fake server".into(),
            action: "connect".into(),
            why: error.to_string(),
        };
        let stream = TcpStream::connect(self.address).map_err(refused)?;
        stream.set_nodelay(true).map_err(refused)?;
        Ok(WireClient { socket: Socket::Tcp(stream), codec: Box::new(Echo::default()) })
    }

    /// `count` connected clients.
    pub fn clients(&self, count: usize) -> Clients {
        Clients::Wire((0..count).map(|_| Some(self.connect().unwrap())).collect())
    }

    /// Accepts no more connections.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        // Wakes the accepting thread, which then drops the listener.
        drop(TcpStream::connect(self.address));
        while TcpStream::connect(self.address).is_ok() {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
    }
}

fn serve(mut stream: TcpStream, manner: &Manner, requests: &AtomicU64) -> io::Result<()> {
    stream.set_nodelay(true)?;
    for on_connection in 0.. {
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let mut operation = vec![0; u32::from_le_bytes(length) as usize];
        stream.read_exact(&mut operation)?;
        let number = requests.fetch_add(1, Ordering::SeqCst);
        let request = Request { number, on_connection, operation: &operation };
        if !manner(&request, &mut stream)? {
            break;
        }
    }
    Ok(())
}

/// The reply to a request, with `padding` bytes more.
pub fn reply(operation: &[u8], padding: usize) -> Vec<u8> {
    let mut reply = ((operation.len() + padding) as u32).to_le_bytes().to_vec();
    reply.extend_from_slice(operation);
    reply.resize(reply.len() + padding, b'.');
    reply
}

/// The manner of a server that does what it should.
pub fn answer(request: &Request<'_>, stream: &mut TcpStream) -> io::Result<bool> {
    stream.write_all(&reply(request.operation, 0)).map(|()| true)
}

#[derive(Default)]
struct Echo {
    asked: Option<Vec<u8>>,
}

impl Codec for Echo {
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) {
        let request = written(operation);
        out.extend_from_slice(&(request.len() as u32).to_le_bytes());
        out.extend_from_slice(&request);
        self.asked = Some(request);
    }

    fn decode(&mut self, input: &[u8], _: &mut Vec<u8>, _: &mut Answer) -> Step {
        const LONGEST: usize = 1 << 26;
        let broken = |why| Step::Broken(Outcome::failed(FailureKind::Protocol, why));
        let Some((length, rest)) = input.split_first_chunk::<4>() else {
            return Step::More { consumed: 0 };
        };
        let length = u32::from_le_bytes(*length) as usize;
        if length > LONGEST {
            return broken("garbage");
        }
        let Some(reply) = rest.get(..length) else { return Step::More { consumed: 0 } };
        let Some(asked) = self.asked.take() else { return broken("a reply nobody asked for") };
        let outcome = match reply.starts_with(&asked) {
            true => Outcome::Done,
            false => Outcome::failed(FailureKind::WrongAnswer, "the reply to another request"),
        };
        Step::Done { consumed: 4 + length, outcome }
    }
}
