//! The runs of a results folder, looked at again and again: what is new is read, what is known is not, and
//! of a run under way most trials are only counted.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    slice,
    sync::Arc,
};

use assay_report::{
    escape,
    page::{self, Report},
};
use assay_results::{
    HEADER_FILE, Run, RunHeader, RunStatus, TRIALS_FOLDER, count_trials, is_being_written,
};
use jiff::Timestamp;
use serde_json::Value;

/// A run under way is read again once it has a tenth more trials, so that all the readings of a long
/// one take about as long as ten at its end: the processor is the measurement's.
const MORE: usize = 10;

/// A run as the list shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The name of its folder, by which it is asked for.
    pub id: String,
    /// Its folder.
    pub path: PathBuf,
    /// How it stands.
    pub state: State,
    /// When it began; of an unreadable one, when its header was last written.
    pub started_at: Timestamp,
    /// When it ended, if it could say so.
    pub finished_at: Option<Timestamp>,
    /// What its experiment is called; may be empty.
    pub title: String,
    /// What it asks; may be empty before it has ended.
    pub question: String,
    /// The systems of its plan.
    pub systems: Vec<String>,
    /// The workloads of its plan.
    pub workloads: Vec<String>,
    /// How many trials have ended with a record.
    pub done: usize,
    /// How many failed; their cells have no further ones.
    pub failed: usize,
    /// How many records there will be, if that is known.
    pub planned: Option<usize>,
    /// What was found out so far, in sentences; of nearly all trials while the run is under way.
    pub answers: Vec<String>,
}

/// How a run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Its process works on it.
    Running,
    /// Every trial ended.
    Finished,
    /// It was stopped, or its process is gone.
    Interrupted,
    /// A file of it cannot be read: why.
    Unreadable(String),
}

impl State {
    /// The state in a word.
    pub fn name(&self) -> &'static str {
        match self {
            State::Running => "running",
            State::Finished => "finished",
            State::Interrupted => "interrupted",
            State::Unreadable(_) => "unreadable",
        }
    }
}

/// A results folder and what is known of it.
pub struct Listing {
    folder: PathBuf,
    known: BTreeMap<String, Known>,
}

struct Known {
    mark: Mark,
    /// How many trials it had when it was read.
    read: usize,
    entry: Arc<Entry>,
}

impl Known {
    /// Whether its process has ended since, without a chance to say so.
    fn has_died(&self) -> bool {
        self.entry.state == State::Running && !is_being_written(&self.entry.path)
    }

    /// The run with as many trials as it has now, if no more than that is to be told: it is under way
    /// as before, and its answers are of nearly all of them.
    fn counted(&self, mark: &Mark) -> Option<Known> {
        if self.entry.state != State::Running || mark.first() != self.mark.first() {
            return None;
        }
        let done = count_trials(&self.entry.path).ok()?;
        if done < self.read || (done - self.read) * MORE > self.read {
            return None;
        }
        let entry = Arc::new(Entry { done, ..Entry::clone(&self.entry) });
        Some(Known { mark: mark.clone(), read: self.read, entry })
    }
}

/// What differs when a run's files do: inode, length and time of each that was looked at.
type Mark = Vec<(u64, u64, i64, i64)>;

impl Listing {
    /// The listing of a folder at which nobody has looked yet.
    pub fn of(folder: PathBuf) -> Listing {
        Listing { folder, known: BTreeMap::new() }
    }

    /// Looks at the folder.
    ///
    /// # Errors
    /// If the folder itself cannot be read; what was known stays. A run that cannot be read is an
    /// entry that says so.
    pub fn look(&mut self) -> io::Result<()> {
        let mut found = BTreeMap::new();
        for path in runs_in(&self.folder)? {
            let id = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let known = self.known.remove(&id);
            found.insert(id.clone(), look_at(id, path, known));
        }
        self.known = found;
        Ok(())
    }

    /// The runs, newest first.
    pub fn entries(&self) -> Vec<Arc<Entry>> {
        let mut entries: Vec<_> =
            self.known.values().map(|known| Arc::clone(&known.entry)).collect();
        entries.sort_by(|a, b| (b.started_at, &b.id).cmp(&(a.started_at, &a.id)));
        entries
    }
}

fn runs_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut runs = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.join(HEADER_FILE).is_file() {
            runs.push(path);
        }
    }
    Ok(runs)
}

