//! What a run's results look like in a terminal: tables, one-sentence verdicts, figures,
//! comparisons.
//!
//! Pure functions of the results to a string: the caller says how wide it may be and whether it
//! may hold colors ([`terminal_width`], [`color_wanted`]). No line is wider than asked for, from 40
//! columns on, and what came from a server is shown with its control characters escaped.

mod comparison;
mod figure;
mod group;
mod heading;
mod notes;
pub mod page;
mod sparkline;
mod study;
mod table;
mod terminal;
mod text;
mod units;
mod verdict;

use assay_results::{Cell, group_cells};

pub use comparison::render_comparisons;
pub use figure::{render_figure, render_figures};
pub use study::{StudyColumn, StudyTable, absence, render_study};
pub use terminal::{color_wanted, terminal_width};
pub use text::{counted, escape, escape_lines};
pub use units::{bytes, duration, rate};
pub use verdict::verdicts;

/// Tables of the cells, one a question (workload, clients, records, durability, loop), best system
/// first, with a verdict and notes under each. `width` is in terminal columns.
pub fn render(cells: &[Cell], width: usize, color: bool) -> String {
    let width = width.max(text::NARROWEST);
    let groups = group_cells(cells);
    let mut out = String::new();
    for group in &groups {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&group::render(group, cells, width, color));
    }
    out
}
