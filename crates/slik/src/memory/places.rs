//! A hash table of places: which of a heap's records have a hash.
//!
//! The table is made of chunks of one cache line, each with twelve places and a tag of 7 bits of
//! hash for each, so that a place is found with one cache miss (the layout of F14: Bronson and Shi,
//! "Open-sourcing F14 for faster, more memory-efficient hash tables", 2019). What finds its chunk
//! full goes to another one, and the full one counts how many did: a search ends at a chunk that
//! nothing has passed, and nothing is left behind where a place is taken out.

use super::heap::Place;
use crate::prefetch;

/// Places of a chunk.
const WAYS: usize = 12;
/// Most places of a chunk on average.
const FILL: usize = 10;

/// In the lowest bit of each byte.
const ONES: u128 = 0x0101_0101_0101_0101_0101_0101;
const HIGHEST: u128 = ONES << 7;

#[derive(Clone)]
#[repr(align(64))]
struct Chunk {
    /// 0 for an unused place, else 7 bits of hash below a 1.
    tags: [u8; WAYS],
    /// How many places are in other chunks because this one was full.
    passed: u32,
    places: [Place; WAYS],
}

const _: () = assert!(size_of::<Chunk>() == 64);

impl Chunk {
    const EMPTY: Chunk = Chunk { tags: [0; WAYS], passed: 0, places: [Place::FIRST; WAYS] };

    fn tag_word(&self) -> u128 {
        let mut bytes = [0; 16];
        bytes[..WAYS].copy_from_slice(&self.tags);
        u128::from_le_bytes(bytes)
    }

    /// The ways that have a tag.
    #[inline]
    fn tagged(&self, tag: u8) -> Ways {
        // The highest bit of each byte that is 0, exactly: no sum carries into the next byte.
        let differs = self.tag_word() ^ (ONES * u128::from(tag));
        Ways(!(((differs & !HIGHEST) + (HIGHEST - ONES)) | differs) & HIGHEST)
    }

    fn used(&self) -> Ways {
        Ways(self.tag_word() & HIGHEST)
    }

    fn unused(&self) -> Option<usize> {
        Ways(!self.tag_word() & HIGHEST).next()
    }
}

/// Ways of a chunk, each the highest bit of its byte.
struct Ways(u128);

impl Iterator for Ways {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let way = (self.0 != 0).then(|| self.0.trailing_zeros() as usize / 8);
        self.0 &= self.0.wrapping_sub(1);
        way
    }
}

/// The places of records, by hash.
#[derive(Default)]
pub(super) struct Places {
    /// None, or a power of two of them.
    chunks: Box<[Chunk]>,
    len: usize,
}

/// The chunks where a hash may be, nearest first.
struct Probe {
    chunk: usize,
    step: usize,
    mask: usize,
    /// How many have not been visited.
    left: usize,
}

impl Probe {
    /// Goes on to the next chunk, unless this was the last.
    #[inline]
    fn advance(&mut self) -> bool {
        // An odd step comes to every chunk.
        self.chunk = (self.chunk + self.step) & self.mask;
        self.left -= 1;
        self.left > 0
    }
}

#[inline]
fn tag(hash: u64) -> u8 {
    (hash >> 56) as u8 | 0x80
}

impl Places {
    /// An empty table with room for so many.
    pub(super) fn with_capacity(places: usize) -> Places {
        let chunks = if places == 0 { 0 } else { places.div_ceil(FILL).next_power_of_two() };
        Places { chunks: vec![Chunk::EMPTY; chunks].into_boxed_slice(), len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.chunks)
    }

    /// Bytes that the next insertion takes from the allocator.
    pub(super) fn growth(&self) -> usize {
        if self.len < self.chunks.len() * FILL { 0 } else { self.memory_bytes().max(64) }
    }

    #[inline]
    fn probe(&self, hash: u64) -> Probe {
        let left = self.chunks.len();
        let mask = left.wrapping_sub(1);
        Probe { chunk: hash as usize & mask, step: 2 * usize::from(tag(hash)) + 1, mask, left }
    }

