//! What a reader must know: what the harness said of trials, and what only the whole of the runs shows.

use std::collections::{BTreeMap, BTreeSet};

use assay_results::{Cell, differences as run_differences};

use super::{
    data::{CaveatKind, CaveatNote},
    measured::Measured,
    ranges::with_ranges,
    settings::Difference,
};
use crate::{
    notes::failed_operations,
    text::{counted, escape, listed},
    units::percent,
    verdict::NO_DB,
};

/// Repeats that leave a throughput less sure than this are worth a word: 10 %.
const NOISY: f64 = 0.1;

/// The caveats of a report, and which cells have them.
pub struct CellCaveats {
    notes: Vec<CaveatNote>,
    of_cells: Vec<Vec<u32>>,
}

impl CellCaveats {
    /// Those of a cell, by their index.
    pub fn of(&self, cell: usize) -> &[u32] {
        &self.of_cells[cell]
    }

    /// A caveat's code.
    pub fn code(&self, caveat: u32) -> &str {
        &self.notes[caveat as usize].code
    }

    /// All of them, those that matter most first.
    pub fn into_notes(self) -> Vec<CaveatNote> {
        self.notes
    }
}

/// A caveat before equal ones are put together.
struct Said {
    code: String,
    text: String,
    /// What stands behind the text; the first one's is kept.
    detail: String,
    cells: BTreeSet<usize>,
    /// What it is about where it is not cells.
    systems: BTreeSet<u32>,
    groups: BTreeSet<u32>,
}

impl Said {
    fn of_cell(code: &str, text: String, cell: usize) -> Said {
        Said { cells: [cell].into(), ..Said::of_all(code, text) }
    }

    fn of_all(code: &str, text: String) -> Said {
        Said {
            code: code.to_owned(),
            text,
            detail: String::new(),
            cells: BTreeSet::new(),
            systems: BTreeSet::new(),
            groups: BTreeSet::new(),
        }
    }
}

/// Collects the caveats. Those that say the same but for figures are one, with the range of these.
pub fn caveats(measured: &Measured<'_>, differences: &[Difference]) -> CellCaveats {
    let mut said = of_runs(measured);
    said.extend(disagreements(measured));
    for (place, cell) in measured.cells.iter().enumerate() {
        said.extend(of_cell(cell, place));
    }
    said.extend(unequal_settings(measured, differences));
    let mut merged = merge(said);
    // Stable: of one kind in the order in which they were found.
    merged.sort_by_key(|said| kind(&said.code));
    let groups = measured.group_of_cells();
    let mut of_cells = vec![Vec::new(); measured.cells.len()];
    let mut notes = Vec::new();
    for (index, said) in (0..).zip(merged) {
        let (mut systems, mut in_groups) = (said.systems, said.groups);
        for cell in said.cells {
            of_cells[cell].push(index);
            systems.insert(measured.origins[cell].system);
            in_groups.insert(groups[cell]);
        }
        notes.push(CaveatNote {
            kind: kind(&said.code),
            code: said.code,
            text: said.text + &said.detail,
            systems: systems.into_iter().collect(),
            groups: in_groups.into_iter().collect(),
        });
    }
    CellCaveats { notes, of_cells }
}

fn kind(code: &str) -> CaveatKind {
    match code {
        "wrong_answers" | "answers_disagree" | "errors" | "failed" | "not_on_storage"
        | "unfinished_run" => CaveatKind::Severe,
        "emulated" | "no_answers" | "not_counted" | "unsupported" | "verified_by_hand" => {
            CaveatKind::Note
        }
        _ => CaveatKind::Warning,
    }
}

fn of_runs(measured: &Measured<'_>) -> Vec<Said> {
    let mut said = Vec::new();
    let several = measured.runs.len() > 1;
    for (number, run) in (1..).zip(measured.runs) {
        let Some(how) = run.how_unfinished() else { continue };
        let which = if several { format!("run {number}") } else { "the run".to_owned() };
        let text = format!("{which} {how}: these are the trials that ended");
        said.push(Said::of_all("unfinished_run", text));
    }
    let mut differ: Vec<String> = Vec::new();
    if let [first, others @ ..] = measured.runs {
        for difference in others.iter().flat_map(|other| run_differences(first, other)) {
            if !differ.contains(&difference) {
                differ.push(difference);
            }
        }
    }
    if !differ.is_empty() {
        let text = format!("the runs differ in {}", escape(&differ.join("; ")));
        said.push(Said::of_all("runs_differ", text));
    }
    said
}

