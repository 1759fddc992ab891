//! Shared libraries of products that run in Assay's own process: found and fetched like servers, but
//! there is nothing to start, and no program that could be asked for its version.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    elf::check_library,
    error::FindError,
    find::{Folders, Origin},
    recipe::Source,
    recipes::{duckdb::DUCKDB, rocksdb::ROCKSDB},
    versions::{expand, versions_in},
};

/// Every library.
pub static LIBRARIES: &[&Library] = &[&DUCKDB, &ROCKSDB];

/// The library called `name`.
pub fn library(name: &str) -> Option<&'static Library> {
    LIBRARIES.iter().copied().find(|library| library.name == name)
}

/// How one product's library is found and fetched.
#[derive(Debug)]
pub struct Library {
    /// The name on the command line.
    pub name: &'static str,
    /// The product's own name, for people.
    pub product: &'static str,
    /// The library's file name; may have one `*`, for the version.
    pub file: &'static str,
    /// How people get it otherwise, for messages.
    pub packages: &'static str,
    /// Folders to look in; each may have one `*` for a part of a name.
    pub(crate) usual_folders: &'static [&'static str],
    /// Where it can be fetched from, best first.
    pub(crate) sources: &'static [Source],
}

impl Library {
    /// The environment variable that names the file to use, for example `ASSAY_DUCKDB_LIBRARY`.
    pub fn variable(&self) -> String {
        format!("ASSAY_{}_LIBRARY", self.name.to_uppercase())
    }
}

/// A library that can be loaded.
#[derive(Clone, Debug)]
pub struct InstalledLibrary {
    /// The file.
    pub path: PathBuf,
    /// The version of the package that it came in, if Assay fetched it.
    pub version: Option<String>,
    /// How it was found.
    pub origin: Origin,
}

/// The best file of `library` on this machine, if there is one. The only error is a file that was
/// named and is not a whole library for this machine.
pub fn find_library(
    library: &'static Library,
    folders: &Folders,
) -> Result<Option<InstalledLibrary>, FindError> {
    if let Some(named) = folders.overrides.get(library.name) {
        let in_folder = || expand(&named.join(library.file)).into_iter().next();
        let path = match named.is_dir() {
            true => in_folder().unwrap_or_else(|| named.join(library.file)),
            false => named.clone(),
        };
        return match probe(&path, Origin::Named, None) {
            Ok(installed) => Ok(Some(installed)),
            Err(why) => Err(FindError::Override { variable: library.variable(), path, why }),
        };
    }
    let fetched = versions_in(&folders.fetched_library(library));
    if let Some(installed) = fetched.iter().find_map(|root| probe_fetched_library(library, root)) {
        return Ok(Some(installed));
    }
    let mut usual = library
        .usual_folders
        .iter()
        .filter(|_| folders.usual)
        .flat_map(|pattern| expand(&Path::new(pattern).join(library.file)));
    Ok(usual.find_map(|file| probe(&file, Origin::UsualFolder, None).ok()))
}

/// Like [`find_library`], but an error that names the next steps if there is none.
pub fn require_library(
    library: &'static Library,
    folders: &Folders,
) -> Result<InstalledLibrary, FindError> {
    find_library(library, folders)?.ok_or_else(|| FindError::Missing {
        name: library.name,
        packages: library.packages,
        variable: library.variable(),
    })
}

/// The library in a folder that a fetch filled. The folder's name tells the version.
pub(crate) fn probe_fetched_library(library: &Library, root: &Path) -> Option<InstalledLibrary> {
    let name = root.file_name()?.to_string_lossy();
    // Of sources that put it at the same place, it is the one that the folder is called after.
    let named =
        library.sources.iter().filter_map(|source| Some((source, Some(source.version_in(&name)?))));
    let others = library.sources.iter().map(|source| (source, None));
    named.chain(others).find_map(|(source, version)| {
        let file = expand(&root.join(source.file())).into_iter().next()?;
        probe(&file, Origin::Fetched, version.map(str::to_owned)).ok()
    })
}

/// Makes sure that `path` is a whole library for this machine; if not, says why.
fn probe(path: &Path, origin: Origin, version: Option<String>) -> Result<InstalledLibrary, String> {
    check_library(path)?;
    let path = fs::canonicalize(path).map_err(|error| format!("cannot be found: {error}"))?;
    Ok(InstalledLibrary { path, version, origin })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The start of a library, which is all of it that its header speaks of.
    fn fake_library(path: &Path) {
        let mut content = vec![0; 64];
        content[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        content[16] = 3;
        content[18] = if std::env::consts::ARCH == "aarch64" { 183 } else { 62 };
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        fs::write(path, content).expect("written");
    }

    fn folders(own: &Path) -> Folders {
        Folders {
            own: own.to_path_buf(),
            overrides: BTreeMap::new(),
            path: Default::default(),
            usual: false,
        }
    }

    #[test]
    fn names_are_unique_and_none_is_a_servers() {
        for listed in LIBRARIES {
            assert!(std::ptr::eq(library(listed.name).expect("listed"), *listed));
            assert!(crate::recipe(listed.name).is_none(), "{}", listed.name);
        }
        assert!(library("oracle").is_none());
    }

    #[test]
    fn a_file_that_was_named_comes_before_what_was_fetched_last() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let place = fs::canonicalize(place.path()).expect("it exists");
        let duckdb = library("duckdb").expect("listed");
        let mut folders = folders(&place);
        assert!(find_library(duckdb, &folders).expect("no override").is_none());
        for version in ["1.5.6-r.1", "1.10.0-r.1"] {
            let package = format!("libraries/duckdb/duckdb-node-bindings-linux-x64-{version}");
            fake_library(&place.join(package).join("package/libduckdb.so"));
        }
        let found = find_library(duckdb, &folders).expect("no override").expect("fetched");
        assert_eq!(found.version.as_deref(), Some("1.10.0-r.1"));
        assert_eq!(found.origin, Origin::Fetched);
        fake_library(&place.join("named/libduckdb.so"));
        for named in ["named", "named/libduckdb.so"] {
            folders.overrides.insert("duckdb".into(), place.join(named));
            let found = find_library(duckdb, &folders).expect("whole").expect("named");
            assert_eq!(found.path, place.join("named/libduckdb.so"));
            assert_eq!((found.version, found.origin), (None, Origin::Named));
        }
    }

    #[test]
    fn a_file_that_was_named_and_is_no_library_is_told_with_its_variable() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let duckdb = library("duckdb").expect("listed");
        let mut folders = folders(place.path());
        let file = place.path().join("libduckdb.so");
        folders.overrides.insert("duckdb".into(), file.clone());
        let refused = || find_library(duckdb, &folders).expect_err("refused").to_string();
        assert!(refused().contains("ASSAY_DUCKDB_LIBRARY names"), "{}", refused());
        assert!(refused().contains("which does not exist"), "{}", refused());
        fs::write(&file, "not a library").expect("written");
        assert!(refused().contains("which is no shared library"), "{}", refused());
    }

    #[test]
    fn a_library_that_is_missing_is_told_with_the_next_steps() {
        let place = tempfile::tempdir().expect("a temporary folder");
        for library in LIBRARIES {
            let missing = require_library(library, &folders(place.path())).expect_err("nothing");
            let missing = missing.to_string();
            assert!(missing.contains(&format!("assay fetch {}", library.name)), "{missing}");
            assert!(missing.contains(&library.variable()), "{missing}");
        }
    }
}
