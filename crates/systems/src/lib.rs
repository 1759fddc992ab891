//! The data stores Assay can weigh: one module a system behind the traits of [`system`], a
//! registry line each, and one conformance test for all.
//!
//! A driver speaks to a store in one of two ways. A *call* client ([`Session`]) is a library call
//! on a thread of its own. A *wire* client ([`Codec`]) is a codec without I/O: it encodes requests
//! into a buffer and decodes replies from one, and whoever owns the socket decides when to read
//! and write; the runner drives many of them from one event loop, and [`blocking`] turns one into
//! an ordinary session for set-up, loading and tests.
//!
//! A client of a cluster has several sockets, which the `bundle` module makes one of.
//!
//! Starting and stopping servers is the `provision` crate's business.

pub mod blocking;
pub mod cache;
pub mod conformance;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod registry;
#[doc(hidden)]
pub mod shared_library;
pub mod socket;
pub mod system;

mod aerospike;
mod bundle;
mod cassandra;
mod decimal;
mod document;
mod duckdb;
mod entries;
mod files;
mod fjall;
mod framing;
mod http;
mod incoming;
mod link;
mod lmdb;
mod memcached;
mod memory;
mod monetdb;
mod mongodb;
mod mysql;
mod null;
mod ordered;
mod postgres;
mod redb;
mod redis;
#[cfg(any(test, feature = "fuzzing"))]
mod replay;
mod riak;
mod rocksdb;
mod slik;
mod sql;
mod sqlite;
mod voltdb;

pub use registry::{Driver, Layout, Opening, Place, SettingDoc, Settings, Target, Verified};
pub use system::{
    Client, Codec, Footprint, Identity, Loader, Session, Step, System, SystemError, WireClient,
};
