//! What a reader of the figures must know.

use schemars::JsonSchema;
use serde::Serialize;

/// How much a caveat bears on the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CaveatKind {
    /// Figures are wrong or missing: wrong answers, failed operations, a run cut short.
    Severe,
    /// Figures may mislead: the client was the bottleneck, repeats scatter, settings differ.
    Warning,
    /// Good to know: something is emulated, was not counted, is not supported.
    Note,
}

/// A caveat, once for all cells that have it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CaveatNote {
    /// A short fixed name: those of the records (`client_bottleneck`, `crowded`, …) and of the report
    /// (`wrong_answers`, `errors`, `failed`, `unsupported`, `single_repeat`, `noisy_repeats`,
    /// `unequal_settings`, `answers_disagree`, `unfinished_run`, `runs_differ`).
    pub code: String,
    /// How much it bears on the figures.
    pub kind: CaveatKind,
    /// The whole sentence; that it is about `systems` is said by the page.
    pub text: String,
    /// The systems that it is about; empty: all, or the run.
    pub systems: Vec<u32>,
    /// The groups in which they have it; empty: all, or the run.
    pub groups: Vec<u32>,
}
