//! Reading runs back: whole, unfinished, or cut short by a crash.

use std::{
    fs, io,
    num::NonZero,
    path::{Path, PathBuf},
    thread,
};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    Absent, Cell, FORMAT_VERSION, Figure, Repeats, ResultsError, RunHeader, RunStatus, Study,
    TrialRecord,
    alive::is_being_written,
    folder::{HEADER_FILE, TRIALS_FOLDER},
    summary,
};

/// The name that stands for the newest run of a results folder.
const LATEST: &str = "latest";

/// No header or record is larger: a day by the second takes some tens of megabytes.
const LARGEST: u64 = 256 << 20;

/// A run as read back.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The run's folder.
    pub path: PathBuf,
    /// The run as a whole.
    pub header: RunHeader,
    /// The trials that ended, in the order in which they ran.
    pub trials: Vec<TrialRecord>,
}

impl Run {
    /// Reads the run in `path`: a run folder, or `<results folder>/latest` for the newest run
    /// there.
    ///
    /// # Errors
    /// [`ResultsError::NotARun`] with what to name instead, [`ResultsError::Newer`],
    /// [`ResultsError::Damaged`] or [`ResultsError::Read`].
    pub fn open(path: &Path) -> Result<Run, ResultsError> {
        let path = resolve(path)?;
        let header: RunHeader = read_json(&path.join(HEADER_FILE))?;
        let mut trials = read_records(&record_files(&path.join(TRIALS_FOLDER))?)?;
        trials.sort_by_key(|trial| trial.trial);
        Ok(Run { path, header, trials })
    }

    /// The run's cells, in the order in which their first trials ran; those of which every trial
    /// failed among them.
    pub fn cells(&self) -> Vec<Cell> {
        self.repeats_of_cells().iter().map(Cell::of).collect()
    }

    /// What [`Run::cells`] folds into each cell.
    pub fn repeats_of_cells(&self) -> Vec<Repeats<'_>> {
        summary::repeats_of_cells(&self.trials, &self.header.failures)
    }

    /// What the run's experiment draws, if it draws anything. A run of an older Assay does not.
    ///
    /// # Errors
    /// [`ResultsError::Damaged`] if the header's plan holds something else in its place.
    pub fn figures(&self) -> Result<Vec<Figure>, ResultsError> {
        let figures = match self.header.plan.get("figure") {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(several)) => several.iter().map(Figure::deserialize).collect(),
            Some(one) => Figure::deserialize(one).map(|one| vec![one]),
        };
        figures.map_err(|error| self.damaged("plan.figure", &error))
    }

    /// The study that the run belongs to, if it does to any.
    ///
    /// # Errors
    /// [`ResultsError::Damaged`] if the header's plan holds something else in its place.
    pub fn study(&self) -> Result<Option<Study>, ResultsError> {
        let Some(study) = self.header.plan.get("study") else { return Ok(None) };
        Option::deserialize(study).map_err(|error| self.damaged("plan.study", &error))
    }

    /// The systems that were asked for and left out.
    ///
    /// # Errors
    /// [`ResultsError::Damaged`] if the header's plan holds something else in their place.
    pub fn absent(&self) -> Result<Vec<Absent>, ResultsError> {
        let Some(absent) = self.header.plan.get("absent") else { return Ok(Vec::new()) };
        Vec::deserialize(absent).map_err(|error| self.damaged("plan.absent", &error))
    }

    fn damaged(&self, what: &str, error: &serde_json::Error) -> ResultsError {
        ResultsError::Damaged { path: self.path.join(HEADER_FILE), why: format!("{what}: {error}") }
    }

    /// What became of the run, if it did not come to its end, in words that go on from "the run".
    /// Looks whether it is [being written](is_being_written).
    pub fn how_unfinished(&self) -> Option<&'static str> {
        match self.header.status {
            RunStatus::Finished => None,
            RunStatus::Interrupted => Some("was stopped before every trial had run"),
            RunStatus::Running if is_being_written(&self.path) => Some("is not over"),
            RunStatus::Running => Some("was killed, or ended without a chance to say so"),
        }
    }

    /// Where a trial's interval log is, if it has one.
    pub fn interval_log_path(&self, trial: &TrialRecord) -> Option<PathBuf> {
        // A record from elsewhere must not lead out of its folder.
        let name = Path::new(trial.interval_log.as_deref()?).file_name()?;
        Some(self.path.join(TRIALS_FOLDER).join(name))
    }
}

