//! DuckDB, as a library.

use super::LIBRARY_FOLDERS;
use crate::{library::Library, npm::Package, recipe::Source};

pub(crate) static DUCKDB: Library = Library {
    name: "duckdb",
    product: "DuckDB",
    file: "libduckdb.so",
    packages: "libduckdb, its C library, from duckdb.org",
    usual_folders: LIBRARY_FOLDERS,
    // DuckDB's own bindings for Node.js, of which only the library is used.
    sources: &[Source::Npm(Package {
        name: "@duckdb/node-bindings-linux-x64",
        version: "1.5.6-r.1",
        sha256: "1b9f82478539bb9a1d1df44bd103121a12ae52142c07158dc52b97d2ec1d69ff",
        machine: "x86_64",
        file: "package/libduckdb.so",
    })],
};
