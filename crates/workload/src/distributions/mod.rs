//! Which of `items` items an operation takes: the request distributions of YCSB.
//!
//! Each chooser returns an item in [0, items), is set up in constant time and memory whatever the
//! number of items, and takes its randomness from the caller.

mod exponential;
mod histogram;
mod hotspot;
mod latest;
mod scrambled;
mod uniform;
mod zeta;
pub(crate) mod zipfian;

pub use exponential::Exponential;
pub use histogram::{Histogram, HistogramError};
pub use hotspot::Hotspot;
pub use latest::Latest;
pub use scrambled::{SCRAMBLED_RANKS, ScrambledZipfian};
pub use uniform::{Sequential, Uniform};
pub use zeta::Zeta;
pub use zipfian::Zipfian;
