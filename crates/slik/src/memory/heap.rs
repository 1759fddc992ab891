//! The bytes of objects: log-structured memory (Rumble, Kejriwal and Ousterhout, "Log-structured
//! Memory for DRAM-based Storage", FAST 2014).
//!
//! Records are appended to an open segment; when it is full the next one is opened. What is freed
//! is dead until its segment is cleaned: the live records move to the open segment, and the memory
//! goes back as a whole. A record is found by its [`Place`], a number of 4 bytes.
//!
//! A [`Hint`] is a place with the generation of its segment. Where a record begins in a segment, no
//! record ever goes over that place until the segment is given back, and then the generation
//! changes. So whoever holds an old hint finds that very record, or another whole one, or a dead
//! one, or nothing, but never the middle of one.
//!
//! A record is its length (4 bytes, the top bit telling that it is dead) and its bytes, filled up
//! to a multiple of [`UNIT`]. Records of more than [`LARGEST_SHARING`] bytes have a segment of
//! their own.

use crate::prefetch::{self, LINE};
use crate::substrate::Hint;

/// Records begin at multiples of so many bytes.
const UNIT: usize = 16;
const HEADER: usize = 4;
const DEAD: u32 = 1 << 31;
/// Bits of a place that number the units of a segment.
const UNIT_BITS: u32 = 12;
/// Bytes of a segment that is shared: at least, and at most.
const SEGMENT: (usize, usize) = (1 << 10, UNIT << UNIT_BITS);
/// At most an eighth of a segment is left over at its end.
const LARGEST_SHARING: usize = SEGMENT.1 / 8;
/// A segment is cleaned as soon as one part in this many of all bytes is dead.
const DEAD_SHARE: usize = 4;
/// Where memory is short, a segment is cleaned as soon as one part in this many of it is dead.
const SHORT_SHARE: usize = 16;
/// How much of a record is asked for early.
const BEGINNING: usize = 4 * LINE;

const MOST_SEGMENTS: usize = 1 << (32 - UNIT_BITS);
const SPARE_SEGMENTS: usize = MOST_SEGMENTS / 64;
const HEAP_BITS: u32 = 6;
/// Heaps that hints can tell apart.
pub(super) const MOST_HEAPS: usize = 1 << HEAP_BITS;
/// A segment's number is not used again after so many generations, far more than can be.
const LAST_GENERATION: u32 = u32::MAX >> HEAP_BITS;

/// Where a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(pub(super) u32);

impl Place {
    pub(super) const FIRST: Place = Place(0);

    #[inline]
    fn segment(self) -> usize {
        (self.0 >> UNIT_BITS) as usize
    }

    #[inline]
    fn offset(self) -> usize {
        (self.0 as usize & ((1 << UNIT_BITS) - 1)) * UNIT
    }
}

impl Hint {
    fn new(generation: u32, heap: usize, place: Place) -> Hint {
        Hint(u64::from(generation << HEAP_BITS | heap as u32) << 32 | u64::from(place.0))
    }

    #[inline]
    fn place(self) -> Place {
        Place(self.0 as u32)
    }

    /// The number of the heap.
    #[inline]
    pub(super) fn heap(self) -> usize {
        (self.0 >> 32) as usize & (MOST_HEAPS - 1)
    }

    #[inline]
    fn generation(self) -> u32 {
        (self.0 >> (32 + HEAP_BITS)) as u32
    }
}

pub(super) struct Heap {
    number: usize,
    segments: Vec<Segment>,
    /// Numbers of segments that were given back.
    free: Vec<u32>,
    /// The segment that is being filled.
    open: Option<u32>,
    /// Bytes of all records, and of the dead ones among them.
    filled_bytes: usize,
    dead_bytes: usize,
    segment_bytes: usize,
    /// A segment is being cleaned.
    is_cleaned: bool,
    /// Two objects of one hash have met here: hints, which know one of them, are no use.
    pub(super) collides: bool,
}

/// A walk through a segment that is being cleaned.
pub(super) struct Sweep {
    number: u32,
    generation: u32,
    offset: usize,
}

struct Segment {
    /// From `start` on; one line longer than what can be filled.
    data: Box<[u8]>,
    start: u32,
    filled: u32,
    dead: u32,
    generation: u32,
}

