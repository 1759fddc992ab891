//! Temporary folders that disappear with Assay.
//!
//! A folder belongs to a warden, which makes it, locks a file in it and removes it. The lock tells
//! whose warden is gone: [`sweep`] removes only folders that hold the lock file of a warden that
//! no longer holds the lock.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::fs::{FlockOperation, OFlags};

use crate::{
    error::{StartError, StopError},
    lifeline::Lifeline,
    warden::Warden,
};

/// How every folder's name begins.
const PREFIX: &str = "assay-";
/// The file whose lock the warden holds.
const LOCK: &str = ".assay-lock";

/// A temporary folder, for the files of a store in Assay's own process. It and all in it disappear
/// when this value is dropped, and however Assay ends.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Closing it removes the folder.
    lifeline: Lifeline,
}

impl Folder {
    /// Makes an empty folder in `parent`, kept by a warden of its own. Removes what earlier
    /// wardens left there.
    pub fn create(parent: &Path, warden: &Warden) -> Result<Folder, StartError> {
        sweep(parent);
        let mut lifeline = Lifeline::hold(warden, "a folder")?;
        let kept = lifeline.folder(parent, "data", false)?;
        // Inside the kept folder: what counts the data's bytes does not meet the lock file.
        let path = kept.join("data");
        fs::create_dir(&path).map_err(|error| StartError::Folder {
            parent: parent.to_path_buf(),
            why: error.to_string(),
        })?;
        Ok(Folder { path, lifeline })
    }

    /// The empty folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the folder and says if that failed; dropping does the same in silence.
    pub fn close(mut self) -> Result<(), StopError> {
        self.lifeline.close()
    }
}

/// A folder as its warden holds it.
#[derive(Debug)]
pub(crate) struct LockedFolder {
    path: PathBuf,
    /// Open for as long as the lock is to be held.
    lock: File,
}

impl LockedFolder {
    /// Makes and locks a folder `assay-<prefix>-XXXXXX` in `parent`, closed to other users or, if
    /// `open`, letting them pass through.
    pub fn create(parent: &Path, prefix: &str, open: bool) -> io::Result<LockedFolder> {
        let made = tempfile::Builder::new()
            .prefix(&format!("{PREFIX}{prefix}-"))
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(parent)?;
        let fresh = made.path().join(".assay-lock.new");
        let lock = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        // Named only once locked: a sweep never sees the file without its lock.
        fs::rename(&fresh, made.path().join(LOCK))?;
        if open {
            fs::set_permissions(made.path(), Permissions::from_mode(0o711))?;
        }
        Ok(LockedFolder { path: made.keep(), lock })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the folder, also while something that was just killed still writes in it.
    pub fn remove(self) -> io::Result<()> {
        // Held to the end: no sweep comes between.
        let LockedFolder { path, lock: _lock } = self;
        let mut outcome = remove_all(&path);
        for _ in 0..20 {
            match &outcome {
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
                _ => break,
            }
            std::thread::sleep(Duration::from_millis(50));
            outcome = remove_all(&path);
        }
        outcome
    }
}

/// Removes the folders in `parent` whose warden was killed, and returns them. Folders of running
/// wardens, of other users, and folders that no warden made are left alone; so is what cannot be
/// removed.
pub fn sweep(parent: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX))
        .map(|entry| entry.path())
        .filter(|path| is_stale(path) && remove_all(path).is_ok())
        .collect()
}

fn is_stale(path: &Path) -> bool {
    let me = rustix::process::geteuid().as_raw();
    let ours = fs::symlink_metadata(path).is_ok_and(|folder| folder.is_dir() && folder.uid() == me);
    let lock = OpenOptions::new()
        .write(true)
        .custom_flags(OFlags::NOFOLLOW.bits() as i32)
        .open(path.join(LOCK));
    match lock {
        Ok(lock) if ours => {
            rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()
        }
        _ => false,
    }
}

/// Removes the folder, the lock file last: a removal cut short is taken up by the next sweep.
fn remove_all(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == LOCK {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_file(folder.join(LOCK))?;
    fs::remove_dir(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweep_removes_what_no_warden_holds_and_nothing_else() {
        let parent = tempfile::tempdir().expect("a temporary folder");
        let held = LockedFolder::create(parent.path(), "redis", false).expect("made");
        let stale = LockedFolder::create(parent.path(), "postgres", true).expect("made");
        let stale_path = stale.path().to_path_buf();
        fs::create_dir(stale_path.join("data")).expect("created");
        fs::write(stale_path.join("data/file"), "left over").expect("written");
        // Not by closing it: a process forked at this moment would still hold it.
        rustix::fs::flock(&stale.lock, FlockOperation::Unlock).expect("unlocked");
        let results = parent.path().join("assay-results");
        fs::create_dir(&results).expect("created");
        fs::write(results.join("record.json"), "{}").expect("written");

        assert_eq!(sweep(parent.path()), std::slice::from_ref(&stale_path));

        assert!(!stale_path.exists());
        assert!(held.path().join(LOCK).exists());
        assert!(results.join("record.json").exists());
        let held_path = held.path().to_path_buf();
        held.remove().expect("removed");
        assert!(!held_path.exists());
    }
}
