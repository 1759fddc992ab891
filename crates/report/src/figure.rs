//! A figure as a table: a line each place on its axis, a column each system, what was published
//! beside them, and how much each grows from one end to the other.

use std::collections::BTreeSet;

use anstyle::Style;
use assay_results::{
    Axis, Caveat, Cell, Figure, Interval, Ratio, Unit, Verdict,
    figure::{Line, Panel, Point, panels, place},
};

use crate::{
    heading::figure_heading,
    notes::{Caveats, Note, notes},
    table::{Align, Column, Value, draw},
    text::{self, cut, cut_front, escape, grouped, listed, styled, wrap},
    units::{number, percent, ratio},
};

/// From this width on intervals are written out.
const WIDE: usize = 120;
const LONGEST_NAME: usize = 26;
const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// The figure of a run with the title `title`: a table each part, then for each system how its last
/// value stands to its first, what was published, and notes. No line is wider than `width`, from
/// 40 columns on.
pub fn render_figure(
    title: &str,
    figure: &Figure,
    cells: &[Cell],
    width: usize,
    color: bool,
) -> String {
    draw_figure(title, figure, cells, width, color, &mut BTreeSet::new())
}

/// The figures of a run with the title `title`, one below the other. What must be known of a part's
/// trials stands under the first figure that has the part: the others draw the same trials.
pub fn render_figures(
    title: &str,
    figures: &[Figure],
    cells: &[Cell],
    width: usize,
    color: bool,
) -> String {
    let mut noted = BTreeSet::new();
    let drawn: Vec<String> = figures
        .iter()
        .map(|figure| {
            let title = figure.title.as_deref().unwrap_or(title);
            draw_figure(title, figure, cells, width, color, &mut noted)
        })
        .collect();
    drawn.join("\n")
}

