//! One wire client of an event loop: its socket, its codec, and the operation it is at.

use std::{
    io::{self, ErrorKind, Read, Write},
    os::fd::OwnedFd,
};

use assay_measure::clock::Clock;
use assay_model::{Answer, FailureKind, OperationKind, Outcome};
use assay_systems::{Step, WireClient};
use assay_workload::Prepared;
use rustix::event::epoll;

/// A client whose connection may be down.
pub(super) struct Line<'p, 'c> {
    client: &'c mut Option<WireClient>,
    index: usize,
    pub(super) stage: Stage,
    pub(super) prepared: Prepared<'p>,
    pub(super) answer: Answer,
    pub(super) intended_ns: u64,
    pub(super) started_ns: u64,
    /// Whether this connection has carried an operation through, or was there when the phase began.
    pub(super) proved: bool,
    input: Vec<u8>,
    output: Vec<u8>,
    sent: usize,
    /// Whether the last read took all there was.
    pub(super) exhausted: bool,
    wants_write: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Idle,
    /// The operation, or the read of a read-modify-write.
    First,
    /// The write of a read-modify-write.
    Second,
    /// There is no connection.
    Down {
        retry_ns: u64,
    },
}

/// What a socket is watched for.
const EDGES: epoll::EventFlags =
    epoll::EventFlags::IN.union(epoll::EventFlags::RDHUP).union(epoll::EventFlags::ET);

/// What came of looking at a socket.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// There was nothing to be read, or there is no connection.
    Dry,
    /// The operation, if any, goes on.
    Nothing,
    /// A request has been answered.
    Answer(Outcome),
}

/// The connection is of no more use; the outcome is that of the operation it was at.
pub(super) type Broken = Outcome;

impl<'p, 'c> Line<'p, 'c> {
    /// The client at `index`, down until it is connected.
    pub(super) fn new(index: usize, client: &'c mut Option<WireClient>, keep: bool) -> Self {
        Line {
            client,
            index,
            stage: Stage::Down { retry_ns: 0 },
            prepared: Prepared::new(),
            answer: if keep { Answer::keeping() } else { Answer::counting() },
            intended_ns: 0,
            started_ns: 0,
            proved: false,
            input: Vec::with_capacity(4096),
            output: Vec::with_capacity(4096),
            sent: 0,
            exhausted: false,
            wants_write: false,
        }
    }

    /// Whether there is a connection, up or not yet watched.
    pub(super) fn is_connected(&self) -> bool {
        self.client.is_some()
    }

    /// Puts a new connection in, or none: the old one is closed and with that no longer watched.
    pub(super) fn replace(&mut self, client: Option<WireClient>) {
        *self.client = client;
        self.input.clear();
        self.output.clear();
        (self.sent, self.wants_write, self.proved) = (0, false, false);
    }

    /// Has the connection watched; the client is idle then. Events are edges, told once: the kernel
    /// need not look at the socket again at every wait, but it must be read until it is exhausted.
    pub(super) fn watch(&mut self, epoll: &OwnedFd) -> io::Result<()> {
        let Some(client) = self.client else { return Ok(()) };
        client.socket.set_nonblocking(true)?;
        let data = epoll::EventData::new_u64(self.index as u64);
        epoll::add(epoll, &client.socket, data, EDGES)?;
        self.stage = Stage::Idle;
        Ok(())
    }

    /// Encodes and sends the operation.
    #[inline]
    pub(super) fn start(
        &mut self,
        due_ns: Option<u64>,
        clock: &Clock,
        epoll: &OwnedFd,
    ) -> Result<(), Broken> {
        self.answer.clear();
        self.stage = Stage::First;
        self.started_ns = clock.now();
        self.intended_ns = due_ns.unwrap_or(self.started_ns);
        let Some(client) = self.client else { return Err(disconnected("it is not connected")) };
        client.codec.encode(&self.prepared.operation(), &mut self.output);
        self.send(epoll)
    }

    /// Goes on to the second half of a read-modify-write, if this was the first.
    #[inline]
    pub(super) fn start_second(&mut self, outcome: &Outcome) -> bool {
        let modifies = self.prepared.kind() == OperationKind::ReadModifyWrite;
        if !modifies || self.stage != Stage::First || *outcome != Outcome::Done {
            return false;
        }
        self.stage = Stage::Second;
        if let Some(client) = self.client {
            client.codec.encode(&self.prepared.write(), &mut self.output);
        }
        true
    }

