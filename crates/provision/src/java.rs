//! Java runtimes: one of a version that a product runs with, found on this machine.
//!
//! A runtime tells its version in the file `release` beside its `bin`, as every one has since Java 9;
//! so none is started to be asked.

use std::{
    env, fmt, fs,
    path::{Path, PathBuf},
};

use crate::{account::Account, versions::expand};

/// Where distributions put runtimes; the newest is looked at first.
const USUAL_HOMES: &str = "/usr/lib/jvm/*";

/// The versions of Java that a product runs with, from the one to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JavaVersions {
    /// The oldest, as in 11.
    pub oldest: u32,
    /// The newest.
    pub newest: u32,
}

impl fmt::Display for JavaVersions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.oldest == self.newest {
            true => write!(f, "Java {}", self.newest),
            false => write!(f, "Java {} to {}", self.oldest, self.newest),
        }
    }
}

impl JavaVersions {
    fn contain(self, version: u32) -> bool {
        (self.oldest..=self.newest).contains(&version)
    }

    /// What to do where there is none of them.
    pub fn next_step(self) -> String {
        format!(
            "install openjdk-{newest}-jre-headless (Debian, Ubuntu) or java-{newest}-openjdk-headless \
             (Fedora), or set JAVA_HOME to one",
            newest = self.newest
        )
    }
}

/// A Java of one of `versions` that the account which runs servers can run: that of JAVA_HOME, on
/// PATH, or where distributions put them. If there is none, says which there are.
pub(crate) fn find(versions: JavaVersions) -> Result<PathBuf, String> {
    let home = env::var_os("JAVA_HOME").filter(|home| !home.is_empty());
    let home = home.map(|home| Path::new(&home).join("bin/java"));
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).map(|folder| folder.join("java"));
    let usual = expand(&Path::new(USUAL_HOMES).join("bin/java"));
    let account = Account::for_servers().map_err(|error| error.to_string())?;
    choose(versions, home.into_iter().chain(on_path).chain(usual), |java| {
        account.as_ref().is_none_or(|account| account.blocked_at(java).is_none())
    })
}

fn choose(
    versions: JavaVersions,
    candidates: impl Iterator<Item = PathBuf>,
    in_reach: impl Fn(&Path) -> bool,
) -> Result<PathBuf, String> {
    let mut others = Vec::new();
    for candidate in candidates {
        // Behind its links: there is the file that tells the version.
        let Ok(java) = fs::canonicalize(candidate) else { continue };
        let Some(version) = version_of(&java) else { continue };
        if versions.contain(version) && in_reach(&java) {
            return Ok(java);
        }
        let why = if versions.contain(version) { ", which is closed to servers' user" } else { "" };
        let other = format!("Java {version} at {}{why}", java.display());
        if !others.contains(&other) {
            others.push(other);
        }
    }
    Err(match others.is_empty() {
        true => "there is no Java".to_owned(),
        false => format!("there is only {}", others.join(", ")),
    })
}

/// The version of the runtime with the program `java`.
fn version_of(java: &Path) -> Option<u32> {
    let home = java.parent()?.parent()?;
    // Java 8 had its runtime in a folder of its own.
    let releases = [home.join("release"), home.join("../release")];
    version_in(&releases.iter().find_map(|release| fs::read_to_string(release).ok())?)
}

/// The version in a runtime's file `release`: the number before the first dot, but for `1.8`.
fn version_in(release: &str) -> Option<u32> {
    let line = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    let text = line.trim().trim_matches('"');
    let number = text.strip_prefix("1.").unwrap_or(text);
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSIONS: JavaVersions = JavaVersions { oldest: 11, newest: 17 };

    /// A runtime's program in `home`.
    fn runtime(home: &Path, version: &str) -> PathBuf {
        fs::create_dir_all(home.join("bin")).expect("created");
        fs::write(home.join("bin/java"), "").expect("written");
        fs::write(home.join("release"), format!("IMPLEMENTOR=\"Acme\"\n{version}\n"))
            .expect("written");
        fs::canonicalize(home.join("bin/java")).expect("it exists")
    }

    #[test]
    fn the_first_of_the_right_version_is_taken() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let old = runtime(&place.path().join("8"), "JAVA_VERSION=\"1.8.0_292\"");
        let right = runtime(&place.path().join("11"), "JAVA_VERSION=\"11.0.2\"");
        let newer = runtime(&place.path().join("17"), "JAVA_VERSION=\"17\"");
        let new = runtime(&place.path().join("25"), "JAVA_VERSION=\"25.0.3\"");
        let gone = place.path().join("gone/bin/java");
        let link = place.path().join("java");
        std::os::unix::fs::symlink(&right, &link).expect("linked");
        let all = [gone.clone(), old.clone(), new.clone(), link, newer.clone()];
        let chosen = |open: &dyn Fn(&Path) -> bool| choose(VERSIONS, all.iter().cloned(), open);
        assert_eq!(chosen(&|_| true), Ok(right.clone()));
        assert_eq!(chosen(&|java| java != right), Ok(newer));
        let why = choose(VERSIONS, [gone.clone(), old, new].into_iter(), |_| true);
        let why = why.expect_err("none is right");
        assert!(why.contains("only Java 8 at") && why.contains("Java 25 at"), "{why}");
        assert_eq!(
            choose(VERSIONS, [gone].into_iter(), |_| true),
            Err("there is no Java".to_owned())
        );
    }

    #[test]
    fn the_next_step_names_what_to_install() {
        assert_eq!(VERSIONS.to_string(), "Java 11 to 17");
        assert_eq!(JavaVersions { oldest: 17, newest: 17 }.to_string(), "Java 17");
        assert!(VERSIONS.next_step().contains("openjdk-17-jre-headless"));
    }
}
