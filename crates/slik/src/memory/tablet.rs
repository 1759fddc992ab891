//! A tablet: the objects of one share of the hash space, behind a latch of its own.

use crossbeam_utils::CachePadded;

use super::budget::Budget;
use super::heap::{Heap, Place};
use super::load::Share;
use super::places::Places;
use crate::mutant::{Mutant, Switches};
use crate::object::{self, ObjectRef};
use crate::substrate::{Commit, Refused};
use crate::sync::{RwLock, RwLockReadGuard};

/// Bits of the tablet number that a new table's tablets share out among them.
pub(super) const FIRST_DEPTH: u32 = 6;
/// Bits beyond which a tablet is not split, whatever its size: a limit to the map's size where
/// primary keys are chosen so that their hashes are alike.
pub(super) const LAST_DEPTH: u32 = 20;

/// The bits of a hash that choose the tablet: others than the hash table goes by (the lowest and
/// the highest), so that these stay as varied inside a tablet as they were.
#[inline]
pub(super) fn number(hash: u64) -> u32 {
    (hash >> 32) as u32 & ((1 << LAST_DEPTH) - 1)
}

pub(super) struct Tablet(CachePadded<RwLock<TabletState>>);

pub(super) struct TabletState {
    /// It owns the hashes whose tablet number ends in the `depth` bits of this.
    pub(super) suffix: u32,
    pub(super) depth: u32,
    /// Commits of writers that know only an earlier schema are refused.
    pub(super) generation: u64,
    /// The greatest version given here; never goes back, so that no version of a primary key is
    /// given twice, its object being removed in between or not.
    version: u64,
    /// Where the objects are in the tablet's heap, by hash of the primary key.
    objects: Places,
}

/// What a durable write has been given before it is logged.
pub(super) struct Reserved {
    /// The version for it; of no meaning for a removal.
    pub(super) version: u64,
    /// The version there is.
    pub(super) current: Option<u64>,
}

impl Tablet {
    /// A tablet of objects, no two of the same primary key.
    pub(super) fn load(
        suffix: u32,
        depth: u32,
        share: &Share,
        version: u64,
        heap: &mut Heap,
        switches: &Switches,
    ) -> Tablet {
        let objects = Places::with_capacity(share.len());
        let mut state = TabletState { suffix, depth, generation: 0, version, objects };
        for (hash, bytes) in share.objects() {
            let collides = state.places(hash, heap, switches).next().is_some();
            heap.collides |= collides;
            let place = heap.put(bytes);
            // The room is there already: nothing is hashed again.
            state.objects.insert(hash, place, |_| hash);
        }
        Tablet::of(state)
    }

    pub(super) fn new(suffix: u32, depth: u32) -> Tablet {
        let objects = Places::default();
        Tablet::of(TabletState { suffix, depth, generation: 0, version: 0, objects })
    }

    fn of(state: TabletState) -> Tablet {
        Tablet(CachePadded::new(RwLock::new(state)))
    }

    #[inline]
    pub(super) fn read(&self) -> RwLockReadGuard<'_, TabletState> {
        self.0.read()
    }

    #[inline]
    pub(super) fn write(&self) -> impl std::ops::DerefMut<Target = TabletState> + '_ {
        self.0.write()
    }
}

impl TabletState {
    #[inline]
    pub(super) fn owns(&self, hash: u64) -> bool {
        number(hash) & ((1 << self.depth) - 1) == self.suffix
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.objects.memory_bytes()
    }

