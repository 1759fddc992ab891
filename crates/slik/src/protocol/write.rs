//! The ordered write: check, insert the new entries, commit the object, remove the old entries,
//! all under the lock of the primary key.
//!
//! Whatever a reader sees in between, an object that bears a key has an entry under it. Entries of
//! unchanged keys are left alone. What is refused takes back the entries it inserted, save those
//! that the object there bears.

use std::ops::{ControlFlow, Range};

use crate::entry;
use crate::error::Error;
use crate::mutant::Mutant;
use crate::object::{self, Key, ObjectRef};
use crate::scratch::WriteScratch;
use crate::substrate::{Commit, Committed, Expected, Hint, Looked, Refused, Substrate};

/// Writes an object; gives its new version.
pub(crate) fn write<S: Substrate>(
    substrate: &S,
    primary: &[u8],
    keys: &[Key<'_>],
    value: &[u8],
    expected: Expected,
    scratch: &mut WriteScratch,
) -> Result<u64, Error> {
    let mut write = Write::new(substrate, primary, true, expected);
    substrate.prefetch_hash(&write.view, write.hash);
    object::check(primary, keys, value)?;
    object::encode(primary, keys, value, &mut scratch.image);
    let committed = write.run(scratch)?;
    Ok(committed.version.unwrap_or_default())
}

/// Removes an object; gives the version it had, if there was one.
pub(crate) fn remove<S: Substrate>(
    substrate: &S,
    primary: &[u8],
    expected: Expected,
    scratch: &mut WriteScratch,
) -> Result<Option<u64>, Error> {
    object::check(primary, &[], &[])?;
    Ok(Write::new(substrate, primary, false, expected).run(scratch)?.version)
}

/// What a writer found under its primary key.
struct Met {
    /// The version of the object.
    current: Option<u64>,
    /// It bears the keys that are to be put, in the same order.
    same_keys: bool,
    looked: Looked,
}

struct Write<'a, S: Substrate> {
    substrate: &'a S,
    view: S::View<'a>,
    primary: &'a [u8],
    hash: u64,
    /// The scratch's image is to be put; else the object is to be removed.
    put: bool,
    expected: Expected,
    /// The number of an entry in the scratch whose indexlet was found too large.
    grown: Option<usize>,
    /// Another object has the same hash, so that entries may be shared with it.
    collides: bool,
}

