//! What is known of the runs, for everyone who asks, and told to everyone who listens.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::broadcast;

use crate::listing::{Entry, Listing, State};

/// How often the folder is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How many changes a listener may lag behind before it is told to begin anew.
const BACKLOG: usize = 256;

/// The board.
pub struct Board {
    folder: PathBuf,
    state: Mutex<Posted>,
}

struct Posted {
    view: View,
    /// None once the server stops.
    changes: Option<broadcast::Sender<Change>>,
}

/// The runs at a moment.
#[derive(Clone)]
pub struct View {
    /// Grows with each change, also from one start of the server to the next.
    pub version: i64,
    /// The runs, newest first.
    pub runs: Arc<[Arc<Entry>]>,
    /// Why the folder cannot be read now, if so.
    pub trouble: Option<String>,
}

/// A change, as it is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// What happened.
    #[serde(skip)]
    pub kind: ChangeKind,
    /// The run; empty if it is about the folder.
    pub id: String,
    /// How the run stands now; null if it is gone.
    pub status: Option<&'static str>,
    /// How many trials have ended.
    pub done: usize,
    /// How many there will be; null if nobody knows.
    pub planned: Option<usize>,
}

/// What happened to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Begun,
    /// Trials have ended.
    Trial,
    /// It has ended, however.
    Ended,
    /// Something else: it is gone, or can no longer be read, or can again.
    Changed,
}

impl ChangeKind {
    /// The event's name.
    pub fn name(self) -> &'static str {
        match self {
            ChangeKind::Begun => "begun",
            ChangeKind::Trial => "trial",
            ChangeKind::Ended => "ended",
            ChangeKind::Changed => "changed",
        }
    }
}

