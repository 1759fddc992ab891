//! What a folder's file system is: whether anything there reaches stable storage.

use std::{io, path::Path};

use procfs::{Current, Meminfo};

/// The numbers by which the kernel names file systems in memory (statfs(2)).
const TMPFS: u32 = 0x0102_1994;
const RAMFS: u32 = 0x8584_58f6;

/// The name of the file system in memory that `folder` is on: nothing there is ever on stable
/// storage, and a sync costs nothing. `None` on a disk, or what stands for one.
///
/// # Errors
/// If the folder is not there, or may not be looked at.
pub fn in_memory(folder: &Path) -> io::Result<Option<&'static str>> {
    // The kernel's numbers have 32 bits, whatever the type is.
    Ok(match rustix::fs::statfs(folder)?.f_type as u32 {
        TMPFS => Some("tmpfs"),
        RAMFS => Some("ramfs"),
        _ => None,
    })
}

/// How many bytes more can be written to `folder`, by those who are not root too. On a file system in
/// memory that is not more than the memory that can be had; ramfs has no other bound.
///
/// # Errors
/// If the folder is not there, or may not be looked at, or a file system in memory is on a machine that does
/// not tell its memory.
pub fn free_bytes(folder: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(folder)?;
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let memory = || {
        let told = Meminfo::current().map_err(io::Error::other)?;
        told.mem_available.ok_or_else(|| io::Error::other("the kernel tells no MemAvailable"))
    };
    Ok(match in_memory(folder)? {
        None => free,
        Some("ramfs") => memory()?,
        Some(_) => free.min(memory()?),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_mounted_file_system_is_told_as_the_kernel_lists_it() {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let mounted = |path: &str| {
            // The last one mounted there is the one that is seen.
            let of = |line: &str| -> Option<String> {
                let mut fields = line.split(' ');
                (fields.nth(1)? == path).then(|| fields.next().map(str::to_owned))?
            };
            mounts.lines().rev().find_map(of)
        };
        let mut seen = 0;
        for path in mounts.lines().filter_map(|line| line.split(' ').nth(1)) {
            let Ok(told) = in_memory(Path::new(path)) else { continue };
            let kind = mounted(path).unwrap();
            // The kernel's own devtmpfs and the like are kept in a tmpfs and say so.
            if kind == "tmpfs" || kind == "ramfs" {
                assert_eq!(told, Some(&*kind), "{path}");
            } else if ["ext4", "xfs", "btrfs", "proc", "sysfs", "overlay"].contains(&&*kind) {
                assert_eq!(told, None, "{path}: {kind}");
            }
            seen += 1;
        }
        assert!(seen > 0, "{mounts}");
    }

    #[test]
    fn room_in_memory_is_no_more_than_the_memory_there_is() {
        let memory = Meminfo::current().unwrap().mem_total;
        for folder in ["/dev/shm", "/tmp"] {
            let free = free_bytes(Path::new(folder)).unwrap();
            let folder = Path::new(folder);
            assert!(in_memory(folder).unwrap().is_none() || free < memory, "{free} of {memory}");
        }
        let folder = tempfile::tempdir().unwrap();
        let before = free_bytes(folder.path()).unwrap();
        assert!(before > 0);
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        assert_eq!(in_memory(Path::new("/nowhere")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(free_bytes(Path::new("/nowhere")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
