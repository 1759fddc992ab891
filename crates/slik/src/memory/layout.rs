//! The map of a table: which tablet has a hash, which indexlet has an entry. Replaced as a whole,
//! so that readers take no lock for it; what it says is checked under the latch of the part.

use std::sync::Arc;

use super::parts::Parts;
use super::tablet::{self, Tablet};
use crate::schema::IndexId;

#[derive(Clone)]
pub(crate) struct Layout {
    /// Rises whenever an index is added or deleted.
    pub(super) generation: u64,
    /// The table was dropped.
    pub(super) dropped: bool,
    /// By ascending number.
    pub(super) indexes: Vec<IndexSlot>,
    /// By low bits of the tablet number of a hash; a power of two of them, a tablet several times
    /// where it has not been split as often as others.
    pub(super) tablets: Arc<Vec<Arc<Tablet>>>,
}

#[derive(Clone)]
pub(super) struct IndexSlot {
    pub(super) id: IndexId,
    /// Tells this index from an earlier one of the same number.
    pub(super) incarnation: u64,
    pub(super) readable: bool,
    pub(super) parts: Arc<Parts>,
}

impl Layout {
    /// A table without indexes, of `2^bits` tablets.
    pub(super) fn new(bits: u32) -> Layout {
        let tablets = (0..1 << bits).map(|number| Arc::new(Tablet::new(number, bits))).collect();
        Layout { generation: 1, dropped: false, indexes: Vec::new(), tablets: Arc::new(tablets) }
    }

    #[inline]
    pub(super) fn tablet(&self, hash: u64) -> &Arc<Tablet> {
        &self.tablets[tablet::number(hash) as usize & (self.tablets.len() - 1)]
    }

    #[inline]
    pub(super) fn index(&self, index: IndexId) -> Option<&IndexSlot> {
        self.indexes.iter().find(|slot| slot.id == index)
    }

    /// Each tablet once.
    pub(super) fn distinct_tablets(&self) -> impl Iterator<Item = &Arc<Tablet>> {
        self.tablets
            .iter()
            .enumerate()
            .filter(|(slot, tablet)| {
                // A tablet stands first where its number is.
                let shadowed = (0..usize::BITS).map(|bit| 1 << bit).filter(|bit| slot & bit != 0);
                !shadowed
                    .map(|bit| slot & (bit - 1))
                    .any(|at| Arc::ptr_eq(&self.tablets[at], tablet))
            })
            .map(|(_, tablet)| tablet)
    }
}