/// Ends the watching when it is dropped.
pub struct Watch(#[allow(dead_code, reason = "its end is the message")] mpsc::Sender<()>);

impl Board {
    /// Looks at a folder, and goes on looking on a thread of its own until the watch is dropped.
    pub fn watching(folder: &Path) -> io::Result<(Arc<Board>, Watch)> {
        let mut listing = Listing::of(folder.to_owned());
        listing.look()?;
        let view = View {
            version: Timestamp::now().as_millisecond(),
            runs: listing.entries().into(),
            trouble: None,
        };
        let changes = Some(broadcast::channel(BACKLOG).0);
        let board =
            Board { folder: folder.to_owned(), state: Mutex::new(Posted { view, changes }) };
        let board = Arc::new(board);
        let (watch, ended) = mpsc::channel();
        let posted = Arc::clone(&board);
        thread::Builder::new().name("watch".to_owned()).spawn(move || {
            while ended.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                let trouble = listing.look().err().map(|error| error.to_string());
                posted.post(listing.entries(), trouble);
            }
        })?;
        Ok((board, Watch(watch)))
    }

    /// The results folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The runs as last seen.
    pub fn view(&self) -> View {
        self.posted().view.clone()
    }

    /// The runs as last seen and all changes from then on; none if the server stops.
    pub fn listen(&self) -> Option<(View, broadcast::Receiver<Change>)> {
        let posted = self.posted();
        let changes = posted.changes.as_ref()?.subscribe();
        Some((posted.view.clone(), changes))
    }

    /// Ends every listening.
    pub fn close(&self) {
        self.posted().changes = None;
    }

    fn post(&self, runs: Vec<Arc<Entry>>, trouble: Option<String>) {
        let mut posted = self.posted();
        let mut news = changes(&posted.view.runs, &runs);
        if posted.view.trouble != trouble {
            let kind = ChangeKind::Changed;
            news.push(Change { kind, id: String::new(), status: None, done: 0, planned: None });
        }
        if news.is_empty() {
            return;
        }
        let version = posted.view.version + 1;
        posted.view = View { version, runs: runs.into(), trouble };
        if let Some(changes) = &posted.changes {
            for change in news {
                // Nobody listens: nobody needs to know.
                let _ = changes.send(change);
            }
        }
    }

    fn posted(&self) -> MutexGuard<'_, Posted> {
        // Whatever is posted is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What happened from one look to the next.
fn changes(before: &[Arc<Entry>], after: &[Arc<Entry>]) -> Vec<Change> {
    let named = |runs: &[Arc<Entry>], id: &str| runs.iter().position(|run| run.id == id);
    let mut changes = Vec::new();
    for entry in before.iter().filter(|entry| named(after, &entry.id).is_none()) {
        changes.push(Change { status: None, ..change(ChangeKind::Changed, entry) });
    }
    // Oldest first, as they began.
    for entry in after.iter().rev() {
        let known = named(before, &entry.id).map(|place| &before[place]);
        if known.is_some_and(|known| Arc::ptr_eq(known, entry) || known == entry) {
            continue;
        }
        let first = changes.len();
        if known.is_none() {
            changes.push(change(ChangeKind::Begun, entry));
        }
        if entry.done > known.map_or(0, |known| known.done) {
            changes.push(change(ChangeKind::Trial, entry));
        }
        let over = matches!(entry.state, State::Finished | State::Interrupted);
        if over && known.is_none_or(|known| known.state == State::Running) {
            changes.push(change(ChangeKind::Ended, entry));
        }
        if changes.len() == first {
            changes.push(change(ChangeKind::Changed, entry));
        }
    }
    changes
}

fn change(kind: ChangeKind, entry: &Entry) -> Change {
    Change {
        kind,
        id: entry.id.clone(),
        status: Some(entry.state.name()),
        done: entry.done,
        planned: entry.planned,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(id: &str, state: State, done: usize) -> Arc<Entry> {
        Arc::new(Entry {
            id: id.to_owned(),
            path: PathBuf::from(id),
            state,
            started_at: Timestamp::UNIX_EPOCH,
            finished_at: None,
            title: String::new(),
            question: String::new(),
            systems: Vec::new(),
            workloads: Vec::new(),
            done,
            failed: 0,
            planned: Some(4),
            answers: Vec::new(),
        })
    }

    fn told(before: &[Arc<Entry>], after: &[Arc<Entry>]) -> Vec<(&'static str, String, usize)> {
        let changes = changes(before, after);
        changes.into_iter().map(|told| (told.kind.name(), told.id, told.done)).collect()
    }

    #[test]
    fn each_change_of_a_run_is_told_once() {
        let running = |done| [run("a", State::Running, done)];
        let over = |state| [run("a", state, 2)];
        let a = |kind, done| (kind, "a".to_owned(), done);
        assert_eq!(told(&[], &running(0)), [a("begun", 0)]);
        assert_eq!(told(&running(0), &running(0)), []);
        assert_eq!(told(&running(0), &running(2)), [a("trial", 2)]);
        assert_eq!(told(&running(2), &over(State::Finished)), [a("ended", 2)]);
        assert_eq!(told(&running(1), &over(State::Interrupted)), [a("trial", 2), a("ended", 2)]);
        let fast = [a("begun", 2), a("trial", 2), a("ended", 2)];
        assert_eq!(told(&[], &over(State::Finished)), fast, "all within a second");
        assert_eq!(told(&running(2), &[]), [a("changed", 2)]);
        let broken = || [run("a", State::Unreadable("x".into()), 0)];
        assert_eq!(told(&running(2), &broken()), [a("changed", 0)]);
        assert_eq!(told(&over(State::Interrupted), &over(State::Finished)), [a("changed", 2)]);
    }

    #[test]
    fn listeners_hear_what_changes_until_the_board_closes() {
        let folder = tempfile::tempdir().unwrap();
        let (board, _watch) = Board::watching(folder.path()).unwrap();
        let (view, mut changes) = board.listen().unwrap();
        board.post(vec![run("a", State::Running, 0)], None);
        assert_eq!(board.view().version, view.version + 1);
        assert_eq!(changes.try_recv().unwrap().id, "a");
        board.post(vec![run("a", State::Running, 0)], None);
        assert!(changes.try_recv().is_err(), "nothing has changed");
        board.post(vec![run("a", State::Running, 0)], Some("gone".to_owned()));
        assert_eq!(changes.try_recv().unwrap().kind, ChangeKind::Changed);
        board.close();
        assert_eq!(changes.try_recv(), Err(broadcast::error::TryRecvError::Closed));
        assert!(board.listen().is_none());
    }
}
