//! The ratios that a study's claims are checked by.

use std::collections::{BTreeMap, BTreeSet};

use assay_measure::statistics::{MINIMUM_EFFECT, Ratio};
use assay_model::{AtClients, Between, FromClients};

use super::ground::{Actor, Ground, clients_in_words, not_run};
use crate::{Cell, rank::ratio_of};

/// By repeat, a throughput.
type Repeats = BTreeMap<u32, f64>;

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

/// What was measured before and after a change, or why nothing was.
type Ends<'a> = Result<(&'a Cell, &'a Cell), String>;

/// A change, in words and as what was measured.
struct Condition<'a> {
    what: String,
    ends: Ends<'a>,
}

impl<'a> Ground<'a> {
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
        // One other change may be set beside each step.
        let last = |than: &Between| than.to.len().saturating_sub(1);
        let other = than.map(|than| self.condition(label, than, step.min(last(than))));
        let what = match &other {
            Some(other) => format!("{label}: {}, over {}", own.what, other.what),
            None => format!("{label}: {}", own.what),
        };
        Compared {
            what,
            ratio: share_left(&own.ends, other.map(|other| other.ends)),
            in_place_of: actor.in_place_of.clone(),
            still_grows: own.ends.ok().and_then(|(_, to)| self.still_grows(label, to)),
        }
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
                    compared.push(Compared {
                        what: format!("{}: {}, over {}'s", one.label, own.what, other.label),
                        ratio: share_left(&own.ends, Some(theirs.ends)),
                        in_place_of: one.in_place_of.or(other.in_place_of),
                        still_grows: None,
                    });
                }
            }
        }
        compared
    }

    /// The two ends of a change.
    fn condition(&self, label: &str, change: &Between, step: usize) -> Condition<'a> {
        let Some(to) = change.to.get(step) else {
            return Condition {
                what: String::new(),
                ends: Err("the claim names no workload".into()),
            };
        };
        let from = change.from.get(step).unwrap_or(to);
        let ends = self.ends(label, (from, to), change.from_clients);
        let what = match (&ends, from == to) {
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
        Condition { what, ends }
    }

    fn ends(&self, label: &str, (from, to): (&str, &str), from_clients: FromClients) -> Ends<'a> {
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
}

/// What a change leaves, divided by what another one leaves if one is given, and over how many
/// repeats.
fn share_left(own: &Ends<'_>, other: Option<Ends<'_>>) -> Result<(Ratio, usize), String> {
    let (from, to) = own.as_ref().map_err(Clone::clone)?;
    let (mut base, mut left) = (from.throughputs.clone(), to.throughputs.clone());
    if let Some(other) = other {
        let (from, to) = other?;
        multiply(&mut base, &to.throughputs);
        multiply(&mut left, &from.throughputs);
    }
    Ok((ratio(&base, &left)?, base.len().min(left.len())))
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
