//! Histories of calls, and what must hold of them.
//!
//! Each call is logged with the moments (of one counter) of its start and end, and its outcome.
//! The versions of a primary key order its writes, so that the states it went through are known;
//! what remains unknown is when within its call each write took effect. From the calls that saw a
//! state, bounds of these moments are derived; a history is wrong if the bounds contradict each
//! other, or if a call's outcome fits no state that could be the current one during the call.
//!
//! The bounds assume that writes end with a known outcome, as they do inside one process.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, IndexId, Object, Query, Table};

type Keys = Vec<(IndexId, Vec<u8>)>;
/// What an object is besides its primary key.
type Image = (u64, Keys, Vec<u8>);

/// One call.
#[derive(Debug)]
pub(crate) struct Event {
    start: u64,
    end: u64,
    call: Call,
}

#[derive(Debug)]
enum Call {
    Write { primary: Vec<u8>, expected: Option<Option<u64>>, image: Image },
    Refused { primary: Vec<u8>, current: Option<u64>, expected: Option<u64> },
    Remove { primary: Vec<u8>, removed: Option<u64> },
    Read { primary: Vec<u8>, found: Option<Image> },
    Lookup { index: IndexId, asked: Asked, found: Vec<(Vec<u8>, Vec<u8>, Image)> },
}

/// The query of a logged lookup: keys from the first to the second, both included.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) from: Vec<u8>,
    pub(crate) to: Vec<u8>,
    pub(crate) backward: bool,
    pub(crate) limit: usize,
}

/// A log that any number of threads append to.
#[derive(Default)]
pub(crate) struct History {
    clock: AtomicU64,
    events: Mutex<Vec<Event>>,
}

impl History {
    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    fn log(&self, start: u64, call: Call) {
        let end = self.now();
        let mut events = self.events.lock().expect("no thread panics while it logs");
        events.push(Event { start, end, call });
    }

    /// Writes; conditionally where a version, or none, is expected.
    pub(crate) fn write(
        &self,
        table: &Table,
        primary: &[u8],
        expected: Option<Option<u64>>,
        keys: &[(IndexId, &[u8])],
        value: &[u8],
    ) -> Option<u64> {
        let start = self.now();
        let primary = primary.to_vec();
        let written = match expected {
            None => table.write(&primary, keys, value),
            Some(version) => table.write_if_version(&primary, version, keys, value),
        };
        let owned = keys.iter().map(|(index, key)| (*index, key.to_vec())).collect();
        match written {
            Ok(version) => {
                let image = (version, owned, value.to_vec());
                self.log(start, Call::Write { primary, expected, image });
                Some(version)
            }
            Err(Error::VersionMismatch { expected, current }) => {
                self.log(start, Call::Refused { primary, current, expected });
                None
            }
            Err(error) => panic!("a write failed: {error}"),
        }
    }

    pub(crate) fn remove(&self, table: &Table, primary: &[u8]) {
        let start = self.now();
        let removed = table.remove(primary).expect("the table is there");
        self.log(start, Call::Remove { primary: primary.to_vec(), removed });
    }

    pub(crate) fn read(&self, table: &Table, primary: &[u8]) -> Option<u64> {
        let start = self.now();
        let found = table.read(primary).expect("the table is there");
        let version = found.as_ref().map(Object::version);
        let found = found.as_ref().map(image);
        self.log(start, Call::Read { primary: primary.to_vec(), found });
        version
    }

    /// Looks up; an index that cannot be read at this moment is not logged.
    pub(crate) fn lookup(&self, table: &Table, index: IndexId, asked: Asked) {
        let start = self.now();
        let query = Query::bounds(
            std::ops::Bound::Included(&asked.from),
            std::ops::Bound::Included(&asked.to),
        );
        let query = if asked.backward { query.backward() } else { query }.limit(asked.limit);
        let found: Result<Vec<_>, Error> = table.lookup(index, &query).and_then(Iterator::collect);
        match found {
            Ok(found) => {
                let found = found
                    .into_iter()
                    .map(|m| (m.key, m.object.primary().to_vec(), image(&m.object)))
                    .collect();
                self.log(start, Call::Lookup { index, asked, found });
            }
            Err(
                Error::NoIndex { .. } | Error::IndexBuilding { .. } | Error::IndexDropped { .. },
            ) => {}
            Err(error) => panic!("a lookup failed: {error}"),
        }
    }

    /// Checks the whole history; C1 to C5 are those of the specification.
    pub(crate) fn check(&self) -> Result<(), String> {
        let events = self.events.lock().expect("no thread panics while it logs");
        let objects = timelines(&events)?;
        for event in &*events {
            check_event(event, &objects).map_err(|why| format!("{why}\nin {event:?}"))?;
        }
        Ok(())
    }
}

