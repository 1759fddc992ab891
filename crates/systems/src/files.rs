//! Files that a store keeps, some of them only at times.

use std::{fs, io, path::Path};

/// The size of a file, 0 if there is none.
pub(crate) fn size(file: &Path) -> io::Result<u64> {
    match fs::metadata(file) {
        Ok(metadata) => Ok(metadata.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

/// What a removal came to: that there was nothing is as good.
pub(crate) fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
