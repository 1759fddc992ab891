//! Huge pages under what a process holds in memory.
//!
//! Where the pages of a store in this process lie in the machine's memory, and how many of them its
//! address translation caches hold, is chance, and differs from one start of the store to the next:
//! two copies of one store differ by several per cent. With pages of 2 MiB little of that is left
//! (`docs/performance.md`), and what differs for a reason is seen with fewer repeats.

use procfs::process::{MMPermissions, MMapPath, Process};

/// The size of a huge page on x86-64, and on ARM with pages of 4 KiB.
const HUGE_PAGE: u64 = 2 << 20;

/// Has the kernel bring the process's anonymous memory onto huge pages, as far as it can:
/// `MADV_COLLAPSE` of madvise(2), Linux 6.1 and later. What cannot be done is left as it is: it is a
/// matter of speed only, and [`bytes`] tells.
pub fn collapse() {
    let maps = Process::myself().and_then(|process| process.maps());
    for map in maps.into_iter().flatten() {
        let (from, to) = map.address;
        let data = MMPermissions::READ | MMPermissions::WRITE | MMPermissions::PRIVATE;
        let anonymous = matches!(map.pathname, MMapPath::Anonymous | MMapPath::Heap);
        let (from, to) = (from.next_multiple_of(HUGE_PAGE), to / HUGE_PAGE * HUGE_PAGE);
        if anonymous && map.perms == data && from < to {
            // SAFETY: it changes where memory lies and never what it holds, and of an address that
            // another thread has unmapped meanwhile it is refused. A refusal says nothing of how
            // much was done before: one untouched huge page in the mapping brings it.
            unsafe {
                libc::madvise(from as *mut libc::c_void, (to - from) as usize, libc::MADV_COLLAPSE)
            };
        }
    }
}

/// How many bytes of the process's anonymous memory lie on huge pages now, by the kernel's account
/// (`AnonHugePages` of smaps_rollup); `None` if it keeps none.
pub fn bytes() -> Option<u64> {
    let rollup = Process::myself().and_then(|process| process.smaps_rollup()).ok()?;
    rollup
        .memory_map_rollup
        .into_iter()
        .find_map(|map| map.extension.map.get("AnonHugePages").copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_holds_what_it_held() {
        let numbers: Vec<u64> = (0..4 << 20).collect();
        collapse();
        assert!((0..4 << 20).eq(numbers));
    }

    #[test]
    fn what_the_kernel_brought_onto_huge_pages_is_counted() {
        let numbers: Vec<u64> = (0..4 << 20).collect();
        collapse();
        let all = numbers.as_ptr_range();
        let from = (all.start as u64).next_multiple_of(HUGE_PAGE);
        let whole = (all.end as u64 - from) / HUGE_PAGE * HUGE_PAGE;
        // SAFETY: a part of `numbers`; where it lies may change, and what it holds may not.
        let done = unsafe {
            libc::madvise(from as *mut libc::c_void, whole as usize, libc::MADV_COLLAPSE)
        };
        let counted = bytes().expect("the kernel has smaps_rollup since 4.14");
        // Refused before Linux 6.1, or without so many huge pages free: then nothing is promised.
        if done == 0 {
            assert!(counted >= whole && whole >= 15 * HUGE_PAGE, "{counted} of {whole}");
        }
        assert!((0..4 << 20).eq(numbers));
    }
}
