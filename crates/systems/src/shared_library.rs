//! Shared libraries of products that run in Assay's own process, opened while Assay runs.
//!
//! Public for the benchmark of drivers alone, which calls the same libraries without a driver.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use libloading::os::unix::{RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW};

pub use crate::library_functions as functions;

/// A library that is open.
pub type Library = libloading::os::unix::Library;

/// How many libraries that a library needs are looked for beside it.
const MOST_NEEDED: usize = 16;

/// A struct `Functions` of the functions used of a library, by their names without its prefix, and
/// how it is had of an open library.
#[doc(hidden)]
#[macro_export]
macro_rules! library_functions {
    ($prefix:literal: $($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions used, by their names without the prefix, as the library writes them.
        #[allow(non_snake_case)]
        struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Functions {
            /// The functions of an open library; else the name of one that it lacks.
            ///
            /// # Safety
            /// What `library` has under these names are functions of these types.
            unsafe fn of(
                library: &$crate::shared_library::Library,
            ) -> Result<Functions, &'static str> {
                Ok(Functions {
                    $($name: {
                        let name = concat!($prefix, stringify!($name));
                        // SAFETY: the caller's promise is the one asked for.
                        let found = unsafe { library.get(name.as_bytes()) };
                        *found.map_err(|_| name)?
                    },)*
                })
            }
        }
    };
}

/// The functions of a product's libraries, each opened once. They stay in the process for good:
/// such a library has threads and thread-local data of its own, which cannot be taken away safely.
pub struct Opened<F: 'static> {
    product: &'static str,
    flags: i32,
    functions: Mutex<Vec<(PathBuf, &'static F)>>,
}

impl<F> Opened<F> {
    /// None yet. `product` is what a library must be, for errors, as in `libduckdb of DuckDB 1.5 or
    /// later`.
    pub const fn new(product: &'static str) -> Opened<F> {
        Opened { product, flags: RTLD_NOW | RTLD_LOCAL, functions: Mutex::new(Vec::new()) }
    }

    /// The same for a library whose parts look for each other in the whole process.
    pub const fn global(product: &'static str) -> Opened<F> {
        Opened { product, flags: RTLD_NOW | RTLD_GLOBAL, functions: Mutex::new(Vec::new()) }
    }

    /// The functions, as `of` finds them, of the library at `path`, which is opened unless it was
    /// before.
    ///
    /// # Errors
    /// Why it is not the library that it should be, in words that follow on its path.
    ///
    /// # Safety
    /// The initializers of the library may be run at any time in any process, and `of` may be called
    /// with it.
    pub unsafe fn functions(
        &self,
        path: &Path,
        of: unsafe fn(&Library) -> Result<F, &'static str>,
    ) -> Result<&'static F, String> {
        let mut opened = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, functions)) = opened.iter().find(|(known, _)| known == path) {
            return Ok(functions);
        }
        // SAFETY: the caller's promise.
        let library = unsafe { open(path, self.flags, MOST_NEEDED) }
            .map_err(|why| format!("it cannot be loaded: {why}"))?;
        // SAFETY: the caller's promise.
        let functions = unsafe { of(&library) }.map_err(|missing| {
            format!("it has no function {missing}: it is not {}", self.product)
        })?;
        std::mem::forget(library);
        let functions: &'static F = Box::leak(Box::new(functions));
        opened.push((path.to_owned(), functions));
        Ok(functions)
    }
}

/// Opens the library at `path`. Up to `needed` others that it needs and the dynamic linker does not
/// find are taken from beside it; they stay open.
///
/// # Safety
/// The initializers of all of them may be run.
unsafe fn open(path: &Path, flags: i32, needed: usize) -> Result<Library, String> {
    // SAFETY: the caller's promise.
    let why = match unsafe { Library::open(Some(path), flags) } {
        Ok(library) => return Ok(library),
        Err(error) => cause(&error),
    };
    let beside = missing(&why)
        .filter(|_| needed > 0)
        .and_then(|name| Some(path.parent()?.join(name)))
        .filter(|beside| beside != path && beside.is_file());
    let Some(beside) = beside else { return Err(why) };
    // SAFETY: the caller's promise.
    let library = unsafe { open(&beside, flags, needed - 1) }?;
    std::mem::forget(library);
    // SAFETY: the caller's promise.
    unsafe { open(path, flags, needed - 1) }
}

/// The library that the dynamic linker did not find, as in `libgflags.so.2.2: cannot open shared
/// object file: No such file or directory`.
fn missing(why: &str) -> Option<&str> {
    let (name, _) = why.split_once(": cannot open shared object file")?;
    (!name.contains('/')).then_some(name)
}

/// What the dynamic linker said, which the error only has for its source.
fn cause(error: &libloading::Error) -> String {
    let cause = std::error::Error::source(error);
    cause.map_or_else(|| error.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_needed_is_read_from_the_linkers_words() {
        let words = "libgflags.so.2.2: cannot open shared object file: No such file or directory";
        assert_eq!(missing(words), Some("libgflags.so.2.2"));
        assert_eq!(missing(&format!("/tmp/{words}")), None, "that one was named");
        assert_eq!(missing("/x/liba.so: file too short"), None);
    }

    #[test]
    fn a_file_that_is_not_there_is_an_error() {
        // SAFETY: there is no file, so nothing is run.
        let refused = unsafe { open(Path::new("/nowhere/libnothing.so"), RTLD_NOW, MOST_NEEDED) };
        assert!(refused.unwrap_err().contains("/nowhere/libnothing.so"));
    }
}