impl<'a, S: Substrate> Write<'a, S> {
    fn new(substrate: &'a S, primary: &'a [u8], put: bool, expected: Expected) -> Write<'a, S> {
        let (view, hash) = (substrate.view(), substrate.switches().hash(primary));
        Write { substrate, view, primary, hash, put, expected, grown: None, collides: false }
    }

    fn run(&mut self, scratch: &mut WriteScratch) -> Result<Committed, Error> {
        let committed = loop {
            let lock = self.substrate.lock_key(self.hash);
            match self.attempt(lock, scratch)? {
                Ok(committed) => break committed,
                Err(Refused::Schema) => self.view = self.substrate.view(),
                Err(Refused::Version { expected, current }) => {
                    return Err(Error::VersionMismatch { expected, current });
                }
                Err(Refused::Memory { .. }) if self.substrate.clean(self.hash, true) => {}
                Err(Refused::Memory { used_bytes, limit_bytes }) => {
                    return Err(Error::MemoryLimit { used_bytes, limit_bytes });
                }
                Err(Refused::Log(error)) => return Err(error),
            }
        };
        if self.grown.is_some() || committed.grown {
            let indexlet = self.grown.map(|number| {
                let (index, entry, _) = scratch.changes.get(number);
                (index, entry)
            });
            self.substrate.split_grown(self.hash, indexlet);
        }
        if committed.dirty {
            self.substrate.clean(self.hash, false);
        }
        Ok(committed)
    }

    fn attempt(
        &mut self,
        lock: S::KeyLock<'_>,
        scratch: &mut WriteScratch,
    ) -> Result<Result<Committed, Refused>, Error> {
        let switches = self.substrate.switches();
        self.substrate.schema(&self.view, &mut scratch.schema)?;
        let Met { current, same_keys, looked } = self.meet(scratch);
        let hint = match looked {
            Looked::Committed(committed) => return Ok(committed),
            Looked::Only(hint) => hint,
        };
        if let Err(refused) = self.expected.check(current) {
            if switches.on(Mutant::RefusedWriteRemovesLiveEntries) {
                self.plan(false, scratch);
                self.take_back(scratch);
            }
            return Ok(Err(refused));
        }
        if same_keys {
            return Ok(self.commit(scratch));
        }
        self.plan(current.is_some(), scratch);
        if switches.on(Mutant::RemoveBeforeCommit) {
            self.remove_old(scratch);
        }
        if switches.on(Mutant::CommitBeforeInsert) {
            let committed = self.commit(scratch);
            return Ok(committed.and_then(|committed| {
                self.insert_new(hint, scratch)?;
                self.remove_old(scratch);
                Ok(committed)
            }));
        }
        let committed = self.insert_new(hint, scratch).and_then(|()| self.commit(scratch));
        if committed.is_err() {
            self.take_back(scratch);
        } else {
            if switches.on(Mutant::RemovalWithoutKeyLock) {
                drop(lock);
            }
            self.remove_old(scratch);
        }
        Ok(committed)
    }

    /// Looks at the object there is. One that bears the keys to be put, in the same order, is replaced
    /// at once if that can be done: the usual overwrite. Another is copied, but for its value.
    fn meet(&mut self, scratch: &mut WriteScratch) -> Met {
        let WriteScratch { image, old, schema, .. } = scratch;
        let commit = self.intent(image, schema.generation);
        let new = self.put.then(|| ObjectRef::new(image));
        let (mut current, mut same_keys, mut collides) = (None, false, false);
        let visit = |object: ObjectRef<'_>| {
            if object.primary() != self.primary {
                collides = true;
                return false;
            }
            current = Some(object.version());
            same_keys = new.is_some_and(|new| new.key_section() == object.key_section());
            if !same_keys {
                old.clear();
                old.extend_from_slice(object.head());
            }
            same_keys && self.expected.check(current).is_ok()
        };
        let looked = self.substrate.read_and_commit(&mut self.view, &commit, visit);
        self.collides = collides;
        Met { current, same_keys, looked }
    }

    fn commit(&mut self, scratch: &WriteScratch) -> Result<Committed, Refused> {
        let commit = self.intent(&scratch.image, scratch.schema.generation);
        self.substrate.commit(&mut self.view, &commit)
    }

    fn intent<'s>(&self, image: &'s [u8], generation: u64) -> Commit<'s>
    where
        'a: 's,
    {
        Commit {
            hash: self.hash,
            primary: self.primary,
            object: self.put.then_some(image),
            expected: self.expected,
            generation,
            version: None,
        }
    }

    /// Lists the entries to be inserted, those of the keys that the old object does not bear, and those
    /// to be removed, of the keys that the new object does not bear; asks for where they are.
    fn plan(&mut self, had_object: bool, scratch: &mut WriteScratch) {
        let WriteScratch { image, old, changes, schema, .. } = scratch;
        let new = self.put.then(|| ObjectRef::new(image));
        let old = had_object.then(|| ObjectRef::new(old));
        changes.clear();
        self.grown = None;
        for (index, key) in new.into_iter().flat_map(|new| new.keys_beyond(old)) {
            if schema.has(index) {
                changes.insert(index, key, self.hash);
            }
        }
        for (index, key) in old.into_iter().flat_map(|old| old.keys_beyond(new)) {
            if schema.has(index) {
                changes.remove(index, key, self.hash);
            }
        }
        self.substrate.foresee(&self.view, changes);
    }

    fn insert_new(&mut self, hint: Hint, scratch: &WriteScratch) -> Result<(), Refused> {
        for number in scratch.changes.inserted() {
            let (index, entry, near) = scratch.changes.get(number);
            if self.substrate.insert_entry(&mut self.view, index, entry, near, hint)? {
                self.grown = Some(number);
            }
        }
        Ok(())
    }

    /// Removes what was to be inserted.
    fn take_back(&mut self, scratch: &mut WriteScratch) {
        self.remove_entries(scratch.changes.inserted(), scratch);
    }

    fn remove_old(&mut self, scratch: &mut WriteScratch) {
        self.remove_entries(scratch.changes.removed(), scratch);
    }

    /// Removes each entry unless another object of the same hash bears its key. That object cannot
    /// change meanwhile: having the same hash, it has the same lock.
    fn remove_entries(&mut self, numbers: Range<usize>, scratch: &mut WriteScratch) {
        let collides =
            self.collides && !self.substrate.switches().on(Mutant::RemovalIgnoresCollisions);
        for number in numbers {
            let (index, entry, near) = scratch.changes.get(number);
            let mut is_shared = false;
            if collides {
                let key = entry::key(entry, &mut scratch.key);
                self.substrate.read(&mut self.view, self.hash, |object| {
                    is_shared |= object.primary() != self.primary && object.bears(index, key);
                    ControlFlow::Continue(())
                });
            }
            if !is_shared {
                self.substrate.remove_entry(&mut self.view, index, entry, near);
            }
        }
    }
}
