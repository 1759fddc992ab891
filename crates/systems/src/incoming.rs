//! Set-up over a blocking socket: bytes received and not yet decoded, and how long to wait for them.

use std::{
    io::{self, ErrorKind, Read},
    time::Duration,
};

use crate::socket::Socket;

/// Emptying a large database takes longer than any operation may; set-up waits at least this long.
pub(crate) const SET_UP_TIMEOUT: Duration = Duration::from_secs(60);

const READ_BYTES: usize = 64 * 1024;

/// A buffer that grows to hold the longest reply.
pub(crate) struct Incoming {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl Incoming {
    pub(crate) fn new() -> Incoming {
        Incoming { buffer: vec![0; READ_BYTES], start: 0, end: 0 }
    }

    /// What is received and not consumed.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Drops the first `count` bytes.
    pub(crate) fn consume(&mut self, count: usize) {
        self.start += count;
    }

    /// Waits for more bytes. The end of the stream and the time limit are errors.
    pub(crate) fn fill(&mut self, socket: &mut Socket) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        loop {
            match socket.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    let why = "it closed the connection";
                    return Err(io::Error::new(ErrorKind::UnexpectedEof, why));
                }
                Ok(count) => {
                    self.end += count;
                    return Ok(());
                }
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                        return Err(io::Error::other("no answer within the time limit"));
                    }
                    _ => return Err(error),
                },
            }
        }
    }
}
