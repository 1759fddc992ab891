//! Whether a file is a whole shared library for this machine. To load one that is cut short would
//! end the process: the missing pages are only found missing when they are used.

use std::{
    env::consts::ARCH,
    fs::File,
    io::{ErrorKind, Read},
    path::Path,
};

const HEADER_BYTES: usize = 64;
/// A 64-bit file, least significant byte first, of version 1.
const IDENTITY: &[u8] = b"\x7fELF\x02\x01\x01";
/// The type of a shared library.
const SHARED: u16 = 3;

/// Makes sure of it; if it is not so, says what the file is instead, as in "is no shared library".
pub(crate) fn check_library(path: &Path) -> Result<(), String> {
    let unreadable = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => "does not exist".to_owned(),
        _ => format!("cannot be read: {error}"),
    };
    let mut file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err("is not a file".to_owned());
    }
    let mut header = [0; HEADER_BYTES];
    match file.read_exact(&mut header) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            return Err("is no shared library".to_owned());
        }
        read => read.map_err(unreadable)?,
    }
    let wanted = wanted_bytes(&header)?;
    match metadata.len() {
        len if len < wanted => {
            Err(format!("is cut short: it should have {wanted} bytes and has {len}"))
        }
        _ => Ok(()),
    }
}

/// How many bytes a file with this header has at least: its tables of segments and of sections are in it.
/// Linkers write the latter at the end.
fn wanted_bytes(header: &[u8; HEADER_BYTES]) -> Result<u64, String> {
    let small = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    let large = |at: usize| {
        let bytes = header[at..].first_chunk().expect("the header is longer");
        u64::from_le_bytes(*bytes)
    };
    if !header.starts_with(IDENTITY) || small(16) != SHARED {
        return Err("is no shared library".to_owned());
    }
    let machine = match ARCH {
        "x86_64" => 62,
        "aarch64" => 183,
        _ => small(18),
    };
    if small(18) != machine {
        return Err(format!("is not made for {ARCH}"));
    }
    let end = |offset: usize, size: usize| {
        let table = u64::from(small(size)) * u64::from(small(size + 2));
        large(offset).saturating_add(table)
    };
    Ok(end(32, 54).max(end(40, 58)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The C library, which every test program has open.
    fn library() -> Vec<u8> {
        let maps = fs::read_to_string("/proc/self/maps").expect("the process's maps");
        let path = maps
            .lines()
            .filter_map(|line| line.split_whitespace().nth(5))
            .find(|path| path.contains("libc.so") || path.contains("libc-"));
        fs::read(path.expect("it is linked with a C library")).expect("it can be read")
    }

    fn checked(content: &[u8]) -> Result<(), String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("lib.so");
        fs::write(&path, content).expect("written");
        check_library(&path)
    }

    #[test]
    fn a_whole_library_is_taken_and_one_cut_short_is_not() {
        let library = library();
        checked(&library).expect("it is in use");
        for len in [HEADER_BYTES, library.len() / 2, library.len() - 1] {
            let refused = checked(&library[..len]).expect_err("cut short");
            assert!(refused.starts_with("is cut short"), "{len}: {refused}");
        }
    }

    #[test]
    fn what_is_no_library_or_for_another_machine_is_told_so() {
        for content in [&b""[..], b"#!/bin/sh\n", &[0; 4096], &library()[..20]] {
            assert_eq!(checked(content), Err("is no shared library".to_owned()));
        }
        let mut other = library();
        other[18] ^= 0x40;
        assert_eq!(checked(&other), Err(format!("is not made for {ARCH}")));
        assert_eq!(check_library(Path::new("/nowhere.so")), Err("does not exist".to_owned()));
        assert_eq!(check_library(Path::new("/")), Err("is not a file".to_owned()));
    }
}