fn look_at(id: String, path: PathBuf, known: Option<Known>) -> Known {
    // A record can be mended without its folder showing it.
    let broken =
        known.as_ref().is_some_and(|known| matches!(known.entry.state, State::Unreadable(_)));
    // Before the files are read: what changes meanwhile is seen at the next look.
    let mark = mark(&path, broken);
    match known {
        Some(known) if known.has_died() => read(id, path, mark),
        Some(known) if known.mark == mark => known,
        Some(known) => known.counted(&mark).unwrap_or_else(|| read(id, path, mark)),
        None => read(id, path, mark),
    }
}

fn mark(path: &Path, all_records: bool) -> Mark {
    let trials = path.join(TRIALS_FOLDER);
    let mut files = vec![path.join(HEADER_FILE), trials.clone()];
    if all_records {
        let records = fs::read_dir(trials).into_iter().flatten().flatten();
        files.extend(records.map(|record| record.path()));
        files.sort();
    }
    let of = |file: &PathBuf| {
        fs::metadata(file)
            .map_or((0, 0, 0, 0), |data| (data.ino(), data.len(), data.mtime(), data.mtime_nsec()))
    };
    files.iter().map(of).collect()
}

fn read(id: String, path: PathBuf, mark: Mark) -> Known {
    // Before the header is read: a process that ends in between has said so by then, if it can.
    let alive = is_being_written(&path);
    match Run::open(&path) {
        Ok(run) => {
            let read = run.trials.len();
            Known { mark, read, entry: Arc::new(entry(id, path, &run, alive)) }
        }
        Err(error) => {
            let state = State::Unreadable(escape(&error.to_string()));
            let entry = Entry {
                id,
                state,
                started_at: written_at(&path),
                path,
                finished_at: None,
                title: String::new(),
                question: String::new(),
                systems: Vec::new(),
                workloads: Vec::new(),
                done: 0,
                failed: 0,
                planned: None,
                answers: Vec::new(),
            };
            Known { mark, read: 0, entry: Arc::new(entry) }
        }
    }
}

fn written_at(path: &Path) -> Timestamp {
    let written = fs::metadata(path.join(HEADER_FILE)).and_then(|data| data.modified());
    written.ok().and_then(|time| Timestamp::try_from(time).ok()).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn entry(id: String, path: PathBuf, run: &Run, alive: bool) -> Entry {
    let plan = &run.header.plan;
    let state = match run.header.status {
        RunStatus::Finished => State::Finished,
        RunStatus::Running if alive => State::Running,
        RunStatus::Running | RunStatus::Interrupted => State::Interrupted,
    };
    let asked = plan["question"].as_str().map(escape).unwrap_or_default();
    let nothing_yet = run.trials.is_empty() && run.header.failures.is_empty();
    let (question, answers) = match nothing_yet {
        true => (asked, Vec::new()),
        false => {
            let report = Report::of(slice::from_ref(run));
            let failed = failures(&report);
            let answers = report.headlines.into_iter().map(|headline| headline.sentence);
            let answers = answers.chain(failed);
            // One made of what was measured would leave out the systems that are still to come.
            let question = if state == State::Running { asked } else { report.question };
            (question, answers.collect())
        }
    };
    Entry {
        id,
        state,
        path,
        started_at: run.header.started_at,
        finished_at: run.header.finished_at,
        title: page::title(slice::from_ref(run)),
        question,
        systems: of_cells(plan, "/system/label"),
        workloads: of_cells(plan, "/workload"),
        done: run.trials.len(),
        failed: run.header.failures.len(),
        planned: planned(&run.header),
        answers,
    }
}

/// What failed, as in `redis failed while it was measured in repeat 1: …`.
fn failures(report: &Report) -> Vec<String> {
    let failed = report.caveats.iter().filter(|caveat| caveat.code == "failed");
    let told = failed.map(|caveat| {
        let systems = caveat.systems.iter().map(|system| &*report.systems[*system as usize].name);
        format!("{} {}", systems.collect::<Vec<_>>().join(", "), caveat.text)
    });
    told.collect()
}

/// What the plan's cells have in this place, each once.
fn of_cells(plan: &Value, place: &str) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    for cell in plan["cells"].as_array().into_iter().flatten() {
        if let Some(text) = cell.pointer(place).and_then(Value::as_str).map(escape)
            && !distinct.contains(&text)
        {
            distinct.push(text);
        }
    }
    distinct
}

