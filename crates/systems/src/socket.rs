//! A connected stream socket, TCP or Unix, or a bundle of them, that both kinds of caller can use.

use std::{
    io::{self, Read, Write},
    net::{TcpStream, ToSocketAddrs},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    time::Duration,
};

use assay_model::Address;

use crate::bundle::Bundle;

/// A connected stream socket. TCP sockets have Nagle's algorithm off: a request is sent when it
/// is written.
#[derive(Debug)]
pub enum Socket {
    /// Over TCP.
    Tcp(TcpStream),
    /// Over a Unix socket.
    Unix(UnixStream),
    /// To the nodes of a cluster; the codec that comes with it says to which.
    Bundle(Box<Bundle>),
}

impl Socket {
    /// Connects within `timeout`, in blocking mode with `timeout` for each read and write.
    pub fn connect(address: &Address, timeout: Duration) -> io::Result<Socket> {
        let socket = match address {
            Address::Tcp { host, port } => {
                let mut last = io::Error::other(format!("'{host}' has no address"));
                let mut connected = None;
                for candidate in (host.as_str(), *port).to_socket_addrs()? {
                    match TcpStream::connect_timeout(&candidate, timeout) {
                        Ok(stream) => {
                            connected = Some(stream);
                            break;
                        }
                        Err(error) => last = error,
                    }
                }
                let stream = connected.ok_or(last)?;
                stream.set_nodelay(true)?;
                Socket::Tcp(stream)
            }
            Address::Unix(path) => Socket::Unix(UnixStream::connect(path)?),
        };
        socket.set_timeout(Some(timeout))?;
        Ok(socket)
    }

    /// The longest a blocking read or write may take; `None` for no limit.
    pub fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Socket::Tcp(stream) => {
                stream.set_read_timeout(timeout).and_then(|()| stream.set_write_timeout(timeout))
            }
            Socket::Unix(stream) => {
                stream.set_read_timeout(timeout).and_then(|()| stream.set_write_timeout(timeout))
            }
            Socket::Bundle(bundle) => {
                bundle.set_timeout(timeout);
                Ok(())
            }
        }
    }

    /// Switches between blocking and non-blocking mode.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        match self {
            Socket::Tcp(stream) => stream.set_nonblocking(nonblocking),
            Socket::Unix(stream) => stream.set_nonblocking(nonblocking),
            Socket::Bundle(bundle) => {
                bundle.set_nonblocking(nonblocking);
                Ok(())
            }
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.read(buffer),
            Socket::Unix(stream) => stream.read(buffer),
            Socket::Bundle(bundle) => bundle.read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.write(buffer),
            Socket::Unix(stream) => stream.write(buffer),
            Socket::Bundle(bundle) => bundle.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Unix(stream) => stream.as_fd(),
            Socket::Bundle(bundle) => bundle.as_fd(),
        }
    }
}
