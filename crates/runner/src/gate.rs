//! Where the lanes of a phase wait for each other: before the window opens until all are ready,
//! and after the end until what they used has been sampled.

use std::sync::{
    OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use assay_measure::recorder::Window;

/// When a phase counts and when it stops, known once every lane is ready.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// When lanes begin, on the clock: with the window, or before it.
    pub begin_ns: u64,
    /// What counts.
    pub window: Window,
    /// When lanes stop issuing, on the clock.
    pub stop_ns: u64,
}

/// The gate of one phase.
#[derive(Debug, Default)]
pub struct Gate {
    ready: AtomicUsize,
    opening: OnceLock<Opening>,
    released: OnceLock<()>,
}

impl Gate {
    /// A lane is ready: waits until the phase opens.
    pub fn enter(&self) -> Opening {
        self.ready.fetch_add(1, Ordering::Release);
        *self.opening.wait()
    }

    /// A lane has ended: waits until its thread may go.
    pub fn leave(&self) {
        self.released.wait();
    }

    /// How many lanes are ready.
    pub fn ready(&self) -> usize {
        self.ready.load(Ordering::Acquire)
    }

    /// Opens the phase. Only the first time counts.
    pub fn open(&self, opening: Opening) {
        self.opening.get_or_init(|| opening);
    }

    /// Lets the threads go.
    pub fn release(&self) {
        self.released.get_or_init(|| ());
    }
}
