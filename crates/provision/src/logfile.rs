//! The end of a server's log.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

/// How much of the end of a log is read.
const TAIL_BYTES: u64 = 64 * 1024;

/// The last `count` lines that are not empty, oldest first; none if the log cannot be read.
pub(crate) fn tail(path: &Path, count: usize) -> Vec<String> {
    let bytes = read_end(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> =
        text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].iter().map(|&line| line.to_owned()).collect()
}

fn read_end(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_come_oldest_first() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let log = folder.path().join("server.log");
        std::fs::write(&log, "one\n\ntwo\nthree\n\n").expect("written");
        assert_eq!(tail(&log, 2), ["two", "three"]);
        assert_eq!(tail(&log, 9), ["one", "two", "three"]);
        assert_eq!(tail(&folder.path().join("none"), 9), Vec::<String>::new());
    }
}
