//! Where to listen, as people write it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Reads `ADDRESS:PORT`, an address alone (any free port) or a port alone (loopback).
///
/// # Errors
/// What would be right.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let loopback = IpAddr::from(Ipv4Addr::LOCALHOST);
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::new(loopback, port));
    }
    if text == "localhost" {
        return Ok(SocketAddr::new(loopback, 0));
    }
    if let Some(port) = text.strip_prefix("localhost:").and_then(|port| port.parse().ok()) {
        return Ok(SocketAddr::new(loopback, port));
    }
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Ok(SocketAddr::new(address, 0));
    }
    text.parse().map_err(|_| {
        "write ADDRESS:PORT, an address or a port, as in 127.0.0.1:8080, 0.0.0.0 or 8080".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_a_port_or_both_are_read() {
        for (text, read) in [
            ("8080", "127.0.0.1:8080"),
            ("localhost", "127.0.0.1:0"),
            ("localhost:81", "127.0.0.1:81"),
            ("0.0.0.0", "0.0.0.0:0"),
            ("10.0.0.7:9", "10.0.0.7:9"),
            ("::1", "[::1]:0"),
            ("[::1]", "[::1]:0"),
            ("[::]:80", "[::]:80"),
        ] {
            assert_eq!(listen_address(text).unwrap().to_string(), read, "{text}");
        }
        for text in ["", "nowhere", "example.org:80", "127.0.0.1:99999", "-1", ":80"] {
            assert!(listen_address(text).unwrap_err().contains("127.0.0.1:8080"), "{text}");
        }
    }
}
