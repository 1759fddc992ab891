//! Paths with versions in their names, newest first.

use std::{
    cmp::Ordering,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

/// What was fetched into `shelf`, newest version first.
pub(crate) fn versions_in(shelf: &Path) -> Vec<PathBuf> {
    let mut versions: Vec<PathBuf> = fs::read_dir(shelf)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| !is_hidden(path))
        .collect();
    versions.sort_by(|a, b| by_version(b.as_os_str(), a.as_os_str()));
    versions
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// The existing paths that `pattern` stands for, newest version first. Each part of it may have
/// one `*`.
pub(crate) fn expand(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for part in pattern.components() {
        let part = part.as_os_str();
        match part.to_str().and_then(|text| text.split_once('*')) {
            None => found.iter_mut().for_each(|path| path.push(part)),
            Some((start, end)) => {
                let mut next = Vec::new();
                for folder in &found {
                    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
                    next.extend(entries.map(|entry| entry.path()).filter(|path| {
                        let name = path.file_name().unwrap_or_default().to_string_lossy();
                        name.len() >= start.len() + end.len()
                            && name.starts_with(start)
                            && name.ends_with(end)
                    }));
                }
                next.sort_by(|a, b| by_version(b.as_os_str(), a.as_os_str()));
                found = next;
            }
        }
    }
    found.retain(|path| path.exists());
    found
}

/// Orders names with numbers in them as people do: `9.6` before `15`.
fn by_version(a: &OsStr, b: &OsStr) -> Ordering {
    let numbers = |name: &OsStr| -> Vec<u64> {
        name.to_string_lossy()
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|digits| digits.parse().ok())
            .collect()
    };
    numbers(a).cmp(&numbers(b)).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        let mut names = ["9.6", "15", "15.2", "10"].map(OsStr::new);
        names.sort_by(|a, b| by_version(a, b));
        assert_eq!(names, ["9.6", "10", "15", "15.2"].map(OsStr::new));
    }
}
