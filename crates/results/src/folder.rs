//! Writing a run folder. A file appears under its name only when it is whole and on the disk, so a
//! crash at any moment leaves records that all read; what a crash leaves of an unfinished file has
//! a name that readers pass over.

use std::{
    fs::{self, File, Permissions},
    hash::{BuildHasher, RandomState},
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use assay_model::redact;
use jiff::Timestamp;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    FORMAT_VERSION, FailedTrial, ResultsError, RunHeader, RunStatus, TrialRecord, alive,
    redact::redact_value,
};

/// The name of the file that makes a folder a run's: its header.
pub const HEADER_FILE: &str = "run.json";
/// The name of the folder of the records in a run's.
pub const TRIALS_FOLDER: &str = "trials";

const MOST_IN_A_NAME: usize = 60;

/// A run folder being written.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    header: RunHeader,
    /// Tells readers that the run is being written; none where the file system has no locks.
    _lock: Option<File>,
}

impl RunFolder {
    /// Makes `<parent>/<UTC time>-<short id>/` with its header in it. `parent` is made if need be.
    ///
    /// # Errors
    /// [`ResultsError::Write`] if the folder or the header cannot be written; nothing is then left
    /// of the run's folder.
    pub fn create(parent: &Path, mut header: RunHeader) -> Result<RunFolder, ResultsError> {
        fs::create_dir_all(parent).map_err(writing("create the results folder", parent))?;
        let (id, path) = make_folder(parent, header.started_at)?;
        header.id = id;
        header.format_version = FORMAT_VERSION;
        let lock = alive::hold(&path).ok();
        let folder = RunFolder { path, header, _lock: lock };
        let trials = folder.path.join(TRIALS_FOLDER);
        let written = fs::create_dir(&trials)
            .map_err(writing("create", &trials))
            .and_then(|()| folder.write_header())
            .and_then(|()| sync_folder(parent));
        if let Err(error) = written {
            // The folder is this call's own; what cannot be removed is not worth a second error.
            let _ = fs::remove_dir_all(&folder.path);
            return Err(error);
        }
        Ok(folder)
    }

    /// Where the run is written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The run's header.
    pub fn header(&self) -> &RunHeader {
        &self.header
    }

    /// Writes one trial's record with the command that repeats it, and its interval log before it.
    /// Returns the record's path.
    ///
    /// # Errors
    /// [`ResultsError::Write`] if a file cannot be written, [`ResultsError::Unstorable`] if the
    /// record holds a number that JSON cannot (NaN, infinity). No half record is left.
    pub fn write_trial(
        &self,
        record: &TrialRecord,
        interval_log: Option<&[u8]>,
    ) -> Result<PathBuf, ResultsError> {
        let name = trial_name(record);
        let folder = self.path.join(TRIALS_FOLDER);
        let mut record = record.clone();
        record.format_version = FORMAT_VERSION;
        record.interval_log = interval_log.map(|_| format!("{name}.hlog"));
        let path = folder.join(format!("{name}.json"));
        record.rerun = format!("assay rerun {}", path.display());
        let json = storable(&record)
            .map_err(|why| ResultsError::Unstorable { trial: record.trial, why })?;
        let Some(log) = interval_log else {
            return write_whole(&folder, &format!("{name}.json"), &json, Existing::Refuse);
        };
        let log = clean_log(&String::from_utf8_lossy(log));
        let log = write_whole(&folder, &format!("{name}.hlog"), log.as_bytes(), Existing::Refuse)?;
        write_whole(&folder, &format!("{name}.json"), &json, Existing::Refuse).inspect_err(|_| {
            // A log without its record is of no use; the record's error is the one to tell.
            let _ = fs::remove_file(&log);
        })
    }

    /// Notes in the header that a trial failed, so that it is known whatever becomes of the run.
    ///
    /// # Errors
    /// [`ResultsError::Write`] if the header cannot be written; the former one stays.
    pub fn write_failure(&mut self, failed: FailedTrial) -> Result<(), ResultsError> {
        self.header.failures.push(failed);
        self.write_header()
    }

