//! Releases of Erlang/OTP: a folder with a product's applications and the runtime that they were built
//! for. Its own script is in `bin`; `releases/start_erl.data` tells the versions of both.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The oldest runtime (ERTS) that a node can be started on which no other is to connect to: with it came
/// `-dist_listen false`, in Erlang/OTP 23.
const OLDEST_RUNTIME: u32 = 11;

/// A release on this machine.
pub(crate) struct Release {
    /// Its folder.
    pub root: PathBuf,
    /// The version of the product.
    pub version: String,
    /// The programs of its runtime.
    pub runtime: PathBuf,
}

impl Release {
    /// The release that has `script` in its folder `bin`; if there is none that can be started, says why.
    pub fn of(script: &Path) -> Result<Release, String> {
        let root = script.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
        let told = fs::read_to_string(root.join("releases/start_erl.data"));
        let told = told.map_err(|error| {
            format!("lacks the release of Erlang/OTP around it, releases/start_erl.data: {error}")
        })?;
        let mut words = told.split_whitespace();
        let (Some(erts), Some(version)) = (words.next(), words.next()) else {
            return Err(format!("has '{}' in releases/start_erl.data", told.trim()));
        };
        let number = erts.split('.').next().and_then(|number| number.parse::<u32>().ok());
        if number.is_none_or(|number| number < OLDEST_RUNTIME) {
            return Err(format!(
                "has the Erlang runtime {erts}, and Assay starts it on {OLDEST_RUNTIME}, that of \
                 Erlang/OTP 23, or later"
            ));
        }
        let runtime = root.join(format!("erts-{erts}")).join("bin");
        if !runtime.join("erlexec").is_file() {
            return Err(format!("lacks the runtime that it was built for, erts-{erts}"));
        }
        Ok(Release { root: root.to_path_buf(), version: version.to_owned(), runtime })
    }

    /// Its version, then the names of its applications with theirs, a line each.
    pub fn contents(&self) -> String {
        let applications = fs::read_dir(self.root.join("lib")).into_iter().flatten().flatten();
        let names = applications.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let lines: Vec<String> = std::iter::once(self.version.clone()).chain(names).collect();
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_tells_its_versions_and_what_it_lacks() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let root = place.path();
        let script = root.join("bin/riak");
        let write = |name: &str, content: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("created");
            fs::write(path, content).expect("written");
        };
        let why = || Release::of(&script).err().expect("it is not whole");
        assert!(why().contains("start_erl.data"), "{}", why());
        write("releases/start_erl.data", "10.7 3.0.1\n");
        assert!(why().contains("runtime 10.7"), "{}", why());
        write("releases/start_erl.data", "13.1.5 3.2.1");
        assert!(why().contains("erts-13.1.5"), "{}", why());
        write("erts-13.1.5/bin/erlexec", "");
        write("lib/riak_kv-3.0.16/ebin/riak_kv.app", "");
        let release = Release::of(&script).expect("it is whole");
        assert_eq!(release.contents(), "3.2.1\nriak_kv-3.0.16");
        assert_eq!((release.root.as_path(), release.version.as_str()), (root, "3.2.1"));
    }
}
