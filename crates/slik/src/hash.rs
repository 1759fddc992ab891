//! The hash of a primary key: it chooses the tablet, and stands for the key in index entries.

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::FixedState;

/// Index entries hold hashes, so every run must compute the same.
const SEED: u64 = 0x736c_696b_0000_0001;

#[inline]
pub(crate) fn of(primary: &[u8]) -> u64 {
    let mut hasher = FixedState::with_seed(SEED).build_hasher();
    hasher.write(primary);
    hasher.finish()
}