    /// Sends what is encoded, as far as the socket takes it.
    pub(super) fn send(&mut self, epoll: &OwnedFd) -> Result<(), Broken> {
        let Some(client) = self.client else { return Ok(()) };
        while self.sent < self.output.len() {
            match client.socket.write(&self.output[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return self.want_write(true, epoll);
                }
                Err(error) => return Err(disconnected(&error.to_string())),
            }
        }
        self.output.clear();
        self.sent = 0;
        if self.wants_write {
            return self.want_write(false, epoll);
        }
        Ok(())
    }

    /// Not all the time: a Unix socket tells of every read by the other side that it takes more.
    #[cold]
    fn want_write(&mut self, wanted: bool, epoll: &OwnedFd) -> Result<(), Broken> {
        let Some(client) = self.client else { return Ok(()) };
        self.wants_write = wanted;
        let mut flags = EDGES;
        flags.set(epoll::EventFlags::OUT, wanted);
        let data = epoll::EventData::new_u64(self.index as u64);
        epoll::modify(epoll, &client.socket, data, flags)
            .map_err(|error| disconnected(&error.to_string()))
    }

    /// Reads what has arrived into `buffer` and decodes it.
    #[inline]
    pub(super) fn receive(
        &mut self,
        buffer: &mut [u8],
        epoll: &OwnedFd,
    ) -> Result<Received, Broken> {
        self.exhausted = true;
        // An event of a connection that broke earlier in the same batch.
        let Some(client) = self.client else { return Ok(Received::Dry) };
        let count = loop {
            match client.socket.read(buffer) {
                Ok(0) => return Err(disconnected("the server closed the connection")),
                Ok(count) => break count,
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock => return Ok(Received::Dry),
                    _ => return Err(disconnected(&error.to_string())),
                },
            }
        };
        // Less than there was room for was all there was (epoll(7), question 9).
        self.exhausted = count < buffer.len();
        // Most replies arrive whole and are decoded where they were read.
        let in_place = self.input.is_empty();
        if !in_place {
            self.input.extend_from_slice(&buffer[..count]);
        }
        if self.stage == Stage::Idle {
            if in_place {
                self.input.extend_from_slice(&buffer[..count]);
            }
            return self.take_unasked().map(|()| Received::Nothing);
        }
        let received = if in_place { &buffer[..count] } else { &self.input[..] };
        let step = client.codec.decode(received, &mut self.output, &mut self.answer);
        let consumed = match &step {
            Step::More { consumed } | Step::Done { consumed, .. } => *consumed,
            Step::Broken(_) => count,
        };
        if in_place {
            self.input.extend_from_slice(&buffer[consumed..count]);
        } else {
            self.input.drain(..consumed);
        }
        match step {
            Step::More { .. } if self.output.is_empty() => Ok(Received::Nothing),
            Step::More { .. } => self.send(epoll).map(|()| Received::Nothing),
            Step::Done { outcome, .. } => Ok(Received::Answer(outcome)),
            Step::Broken(outcome) => Err(outcome),
        }
    }

    /// The operation is over, and the client idle.
    #[inline]
    pub(super) fn end(&mut self) -> Result<(), Broken> {
        self.stage = Stage::Idle;
        self.proved = true;
        if self.input.is_empty() { Ok(()) } else { self.take_unasked() }
    }

    /// Deals with what came while nothing was asked. A codec knows its protocol's notices; a reply
    /// that nothing asked for would be taken for the next operation's.
    #[cold]
    fn take_unasked(&mut self) -> Result<(), Broken> {
        let Some(client) = self.client else { return Ok(()) };
        let nobody = &mut Answer::counting();
        match client.codec.decode(&self.input, &mut self.output, nobody) {
            Step::More { consumed } => {
                self.input.drain(..consumed);
                Ok(())
            }
            Step::Done { .. } => {
                let why = "the server sent a reply that nothing asked for";
                Err(Outcome::failed(FailureKind::Protocol, why))
            }
            Step::Broken(outcome) => Err(outcome),
        }
    }
}

fn disconnected(why: &str) -> Outcome {
    Outcome::failed(FailureKind::Disconnected, why)
}
