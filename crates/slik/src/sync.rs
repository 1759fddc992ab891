//! Locks. In tests they are also the points where the explorer of interleavings may switch
//! threads; otherwise they are `parking_lot`'s.

#[cfg(not(test))]
pub(crate) use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard};

#[cfg(test)]
pub(crate) use crate::explore::locks::{Mutex, MutexGuard, RwLock, RwLockReadGuard};

/// A point where another thread may go first.
#[inline(always)]
pub(crate) fn step() {
    #[cfg(test)]
    crate::explore::scheduler::step();
}
