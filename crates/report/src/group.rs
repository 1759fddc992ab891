//! One table: the systems that answered one question, best first.

use anstyle::{AnsiColor, Style};
use assay_results::{Cell, Interval, LatencyIntervals, OperationKind, Rank};

use crate::{
    heading::heading,
    notes::{Caveats, has_no_interval, notes, too_few_repeats},
    sparkline::sparkline,
    table::{Align, Column, Value, draw},
    text::{cut_apart, escape, grouped, styled, wrap},
    units::{bytes, count, duration, percent},
    verdict::{NO_DB, competitors, verdict},
};

/// From this width on throughput intervals are written out and time series drawn.
const WIDE: usize = 120;
const LONGEST_SYSTEM: usize = 26;
const SPARKLINE_COLUMNS: usize = 16;
const OPERATION: &str = "op";

const BOLD: Style = Style::new().bold();
const BEST: Style = AnsiColor::Green.on_default().bold();
const RED: Style = AnsiColor::Red.on_default();
const DIM: Style = Style::new().dimmed();

/// A line of the table: a system under one kind of operation. The figures of the system itself
/// stand in its first line.
struct Row<'a> {
    cell: &'a Cell,
    rank: Option<Rank>,
    latency: Option<(OperationKind, &'a LatencyIntervals)>,
    first: bool,
}

/// The group's heading, table, verdict and notes.
pub fn render(group: &[&Cell], all: &[Cell], width: usize, color: bool) -> String {
    let caveats = Caveats::of(group);
    let rows = rows(group);
    let mut lines: Vec<String> =
        wrap(&heading(group, all), width, 2).iter().map(|line| styled(line, BOLD, color)).collect();
    if !rows.is_empty() {
        for (number, block) in
            draw(&columns(&rows, &caveats, width), width, color).into_iter().enumerate()
        {
            if number > 0 {
                lines.push(String::new());
            }
            lines.extend(block);
        }
    }
    let paragraph = |text: &str, style: Style| -> Vec<String> {
        wrap(text, width, 2).iter().map(|line| styled(line, style, color)).collect()
    };
    if let Some(verdict) = verdict(group) {
        lines.extend(paragraph(&format!("→ {verdict}"), BOLD));
    }
    for note in too_few_repeats(group).into_iter().chain(notes(group, &caveats)) {
        lines.extend(paragraph(&note.text, note.style));
    }
    lines.into_iter().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// Ranked systems first, then the No-DB line. Systems that cannot do this stand in the notes.
fn rows<'a>(group: &[&'a Cell]) -> Vec<Row<'a>> {
    let ranked = competitors(group).into_iter().map(|(cell, rank)| (cell, Some(rank)));
    let no_db = group
        .iter()
        .filter(|cell| cell.driver == NO_DB && cell.unsupported.is_none())
        .map(|cell| (*cell, None));
    let mut rows: Vec<Row<'a>> = Vec::new();
    for (cell, rank) in ranked.chain(no_db).collect::<Vec<_>>() {
        let mut kinds: Vec<Option<(OperationKind, &LatencyIntervals)>> =
            cell.latency_ns.iter().map(|(kind, latency)| Some((*kind, latency))).collect();
        if kinds.is_empty() {
            kinds.push(None);
        }
        for (index, latency) in kinds.into_iter().enumerate() {
            rows.push(Row { cell, rank, latency, first: index == 0 });
        }
    }
    // A system without a rank for want of figures (it failed, or all did in an open loop) still shows.
    for cell in group.iter().copied() {
        let shown =
            cell.unsupported.is_some() || rows.iter().any(|row| std::ptr::eq(row.cell, cell));
        if !shown {
            rows.push(Row { cell, rank: None, latency: None, first: true });
        }
    }
    rows
}

