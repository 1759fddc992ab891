//! Huge pages under what a process holds in memory.
//!
//! Where the pages of a store in this process lie in the machine's memory, and how many of them its
//! address translation caches hold, is chance, and differs from one start of the store to the next:
//! two copies of one store differ by several per cent. With pages of 2 MiB little of that is left
//! (`docs/performance.md`), and what differs for a reason is seen with fewer repeats.

use procfs::process::{MMPermissions, MMapPath, Process};

/// The size of a huge page on x86-64, and on ARM with pages of 4 KiB.
const HUGE_PAGE: u64 = 2 << 20;

/// Has the kernel bring the process's anonymous memory onto huge pages, as far as it can, and
/// returns how many bytes now lie so: `MADV_COLLAPSE` of madvise(2), Linux 6.1 and later. What
/// cannot be done is left as it is: it is a matter of speed only.
pub fn collapse() -> u64 {
    let maps = Process::myself().and_then(|process| process.maps());
    let mut bytes = 0;
    for map in maps.into_iter().flatten() {
        let (from, to) = map.address;
        let data = MMPermissions::READ | MMPermissions::WRITE | MMPermissions::PRIVATE;
        let anonymous = matches!(map.pathname, MMapPath::Anonymous | MMapPath::Heap);
        let (from, to) = (from.next_multiple_of(HUGE_PAGE), to / HUGE_PAGE * HUGE_PAGE);
        if anonymous && map.perms == data && from < to {
            // SAFETY: it changes where memory lies and never what it holds, and of an address that
            // another thread has unmapped meanwhile it is refused.
            let done = unsafe {
                libc::madvise(from as *mut libc::c_void, (to - from) as usize, libc::MADV_COLLAPSE)
            };
            bytes += if done == 0 { to - from } else { 0 };
        }
    }
    bytes
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
}
