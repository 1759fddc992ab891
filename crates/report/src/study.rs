//! What a study's run shows beyond its figures: the order of the systems over all loads, what a
//! setting changes, the latencies and return codes of each operation, what became of its claims;
//! published values beside ours.
//!
//! The tables are texts, the same in a terminal and on a page, but for the claims, which a terminal has
//! as a list.

mod claims;

use std::collections::BTreeMap;

use anstyle::Style;
use assay_results::{
    Absent, Cell, Change, OperationKind, PublishedPlace, ResultsError, Run, Standing, Study,
    group_cells,
    standing::{self, Placed, failures, succeeded},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    heading::load,
    table::{Align, Column, Value, draw},
    text::{self, cut, escape, grouped, listed, styled, wrap},
    units::{duration, percent, rate, with_interval},
    verdict::NO_DB,
};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// A table of a study.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StudyTable {
    /// What it shows.
    pub title: String,
    /// The columns.
    pub columns: Vec<StudyColumn>,
    /// The rows, a text each column.
    pub rows: Vec<Vec<String>>,
    /// What stands under it.
    pub notes: Vec<String>,
}

/// A column of a study's table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StudyColumn {
    /// The heading.
    pub title: String,
    /// Whether its texts are figures, set flush right.
    pub figures: bool,
}

/// Which sizes the tables of latencies have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sizes {
    /// Each.
    All,
    /// The one with the most records.
    Largest,
}

/// The tables of a study's run for a terminal, and what was left out; nothing for another run.
///
/// # Errors
/// Where the run's header does not hold what it should.
pub fn render_study(
    run: &Run,
    cells: &[Cell],
    width: usize,
    color: bool,
) -> Result<String, ResultsError> {
    let Some(study) = run.study()? else { return Ok(String::new()) };
    let absent = run.absent()?;
    let width = width.max(text::NARROWEST);
    let mut lines: Vec<String> = Vec::new();
    let say = |text: &str, style: Style| {
        wrap(text, width, 2).iter().map(|line| styled(line, style, color)).collect::<Vec<_>>()
    };
    for table in tables(&study, &absent, cells, Sizes::Largest) {
        lines.extend(say(&table.title, BOLD));
        lines.extend(drawn(&table, width, color));
        lines.extend(table.notes.iter().flat_map(|note| say(note, Style::new())));
        lines.push(String::new());
    }
    lines.extend(claims::lines(&study, &absent, cells, width, color));
    lines.extend(absent.iter().flat_map(|absent| say(&absence(absent), Style::new())));
    for note in &study.notes {
        lines.extend(say(&escape(note), DIM));
    }
    lines.extend(say(&format!("source: {}", escape(&study.source)), DIM));
    Ok(lines.into_iter().map(|line| line.trim_end().to_owned() + "\n").collect())
}

/// `aerospike is not on this machine: …`.
pub fn absence(absent: &Absent) -> String {
    let words = absent.reason.words();
    format!("{}: {words}: {}", escape(&absent.system), escape(&absent.why))
}

/// The tables of a study for a page: its claims first.
pub fn page_tables(study: &Study, absent: &[Absent], cells: &[Cell]) -> Vec<StudyTable> {
    let claims = claims::table(study, absent, cells);
    claims.into_iter().chain(tables(study, absent, cells, Sizes::All)).collect()
}

/// The tables of a study but for its claims.
pub fn tables(study: &Study, absent: &[Absent], cells: &[Cell], sizes: Sizes) -> Vec<StudyTable> {
    let cells: Vec<Cell> = cells.iter().filter(|cell| cell.driver != NO_DB).cloned().collect();
    let standings = study.standings.iter().map(|of| standing_table(of, absent, &cells));
    let changes = study.changes.iter().map(|of| change_table(of, absent, &cells));
    let latencies = match study.standings.is_empty() {
        true => Vec::new(),
        false => latency_tables(&cells, sizes),
    };
    standings.chain(changes).chain(latencies).collect()
}

fn column(title: &str, figures: bool) -> StudyColumn {
    StudyColumn { title: title.to_owned(), figures }
}

