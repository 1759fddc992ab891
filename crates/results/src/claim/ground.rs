//! What a run has of the systems and conditions that a study's claims name, as ratios.

use std::collections::{BTreeMap, BTreeSet};

use assay_measure::statistics::{MINIMUM_EFFECT, Ratio};
use assay_model::{Absent, AtClients, Between, Check, Claim, FromClients, Study};

use crate::{Cell, Mode, rank::ratio_of};

/// By repeat, a throughput.
type Repeats = BTreeMap<u32, f64>;

/// A run, as claims look at it.
pub(super) struct Ground<'a> {
    study: &'a Study,
    absent: &'a [Absent],
    /// The cells of closed loops, of each workload those with the most records.
    cells: Vec<&'a Cell>,
}

/// Two throughputs, or changes of them, set side by side.
pub(super) struct Compared {
    /// What was compared, in words.
    pub what: String,
    /// The figure and over how many repeats, or why there is none.
    pub ratio: Result<(Ratio, usize), String>,
    /// The study's name of the system in whose place another one stands.
    pub in_place_of: Option<String>,
    /// Where the second condition is not saturated yet: that, in words.
    pub still_grows: Option<String>,
}

/// A system of ours that a claim is about.
struct Actor {
    label: String,
    in_place_of: Option<String>,
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

    /// A system against each of others, on each workload.
    pub fn ahead(
        &self,
        system: &str,
        others: &[String],
        workloads: &[String],
        clients: AtClients,
    ) -> Vec<Compared> {
        let mut compared = Vec::new();
        for workload in workloads {
            let counts = match clients {
                AtClients::Each => self.client_counts(workload),
                AtClients::Most => {
                    self.client_counts(workload).into_iter().next_back().into_iter().collect()
                }
            };
            for other in others {
                for (one, other) in self.pairs(system, other) {
                    if counts.is_empty() {
                        compared.push(self.one_ahead(&one, &other, workload, None));
                    }
                    compared.extend(
                        counts
                            .iter()
                            .map(|clients| self.one_ahead(&one, &other, workload, Some(*clients))),
                    );
                }
            }
        }
        compared
    }

    fn one_ahead(
        &self,
        one: &Actor,
        other: &Actor,
        workload: &str,
        clients: Option<u32>,
    ) -> Compared {
        let told = clients.map(|clients| format!(", {}", clients_in_words(clients)));
        let what =
            format!("{} over {} on {workload}{}", one.label, other.label, told.unwrap_or_default());
        let ratio = clients.ok_or_else(|| not_run(workload)).and_then(|clients| {
            let cell = self.cell(&one.label, workload, clients)?;
            let base = self.cell(&other.label, workload, clients)?;
            let repeats = base.throughputs.len().min(cell.throughputs.len());
            Ok((ratio(&base.throughputs, &cell.throughputs)?, repeats))
        });
        let in_place_of = one.in_place_of.clone().or_else(|| other.in_place_of.clone());
        Compared { what, ratio, in_place_of, still_grows: None }
    }

    /// What a change leaves of the throughput of each system; divided by what another change leaves,
    /// if one is given.
    pub fn changes(
        &self,
        systems: &[String],
        change: &Between,
        than: Option<&Between>,
    ) -> Vec<Compared> {
        let mut compared = Vec::new();
        for step in 0..change.to.len() {
            for system in systems {
                compared.extend(
                    self.actors(system)
                        .iter()
                        .map(|actor| self.one_change(actor, (change, than), step)),
                );
            }
        }
        compared
    }

    fn one_change(
        &self,
        actor: &Actor,
        (change, than): (&Between, Option<&Between>),
        step: usize,
    ) -> Compared {
        let label = actor.label.as_str();
        let own = self.condition(label, change, step);
        let mut what = format!("{label}: {}", own.what);
        let mut still_grows = None;
        let ratio = own.cells.and_then(|(from, to)| {
            still_grows = self.still_grows(label, to);
            let mut base = from.throughputs.clone();
            let mut left = to.throughputs.clone();
            if let Some(than) = than {
                // One condition may be set against each step.
                let other = self.condition(label, than, step.min(than.to.len().saturating_sub(1)));
                what = format!("{what}, over {}", other.what);
                let (from, to) = other.cells?;
                multiply(&mut base, &to.throughputs);
                multiply(&mut left, &from.throughputs);
            }
            Ok((ratio(&base, &left)?, base.len().min(left.len())))
        });
        let in_place_of = actor.in_place_of.clone();
        Compared { what, ratio, in_place_of, still_grows }
    }

    /// What a change leaves of the throughput of each system, divided by what it leaves to each of
    /// others.
    pub fn changes_beside(
        &self,
        systems: &[String],
        change: &Between,
        others: &[String],
    ) -> Vec<Compared> {
        let mut compared = Vec::new();
        for step in 0..change.to.len() {
            for (system, other) in
                systems.iter().flat_map(|system| others.iter().map(move |other| (system, other)))
            {
                for (one, other) in self.pairs(system, other) {
                    let own = self.condition(&one.label, change, step);
                    let theirs = self.condition(&other.label, change, step);
                    let what = format!("{}: {}, over {}'s", one.label, own.what, other.label);
                    let still_grows = None;
                    let ratio = own.cells.and_then(|own| Ok((own, theirs.cells?))).and_then(
                        |((from, to), (their_from, their_to))| {
                            let mut base = from.throughputs.clone();
                            let mut left = to.throughputs.clone();
                            multiply(&mut base, &their_to.throughputs);
                            multiply(&mut left, &their_from.throughputs);
                            Ok((ratio(&base, &left)?, base.len().min(left.len())))
                        },
                    );
                    let in_place_of = one.in_place_of.or(other.in_place_of);
                    compared.push(Compared { what, ratio, in_place_of, still_grows });
                }
            }
        }
        compared
    }