impl Segment {
    fn new(bytes: usize, generation: u32) -> Segment {
        let data = vec![0; bytes + LINE].into_boxed_slice();
        let start = data.as_ptr().align_offset(LINE).min(LINE) as u32;
        Segment { data, start, filled: 0, dead: 0, generation }
    }

    fn gone(generation: u32) -> Segment {
        Segment { data: Box::default(), start: 0, filled: 0, dead: 0, generation }
    }

    #[inline]
    fn header(&self, offset: usize) -> u32 {
        let at = self.start as usize + offset;
        u32::from_ne_bytes([self.data[at], self.data[at + 1], self.data[at + 2], self.data[at + 3]])
    }

    fn set_header(&mut self, offset: usize, header: u32) {
        let at = self.start as usize + offset;
        self.data[at..at + HEADER].copy_from_slice(&header.to_ne_bytes());
    }

    #[inline]
    fn record(&self, offset: usize) -> &[u8] {
        let at = self.start as usize + offset + HEADER;
        &self.data[at..at + self.header(offset) as usize]
    }

    #[inline]
    fn prefetch(&self, offset: usize) {
        let start = self.start as usize + offset;
        let end = (start + BEGINNING).min(self.data.len());
        prefetch::elements(self.data.get(start..end).unwrap_or_default());
    }