/// How many records there will be: each cell once a repeat until it fails, and once if it is not
/// supported. Nobody knows where repeats go on until the intervals are narrow.
fn planned(header: &RunHeader) -> Option<usize> {
    let repeats = usize::try_from(header.plan.pointer("/repeats/count")?.as_u64()?).ok()?;
    let cells = header.plan["cells"].as_array()?;
    let unsupported = cells.iter().filter(|cell| cell["unsupported"].is_string()).count();
    let all = (cells.len() - unsupported).checked_mul(repeats)?.checked_add(unsupported)?;
    let missing = header.failures.iter().map(|failed| {
        let before = failed.failure.repeat.saturating_sub(1) as usize;
        repeats.saturating_sub(before)
    });
    Some(all.saturating_sub(missing.sum()))
}

#[cfg(test)]
mod tests {
    use assay_results::{FailedTrial, RunFolder, TrialPhase, TrialRecord};
    use serde_json::json;

    use super::*;

    fn begun(parent: &Path, started_at: &str) -> RunFolder {
        let plan = json!({
            "title": "Stores\u{1b}[2J", "question": "Which?", "repeats": {"count": 2},
            "cells": [
                {"system": {"label": "slik"}, "workload": "ycsb/a", "unsupported": null},
                {"system": {"label": "<script>"}, "workload": "ycsb/a", "unsupported": "no"},
            ],
        });
        let mut header = RunHeader::starting(vec!["assay".into()], plan);
        header.started_at = started_at.parse().unwrap();
        RunFolder::create(parent, header).unwrap()
    }

    fn record(trial: u32) -> TrialRecord {
        let (system, workload) = ("slik".into(), "ycsb/a".into());
        TrialRecord { trial, repeat: trial, system, workload, clients: 1, ..TrialRecord::default() }
    }

    fn looked(listing: &mut Listing) -> Vec<Arc<Entry>> {
        listing.look().unwrap();
        listing.entries()
    }

    #[test]
    fn a_run_of_which_every_trial_failed_says_so() {
        let parent = tempfile::tempdir().unwrap();
        let mut listing = Listing::of(parent.path().to_owned());
        let mut folder = begun(parent.path(), "2026-01-02T00:00:00Z");
        assert_eq!(looked(&mut listing)[0].answers, [""; 0]);
        let why = "the server <b>ended</b>";
        folder.write_failure(FailedTrial::of(record(1), TrialPhase::Measure, why)).unwrap();
        let entry = &looked(&mut listing)[0];
        let failed = format!("slik failed while it was measured in repeat 1: {why}");
        assert_eq!((entry.done, entry.answers.last()), (0, Some(&failed)));
        assert_eq!(
            (entry.failed, entry.planned),
            (1, Some(1)),
            "only the unsupported cell is left"
        );
        folder.finish(RunStatus::Finished).unwrap();
        let page = crate::run_page::render(&looked(&mut listing)[0]).unwrap();
        let told = "Severe: slik: failed while it was measured in repeat 1: the server \
                    &lt;b&gt;ended&lt;/b&gt;";
        assert!(page.html.contains(told), "{:?}", entry.answers);
    }

    #[test]
    fn a_run_is_followed_from_its_beginning_to_its_end() {
        let parent = tempfile::tempdir().unwrap();
        let mut listing = Listing::of(parent.path().to_owned());
        assert_eq!(looked(&mut listing), []);
        let mut folder = begun(parent.path(), "2026-01-02T00:00:00Z");
        let entries = looked(&mut listing);
        let entry = &entries[0];
        assert_eq!((&entry.state, entry.done, entry.planned), (&State::Running, 0, Some(3)));
        assert_eq!(entry.id, folder.header().id);
        assert_eq!(entry.systems, ["slik", "<script>"]);
        assert_eq!(entry.workloads, ["ycsb/a"]);
        assert_eq!(entry.question, "Which?");
        assert!(!entry.title.contains('\u{1b}'), "{}", entry.title);
        folder.write_trial(&record(1), None).unwrap();
        assert_eq!(looked(&mut listing)[0].done, 1);
        let before = looked(&mut listing);
        assert!(
            Arc::ptr_eq(&before[0], &looked(&mut listing)[0]),
            "what is known is not read again"
        );
        folder.finish(RunStatus::Finished).unwrap();
        assert_eq!(looked(&mut listing)[0].state, State::Finished);
        drop(folder);
        assert_eq!(looked(&mut listing)[0].state, State::Finished);
    }