fn of_cell(cell: &Cell, place: usize) -> Vec<Said> {
    if let Some(why) = &cell.unsupported {
        return vec![Said::of_cell(
            "unsupported",
            format!("not supported: {}", escape(why)),
            place,
        )];
    }
    let failed = cell.failure.iter().map(|failure| {
        // What it said is no range of figures.
        let detail = escape(&failure.sentence());
        Said { detail, ..Said::of_cell("failed", String::new(), place) }
    });
    let caveats = cell
        .caveats
        .iter()
        .map(|caveat| Said::of_cell(&escape(&caveat.code), escape(&caveat.text), place));
    let mut said: Vec<Said> = failed.chain(caveats).collect();
    if cell.wrong_answers > 0 && !said.iter().any(|said| said.code == "wrong_answers") {
        let text = counted(cell.wrong_answers, "wrong answer");
        said.push(Said::of_cell("wrong_answers", text, place));
    }
    if cell.failed() > 0 {
        said.push(failures(cell, place));
    }
    if cell.driver == NO_DB || !cell.has_run() {
        // It is compared with nothing, so it need not be known well.
        return said;
    }
    let half = cell.throughput_ops_per_s.relative_half_width();
    if cell.repeats == 1 {
        let text = "a single repeat: how far another would differ is not known, so nothing is \
                    ranked for sure (--repeats 5, or auto)";
        said.push(Said::of_cell("single_repeat", text.to_owned(), place));
    } else if cell.throughput_ops_per_s.median > 0.0 && half.is_none_or(|half| half > NOISY) {
        let known = match half {
            Some(half) if half <= 1.0 => format!("is known to ±{} only", percent(half)),
            _ => "is hardly known".to_owned(),
        };
        let text = format!(
            "repeats scatter: the throughput {known} (more repeats, or a quieter machine, would \
             tell)"
        );
        said.push(Said::of_cell("noisy_repeats", text, place));
    }
    said
}

fn failures(cell: &Cell, place: usize) -> Said {
    let first = cell.error_messages.first().map(|message| format!(": {}", escape(message)));
    Said {
        detail: first.unwrap_or_default(),
        ..Said::of_cell("errors", failed_operations(cell), place)
    }
}

/// In which equal work was done.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Round {
    run: usize,
    group: u32,
    repeat: u32,
}

/// Systems that did the same work must hold the same records afterwards. An operation that failed
/// makes it another work.
fn disagreements(measured: &Measured<'_>) -> Option<Said> {
    let groups = measured.group_of_cells();
    let mut rounds: BTreeMap<Round, Vec<(usize, &str)>> = BTreeMap::new();
    for trial in &measured.trials {
        let record = trial.record;
        let sound = record.answers.wrong == 0 && record.errors.values().all(|count| *count == 0);
        if let (true, Some(sum)) = (sound, &record.answers.sample_checksum) {
            let round = Round { run: trial.run, group: groups[trial.cell], repeat: record.repeat };
            rounds.entry(round).or_default().push((trial.cell, sum));
        }
    }
    let mut cells = BTreeSet::new();
    for of_round in rounds.values().filter(|sums| sums.iter().any(|(_, sum)| *sum != sums[0].1)) {
        cells.extend(of_round.iter().map(|(cell, _)| *cell));
    }
    let text =
        "after the same work the systems do not hold the same records: their checksums differ";
    let said = Said { cells, ..Said::of_all("answers_disagree", text.to_owned()) };
    (!said.cells.is_empty()).then_some(said)
}

fn unequal_settings(measured: &Measured<'_>, differences: &[Difference]) -> Vec<Said> {
    let one = |difference: &Difference| {
        let values = difference.systems.iter().map(|(value, systems)| {
            let named =
                systems.iter().map(|system| measured.systems[*system as usize].name.clone());
            let value = if value.is_empty() { "empty" } else { value };
            format!("{value} ({})", named.collect::<Vec<_>>().join(", "))
        });
        let values = listed(&values.collect::<Vec<_>>());
        let text = format!("not all run with the same {}: {values}", difference.name);
        Said {
            systems: difference.systems.values().flatten().copied().collect(),
            groups: difference.groups.clone(),
            // Figures of settings are no range.
            detail: text,
            ..Said::of_all("unequal_settings", String::new())
        }
    };
    differences.iter().map(one).collect()
}

/// Puts together what says the same but for figures.
fn merge(all: Vec<Said>) -> Vec<Said> {
    let mut merged: Vec<Said> = Vec::new();
    for said in all {
        let same = |known: &&mut Said| {
            known.code == said.code && (!known.text.is_empty() || known.detail == said.detail)
        };
        let home = merged.iter_mut().filter(same).find_map(|known| {
            let text = with_ranges(&known.text, &said.text)?;
            Some((known, text))
        });
        match home {
            Some((known, text)) => {
                known.text = text;
                known.cells.extend(said.cells);
            }
            None => merged.push(said),
        }
    }
    merged
}