fn image(object: &Object) -> Image {
    let keys = object.keys().map(|(index, key)| (index, key.to_vec())).collect();
    (object.version(), keys, object.value().to_vec())
}

/// One state that a primary key was in, and the bounds of the moment at which that state began.
#[derive(Debug)]
struct State {
    /// `None` for no object.
    image: Option<Image>,
    earliest: u64,
    latest: u64,
}

type Timelines = BTreeMap<Vec<u8>, Vec<State>>;

impl Event {
    fn primary(&self) -> Option<&Vec<u8>> {
        match &self.call {
            Call::Write { primary, .. }
            | Call::Refused { primary, .. }
            | Call::Remove { primary, .. }
            | Call::Read { primary, .. } => Some(primary),
            Call::Lookup { .. } => None,
        }
    }
}

/// The states of each primary key, with bounds as tight as the calls that saw them make them.
fn timelines(events: &[Event]) -> Result<Timelines, String> {
    // By (version, whether it is the state after that version was removed).
    let mut states: BTreeMap<Vec<u8>, BTreeMap<(u64, bool), State>> = BTreeMap::new();
    for event in events {
        let (primary, key, image) = match &event.call {
            Call::Write { primary, image, .. } => (primary, (image.0, false), Some(image.clone())),
            Call::Remove { primary, removed: Some(version) } => (primary, (*version, true), None),
            _ => continue,
        };
        let state = State { image, earliest: event.start, latest: event.end };
        if states.entry(primary.clone()).or_default().insert(key, state).is_some() {
            return Err(format!("version {key:?} of {primary:?} was given twice"));
        }
    }
    let mut timelines = Timelines::new();
    for primary in events.iter().filter_map(Event::primary) {
        timelines.entry(primary.clone()).or_insert_with(|| {
            let first = State { image: None, earliest: 0, latest: 0 };
            let later = states.remove(primary).unwrap_or_default();
            std::iter::once(first).chain(later.into_values()).collect()
        });
    }
    for event in events {
        for (primary, version) in seen(event) {
            let line =
                timelines.get_mut(primary).ok_or(format!("{primary:?} was never written"))?;
            let at = line
                .iter()
                .position(|state| state.image.as_ref().is_some_and(|image| image.0 == version))
                .ok_or(format!("version {version} of {primary:?} was never written"))?;
            // The state began before the call ended, and the next one after it started.
            line[at].latest = line[at].latest.min(event.end);
            if let Some(next) = line.get_mut(at + 1) {
                next.earliest = next.earliest.max(event.start);
            }
        }
    }
    for (primary, line) in &mut timelines {
        for at in 1..line.len() {
            line[at].earliest = line[at].earliest.max(line[at - 1].earliest);
        }
        for at in (1..line.len()).rev() {
            line[at - 1].latest = line[at - 1].latest.min(line[at].latest);
        }
        if let Some(state) = line.iter().find(|state| state.earliest > state.latest) {
            return Err(format!("C4: {primary:?} has no moment to become {:?}", state.image));
        }
    }
    Ok(timelines)
}

/// The states that a call saw for certain. What a write replaced on condition, it saw too.
fn seen(event: &Event) -> Vec<(&Vec<u8>, u64)> {
    match &event.call {
        Call::Read { primary, found: Some(image) } => vec![(primary, image.0)],
        Call::Refused { primary, current: Some(version), .. }
        | Call::Write { primary, expected: Some(Some(version)), .. } => vec![(primary, *version)],
        Call::Lookup { found, .. } => found.iter().map(|(_, pk, image)| (pk, image.0)).collect(),
        _ => Vec::new(),
    }
}

/// The states that could be the current one at some moment of a call.
fn possible<'a>(line: &'a [State], event: &Event) -> impl Iterator<Item = &'a State> {
    let (start, end) = (event.start, event.end);
    line.iter().enumerate().filter_map(move |(at, state)| {
        let ends = line.get(at + 1).map_or(u64::MAX, |next| next.latest);
        (state.earliest <= end && ends >= start).then_some(state)
    })
}