    /// The two ends of a change.
    fn condition(&self, label: &str, change: &Between, step: usize) -> Condition<'_> {
        let Some(to) = change.to.get(step) else {
            return Condition {
                what: String::new(),
                cells: Err("the claim names no workload".into()),
            };
        };
        let from = change.from.get(step).unwrap_or(to);
        let cells = self.ends(label, (from, to), change.from_clients);
        let what = match (&cells, from == to) {
            (Ok((before, after)), true) => {
                format!("{to} from {} to {}", before.clients, clients_in_words(after.clients))
            }
            (Ok((before, after)), false) if before.clients == after.clients => {
                format!("from {from} to {to}, {}", clients_in_words(after.clients))
            }
            (Ok((before, after)), false) => format!(
                "from {from} at {} to {to} at {}",
                before.clients,
                clients_in_words(after.clients)
            ),
            (Err(_), true) => to.clone(),
            (Err(_), false) => format!("from {from} to {to}"),
        };
        Condition { what, cells }
    }

    fn ends(
        &self,
        label: &str,
        (from, to): (&str, &str),
        from_clients: FromClients,
    ) -> Result<(&'a Cell, &'a Cell), String> {
        let counts = |workload| {
            let counts = self.client_counts(workload);
            if counts.is_empty() { Err(not_run(workload)) } else { Ok(counts) }
        };
        let (before, after) = (counts(from)?, counts(to)?);
        let most = |counts: &BTreeSet<u32>| counts.last().copied().unwrap_or_default();
        let last = self.cell(label, to, most(&after))?;
        let first = match from_clients {
            FromClients::Most => self.cell(label, from, most(&before))?,
            FromClients::Fewest => {
                self.cell(label, from, before.first().copied().unwrap_or_default())?
            }
            FromClients::Peak => {
                let all: Vec<&Cell> = before
                    .iter()
                    .map(|clients| self.cell(label, from, *clients))
                    .collect::<Result<_, _>>()?;
                let rate = |cell: &&&Cell| cell.throughput_ops_per_s.median;
                let best = all.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)));
                best.copied().ok_or_else(|| not_run(from))?
            }
        };
        if std::ptr::eq(first, last) {
            let clients = clients_in_words(last.clients);
            return Err(match from_clients {
                FromClients::Peak => {
                    format!(
                        "saturation not reached: {label} does most on {to} at {clients}, the most"
                    )
                }
                _ => format!("{to} was run at {clients} only"),
            });
        }
        Ok((first, last))
    }

    /// Whether a system does more at this cell's number of clients than at the next smaller one, so
    /// that it is not saturated: in words.
    fn still_grows(&self, label: &str, cell: &Cell) -> Option<String> {
        let fewer =
            self.client_counts(&cell.workload).range(..cell.clients).next_back().copied()?;
        let before = self.cell(label, &cell.workload, fewer).ok()?;
        let grows = ratio_of(&before.throughputs, &cell.throughputs)?;
        (grows.low? > 1.0 + MINIMUM_EFFECT).then(|| {
            format!(
                "saturation not reached: {label} still grows on {} at {}",
                cell.workload,
                clients_in_words(cell.clients)
            )
        })
    }

    /// The numbers of clients at which a workload was run.
    fn client_counts(&self, workload: &str) -> BTreeSet<u32> {
        let of_workload = self.cells.iter().filter(|cell| cell.workload == workload);
        of_workload.map(|cell| cell.clients).collect()
    }

    /// The figures of a system, or why they decide nothing.
    fn cell(&self, label: &str, workload: &str, clients: u32) -> Result<&'a Cell, String> {
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
        let least = ran.map(|cell| cell.placement.server_cpus.len() as u32).min()?;
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
    fn pairs(&self, one: &str, other: &str) -> Vec<(Actor, Actor)> {
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
    fn actors(&self, name: &str) -> Vec<Actor> {
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

/// The two ends of a change, in words and as what was measured there.
struct Condition<'a> {
    what: String,
    cells: Result<(&'a Cell, &'a Cell), String>,
}

/// The systems that a check names.
fn systems(check: &Check) -> Vec<&String> {
    match check {
        Check::Ahead { system, of, .. } => [system].into_iter().chain(of).collect(),
        Check::Falls { systems, than_systems, .. } => systems.iter().chain(than_systems).collect(),
        Check::Grows { systems, .. } | Check::Keeps { systems, .. } => systems.iter().collect(),
    }
}

fn ratio(base: &Repeats, other: &Repeats) -> Result<Ratio, String> {
    ratio_of(base, other).ok_or_else(|| "nothing was done in a repeat".to_owned())
}

/// Multiplies the repeats by another's, and leaves those that both have.
fn multiply(repeats: &mut Repeats, by: &Repeats) {
    repeats.retain(|repeat, _| by.contains_key(repeat));
    for (repeat, value) in repeats {
        *value *= by[repeat];
    }
}

fn not_run(workload: &str) -> String {
    format!("{workload} was not run")
}

fn clients_in_words(count: u32) -> String {
    match count {
        1 => "1 client".to_owned(),
        many => format!("{many} clients"),
    }
}
