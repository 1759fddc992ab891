//! The bytes a store holds, against the limit it was given.

use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

use crate::substrate::Refused;

/// Counts bytes only where there is a limit, so that without one writers share nothing.
pub(crate) struct Budget {
    used_bytes: CachePadded<AtomicU64>,
    limit_bytes: Option<u64>,
}

impl Budget {
    pub(crate) fn new(limit_bytes: Option<u64>) -> Budget {
        Budget { used_bytes: CachePadded::new(AtomicU64::new(0)), limit_bytes }
    }

    /// Refuses what would go over the limit. Writers that ask at the same moment may exceed it
    /// together, by one object or node each.
    #[inline]
    pub(crate) fn admit(&self, more_bytes: usize) -> Result<(), Refused> {
        let Some(limit_bytes) = self.limit_bytes else { return Ok(()) };
        let used_bytes = self.used_bytes.load(Ordering::Relaxed);
        if used_bytes + more_bytes as u64 > limit_bytes {
            return Err(Refused::Memory { used_bytes, limit_bytes });
        }
        Ok(())
    }

    /// Counts a part's change of size.
    #[inline]
    pub(crate) fn count(&self, before_bytes: usize, after_bytes: usize) {
        if self.limit_bytes.is_some() && before_bytes != after_bytes {
            let change = (after_bytes as u64).wrapping_sub(before_bytes as u64);
            self.used_bytes.fetch_add(change, Ordering::Relaxed);
        }
    }
}