    /// Asks for the chunk where a search for a hash begins.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        prefetch::index(&self.chunks, self.probe(hash).chunk);
    }

    /// The places that may have a hash: nearly all of them do.
    #[inline]
    pub(super) fn candidates(&self, hash: u64) -> impl Iterator<Item = Place> {
        let mut probe = self.probe(hash);
        let mut chunk = self.chunks.get(probe.chunk);
        let mut ways = chunk.map_or(Ways(0), |chunk| chunk.tagged(tag(hash)));
        std::iter::from_fn(move || {
            loop {
                let at = chunk?;
                if let Some(way) = ways.next() {
                    return Some(at.places[way]);
                }
                let goes_on = at.passed > 0 && probe.advance();
                chunk = goes_on.then(|| &self.chunks[probe.chunk]);
                ways = chunk.map_or(Ways(0), |chunk| chunk.tagged(tag(hash)));
            }
        })
    }

    /// Every place, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Place> {
        self.chunks.iter().flat_map(|chunk| chunk.used().map(|way| chunk.places[way]))
    }

    /// Puts a place in that is not there. `hash_of` must give the hashes of those that are.
    pub(super) fn insert(&mut self, hash: u64, place: Place, hash_of: impl Fn(Place) -> u64) {
        if self.growth() > 0 {
            let mut larger = Places::with_capacity((self.len + 1).max(2 * self.len));
            self.iter().for_each(|place| larger.put(hash_of(place), place));
            *self = larger;
        }
        self.put(hash, place);
    }

    /// Puts a place in, for which there is room.
    fn put(&mut self, hash: u64, place: Place) {
        let mut probe = self.probe(hash);
        loop {
            let chunk = &mut self.chunks[probe.chunk];
            if let Some(way) = chunk.unused() {
                chunk.tags[way] = tag(hash);
                chunk.places[way] = place;
                self.len += 1;
                return;
            }
            chunk.passed += 1;
            probe.advance();
        }
    }

    /// Finds a place: its chunk and way.
    fn find(&self, hash: u64, place: Place) -> Option<(usize, usize)> {
        let mut probe = self.probe(hash);
        loop {
            let chunk = self.chunks.get(probe.chunk)?;
            if let Some(way) = chunk.tagged(tag(hash)).find(|way| chunk.places[*way] == place) {
                return Some((probe.chunk, way));
            }
            if chunk.passed == 0 || !probe.advance() {
                return None;
            }
        }
    }

    pub(super) fn contains(&self, hash: u64, place: Place) -> bool {
        self.find(hash, place).is_some()
    }

    /// Puts a place where another one is.
    pub(super) fn replace(&mut self, hash: u64, old: Place, new: Place) {
        if let Some((chunk, way)) = self.find(hash, old) {
            self.chunks[chunk].places[way] = new;
        }
    }

    /// Takes a place out.
    pub(super) fn remove(&mut self, hash: u64, place: Place) {
        let Some((found, way)) = self.find(hash, place) else { return };
        self.chunks[found].tags[way] = 0;
        self.len -= 1;
        let mut probe = self.probe(hash);
        while probe.chunk != found {
            self.chunks[probe.chunk].passed -= 1;
            probe.advance();
        }
    }

    /// Keeps the places for which `stays`, and gives the others, each with its hash by `hash_of`, to
    /// a table of their own. Both are as large as they have to be.
    pub(super) fn split(
        &mut self,
        hash_of: impl Fn(Place) -> u64,
        stays: impl Fn(u64) -> bool,
    ) -> Places {
        let hashed: Vec<(u64, Place)> = self.iter().map(|place| (hash_of(place), place)).collect();
        let staying = hashed.iter().filter(|(hash, _)| stays(*hash)).count();
        let mut tables =
            (Places::with_capacity(staying), Places::with_capacity(hashed.len() - staying));
        for (hash, place) in hashed {
            let table = if stays(hash) { &mut tables.0 } else { &mut tables.1 };
            table.put(hash, place);
        }
        *self = tables.0;
        tables.1
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u64),
        Remove(usize),
        Replace(usize),
    }

    /// Few hashes, so that chunks overflow.
    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let hash = prop_oneof![any::<u64>(), (0..4u64).prop_map(|low| low << 56 | low)];
        let step = prop_oneof![
            3 => hash.prop_map(Step::Insert),
            1 => any::<usize>().prop_map(Step::Remove),
            1 => any::<usize>().prop_map(Step::Replace),
        ];
        prop::collection::vec(step, 0..400)
    }

    fn check(table: &Places, model: &BTreeMap<u32, u64>) {
        assert_eq!(table.len(), model.len());
        let mut all: Vec<u32> = table.iter().map(|place| place.0).collect();
        all.sort_unstable();
        assert!(all.iter().eq(model.keys()));
        for (place, hash) in model {
            assert!(table.contains(*hash, Place(*place)));
            assert_eq!(table.candidates(*hash).filter(|found| found.0 == *place).count(), 1);
        }
        let passed: u32 = table.chunks.iter().map(|chunk| chunk.passed).sum();
        let astray = model.iter().map(|(place, hash)| {
            let found = table.find(*hash, Place(*place)).unwrap().0;
            let mut probe = table.probe(*hash);
            let mut steps = 0;
            while probe.chunk != found {
                probe.advance();
                steps += 1;
            }
            steps
        });
        assert_eq!(passed, astray.sum::<u32>(), "chunks know what has passed them");
    }

    proptest! {
        #[test]
        fn places_are_found_by_their_hash(steps in steps()) {
            let mut table = Places::default();
            let mut model = BTreeMap::new();
            let nth = |model: &BTreeMap<u32, u64>, n: usize| {
                model.iter().nth(n % model.len().max(1)).map(|(place, hash)| (*place, *hash))
            };
            for (at, step) in steps.into_iter().enumerate() {
                let new = at as u32;
                match step {
                    Step::Insert(hash) => {
                        let growth = table.growth();
                        let before = table.memory_bytes();
                        table.insert(hash, Place(new), |place| model[&place.0]);
                        prop_assert_eq!(table.memory_bytes(), before + growth);
                        model.insert(new, hash);
                    }
                    Step::Remove(n) => if let Some((place, hash)) = nth(&model, n) {
                        table.remove(hash, Place(place));
                        table.remove(hash, Place(place));
                        model.remove(&place);
                    },
                    Step::Replace(n) => if let Some((place, hash)) = nth(&model, n) {
                        table.replace(hash, Place(place), Place(new));
                        model.remove(&place);
                        model.insert(new, hash);
                    },
                }
            }
            check(&table, &model);
            let stays = |hash: u64| hash & 1 == 0;
            let other = table.split(|place| model[&place.0], stays);
            let (below, above) = model.into_iter().partition(|(_, hash)| stays(*hash));
            check(&table, &below);
            check(&other, &above);
        }
    }

    #[test]
    fn a_search_ends_where_every_chunk_has_been_passed() {
        let mut table = Places::with_capacity(4 * FILL);
        let hash_of = |place: Place| u64::from(place.0) % 4;
        for first in 0..4 {
            // Fill a chunk, let one pass it, and take all of them out but that one.
            let home = (0..=WAYS as u32).map(|i| first + 4 * i);
            home.clone().for_each(|place| table.insert(u64::from(first), Place(place), hash_of));
            home.take(WAYS).for_each(|place| table.remove(u64::from(first), Place(place)));
        }
        assert!(table.chunks.iter().all(|chunk| chunk.passed > 0));
        assert_eq!(table.candidates(1 << 56).count(), 0);
        assert!(!table.contains(1 << 56, Place(0)));
    }

    #[test]
    fn a_table_of_nothing_has_nothing() {
        let mut table = Places::default();
        assert_eq!(table.candidates(7).count() + table.iter().count() + table.memory_bytes(), 0);
        assert!(!table.contains(7, Place(7)));
        table.remove(7, Place(7));
        assert_eq!(table.len(), 0);
    }
}
