//! The measured loops against systems that behave badly on purpose: in this process behind the
//! session trait, and on a loopback socket behind a codec.

mod accounting;
mod answers;
mod ends;
mod fakes;
mod numbers;
mod says;
mod server;
mod sockets;
mod stalls;
mod world;
