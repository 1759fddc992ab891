//! What a run has of the systems and loads that a study's claims name.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{Absent, Check, Claim, Study};

use crate::{Cell, Mode};

/// A run, as claims look at it.
pub(super) struct Ground<'a> {
    study: &'a Study,
    absent: &'a [Absent],
    /// The cells of closed loops, of each workload those with the most records.
    cells: Vec<&'a Cell>,
}

/// A system of ours that a claim is about.
pub(super) struct Actor {
    /// Its label.
    pub label: String,
    /// The study's name of the system in whose place it stands.
    pub in_place_of: Option<String>,
}

impl<'a> Ground<'a> {
    pub fn new(study: &'a Study, absent: &'a [Absent], cells: &'a [Cell]) -> Ground<'a> {
        let mut most: BTreeMap<&str, u64> = BTreeMap::new();
        for cell in cells {
            let most = most.entry(&cell.workload).or_default();
            *most = (*most).max(cell.records_in_question());
        }
        let cells = cells.iter().filter(|cell| {
            cell.mode == Mode::Closed
                && most.get(cell.workload.as_str()) == Some(&cell.records_in_question())
        });
        Ground { study, absent, cells: cells.collect() }
    }

    /// The numbers of clients at which a workload was run.
    pub fn client_counts(&self, workload: &str) -> BTreeSet<u32> {
        let of_workload = self.cells.iter().filter(|cell| cell.workload == workload);
        of_workload.map(|cell| cell.clients).collect()
    }

    /// The figures of a system, or why they decide nothing.
    pub fn cell(&self, label: &str, workload: &str, clients: u32) -> Result<&'a Cell, String> {
        if let Some(absent) = self.absent.iter().find(|absent| absent.system == label) {
            return Err(format!("{label}: {}", absent.reason.words()));
        }
        let cell = self.cells.iter().find(|cell| {
            cell.system == label && cell.workload == workload && cell.clients == clients
        });
        let Some(cell) = cell else {
            return Err(match self.cells.iter().any(|cell| cell.system == label) {
                true => not_run(workload),
                false => format!("{label} was not asked for"),
            });
        };
        let where_ = format!("on {workload} at {}", clients_in_words(clients));
        let has_caveat = |code: &str| cell.caveats.iter().any(|caveat| caveat.code == code);
        let driver = label.split(':').next().unwrap_or_default();
        if cell.driver != driver || has_caveat("stand_in") {
            return Err(format!("what is called {label} here is {}", cell.driver));
        }
        if cell.unsupported.is_some() {
            return Err(format!("{label} cannot do {workload}"));
        }
        if cell.failure.is_some() || cell.wrong_answers > 0 || !cell.has_run() {
            return Err(format!("{label} failed {where_}"));
        }
        if has_caveat("client_bottleneck") {
            return Err(format!(
                "the load, from the same machine, was what limited {label} {where_}"
            ));
        }
        Ok(cell)
    }

    /// Why the servers of a claim's systems had fewer cores of their own than `needed`, if they had.
    pub fn too_few_cores(&self, claim: &Claim, needed: u32) -> Option<String> {
        let actors = claim.checks.iter().flat_map(systems).flat_map(|name| self.actors(name));
        let labels: BTreeSet<String> = actors.map(|actor| actor.label).collect();
        let ran = self.cells.iter().filter(|cell| cell.has_run() && labels.contains(&cell.system));
        // No core is named where a server may run on all, or was there before.
        let is_attached = |cell: &Cell| cell.caveats.iter().any(|caveat| caveat.code == "attached");
        let own = |cell: &&Cell| match is_attached(cell) {
            true => 0,
            false => cell.placement.server_cpus.len() as u32,
        };
        let least = ran.map(own).min()?;
        match least {
            0 => Some(format!(
                "it takes {needed} cores for the server, and how many it had for itself is not known"
            )),
            had if had < needed => {
                Some(format!("it takes {needed} cores for the server, which had {had} here"))
            }
            _ => None,
        }
    }

    /// Two systems that a claim sets against each other, and, where one of them has no figures, what
    /// is shown in its place.
    pub fn pairs(&self, one: &str, other: &str) -> Vec<(Actor, Actor)> {
        let (mut ones, mut others) = (self.actors(one), self.actors(other));
        let shown = (ones.len() > 1 || others.len() > 1)
            .then(|| (ones.pop(), others.pop()))
            .and_then(|(one, other)| Some((one?, other?)));
        let own = (Actor::own(self.label(one)), Actor::own(self.label(other)));
        [Some(own), shown].into_iter().flatten().collect()
    }

    /// The label of the system that the study calls so.
    fn label(&self, name: &str) -> String {
        let called = self.study.called.iter().find(|called| called.name == name);
        called.map_or(name, |called| &called.system).to_owned()
    }

    /// The systems that stand for one that the study names: its own and, where that has no figures,
    /// the one that is shown in its place.
    pub fn actors(&self, name: &str) -> Vec<Actor> {
        let label = self.label(name);
        let has_figures =
            |label: &str| self.cells.iter().any(|cell| cell.system == label && cell.has_run());
        let called = self.study.called.iter().find(|called| called.name == name);
        let in_place = called
            .and_then(|called| called.in_place.as_ref())
            .filter(|other| !has_figures(&label) && has_figures(other))
            .map(|other| Actor { label: other.clone(), in_place_of: Some(name.to_owned()) });
        [Some(Actor::own(label)), in_place].into_iter().flatten().collect()
    }
}

impl Actor {
    fn own(label: String) -> Actor {
        Actor { label, in_place_of: None }
    }
}

/// The systems that a check names.
fn systems(check: &Check) -> Vec<&String> {
    match check {
        Check::Ahead { system, of, .. } => [system].into_iter().chain(of).collect(),
        Check::Falls { systems, than_systems, .. } => systems.iter().chain(than_systems).collect(),
        Check::Grows { systems, .. } | Check::Keeps { systems, .. } => systems.iter().collect(),
    }
}

/// That a workload has no cells, in words.
pub(super) fn not_run(workload: &str) -> String {
    format!("{workload} was not run")
}

/// `1 client`, `8 clients`.
pub(super) fn clients_in_words(count: u32) -> String {
    match count {
        1 => "1 client".to_owned(),
        many => format!("{many} clients"),
    }
}
