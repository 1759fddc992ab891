//! The report as plain HTML: what stands there without a script, and before it has run.

use std::fmt::Write;

use assay_results::{Interval, RunStatus};

use super::data::{
    CaveatKind, CaveatNote, FigurePanel, Group, GroupCell, KindLatency, Report, RunSummary,
    StudyFigure,
};
use crate::{
    text::{counted, grouped, listed},
    units::{bytes, count, duration, number, with_interval},
};

/// The text with what HTML would read written as entities.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// The answers, the caveats, a table a group and a figure.
pub fn render(report: &Report) -> String {
    let mut html = Html::default();
    html.out.push_str("<div id=\"fallback\">\n");
    html.element("h1", if report.title.is_empty() { "Assay" } else { &report.title });
    html.element("p", &report.question);
    if !report.headlines.is_empty() {
        html.list(report.headlines.iter().map(|headline| headline.sentence.clone()));
    }
    if !report.caveats.is_empty() {
        html.element("h2", "What to know");
        html.list(report.caveats.iter().map(|caveat| told(report, caveat)));
    }
    html.element("h2", "Where and how");
    html.list(report.runs.iter().map(run).chain(report.durability.iter().map(|level| {
        let settings = level.settings.iter().map(|setting| {
            format!("{} ({})", setting.setting, listed(&names(report, &setting.systems)))
        });
        let settings: Vec<String> = settings.collect();
        format!("Durability {}: {} {}", level.level, level.promise, settings.join("; "))
    })));
    for figure in &report.figures {
        html.figure(figure);
    }
    for table in &report.tables {
        let headings: Vec<String> =
            table.columns.iter().map(|column| column.title.clone()).collect();
        html.table(&table.title, &headings, &table.rows);
        html.list(table.notes.iter().cloned());
    }
    for group in &report.groups {
        html.group(report, group);
    }
    html.out.push_str("</div>\n");
    html.out
}

fn names(report: &Report, systems: &[u32]) -> Vec<String> {
    systems.iter().map(|system| report.systems[*system as usize].name.clone()).collect()
}

/// `warning: redis: the client's threads were busy …`.
fn told(report: &Report, caveat: &CaveatNote) -> String {
    let kind = match caveat.kind {
        CaveatKind::Severe => "Severe: ",
        CaveatKind::Warning => "Warning: ",
        CaveatKind::Note => "",
    };
    let systems = match caveat.systems.as_slice() {
        [] => String::new(),
        systems => format!("{}: ", listed(&names(report, systems))),
    };
    format!("{kind}{systems}{}", caveat.text)
}

fn run(run: &RunSummary) -> String {
    let machine = &run.machine;
    let mut parts = vec![format!("Run {} at {}", run.id, run.started_at)];
    parts.push(match run.status {
        RunStatus::Finished => counted(run.trials.into(), "trial"),
        RunStatus::Running => format!("{}, not over", counted(run.trials.into(), "trial")),
        RunStatus::Interrupted => format!("{}, interrupted", counted(run.trials.into(), "trial")),
    });
    parts.extend(machine.cpu.clone());
    parts.push(counted(machine.cores.into(), "core"));
    parts.extend(machine.memory_bytes.map(|memory| bytes(memory as f64)));
    parts.extend(machine.os.clone());
    parts.extend(machine.kernel.as_ref().map(|kernel| format!("kernel {kernel}")));
    let revision = run.git_revision.as_ref().map(|git| format!(" ({git})")).unwrap_or_default();
    parts.push(format!("Assay {}{revision}", run.assay_version));
    format!("{}: {}", parts.join(" · "), run.command)
}

/// HTML being written; every text goes through [`escaped`].
#[derive(Default)]
struct Html {
    out: String,
}

impl Html {
    fn element(&mut self, name: &str, text: &str) {
        writeln!(self.out, "<{name}>{}</{name}>", escaped(text)).expect("a string takes all");
    }

    fn list(&mut self, items: impl Iterator<Item = String>) {
        self.out.push_str("<ul>\n");
        items.for_each(|item| self.element("li", &item));
        self.out.push_str("</ul>\n");
    }

    fn group(&mut self, report: &Report, group: &Group) {
        let mut headings = vec!["system".to_owned(), "ops/s".into(), "95 % interval".into()];
        for kind in &group.kinds {
            let kind = kind.name().replace('_', "-");
            headings.extend(["p50", "p99", "p99.9"].map(|what| format!("{kind} {what}")));
        }
        headings.extend(
            ["failed", "client CPU/op", "server CPU/op", "memory/record", "disk/record"]
                .map(str::to_owned),
        );
        let rows = group.cells.iter().map(|cell| row(report, group, cell)).collect::<Vec<_>>();
        self.table(&group.heading, &headings, &rows);
    }