fn check_event(event: &Event, objects: &Timelines) -> Result<(), String> {
    match &event.call {
        Call::Write { expected: None, .. } | Call::Remove { removed: Some(_), .. } => Ok(()),
        Call::Write { primary, expected: Some(expected), image } => {
            // C5: the state just before is the one expected, so that no two writes can have won.
            let line = &objects[primary];
            let at = line.iter().position(|s| s.image.as_ref().is_some_and(|i| i.0 == image.0));
            let before = at.and_then(|at| line[at - 1].image.as_ref()).map(|image| image.0);
            match before == *expected {
                true => Ok(()),
                false => Err(format!("C5: won expecting {expected:?} over {before:?}")),
            }
        }
        Call::Refused { primary, current, expected } => {
            if current == expected {
                return Err("C5: refused with the version it expected".to_owned());
            }
            must_be_possible(event, &objects[primary], *current)
        }
        Call::Remove { primary, removed: None } => must_be_possible(event, &objects[primary], None),
        Call::Read { primary, found } => {
            let line = &objects[primary];
            if !line.iter().any(|state| state.image == *found) {
                return Err("C4: read what was never written".to_owned());
            }
            must_be_possible(event, line, found.as_ref().map(|image| image.0))
        }
        Call::Lookup { index, asked, found } => check_lookup(event, *index, asked, found, objects),
    }
}

fn must_be_possible(event: &Event, line: &[State], version: Option<u64>) -> Result<(), String> {
    let mut states = possible(line, event);
    match states.any(|state| state.image.as_ref().map(|image| image.0) == version) {
        true => Ok(()),
        false => Err(format!("C4: version {version:?} was not current during the call")),
    }
}