/// How many trials of the run in `folder` have ended, by the names of their records.
///
/// # Errors
/// [`ResultsError::Read`].
pub fn count_trials(folder: &Path) -> Result<usize, ResultsError> {
    Ok(record_files(&folder.join(TRIALS_FOLDER))?.len())
}

/// Reads one trial's record.
///
/// # Errors
/// [`ResultsError::Newer`], [`ResultsError::Damaged`] or [`ResultsError::Read`].
pub fn read_trial(path: &Path) -> Result<TrialRecord, ResultsError> {
    read_json(path)
}

fn resolve(path: &Path) -> Result<PathBuf, ResultsError> {
    if path.join(HEADER_FILE).is_file() {
        return Ok(path.to_owned());
    }
    let not_a_run = |why: String| Err(ResultsError::NotARun { path: path.to_owned(), why });
    if path.file_name().is_some_and(|name| name == LATEST) && !path.exists() {
        let parent = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        return match runs_in(parent).pop() {
            Some(newest) => Ok(newest),
            None => not_a_run(format!(
                "there is no run in {}: make one with 'assay run'",
                parent.display()
            )),
        };
    }
    if !path.exists() {
        return not_a_run("there is no such folder".to_owned());
    }
    if path.is_file() {
        return not_a_run("it is a file; name the folder that holds run.json".to_owned());
    }
    match runs_in(path).pop() {
        Some(newest) => not_a_run(format!(
            "it holds runs: name one of them, as in {}, or {}",
            newest.display(),
            path.join(LATEST).display()
        )),
        None => not_a_run("it has no run.json".to_owned()),
    }
}

/// The run folders in `folder`, oldest first: their names begin with the time.
fn runs_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut runs: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok())
        .map(|entry| entry.path())
        .filter(|path| path.join(HEADER_FILE).is_file())
        .collect();
    runs.sort_by_key(|path| {
        let started = read_json::<RunHeader>(&path.join(HEADER_FILE)).map(|run| run.started_at);
        (started.ok(), path.clone())
    });
    runs
}

/// The files that are whole records. A run that ended before its first trial has none.
fn record_files(folder: &Path) -> Result<Vec<PathBuf>, ResultsError> {
    let reading = |source| ResultsError::Read { path: folder.to_owned(), source };
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(reading)?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(reading)?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes()[0] == b'.');
        if !hidden && path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Reads records on all cores: a run may have thousands. Of several that cannot be read the first is
/// told.
fn read_records(files: &[PathBuf]) -> Result<Vec<TrialRecord>, ResultsError> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let share = files.len().div_ceil(cores).max(1);
    let read = |part: &[PathBuf]| -> Vec<Result<TrialRecord, ResultsError>> {
        part.iter().map(|file| read_json(file)).collect()
    };
    thread::scope(|scope| {
        let parts: Vec<_> =
            files.chunks(share).map(|part| scope.spawn(move || read(part))).collect();
        let records = parts.into_iter().map(|part| part.join().expect("reading does not panic"));
        records.flatten().collect()
    })
}