    fn write(&mut self, offset: usize, bytes: &[u8]) {
        self.set_header(offset, bytes.len() as u32);
        let at = self.start as usize + offset + HEADER;
        self.data[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn room(&self) -> usize {
        self.data.len() - LINE - self.filled as usize
    }

    fn is_dead(&self) -> bool {
        self.dead == self.filled
    }

    /// Dead bytes in 4096 bytes.
    fn dead_share(&self) -> u64 {
        (u64::from(self.dead) << 12) / u64::from(self.filled.max(1))
    }
}

/// Bytes that a record takes.
fn footprint(len: usize) -> usize {
    (HEADER + len).next_multiple_of(UNIT)
}

impl Heap {
    pub(super) fn new(number: usize) -> Heap {
        Heap {
            number,
            segments: Vec::new(),
            free: Vec::new(),
            open: None,
            filled_bytes: 0,
            dead_bytes: 0,
            segment_bytes: 0,
            is_cleaned: false,
            collides: false,
        }
    }

    /// The bytes of a record.
    #[inline]
    pub(super) fn get(&self, place: Place) -> &[u8] {
        self.segments[place.segment()].record(place.offset())
    }

    #[inline]
    pub(super) fn get_mut(&mut self, place: Place) -> &mut [u8] {
        let segment = &mut self.segments[place.segment()];
        let at = segment.start as usize + place.offset() + HEADER;
        let len = segment.header(place.offset()) as usize;
        &mut segment.data[at..at + len]
    }

    /// Appends a record. The owner looks at [`Heap::is_full`] before.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Place {
        let size = footprint(bytes.len());
        let number = match self.open_for(size) {
            Some(open) => open,
            None if size > LARGEST_SHARING => self.add_segment(size),
            None => self.open_segment(size),
        };
        let segment = &mut self.segments[number as usize];
        let offset = segment.filled as usize;
        segment.filled += size as u32;
        self.filled_bytes += size;
        segment.write(offset, bytes);
        Place(number << UNIT_BITS | (offset / UNIT) as u32)
    }

    /// Whether there are hardly any places left. Those few are for cleaning, and for what has been
    /// promised room.
    pub(super) fn is_full(&self) -> bool {
        self.segments.len() - self.free.len() > MOST_SEGMENTS - SPARE_SEGMENTS
    }

    /// What leads to a record from outside.
    pub(super) fn hint(&self, place: Place) -> Hint {
        Hint::new(self.segments[place.segment()].generation, self.number, place)
    }

    /// The record that a hint leads to, if one is there.
    #[inline]
    pub(super) fn hinted(&self, hint: Hint) -> Option<&[u8]> {
        let (segment, offset) = (self.segment_of(hint)?, hint.place().offset());
        let begins = offset < segment.filled as usize && segment.header(offset) & DEAD == 0;
        begins.then(|| segment.record(offset))
    }

    #[inline]
    fn segment_of(&self, hint: Hint) -> Option<&Segment> {
        let segment = self.segments.get(hint.place().segment())?;
        (segment.generation == hint.generation()).then_some(segment)
    }

    /// Asks for the beginning of what a hint leads to.
    #[inline]
    pub(super) fn prefetch(&self, hint: Hint) {
        if let Some(segment) = self.segment_of(hint) {
            segment.prefetch(hint.place().offset());
        }
    }

    /// Asks for the beginning of a record.
    #[inline]
    pub(super) fn prefetch_at(&self, place: Place) {
        self.segments[place.segment()].prefetch(place.offset());
    }

    /// A hint at where a record will be that now is at `place`, if it is there, when it has so many
    /// bytes.
    pub(super) fn guess(&self, place: Option<Place>, len: usize) -> Hint {
        match place.filter(|place| self.has_room(*place, len)) {
            Some(place) => self.hint(place),
            None => self.next_hint(len),
        }
    }

    /// Where [`Heap::put`] would put a record next: a hint at what is not there yet, wrong if
    /// another record comes first.
    fn next_hint(&self, len: usize) -> Hint {
        let (number, offset) = match self.open_for(footprint(len)) {
            Some(open) => (open, self.segments[open as usize].filled as usize),
            None => (self.free.last().copied().unwrap_or(self.segments.len() as u32), 0),
        };
        let generation = self.segments.get(number as usize).map_or(1, |segment| segment.generation);
        let place = Place(number << UNIT_BITS | (offset / UNIT) as u32);
        Hint::new(generation, self.number, place)
    }

    /// Whether [`Heap::replace`] can give the record so many bytes.
    #[inline]
    pub(super) fn has_room(&self, place: Place, len: usize) -> bool {
        footprint(len) <= footprint(self.get(place).len())
    }

    /// Puts other bytes in the place of a record, which has room for them.
    pub(super) fn replace(&mut self, place: Place, bytes: &[u8]) {
        let segment = &mut self.segments[place.segment()];
        let offset = place.offset();
        let new = footprint(bytes.len());
        let left = footprint(segment.header(offset) as usize) - new;
        segment.write(offset, bytes);
        if left > 0 {
            // A dead record of its own, so that one still leads to the next.
            segment.set_header(offset + new, (left - HEADER) as u32 | DEAD);
            segment.dead += left as u32;
            self.dead_bytes += left;
        }
    }

    /// Forgets a record.
    pub(super) fn free(&mut self, place: Place) {
        let number = place.segment();
        let segment = &mut self.segments[number];
        let header = segment.header(place.offset());
        let size = footprint(header as usize);
        segment.set_header(place.offset(), header | DEAD);
        segment.dead += size as u32;
        self.dead_bytes += size;
        if segment.is_dead() && self.open != Some(number as u32) {
            self.give_back(number);
        }
    }

    /// The bytes that [`Heap::put`] would take from the allocator for a record.
    pub(super) fn growth(&self, len: usize) -> usize {
        let size = footprint(len);
        match self.open_for(size) {
            Some(_) => 0,
            None if size > LARGEST_SHARING => size + LINE,
            None => self.next_bytes().max(size) + LINE,
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.segment_bytes
            + self.segments.capacity() * size_of::<Segment>()
            + self.free.capacity() * size_of::<u32>()
    }

    /// Whether so much is dead that a segment should be cleaned.
    #[inline]
    pub(super) fn is_dirty(&self) -> bool {
        self.dead_bytes * DEAD_SHARE > self.filled_bytes
    }

    /// Begins the cleaning of the dirtiest segment, where memory is short even if little is dead.
    /// `None` if there is nothing to do, or it is being done: the owner moves each live record
    /// ([`Heap::next_live`], [`Heap::relocate`]), and says when it is done.
    pub(super) fn begin_cleaning(&mut self, is_short: bool) -> Option<Sweep> {
        if self.is_cleaned || !(is_short || self.is_dirty()) {
            return None;
        }
        let closed = (0..self.segments.len()).filter(|number| self.open != Some(*number as u32));
        let worth = closed.filter(|number| !is_short || self.frees_enough(&self.segments[*number]));
        let number = worth.max_by_key(|number| self.segments[*number].dead_share())?;
        let segment = &self.segments[number];
        if segment.dead == 0 {
            return None;
        }
        let generation = segment.generation;
        self.is_cleaned = true;
        Some(Sweep { number: number as u32, generation, offset: 0 })
    }

    /// Whether cleaning a segment frees enough, also where another one has to be opened for it.
    fn frees_enough(&self, segment: &Segment) -> bool {
        let room = self.open.map_or(0, |open| self.segments[open as usize].room());
        let (dead, filled) = (segment.dead as usize, segment.filled as usize);
        let opened = if filled - dead <= room { 0 } else { self.next_bytes() };
        dead * SHORT_SHARE >= filled.max(opened)
    }

    pub(super) fn end_cleaning(&mut self) {
        self.is_cleaned = false;
    }

    /// The next live record of a sweep, and its place.
    pub(super) fn next_live(&self, sweep: &mut Sweep) -> Option<(Place, &[u8])> {
        let segment = self.segments.get(sweep.number as usize)?;
        // It is given back as soon as all of it is dead.
        while segment.generation == sweep.generation && sweep.offset < segment.filled as usize {
            let offset = sweep.offset;
            let header = segment.header(offset);
            sweep.offset += footprint((header & !DEAD) as usize);
            if header & DEAD == 0 {
                let place = Place(sweep.number << UNIT_BITS | (offset / UNIT) as u32);
                return Some((place, segment.record(offset)));
            }
        }
        None
    }

    /// Moves a record to the open segment.
    pub(super) fn relocate(&mut self, place: Place) -> Place {
        let record = self.get(place).to_vec();
        let new = self.put(&record);
        self.free(place);
        new
    }

    /// Bytes of the next segment to be shared: small in a small heap, because its rest is unused.
    fn next_bytes(&self) -> usize {
        (self.filled_bytes / 8).next_multiple_of(LINE).clamp(SEGMENT.0, SEGMENT.1)
    }

    /// The open segment, if a record of this size fits.
    #[inline]
    fn open_for(&self, size: usize) -> Option<u32> {
        self.open.filter(|open| self.segments[*open as usize].room() >= size)
    }

    fn open_segment(&mut self, least: usize) -> u32 {
        let number = self.add_segment(self.next_bytes().max(least));
        let closed = self.open.replace(number).map(|closed| closed as usize);
        if let Some(closed) = closed.filter(|closed| self.segments[*closed].is_dead()) {
            self.give_back(closed);
        }
        number
    }

    fn add_segment(&mut self, bytes: usize) -> u32 {
        let reused = self.free.pop();
        let generation = reused.map_or(1, |number| self.segments[number as usize].generation);
        let segment = Segment::new(bytes, generation);
        self.segment_bytes += segment.data.len();
        if let Some(number) = reused {
            self.segments[number as usize] = segment;
            return number;
        }
        assert!(self.segments.len() < MOST_SEGMENTS, "the owner stops at a full heap");
        self.segments.push(segment);
        self.segments.len() as u32 - 1
    }

    /// Frees a segment that is all dead.
    fn give_back(&mut self, number: usize) {
        let generation = self.segments[number].generation + 1;
        let segment = std::mem::replace(&mut self.segments[number], Segment::gone(generation));
        self.segment_bytes -= segment.data.len();
        self.filled_bytes -= segment.filled as usize;
        self.dead_bytes -= segment.dead as usize;
        if generation < LAST_GENERATION {
            self.free.push(number as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// What a heap must hold: each record by a name, with its place.
    struct Model {
        heap: Heap,
        records: HashMap<u32, (Place, Vec<u8>)>,
        /// Every hint that was ever right.
        hints: Vec<Hint>,
    }

    impl Default for Model {
        fn default() -> Model {
            Model { heap: Heap::new(5), records: HashMap::new(), hints: Vec::new() }
        }
    }

    impl Model {
        fn put(&mut self, name: u32, bytes: Vec<u8>) {
            let growth = self.heap.growth(bytes.len());
            let before = self.heap.segment_bytes;
            let hint = self.heap.next_hint(bytes.len());
            let place = self.heap.put(&bytes);
            if footprint(bytes.len()) <= LARGEST_SHARING {
                assert_eq!(hint, self.heap.hint(place));
            }
            self.hints.push(self.heap.hint(place));
            // A segment that was all dead when it was closed has gone.
            assert!(self.heap.segment_bytes <= before + growth);
            if let Some((old, _)) = self.records.insert(name, (place, bytes)) {
                self.heap.free(old);
            }
        }

        fn replace(&mut self, name: u32, bytes: Vec<u8>) {
            if let Some((place, record)) = self.records.get_mut(&name)
                && self.heap.has_room(*place, bytes.len())
            {
                self.heap.replace(*place, &bytes);
                *record = bytes;
            }
        }

        fn free(&mut self, name: u32) {
            if let Some((place, _)) = self.records.remove(&name) {
                self.heap.free(place);
            }
        }

        fn clean(&mut self, is_short: bool) -> bool {
            let Model { heap, records, .. } = self;
            let Some(mut sweep) = heap.begin_cleaning(is_short) else { return false };
            assert!(heap.begin_cleaning(true).is_none(), "one at a time");
            while let Some((old, bytes)) = heap.next_live(&mut sweep) {
                let moved = records.values_mut().find(|(place, _)| *place == old);
                let (place, record) = moved.expect("what is live is a record");
                assert_eq!(record, bytes);
                *place = heap.relocate(old);
            }
            heap.end_cleaning();
            true
        }

        fn check(&self) {
            for (place, record) in self.records.values() {
                assert_eq!(self.heap.get(*place), record);
            }
            let live: usize =
                self.records.values().map(|(_, record)| footprint(record.len())).sum();
            assert_eq!(self.heap.filled_bytes - self.heap.dead_bytes, live);
            for (place, record) in self.records.values() {
                assert_eq!(self.heap.hinted(self.heap.hint(*place)), Some(&record[..]));
            }
            let whole = |found: &[u8]| self.records.values().any(|(_, record)| record == found);
            for hint in &self.hints {
                assert!(self.heap.hinted(*hint).is_none_or(whole), "never a part of a record");
                self.heap.prefetch(*hint);
            }
            let held: usize = self.heap.segments.iter().map(|segment| segment.data.len()).sum();
            assert_eq!(self.heap.segment_bytes, held);
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Put(u32, usize),
        Replace(u32, usize),
        Free(u32),
        Clean(bool),
    }

    fn lengths() -> impl Strategy<Value = usize> {
        prop_oneof![8 => 0..400usize, 1 => 0..3 * LARGEST_SHARING]
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let name = 0..40u32;
        let step = prop_oneof![
            4 => (name.clone(), lengths()).prop_map(|(name, len)| Step::Put(name, len)),
            2 => (name.clone(), lengths()).prop_map(|(name, len)| Step::Replace(name, len)),
            2 => name.prop_map(Step::Free),
            1 => any::<bool>().prop_map(Step::Clean),
        ];
        prop::collection::vec(step, 0..300)
    }

    proptest! {
        #[test]
        fn records_are_as_they_were_put_wherever_they_move(steps in steps()) {
            let mut model = Model::default();
            for (at, step) in steps.into_iter().enumerate() {
                let bytes = |len| (0..len).map(|i| (at * 31 + i) as u8).collect::<Vec<_>>();
                match step {
                    Step::Put(name, len) => model.put(name, bytes(len)),
                    Step::Replace(name, len) => model.replace(name, bytes(len)),
                    Step::Free(name) => model.free(name),
                    Step::Clean(is_short) => { model.clean(is_short); }
                }
                model.check();
            }
            while model.clean(true) {}
            model.check();
        }
    }

    #[test]
    fn memory_stays_near_what_lives_when_sizes_change_for_ever() {
        let mut model = Model::default();
        let mut state = 1u64;
        for at in 0..40_000usize {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (name, len) = ((state >> 40) as u32 % 500, (state >> 20) as usize % 600);
            model.put(name, vec![at as u8; len]);
            model.clean(false);
        }
        model.check();
        let live = model.heap.filled_bytes - model.heap.dead_bytes;
        assert!(
            model.heap.memory_bytes() * 2 < live * 3,
            "{} for {live}",
            model.heap.memory_bytes()
        );
    }

    #[test]
    fn what_is_freed_is_given_back() {
        let mut model = Model::default();
        (0..1_000).for_each(|name| model.put(name, vec![7; 300]));
        model.put(1_000, vec![8; 1 << 20]);
        let full = model.heap.memory_bytes();
        model.free(1_000);
        assert!(model.heap.memory_bytes() + (1 << 20) <= full, "a large record at once");
        (0..990).for_each(|name| model.free(name));
        while model.clean(false) {}
        model.check();
        assert!(model.heap.memory_bytes() < 90_000, "{}", model.heap.memory_bytes());
    }
}