fn standing_table(of: &Standing, absent: &[Absent], cells: &[Cell]) -> StudyTable {
    let order = standing::order(cells, of.operation);
    let shown = |placed: &Placed| match of.operation {
        Some(_) => with_interval(placed.value, duration),
        None => with_interval(placed.value, rate),
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    for placed in &order.placed {
        let published =
            of.published.iter().position(|place| place.systems.contains(&placed.system));
        let mut row = vec![place(placed), escape(&placed.system), shown(placed)];
        row.push(theirs(&of.published, published));
        rows.push(row);
    }
    for (number, place) in of.published.iter().enumerate() {
        if order.placed.iter().any(|placed| place.systems.contains(&placed.system)) {
            continue;
        }
        let why = no_figures(absent, place.systems.iter());
        let mut row = vec!["–".to_owned(), escape(&place.systems.join(", ")), why.to_owned()];
        row.push(theirs(&of.published, Some(number)));
        rows.push(row);
    }
    let what = match of.operation {
        Some(kind) => format!(
            "here: the mean of the mean response times of {} over {}, which in a closed loop says \
             what a throughput of this kind says",
            kind.name(),
            loads(order.loads)
        ),
        None => format!("here: the mean of the throughputs over {}", loads(order.loads)),
    };
    let mut notes = vec![what];
    if order.left_out > 0 {
        let verb = if order.left_out == 1 { "is" } else { "are" };
        notes.push(format!(
            "{} {verb} left out, where not every system has figures",
            loads(order.left_out)
        ));
    }
    notes.extend(agreement(of, &order.placed));
    let mut columns = vec![column("#", false), column("system", false), column("here", true)];
    columns.push(column("published", false));
    StudyTable { title: escape(&of.title), columns, rows, notes }
}

fn loads(count: usize) -> String {
    text::counted(count as u64, "load")
}

/// What stands in place of the figures of systems that have none.
fn no_figures<'a>(
    absent: &[Absent],
    mut systems: impl Iterator<Item = &'a String>,
) -> &'static str {
    let of = |system: &String| absent.iter().find(|absent| absent.system == *system);
    systems.find_map(of).map_or("no figures here", |absent| absent.reason.words())
}

/// `1`, `1=` for a shared place, `1?` where repeats do not decide.
fn place(placed: &Placed) -> String {
    match placed.rank {
        Some(rank) if !rank.decided => format!("{}?", rank.place),
        Some(rank) if rank.tied => format!("{}=", rank.place),
        Some(rank) => rank.place.to_string(),
        None => "–".to_owned(),
    }
}

/// The published place, name and value, as in `1 Aerospike, 4.9 kops/s`.
fn theirs(published: &[PublishedPlace], place: Option<usize>) -> String {
    let Some(place) = place else { return String::new() };
    let PublishedPlace { name, value, .. } = &published[place];
    let value = value.as_ref().map(|value| format!(", {value}")).unwrap_or_default();
    escape(&format!("{} {name}{value}", place + 1))
}

/// Whether our order is the published one, as far as both have the systems.
fn agreement(of: &Standing, placed: &[Placed]) -> Option<String> {
    let theirs =
        |system: &str| of.published.iter().position(|p| p.systems.iter().any(|s| s == system));
    let both: Vec<(&Placed, usize)> =
        placed.iter().filter_map(|ours| Some((ours, theirs(&ours.system)?))).collect();
    let mut differ: Vec<String> = Vec::new();
    let mut unsure = false;
    let (mut pairs, mut agree) = (0, 0);
    for (index, (a, place_a)) in both.iter().enumerate() {
        for (b, place_b) in &both[index + 1..] {
            let (Some(rank_a), Some(rank_b)) = (a.rank, b.rank) else { continue };
            if place_a == place_b {
                continue;
            }
            pairs += 1;
            // The first of the two stands before the other here.
            match (place_a < place_b, rank_a.place == rank_b.place) {
                _ if !rank_a.decided || !rank_b.decided => unsure = true,
                (_, true) => differ.push(format!("{} and {} tie here", a.system, b.system)),
                (true, false) => agree += 1,
                (false, false) => {
                    differ.push(format!("{} is ahead of {} here", a.system, b.system))
                }
            }
        }
    }
    match (pairs, differ.as_slice()) {
        (0, _) => None,
        (_, []) if unsure && agree < pairs => Some(
            "→ too few repeats, or too unlike, to say whether the order is the published one"
                .to_owned(),
        ),
        (_, []) => {
            Some("→ the order is the published one, as far as both have the systems".to_owned())
        }
        (_, differ) => Some(format!("→ not as published: {}", escape(&listed(differ)))),
    }
}

fn change_table(of: &Change, absent: &[Absent], cells: &[Cell]) -> StudyTable {
    let changed = standing::change(cells, &of.from, &of.to);
    let nothing = no_figures(absent, [&of.from, &of.to].into_iter()).to_owned();
    let throughput = changed.as_ref().and_then(|changed| changed.throughput);
    let ours = throughput.map(|ratio| {
        let signed = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
        match (ratio.low, ratio.high) {
            (Some(low), Some(high)) => {
                format!("{} ({} to {})", signed(ratio.ratio), signed(low), signed(high))
            }
            _ => signed(ratio.ratio),
        }
    });
    let mut rows = vec![vec![
        "throughput over all loads".to_owned(),
        ours.unwrap_or_else(|| nothing.clone()),
        of.throughput.as_deref().map(escape).unwrap_or_default(),
    ]];
    let failed: BTreeMap<OperationKind, (f64, f64)> =
        changed.as_ref().map(|changed| changed.failed.clone()).unwrap_or_default();
    let update = failed.get(&OperationKind::Update);
    rows.push(vec![
        "failed updates".to_owned(),
        update.map_or(nothing, |(from, to)| format!("from {} to {}", percent(*from), percent(*to))),
        of.failures.as_deref().map(escape).unwrap_or_default(),
    ]);
    let columns = vec![column("", false), column("here", false), column("published", false)];
    let notes = changed.map(|changed| format!("over {}", loads(changed.loads)));
    StudyTable { title: escape(&of.title), columns, rows, notes: notes.into_iter().collect() }
}

