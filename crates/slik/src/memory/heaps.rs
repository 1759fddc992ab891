//! The heaps of a table: each has the objects of a share of the hash space, behind a latch of its
//! own. The shares are those of a new table's tablets and stay as they are: a tablet that is split
//! leaves its objects where they are.

use crossbeam_utils::CachePadded;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::heap::{Heap, MOST_HEAPS};
use super::tablet;
use crate::substrate::Hint;

/// The latches are held for a moment, under that of a tablet or alone, and nothing is waited for
/// under them.
pub(super) struct Heaps(Box<[CachePadded<RwLock<Heap>>]>);

impl Heaps {
    /// `2^bits` heaps, one for each tablet of a new table.
    pub(super) fn new(bits: u32) -> Heaps {
        let heaps = (0..MOST_HEAPS.min(1 << bits)).map(Heap::new);
        Heaps(heaps.map(|heap| CachePadded::new(RwLock::new(heap))).collect())
    }

    #[inline]
    fn of(&self, hash: u64) -> &RwLock<Heap> {
        &self.0[tablet::number(hash) as usize & (self.0.len() - 1)]
    }

    /// The heap of a hash.
    #[inline]
    pub(super) fn read(&self, hash: u64) -> RwLockReadGuard<'_, Heap> {
        self.of(hash).read()
    }

    /// The heap of a hash, to be changed.
    #[inline]
    pub(super) fn write(&self, hash: u64) -> RwLockWriteGuard<'_, Heap> {
        self.of(hash).write()
    }

    /// The heap of a hint; `None` for a hint that leads nowhere.
    #[inline]
    pub(super) fn hinted(&self, hint: Hint) -> Option<RwLockReadGuard<'_, Heap>> {
        (hint != Hint::NONE).then(|| self.0.get(hint.heap()).map(|heap| heap.read()))?
    }

    /// See [`Heap::prefetch`]. Does nothing rather than wait.
    #[inline]
    pub(super) fn prefetch(&self, hint: Hint) {
        if let Some(heap) = self.0.get(hint.heap()).and_then(|heap| heap.try_read()) {
            heap.prefetch(hint);
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.0.iter().map(|heap| heap.read().memory_bytes()).sum()
    }

    /// Frees everything.
    pub(super) fn clear(&self) {
        for (number, heap) in self.0.iter().enumerate() {
            *heap.write() = Heap::new(number);
        }
    }
}
