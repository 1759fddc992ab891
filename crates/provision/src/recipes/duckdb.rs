//! DuckDB, as a library.

use crate::{library::Library, npm::Package};

pub(crate) static DUCKDB: Library = Library {
    name: "duckdb",
    product: "DuckDB",
    file: "libduckdb.so",
    packages: "libduckdb, its C library, from duckdb.org",
    usual_folders: &[
        "/usr/local/lib",
        "/usr/local/lib64",
        "/usr/lib",
        "/usr/lib64",
        "/usr/lib/*-linux-gnu",
        "/opt/*/lib",
        "/home/linuxbrew/.linuxbrew/lib",
    ],
    // DuckDB's own bindings for Node.js, of which only the library is used.
    sources: &[Package {
        name: "@duckdb/node-bindings-linux-x64",
        version: "1.5.6-r.1",
        sha256: "1b9f82478539bb9a1d1df44bd103121a12ae52142c07158dc52b97d2ec1d69ff",
        machine: "x86_64",
        file: "package/libduckdb.so",
    }],
};
