//! What is asked of a data store: the YCSB core workloads as a stream of operations, the values
//! they write and the check of what they read.
//!
//! [`CoreWorkload`] holds the parameters, all typed, each default written once; [`properties`]
//! reads them from YCSB's own property files. A [`Stream`] turns a workload into operations:
//! operation *n* is a function of (seed, n) alone, whatever the number of clients, so that every
//! system gets the same work and a run can be repeated. The values are slices of a [`ValuePool`],
//! chosen by (seed, key, field, version): they cost nothing to make and the [`Verifier`] can check
//! an answer from its key bytes alone.
//!
//! Nothing here does I/O, reads a clock or knows a particular system.
//!
//! # Where the operations differ from YCSB's, on purpose
//! - Keys to read, update and scan are drawn from the records loaded before the phase. YCSB draws
//!   over the expected new records too and redraws those that are not there yet, which depends on
//!   timing. The `latest` distribution is the exception: it follows the inserts acknowledged so
//!   far, as its name demands ([`Acknowledged`]).
//! - The kinds of operation are stratified: each block of 1,024 operations holds its exact share
//!   of every kind, in a random order.
//! - Scrambled zipfian covers exactly the loaded records, and the growing zipfian of `latest`
//!   follows the current number of records.

mod acknowledged;
mod core_workload;
pub mod distributions;
mod hash;
mod keys;
mod lengths;
mod mix;
mod prepared;
pub mod properties;
mod rng;
mod stream;
mod validate;
mod values;
mod verify;

#[cfg(test)]
mod goodness;

pub use acknowledged::{Acknowledged, WINDOW};
pub use core_workload::{
    CoreWorkload, FieldLength, InsertOrder, LookupRange, RequestDistribution, ScanDistribution,
    YCSB_PRESETS, ZIPFIAN_CONSTANT,
};
pub use hash::fnv1a_64;
pub use keys::KeyFormat;
pub use lengths::FieldLengths;
pub use prepared::Prepared;
pub use rng::Draws;
pub use stream::Stream;
pub use validate::{
    InvalidWorkload, MAX_FIELD_BYTES, MAX_INDEX_KEY_BYTES, MAX_ZERO_PADDING, Problem,
};
pub use values::{UPDATE_VERSIONS, ValuePool, Values};
pub use verify::{FieldState, Form, Verifier, WrongAnswer};