fn check_lookup(
    event: &Event,
    index: IndexId,
    asked: &Asked,
    found: &[(Vec<u8>, Vec<u8>, Image)],
    objects: &Timelines,
) -> Result<(), String> {
    let in_range = |key: &[u8]| *asked.from <= *key && *key <= *asked.to;
    for (key, primary, image) in found {
        let bears = image.1.iter().any(|(i, k)| *i == index && k == key);
        if !bears || !in_range(key) {
            return Err(format!("C1: {primary:?} under {key:?} is not in range"));
        }
        let line = &objects[primary];
        if !possible(line, event).any(|state| state.image.as_ref() == Some(image)) {
            return Err(format!("C1: {primary:?} was not {image:?} during the lookup"));
        }
    }
    let keys: Vec<&[u8]> = found.iter().map(|(key, ..)| key.as_slice()).collect();
    let sorted = match asked.backward {
        false => keys.is_sorted(),
        true => keys.iter().rev().is_sorted(),
    };
    if !sorted || found.len() > asked.limit {
        return Err("C3: not sorted, or over the limit".to_owned());
    }
    let distinct: BTreeSet<_> = found.iter().map(|(key, primary, _)| (key, primary)).collect();
    if distinct.len() != found.len() {
        return Err("C3: a duplicate".to_owned());
    }
    // Where the limit cut the lookup off, nothing is known of the last key and those behind it.
    let cut = (found.len() == asked.limit).then(|| keys[keys.len() - 1]);
    for (primary, line) in objects {
        let mut certain: Option<BTreeSet<&[u8]>> = None;
        for state in possible(line, event) {
            let keys = state.image.iter().flat_map(|image| &image.1);
            let keys = keys.filter(|(i, key)| *i == index && in_range(key));
            let keys: BTreeSet<&[u8]> = keys.map(|(_, key)| key.as_slice()).collect();
            certain = Some(match certain {
                None => keys,
                Some(before) => before.intersection(&keys).copied().collect(),
            });
        }
        for key in certain.unwrap_or_default() {
            let reached = match (cut, asked.backward) {
                (None, _) => true,
                (Some(last), false) => key < last,
                (Some(last), true) => key > last,
            };
            if reached && !distinct.contains(&(&key.to_vec(), primary)) {
                return Err(format!("C2: {primary:?} had {key:?} throughout and is missing"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(version: u64, key: &[u8]) -> Image {
        (version, vec![(1, key.to_vec())], Vec::new())
    }

    fn write(version: u64, expected: Option<Option<u64>>, key: &[u8]) -> Call {
        Call::Write { primary: b"p".to_vec(), expected, image: image(version, key) }
    }

    fn read(found: Option<Image>) -> Call {
        Call::Read { primary: b"p".to_vec(), found }
    }

    fn lookup(limit: usize, found: &[(&[u8], Image)]) -> Call {
        let asked = Asked { from: b"a".to_vec(), to: b"m".to_vec(), backward: false, limit };
        let found = found.iter().map(|(k, i)| (k.to_vec(), b"p".to_vec(), i.clone())).collect();
        Call::Lookup { index: 1, asked, found }
    }

    /// What is wrong with a history of (start, end, call).
    fn verdict(events: impl IntoIterator<Item = (u64, u64, Call)>) -> String {
        let history = History::default();
        for (start, end, call) in events {
            history.events.lock().unwrap().push(Event { start, end, call });
        }
        history.check().err().unwrap_or_default()
    }

    #[test]
    fn calls_one_after_the_other_that_fit_are_accepted() {
        assert_eq!(
            verdict([
                (1, 2, read(None)),
                (3, 4, write(1, Some(None), b"b")),
                (5, 6, lookup(9, &[(b"b", image(1, b"b"))])),
                (7, 8, write(2, Some(Some(1)), b"z")),
                (9, 10, lookup(9, &[])),
                (11, 12, Call::Remove { primary: b"p".to_vec(), removed: Some(2) }),
                (13, 14, read(None)),
            ]),
            ""
        );
    }

    #[test]
    fn either_outcome_of_a_call_beside_a_write_is_accepted() {
        let first = || (1, 2, write(1, None, b"b"));
        let second = || (3, 9, write(2, None, b"z"));
        for read_version in [image(1, b"b"), image(2, b"z")] {
            assert_eq!(verdict([first(), second(), (4, 5, read(Some(read_version)))]), "");
        }
        let found = [(&b"b"[..], image(1, b"b"))];
        assert_eq!(verdict([first(), second(), (4, 5, lookup(9, &found))]), "");
        assert_eq!(verdict([first(), second(), (4, 5, lookup(9, &[]))]), "");
    }

    #[test]
    fn a_read_of_a_version_overwritten_before_it_began_is_refused() {
        let why = verdict([
            (1, 2, write(1, None, b"b")),
            (3, 4, write(2, None, b"b")),
            (5, 6, read(Some(image(1, b"b")))),
        ]);
        assert!(why.starts_with("C4"), "{why}");
    }

    #[test]
    fn a_read_that_goes_back_behind_another_is_refused() {
        let why = verdict([
            (1, 2, write(1, None, b"b")),
            (3, 9, write(2, None, b"b")),
            (4, 5, read(Some(image(2, b"b")))),
            (6, 7, read(Some(image(1, b"b")))),
        ]);
        assert!(why.starts_with("C4"), "{why}");
    }

    #[test]
    fn a_lookup_that_misses_what_was_read_before_it_is_refused() {
        let why = verdict([
            (1, 9, write(1, None, b"b")),
            (2, 3, read(Some(image(1, b"b")))),
            (4, 5, lookup(9, &[])),
        ]);
        assert!(why.starts_with("C2"), "{why}");
    }

    #[test]
    fn a_removed_object_that_is_found_is_refused() {
        let why = verdict([
            (1, 2, write(1, None, b"b")),
            (3, 4, Call::Remove { primary: b"p".to_vec(), removed: Some(1) }),
            (5, 6, lookup(9, &[(b"b", image(1, b"b"))])),
        ]);
        assert!(why.starts_with("C4") || why.starts_with("C1"), "{why}");
    }

    #[test]
    fn an_object_under_a_key_it_does_not_have_or_twice_is_refused() {
        let written = || (1, 2, write(1, None, b"b"));
        let why = verdict([written(), (3, 4, lookup(9, &[(b"c", image(1, b"b"))]))]);
        assert!(why.starts_with("C1"), "{why}");
        let twice = [(&b"b"[..], image(1, b"b")), (&b"b"[..], image(1, b"b"))];
        let why = verdict([written(), (3, 4, lookup(9, &twice))]);
        assert!(why.starts_with("C3"), "{why}");
    }

    #[test]
    fn two_winners_of_one_expected_version_are_refused() {
        let why = verdict([
            (1, 2, write(1, None, b"b")),
            (3, 8, write(2, Some(Some(1)), b"b")),
            (4, 9, write(3, Some(Some(1)), b"b")),
        ]);
        assert!(why.starts_with("C4") || why.starts_with("C5"), "{why}");
        let why = verdict([(1, 8, write(1, Some(None), b"b")), (2, 9, write(2, Some(None), b"b"))]);
        assert!(why.starts_with("C5"), "{why}");
    }

    #[test]
    fn a_refusal_by_a_version_that_was_not_current_is_refused() {
        let refused = |current| {
            let primary = b"p".to_vec();
            (5, 6, Call::Refused { primary, current, expected: Some(7) })
        };
        let written = || [(1, 2, write(1, None, b"b")), (3, 4, write(2, None, b"b"))];
        let why = verdict(written().into_iter().chain([refused(None)]));
        assert!(why.starts_with("C4"), "{why}");
        let why = verdict(written().into_iter().chain([refused(Some(1))]));
        assert!(why.starts_with("C4"), "{why}");
        assert_eq!(verdict(written().into_iter().chain([refused(Some(2))])), "");
    }
}
