//! A temporary place in which one test runs the binary: its working folder, its results, the data
//! of its stores.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use tempfile::TempDir;

use super::{
    await_that,
    process::{Finished, Running, processes_of},
};

/// The place of one test. The binary runs in it, with `data` as its folder for temporary files.
pub struct Place {
    folder: TempDir,
}

impl Place {
    pub fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        // When Assay is root, its servers run as somebody who must be able to pass.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(folder.path().join("data")).unwrap();
        fs::set_permissions(folder.path().join("data"), fs::Permissions::from_mode(0o755)).unwrap();
        Place { folder }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The folder below which stores keep their data while they run.
    pub fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    /// Writes a file into the place and returns its path.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// `assay` with these words as its arguments, to be run here.
    pub fn assay(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command
            .args(words.split_whitespace())
            .current_dir(self.path())
            .env("TMPDIR", self.data())
            .env_remove("NO_COLOR");
        command
    }

    /// Starts `assay`.
    pub fn start(&self, words: &str) -> Running {
        Running::start(self.assay(words))
    }

    /// Runs `assay` to its end, after which nothing may be left of its stores.
    pub fn run(&self, words: &str) -> Finished {
        self.end(self.assay(words))
    }

    /// Runs a command to its end, after which nothing may be left of its stores.
    pub fn end(&self, command: Command) -> Finished {
        self.end_of(Running::start(command))
    }

    /// Waits for the end of what runs here, after which nothing may be left of its stores.
    pub fn end_of(&self, running: Running) -> Finished {
        let finished = running.wait();
        assert_eq!(self.leftovers(), Vec::<PathBuf>::new(), "{finished}");
        assert_eq!(processes_of(self.path()), Vec::<String>::new(), "{finished}");
        finished
    }

    /// Runs `assay`, which must succeed.
    pub fn succeeds(&self, words: &str) -> Finished {
        let finished = self.run(words);
        assert_eq!(finished.code, Some(0), "assay {words}\n{finished}");
        finished
    }

    /// Runs `assay`, which must fail with each of `named` in its message.
    pub fn fails(&self, words: &str, named: &[&str]) -> Finished {
        let finished = self.run(words);
        assert_eq!(finished.code, Some(1), "assay {words}\n{finished}");
        finished.says(named);
        finished
    }

    /// Runs `assay`, which must refuse the command itself, with each of `named` in its message.
    pub fn refuses(&self, words: &str, named: &[&str]) -> Finished {
        let finished = self.run(words);
        assert_eq!(finished.code, Some(2), "assay {words}\n{finished}");
        assert_eq!(finished.stdout, "", "assay {words}\n{finished}");
        finished.says(named);
        finished
    }

    /// What is in the folder for the data of stores.
    pub fn leftovers(&self) -> Vec<PathBuf> {
        entries(&self.data())
    }

    /// Waits until nothing is left: for runs that had no chance to wait for it themselves.
    pub fn await_clean(&self) {
        await_that("every process and folder gone", || {
            self.leftovers().is_empty() && processes_of(self.path()).is_empty()
        });
    }

    /// The folder of the only run.
    pub fn only_run(&self) -> PathBuf {
        let mut runs = entries(&self.path().join("assay-results"));
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.remove(0)
    }

    /// The files of the records of the only run. Nothing else may be there but their logs.
    pub fn record_files(&self) -> Vec<PathBuf> {
        let files = entries(&self.only_run().join("trials"));
        let (records, logs): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|file| file.extension().is_some_and(|end| end == "json"));
        for log in &logs {
            assert!(log.extension().is_some_and(|end| end == "hlog"), "half written: {log:?}");
            assert!(records.contains(&log.with_extension("json")), "no record for {log:?}");
        }
        records
    }

    /// The records of the only run, in the order in which the trials ran.
    pub fn records(&self) -> Vec<Value> {
        self.record_files().iter().map(|file| readable(&fs::read(file).unwrap())).collect()
    }

    /// Which systems have a record in the only run, in the order of the trials.
    pub fn recorded_systems(&self) -> Vec<String> {
        let records = self.records();
        records.iter().map(|record| record["system"].as_str().unwrap().to_owned()).collect()
    }

    /// How far the header of the only run says that it came.
    pub fn status(&self) -> String {
        let header = readable(&fs::read(self.only_run().join("run.json")).unwrap());
        header["status"].as_str().unwrap().to_owned()
    }
}

/// JSON that must be whole.
pub fn readable(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(bytes)))
}

/// What is in a folder, in order; nothing if there is no such folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Whether the server or the library of this system is on this machine, by Assay's own account; if not, says that
/// a test is skipped.
pub fn installed(system: &str) -> bool {
    let finished = Place::new().succeeds(&format!("systems --json {system}"));
    let found = readable(finished.stdout.as_bytes());
    let ready = found["ready"] == true;
    if !ready {
        let missing = ["server", "library"].map(|needed| found[needed]["missing"].as_str());
        eprintln!("skipped: {system}: {}", missing.into_iter().flatten().collect::<String>());
    }
    ready
}
