//! The memory substrate's objects and entries, as the protocol asks for them.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use arc_swap::Guard;

use super::Memory;
use super::heap::{Heap, Place};
use super::indexlet::IndexletState;
use super::layout::Layout;
use super::parts::{self, Parts, Range};
use super::tablet::TabletState;
use crate::error::Error;
use crate::mutant::{Mutant, Switches};
use crate::object::ObjectRef;
use crate::protocol::changes::Changes;
use crate::scan::{Batch, Cursor};
use crate::schema::{IndexId, SchemaView};
use crate::substrate::{
    Commit, Committed, Grown, HashCursor, Hint, Looked, Near, Refused, Substrate,
};
use crate::sync::{self, MutexGuard};
use crate::tree::Direction;

/// Entries whose leaves are asked for ahead of a write: those of more would leave the cache again.
const MOST_FORESEEN: usize = 32;

impl Substrate for Memory {
    type KeyLock<'a> = MutexGuard<'a, ()>;

    type View<'a> = Guard<Arc<Layout>>;

    #[inline]
    fn switches(&self) -> &Switches {
        &self.switches
    }

    fn lock_key(&self, hash: u64) -> MutexGuard<'_, ()> {
        self.stripes[(hash >> 16) as usize & (self.stripes.len() - 1)].lock()
    }

    #[inline]
    fn view(&self) -> Guard<Arc<Layout>> {
        self.layout.load()
    }

    fn schema(&self, layout: &Guard<Arc<Layout>>, schema: &mut SchemaView) -> Result<(), Error> {
        self.check_exists(layout)?;
        schema.generation = layout.generation;
        schema.indexes.clear();
        schema.indexes.extend(layout.indexes.iter().map(|slot| slot.id));
        Ok(())
    }

    #[inline]
    fn read(
        &self,
        view: &mut Guard<Arc<Layout>>,
        hash: u64,
        mut visit: impl FnMut(ObjectRef<'_>) -> ControlFlow<()>,
    ) {
        loop {
            let state = view.tablet(hash).read();
            if state.owns(hash) {
                let heap = self.heaps.read(hash);
                for place in state.places(hash, &heap, &self.switches) {
                    if visit(ObjectRef::new(heap.get(place))).is_break() {
                        return;
                    }
                }
                return;
            }
            drop(state);
            *view = self.layout.load();
        }
    }

    #[inline]
    fn read_hinted(
        &self,
        view: &mut Guard<Arc<Layout>>,
        hash: u64,
        hint: Hint,
        mut visit: impl FnMut(ObjectRef<'_>),
    ) -> Option<Hint> {
        sync::step();
        if let Some(heap) = self.heaps.hinted(hint)
            && !heap.collides
            && let Some(object) = heap.hinted(hint).map(ObjectRef::new)
            && self.switches.hash(object.primary()) == hash
        {
            visit(object);
            return None;
        }
        self.read_and_hint(view, hash, visit)
    }

    fn read_and_commit(
        &self,
        view: &mut Guard<Arc<Layout>>,
        commit: &Commit<'_>,
        mut visit: impl FnMut(ObjectRef<'_>) -> bool,
    ) -> Looked {
        let len = commit.object.map_or(0, <[u8]>::len);
        let commits_here = self.log.is_none() && commit.object.is_some();
        loop {
            if commits_here {
                let mut state = view.tablet(commit.hash).write();
                if state.owns(commit.hash) {
                    let mut heap = self.heaps.write(commit.hash);
                    let (last, is_it) = state.visit(commit.hash, &heap, &self.switches, &mut visit);
                    if is_it {
                        let committed = self.commit_at(&mut state, &mut heap, last, commit);
                        return Looked::Committed(committed);
                    }
                    return Looked::Only(heap.guess(last, len));
                }
            } else {
                let state = view.tablet(commit.hash).read();
                if state.owns(commit.hash) {
                    let heap = self.heaps.read(commit.hash);
                    let (last, _) = state.visit(commit.hash, &heap, &self.switches, &mut visit);
                    return Looked::Only(heap.guess(last, len));
                }
            }
            *view = self.layout.load();
        }
    }

    #[inline]
    fn prefetch_hash(&self, view: &Guard<Arc<Layout>>, hash: u64) {
        view.tablet(hash).read().prefetch(hash);
    }

    /// All leaves come at once, and then all that is reached through them.
    fn foresee(&self, view: &Guard<Arc<Layout>>, changes: &mut Changes) {
        for number in changes.all().take(MOST_FORESEEN) {
            let (index, entry, _) = changes.get(number);
            let Some(indexlet) = view.index(index).map(|slot| slot.parts.of(entry)) else {
                continue;
            };
            let Some(state) = indexlet.try_read() else { continue };
            let near = state.tree.approach(entry);
            changes.locate(number, Near(near));
        }
        for number in changes.all().take(MOST_FORESEEN) {
            let (index, entry, near) = changes.get(number);
            let Some(indexlet) = view.index(index).map(|slot| slot.parts.of(entry)) else {
                continue;
            };
            if let Some(state) = indexlet.try_read() {
                state.tree.prefetch_text(near.0);
            }
        }
    }

    #[inline]
    fn prefetch(&self, hint: Hint) {
        self.heaps.prefetch(hint);
    }

    fn mend(&self, index: IndexId, entry: &[u8], hint: Hint) {
        let layout = self.layout.load();
        let Some(slot) = layout.index(index) else { return };
        // An entry that has moved in between keeps the hint it has.
        let mut state = slot.parts.of(entry).0.write();
        state.tree.set_word(entry, hint.word());
    }

    fn commit(
        &self,
        view: &mut Guard<Arc<Layout>>,
        commit: &Commit<'_>,
    ) -> Result<Committed, Refused> {
        if let Some(log) = &self.log {
            return self.commit_logged(log, commit);
        }
        loop {
            let mut state = view.tablet(commit.hash).write();
            if state.owns(commit.hash) {
                return self.commit_to(&mut state, commit);
            }
            drop(state);
            *view = self.layout.load();
        }
    }

    fn insert_entry(
        &self,
        view: &mut Guard<Arc<Layout>>,
        index: IndexId,
        entry: &[u8],
        near: Near,
        hint: Hint,
    ) -> Result<Grown, Refused> {
        loop {
            let Some(slot) = view.index(index) else { return Err(Refused::Schema) };
            let mut state = slot.parts.of(entry).0.write();
            if state.dropped {
                return Err(Refused::Schema);
            }
            if !state.owns(entry) {
                drop(state);
                *view = self.layout.load();
                continue;
            }
            self.budget.admit(entry.len() + size_of::<Hint>())?;
            let before_bytes = state.memory_bytes();
            state.tree.insert_near(near.0, entry, hint.word());
            self.budget.count(before_bytes, state.memory_bytes());
            let may_split = matches!(*slot.parts, Parts::Ranges(_));
            return Ok(may_split && state.tree.len() > self.options.indexlet_entries);
        }
    }

    fn remove_entry(
        &self,
        view: &mut Guard<Arc<Layout>>,
        index: IndexId,
        entry: &[u8],
        near: Near,
    ) {
        loop {
            let Some(slot) = view.index(index) else { return };
            let mut state = slot.parts.of(entry).0.write();
            // An index that is there again has no such entry: it was filled under the key's lock.
            if state.dropped {
                return;
            }
            if !state.owns(entry) {
                drop(state);
                *view = self.layout.load();
                continue;
            }
            let before_bytes = state.memory_bytes();
            state.tree.remove_near(near.0, entry);
            return self.budget.count(before_bytes, state.memory_bytes());
        }
    }

    #[inline]
    fn scan(
        &self,
        view: &mut Guard<Arc<Layout>>,
        index: IndexId,
        incarnation: Option<u64>,
        cursor: &mut Cursor,
        batch: &mut Batch,
    ) -> Result<u64, Error> {
        loop {
            self.check_exists(view)?;
            let slot =
                view.index(index).filter(|slot| incarnation.is_none_or(|i| i == slot.incarnation));
            let slot = slot.ok_or(match incarnation {
                Some(_) => Error::IndexDropped { index },
                None => Error::NoIndex { index },
            })?;
            if !slot.readable {
                return Err(Error::IndexBuilding { index });
            }
            if cursor.done {
                return Ok(slot.incarnation);
            }
            match &*slot.parts {
                Parts::Ranges(ranges) => self.scan_range(ranges, cursor, batch),
                Parts::Colocated(parts) => super::colocated::scan(parts, cursor, batch),
            }
            if cursor.done || batch.len() > 0 {
                return Ok(slot.incarnation);
            }
            *view = self.layout.load();
        }
    }

    fn add_index(&self, index: IndexId) -> Result<u64, Error> {
        let incarnation = self.add(index)?;
        self.settle();
        Ok(incarnation)
    }

    fn open_index(&self, index: IndexId, incarnation: u64) -> Result<(), Error> {
        self.open(index, incarnation)
    }

    fn delete_index(&self, index: IndexId) -> Result<(), Error> {
        self.delete(index)
    }

    fn hashes(&self, cursor: &mut HashCursor, hashes: &mut Vec<u64>) -> bool {
        let Some((suffix, depth)) = cursor.0.pop() else { return false };
        loop {
            let layout = self.layout.load();
            let hash = u64::from(suffix) << 32;
            let state = layout.tablet(hash).read();
            if !state.owns(hash) {
                continue;
            }
            // The other shares of what was to be visited are with the tablets split off this one.
            for bit in depth..state.depth {
                let other = (state.suffix & ((1 << bit) - 1)) | (!state.suffix & (1 << bit));
                cursor.0.push((other, bit + 1));
            }
            state.hashes(&self.heaps.read(hash), &self.switches, hashes);
            return true;
        }
    }

    fn split_grown(&self, hash: u64, index: Option<(IndexId, &[u8])>) {
        self.split_grown_tablet(hash);
        if let Some((index, entry)) = index {
            self.split_grown_indexlet(index, entry);
        }
    }

    /// Cleans a segment of the heap of the hash. Its objects are moved one by one, so that nobody
    /// waits for more than that.
    fn clean(&self, hash: u64, is_short: bool) -> bool {
        let begun = self.heaps.write(hash).begin_cleaning(is_short);
        let Some(mut sweep) = begun else { return false };
        loop {
            let live = {
                let heap = self.heaps.read(hash);
                let live = heap.next_live(&mut sweep);
                live.map(|(place, object)| {
                    (place, self.switches.hash(ObjectRef::new(object).primary()))
                })
            };
            let Some((place, hash)) = live else { break };
            loop {
                let layout = self.layout.load();
                let mut state = layout.tablet(hash).write();
                if state.owns(hash) {
                    let mut heap = self.heaps.write(hash);
                    let before_bytes = heap.memory_bytes();
                    state.relocate(hash, place, &mut heap);
                    self.budget.count(before_bytes, heap.memory_bytes());
                    break;
                }
            }
        }
        self.heaps.write(hash).end_cleaning();
        true
    }
}

impl Memory {
    /// Commits to the tablet that owns the hash.
    pub(super) fn commit_to(
        &self,
        state: &mut TabletState,
        commit: &Commit<'_>,
    ) -> Result<Committed, Refused> {
        let mut heap = self.heaps.write(commit.hash);
        let place = state.find(commit, &heap);
        self.commit_at(state, &mut heap, place, commit)
    }

    /// Commits where its object is, if there is one.
    fn commit_at(
        &self,
        state: &mut TabletState,
        heap: &mut Heap,
        place: Option<Place>,
        commit: &Commit<'_>,
    ) -> Result<Committed, Refused> {
        let before_bytes = state.memory_bytes() + heap.memory_bytes();
        let version = state.commit(commit, place, heap, &self.switches, &self.budget)?;
        self.budget.count(before_bytes, state.memory_bytes() + heap.memory_bytes());
        let grown = state.len() > self.options.tablet_objects;
        Ok(Committed { version, grown, dirty: heap.is_dirty() })
    }

    /// Reads the objects of a hash, and gives a hint at it if there is only one.
    #[cold]
    fn read_and_hint(
        &self,
        view: &mut Guard<Arc<Layout>>,
        hash: u64,
        mut visit: impl FnMut(ObjectRef<'_>),
    ) -> Option<Hint> {
        loop {
            let state = view.tablet(hash).read();
            if !state.owns(hash) {
                drop(state);
                *view = self.layout.load();
                continue;
            }
            let heap = self.heaps.read(hash);
            let mut hint = None;
            for place in state.places(hash, &heap, &self.switches) {
                hint = Some(heap.hint(place));
                visit(ObjectRef::new(heap.get(place)));
            }
            return hint.filter(|_| !heap.collides);
        }
    }

    #[inline]
    pub(crate) fn check_exists(&self, layout: &Layout) -> Result<(), Error> {
        if layout.dropped {
            return Err(Error::TableDropped { name: self.name.clone() });
        }
        Ok(())
    }

    /// Scans the indexlet in which the cursor is, as far as that one owns.
    #[inline]
    fn scan_range(&self, ranges: &[Range], cursor: &mut Cursor, batch: &mut Batch) {
        let position = match cursor.direction {
            Direction::Forward => parts::position(ranges, &cursor.from),
            Direction::Backward => parts::position_below(ranges, cursor.upper()),
        };
        let state = ranges[position].indexlet.read();
        let unbounded = self.switches.on(Mutant::ScanNotBoundedByOwnership);
        let owned = match cursor.direction {
            Direction::Forward => state.owns(&cursor.from),
            Direction::Backward => state.owns_below(cursor.upper()),
        };
        if state.dropped || !(owned || unbounded) {
            // An old map: the caller looks at the new one.
            return;
        }
        // While the first entry is compared, its object comes.
        fill(&state, cursor, batch, |hint| self.heaps.prefetch(hint));
        if batch.is_full() {
            cursor.pass(batch.get(batch.len() - 1));
        } else if unbounded {
            let high = ranges.get(position + 1).map(|next| &*next.low);
            cursor.pass_part(&ranges[position].low, high);
        } else {
            cursor.pass_part(&state.low, state.high.as_deref());
        }
    }
}

/// Appends the entries of an indexlet that are in the cursor's range, up to the batch's limit.
/// Calls `soon` with a hint that is likely to be the first.
pub(super) fn fill(
    state: &IndexletState,
    cursor: &Cursor,
    batch: &mut Batch,
    soon: impl FnOnce(Hint),
) {
    let from = match (cursor.from_seen, cursor.from.is_empty()) {
        (true, _) => Bound::Excluded(&cursor.from[..]),
        (false, false) => Bound::Included(&cursor.from[..]),
        (false, true) => Bound::Unbounded,
    };
    let to = cursor.upper().map_or(Bound::Unbounded, Bound::Excluded);
    let soon = |word| soon(Hint::from_word(word));
    state.tree.scan(from, to, cursor.direction, soon, |entry, word| {
        batch.push(entry, Hint::from_word(word));
        if batch.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
}
