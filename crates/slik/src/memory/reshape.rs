//! Changes of the map: indexes added and deleted, indexlets and tablets split, the table closed.
//!
//! One change at a time, under the lock on changes. A split holds the latch of the part it splits
//! from the moment it gives up the upper half until the new map is out: whoever waited for the
//! latch with the old map finds the range gone, and the new map there. Inserts, removals and scans
//! cannot come between, so nothing is copied that could still change.

use std::sync::Arc;

use super::Memory;
use super::indexlet::{Indexlet, IndexletState};
use super::layout::{IndexSlot, Layout};
use super::parts::{self, Parts, Range};
use super::tablet::{self, LAST_DEPTH};
use crate::entry;
use crate::error::Error;
use crate::mutant::Mutant;
use crate::schema::IndexId;
use crate::sync;
use crate::tree::{Direction, Tree};

impl Memory {
    /// Puts a changed layout in place. Only under the lock on changes.
    pub(super) fn publish(&self, change: impl FnOnce(&mut Layout)) {
        let mut layout = Layout::clone(&self.layout.load());
        change(&mut layout);
        sync::step();
        self.layout.store(Arc::new(layout));
    }

    /// Refuses the commits of writers that know only an earlier schema.
    fn raise_generation(&self, generation: u64) {
        for tablet in self.layout.load().distinct_tablets() {
            tablet.write().generation = generation;
        }
    }

    pub(super) fn add(&self, index: IndexId) -> Result<u64, Error> {
        let _changes = self.reshape.lock();
        let layout = self.layout.load();
        self.check_exists(&layout)?;
        if layout.index(index).is_some() {
            return Err(Error::IndexExists { index });
        }
        let generation = layout.generation + 1;
        let parts = Arc::new(Parts::new(self.options.placement));
        self.budget.count(0, parts.memory_bytes());
        self.publish(|layout| {
            let slot = IndexSlot { id: index, incarnation: generation, readable: false, parts };
            let at = layout.indexes.partition_point(|slot| slot.id < index);
            layout.indexes.insert(at, slot);
            layout.generation = generation;
        });
        self.raise_generation(generation);
        Ok(generation)
    }

    pub(super) fn open(&self, index: IndexId, incarnation: u64) -> Result<(), Error> {
        let _changes = self.reshape.lock();
        let layout = self.layout.load();
        self.check_exists(&layout)?;
        let slot = layout.index(index).filter(|slot| slot.incarnation == incarnation);
        slot.ok_or(Error::IndexDropped { index })?;
        if let Some(log) = &self.log {
            log.add_index(index)?;
        }
        self.publish(|layout| {
            for slot in layout.indexes.iter_mut().filter(|slot| slot.id == index) {
                slot.readable = true;
            }
        });
        Ok(())
    }

    pub(super) fn delete(&self, index: IndexId) -> Result<(), Error> {
        let _changes = self.reshape.lock();
        let layout = self.layout.load_full();
        self.check_exists(&layout)?;
        let slot = layout.index(index).ok_or(Error::NoIndex { index })?;
        if let Some(log) = self.log.as_ref().filter(|_| slot.readable) {
            log.delete_index(index)?;
        }
        let generation = layout.generation + 1;
        self.publish(|layout| {
            layout.indexes.retain(|slot| slot.id != index);
            layout.generation = generation;
        });
        self.raise_generation(generation);
        for indexlet in slot.parts.indexlets() {
            self.close_indexlet(indexlet);
        }
        Ok(())
    }

    fn close_indexlet(&self, indexlet: &Indexlet) {
        let mut state = indexlet.0.write();
        let before_bytes = state.memory_bytes();
        state.dropped = true;
        state.tree = Tree::new();
        // What is left goes with the last that knows of it.
        self.budget.count(before_bytes, 0);
    }

    /// Ends the table: calls under way and later ones are refused, its memory is free.
    pub(crate) fn close(&self) {
        let _changes = self.reshape.lock();
        let layout = self.layout.load_full();
        self.publish(|layout| layout.dropped = true);
        for tablet in layout.distinct_tablets() {
            let mut state = tablet.write();
            let before_bytes = state.memory_bytes();
            state.close();
            self.budget.count(before_bytes, state.memory_bytes());
        }
        for slot in &layout.indexes {
            slot.parts.indexlets().for_each(|indexlet| self.close_indexlet(indexlet));
        }
        let before_bytes = self.heaps.memory_bytes();
        self.heaps.clear();
        self.budget.count(before_bytes, self.heaps.memory_bytes());
    }

    /// Splits the indexlet of an entry in its middle if it is still too large. If another change
    /// is under way, leaves it to a later write.
    pub(super) fn split_grown_indexlet(&self, index: IndexId, entry: &[u8]) {
        let Some(_changes) = self.reshape.try_lock() else { return };
        let layout = self.layout.load_full();
        let Some(slot) = layout.index(index) else { return };
        let Parts::Ranges(ranges) = &*slot.parts else { return };
        let position = parts::position(ranges, entry);
        let state = ranges[position].indexlet.read();
        let middle =
            (state.tree.len() > self.options.indexlet_entries).then(|| state.tree.middle());
        drop(state);
        if let Some(Some(middle)) = middle {
            self.split_at(index, ranges, position, &middle);
        }
    }