/// Latencies and return codes, a table each workload.
fn latency_tables(cells: &[Cell], sizes: Sizes) -> Vec<StudyTable> {
    let mut tables: Vec<StudyTable> = Vec::new();
    let mut by_workload: Vec<(&str, Vec<Vec<&Cell>>)> = Vec::new();
    for group in group_cells(cells) {
        let workload = group[0].workload.as_str();
        match by_workload.iter_mut().find(|(known, _)| *known == workload) {
            Some((_, groups)) => groups.push(group),
            None => by_workload.push((workload, vec![group])),
        }
    }
    for (workload, groups) in by_workload {
        let most = groups.iter().map(|group| group[0].records_in_question()).max();
        let shown: Vec<&Vec<&Cell>> = groups
            .iter()
            .filter(|group| sizes == Sizes::All || Some(group[0].records_in_question()) == most)
            .collect();
        let rows: Vec<Vec<String>> =
            shown.iter().flat_map(|group| group.iter().flat_map(|cell| rows(cell))).collect();
        let mut heading = vec!["Latency and return codes".to_owned(), escape(workload)];
        heading.extend(load(groups[0][0], Some(&assay_results::Axis::Records)));
        let left = groups.len() - shown.len();
        let note = (left > 0).then(|| {
            let sizes = text::counted(left as u64, "smaller size");
            format!("{sizes} in the report, and by 'assay show --tables'")
        });
        tables.push(StudyTable {
            title: heading.join(" · "),
            columns: vec![
                column("records", true),
                column("system", false),
                column("op", false),
                column("OK", true),
                column("failed", true),
                column("min", true),
                column("average", true),
                column("p95", true),
                column("p99", true),
                column("max", true),
            ],
            rows,
            notes: note.into_iter().collect(),
        });
    }
    tables
}

/// A row each kind of operation; one that says why for a cell without figures.
fn rows(cell: &Cell) -> Vec<Vec<String>> {
    let records = grouped(cell.records_in_question());
    let system = escape(&cell.system);
    let kinds: Vec<OperationKind> = OperationKind::ALL
        .into_iter()
        .filter(|kind| succeeded(cell, *kind) + failures(cell, *kind) > 0)
        .collect();
    if kinds.is_empty() {
        let why = match (&cell.unsupported, &cell.failure) {
            (Some(_), _) => "not supported",
            (None, Some(_)) => "failed",
            (None, None) => "no operation ended",
        };
        let mut row = vec![records, system, why.to_owned()];
        row.resize(10, String::new());
        return vec![row];
    }
    let of_kind = |(number, kind): (usize, OperationKind)| {
        let failed: Vec<String> = cell
            .errors_by_operation
            .get(&kind)
            .into_iter()
            .flatten()
            .filter(|(_, count)| **count > 0)
            .map(|(kind, count)| format!("{} {}", grouped(*count), kind.name()))
            .collect();
        let latency = cell.latency_ns.get(&kind);
        let time = |of: Option<f64>| of.map(duration).unwrap_or_default();
        vec![
            if number == 0 { records.clone() } else { String::new() },
            if number == 0 { system.clone() } else { String::new() },
            kind.name().replace('_', "-"),
            grouped(succeeded(cell, kind)),
            failed.join(", "),
            time(latency.map(|latency| latency.min as f64)),
            time(latency.map(|latency| latency.mean)),
            time(latency.map(|latency| latency.p95.median)),
            time(latency.map(|latency| latency.p99.median)),
            time(latency.map(|latency| latency.max as f64)),
        ]
    };
    kinds.into_iter().enumerate().map(of_kind).collect()
}

/// The table's lines; a text that is too wide for a narrow terminal is cut.
fn drawn(table: &StudyTable, width: usize, color: bool) -> Vec<String> {
    let most = width / 2;
    // What a row is about stands in each block of a table that is too wide.
    let fixed = (table.columns.len() / 2).clamp(1, 3);
    let columns: Vec<Column> = table
        .columns
        .iter()
        .enumerate()
        .map(|(place, column)| Column {
            title: column.title.clone().into(),
            align: if column.figures { Align::Right } else { Align::Left },
            priority: if place < fixed { 0 } else { place as u8 },
            beside: None,
            values: table.rows.iter().map(|row| Value::plain(cut(&row[place], most))).collect(),
        })
        .collect();
    let blocks = draw(&columns, width, color);
    blocks.join(&String::new())
}

#[cfg(test)]
mod claims_tests;
#[cfg(test)]
mod tests;
