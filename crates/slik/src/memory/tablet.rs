//! A tablet: the objects of one share of the hash space, behind a latch of its own.

use std::ops::ControlFlow;

use crossbeam_utils::CachePadded;
use hashbrown::HashTable;

use super::budget::Budget;
use crate::mutant::{Mutant, Switches};
use crate::object::{self, ObjectRef};
use crate::substrate::{Commit, Committed, Refused};
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
    objects: HashTable<Box<[u8]>>,
    object_bytes: usize,
}

/// What a durable write has been given before it is logged.
pub(super) struct Reserved {
    /// The version for it; of no meaning for a removal.
    pub(super) version: u64,
    /// The version there is.
    pub(super) current: Option<u64>,
}

impl Tablet {
    /// A tablet of objects with their hashes, no two of the same primary key.
    pub(super) fn load(
        suffix: u32,
        depth: u32,
        loaded: Vec<(u64, Box<[u8]>)>,
        version: u64,
    ) -> Tablet {
        let mut objects = HashTable::with_capacity(loaded.len());
        let mut object_bytes = 0;
        for (hash, bytes) in loaded {
            object_bytes += allocation_bytes(bytes.len());
            // The room is there already: nothing is hashed again.
            objects.insert_unique(hash, bytes, |_| hash);
        }
        Tablet::of(TabletState { suffix, depth, generation: 0, version, objects, object_bytes })
    }

    pub(super) fn new(suffix: u32, depth: u32) -> Tablet {
        Tablet::of(TabletState {
            suffix,
            depth,
            generation: 0,
            version: 0,
            objects: HashTable::new(),
            object_bytes: 0,
        })
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
        self.object_bytes + self.objects.allocation_size()
    }

    /// Visits the objects of a hash.
    #[inline]
    pub(super) fn visit(
        &self,
        hash: u64,
        switches: &Switches,
        mut visit: impl FnMut(ObjectRef<'_>) -> ControlFlow<()>,
    ) {
        for bytes in self.objects.iter_hash(hash) {
            let object = ObjectRef::new(bytes);
            if switches.hash(object.primary()) == hash && visit(object).is_break() {
                return;
            }
        }
    }

    /// Appends the hashes of all objects.
    pub(super) fn hashes(&self, switches: &Switches, hashes: &mut Vec<u64>) {
        hashes.extend(self.objects.iter().map(|o| switches.hash(ObjectRef::new(o).primary())));
    }

    /// Checks a change that is to be logged, and takes a version for it: [`TabletState::commit`]
    /// follows, given that version, and can then be refused only because the table is dropped.
    pub(super) fn reserve(
        &mut self,
        commit: &Commit<'_>,
        switches: &Switches,
        budget: &Budget,
    ) -> Result<Reserved, Refused> {
        if self.generation > commit.generation && !switches.on(Mutant::NoSchemaBarrier) {
            return Err(Refused::Schema);
        }
        let slot = self
            .objects
            .find(commit.hash, |bytes| ObjectRef::new(bytes).primary() == commit.primary);
        let current = slot.map(|bytes| ObjectRef::new(bytes).version());
        commit.expected.check(current)?;
        let old = slot.map_or(0, |bytes| allocation_bytes(bytes.len()));
        if let Some(image) = commit.object {
            budget.admit(allocation_bytes(image.len()).saturating_sub(old))?;
            self.version += 1;
        }
        Ok(Reserved { version: self.version, current })
    }

    /// Puts, replaces or removes an object.
    pub(super) fn commit(
        &mut self,
        commit: &Commit<'_>,
        switches: &Switches,
        budget: &Budget,
    ) -> Result<Committed, Refused> {
        if self.generation > commit.generation && !switches.on(Mutant::NoSchemaBarrier) {
            return Err(Refused::Schema);
        }
        let before_bytes = self.memory_bytes();
        let slot = self
            .objects
            .find_entry(commit.hash, |bytes| ObjectRef::new(bytes).primary() == commit.primary);
        let current = slot.as_ref().ok().map(|slot| ObjectRef::new(slot.get()).version());
        commit.expected.check(current)?;
        let Some(image) = commit.object else {
            if let Ok(slot) = slot {
                let (old, _) = slot.remove();
                self.object_bytes -= allocation_bytes(old.len());
                if switches.on(Mutant::VersionsStartAnew) && self.objects.is_empty() {
                    self.version = 0;
                }
            }
            budget.count(before_bytes, self.memory_bytes());
            return Ok(Committed { version: current, grown: false });
        };
        let version = commit.version.unwrap_or(self.version + 1);
        // What has been reserved has been admitted.
        let admit = |bytes| if commit.version.is_some() { Ok(()) } else { budget.admit(bytes) };
        match slot {
            Ok(mut slot) if slot.get().len() == image.len() => {
                let bytes = slot.get_mut();
                bytes.copy_from_slice(image);
                object::set_version(bytes, version);
            }
            Ok(mut slot) => {
                let (old, new) =
                    (allocation_bytes(slot.get().len()), allocation_bytes(image.len()));
                admit(new.saturating_sub(old))?;
                *slot.get_mut() = versioned(image, version);
                self.object_bytes = self.object_bytes - old + new;
            }
            Err(_) => {
                let growing = self.objects.len() == self.objects.capacity();
                let table = if growing { self.objects.allocation_size().max(128) } else { 0 };
                let new = allocation_bytes(image.len());
                admit(new + table)?;
                self.objects.insert_unique(commit.hash, versioned(image, version), |bytes| {
                    switches.hash(ObjectRef::new(bytes).primary())
                });
                self.object_bytes += new;
            }
        }
        self.version = self.version.max(version);
        budget.count(before_bytes, self.memory_bytes());
        Ok(Committed { version: Some(version), grown: false })
    }

    /// Gives away the objects of one more bit of the tablet number.
    pub(super) fn split(&mut self, switches: &Switches) -> Tablet {
        let bit = 1 << self.depth;
        let hash = |bytes: &[u8]| switches.hash(ObjectRef::new(bytes).primary());
        let goes = |bytes: &[u8]| number(hash(bytes)) & bit != 0;
        let going = self.objects.iter().filter(|bytes| goes(bytes)).count();
        let mut upper = HashTable::with_capacity(going);
        let mut upper_bytes = 0;
        for bytes in self.objects.extract_if(|bytes| goes(bytes)) {
            upper_bytes += allocation_bytes(bytes.len());
            upper.insert_unique(hash(&bytes), bytes, |bytes| hash(bytes));
        }
        self.objects.shrink_to_fit(|bytes| hash(bytes));
        self.object_bytes -= upper_bytes;
        self.depth += 1;
        Tablet::of(TabletState {
            suffix: self.suffix | bit,
            depth: self.depth,
            generation: self.generation,
            version: self.version,
            objects: upper,
            object_bytes: upper_bytes,
        })
    }

    /// Frees everything, and refuses every commit from now on.
    pub(super) fn close(&mut self) {
        self.generation = u64::MAX;
        self.objects = HashTable::new();
        self.object_bytes = 0;
    }
}

fn versioned(image: &[u8], version: u64) -> Box<[u8]> {
    let mut bytes: Box<[u8]> = image.into();
    object::set_version(&mut bytes, version);
    bytes
}

/// What the usual allocators take for so many bytes: a header of 8, rounded up to 16.
pub(super) fn allocation_bytes(bytes: usize) -> usize {
    (bytes + 8).next_multiple_of(16).max(32)
}