    fn figure(&mut self, figure: &StudyFigure) {
        self.element("h2", &figure.title);
        for panel in &figure.panels {
            self.figure_panel(figure, panel);
        }
    }

    fn figure_panel(&mut self, figure: &StudyFigure, panel: &FigurePanel) {
        let points = || panel.lines.iter().flat_map(|line| &line.points);
        let mut xs: Vec<f64> = points().map(|point| point.x).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let mut headings = vec![figure.x.name.clone()];
        let lines: Vec<_> = panel.lines.iter().filter(|line| !line.points.is_empty()).collect();
        headings.extend(lines.iter().map(|line| {
            format!("{}{}", line.name, if line.published { " (published)" } else { "" })
        }));
        let rows: Vec<Vec<String>> = xs
            .iter()
            .map(|x| {
                let place = match figure.x.percentiles {
                    true => format!("p{x}"),
                    false => x.to_string(),
                };
                let values = lines.iter().map(|line| {
                    let point = line.points.iter().find(|point| point.x == *x);
                    point.map(|point| with_interval(point.y, number)).unwrap_or_default()
                });
                [place].into_iter().chain(values).collect()
            })
            .collect();
        self.table(&panel.heading, &headings, &rows);
        self.list(panel.notes.iter().cloned());
    }

    fn table(&mut self, caption: &str, headings: &[String], rows: &[Vec<String>]) {
        self.out.push_str("<table>\n");
        self.element("caption", caption);
        self.out.push_str("<thead><tr>");
        for heading in headings {
            write!(self.out, "<th scope=\"col\">{}</th>", escaped(heading)).expect("as above");
        }
        self.out.push_str("</tr></thead>\n<tbody>\n");
        for row in rows {
            self.out.push_str("<tr>");
            for (place, value) in row.iter().enumerate() {
                let value = escaped(value);
                // A row that ends early says why in its last cell.
                let missing = headings.len() - place;
                let last = place + 1 == row.len() && missing > 1;
                match place {
                    0 => write!(self.out, "<th scope=\"row\">{value}</th>"),
                    _ if last => write!(self.out, "<td colspan=\"{missing}\">{value}</td>"),
                    _ => write!(self.out, "<td>{value}</td>"),
                }
                .expect("as above");
            }
            self.out.push_str("</tr>\n");
        }
        self.out.push_str("</tbody>\n</table>\n");
    }
}

fn row(report: &Report, group: &Group, cell: &GroupCell) -> Vec<String> {
    let mut row = vec![report.systems[cell.system as usize].name.clone()];
    if let Some(why) = &cell.unsupported {
        row.push(format!("not supported: {why}"));
        return row;
    }
    if let (0, Some(failure)) = (cell.repeats, &cell.failure) {
        row.push(failure.clone());
        return row;
    }
    let throughput = cell.throughput_ops_per_s;
    row.push(count(throughput.median));
    row.push(match (cell.repeats, throughput.low, throughput.high) {
        (1, ..) => "a single repeat".to_owned(),
        (_, Some(low), Some(high)) => format!("{}–{}", count(low), count(high)),
        _ => "too few, or too unlike".to_owned(),
    });
    for kind in &group.kinds {
        let latency = cell.latency.iter().find(|latency| latency.kind == *kind);
        let figures: [fn(&KindLatency) -> Interval; 3] =
            [|l| l.p50_ns, |l| l.p99_ns, |l| l.p999_ns];
        row.extend(
            figures
                .map(|of| latency.map(|latency| duration(of(latency).median)).unwrap_or_default()),
        );
    }
    let failed: u64 = cell.errors.iter().map(|error| error.count).sum();
    row.push(if failed == 0 { String::new() } else { grouped(failed) });
    let time = |of: Option<Interval>| of.map(|of| duration(of.median)).unwrap_or_default();
    row.push(time(cell.client_cpu_ns_per_op));
    row.push(time(cell.server_cpu_ns_per_op));
    let size = |of: Option<f64>| of.map(bytes).unwrap_or_default();
    row.push(size(cell.data_bytes_per_record.memory));
    row.push(size(cell.data_bytes_per_record.disk));
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_letter_that_html_reads_is_left() {
        assert_eq!(escaped(r#"<a b="c" d='e'>&"#), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;");
    }
}
