//! Packages of the npm registry, unpacked without being installed: npm gets the tarball, whose hash
//! is compared with the one that Assay knows, and nothing in it is run.

use std::{
    env::consts::ARCH,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use sha2::{Digest, Sha256};

use crate::{command::run_needed, tarball};

/// A package, by version and content.
#[derive(Debug)]
pub(crate) struct Package {
    pub name: &'static str,
    pub version: &'static str,
    /// The SHA-256 of its tarball, in hexadecimal.
    pub sha256: &'static str,
    /// The machine type that it is made for.
    pub machine: &'static str,
    /// The place of what is wanted of it in the unpacked tarball.
    pub file: &'static str,
}

impl Package {
    /// The name of a folder for it.
    pub fn label(&self) -> String {
        format!("{}-{}", self.folder_name(), self.version)
    }

    /// The version of the package in a folder of this name, which may be another than this one's.
    pub fn version_in<'a>(&self, label: &'a str) -> Option<&'a str> {
        label.strip_prefix(&self.folder_name())?.strip_prefix('-')
    }

    fn folder_name(&self) -> String {
        self.name.trim_start_matches('@').replace('/', "-")
    }
}

/// Has npm get `package`, and unpacks it into `folder`.
pub(crate) fn unpack(
    package: &Package,
    folder: &Path,
    on_progress: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let Package { name, version, machine, .. } = package;
    if *machine != ARCH {
        return Err(format!("{name} is not made for {ARCH}"));
    }
    let mut npm = Command::new("npm");
    npm.args(["pack", "--ignore-scripts", "--silent", "--pack-destination", "."])
        .arg(format!("{name}@{version}"))
        .current_dir(folder);
    let missing = "install Node.js with npm (Debian, Ubuntu: npm)";
    let packed = run_needed("npm", &mut npm, missing, on_progress)?;
    if !packed.status.success() {
        return Err(format!("npm could not get {name}@{version}: {}", packed.last_words()));
    }
    let tarball = tarball_in(folder).ok_or_else(|| {
        format!("npm left no tarball of {name}@{version} in {}", folder.display())
    })?;
    verify(package, &tarball)?;
    tarball::unpack(&tarball, folder, on_progress)
}

fn tarball_in(folder: &Path) -> Option<PathBuf> {
    let mut entries = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    entries.find(|path| path.extension().is_some_and(|extension| extension == "tgz"))
}

/// Makes sure that a tarball is the package that Assay knows.
fn verify(package: &Package, tarball: &Path) -> Result<(), String> {
    let content = fs::read(tarball).map_err(|error| format!("{}: {error}", tarball.display()))?;
    let hash: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    if hash == package.sha256 {
        return Ok(());
    }
    let Package { name, version, sha256, .. } = package;
    Err(format!(
        "what the registry has as {name}@{version} is not what Assay knows: its SHA-256 is {hash} \
         and should be {sha256}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKAGE: Package = Package {
        name: "@acme/store-linux-x64",
        version: "1.2.3-r.4",
        sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        machine: "x86_64",
        file: "package/libstore.so",
    };

    #[test]
    fn a_folder_tells_its_version() {
        assert_eq!(PACKAGE.label(), "acme-store-linux-x64-1.2.3-r.4");
        assert_eq!(PACKAGE.version_in(&PACKAGE.label()), Some("1.2.3-r.4"));
        assert_eq!(PACKAGE.version_in("acme-store-linux-x64-2.0.0"), Some("2.0.0"));
        assert_eq!(PACKAGE.version_in("another-1.0"), None);
    }

    #[test]
    fn a_tarball_of_other_content_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let tarball = folder.path().join("acme.tgz");
        fs::write(&tarball, "abc").expect("written");
        assert_eq!(tarball_in(folder.path()).as_ref(), Some(&tarball));
        verify(&PACKAGE, &tarball).expect("it is the one with this hash");
        fs::write(&tarball, "abd").expect("written");
        let refused = verify(&PACKAGE, &tarball).expect_err("another content");
        assert!(refused.contains(PACKAGE.sha256), "{refused}");
    }

    #[test]
    fn a_package_for_another_machine_is_not_asked_for() {
        let other = Package { machine: "pdp11", ..PACKAGE };
        let refused = unpack(&other, Path::new("/nonexistent"), &mut |_| ()).expect_err("refused");
        assert!(refused.contains("is not made for"), "{refused}");
    }
}
