//! The load: its writes are buffered, and however it ends, the store has its own level again.

use ::slik::{Durability, Error, Store};
use assay_model::FieldValue;

use super::{failed, session::SlikSession};
use crate::{Loader, SystemError};

const ACTION: &str = "load the records";

/// Has all on disk in the end if that is the store's level.
pub(super) struct SlikLoader {
    session: SlikSession,
    buffered: Buffered<Store>,
}

impl SlikLoader {
    /// A loader of the table of `session`, whose store has this level otherwise.
    pub(super) fn begin(
        store: Store,
        session: SlikSession,
        level: Durability,
    ) -> Result<SlikLoader, SystemError> {
        let buffered = Buffered::begin(store, level).map_err(|error| failed(ACTION, error))?;
        Ok(SlikLoader { session, buffered })
    }
}

impl Loader for SlikLoader {
    fn insert(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), SystemError> {
        self.session.put(key, values).map_err(|error| failed(ACTION, error))
    }

    fn finish(mut self: Box<Self>) -> Result<(), SystemError> {
        self.buffered.end().map_err(|error| failed(ACTION, error))
    }
}

/// What the level can be set of.
trait Levelled {
    fn set_level(&self, level: Durability) -> Result<(), Error>;
}

impl Levelled for Store {
    fn set_level(&self, level: Durability) -> Result<(), Error> {
        self.set_durability(level)
    }
}

/// A store at the level `Buffered`, until this is ended or dropped.
struct Buffered<S: Levelled> {
    store: S,
    /// The level to go back to; `None` once that was tried.
    level: Option<Durability>,
}

impl<S: Levelled> Buffered<S> {
    fn begin(store: S, level: Durability) -> Result<Buffered<S>, Error> {
        store.set_level(Durability::Buffered)?;
        Ok(Buffered { store, level: Some(level) })
    }

    /// Sets the level again. When this returns, what was written meanwhile has it too.
    fn end(&mut self) -> Result<(), Error> {
        self.level.take().map_or(Ok(()), |level| self.store.set_level(level))
    }
}

impl<S: Levelled> Drop for Buffered<S> {
    fn drop(&mut self) {
        // A load that was given up has no use for the reason. If the disk failed, the store itself
        // refuses every later write.
        let _ = self.end();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Keeps what it was set to; refuses one level.
    #[derive(Default)]
    struct Levels {
        set: RefCell<Vec<Durability>>,
        refused: Option<Durability>,
    }

    impl Levelled for &Levels {
        fn set_level(&self, level: Durability) -> Result<(), Error> {
            self.set.borrow_mut().push(level);
            if self.refused == Some(level) {
                return Err(Error::Closed { path: "store".into() });
            }
            Ok(())
        }
    }

    const LOADED: [Durability; 2] = [Durability::Buffered, Durability::Synced];

    #[test]
    fn a_load_that_is_given_up_leaves_the_store_at_its_level() {
        let levels = Levels::default();
        let buffered = Buffered::begin(&levels, Durability::Synced).unwrap();
        assert_eq!(*levels.set.borrow(), LOADED[..1]);
        drop(buffered);
        assert_eq!(*levels.set.borrow(), LOADED);
    }

    #[test]
    fn a_load_that_ends_sets_the_level_once_and_says_if_that_fails() {
        for refused in [None, Some(Durability::Synced)] {
            let levels = Levels { refused, ..Levels::default() };
            let mut buffered = Buffered::begin(&levels, Durability::Synced).unwrap();
            assert_eq!(buffered.end().is_err(), refused.is_some());
            drop(buffered);
            assert_eq!(*levels.set.borrow(), LOADED);
        }
    }

    #[test]
    fn a_load_that_cannot_begin_changes_nothing() {
        let levels = Levels { refused: Some(Durability::Buffered), ..Levels::default() };
        assert!(Buffered::begin(&levels, Durability::Synced).is_err());
        assert_eq!(*levels.set.borrow(), LOADED[..1]);
    }
}
