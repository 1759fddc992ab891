//! An indexlet: the entries of one range, behind a latch of its own.

use std::ops::Deref;

use crate::sync::{RwLock, RwLockReadGuard};
use crossbeam_utils::CachePadded;

use crate::tree::Tree;

pub(super) struct Indexlet(pub(super) CachePadded<RwLock<IndexletState>>);

/// What an indexlet owns and holds. Whoever finds, under the latch, that it does not own what was
/// looked for has an old map, and looks at the map again.
pub(super) struct IndexletState {
    /// Inclusive.
    pub(super) low: Box<[u8]>,
    /// Exclusive; `None` for no bound.
    pub(super) high: Option<Box<[u8]>>,
    pub(super) tree: Tree,
    /// The index was dropped.
    pub(super) dropped: bool,
}

impl Indexlet {
    pub(super) fn new(low: Box<[u8]>, high: Option<Box<[u8]>>, tree: Tree) -> Indexlet {
        let state = IndexletState { low, high, tree, dropped: false };
        Indexlet(CachePadded::new(RwLock::new(state)))
    }

    #[inline]
    pub(super) fn read(&self) -> RwLockReadGuard<'_, IndexletState> {
        self.0.read()
    }

    /// `None` rather than wait for a writer.
    #[inline]
    pub(super) fn try_read(&self) -> Option<impl Deref<Target = IndexletState>> {
        self.0.try_read()
    }
}

impl IndexletState {
    /// Whether the entry, or the position just before it, is in the owned range.
    #[inline]
    pub(super) fn owns(&self, entry: &[u8]) -> bool {
        (self.low.is_empty() || *self.low <= *entry)
            && self.high.as_deref().is_none_or(|high| entry < high)
    }

    /// Whether the entries just before `bound` (`None`: the last ones) are in the owned range.
    #[inline]
    pub(super) fn owns_below(&self, bound: Option<&[u8]>) -> bool {
        match (bound, self.high.as_deref()) {
            (Some(bound), high) => {
                // The bound is never empty, because no entry is.
                (self.low.is_empty() || *self.low < *bound) && high.is_none_or(|high| bound <= high)
            }
            (None, high) => high.is_none(),
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.tree.memory_bytes()
    }
}
