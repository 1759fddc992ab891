//! The files of a store that are not the log's: the lock, the format, and the note of a clean
//! closing.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::error::Error;

/// The format that this version writes, and the latest that it reads.
pub(super) const FORMAT: u32 = 1;

const LOCK: &str = "lock";
const DATA: &str = "data";
const NEW: &str = "new";
const LOG: &str = "log";
const FORMAT_FILE: &str = "format";
const CLOSED: &str = "closed";

/// The folder of a store, locked.
pub(super) struct Folder {
    pub(super) path: PathBuf,
    /// The operating system lets go of it when the process ends.
    lock: File,
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Closing the file is not enough where another thread is just starting a process, which
        // has the file open for a moment too.
        let _ = self.lock.unlock();
    }
}

/// What a clean closing left behind.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Closed {
    /// The number of this closing; the log ends with it.
    pub(super) closing: u64,
    pub(super) journals: Vec<String>,
    /// Objects by table.
    pub(super) objects: BTreeMap<u32, u64>,
}

impl Folder {
    /// Makes the folder if there is none, and locks it. One that has no store and something else is
    /// left as it is.
    pub(super) fn lock(path: &Path) -> Result<Folder, Error> {
        fs::create_dir_all(path).map_err(|e| Error::io("make the folder", path, &e))?;
        check_free(path)?;
        let lock = path.join(LOCK);
        let mut options = File::options();
        let file = options.create(true).truncate(false).write(true).open(&lock);
        let file = file.map_err(|e| Error::io("write to", &lock, &e))?;
        match file.try_lock() {
            Ok(()) => Ok(Folder { path: path.into(), lock: file }),
            Err(fs::TryLockError::WouldBlock) => Err(Error::Locked { path: path.into() }),
            Err(fs::TryLockError::Error(e)) => Err(Error::io("lock", &lock, &e)),
        }
    }

    pub(super) fn data(&self) -> PathBuf {
        self.path.join(DATA)
    }

    pub(super) fn log(&self) -> PathBuf {
        self.data().join(LOG)
    }

    /// Makes an empty store unless there is one: under another name, which is then changed, so
    /// that a store half made is never taken for one.
    pub(super) fn create(
        &self,
        make_log: impl Fn(&Path) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let data = self.data();
        if data.try_exists().map_err(|e| Error::io("look for", &data, &e))? {
            return Ok(());
        }
        let new = self.path.join(NEW);
        if new.try_exists().map_err(|e| Error::io("look for", &new, &e))? {
            fs::remove_dir_all(&new).map_err(|e| Error::io("remove", &new, &e))?;
        }
        fs::create_dir(&new).map_err(|e| Error::io("make the folder", &new, &e))?;
        make_log(&new.join(LOG))?;
        write_synced(&new.join(FORMAT_FILE), &format_line(FORMAT))?;
        sync_folder(&new)?;
        fs::rename(&new, &data).map_err(|e| Error::io("rename", &new, &e))?;
        sync_folder(&self.path)
    }

    /// Refuses a format that is not known.
    pub(super) fn check_format(&self) -> Result<(), Error> {
        let path = self.data().join(FORMAT_FILE);
        let text = fs::read(&path).map_err(|e| Error::io("read", &path, &e))?;
        let text = String::from_utf8_lossy(&text);
        let found = text.strip_prefix("slik ").and_then(|rest| rest.split(' ').next());
        let found = found.and_then(|number| number.parse().ok());
        match found.filter(|&number| format_line(number) == text) {
            None | Some(0) => Err(Error::damaged(&path, "it names no format")),
            Some(found) if found > FORMAT => {
                Err(Error::NewerFormat { path: self.path.clone(), found, known: FORMAT })
            }
            Some(_) => Ok(()),
        }
    }

