//! Two runs side by side.

use anstyle::{AnsiColor, Style};
use assay_results::{Comparison, Comparisons, Mode, OperationKind, Ratio, Verdict};

use crate::{
    table::{Align, Column, Value, draw},
    text::{self, counted, cut_apart, escape, grouped, styled, wrap},
    units::rate,
    verdict::times,
};

const LONGEST_NAME: usize = 26;
const WHAT_IT_SHOWS: &str =
    "The second run relative to the first: more throughput is faster, more of p50 and p99 slower.";
const RED: Style = AnsiColor::Red.on_default();
const DIM: Style = Style::new().dimmed();

/// A table of the comparisons, the second run relative to the first, and what could not be
/// compared. No line is wider than `width`, from 40 columns on.
pub fn render_comparisons(comparisons: &Comparisons, width: usize, color: bool) -> String {
    let width = width.max(text::NARROWEST);
    let mut lines = Vec::new();
    if comparisons.matched.is_empty() {
        lines.extend(wrap("The two runs have no trial in common.", width, 2));
    } else {
        lines.extend(wrap(WHAT_IT_SHOWS, width, 2));
        lines.extend(
            draw(&columns(&comparisons.matched, LONGEST_NAME.min(width / 4)), width, color)
                .join(&String::new()),
        );
        lines.push(styled(&tally(&comparisons.matched), Style::new().bold(), color));
    }
    let mut note = |text: String, style: Style| {
        lines.extend(wrap(&text, width, 2).iter().map(|line| styled(line, style, color)));
    };
    for comparison in &comparisons.matched {
        let sides = [
            ("first", &comparison.system_a, &comparison.failure_a),
            ("second", &comparison.system_b, &comparison.failure_b),
        ];
        for (which, system, failure) in sides {
            let Some(failure) = failure else { continue };
            let (workload, clients) = (&comparison.workload, comparison.clients);
            let failed = format!("{system} {workload} c{clients} {}", failure.sentence());
            note(format!("in the {which} run {}", escape(&failed)), RED);
        }
    }
    for (which, cells) in [("first", &comparisons.only_in_a), ("second", &comparisons.only_in_b)] {
        for cell in cells {
            note(format!("only in the {which} run: {}", escape(cell)), DIM);
        }
    }
    for difference in &comparisons.differences {
        note(format!("the runs also differ in {}", escape(difference)), DIM);
    }
    lines.into_iter().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn columns(matched: &[Comparison], longest: usize) -> Vec<Column> {
    let column =
        |title: &'static str, align, priority, value: &dyn Fn(&Comparison) -> Value| Column {
            title: title.into(),
            align,
            priority,
            beside: None,
            values: matched.iter().map(value).collect(),
        };
    let names = |title: &'static str, name: &dyn Fn(&Comparison) -> String| {
        let all: Vec<String> = matched.iter().map(name).collect();
        Column {
            title: title.into(),
            align: Align::Left,
            priority: 0,
            beside: None,
            values: cut_apart(&all, longest).into_iter().map(Value::plain).collect(),
        }
    };
    let latency = |title, priority, of: fn(&Comparison) -> Option<Ratio>| {
        column(title, Align::Right, priority, &|comparison| {
            of(comparison).map(|ratio| colored(times(&ratio), ratio.verdict)).unwrap_or_default()
        })
    };
    vec![
        names("system", &|comparison| {
            let (a, b) = (escape(&comparison.system_a), escape(&comparison.system_b));
            if a == b { a } else { format!("{b} vs {a}") }
        }),
        names("workload", &|comparison| {
            let mut name = escape(&comparison.workload);
            if let Mode::Open { rate_per_s, .. } = comparison.mode {
                name = format!("{name} {}", rate(rate_per_s));
            }
            format!("{name} c{}", comparison.clients)
        }),
        column("verdict", Align::Left, 1, &|comparison| {
            colored(comparison.verdict.name().to_owned(), comparison.verdict)
        }),
        column("throughput", Align::Right, 1, &|comparison| match &comparison.throughput {
            Some(ratio) => Value::plain(times(ratio)),
            None => Value::plain("none"),
        }),
        latency("p50", 3, |comparison| main_latency(comparison, |ratios| ratios.p50)),
        latency("p99", 2, |comparison| main_latency(comparison, |ratios| ratios.p99)),
        column("errors", Align::Right, 4, &|comparison| match (
            comparison.errors_a,
            comparison.errors_b,
        ) {
            (0, 0) => Value::default(),
            (a, b) => Value::styled(format!("{} → {}", grouped(a), grouped(b)), RED),
        }),
    ]
}

/// Of the first kind of operation that both have, in the order of tables.
fn main_latency(
    comparison: &Comparison,
    of: fn(&assay_results::LatencyRatios) -> Option<Ratio>,
) -> Option<Ratio> {
    let kind = OperationKind::ALL.into_iter().find(|kind| comparison.latency.contains_key(kind))?;
    of(&comparison.latency[&kind])
}

fn colored(text: String, verdict: Verdict) -> Value {
    let style = match verdict {
        Verdict::Faster => AnsiColor::Green.on_default(),
        Verdict::Slower => AnsiColor::Red.on_default(),
        Verdict::Tie | Verdict::Undecided => Style::new(),
    };
    Value::styled(text, style)
}

fn tally(matched: &[Comparison]) -> String {
    let of = |verdict: Verdict| matched.iter().filter(|c| c.verdict == verdict).count();
    let verdicts = [Verdict::Slower, Verdict::Faster, Verdict::Tie, Verdict::Undecided];
    let parts: Vec<String> = verdicts
        .into_iter()
        .map(|verdict| (of(verdict), verdict))
        .filter(|(count, _)| *count > 0)
        .map(|(count, verdict)| match verdict {
            Verdict::Tie => counted(count as u64, "tie"),
            other => format!("{count} {}", other.name()),
        })
        .collect();
    format!("→ {}", parts.join(", "))
}
