//! The allocator of Assay's programs: jemalloc on huge pages, for the stores in their process, those
//! written in C too.
//!
//! Where the pages of a store lie in the machine's memory, and how many of them its address
//! translation caches hold, is chance, and differs from one start of the store to the next. With
//! pages of 2 MiB little of that is left: the ratio of two copies of one store, each started anew
//! for every repeat, scatters half as much (`docs/performance.md`), so that half the difference is
//! seen with the same repeats. All embedded stores have the same allocator; where the kernel gives
//! no huge pages (`/sys/kernel/mm/transparent_hugepage/enabled`), all have small ones.
//!
//! A program takes it by naming this crate: `use assay_allocator as _;`.

use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// jemalloc's settings, which it reads before the program begins (jemalloc(3), "TUNING").
#[allow(non_upper_case_globals)]
// SAFETY: jemalloc declares `malloc_conf` as a pointer to a string that ends with a zero, and no
// other part of the program defines it.
#[unsafe(export_name = "malloc_conf")]
pub static malloc_conf: Option<&'static std::ffi::c_char> = {
    const SETTINGS: &std::ffi::CStr = c"thp:always";
    // SAFETY: a string has a first byte.
    Some(unsafe { &*SETTINGS.as_ptr() })
};
