//! The indexlets of one index, and which of them has what.

use std::sync::Arc;

use super::indexlet::Indexlet;
use crate::entry;
use crate::options::Placement;
use crate::tree::Tree;

/// An index's indexlets, under one of two placements.
pub(super) enum Parts {
    /// By ascending range; the ranges follow each other without gap or overlap.
    Ranges(Vec<Range>),
    /// By hash of the primary key; each has the whole range.
    Colocated(Vec<Arc<Indexlet>>),
}

#[derive(Clone)]
pub(super) struct Range {
    /// Where it begins, inclusive.
    pub(super) low: Box<[u8]>,
    pub(super) indexlet: Arc<Indexlet>,
}

impl Parts {
    pub(super) fn new(placement: Placement) -> Parts {
        let whole = || Arc::new(Indexlet::new(Box::default(), None, Tree::new()));
        match placement {
            Placement::Ranges => {
                Parts::Ranges(vec![Range { low: Box::default(), indexlet: whole() }])
            }
            Placement::Colocated { parts } => {
                Parts::Colocated((0..parts.max(1)).map(|_| whole()).collect())
            }
        }
    }

    pub(super) fn indexlets(&self) -> Box<dyn Iterator<Item = &Arc<Indexlet>> + '_> {
        match self {
            Parts::Ranges(ranges) => Box::new(ranges.iter().map(|range| &range.indexlet)),
            Parts::Colocated(parts) => Box::new(parts.iter()),
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.indexlets().map(|indexlet| indexlet.read().memory_bytes()).sum()
    }

    /// The indexlet that an entry belongs to.
    #[inline]
    pub(super) fn of(&self, entry: &[u8]) -> &Arc<Indexlet> {
        match self {
            Parts::Ranges(ranges) => &ranges[position(ranges, entry)].indexlet,
            Parts::Colocated(parts) => &parts[(entry::hash(entry) % parts.len() as u64) as usize],
        }
    }
}

/// Which range an entry is in.
#[inline]
pub(super) fn position(ranges: &[Range], entry: &[u8]) -> usize {
    // The first one begins with the empty string, which nothing is below.
    ranges[1..].partition_point(|range| *range.low <= *entry)
}

/// Which range the entries just before a bound are in.
#[inline]
pub(super) fn position_below(ranges: &[Range], bound: Option<&[u8]>) -> usize {
    match bound {
        Some(bound) => ranges[1..].partition_point(|range| *range.low < *bound),
        None => ranges.len() - 1,
    }
}
