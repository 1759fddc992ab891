//! Asking for memory before it is needed, so that several cache misses are waited for at once.

use prefetch_index::prefetch_index;

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// Asks for the cache line where an element begins; of no effect beyond the slice.
#[inline(always)]
pub(crate) fn index<T>(slice: &[T], at: usize) {
    prefetch_index(slice, at);
}

/// Asks for the cache lines where every so many elements begin as fit one. Costs an instruction a line
/// and waits for nothing.
#[inline(always)]
pub(crate) fn elements<T>(slice: &[T]) {
    for at in (0..slice.len()).step_by(LINE / size_of::<T>()) {
        prefetch_index(slice, at);
    }
}
