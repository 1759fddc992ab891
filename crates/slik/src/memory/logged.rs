//! Commits of a durable table: each object is logged between the check of its version and its
//! being seen, so that nobody sees what a crash could take away at the table's level of
//! durability.
//!
//! The log is written under the key's lock and no latch. The version and the schema cannot change
//! for the worse in between: the one is of this key, and who changes the other waits for the
//! writers that knew only the old one ([`Memory::settle`]).

use super::Memory;
use super::tablet::Reserved;
use crate::durable::TableLog;
use crate::substrate::{Commit, Committed, Expected, Refused};

impl Memory {
    pub(super) fn commit_logged(
        &self,
        log: &TableLog,
        commit: &Commit<'_>,
    ) -> Result<Committed, Refused> {
        let Reserved { version, current } = loop {
            let layout = self.layout.load();
            let mut state = layout.tablet(commit.hash).write();
            if state.owns(commit.hash) {
                let heap = self.heaps.read(commit.hash);
                break state.reserve(commit, &heap, &self.switches, &self.budget)?;
            }
        };
        match commit.object {
            Some(image) => {
                log.reserve(version).map_err(Refused::Log)?;
                log.put(commit.primary, image, version).map_err(Refused::Log)?;
            }
            None if current.is_some() => log.remove(commit.primary).map_err(Refused::Log)?,
            None => return Ok(Committed { version: None, grown: false, dirty: false }),
        }
        let logged = Commit {
            expected: Expected::Any,
            // Only a dropped table refuses what is logged.
            generation: u64::MAX - 1,
            version: Some(version),
            ..*commit
        };
        loop {
            let layout = self.layout.load();
            let mut state = layout.tablet(commit.hash).write();
            if state.owns(commit.hash) {
                let committed = self.commit_to(&mut state, &logged)?;
                drop(state);
                log.count(current.is_some(), commit.object.is_some());
                return Ok(committed);
            }
        }
    }

    /// Waits for the writers that are under way.
    pub(crate) fn settle(&self) {
        if self.log.is_some() {
            self.stripes.iter().for_each(|stripe| drop(stripe.lock()));
        }
    }
}
