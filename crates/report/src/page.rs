//! The report as one HTML file: what runs found out, as data ([`Report`]), and the page that shows it.
//!
//! [`Report::of`] reads like the page from top to bottom. Everything that needs judgement (who leads,
//! what ties, what a reader must know, which axis is logarithmic) is decided here, so that the page
//! only draws.

mod answers;
mod caveats;
pub mod data;
mod data_block;
mod document;
mod figures;
mod groups;
mod headlines;
mod heads;
mod measured;
mod panels;
mod ranges;
mod settings;
mod text_page;
mod trials;

use assay_results::Run;

use self::{data::REPORT_VERSION, measured::Measured};

pub use data::Report;
pub use data_block::json;
pub use document::{LiveScript, Page, hash, page, render};
pub use heads::title;
pub use text_page::escaped;

impl Report {
    /// The report of runs: of one, or of several side by side. Where several answered one question
    /// with a system of one name, they stand beside each other as `redis (run 1)` and
    /// `redis (run 2)`; otherwise their groups stand together.
    pub fn of(runs: &[Run]) -> Report {
        let measured = Measured::of(runs);
        let differences = settings::differences(&measured);
        let caveats = caveats::caveats(&measured, &differences);
        let (trials, settings_sets) = trials::trials(&measured, &caveats);
        let (answers, panels) = (answers::answers(&measured), panels::panels(&measured));
        Report {
            report_version: REPORT_VERSION,
            assay_version: env!("CARGO_PKG_VERSION").to_owned(),
            title: heads::title(runs),
            question: heads::question(&measured),
            runs: runs.iter().map(heads::run).collect(),
            durability: heads::durability(&measured),
            headlines: headlines::headlines(&answers, &panels, &measured.systems),
            answers,
            groups: groups::groups(&measured, &caveats),
            panels,
            figures: figures::figures(&measured),
            tables: figures::tables(&measured),
            settings: settings::settings(&measured, &differences),
            settings_sets,
            trials,
            caveats: caveats.into_notes(),
            systems: measured.systems,
        }
    }
}