    /// Splits an index at a secondary key, or the largest indexlet in its middle.
    pub(crate) fn split_indexlet(&self, index: IndexId, at: Option<&[u8]>) -> Result<(), Error> {
        let _changes = self.reshape.lock();
        let layout = self.layout.load_full();
        self.check_exists(&layout)?;
        let slot = layout.index(index).ok_or(Error::NoIndex { index })?;
        let nothing = Error::NothingToSplit { index };
        let Parts::Ranges(ranges) = &*slot.parts else { return Err(nothing) };
        let (position, middle) = match at {
            Some(key) => {
                let mut bound = Vec::new();
                entry::before(key, &mut bound);
                (parts::position(ranges, &bound), bound)
            }
            None => {
                let lengths = ranges.iter().map(|range| range.indexlet.read().tree.len());
                let largest = lengths.enumerate().max_by_key(|&(_, entries)| entries);
                let position = largest.map_or(0, |(position, _)| position);
                let middle = ranges[position].indexlet.read().tree.middle();
                (position, middle.ok_or(nothing.clone())?)
            }
        };
        if *ranges[position].low == *middle {
            return Err(nothing);
        }
        self.split_at(index, ranges, position, &middle);
        Ok(())
    }

    /// Splits one indexlet at an entry inside its range. Only under the lock on changes.
    fn split_at(&self, index: IndexId, ranges: &[Range], position: usize, middle: &[u8]) {
        let source = &ranges[position].indexlet;
        let copied_early =
            self.switches.on(Mutant::CopyBeforeFreeze).then(|| copy_from(&source.read(), middle));
        if copied_early.is_some() {
            sync::step();
        }
        let mut state = source.0.write();
        let before_bytes = state.memory_bytes();
        let mut upper = if self.switches.on(Mutant::GreaterForGreaterOrEqual) {
            state.tree.split_off(&[middle, &[0]].concat())
        } else {
            state.tree.split_off(middle)
        };
        if let Some(copy) = copied_early {
            upper = copy;
        }
        self.budget.count(before_bytes, state.memory_bytes() + upper.memory_bytes());
        let high = state.high.replace(middle.into());
        let target = Arc::new(Indexlet::new(middle.into(), high, upper));
        let mut ranges = ranges.to_vec();
        ranges.insert(position + 1, Range { low: middle.into(), indexlet: target });
        self.publish(|layout| {
            for slot in layout.indexes.iter_mut().filter(|slot| slot.id == index) {
                slot.parts = Arc::new(Parts::Ranges(std::mem::take(&mut ranges)));
            }
        });
    }

    /// Splits the tablet of a hash and those split off it while they are too large, by no more
    /// than the given number of bits.
    pub(super) fn split_until_small(&self, hash: u64, depth: u32) {
        let _changes = self.reshape.lock();
        let mut shares = vec![(hash, depth)];
        while let Some((hash, depth)) = shares.pop() {
            let large = self.layout.load().tablet(hash).read().len() > self.options.tablet_objects;
            if large && self.split_tablet_of(hash) {
                shares.extend([(hash, depth + 1), (hash | 1 << (32 + depth), depth + 1)]);
            }
        }
    }

    pub(super) fn split_grown_tablet(&self, hash: u64) {
        let Some(_changes) = self.reshape.try_lock() else { return };
        if self.layout.load().tablet(hash).read().len() > self.options.tablet_objects {
            self.split_tablet_of(hash);
        }
    }

    /// Splits the tablet of a primary key by one more bit of hash, whatever its size; false if it
    /// was split as often as is allowed.
    pub(crate) fn split_tablet(&self, primary: &[u8]) -> Result<bool, Error> {
        let _changes = self.reshape.lock();
        self.check_exists(&self.layout.load())?;
        Ok(self.split_tablet_of(self.switches.hash(primary)))
    }

    /// Only under the lock on changes.
    fn split_tablet_of(&self, hash: u64) -> bool {
        let layout = self.layout.load_full();
        let source = layout.tablet(hash);
        let mut state = source.write();
        if state.depth == LAST_DEPTH {
            return false;
        }
        let before_bytes = state.memory_bytes();
        let target = state.split(&self.heaps.read(hash), &self.switches);
        let (suffix, depth) = (state.suffix | 1 << (state.depth - 1), state.depth);
        let after_bytes = state.memory_bytes() + target.read().memory_bytes();
        self.budget.count(before_bytes, after_bytes);
        let target = Arc::new(target);
        let mut tablets = layout.tablets.to_vec();
        if tablets.len() < 1 << depth {
            tablets.extend_from_within(..);
        }
        for (slot, tablet) in tablets.iter_mut().enumerate() {
            if tablet::number((slot as u64) << 32) & ((1 << depth) - 1) == suffix {
                *tablet = Arc::clone(&target);
            }
        }
        self.publish(|layout| layout.tablets = Arc::new(tablets));
        true
    }
}

/// The entries at or above a bound, copied.
fn copy_from(state: &IndexletState, bound: &[u8]) -> Tree {
    let mut copy = Tree::new();
    let from = std::ops::Bound::Included(bound);
    state.tree.scan(
        from,
        std::ops::Bound::Unbounded,
        Direction::Forward,
        |_| (),
        |entry, word| {
            copy.insert(entry, word);
            std::ops::ControlFlow::Continue(())
        },
    );
    copy
}