    /// Asks for what tells where the objects of a hash are.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        self.objects.prefetch(hash);
    }

    /// Where the objects of a hash are.
    #[inline]
    pub(super) fn places<'a>(
        &'a self,
        hash: u64,
        heap: &'a Heap,
        switches: &'a Switches,
    ) -> impl Iterator<Item = Place> + 'a {
        let places = self.objects.candidates(hash).inspect(|place| heap.prefetch_at(*place));
        places.filter(move |place| hash_of(heap, *place, switches) == hash)
    }

    /// Visits the objects of a hash until told that one was it; where the last visited is, and whether
    /// it was.
    pub(super) fn visit(
        &self,
        hash: u64,
        heap: &Heap,
        switches: &Switches,
        visit: &mut impl FnMut(ObjectRef<'_>) -> bool,
    ) -> (Option<Place>, bool) {
        let mut last = None;
        let is_it = self.places(hash, heap, switches).any(|place| {
            last = Some(place);
            visit(ObjectRef::new(heap.get(place)))
        });
        (last, is_it)
    }

    /// Where the object of a commit is, if there is one.
    pub(super) fn find(&self, commit: &Commit<'_>, heap: &Heap) -> Option<Place> {
        let is_it = |place: &Place| ObjectRef::new(heap.get(*place)).primary() == commit.primary;
        self.objects.candidates(commit.hash).find(is_it)
    }

    /// Appends the hashes of all objects.
    pub(super) fn hashes(&self, heap: &Heap, switches: &Switches, hashes: &mut Vec<u64>) {
        hashes.extend(self.objects.iter().map(|place| hash_of(heap, place, switches)));
    }

    /// Checks a change that is to be logged, and takes a version for it: [`TabletState::commit`]
    /// follows, given that version, and can then be refused only because the table is dropped.
    pub(super) fn reserve(
        &mut self,
        commit: &Commit<'_>,
        heap: &Heap,
        switches: &Switches,
        budget: &Budget,
    ) -> Result<Reserved, Refused> {
        if self.generation > commit.generation && !switches.on(Mutant::NoSchemaBarrier) {
            return Err(Refused::Schema);
        }
        let place = self.find(commit, heap);
        let current = place.map(|place| ObjectRef::new(heap.get(place)).version());
        commit.expected.check(current)?;
        if let Some(image) = commit.object {
            self.admit(place, image, heap, budget)?;
            self.follow(commit.generation);
            self.version += 1;
        }
        Ok(Reserved { version: self.version, current })
    }

    /// Refuses later commits of an earlier schema: a writer that does not know of an index would
    /// leave behind the entries that one who did has inserted.
    fn follow(&mut self, generation: u64) {
        self.generation = self.generation.max(generation);
    }

    /// Refuses an object for which there is no memory.
    fn admit(
        &self,
        place: Option<Place>,
        image: &[u8],
        heap: &Heap,
        budget: &Budget,
    ) -> Result<(), Refused> {
        if place.is_some_and(|place| heap.has_room(place, image.len())) {
            return Ok(());
        }
        if heap.is_full() {
            let full_bytes = heap.memory_bytes() as u64;
            return Err(Refused::Memory { used_bytes: full_bytes, limit_bytes: full_bytes });
        }
        let table = if place.is_none() { self.objects.growth() } else { 0 };
        budget.admit(heap.growth(image.len()) + table)
    }

    /// Puts, replaces or removes an object, which is at `place` if there is one; gives the version
    /// given to it, or the one removed.
    pub(super) fn commit(
        &mut self,
        commit: &Commit<'_>,
        place: Option<Place>,
        heap: &mut Heap,
        switches: &Switches,
        budget: &Budget,
    ) -> Result<Option<u64>, Refused> {
        if self.generation > commit.generation && !switches.on(Mutant::NoSchemaBarrier) {
            return Err(Refused::Schema);
        }
        let current = place.map(|place| ObjectRef::new(heap.get(place)).version());
        commit.expected.check(current)?;
        let Some(image) = commit.object else {
            if let Some(place) = place {
                self.remove(commit.hash, place, heap, switches);
            }
            return Ok(current);
        };
        // What has been reserved has been admitted.
        if commit.version.is_none() {
            self.admit(place, image, heap, budget)?;
            self.follow(commit.generation);
        }
        let version = commit.version.unwrap_or(self.version + 1);
        let place = self.put(commit.hash, place, image, heap, switches);
        object::set_version(heap.get_mut(place), version);
        self.version = self.version.max(version);
        Ok(Some(version))
    }

    fn put(
        &mut self,
        hash: u64,
        old: Option<Place>,
        image: &[u8],
        heap: &mut Heap,
        switches: &Switches,
    ) -> Place {
        if let Some(old) = old.filter(|old| heap.has_room(*old, image.len())) {
            heap.replace(old, image);
            return old;
        }
        if old.is_none() {
            let collides = self.places(hash, heap, switches).next().is_some();
            heap.collides |= collides;
        }
        let new = heap.put(image);
        match old {
            Some(old) => {
                self.objects.replace(hash, old, new);
                heap.free(old);
            }
            None => {
                self.objects.insert(hash, new, |place| hash_of(heap, place, switches));
            }
        }
        new
    }

    /// Moves an object to where memory is in use, if it is still where it was.
    pub(super) fn relocate(&mut self, hash: u64, place: Place, heap: &mut Heap) {
        if self.objects.contains(hash, place) {
            let new = heap.relocate(place);
            self.objects.replace(hash, place, new);
        }
    }

    fn remove(&mut self, hash: u64, place: Place, heap: &mut Heap, switches: &Switches) {
        self.objects.remove(hash, place);
        heap.free(place);
        if switches.on(Mutant::VersionsStartAnew) && self.objects.len() == 0 {
            self.version = 0;
        }
    }

    /// Gives away the objects of one more bit of the tablet number. The heap stays the same.
    pub(super) fn split(&mut self, heap: &Heap, switches: &Switches) -> Tablet {
        let bit = 1 << self.depth;
        let upper = self
            .objects
            .split(|place| hash_of(heap, place, switches), |hash| number(hash) & bit == 0);
        self.depth += 1;
        Tablet::of(TabletState {
            suffix: self.suffix | bit,
            depth: self.depth,
            generation: self.generation,
            version: self.version,
            objects: upper,
        })
    }

    /// Refuses every commit from now on, and every read finds nothing.
    pub(super) fn close(&mut self) {
        self.generation = u64::MAX;
        self.objects = Places::default();
    }
}

fn hash_of(heap: &Heap, place: Place, switches: &Switches) -> u64 {
    switches.hash(ObjectRef::new(heap.get(place)).primary())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::substrate::Expected;

    #[test]
    fn who_does_not_know_of_an_index_comes_too_late_after_one_who_does() {
        let (switches, budget) = (Switches::default(), Budget::new(None));
        let mut image = Vec::new();
        object::encode(b"primary", &[(1, b"key")], b"", &mut image);
        let of = |object, generation| Commit {
            hash: switches.hash(b"primary"),
            primary: b"primary",
            object,
            expected: Expected::Any,
            generation,
            version: None,
        };
        for is_logged in [false, true] {
            let (tablet, mut heap) = (Tablet::new(0, 0), Heap::new(0));
            let mut state = tablet.write();
            let put = of(Some(&image[..]), 2);
            if is_logged {
                state.reserve(&put, &heap, &switches, &budget).unwrap();
            } else {
                state.commit(&put, None, &mut heap, &switches, &budget).unwrap();
            }
            let late = of(None, 1);
            let reserved = state.reserve(&late, &heap, &switches, &budget);
            assert!(matches!(reserved, Err(Refused::Schema)));
            let place = state.find(&late, &heap);
            let committed = state.commit(&late, place, &mut heap, &switches, &budget);
            assert!(matches!(committed, Err(Refused::Schema)));
        }
    }
}
