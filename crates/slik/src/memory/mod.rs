//! The substrate in the memory of one process: tablets of objects by hash of the primary key,
//! indexlets of entries by key range, both reached through a map that is replaced as a whole.
//!
//! Locks, in the order they may be taken: the stripe of a primary key; the lock on changes of the
//! map; the latch of one tablet or indexlet; that of one heap. No call waits for anything else under
//! a latch.
//!
//! The tablets know where in the heaps the objects are, and so do the entries, by hints that may be
//! wrong (Lampson, "Hints for Computer System Design", 1983, section 3.5): a lookup looks where the
//! hint says and, if the object of that hash is not there, asks the tablet and mends the hint.

#[cfg(test)]
mod audit;
mod budget;
mod colocated;
mod heap;
mod heaps;
#[cfg(test)]
mod hint_tests;
mod indexlet;
mod layout;
mod load;
mod logged;
mod objects;
mod parts;
mod places;
mod reshape;
mod tablet;

use std::sync::Arc;

use arc_swap::ArcSwap;

pub(crate) use budget::Budget;
use heaps::Heaps;
use layout::Layout;
pub(crate) use load::Contents;

use crate::durable::TableLog;
use crate::mutant::Switches;
use crate::options::Options;
use crate::stats::{IndexStats, TableStats};
use crate::sync::Mutex;

/// One table in memory.
pub(crate) struct Memory {
    name: String,
    options: Options,
    switches: Switches,
    layout: ArcSwap<Layout>,
    heaps: Heaps,
    /// Held while the layout is replaced.
    reshape: Mutex<()>,
    /// So many, a byte each, that two writers rarely want the same: one that does waits for the other's
    /// sync, and is missed in the batch that it would have shared.
    stripes: Box<[Mutex<()>]>,
    budget: Arc<Budget>,
    /// Where writes are logged, if the table is durable.
    log: Option<TableLog>,
}

impl Memory {
    pub(crate) fn new(
        name: &str,
        options: &Options,
        budget: Arc<Budget>,
        log: Option<TableLog>,
    ) -> Memory {
        let stripes = options.stripes.clamp(1, 1 << 16).next_power_of_two();
        let bits = options.switches().tablet_bits(tablet::FIRST_DEPTH);
        Memory {
            name: name.to_owned(),
            options: *options,
            switches: options.switches(),
            layout: ArcSwap::from_pointee(Layout::new(bits)),
            heaps: Heaps::new(bits),
            reshape: Mutex::new(()),
            stripes: (0..stripes).map(|_| Mutex::new(())).collect(),
            budget,
            log,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn log(&self) -> Option<&TableLog> {
        self.log.as_ref()
    }

    pub(crate) fn stats(&self) -> TableStats {
        let layout = self.layout.load();
        let mut stats =
            TableStats { memory_bytes: self.heaps.memory_bytes(), ..TableStats::default() };
        for tablet in layout.distinct_tablets() {
            let state = tablet.read();
            stats.tablets += 1;
            stats.objects += state.len();
            stats.memory_bytes += state.memory_bytes();
        }
        for slot in &layout.indexes {
            let mut index =
                IndexStats { index: slot.id, readable: slot.readable, ..IndexStats::default() };
            for indexlet in slot.parts.indexlets() {
                let state = indexlet.read();
                index.indexlets += 1;
                index.entries += state.tree.len();
                index.memory_bytes += state.memory_bytes();
            }
            stats.memory_bytes += index.memory_bytes;
            stats.indexes.push(index);
        }
        stats
    }
}
