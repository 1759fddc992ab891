//! The ordered write: check, insert the new entries, commit the object, remove the old entries,
//! all under the lock of the primary key.
//!
//! Whatever a reader sees in between, an object that bears a key has an entry under it. Entries of
//! unchanged keys are left alone. What is refused takes back the entries it inserted, save those
//! that the object there bears.

use std::ops::ControlFlow;

use crate::entry;
use crate::error::Error;
use crate::mutant::Mutant;
use crate::object::{self, Key, ObjectRef};
use crate::schema::IndexId;
use crate::scratch::WriteScratch;
use crate::substrate::{Commit, Committed, Expected, Refused, Substrate};

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

struct Write<'a, S: Substrate> {
    substrate: &'a S,
    view: S::View<'a>,
    primary: &'a [u8],
    hash: u64,
    /// The scratch's image is to be put; else the object is to be removed.
    put: bool,
    expected: Expected,
    /// The index of an indexlet found too large; the entry is in the scratch.
    grown: Option<IndexId>,
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
            let indexlet = self.grown.map(|index| (index, &scratch.grown[..]));
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
        let current = self.read_current(&mut scratch.old);
        if let Err(refused) = self.expected.check(current) {
            if switches.on(Mutant::RefusedWriteRemovesLiveEntries) {
                self.take_back(false, scratch);
            }
            return Ok(Err(refused));
        }
        let had_object = current.is_some();
        if self.put && had_object && same_keys(scratch) {
            return Ok(self.commit(scratch));
        }
        if switches.on(Mutant::RemoveBeforeCommit) && had_object {
            self.remove_old(scratch);
        }
        if switches.on(Mutant::CommitBeforeInsert) {
            let committed = self.commit(scratch);
            return Ok(committed.and_then(|committed| {
                self.insert_new(had_object, scratch)?;
                if had_object {
                    self.remove_old(scratch);
                }
                Ok(committed)
            }));
        }
        let committed = self.insert_new(had_object, scratch).and_then(|()| self.commit(scratch));
        if committed.is_err() {
            self.take_back(had_object, scratch);
        } else if had_object {
            if switches.on(Mutant::RemovalWithoutKeyLock) {
                drop(lock);
            }
            self.remove_old(scratch);
        }
        Ok(committed)
    }

    /// Copies the object to be replaced, but for its value; gives its version.
    fn read_current(&mut self, old: &mut Vec<u8>) -> Option<u64> {
        let mut current = None;
        self.collides = false;
        self.substrate.read(&mut self.view, self.hash, |object| {
            if object.primary() == self.primary {
                current = Some(object.version());
                old.clear();
                old.extend_from_slice(object.head());
            } else {
                self.collides = true;
            }
            ControlFlow::Continue(())
        });
        current
    }

    fn commit(&mut self, scratch: &WriteScratch) -> Result<Committed, Refused> {
        let commit = self.intent(scratch);
        self.substrate.commit(&mut self.view, commit)
    }

    fn intent<'s>(&self, scratch: &'s WriteScratch) -> Commit<'s>
    where
        'a: 's,
    {
        Commit {
            hash: self.hash,
            primary: self.primary,
            object: self.put.then_some(&scratch.image),
            expected: self.expected,
            generation: scratch.schema.generation,
            version: None,
        }
    }

    /// Asks for the places of the entries that will be removed, so that they come while others are
    /// inserted.
    fn foresee_removals(&self, scratch: &mut WriteScratch) {
        let new = ObjectRef::new(&scratch.image);
        for (index, key) in ObjectRef::new(&scratch.old).keys_beyond(Some(new)) {
            if scratch.schema.has(index) {
                entry::encode(key, self.hash, &mut scratch.entry);
                self.substrate.prefetch_entry(index, &scratch.entry);
            }
        }
    }

    /// Inserts the entries of the keys that the old object does not bear.
    fn insert_new(&mut self, had_object: bool, scratch: &mut WriteScratch) -> Result<(), Refused> {
        if !self.put {
            return Ok(());
        }
        if had_object {
            self.foresee_removals(scratch);
        }
        let mut hint = None;
        let old = had_object.then(|| ObjectRef::new(&scratch.old));
        for (index, key) in ObjectRef::new(&scratch.image).keys_beyond(old) {
            if !scratch.schema.has(index) {
                continue;
            }
            entry::encode(key, self.hash, &mut scratch.entry);
            let guess = || self.substrate.guess(&self.intent(scratch));
            let hint = *hint.get_or_insert_with(guess);
            if self.substrate.insert_entry(index, &scratch.entry, hint)? {
                self.grown = Some(index);
                scratch.grown.clone_from(&scratch.entry);
            }
        }
        Ok(())
    }

    /// Removes the entries of the new object that the old one does not bear.
    fn take_back(&self, had_object: bool, scratch: &mut WriteScratch) {
        if !self.put {
            return;
        }
        let old = had_object.then(|| ObjectRef::new(&scratch.old));
        for (index, key) in ObjectRef::new(&scratch.image).keys_beyond(old) {
            entry::encode(key, self.hash, &mut scratch.entry);
            self.remove_entry(index, key, &scratch.entry);
        }
    }

    /// Removes the entries of the old object that the new one does not bear.
    fn remove_old(&self, scratch: &mut WriteScratch) {
        let new = self.put.then(|| ObjectRef::new(&scratch.image));
        for (index, key) in ObjectRef::new(&scratch.old).keys_beyond(new) {
            if scratch.schema.has(index) {
                entry::encode(key, self.hash, &mut scratch.entry);
                self.remove_entry(index, key, &scratch.entry);
            }
        }
    }

    /// Removes an entry unless another object of the same hash bears the key. That object cannot
    /// change meanwhile: having the same hash, it has the same lock.
    fn remove_entry(&self, index: IndexId, key: &[u8], entry: &[u8]) {
        let mut shared = false;
        if self.collides && !self.substrate.switches().on(Mutant::RemovalIgnoresCollisions) {
            self.substrate.read(&mut self.substrate.view(), self.hash, |object| {
                shared |= object.primary() != self.primary && object.bears(index, key);
                ControlFlow::Continue(())
            });
        }
        if !shared {
            self.substrate.remove_entry(index, entry);
        }
    }
}

/// Whether new and old object have the same keys in the same order: the usual overwrite.
fn same_keys(scratch: &WriteScratch) -> bool {
    ObjectRef::new(&scratch.image).key_section() == ObjectRef::new(&scratch.old).key_section()
}
