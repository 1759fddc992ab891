//! Recorded exchanges, served over a loopback socket: where no server can be had, they take a
//! driver's whole way, from opening the store to an operation's answer.

use std::{
    io::{Read, Write},
    net::TcpListener,
    thread,
};

use assay_model::{Address, Endpoint};

/// What a server answered to requests that begin so.
pub type Exchange = (&'static [u8], &'static [u8]);

/// Listens and answers each request, on any number of connections, as the first of `exchanges` that
/// has its beginning. `whole` says how long the first request in some bytes is, once it is all there.
/// A request that nobody recorded ends its connection.
pub fn serve(exchanges: &'static [Exchange], whole: fn(&[u8]) -> Option<usize>) -> Endpoint {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                let mut input = Vec::new();
                let mut bytes = [0; 4096];
                loop {
                    while let Some(length) = whole(&input) {
                        let known = exchanges.iter().find(|(begins, _)| input.starts_with(begins));
                        let Some((_, reply)) = known else {
                            eprintln!("not recorded: {}", input[..length].escape_ascii());
                            return;
                        };
                        input.drain(..length);
                        if stream.write_all(reply).is_err() {
                            return;
                        }
                    }
                    match stream.read(&mut bytes) {
                        Ok(0) | Err(_) => return,
                        Ok(count) => input.extend_from_slice(&bytes[..count]),
                    }
                }
            });
        }
    });
    Endpoint::at(Address::Tcp { host: "127.0.0.1".into(), port })
}