    #[test]
    fn most_trials_of_a_run_under_way_are_only_counted() {
        let parent = tempfile::tempdir().unwrap();
        let mut listing = Listing::of(parent.path().to_owned());
        let mut folder = begun(parent.path(), "2026-01-02T00:00:00Z");
        for trial in 1..=20 {
            folder.write_trial(&record(trial), None).unwrap();
        }
        assert_eq!(looked(&mut listing)[0].done, 20);
        let damage = |trial| {
            let path = folder.write_trial(&record(trial), None).unwrap();
            fs::write(path, "{").unwrap();
        };
        damage(21);
        damage(22);
        let entry = &looked(&mut listing)[0];
        assert_eq!((&entry.state, entry.done), (&State::Running, 22), "nobody has read them");
        damage(23);
        assert!(matches!(looked(&mut listing)[0].state, State::Unreadable(_)), "a tenth more");

        let mut other = Listing::of(parent.path().to_owned());
        for trial in 21..=23 {
            let damaged =
                folder.path().join(format!("trials/00{trial}-slik-ycsb_a-c1-r{trial}.json"));
            fs::remove_file(damaged).unwrap();
        }
        assert_eq!(looked(&mut other)[0].done, 20);
        folder.write_trial(&record(21), None).unwrap();
        folder.finish(RunStatus::Finished).unwrap();
        let over = looked(&mut other);
        assert_eq!((&over[0].state, over[0].done), (&State::Finished, 21));
        drop(folder);
        let mut fresh = Listing::of(parent.path().to_owned());
        assert_eq!(looked(&mut fresh), over, "one that is over is read as a whole");
    }

    #[test]
    fn a_run_whose_process_is_gone_is_interrupted_though_nothing_says_so() {
        let parent = tempfile::tempdir().unwrap();
        let mut listing = Listing::of(parent.path().to_owned());
        let folder = begun(parent.path(), "2026-01-02T00:00:00Z");
        folder.write_trial(&record(1), None).unwrap();
        assert_eq!(looked(&mut listing)[0].state, State::Running);
        drop(folder);
        assert_eq!(looked(&mut listing)[0].state, State::Interrupted);
        let mut fresh = Listing::of(parent.path().to_owned());
        assert_eq!(looked(&mut fresh), looked(&mut listing), "whoever looks later knows as much");
    }

    #[test]
    fn a_damaged_record_takes_its_own_run_only_and_a_mended_one_gives_it_back() {
        let parent = tempfile::tempdir().unwrap();
        let mut listing = Listing::of(parent.path().to_owned());
        let old = begun(parent.path(), "2026-01-01T00:00:00Z");
        let path = old.write_trial(&record(1), None).unwrap();
        let _new = begun(parent.path(), "2099-01-02T00:00:00Z");
        let whole = fs::read(&path).unwrap();
        fs::write(&path, "{\"format_version\"").unwrap();
        let entries = looked(&mut listing);
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0].state, State::Running, "the newest stands first");
        let State::Unreadable(why) = &entries[1].state else { panic!("{entries:?}") };
        assert!(why.contains("0001-slik") && why.contains("damaged"), "{why}");
        // In place, as an editor may do it.
        fs::write(&path, whole).unwrap();
        assert_eq!(looked(&mut listing)[1].done, 1);
    }

    #[test]
    fn runs_go_and_other_folders_are_no_runs() {
        let parent = tempfile::tempdir().unwrap();
        let mut listing = Listing::of(parent.path().to_owned());
        let folder = begun(parent.path(), "2026-01-02T00:00:00Z");
        fs::create_dir(parent.path().join("notes")).unwrap();
        fs::write(parent.path().join("file"), "").unwrap();
        assert_eq!(looked(&mut listing).len(), 1);
        fs::remove_dir_all(folder.path()).unwrap();
        assert_eq!(looked(&mut listing), []);
        fs::remove_dir_all(parent.path()).unwrap();
        assert!(listing.look().is_err());
    }

    #[test]
    fn how_many_trials_there_will_be_is_told_only_if_known() {
        let cells = json!([{"unsupported": null}, {"unsupported": "no"}, {}]);
        let of = |plan| planned(&RunHeader::starting(vec![], plan));
        assert_eq!(of(json!({"cells": cells, "repeats": {"count": 3}})), Some(7));
        assert_eq!(of(json!({"cells": cells, "repeats": {"auto": {"most": 9}}})), None);
        assert_eq!(of(json!({"cells": cells, "repeats": {"count": u64::MAX}})), None);
        assert_eq!(of(json!(null)), None);
    }
}
