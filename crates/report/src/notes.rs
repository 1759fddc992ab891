//! What stands under a group's table: what systems cannot do, errors, caveats, what the durability
//! level means to each.

use std::collections::BTreeSet;

use anstyle::{AnsiColor, Style};
use assay_results::{Caveat, Cell};

use crate::{
    page::data::CaveatKind,
    text::{counted, escape, grouped},
    verdict::NO_DB,
};

const RED: Style = AnsiColor::Red.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const DIM: Style = Style::new().dimmed();

/// A paragraph under the table.
pub struct Note {
    /// The paragraph, not yet wrapped.
    pub text: String,
    /// How it is shown.
    pub style: Style,
}

/// How much a caveat of this code matters.
pub fn weight(code: &str) -> CaveatKind {
    match code {
        "wrong_answers" | "answers_disagree" | "errors" | "failed" | "not_on_storage"
        | "stand_in" | "unfinished_run" => CaveatKind::Severe,
        "emulated" | "no_answers" | "not_counted" | "unsupported" | "study"
        | "verified_by_hand" => CaveatKind::Note,
        _ => CaveatKind::Warning,
    }
}

/// Caveats of a group, each once, in the order of their numbers: those that matter most first.
pub struct Caveats<'a> {
    told: Vec<&'a Caveat>,
}

impl<'a> Caveats<'a> {
    /// Collects the caveats of `cells`.
    pub fn of(cells: &[&'a Cell]) -> Caveats<'a> {
        let mut told: Vec<&Caveat> = Vec::new();
        for caveat in cells.iter().flat_map(|cell| &cell.caveats) {
            if !told.iter().any(|known| known.text == caveat.text) {
                told.push(caveat);
            }
        }
        // Stable: of one weight in the order in which they were found.
        told.sort_by_key(|caveat| weight(&caveat.code));
        Caveats { told }
    }

    /// None, where they are told in another way.
    pub fn none() -> Caveats<'a> {
        Caveats { told: Vec::new() }
    }

    /// The numbers of a cell's caveats, as in `[1,3]`; empty without any.
    pub fn marks(&self, cell: &Cell) -> String {
        let numbers: Vec<String> = self
            .told
            .iter()
            .zip(1..)
            .filter(|(told, _)| cell.caveats.iter().any(|caveat| caveat.text == told.text))
            .map(|(_, number): (_, u32)| number.to_string())
            .collect();
        if numbers.is_empty() { String::new() } else { format!("[{}]", numbers.join(",")) }
    }

    fn notes(&self) -> impl Iterator<Item = Note> {
        self.told.iter().zip(1..).map(|(caveat, number): (_, u32)| {
            let text = escape(&caveat.text);
            let (word, style) = match weight(&caveat.code) {
                CaveatKind::Severe => ("severe: ", RED),
                CaveatKind::Warning => ("caution: ", YELLOW),
                CaveatKind::Note => ("", DIM),
            };
            Note { text: format!("[{number}] {word}{text}"), style }
        })
    }
}

/// Whether nothing is said of how sure a cell's throughput is.
pub fn has_no_interval(cell: &Cell) -> bool {
    let throughput = cell.throughput_ops_per_s;
    cell.unsupported.is_none()
        && (cell.repeats == 1 || (throughput.median > 0.0 && throughput.low.is_none()))
}

/// What `n=2` stands for where an interval would.
pub fn too_few_repeats(group: &[&Cell]) -> Option<Note> {
    let few = group.iter().filter(|cell| cell.repeats > 1 && has_no_interval(cell));
    let counts: BTreeSet<u32> = few.map(|cell| cell.repeats).collect();
    let counts: Vec<String> = counts.iter().map(|count| format!("n={count}")).collect();
    (!counts.is_empty()).then(|| Note {
        text: format!(
            "{}: so few repeats, and so unlike, do not say how sure the throughput is \
             (--repeats 5, or auto)",
            counts.join(", ")
        ),
        style: DIM,
    })
}

/// Every note of a group, those that matter most first.
pub fn notes(group: &[&Cell], caveats: &Caveats<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    for cell in group {
        let system = escape(&cell.system);
        if let Some(why) = &cell.unsupported {
            notes.push(Note {
                text: format!("{system}: not supported: {}", escape(why)),
                style: Style::new(),
            });
        }
        if let Some(failure) = &cell.failure {
            let failed = format!("{system} {}", escape(&failure.sentence()));
            notes.push(Note { text: failed, style: RED.bold() });
        }
        if cell.wrong_answers > 0 {
            let count = counted(cell.wrong_answers, "wrong answer");
            notes.push(Note { text: format!("{system}: {count}"), style: RED.bold() });
        }
        if cell.failed() > 0 {
            notes.push(Note { text: failures(cell), style: RED });
        }
    }
    if group.iter().any(|cell| cell.unsupported.is_none() && cell.repeats == 1) {
        notes.push(Note {
            text: "n=1: a single repeat; how far another would differ is not known, so nothing \
                   is ranked for sure (--repeats 5, or auto)"
                .to_owned(),
            style: DIM,
        });
    }
    notes.extend(caveats.notes());
    notes.extend(durability(group));
    notes
}

/// What the durability level means to each system: `durability none: memory only (redis, memory);
/// fsync=off (postgres)`.
fn durability(group: &[&Cell]) -> Option<Note> {
    let mut settings: Vec<(&str, Vec<String>)> = Vec::new();
    let told = |cell: &&&Cell| {
        cell.unsupported.is_none() && cell.driver != NO_DB && !cell.durability.setting.is_empty()
    };
    for cell in group.iter().filter(told) {
        let system = escape(&cell.system);
        match settings.iter_mut().find(|(setting, _)| *setting == cell.durability.setting) {
            Some((_, systems)) => systems.push(system),
            None => settings.push((&cell.durability.setting, vec![system])),
        }
    }
    let texts: Vec<String> = match settings.as_slice() {
        [] => return None,
        [(setting, _)] => vec![escape(setting)],
        several => several
            .iter()
            .map(|(setting, systems)| format!("{} ({})", escape(setting), systems.join(", ")))
            .collect(),
    };
    let level = group[0].durability.level;
    Some(Note { text: format!("durability {level}: {}", texts.join("; ")), style: DIM })
}

/// `redis: 3 timeout, 1 missing of 20,000 operations failed: read timeout: …`.
fn failures(cell: &Cell) -> String {
    let mut text = format!("{}: {}", escape(&cell.system), failed_operations(cell));
    if let Some(first) = cell.error_messages.first() {
        text.push_str(": ");
        text.push_str(&escape(first));
    }
    text
}

/// `3 timeout, 1 missing of 20,000 operations failed`.
pub fn failed_operations(cell: &Cell) -> String {
    let kinds: Vec<String> = cell
        .errors
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(kind, count)| format!("{} {}", grouped(*count), kind.name()))
        .collect();
    format!("{} of {} failed", kinds.join(", "), counted(cell.operations, "operation"))
}
