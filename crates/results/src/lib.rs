//! What a run leaves behind: one folder a run, one self-describing record a trial, and what is
//! made of them.
//!
//! A run folder holds `run.json` ([`RunHeader`]) and, in `trials/`, one [`TrialRecord`] a trial
//! with an HdrHistogram interval log beside it ([`interval_log()`]). [`RunFolder`] writes them: each
//! file appears whole or not at all, and no password reaches the disk ([`redact()`](assay_model::redact)). [`Run`] reads
//! them back, whether the run finished or not. [`summarize`] folds the repeats of a trial into a
//! [`Cell`] with intervals, [`rank()`] orders the cells of a group with ties, [`compare`] sets two
//! runs side by side, [`figure`] makes lines of what an experiment draws, [`standing`] orders the systems over
//! all loads, [`claim`] says what holds of a study's claims, [`export`] writes the formats
//! that other tools read.
//!
//! Drawing is the report's business; nothing here knows a terminal.

mod alive;
mod certainty;
pub mod claim;
mod compare;
mod error;
pub mod export;
mod failure;
pub mod figure;
mod folder;
mod header;
mod interval_log;
mod json_line;
mod machine;
mod rank;
mod record;
mod redact;
mod run;
pub mod standing;
mod summary;

pub use alive::is_being_written;
pub use assay_measure::statistics::{Interval, Ratio, Verdict};
pub use assay_model::{
    Absent, AbsentReason, Axis, Change, Claim, Durability, FailureKind, Figure, Measure,
    OperationKind, Part, Published, PublishedPlace, PublishedValues, Scale, Standing, Study, Unit,
};
pub use compare::{Across, Comparison, Comparisons, LatencyRatios, compare, differences};
pub use error::ResultsError;
pub use failure::{FailedTrial, Failure, TrialPhase};
pub use folder::{HEADER_FILE, RunFolder, TRIALS_FOLDER, write_file};
pub use header::{RunHeader, RunStatus};
pub use interval_log::{LoggedInterval, interval_log};
pub use json_line::{JsonCell, json_line};
pub use machine::Machine;
pub use rank::{Rank, rank};
pub use record::{
    Answers, Arrivals, Caveat, DataBytes, DurabilitySetting, LatencySummary, Mode, PhaseSeconds,
    Placement, ResourceUse, SeriesPoint, TrialRecord,
};
pub use run::{Run, count_trials, read_trial};
pub use summary::{
    Cell, LatencyIntervals, Repeats, group_cells, main_kind, median_trial, summarize,
};

/// The version of the records' format. A reader refuses a newer one; fields may be added within a
/// version.
pub const FORMAT_VERSION: u32 = 1;
