//! Locks at which the explorer may switch threads. On threads that are not explored they are
//! plain locks.

use std::ops::{Deref, DerefMut};

use super::scheduler;

#[derive(Default)]
pub(crate) struct Mutex<T>(parking_lot::Mutex<T>);

pub(crate) struct RwLock<T>(parking_lot::RwLock<T>);

/// A guard that tells the explorer when it is gone.
pub(crate) struct Guard<G>(Option<G>);

pub(crate) type MutexGuard<'a, T> = Guard<parking_lot::MutexGuard<'a, T>>;
pub(crate) type RwLockReadGuard<'a, T> = Guard<parking_lot::RwLockReadGuard<'a, T>>;
pub(crate) type RwLockWriteGuard<'a, T> = Guard<parking_lot::RwLockWriteGuard<'a, T>>;

/// Lets others go first, then takes the lock when it is free.
fn acquire<G>(attempt: impl Fn() -> Option<G>, wait: impl FnOnce() -> G) -> Guard<G> {
    if !scheduler::is_explored() {
        return Guard(Some(wait()));
    }
    scheduler::step();
    loop {
        if let Some(guard) = attempt() {
            return Guard(Some(guard));
        }
        scheduler::blocked();
    }
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Mutex<T> {
        Mutex(parking_lot::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        acquire(|| self.0.try_lock(), || self.0.lock())
    }

    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        scheduler::step();
        self.0.try_lock().map(|guard| Guard(Some(guard)))
    }
}

impl<T> RwLock<T> {
    pub(crate) fn new(value: T) -> RwLock<T> {
        RwLock(parking_lot::RwLock::new(value))
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
        acquire(|| self.0.try_read(), || self.0.read())
    }

    /// Not a place to switch: what is read this way must not change what the store does.
    pub(crate) fn try_read(&self) -> Option<parking_lot::RwLockReadGuard<'_, T>> {
        self.0.try_read()
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T> {
        acquire(|| self.0.try_write(), || self.0.write())
    }
}

impl<G: Deref> Deref for Guard<G> {
    type Target = G::Target;

    fn deref(&self) -> &G::Target {
        self.0.as_ref().expect("a guard is there until it is dropped")
    }
}

impl<G: DerefMut> DerefMut for Guard<G> {
    fn deref_mut(&mut self) -> &mut G::Target {
        self.0.as_mut().expect("a guard is there until it is dropped")
    }
}

impl<G> Drop for Guard<G> {
    fn drop(&mut self) {
        self.0 = None;
        scheduler::released();
    }
}