fn columns(rows: &[Row<'_>], caveats: &Caveats<'_>, width: usize) -> Vec<Column> {
    let wide = width >= WIDE;
    let column = |title: &'static str, align, priority, value: &dyn Fn(&Row<'_>) -> Value| Column {
        title: title.into(),
        align,
        priority,
        beside: None,
        values: rows.iter().map(value).collect(),
    };
    let figure = |title, priority, value: &dyn Fn(&Cell) -> String| {
        column(title, Align::Right, priority, &|row| {
            if row.first { Value::plain(value(row.cell)) } else { Value::default() }
        })
    };
    let of_operation = |title, priority, value: &dyn Fn(&LatencyIntervals) -> String| Column {
        beside: Some(OPERATION),
        ..column(title, Align::Right, priority, &|row| match row.latency {
            Some((_, latency)) => Value::plain(value(latency)),
            None => Value::default(),
        })
    };
    let interval_title = if wide { "95% interval" } else { "±" };
    let mut columns = vec![
        column("#", Align::Left, 0, &place),
        Column {
            values: systems(rows, caveats, width),
            ..column("system", Align::Left, 0, &|_| Value::default())
        },
        column("ops/s", Align::Right, 1, &throughput),
        column(interval_title, Align::Right, 2, &|row| interval(row, wide)),
        column(OPERATION, Align::Left, 1, &|row| match row.latency {
            Some((kind, _)) => Value::plain(short_name(kind)),
            None => Value::default(),
        }),
        of_operation("p50", 1, &|latency| duration(latency.p50.median)),
        of_operation("p95", 4, &|latency| duration(latency.p95.median)),
        of_operation("p99", 1, &|latency| duration(latency.p99.median)),
        of_operation("p99.9", 3, &|latency| duration(latency.p999.median)),
        column("errors", Align::Right, 3, &errors),
        figure("CPU/op", 5, &|cell| optional(cell.client_cpu_ns_per_op, duration)),
        figure("server", 6, &|cell| optional(cell.server_cpu_ns_per_op, duration)),
        figure("mem/rec", 7, &|cell| {
            cell.data_bytes_per_record.memory.map(bytes).unwrap_or_default()
        }),
        figure("disk/rec", 7, &|cell| {
            cell.data_bytes_per_record.disk.map(bytes).unwrap_or_default()
        }),
        figure("RSS", 8, &|cell| {
            cell.server_rss_bytes.map(|rss| bytes(rss as f64)).unwrap_or_default()
        }),
    ];
    if wide {
        let half = |of: Interval| of.relative_half_width().map(percent);
        columns.insert(
            8,
            of_operation("± of p99", 9, &|latency| {
                half(latency.p99).map(|half| format!("±{half}")).unwrap_or_default()
            }),
        );
        columns.insert(10, of_operation("max", 10, &|latency| duration(latency.max as f64)));
        columns.push(figure("huge pages", 11, &|cell| {
            cell.huge_pages_bytes.map(|huge| bytes(huge as f64)).unwrap_or_default()
        }));
        columns.push(column("over time", Align::Left, 8, &|row| {
            let series = if row.first { row.cell.series.as_slice() } else { &[] };
            Value::styled(sparkline(series, SPARKLINE_COLUMNS), DIM)
        }));
    }
    columns
}

fn throughput(row: &Row<'_>) -> Value {
    match row.first {
        true if !row.cell.has_run() => Value::styled("failed", RED.bold()),
        true => Value::plain(count(row.cell.throughput_ops_per_s.median)),
        false => Value::default(),
    }
}

/// `1`, `1=` for a shared place, `1?` where repeats are too few or too unlike to decide.
fn place(row: &Row<'_>) -> Value {
    match row.rank {
        Some(rank) if row.first => {
            let mark = match rank {
                Rank { decided: false, .. } => "?",
                Rank { tied: true, .. } => "=",
                _ => "",
            };
            let style = if rank.place == 1 && rank.decided { BEST } else { Style::new() };
            Value::styled(format!("{}{mark}", rank.place), style)
        }
        None if row.first => Value::styled("–", DIM),
        _ => Value::default(),
    }
}

fn systems(rows: &[Row<'_>], caveats: &Caveats<'_>, width: usize) -> Vec<Value> {
    let names: Vec<String> = rows.iter().map(|row| escape(&row.cell.system)).collect();
    let names = cut_apart(&names, LONGEST_SYSTEM.min(width / 3));
    rows.iter().zip(names).map(|(row, name)| system(row, name, caveats)).collect()
}

fn system(row: &Row<'_>, name: String, caveats: &Caveats<'_>) -> Value {
    if !row.first {
        return Value::default();
    }
    let marks = caveats.marks(row.cell);
    let mut text = name;
    if !marks.is_empty() {
        text = format!("{text} {marks}");
    }
    let best = row.rank.is_some_and(|rank| rank.place == 1 && rank.decided);
    Value::styled(text, if best { BOLD } else { Style::new() })
}

fn interval(row: &Row<'_>, wide: bool) -> Value {
    let throughput = row.cell.throughput_ops_per_s;
    if !row.first {
        return Value::default();
    }
    if has_no_interval(row.cell) {
        return Value::styled(format!("n={}", row.cell.repeats), DIM);
    }
    match (throughput.low, throughput.high, throughput.relative_half_width()) {
        (Some(low), Some(high), _) if wide => {
            Value::styled(format!("[{}–{}]", count(low), count(high)), DIM)
        }
        (_, _, Some(half)) => Value::styled(format!("±{}", percent(half)), DIM),
        _ => Value::default(),
    }
}

fn errors(row: &Row<'_>) -> Value {
    let failed = row.cell.failed();
    if !row.first || failed == 0 {
        return Value::default();
    }
    Value::styled(grouped(failed), RED)
}

fn optional(interval: Option<Interval>, shown: fn(f64) -> String) -> String {
    interval.map(|interval| shown(interval.median)).unwrap_or_default()
}

fn short_name(kind: OperationKind) -> &'static str {
    match kind {
        OperationKind::ReadModifyWrite => "rmw",
        other => other.name(),
    }
}
