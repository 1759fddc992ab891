//! Programs in Python: wheels that pip unpacks side by side, pinned by their hashes, and a file beside
//! them that runs the program with a Python of the system's. Nothing is installed.

use std::{
    env,
    env::consts::ARCH,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{account::Account, command::run_within, fetch::install_wheels};

/// How long a Python may take to tell its version.
const VERSION_LIMIT: Duration = Duration::from_secs(20);
/// Where a system's own Pythons are, which every user can run.
const SYSTEM_FOLDERS: [&str; 2] = ["/usr/local/bin", "/usr/bin"];

/// A program and the packages that it needs.
#[derive(Debug)]
pub(crate) struct Program {
    /// All of them, the program's own first.
    pub wheels: &'static [PinnedWheel],
    /// The versions of Python that they are made for, as in `3.11`.
    pub pythons: &'static [&'static str],
    /// The platform that they are labelled with, without the machine type that follows.
    pub platform: &'static str,
    /// The name of the file that runs it.
    pub binary: &'static str,
    /// The product's name, which its version follows.
    pub product: &'static str,
    /// The module, and the function in it, that runs it.
    pub main: (&'static str, &'static str),
}

/// A wheel, by version and content.
#[derive(Debug)]
pub(crate) struct PinnedWheel {
    pub package: &'static str,
    pub version: &'static str,
    /// Its SHA-256, one for each Python and machine type that it is made for.
    pub sha256: &'static [&'static str],
}

impl Program {
    /// The name of a folder for it.
    pub fn label(&self) -> String {
        let PinnedWheel { package, version, .. } = &self.wheels[0];
        format!("{package}-{version}")
    }

    /// The version of the program in a folder of this name.
    pub fn version_in<'a>(&self, label: &'a str) -> Option<&'a str> {
        label.strip_prefix(self.wheels[0].package)?.strip_prefix('-')
    }

    /// The requirements, in pip's words.
    fn requirements(&self) -> String {
        let line = |wheel: &PinnedWheel| {
            let hashes = wheel.sha256.iter().map(|hash| format!(" --hash=sha256:{hash}"));
            format!("{}=={}{}\n", wheel.package, wheel.version, hashes.collect::<String>())
        };
        self.wheels.iter().map(line).collect()
    }

    /// The file that runs it. Python looks for modules in the file's own folder first; `-sE` keeps
    /// it from looking where a user or the environment says.
    fn launcher(&self, python: &Path) -> String {
        let (module, function) = self.main;
        let Program { product, .. } = self;
        let package = self.wheels[0].package;
        format!(
            "#!{} -sE\nimport sys\n\nif sys.argv[1:] == [\"--version\"]:\n    \
             from importlib.metadata import version\n\n    \
             print(\"{product}\", version(\"{package}\"))\nelse:\n    \
             from {module} import {function}\n\n    sys.exit({function}())\n",
            python.display()
        )
    }
}

/// Fills `folder` with the program.
pub(crate) fn unpack(
    program: &Program,
    folder: &Path,
    on_progress: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let (python, version) = python(program.pythons)?;
    let labels = [
        format!("--python-version={version}"),
        "--implementation=cp".to_owned(),
        format!("--platform={}{ARCH}", program.platform),
    ];
    install_wheels(&program.requirements(), &labels, folder, on_progress)
        .map_err(|why| format!("pip could not get {}: {why}", program.label()))?;
    let launcher = folder.join(program.binary);
    fs::write(&launcher, program.launcher(&python))
        .and_then(|()| fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)))
        .map_err(|error| format!("cannot write {}: {error}", launcher.display()))
}

/// A Python of one of `versions` that the account which runs servers can run, and its version.
fn python(versions: &[&str]) -> Result<(PathBuf, String), String> {
    let account = Account::for_servers().map_err(|error| error.to_string())?;
    let reach =
        |path: &Path| account.as_ref().is_none_or(|account| account.blocked_at(path).is_none());
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = SYSTEM_FOLDERS.iter().map(PathBuf::from).chain(env::split_paths(&path));
    let mut names = vec!["python3".to_owned()];
    names.extend(versions.iter().map(|version| format!("python{version}")));
    folders
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)).collect::<Vec<_>>())
        .filter(|candidate| candidate.is_file())
        .filter_map(|candidate| ask(&candidate))
        .find(|(python, version)| versions.contains(&version.as_str()) && reach(python))
        .ok_or_else(|| {
            format!(
                "there is no Python {} that every user can run: install python3",
                versions.join(" or ")
            )
        })
}

/// The program behind `candidate`, which may be a link or a script that runs it, and its version.
fn ask(candidate: &Path) -> Option<(PathBuf, String)> {
    let question = "import sys; print('%d.%d' % sys.version_info[:2]); print(sys.executable)";
    let mut command = Command::new(candidate);
    let finished = run_within(command.args(["-c", question]), VERSION_LIMIT, &mut |_| ()).ok()?;
    let (version, python) = finished.text.trim_end().split_once('\n')?;
    let python = fs::canonicalize(python).ok()?;
    finished.status.success().then(|| (python, version.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: Program = Program {
        wheels: &[
            PinnedWheel { package: "acme", version: "1.2", sha256: &["aa", "bb"] },
            PinnedWheel { package: "needed", version: "3", sha256: &["cc"] },
        ],
        pythons: &["3.11"],
        platform: "manylinux_2_28_",
        binary: "acmed",
        product: "Acme",
        main: ("acme.cli", "main"),
    };

    #[test]
    fn every_wheel_is_asked_for_by_its_hashes() {
        assert_eq!(PROGRAM.label(), "acme-1.2");
        assert_eq!(
            PROGRAM.requirements(),
            "acme==1.2 --hash=sha256:aa --hash=sha256:bb\nneeded==3 --hash=sha256:cc\n"
        );
    }

    #[test]
    fn the_launcher_tells_the_version_or_runs_the_program() {
        let launcher = PROGRAM.launcher(Path::new("/usr/bin/python3"));
        assert_eq!(
            launcher,
            "#!/usr/bin/python3 -sE\nimport sys\n\nif sys.argv[1:] == [\"--version\"]:\n    \
             from importlib.metadata import version\n\n    print(\"Acme\", version(\"acme\"))\n\
             else:\n    from acme.cli import main\n\n    sys.exit(main())\n"
        );
    }

    #[test]
    fn a_python_that_is_not_there_says_what_to_install() {
        let why = python(&["2.1"]).expect_err("nobody has it");
        assert!(why.contains("Python 2.1") && why.contains("install python3"), "{why}");
    }
}
