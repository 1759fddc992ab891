//! Tables that fit: columns with priorities. What does not fit beside the first columns goes into
//! further blocks below, each with the first columns again.

use std::{borrow::Cow, collections::BTreeSet};

use anstyle::Style;

use crate::text::{cut, styled, width};

const GAP: usize = 2;

/// Whether a column is set flush left or right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Names.
    Left,
    /// Figures.
    Right,
}

/// One value of a column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Value {
    /// The text, already escaped.
    pub text: String,
    /// Its style.
    pub style: Style,
}

impl Value {
    /// A value in the plain style.
    pub fn plain(text: impl Into<String>) -> Value {
        Value { text: text.into(), style: Style::new() }
    }

    /// A value in a style.
    pub fn styled(text: impl Into<String>, style: Style) -> Value {
        Value { text: text.into(), style }
    }
}

/// One column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// The heading. Several columns may have the same.
    pub title: Cow<'static, str>,
    /// Flush left or right.
    pub align: Align,
    /// Columns of a low number are placed first; those of zero stand in every block.
    pub priority: u8,
    /// The title of a column that must stand in the same block for this one to be understood.
    pub beside: Option<&'static str>,
    /// One value a row.
    pub values: Vec<Value>,
}

impl Column {
    /// How much room it leaves to another column in a line of `most`.
    pub fn leaves(&self, most: usize) -> usize {
        most.saturating_sub(self.width() + GAP)
    }

    fn width(&self) -> usize {
        let widest = self.values.iter().map(|value| width(&value.text)).max();
        widest.unwrap_or(0).max(width(&self.title))
    }

    fn is_empty(&self) -> bool {
        self.values.iter().all(|value| value.text.is_empty())
    }
}

/// The table's lines, in blocks. Columns without any value are left out, and so are, in later
/// blocks, rows without any value of their own.
pub fn draw(columns: &[Column], most: usize, color: bool) -> Vec<Vec<String>> {
    let filled: Vec<&Column> = columns.iter().filter(|column| !column.is_empty()).collect();
    let fixed = filled.iter().filter(|column| column.priority == 0).count();
    let mut waiting: Vec<usize> =
        (0..filled.len()).filter(|place| filled[*place].priority > 0).collect();
    let mut blocks = Vec::new();
    while !waiting.is_empty() || blocks.is_empty() {
        let chosen = choose(&filled, &waiting, most);
        let shown: Vec<&Column> = chosen.iter().map(|place| filled[*place]).collect();
        blocks.push(draw_block(&shown, fixed, blocks.is_empty(), most, color));
        waiting.retain(|place| !chosen.contains(place));
    }
    blocks
}

/// The places of one block's columns in `filled`: the fixed ones, and by priority those of the
/// waiting ones that fit with what must stand beside them; at least one.
fn choose(filled: &[&Column], waiting: &[usize], most: usize) -> BTreeSet<usize> {
    let taken = |place: usize| filled[place].width() + GAP;
    let mut chosen: BTreeSet<usize> =
        (0..filled.len()).filter(|place| filled[*place].priority == 0).collect();
    let none_yet = chosen.len();
    let mut room = (most + GAP).saturating_sub(chosen.iter().map(|place| taken(*place)).sum());
    let mut by_priority = waiting.to_vec();
    by_priority.sort_by_key(|place| filled[*place].priority);
    for place in by_priority {
        let beside = filled
            .iter()
            .position(|other| Some(&*other.title) == filled[place].beside)
            .filter(|beside| !chosen.contains(beside));
        let needed = taken(place) + beside.map_or(0, taken);
        if !chosen.contains(&place) && (needed <= room || chosen.len() == none_yet) {
            chosen.extend(beside);
            chosen.insert(place);
            room = room.saturating_sub(needed);
        }
    }
    chosen
}

fn draw_block(
    columns: &[&Column],
    fixed: usize,
    first: bool,
    most: usize,
    color: bool,
) -> Vec<String> {
    let titles: Vec<Value> =
        columns.iter().map(|column| Value::styled(&*column.title, Style::new().dimmed())).collect();
    let rows = columns.first().map_or(0, |column| column.values.len());
    let mut lines = vec![draw_line(columns, &titles, most, color)];
    for row in 0..rows {
        let values: Vec<Value> = columns.iter().map(|column| column.values[row].clone()).collect();
        if first || values[fixed..].iter().any(|value| !value.text.is_empty()) {
            lines.push(draw_line(columns, &values, most, color));
        }
    }
    lines
}

fn draw_line(columns: &[&Column], values: &[Value], most: usize, color: bool) -> String {
    let mut line = String::new();
    let mut used = 0;
    let mut owed = 0;
    for (column, value) in columns.iter().zip(values) {
        let room = column.width().min(most.saturating_sub(used + owed));
        let text = cut(&value.text, room);
        let space = room - width(&text);
        let (before, after) = match column.align {
            Align::Left => (0, space),
            Align::Right => (space, 0),
        };
        if !text.is_empty() {
            line.push_str(&" ".repeat(owed + before));
            line.push_str(&styled(&text, value.style, color));
            used += owed + before + width(&text);
            owed = after + GAP;
        } else {
            owed += room + GAP;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(title: &'static str, align: Align, priority: u8, values: &[&str]) -> Column {
        let values = values.iter().map(|text| Value::plain(*text)).collect();
        Column { title: title.into(), align, priority, beside: None, values }
    }

    fn table() -> Vec<Column> {
        vec![
            column("name", Align::Left, 0, &["a", "longer"]),
            column("low", Align::Right, 2, &["1", "222"]),
            column("high", Align::Right, 1, &["55555", ""]),
            column("none", Align::Right, 1, &["", ""]),
        ]
    }

    #[test]
    fn columns_are_aligned_and_empty_ones_left_out() {
        let blocks = draw(&table(), 80, false);
        assert_eq!(blocks, [["name    low   high", "a         1  55555", "longer  222"]]);
    }

    #[test]
    fn what_does_not_fit_goes_into_a_block_of_its_own() {
        let blocks = draw(&table(), 14, false);
        assert_eq!(blocks[0], ["name     high", "a       55555", "longer"]);
        assert_eq!(blocks[1], ["name    low", "a         1", "longer  222"]);
    }

    #[test]
    fn a_column_takes_with_it_what_explains_it() {
        let mut columns = vec![
            column("name", Align::Left, 0, &["a", ""]),
            column("op", Align::Left, 1, &["read", "scan"]),
            column("p50", Align::Right, 1, &["1234567", "2"]),
            column("p99", Align::Right, 2, &["1234567", "4"]),
        ];
        columns[2].beside = Some("op");
        columns[3].beside = Some("op");
        let blocks = draw(&columns, 22, false);
        assert_eq!(blocks[0][2], "      scan        2");
        assert_eq!(
            blocks[1],
            ["name  op        p99", "a     read  1234567", "      scan        4"]
        );
    }

    #[test]
    fn columns_of_one_title_are_two_columns() {
        let columns = [
            column("name", Align::Left, 0, &["a"]),
            column("same", Align::Right, 1, &["1"]),
            column("same", Align::Right, 1, &["2"]),
        ];
        assert_eq!(draw(&columns, 16, false), [["name  same  same", "a        1     2"]]);
        let narrow = [["name  same", "a        1"], ["name  same", "a        2"]];
        assert_eq!(draw(&columns, 15, false), narrow);
    }

    #[test]
    fn no_line_is_wider_than_allowed() {
        for most in 5..40 {
            for line in draw(&table(), most, false).concat() {
                assert!(width(&line) <= most, "{most}: {line}");
            }
        }
    }
}