    /// Notes in the header how the run ended.
    ///
    /// # Errors
    /// [`ResultsError::Write`] if the header cannot be written; the former one stays.
    pub fn finish(&mut self, status: RunStatus) -> Result<(), ResultsError> {
        self.header.status = status;
        self.header.finished_at = Some(Timestamp::now());
        self.write_header()
    }

    fn write_header(&self) -> Result<(), ResultsError> {
        let json = storable(&self.header)
            .map_err(|why| ResultsError::Damaged { path: self.path.join(HEADER_FILE), why })?;
        write_whole(&self.path, HEADER_FILE, &json, Existing::Replace).map(|_| ())
    }
}

#[derive(Clone, Copy)]
enum Existing {
    Refuse,
    Replace,
}

fn writing(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ResultsError {
    let path = path.to_owned();
    move |source| ResultsError::Write { action, path, source }
}

/// A new folder, told apart from others of the same second by a random ending.
fn make_folder(parent: &Path, started_at: Timestamp) -> Result<(String, PathBuf), ResultsError> {
    const TRIES: u32 = 20;
    let mut tries = 0;
    loop {
        let random = RandomState::new().hash_one(started_at.as_nanosecond()) & 0xFFFF;
        let id = format!("{}-{random:04x}", started_at.strftime("%Y%m%dT%H%M%SZ"));
        let path = parent.join(&id);
        tries += 1;
        match fs::create_dir(&path) {
            Ok(()) => return Ok((id, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < TRIES => {}
            Err(error) => return Err(writing("create the run folder", &path)(error)),
        }
    }
}

/// Pretty JSON without secrets that is known to read back.
fn storable<T: Serialize + DeserializeOwned>(value: &T) -> Result<Vec<u8>, String> {
    let mut json = serde_json::to_value(value).map_err(|error| error.to_string())?;
    redact_value(&mut json);
    let mut bytes = serde_json::to_vec_pretty(&json).map_err(|error| error.to_string())?;
    serde_json::from_slice::<T>(&bytes).map_err(|error| {
        let line = bytes.split(|byte| *byte == b'\n').nth(error.line().saturating_sub(1));
        let line = String::from_utf8_lossy(line.unwrap_or_default()).trim().to_owned();
        format!("it would not read back: {error}: {line}")
    })?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The log with its comments redacted. A histogram in base64 may spell `pwd==`: it is left as it is.
fn clean_log(log: &str) -> String {
    let line = |line: &str| match line.starts_with('#') {
        true => redact(line),
        false => line.to_owned(),
    };
    log.split_inclusive('\n').map(line).collect()
}

/// Writes a file that appears under its name whole or not at all, in place of one that is there.
///
/// # Errors
/// What the operating system says; nothing is left of the file then, and what was there stays.
pub fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    write_beside(folder, path, bytes, Existing::Replace)?;
    File::open(folder)?.sync_all()
}

/// Writes beside the target, syncs, renames, syncs the folder.
fn write_whole(
    folder: &Path,
    name: &str,
    bytes: &[u8],
    existing: Existing,
) -> Result<PathBuf, ResultsError> {
    let path = folder.join(name);
    write_beside(folder, &path, bytes, existing).map_err(writing("write", &path))?;
    sync_folder(folder)?;
    Ok(path)
}

fn write_beside(folder: &Path, path: &Path, bytes: &[u8], existing: Existing) -> io::Result<()> {
    let mut file = tempfile::Builder::new()
        .prefix(".unfinished-")
        .suffix(".tmp")
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    match existing {
        Existing::Refuse => file.persist_noclobber(path)?,
        Existing::Replace => file.persist(path)?,
    };
    Ok(())
}

fn sync_folder(folder: &Path) -> Result<(), ResultsError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(writing("sync", folder))
}

/// `NNNN-<system>-<workload>-c<clients>-r<repeat>`, with only letters that every file system takes.
fn trial_name(record: &TrialRecord) -> String {
    let plain = |text: &str| -> String {
        let keep = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+' | '=');
        redact(text).chars().map(|c| if keep(c) { c } else { '_' }).take(MOST_IN_A_NAME).collect()
    };
    format!(
        "{:04}-{}-{}-c{}-r{}",
        record.trial,
        plain(&record.system),
        plain(&record.workload),
        record.clients,
        record.repeat
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Caveat, Run, TrialPhase, is_being_written};

    fn header() -> RunHeader {
        RunHeader::starting(vec!["assay".into(), "run".into()], json!({"records": 10}))
    }

    fn record(trial: u32) -> TrialRecord {
        TrialRecord {
            trial,
            repeat: 1,
            system: "postgres:jsonb".into(),
            workload: "ycsb/a".into(),
            clients: 4,
            ..TrialRecord::default()
        }
    }

    #[test]
    fn what_was_written_reads_back() {
        let parent = tempfile::tempdir().unwrap();
        let mut folder = RunFolder::create(parent.path(), header()).unwrap();
        let path = folder.write_trial(&record(2), Some(b"#log\n")).unwrap();
        assert!(path.ends_with("trials/0002-postgres_jsonb-ycsb_a-c4-r1.json"), "{path:?}");
        folder.write_trial(&record(1), None).unwrap();
        let running = Run::open(folder.path()).unwrap();
        assert_eq!(running.header.status, RunStatus::Running);
        assert!(is_being_written(folder.path()));
        folder.finish(RunStatus::Finished).unwrap();

        let run = Run::open(folder.path()).unwrap();
        assert_eq!(run.header.status, RunStatus::Finished);
        assert!(run.header.finished_at.is_some());
        assert_eq!(&run.header, folder.header());
        let numbers: Vec<u32> = run.trials.iter().map(|trial| trial.trial).collect();
        assert_eq!(numbers, [1, 2]);
        assert_eq!(run.trials[0].interval_log, None);
        let log = run.trials[1].interval_log.as_deref().unwrap();
        assert_eq!(fs::read(folder.path().join("trials").join(log)).unwrap(), b"#log\n");
    }

    #[test]
    fn no_secret_reaches_any_file() {
        let parent = tempfile::tempdir().unwrap();
        let secret = "hunter2";
        let url = format!("redis=redis://u:{secret}@h:1/0");
        let header = RunHeader::starting(
            vec!["assay".into(), url.clone(), "--password".into(), secret.into()],
            json!({"systems": [url], "auth": {"password": secret}}),
        );
        let mut folder = RunFolder::create(parent.path(), header).unwrap();
        let record = TrialRecord {
            system: url.clone(),
            settings: [("requirepass".into(), secret.into()), ("url".into(), url.clone())].into(),
            rerun: format!("assay run --systems {url}"),
            error_messages: vec![format!("cannot connect to {url}")],
            caveats: vec![Caveat { code: "x".into(), text: format!("password={secret}") }],
            plan: json!({"target": url}),
            ..record(1)
        };
        folder.write_trial(&record, Some(format!("#{url}\n").as_bytes())).unwrap();
        let failed =
            FailedTrial::of(record.clone(), TrialPhase::Load, &format!("no answer: {url}"));
        assert!(!failed.failure.error.contains(secret), "{failed:?}");
        folder.write_failure(failed).unwrap();
        folder.finish(RunStatus::Finished).unwrap();
        let mut files = 0;
        for place in [folder.path().to_owned(), folder.path().join(TRIALS_FOLDER)] {
            for entry in fs::read_dir(place).unwrap() {
                let path = entry.unwrap().path();
                assert!(!path.to_string_lossy().contains(secret), "{path:?}");
                if path.is_file() {
                    files += 1;
                    assert!(!fs::read_to_string(&path).unwrap().contains(secret), "{path:?}");
                }
            }
        }
        assert_eq!(files, 3);
    }

    #[test]
    fn a_failure_is_kept_while_the_run_goes_on_and_a_header_without_any_is_read() {
        let parent = tempfile::tempdir().unwrap();
        let mut folder = RunFolder::create(parent.path(), header()).unwrap();
        folder.write_trial(&record(1), None).unwrap();
        let second = TrialRecord { repeat: 2, ..record(3) };
        let failed = |record| FailedTrial::of(record, TrialPhase::Measure, "it died");
        folder.write_failure(failed(second)).unwrap();
        let other = TrialRecord { system: "other".into(), ..record(2) };
        folder.write_failure(failed(other)).unwrap();
        let run = Run::open(folder.path()).unwrap();
        assert_eq!(run.header.status, RunStatus::Running);
        let [first, other] = &run.cells()[..] else { panic!("{:?}", run.cells()) };
        assert_eq!((first.repeats, first.failure.as_ref().unwrap().repeat), (1, 2));
        assert!(first.has_run() && !other.has_run());
        let sentence = other.failure.as_ref().unwrap().sentence();
        assert_eq!(sentence, "failed while it was measured in repeat 1: it died");

        let file = folder.path().join(HEADER_FILE);
        let mut older: serde_json::Value =
            serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        older.as_object_mut().unwrap().remove("failures").unwrap();
        fs::write(&file, older.to_string()).unwrap();
        assert_eq!(Run::open(folder.path()).unwrap().cells().len(), 1);
    }

    #[test]
    fn a_histogram_that_ends_like_a_password_is_kept() {
        let log =
            "#by redis://:hunter2@h\nTag=read,0.0,1.0,2.0,HISTFAAApwd==\nTag=scan,1.0,1.0,2.0,A=\n";
        assert_eq!(clean_log(log), log.replace("hunter2", "***"));
    }

    #[test]
    fn a_record_that_would_not_read_back_is_refused_and_leaves_no_file() {
        let parent = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(parent.path(), header()).unwrap();
        let mut broken = record(7);
        broken.throughput_ops_per_s.median = f64::NAN;
        let error = folder.write_trial(&broken, Some(b"#log\n")).unwrap_err().to_string();
        assert!(error.contains("trial 7") && error.contains("median"), "{error}");
        assert_eq!(fs::read_dir(folder.path().join(TRIALS_FOLDER)).unwrap().count(), 0);
    }

    #[test]
    fn a_record_is_never_overwritten() {
        let parent = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(parent.path(), header()).unwrap();
        folder.write_trial(&record(1), None).unwrap();
        let error = folder.write_trial(&record(1), None).unwrap_err();
        assert!(matches!(error, ResultsError::Write { .. }), "{error}");
        let files = fs::read_dir(folder.path().join(TRIALS_FOLDER)).unwrap().count();
        assert_eq!(files, 1, "the unfinished file is gone");
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_stays_where_it_cannot_be() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        write_file(&path, b"old and long").unwrap();
        write_file(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        write_file(folder.path(), b"a folder").unwrap_err();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn a_results_folder_that_is_a_file_is_an_error_with_the_next_step() {
        let parent = tempfile::tempdir().unwrap();
        let file = parent.path().join("file");
        fs::write(&file, "").unwrap();
        for place in [file.clone(), file.join("below")] {
            let error = RunFolder::create(&place, header()).unwrap_err().to_string();
            assert!(error.contains("--results") && error.contains("file"), "{error}");
        }
    }

    #[test]
    fn when_the_trials_folder_is_gone_the_error_names_the_file() {
        let parent = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(parent.path(), header()).unwrap();
        fs::remove_dir(folder.path().join(TRIALS_FOLDER)).unwrap();
        let error = folder.write_trial(&record(1), None).unwrap_err().to_string();
        assert!(error.contains("0001-postgres_jsonb"), "{error}");
    }

    #[test]
    fn runs_of_one_second_get_folders_of_their_own() {
        let parent = tempfile::tempdir().unwrap();
        let header = header();
        let ids: std::collections::BTreeSet<String> = (0..8)
            .map(|_| RunFolder::create(parent.path(), header.clone()).unwrap().header.id.clone())
            .collect();
        assert_eq!(ids.len(), 8);
    }
}
