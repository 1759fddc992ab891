//! What a folder's file system is: whether anything there reaches stable storage.

use std::{io, path::Path};

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
    fn a_folder_that_is_not_there_is_an_error() {
        assert_eq!(in_memory(Path::new("/nowhere")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
