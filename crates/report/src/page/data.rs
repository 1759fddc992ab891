//! The report as data: what the page shows, with everything that needs judgement decided.
//!
//! This is the contract between Assay and the page's front end in `web/`, whose types are generated
//! from [`json_schema`]. Numbers are raw and in the base unit that the field's name ends in (`_ns`,
//! `_bytes`, `_s`, `_per_s`), but for the study figures, which are in the study's own unit; how they
//! look is the page's business. A reference to a system, group, caveat or trial is its index in the
//! list of these. Names and texts are as recorded, and may hold anything: the page escapes them.

mod caveat;
mod figure;
mod group;
mod head;
mod panel;
mod trial;

use std::collections::BTreeMap;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::Serialize;
use serde_json::Value;

use crate::study::StudyTable;

pub use caveat::{CaveatKind, CaveatNote};
pub use figure::{FigureAxis, FigureLine, FigurePanel, FigurePoint, StudyFigure};
pub use group::{
    Answer, AnswerBasis, AnswerKind, FailureCount, Group, GroupCell, Headline, KindLatency,
    Parameter, Ranked, RepeatFigure,
};
pub use head::{DurabilityNote, LevelSetting, RunSummary, Setting, SystemSummary};
pub use panel::{SweepAxis, SweepLine, SweepPanel, SweepPoint};
pub use trial::{TrialLatency, TrialSeries, TrialSummary};

/// The version of this shape; the page refuses another one.
pub const REPORT_VERSION: u32 = 1;

/// Everything that a report shows of one or several runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// The version of this shape.
    pub report_version: u32,
    /// The version of the Assay that made the report; a run may have been made by another.
    pub assay_version: String,
    /// What the experiments are called; empty if they have no names.
    pub title: String,
    /// The question in words, as in "Which of slik and sqlite does ycsb/a fastest?".
    pub question: String,
    /// The runs, in the order in which they were named.
    pub runs: Vec<RunSummary>,
    /// The durability levels asked for and what each system makes of them.
    pub durability: Vec<DurabilityNote>,
    /// The systems. The index is a system's color everywhere. Those that stand for the harness's own
    /// cost come last.
    pub systems: Vec<SystemSummary>,
    /// What was found out in few sentences: one for each group, and one for all groups of a panel.
    pub headlines: Vec<Headline>,
    /// What was found out, one answer for each group, in the order of the groups.
    pub answers: Vec<Answer>,
    /// What a reader must know, those that matter most first.
    pub caveats: Vec<CaveatNote>,
    /// The tables: cells that answer one question, in the order in which they first ran.
    pub groups: Vec<Group>,
    /// Lines over clients, rates or records, where a workload was run at several.
    pub panels: Vec<SweepPanel>,
    /// The figures that the runs' experiments draw.
    pub figures: Vec<StudyFigure>,
    /// The tables of the runs' studies.
    pub tables: Vec<StudyTable>,
    /// The settings in force, a row a setting, those that differ first.
    pub settings: Vec<Setting>,
    /// The settings of trials, as the stores report them, each set once.
    pub settings_sets: Vec<BTreeMap<String, String>>,
    /// Every trial that ran, by run and in the order in which they ran.
    pub trials: Vec<TrialSummary>,
}

/// The JSON schema of [`Report`] as it is written.
pub fn json_schema() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.into_root_schema_for::<Report>().to_value()
}
