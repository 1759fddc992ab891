//! RocksDB, as a library.

use super::LIBRARY_FOLDERS;
use crate::{library::Library, recipe::Source};

const FILE: &str = "usr/lib/*-linux-gnu/librocksdb.so.*";

pub(crate) static ROCKSDB: Library = Library {
    name: "rocksdb",
    product: "RocksDB",
    file: "librocksdb.so.*",
    packages: "librocksdb7.8 or librocksdb9.10 (Debian), librocksdb8.9 (Ubuntu), rocksdb (Fedora, Arch, Homebrew)",
    usual_folders: LIBRARY_FOLDERS,
    // Each release of a distribution has one of them.
    sources: &[
        Source::Debian { packages: &["librocksdb9.10"], binary: FILE },
        Source::Debian { packages: &["librocksdb8.9"], binary: FILE },
        Source::Debian { packages: &["librocksdb7.8"], binary: FILE },
    ],
};
