//! Why a server cannot serve.

use std::{io, net::SocketAddr, path::PathBuf};

use thiserror::Error;

/// Why the runs cannot be served.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The results folder is none, or cannot be read.
    #[error("cannot serve the runs of {}: {why}", folder.display())]
    Folder {
        /// What was named.
        folder: PathBuf,
        /// What is wrong, and what to name instead.
        why: String,
    },
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source}; {}", advice(source))]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the operating system said.
        source: io::Error,
    },
    /// The token is too easy to guess, or cannot stand in a URL.
    #[error(
        "the token must have at least {least} letters, digits, '-', '.', '_' or '~' and nothing \
         else; leave --token out to have one made"
    )]
    Token {
        /// How many at least.
        least: usize,
    },
    /// The operating system refuses what a server needs: threads, signals, random numbers.
    #[error("cannot serve: {0}")]
    System(#[from] io::Error),
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "name another port with --listen, or leave it out to have a free one"
        }
        io::ErrorKind::PermissionDenied => "name a port above 1023 with --listen",
        io::ErrorKind::AddrNotAvailable => {
            "name an address of this machine with --listen, or 0.0.0.0 for all of them"
        }
        _ => "name another address with --listen",
    }
}
