//! Whether what a study says holds of a run: each claim confirmed, refuted, or not decidable here, with
//! the ratios that say so.
//!
//! Each check of a claim is a ratio of throughputs, over pairs of repeats that ran in the same round, and
//! a bound. It holds where the ratio's whole interval lies beyond the bound, fails where it lies before
//! it, and says nothing otherwise. A claim is confirmed if all its checks hold and refuted if one fails.
//! The intervals are those of single ratios: of twenty checks whose truth is at the bound, one is
//! expected to be on the wrong side.

mod compared;
mod ground;

use assay_measure::statistics::{MINIMUM_EFFECT, Ratio};
use assay_model::{Absent, Between, Check, Claim, FromClients, Study};

use crate::Cell;
use compared::Compared;
use ground::Ground;

/// What a run says of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimVerdict {
    /// Everything that must hold does.
    Confirmed,
    /// Something that must hold does not.
    Refuted,
    /// Neither can be said of this run.
    NotDecidable,
}

impl ClaimVerdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            ClaimVerdict::Confirmed => "confirmed",
            ClaimVerdict::Refuted => "refuted",
            ClaimVerdict::NotDecidable => "not decidable here",
        }
    }
}

/// A claim and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// What may be said.
    pub verdict: ClaimVerdict,
    /// Why it is not decidable, each reason once; empty if it is.
    pub reasons: Vec<String>,
    /// What was compared, in the order of the checks.
    pub findings: Vec<Finding>,
}

/// Something that was compared for a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What, in words.
    pub what: String,
    /// The figure; `None` where there is nothing to compare.
    pub ratio: Option<Ratio>,
    /// What the figure has to keep to.
    pub bound: Bound,
    /// What follows.
    pub says: Says,
    /// The study's name of the system in whose place another one stands here. Such a finding decides
    /// nothing.
    pub in_place_of: Option<String>,
}

/// What a ratio has to keep to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// More than this.
    Over(f64),
    /// This or less.
    AtMost(f64),
}

/// What a finding says of its check.
#[derive(Clone, Debug, PartialEq)]
pub enum Says {
    /// It holds.
    Holds,
    /// It does not.
    Fails,
    /// Neither: why.
    Nothing(String),
}

impl Bound {
    fn says(self, ratio: &Ratio, repeats: usize) -> Says {
        let (Some(low), Some(high)) = (ratio.low, ratio.high) else {
            return Says::Nothing(format!("too few repeats for an interval (n={repeats})"));
        };
        let (Bound::Over(at) | Bound::AtMost(at)) = self;
        let (is_over, is_under) = (low > at, high <= at);
        match (self, is_over, is_under) {
            (Bound::Over(_), true, _) | (Bound::AtMost(_), _, true) => Says::Holds,
            (Bound::Over(_), _, true) | (Bound::AtMost(_), true, _) => Says::Fails,
            _ => Says::Nothing(format!("an interval holds {at} (n={repeats})")),
        }
    }
}

/// What the cells of a run say of each claim of a study.
pub fn judge<'a>(study: &'a Study, absent: &[Absent], cells: &[Cell]) -> Vec<Judged<'a>> {
    let ground = Ground::new(study, absent, cells);
    study.claims.iter().map(|claim| judged(claim, &ground)).collect()
}

fn judged<'a>(claim: &'a Claim, ground: &Ground<'_>) -> Judged<'a> {
    let findings: Vec<Finding> =
        claim.checks.iter().flat_map(|check| findings(check, ground)).collect();
    let own = || findings.iter().filter(|finding| finding.in_place_of.is_none());
    let all_hold = own().all(|finding| finding.says == Says::Holds) && own().next().is_some();
    let one_fails = own().any(|finding| finding.says == Says::Fails);
    let too_few = |needed: Option<u32>| ground.too_few_cores(claim, needed?);
    let mut reasons: Vec<String> = Vec::new();
    let verdict = match (too_few(claim.server_cores), too_few(claim.server_cores_to_refute)) {
        (Some(why), _) => {
            reasons.push(why);
            ClaimVerdict::NotDecidable
        }
        (None, Some(why)) if one_fails => {
            reasons.push(why);
            ClaimVerdict::NotDecidable
        }
        _ if one_fails => ClaimVerdict::Refuted,
        _ if all_hold => ClaimVerdict::Confirmed,
        _ => ClaimVerdict::NotDecidable,
    };
    if verdict == ClaimVerdict::NotDecidable {
        for finding in own() {
            if let Says::Nothing(why) = &finding.says
                && !reasons.contains(why)
            {
                reasons.push(why.clone());
            }
        }
    }
    Judged { claim, verdict, reasons, findings }
}

fn findings(check: &Check, ground: &Ground<'_>) -> Vec<Finding> {
    match check {
        Check::Ahead { system, of, workloads, clients } => {
            let bound = Bound::Over(1.0 + MINIMUM_EFFECT);
            let compared = ground.ahead(system, of, workloads, *clients);
            compared.into_iter().map(|compared| finding(compared, bound)).collect()
        }
        Check::Grows { systems, workloads, by } => {
            let change = Between {
                from: Vec::new(),
                from_clients: FromClients::Fewest,
                to: workloads.clone(),
            };
            let compared = ground.changes(systems, &change, None);
            compared.into_iter().map(|compared| finding(compared, Bound::Over(*by))).collect()
        }
        Check::Falls { systems, change, than, than_systems, to } => {
            let compared = match than_systems.as_slice() {
                [] => ground.changes(systems, change, than.as_ref()),
                others => ground.changes_beside(systems, change, others),
            };
            compared
                .into_iter()
                .map(|compared| saturated(compared, Bound::AtMost(*to), Says::Fails))
                .collect()
        }
        Check::Keeps { systems, change, share } => ground
            .changes(systems, change, None)
            .into_iter()
            .map(|compared| saturated(compared, Bound::Over(*share), Says::Holds))
            .collect(),
    }
}

/// A finding, but that nothing is said where it would be that there is `no_fall` and more clients may
/// yet show one.
fn saturated(compared: Compared, bound: Bound, no_fall: Says) -> Finding {
    let grows = compared.still_grows.clone();
    let mut finding = finding(compared, bound);
    if let Some(why) = grows.filter(|_| finding.says == no_fall) {
        finding.says = Says::Nothing(why);
    }
    finding
}

fn finding(compared: Compared, bound: Bound) -> Finding {
    let Compared { what, ratio, in_place_of, .. } = compared;
    match ratio {
        Ok((ratio, repeats)) => {
            let says = bound.says(&ratio, repeats);
            Finding { what, ratio: Some(ratio), bound, says, in_place_of }
        }
        Err(why) => Finding { what, ratio: None, bound, says: Says::Nothing(why), in_place_of },
    }
}

#[cfg(test)]
mod tests;
