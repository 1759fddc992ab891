//! A wire client as an ordinary session: the socket is read and written on the caller's thread.
//! For set-up, loading, checks and the conformance test; the measured loop drives codecs itself.

use std::io::{ErrorKind, Read, Write};

use assay_model::{Answer, FailureKind, Operation, Outcome};

use crate::{Session, Step, WireClient};

/// A [`WireClient`] that waits for each answer.
pub struct Blocking {
    client: WireClient,
    input: Vec<u8>,
    received: usize,
    output: Vec<u8>,
    broken: bool,
}

const READ_BYTES: usize = 64 * 1024;

impl Blocking {
    /// Wraps a client whose socket is in blocking mode with a timeout set.
    pub fn new(client: WireClient) -> Blocking {
        Blocking {
            client,
            input: vec![0; READ_BYTES],
            received: 0,
            output: Vec::new(),
            broken: false,
        }
    }

    fn run(&mut self, answer: &mut Answer) -> Result<Outcome, std::io::Error> {
        loop {
            if !self.output.is_empty() {
                self.client.socket.write_all(&self.output)?;
                self.output.clear();
            }
            if self.received == self.input.len() {
                self.input.resize(self.input.len() * 2, 0);
            }
            match self.client.socket.read(&mut self.input[self.received..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.received += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            match self.client.codec.decode(&self.input[..self.received], &mut self.output, answer) {
                Step::More { consumed } => self.consume(consumed),
                Step::Done { consumed, outcome } => {
                    self.consume(consumed);
                    return Ok(outcome);
                }
                Step::Broken(outcome) => {
                    self.broken = true;
                    return Ok(outcome);
                }
            }
        }
    }

    fn consume(&mut self, count: usize) {
        self.input.copy_within(count..self.received, 0);
        self.received -= count;
    }
}

impl Session for Blocking {
    fn execute(&mut self, operation: &Operation<'_>, answer: &mut Answer) -> Outcome {
        if self.broken {
            return Outcome::failed(FailureKind::Disconnected, "the connection broke before");
        }
        self.client.codec.encode(operation, &mut self.output);
        self.run(answer).unwrap_or_else(|error| {
            self.broken = true;
            let kind = match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => FailureKind::Timeout,
                _ => FailureKind::Disconnected,
            };
            Outcome::failed(kind, error.to_string())
        })
    }
}