    /// What the last closing left behind; nothing if the store was not closed.
    pub(super) fn closed(&self) -> Result<Option<Closed>, Error> {
        let path = self.data().join(CLOSED);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::io("read", &path, &e)),
        };
        let closed = Closed::decode(&bytes);
        closed.map(Some).ok_or_else(|| Error::damaged(&path, "its checksum is not its contents'"))
    }

    /// From now on the store counts as in use.
    pub(super) fn forget_closed(&self) -> Result<(), Error> {
        let path = self.data().join(CLOSED);
        fs::remove_file(&path).map_err(|e| Error::io("remove", &path, &e))?;
        sync_folder(&self.data())
    }

    /// Notes that the store is closed and whole.
    pub(super) fn note_closed(&self, closed: &Closed) -> Result<(), Error> {
        let (path, new) = (self.data().join(CLOSED), self.data().join("closed.new"));
        write_synced(&new, &closed.encode())?;
        fs::rename(&new, &path).map_err(|e| Error::io("rename", &new, &e))?;
        sync_folder(&self.data())
    }
}

/// Refuses a folder that has no store, or the beginning of one, but something else.
fn check_free(path: &Path) -> Result<(), Error> {
    let reading = |e| Error::io("read the folder", path, &e);
    let mut other = None;
    for entry in fs::read_dir(path).map_err(reading)? {
        let name = entry.map_err(reading)?.file_name();
        if name == DATA {
            return Ok(());
        }
        // The last one is in the root of a file system.
        if ![LOCK, NEW, "lost+found"].iter().any(|own| name == *own) {
            other = Some(name);
        }
    }
    match other {
        None => Ok(()),
        Some(found) => Err(Error::NotAStore {
            path: path.into(),
            found: found.to_string_lossy().escape_debug().to_string(),
        }),
    }
}

impl Closed {
    fn encode(&self) -> String {
        let mut text = format!("closing {}\n", self.closing);
        for journal in &self.journals {
            text += &format!("journal {journal}\n");
        }
        for (table, objects) in &self.objects {
            text += &format!("objects {table} {objects}\n");
        }
        let checksum = xxh3_64(text.as_bytes());
        text + &format!("checksum {checksum:016x}\n")
    }

    fn decode(bytes: &[u8]) -> Option<Closed> {
        let text = std::str::from_utf8(bytes).ok()?;
        let mut closed = Closed::default();
        for line in text.lines() {
            let mut words = line.split(' ');
            match (words.next()?, words.next()?, words.next()) {
                ("closing", number, None) => closed.closing = number.parse().ok()?,
                ("journal", name, None) => closed.journals.push(name.to_owned()),
                ("objects", table, Some(objects)) => {
                    closed.objects.insert(table.parse().ok()?, objects.parse().ok()?);
                }
                ("checksum", _, None) => {}
                _ => return None,
            }
        }
        // Whatever it was taken for is what was written, if it is written the same.
        (closed.encode() == text).then_some(closed)
    }
}

fn format_line(format: u32) -> String {
    let line = format!("slik {format}");
    format!("{line} {:016x}\n", xxh3_64(line.as_bytes()))
}

fn write_synced(path: &Path, text: &str) -> Result<(), Error> {
    let written = File::create(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|e| Error::io("write to", path, &e))
}

/// Makes the names in a folder durable.
pub(super) fn sync_folder(path: &Path) -> Result<(), Error> {
    #[cfg(unix)]
    File::open(path)
        .and_then(|folder| folder.sync_all())
        .map_err(|e| Error::io("sync", path, &e))?;
    Ok(())
}

/// Bytes of disk that the files below a folder take.
pub(super) fn disk_bytes(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else { return 0 };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => disk_bytes(&entry.path()),
        #[cfg(unix)]
        Ok(metadata) => std::os::unix::fs::MetadataExt::blocks(&metadata) * 512,
        #[cfg(not(unix))]
        Ok(metadata) => metadata.len(),
        // Files come and go.
        Err(_) => 0,
    });
    sizes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_of_closing_comes_back_and_a_changed_one_does_not() {
        let closed = Closed {
            closing: 3,
            journals: vec!["0.jnl".into(), "1.jnl".into()],
            objects: [(1, 10), (4, 0)].into(),
        };
        let text = closed.encode().into_bytes();
        assert_eq!(Closed::decode(&text), Some(closed));
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut other = text.clone();
                other[at] ^= 1 << bit;
                assert_eq!(Closed::decode(&other), None, "byte {at}, bit {bit}");
            }
            assert_eq!(Closed::decode(&text[..at]), None);
        }
    }
}