/// `noted` are the parts of which notes have been given.
fn draw_figure(
    title: &str,
    figure: &Figure,
    cells: &[Cell],
    width: usize,
    color: bool,
    noted: &mut BTreeSet<String>,
) -> String {
    if cells.is_empty() {
        return String::new();
    }
    let width = width.max(text::NARROWEST);
    let mut lines = paragraph(&escape(title), BOLD, width, color);
    let before = noted.clone();
    for panel in panels(figure, cells) {
        lines.push(String::new());
        lines.extend(paragraph(&figure_heading(figure, &panel), BOLD, width, color));
        let columns = columns(figure, &panel, width);
        lines.extend(draw(&columns, width, color).join(&String::new()));
        for line in panel.lines.iter().filter(|line| !line.published) {
            if let Some(growth) = growth(figure, line) {
                lines.extend(paragraph(&format!("→ {growth}"), BOLD, width, color));
            }
        }
        for told in published(figure, &panel) {
            lines.extend(paragraph(&told, Style::new(), width, color));
        }
        noted.insert(panel.name.clone());
        let notes =
            if before.contains(&panel.name) { Vec::new() } else { panel_notes(figure, &panel) };
        for note in notes {
            lines.extend(paragraph(&note.text, note.style, width, color));
        }
    }
    lines.into_iter().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn paragraph(text: &str, style: Style, width: usize, color: bool) -> Vec<String> {
    wrap(text, width, 2).iter().map(|line| styled(line, style, color)).collect()
}

fn columns(figure: &Figure, panel: &Panel<'_>, width: usize) -> Vec<Column> {
    let mut xs: Vec<f64> =
        panel.lines.iter().flat_map(|line| &line.points).map(|point| point.x).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let mut columns = vec![Column {
        title: escape(figure.x.name()).into(),
        align: Align::Right,
        priority: 0,
        beside: None,
        values: xs.iter().map(|x| Value::plain(place_text(&figure.x, *x))).collect(),
    }];
    let drawn: Vec<&Line> = panel.lines.iter().filter(|line| !line.points.is_empty()).collect();
    let titles = titles(&drawn, LONGEST_NAME.min(width / 3), columns[0].leaves(width));
    for (line, title) in drawn.into_iter().zip(titles) {
        columns.push(Column {
            title: title.into(),
            align: Align::Right,
            priority: 1,
            beside: None,
            values: values(line, &xs, width >= WIDE),
        });
    }
    columns
}

/// The headings of lines, of `usual` columns at most. Where that leaves two alike they may have
/// `most`, and keep their ends: there names of one beginning differ.
fn titles(lines: &[&Line], usual: usize, most: usize) -> Vec<String> {
    let all = |cut: fn(&str, usize) -> String, most: usize| -> Vec<String> {
        let title = |line: &&Line| {
            let mark = if line.published { " (published)" } else { "" };
            cut(&escape(&line.name), most.saturating_sub(mark.len()).max(1)) + mark
        };
        lines.iter().map(title).collect()
    };
    let titles = all(cut, usual);
    let different: BTreeSet<&String> = titles.iter().collect();
    if different.len() == titles.len() { titles } else { all(cut_front, most) }
}

/// A line's value and interval at each of `xs`. The intervals of a column are equally wide, so that
/// the values stand under each other.
fn values(line: &Line, xs: &[f64], wide: bool) -> Vec<Value> {
    let at = |x: &f64| line.points.iter().find(|point| point.x == *x);
    let told: Vec<Option<(String, String)>> = xs
        .iter()
        .map(|x| at(x).map(|Point { y, .. }| (number(y.median), interval(*y, wide))))
        .collect();
    let widest =
        told.iter().flatten().map(|(_, interval)| text::width(interval)).max().unwrap_or(0);
    told.into_iter()
        .map(|told| match told {
            None => Value::default(),
            Some((value, _)) if widest == 0 => Value::plain(value),
            Some((value, interval)) => Value::plain(format!("{value} {interval:>widest$}")),
        })
        .collect()
}

fn interval(y: Interval, wide: bool) -> String {
    match (y.low, y.high, y.relative_half_width()) {
        (Some(low), Some(high), _) if wide => format!("[{}–{}]", number(low), number(high)),
        (_, _, Some(half)) => format!("±{}", percent(half)),
        _ => String::new(),
    }
}

fn place_text(axis: &Axis, x: f64) -> String {
    match axis {
        Axis::Percentile => format!("p{x}"),
        _ if x >= 0.0 && x.fract() == 0.0 && x < 1e15 => grouped(x as u64),
        _ => x.to_string(),
    }
}

/// `slik grows 1.32× (1.25–1.40) from 1 to 1,000,000 records`.
pub fn growth(figure: &Figure, line: &Line) -> Option<String> {
    let growth = line.growth.as_ref()?;
    let told = match line.published {
        // One number a point: that is all there is to be sure of.
        true if growth.ratio >= 1.0 => format!("grows {}", factor(growth)),
        true => format!("falls to {}", factor(growth)),
        false => grown(growth),
    };
    Some(format!("{} {told} {}", escape(&line.name), from_to(&figure.x, line)?))
}

fn grown(growth: &Ratio) -> String {
    match growth.verdict {
        Verdict::Faster => format!("grows {}", factor(growth)),
        Verdict::Slower => format!("falls to {}", factor(growth)),
        Verdict::Tie => format!("shows no change beyond the noise: {}", factor(growth)),
        Verdict::Undecided if growth.low.is_some() => {
            "repeats too differently to tell how it changes".to_owned()
        }
        Verdict::Undecided => format!("goes to {}", factor(growth)),
    }
}

/// `1.32× (1.25–1.40)`.
fn factor(of: &Ratio) -> String {
    let middle = number(of.ratio);
    match (of.low, of.high) {
        (Some(low), Some(high)) if number(low) != number(high) => {
            format!("{middle}× ({}–{})", number(low), number(high))
        }
        _ => format!("{middle}×"),
    }
}

fn from_to(axis: &Axis, line: &Line) -> Option<String> {
    let (first, last) = (line.points.first()?, line.points.last()?);
    let (from, to) = (place_text(axis, first.x), place_text(axis, last.x));
    Some(match axis {
        Axis::Records | Axis::Clients => format!("from {from} to {to} {}", axis.name()),
        Axis::Rate => format!("from {from}/s to {to}/s"),
        Axis::Percentile => format!("from {from} to {to}"),
        Axis::Parameter(name) => format!("from {} {from} to {to}", escape(name)),
    })
}

/// What others have published and where: how lines go, and the ranges of those without points.
pub fn published(figure: &Figure, panel: &Panel<'_>) -> Vec<String> {
    let lines = || panel.lines.iter().filter(|line| line.published);
    let goes: Vec<String> = lines().filter_map(|line| growth(figure, line)).collect();
    let ranges: Vec<String> = lines().filter_map(|line| range(line, figure.unit)).collect();
    let mut told = Vec::new();
    if !goes.is_empty() {
        told.push(format!("published: {}", goes.join("; ")));
    }
    if !ranges.is_empty() {
        told.push(format!("published, lowest to highest: {}", ranges.join("; ")));
    }
    if lines().next().is_some() {
        told.extend(figure.source.as_ref().map(|source| format!("source: {}", escape(source))));
    }
    told
}

/// `SLIK 10.2–13.1 µs (1.28×)`: where each value stands is not told, so neither is a direction.
fn range(line: &Line, unit: Unit) -> Option<String> {
    let (low, high) = line.range?;
    let (name, times) = (escape(&line.name), ratio(high / low));
    Some(format!("{name} {}–{} {unit} ({times}×)", number(low), number(high)))
}

/// The notes of all cells, each said once: with where, if it is not everywhere.
pub fn panel_notes(figure: &Figure, panel: &Panel<'_>) -> Vec<Note> {
    let at = |cell: &Cell| place(&figure.x, cell);
    let places: Vec<&[&Cell]> = panel.cells.chunk_by(|a, b| at(a) == at(b)).collect();
    let mut told: Vec<(String, Note, Vec<Option<f64>>)> = Vec::new();
    for cells in &places {
        let here = at(cells[0]);
        let plain =
            notes(cells, &Caveats::none()).into_iter().map(|note| (note.text.clone(), note));
        for (key, note) in plain.chain(caveats(cells)) {
            match told.iter_mut().find(|(known, ..)| *known == key) {
                Some((.., places)) => places.push(here),
                None => told.push((key, note, vec![here])),
            }
        }
    }
    told.into_iter()
        .map(|(_, note, there)| {
            let there: Vec<String> = match there.len() == places.len() {
                true => Vec::new(),
                false => there.into_iter().flatten().map(|x| place_text(&figure.x, x)).collect(),
            };
            if there.is_empty() {
                return note;
            }
            let (name, there) = (escape(figure.x.name()), listed(&there));
            Note { text: format!("{} ({name} {there})", note.text), ..note }
        })
        .collect()
}

/// The caveats of cells of one load, each with the systems that have it, and what makes it one and
/// the same elsewhere: figures in its text may differ.
fn caveats(cells: &[&Cell]) -> Vec<(String, Note)> {
    let mut told: Vec<(&Caveat, Vec<String>)> = Vec::new();
    for cell in cells {
        for caveat in &cell.caveats {
            match told.iter_mut().find(|(known, _)| known.code == caveat.code) {
                Some((_, systems)) => systems.push(escape(&cell.system)),
                None => told.push((caveat, vec![escape(&cell.system)])),
            }
        }
    }
    told.into_iter()
        .map(|(caveat, systems)| {
            let systems = listed(&systems);
            let text = format!("{systems}: {}", escape(&caveat.text));
            (format!("{} {systems}", caveat.code), Note { text, style: DIM })
        })
        .collect()
}
