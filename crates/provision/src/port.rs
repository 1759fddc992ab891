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

/// `count` ports that nobody listens on now, all different. Somebody else may take one before the
/// server does, as with [`free`].
pub(crate) fn several(count: usize) -> io::Result<Vec<u16>> {
    // All held until the end, so that none is given twice.
    let held: Vec<TcpListener> = (0..count)
        .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
        .collect::<io::Result<_>>()?;
    held.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}

/// The ports of a node of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodePorts {
    /// For clients.
    pub client: u16,
    /// For the other nodes.
    pub bus: u16,
}

/// How far the bus port is above the other if it cannot be chosen.
const BUS_OFFSET: u16 = 10_000;
/// How many ports are looked at for a node whose bus port cannot be chosen.
const TRIES: usize = 200;

/// Ports for `count` nodes that nobody listens on now, all different: those from `first` on for
/// clients, or any. Without `own_bus` the other one of each is 10,000 above.
pub(crate) fn for_nodes(
    count: usize,
    first: Option<u16>,
    own_bus: bool,
) -> io::Result<Vec<NodePorts>> {
    // Kept until the end, so that no port is given twice.
    let mut held = Vec::with_capacity(2 * count);
    let mut hold = |port: u16| -> io::Result<u16> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{port}: {error}"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(named)?;
        let port = listener.local_addr()?.port();
        held.push(listener);
        Ok(port)
    };
    let too_high = || io::Error::other("there are none above 65535");
    let mut found = Vec::with_capacity(count);
    for index in 0..count as u16 {
        let wanted =
            first.map(|first| first.checked_add(index).ok_or_else(too_high)).transpose()?;
        let above = |client: u16| client.checked_add(BUS_OFFSET).ok_or_else(too_high);
        found.push(match (wanted, own_bus) {
            (wanted, true) => NodePorts { client: hold(wanted.unwrap_or(0))?, bus: hold(0)? },
            (Some(client), false) => {
                NodePorts { client: hold(client)?, bus: hold(above(client)?)? }
            }
            (None, false) => (0..TRIES)
                .find_map(|_| {
                    let client = hold(0).ok()?;
                    Some(NodePorts { client, bus: hold(above(client).ok()?).ok()? })
                })
                .ok_or_else(|| io::Error::other("no two that are 10,000 apart are free"))?,
        });
    }
    Ok(found)
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
        let mut others = several(3).expect("three ports");
        assert!(!others.contains(&taken));
        others.sort_unstable();
        others.dedup();
        assert_eq!(others.len(), 3);
    }

    #[test]
    fn nodes_have_ports_of_their_own() {
        for own_bus in [true, false] {
            let ports = for_nodes(6, None, own_bus).expect("twelve ports");
            let mut all: Vec<u16> = ports.iter().flat_map(|node| [node.client, node.bus]).collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), 12);
            assert!(own_bus || ports.iter().all(|node| node.bus - node.client == BUS_OFFSET));
        }
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let taken = taken.local_addr().map(|address| (taken, address.port())).expect("an address");
        assert!(for_nodes(2, Some(taken.1), true).is_err());
        assert!(for_nodes(2, Some(u16::MAX), true).is_err());
    }
}
