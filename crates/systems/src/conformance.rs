//! One test for every driver: each operation and its edges, against an ordered map.
//!
//! [`check`] works through [`System::connect`], with wire clients driven by
//! [`Blocking`](crate::blocking::Blocking), so it exercises what a run does. Each check gets an
//! empty table of its own and has it removed afterwards. What a system declares as unsupported must
//! be refused cleanly: [`FailureKind::Rejected`](assay_model::FailureKind::Rejected) with a
//! message, and the client goes on working.

mod clients;
mod lookups;
mod probe;
mod random;
mod records;
mod scans;
mod steps;
mod table;

use std::fmt;

use assay_model::{Capabilities, Feature, Schema, Support};
use thiserror::Error;

use crate::System;

/// A driver in one layout, opened on an empty store, and what may be asked of it.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// What to call it in a failure, as in `redis:hash`.
    pub name: &'a str,
    /// The opened store. Its table must not exist yet.
    pub system: &'a dyn System,
    /// What the driver declares for the layout.
    pub capabilities: &'a Capabilities,
    /// The table that it was opened with. With secondary indexes, these are checked and nothing
    /// else; the system must have them.
    pub schema: &'a Schema,
    /// What keys and values may hold.
    pub content: Content,
    /// Whether clients that update different fields of one record at once all succeed. A driver
    /// that reads and rewrites the record without a condition may lose one of them.
    pub updates: Updates,
    /// Whether an update or a delete says that there was no record.
    pub misses: Misses,
}

impl Subject<'_> {
    fn can_look_up(&self) -> bool {
        !matches!(self.capabilities.lookup, Support::Unsupported(_))
    }

    fn can_look_up_ranges(&self) -> bool {
        !matches!(self.capabilities.support(Feature::LookupRanges), Support::Unsupported(_))
    }
}

/// What keys and values may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Any bytes.
    Bytes,
    /// UTF-8 without NUL.
    Text,
}

/// How updates of some fields behave when others update the same record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Updates {
    /// None is lost.
    Isolated,
    /// One may be lost.
    MayBeLost,
    /// None is lost, but a read at the same time may see fields of several.
    MayBeTorn,
}

/// What becomes of an update or a delete of a missing key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misses {
    /// It is told: the outcome is [`Missing`](assay_model::Outcome::Missing), and nothing was created.
    Told,
    /// The store writes without a look at what is there: the outcome is as of a record, and an update
    /// creates one.
    Unseen,
}

/// What was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The names of the checks, all passed.
    pub passed: Vec<&'static str>,
}

/// A check that failed, and on what.
#[derive(Debug, Error)]
#[error("{system} failed the check '{check}': {why}")]
pub struct Nonconformity {
    /// The subject's name.
    pub system: String,
    /// The check's name.
    pub check: &'static str,
    /// What was expected and what happened.
    pub why: String,
}

type Verdict = Result<(), String>;
type Check = (&'static str, fn(&Subject<'_>) -> Verdict);

const CHECKS: &[Check] = &[
    ("a missing key is not a success", records::missing_keys),
    ("a record is read as it was inserted", records::inserted_records),
    ("an insert of an existing key overwrites or is refused", records::repeated_inserts),
    ("an update keeps the other fields", records::updates),
    ("a deleted record is gone", records::deletes),
    ("values at the edges survive", records::value_edges),
    ("keys at the edges survive", records::key_edges),
    ("scans are in key order and complete", scans::ranges),
    ("a scan of 10,000 records is complete", scans::long_scan),
    ("a random sequence of operations agrees with the model", random::sequences),
    ("what the loader added is there", table::loading),
    ("a load with a key that is there overwrites or is refused", table::loading_again),
    ("the store tells who it is and what it takes", table::identity),
    ("a table that exists is left alone", table::second_prepare),
    ("a removed table leaves nothing", table::removal),
    ("many clients see each other's records", clients::many),
    ("concurrent updates leave whole records", clients::whole_records),
    ("concurrent updates of different fields are all kept", clients::separate_fields),
    ("a system without indexes refuses lookups", lookups::refused),
];

const CHECKS_OF_INDEXES: &[Check] = &[
    ("lookups agree with the model whatever is written", lookups::sequences),
    ("what the loader added is in the indexes", lookups::loaded),
    ("concurrent updates leave one entry a record", lookups::contended_updates),
    ("lookups of ranges are done or refused, as declared", lookups::ranges_refused),
    ("a removed table leaves nothing", table::removal),
];

/// Runs every check; the first that fails ends it.
///
/// # Errors
/// The check that failed, with what was expected and what happened.
pub fn check(subject: &Subject<'_>) -> Result<Report, Nonconformity> {
    let mut passed = Vec::new();
    let indexed = subject.schema.index_count() > 0;
    for (name, run) in if indexed { CHECKS_OF_INDEXES } else { CHECKS } {
        let fail = |why| Nonconformity { system: subject.name.into(), check: name, why };
        let prepared = subject.system.prepare().map_err(because("prepare"));
        let verdict = prepared.and_then(|()| {
            let verdict = run(subject);
            // The next check wants an empty table, and a failed one should leave nothing.
            verdict.and(subject.system.remove().map_err(because("remove")))
        });
        if let Err(why) = verdict {
            // The check's own failure is the one to tell.
            let _ = subject.system.remove();
            return Err(fail(why));
        }
        passed.push(*name);
    }
    Ok(Report { passed })
}

fn because<E: fmt::Display>(action: &str) -> impl FnOnce(E) -> String {
    move |error| format!("{action}: {error}")
}

/// `Err` with the message if the condition does not hold.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}
use ensure;
