//! Whether the process that writes a run still lives: it holds a lock on the run's folder, which the
//! kernel takes back however the process ends.

use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
};

/// Takes the lock, which is held for as long as the file is open. Readers hold theirs for a moment
/// only, so this does not wait for long.
pub(crate) fn hold(folder: &Path) -> io::Result<File> {
    let lock = File::open(folder)?;
    lock.lock()?;
    Ok(lock)
}

/// Whether a process still writes the run in `folder`. A run whose header says
/// [`Running`](crate::RunStatus::Running) and that nobody writes was killed.
///
/// Where the file system knows no locks nothing can be told, and the header is to be believed: the
/// answer is yes.
pub fn is_being_written(folder: &Path) -> bool {
    let Ok(file) = File::open(folder) else { return false };
    match file.try_lock_shared() {
        Ok(()) => false,
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_being_written_for_as_long_as_its_lock_is_held() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_being_written(folder.path()));
        let lock = hold(folder.path()).unwrap();
        assert!(is_being_written(folder.path()));
        assert!(is_being_written(folder.path()), "looking changes nothing");
        drop(lock);
        assert!(!is_being_written(folder.path()));
        assert!(!is_being_written(&folder.path().join("gone")));
    }
}
