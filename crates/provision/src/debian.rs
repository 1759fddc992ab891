//! Packages of Debian and distributions like it, unpacked into a folder of Assay's own: nothing is
//! installed, no service starts, and no root is needed.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{command::run_within, fetch::COMMAND_LIMIT, find::library_path, versions::expand};

/// How many steps of dependencies are followed in search of libraries.
const DEEPEST: usize = 4;

/// A name for the candidate version of the first package, for example
/// `debian-memcached-1.6.18-1+deb12u1`.
pub(crate) fn label(packages: &[&str]) -> Result<String, String> {
    let package = packages.first().copied().unwrap_or_default();
    let policy = ask("apt-cache", &["policy", package])?;
    match candidate_in(&policy) {
        // An epoch's colon would end a folder's name in a list of folders.
        Some(version) => Ok(format!("debian-{package}-{}", version.replace(':', "_"))),
        None => Err(format!(
            "apt knows no package '{package}': run `apt-get update` as root, or enable the \
             repository that has it"
        )),
    }
}

/// Unpacks `packages` into `folder`, and those of their libraries that the system lacks.
pub(crate) fn unpack(
    packages: &[&str],
    binary: &str,
    folder: &Path,
    on_progress: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let mut level: BTreeSet<String> = packages.iter().map(|&name| name.to_owned()).collect();
    unpack_each(&level, folder, on_progress)?;
    let found = expand(&folder.join(binary)).into_iter().next();
    let binary = found.ok_or_else(|| format!("{} has no {binary}", packages.join(", ")))?;
    let mut seen = level.clone();
    for _ in 0..DEEPEST {
        let missing = missing_libraries(&binary, folder)?;
        if missing.is_empty() {
            return Ok(());
        }
        on_progress(&format!("looking for the libraries {}", missing.join(", ")));
        let mut next = BTreeSet::new();
        for package in &level {
            next.extend(libraries_in(&ask("apt-cache", &["depends", package])?));
        }
        level = next.difference(&seen).cloned().collect();
        unpack_each(&level, folder, on_progress)?;
        seen.extend(level.iter().cloned());
    }
    match missing_libraries(&binary, folder)? {
        missing if missing.is_empty() => Ok(()),
        missing => Err(format!(
            "{} needs the libraries {}, which no package it depends on has",
            binary.display(),
            missing.join(", ")
        )),
    }
}

/// Unpacks `packages` into `folder` if the system lacks libraries that `binary` needs.
pub(crate) fn add_libraries(
    binary: &Path,
    packages: &[&str],
    folder: &Path,
    on_progress: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let missing = missing_libraries(binary, folder)?;
    if missing.is_empty() {
        return Ok(());
    }
    let packages = packages.iter().map(|&name| name.to_owned()).collect();
    unpack_each(&packages, folder, on_progress)
        .map_err(|why| format!("it needs the libraries {}: {why}", missing.join(", ")))
}

/// The folders with libraries in an unpacked tree.
pub(crate) fn library_folders(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for libraries in ["usr/lib", "lib"].map(|name| root.join(name)) {
        for entry in fs::read_dir(&libraries).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().contains("-linux-") && entry.path().is_dir() {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

fn unpack_each(
    packages: &BTreeSet<String>,
    folder: &Path,
    on_progress: &mut dyn FnMut(&str),
) -> Result<(), String> {
    for package in packages {
        on_progress(&format!("unpacking Debian's {package}"));
        let downloads = folder.join(".downloads");
        let refused = |error: std::io::Error| format!("{}: {error}", downloads.display());
        fs::create_dir_all(&downloads).map_err(refused)?;
        let mut download = Command::new("apt-get");
        // Root's apt drops to a user of its own, who cannot write here.
        download.args(["-q", "-o", "APT::Sandbox::User=root", "download", package]);
        run(download.current_dir(&downloads))?;
        for entry in fs::read_dir(&downloads).map_err(refused)?.flatten() {
            run(Command::new("dpkg-deb").arg("-x").arg(entry.path()).arg(folder))?;
        }
        fs::remove_dir_all(&downloads).map_err(refused)?;
    }
    Ok(())
}

/// The libraries that the dynamic linker does not find for `binary`.
fn missing_libraries(binary: &Path, folder: &Path) -> Result<Vec<String>, String> {
    let mut ldd = Command::new("ldd");
    ldd.arg(binary).env("LC_ALL", "C").envs(library_path(&library_folders(folder)));
    Ok(not_found_in(&run(&mut ldd)?))
}

fn ask(program: &str, args: &[&str]) -> Result<String, String> {
    run(Command::new(program).args(args).env("LC_ALL", "C"))
}

fn run(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let limit = COMMAND_LIMIT.min(Duration::from_secs(600));
    let finished = run_within(command, limit, &mut |_| ()).map_err(|error| {
        if error.kind() == std::io::ErrorKind::NotFound {
            format!("{program} is not here: this is no Debian")
        } else {
            format!("{program}: {error}")
        }
    })?;
    if !finished.status.success() {
        return Err(format!("{program} failed: {}", finished.last_words()));
    }
    Ok(finished.text)
}

fn candidate_in(policy: &str) -> Option<&str> {
    let version = policy.lines().find_map(|line| line.trim().strip_prefix("Candidate: "))?;
    (version != "(none)").then_some(version)
}

/// The packages of libraries among a package's dependencies. The C library is everywhere, and must
/// not be another one than the system's.
fn libraries_in(depends: &str) -> Vec<String> {
    depends
        .lines()
        .filter_map(|line| line.trim().trim_start_matches('|').strip_prefix("Depends: "))
        .map(|name| name.split(':').next().unwrap_or(name).trim())
        .filter(|name| name.starts_with("lib") && *name != "libc6")
        .map(str::to_owned)
        .collect()
}

fn not_found_in(ldd: &str) -> Vec<String> {
    ldd.lines()
        .filter(|line| line.trim_end().ends_with("not found"))
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_candidate_version_is_read() {
        let policy = "redis-server:\n  Installed: (none)\n  Candidate: 5:7.0.15-1~deb12u10\n";
        assert_eq!(candidate_in(policy), Some("5:7.0.15-1~deb12u10"));
        assert_eq!(candidate_in("x:\n  Installed: (none)\n  Candidate: (none)\n"), None);
    }

    #[test]
    fn libraries_among_the_dependencies_are_read() {
        let depends = "memcached\n  PreDepends: init-system-helpers\n  Depends: adduser\n \
                       |Depends: libevent-2.1-7\n  Depends: <perl:any>\n  Depends: libc6\n  \
                       Depends: libsasl2-2\n  Suggests: libanyevent-perl\n";
        assert_eq!(libraries_in(depends), ["libevent-2.1-7", "libsasl2-2"]);
    }

    #[test]
    fn libraries_that_are_not_found_are_read() {
        let ldd = "\tlinux-vdso.so.1 (0x00007f86ffdf2000)\n\tlibevent-2.1.so.7 => not found\n\
                   \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f86ff41e000)\n";
        assert_eq!(not_found_in(ldd), ["libevent-2.1.so.7"]);
    }
}