/// Reads a file of ours: the version first, so that a newer file is not taken for a damaged one.
fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, ResultsError> {
    #[derive(Deserialize)]
    struct Versioned {
        format_version: Option<Value>,
    }
    let damaged = |why: String| ResultsError::Damaged { path: path.to_owned(), why };
    let reading = |source| ResultsError::Read { path: path.to_owned(), source };
    let told = fs::metadata(path).map_err(reading)?;
    if !told.is_file() {
        return Err(damaged("it is no file".to_owned()));
    }
    if told.len() > LARGEST {
        return Err(damaged(format!("it has {} bytes, and none of ours so many", told.len())));
    }
    let text = fs::read(path).map_err(reading)?;
    let versioned: Versioned =
        serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
    let found = versioned
        .format_version
        .and_then(|version| version.as_u64())
        .ok_or_else(|| damaged("it has no format_version".to_owned()))?;
    if found > u64::from(FORMAT_VERSION) {
        return Err(ResultsError::Newer { path: path.to_owned(), found, known: FORMAT_VERSION });
    }
    serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunFolder;

    #[test]
    fn a_file_too_large_to_be_ours_is_not_read() {
        let parent = tempfile::tempdir().unwrap();
        let folder = run_in(parent.path(), "2026-01-01T00:00:00Z");
        let record = folder.path().join(TRIALS_FOLDER).join("0002-x.json");
        // Sparse: it takes no room.
        fs::File::create(&record).unwrap().set_len(LARGEST + 1).unwrap();
        let error = Run::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("0002-x.json") && error.contains("bytes"), "{error}");
        fs::remove_file(&record).unwrap();
        fs::create_dir(&record).unwrap();
        let error = Run::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("it is no file"), "{error}");
    }

    fn run_in(parent: &Path, started_at: &str) -> RunFolder {
        let mut header = RunHeader::starting(vec![], Value::Null);
        header.started_at = started_at.parse().unwrap();
        let folder = RunFolder::create(parent, header).unwrap();
        let record = TrialRecord { trial: 1, system: "null".into(), ..TrialRecord::default() };
        folder.write_trial(&record, None).unwrap();
        folder
    }

    fn message(path: &Path) -> String {
        Run::open(path).unwrap_err().to_string()
    }

    #[test]
    fn latest_is_the_newest_run_of_a_results_folder() {
        let parent = tempfile::tempdir().unwrap();
        run_in(parent.path(), "2026-01-02T00:00:00Z");
        let newest = run_in(parent.path(), "2026-01-03T00:00:00Z");
        run_in(parent.path(), "2026-01-01T00:00:00Z");
        let run = Run::open(&parent.path().join("latest")).unwrap();
        assert_eq!(run.header.id, newest.header().id);
        let hint = message(parent.path());
        assert!(hint.contains("name one of them") && hint.contains("latest"), "{hint}");
    }

    #[test]
    fn what_is_no_run_is_said_to_be_none() {
        let parent = tempfile::tempdir().unwrap();
        assert!(message(&parent.path().join("latest")).contains("assay run"));
        assert!(message(&parent.path().join("gone")).contains("no such folder"));
        assert!(message(parent.path()).contains("no run.json"));
        let file = parent.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(message(&file).contains("it is a file"));
    }

    #[test]
    fn a_newer_format_is_not_taken_for_damage() {
        let parent = tempfile::tempdir().unwrap();
        let folder = run_in(parent.path(), "2026-01-02T00:00:00Z");
        fs::write(folder.path().join("run.json"), "{\"format_version\": 99, \"new\": 1}").unwrap();
        let error = message(folder.path());
        assert!(error.contains("format version 99") && error.contains("newer Assay"), "{error}");
    }

    #[test]
    fn leftovers_of_a_crash_are_passed_over_and_damage_is_named() {
        let parent = tempfile::tempdir().unwrap();
        let folder = run_in(parent.path(), "2026-01-02T00:00:00Z");
        let trials = folder.path().join("trials");
        fs::write(trials.join(".unfinished-abc.tmp"), "{\"format_ver").unwrap();
        fs::write(trials.join(".unfinished-abc.json"), "{").unwrap();
        assert_eq!(Run::open(folder.path()).unwrap().trials.len(), 1);
        for (text, why) in [("{\"format_ver", "EOF"), ("{}", "no format_version")] {
            fs::write(trials.join("0009-x.json"), text).unwrap();
            let error = message(folder.path());
            assert!(error.contains("0009-x.json") && error.contains(why), "{error}");
        }
    }

    #[test]
    fn an_unknown_field_of_the_same_format_is_no_error() {
        let parent = tempfile::tempdir().unwrap();
        let folder = run_in(parent.path(), "2026-01-02T00:00:00Z");
        let file = record_files(&folder.path().join("trials")).unwrap().remove(0);
        let mut json: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        json["added_later"] = Value::from(1);
        fs::write(&file, json.to_string()).unwrap();
        assert_eq!(read_trial(&file).unwrap().system, "null");
    }

    #[test]
    fn an_interval_log_stays_in_its_folder() {
        let parent = tempfile::tempdir().unwrap();
        let folder = run_in(parent.path(), "2026-01-02T00:00:00Z");
        let run = Run::open(folder.path()).unwrap();
        let trial =
            TrialRecord { interval_log: Some("../../x.hlog".into()), ..TrialRecord::default() };
        assert_eq!(run.interval_log_path(&trial), Some(run.path.join("trials/x.hlog")));
    }
}
