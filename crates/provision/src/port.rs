//! TCP ports on loopback.

use std::{
    io,
    net::{Ipv4Addr, TcpListener},
};

/// A port that nobody listens on now. Somebody else may take it before the server does: the
/// caller tries again.
pub(crate) fn free() -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

/// Whether a server could listen on `port`; if not, why.
pub(crate) fn check(port: u16) -> io::Result<()> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_with_a_listener_is_refused() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let taken = listener.local_addr().expect("an address").port();
        let error = check(taken).expect_err("taken");
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        assert_ne!(free().expect("a port"), taken);
    }
}
