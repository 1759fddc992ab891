//! Copies of a store's folder, and what may be wrong with them.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// All files below a folder, in order.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The contents up to the last byte that is not zero.
pub fn used(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    File::open(path).unwrap().read_to_end(&mut bytes).unwrap();
    let blocks = bytes.len().div_ceil(4096);
    let used = (0..blocks)
        .rev()
        .find(|i| bytes[i * 4096..bytes.len().min((i + 1) * 4096)].iter().any(|&byte| byte != 0));
    bytes.truncate(used.map_or(0, |i| (i + 1) * 4096));
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    bytes
}

/// Copies a folder; zeros at the end of a file are left out but counted in its length.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            let length = path.metadata().unwrap().len();
            let contents = used(&path);
            let mut file = File::create(&target).unwrap();
            file.write_all(&contents).unwrap();
            file.set_len(length).unwrap();
        }
    }
}

/// The journal that was written to last.
pub fn last_journal(store: &Path) -> PathBuf {
    let journals = files(store).into_iter().filter(|path| path.extension() == Some("jnl".as_ref()));
    let number = |path: &PathBuf| path.file_stem().unwrap().to_str().unwrap().parse::<u64>();
    journals.max_by_key(|path| number(path).unwrap()).unwrap()
}

pub fn put_bytes(path: &Path, at: u64, bytes: &[u8]) {
    let mut file = File::options().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(bytes).unwrap();
}
