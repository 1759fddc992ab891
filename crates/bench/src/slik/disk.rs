//! The disk that files of durable stores are on, and what it was asked to do.

use std::{
    fs::{self, File},
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use assay_measure::file_system;
use tempfile::TempDir;

/// Where in a disk's statistics its flushes are counted.
const FLUSHES: usize = 15;

const JOURNAL_BYTES: u64 = 64 << 20;

/// A folder on a disk.
pub struct Disk {
    place: PathBuf,
    /// The disk's statistics, if the folder's file system is on one disk.
    statistics: Option<PathBuf>,
}

impl Disk {
    /// The disk of a folder. An error for a folder in memory: nothing there has to be synced.
    pub fn of(place: &Path) -> anyhow::Result<Disk> {
        let context = || format!("cannot put files in {}", place.display());
        if let Some(name) = file_system::in_memory(place).with_context(context)? {
            bail!(
                "{} is on {name}, where a sync costs nothing: name a folder on a disk with \
                 --folder",
                place.display()
            );
        }
        let device = fs::metadata(place).with_context(context)?.dev();
        Ok(Disk { place: place.into(), statistics: statistics(device) })
    }

    /// An empty folder on it.
    pub fn folder(&self) -> anyhow::Result<TempDir> {
        tempfile::Builder::new()
            .prefix("assay-bench-")
            .tempdir_in(&self.place)
            .with_context(|| format!("cannot make a folder in {}", self.place.display()))
    }

    /// Where files are put.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// How often it has brought its cache onto the medium, for all programs together, where the
    /// kernel counts that.
    pub fn flushes(&self) -> Option<u64> {
        flushes(&fs::read_to_string(self.statistics.as_ref()?).ok()?)
    }
}

/// The statistics of a device, or of the disk that it is a part of: flushes are counted for whole
/// disks.
fn statistics(device: u64) -> Option<PathBuf> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let device = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    let disk = if device.join("partition").exists() { device.parent()? } else { &device };
    Some(disk.join("stat"))
}

fn flushes(statistics: &str) -> Option<u64> {
    statistics.split_whitespace().nth(FLUSHES)?.parse().ok()
}

/// A file that is written to and synced piece by piece. It is made as the journals of fjall are,
/// which slik's log has: with its full length, and no blocks yet.
pub struct SyncedFile {
    file: File,
    at: u64,
    /// Holds the file.
    _folder: TempDir,
}

impl SyncedFile {
    /// An empty one.
    pub fn new(disk: &Disk) -> anyhow::Result<SyncedFile> {
        let folder = disk.folder()?;
        let file = File::create(folder.path().join("file"))?;
        file.set_len(JOURNAL_BYTES)?;
        file.sync_all()?;
        Ok(SyncedFile { file, at: 0, _folder: folder })
    }

    /// Writes so many bytes and syncs them, again and again for some time. How long that takes
    /// each time, in seconds.
    pub fn sync_s(&mut self, bytes: usize, time: Duration) -> anyhow::Result<f64> {
        let written = vec![b'x'; bytes];
        let (began, mut syncs) = (Instant::now(), 0);
        while began.elapsed() < time {
            if self.at + bytes as u64 > JOURNAL_BYTES {
                self.file.set_len(0)?;
                self.file.set_len(JOURNAL_BYTES)?;
                self.at = 0;
            }
            self.file.write_all_at(&written, self.at)?;
            self.file.sync_data()?;
            self.at += bytes as u64;
            syncs += 1;
        }
        Ok(began.elapsed().as_secs_f64() / f64::from(syncs))
    }
}

/// What the files of a folder take of a disk, not counting holes.
pub fn file_bytes(folder: &Path) -> anyhow::Result<u64> {
    let blocks = files(folder)?.into_iter().map(|(_, metadata)| metadata.blocks());
    Ok(blocks.sum::<u64>() * 512)
}

/// The files of a folder and of those in it.
pub fn files(folder: &Path) -> anyhow::Result<Vec<(PathBuf, fs::Metadata)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        if metadata.is_dir() {
            found.extend(files(&entry.path())?);
        } else {
            found.push((entry.path(), metadata));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flushes_are_the_sixteenth_number() {
        let line = " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 1706597 17\n";
        assert_eq!(flushes(line), Some(1_706_597));
        // Before Linux 5.5 there were fewer.
        assert_eq!(flushes("1 2 3 4 5 6 7 8 9 10 11"), None);
    }

    #[test]
    fn a_folder_in_memory_is_refused() {
        let in_memory = Path::new("/dev/shm");
        if matches!(file_system::in_memory(in_memory), Ok(Some(_))) {
            let error = Disk::of(in_memory).map(drop).unwrap_err().to_string();
            assert!(error.contains("--folder"), "{error}");
        }
        let error = Disk::of(Path::new("/nowhere")).map(drop).unwrap_err().to_string();
        assert!(error.contains("/nowhere"), "{error}");
    }

    #[test]
    fn files_are_found_in_folders_of_folders_and_their_holes_not_counted() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("inner")).unwrap();
        fs::write(folder.path().join("inner/one"), vec![1; 10_000]).unwrap();
        let hole = fs::File::create(folder.path().join("hole")).unwrap();
        hole.set_len(1 << 30).unwrap();
        hole.sync_all().unwrap();
        fs::File::open(folder.path().join("inner/one")).unwrap().sync_all().unwrap();
        assert_eq!(files(folder.path()).unwrap().len(), 2);
        let bytes = file_bytes(folder.path()).unwrap();
        assert!((10_000..1 << 20).contains(&bytes), "{bytes}");
    }
}
