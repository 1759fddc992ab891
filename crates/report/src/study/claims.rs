//! What became of a study's claims, as a table for a page and as a list for a terminal.

use anstyle::Style;
use assay_results::{
    Absent, Cell, Interval, Study,
    claim::{Bound, ClaimVerdict, Finding, Judged, Says, judge},
};

use super::{BOLD, DIM, StudyTable, column};
use crate::{
    text::{escape, styled, wrap},
    units::{ratio, with_interval},
};

const RED: Style = anstyle::AnsiColor::Red.on_default();
const GREEN: Style = anstyle::AnsiColor::Green.on_default();

/// How many figures of a claim a terminal shows.
const MOST_SHOWN: usize = 6;

/// The claims with their verdicts, and below each what was compared for it; `None` without claims.
pub(super) fn table(study: &Study, absent: &[Absent], cells: &[Cell]) -> Option<StudyTable> {
    let judged = judge(study, absent, cells);
    if judged.is_empty() {
        return None;
    }
    let rows = judged.iter().flat_map(|judged| {
        let claim = vec![
            format!("“{}” ({})", escape(&judged.claim.text), escape(&judged.claim.source)),
            judged.verdict.words().to_owned(),
            String::new(),
            judged.claim.reading.as_ref().map(|reading| read_as(reading)).unwrap_or_default(),
            escape(&judged.reasons.join("; ")),
        ];
        let findings = compared(judged).map(|finding| {
            vec![
                String::new(),
                says(finding).to_owned(),
                figure(finding),
                escape(&finding.what),
                why(finding),
            ]
        });
        [claim].into_iter().chain(findings).collect::<Vec<_>>()
    });
    let columns = vec![
        column("claim", false),
        column("verdict", false),
        column("ratio", true),
        column("of throughputs", false),
        column("why", false),
    ];
    let title = "Claims of the study".to_owned();
    Some(StudyTable { title, columns, rows: rows.collect(), notes: vec![summary(&judged)] })
}

/// The same for a terminal: a paragraph each claim.
pub(super) fn lines(
    study: &Study,
    absent: &[Absent],
    cells: &[Cell],
    width: usize,
    color: bool,
) -> Vec<String> {
    let judged = judge(study, absent, cells);
    if judged.is_empty() {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let mut say = |text: &str, indent: usize, style: Style| {
        let margin = " ".repeat(indent);
        let room = width.saturating_sub(indent);
        lines.extend(
            wrap(text, room, 2).iter().map(|line| margin.clone() + &styled(line, style, color)),
        );
    };
    say("Claims of the study", 0, BOLD);
    for (number, judged) in (1..).zip(&judged) {
        let claim = judged.claim;
        say(&format!("{number}. “{}” ({})", escape(&claim.text), escape(&claim.source)), 0, BOLD);
        let verdict = match judged.reasons.as_slice() {
            [] => judged.verdict.words().to_owned(),
            reasons => format!("{}: {}", judged.verdict.words(), escape(&reasons.join("; "))),
        };
        say(&format!("→ {verdict}"), 3, verdict_style(judged.verdict));
        if let Some(reading) = &claim.reading {
            say(&read_as(reading), 3, DIM);
        }
        let mut findings: Vec<&Finding> = compared(judged).collect();
        // What decides against a claim comes first.
        findings.sort_by_key(|finding| (finding.says != Says::Fails) as u8);
        for finding in findings.iter().take(MOST_SHOWN) {
            let (figure, what, says) = (figure(finding), escape(&finding.what), says(finding));
            say(&format!("{figure} {what}: {says}, {}", why(finding)), 3, Style::new());
        }
        if findings.len() > MOST_SHOWN {
            say(&format!("{} more in the report", findings.len() - MOST_SHOWN), 3, DIM);
        }
    }
    say(&summary(&judged), 0, Style::new());
    lines.push(String::new());
    lines
}

/// The findings that have a figure.
fn compared<'a>(judged: &'a Judged<'_>) -> impl Iterator<Item = &'a Finding> {
    judged.findings.iter().filter(|finding| finding.ratio.is_some())
}

fn verdict_style(verdict: ClaimVerdict) -> Style {
    match verdict {
        ClaimVerdict::Confirmed => GREEN,
        ClaimVerdict::Refuted => RED,
        ClaimVerdict::NotDecidable => Style::new(),
    }
}

fn read_as(reading: &str) -> String {
    format!("read as: {}", escape(reading))
}

fn says(finding: &Finding) -> &'static str {
    match finding.says {
        Says::Holds => "holds",
        Says::Fails => "does not hold",
        Says::Nothing(_) => "undecided",
    }
}

/// `1.42× (1.31×–1.53×)`.
fn figure(finding: &Finding) -> String {
    let Some(of) = finding.ratio else { return String::new() };
    let interval = Interval { median: of.ratio, low: of.low, high: of.high };
    with_interval(interval, |value| ratio(value) + "×")
}

/// What was wanted of the figure, why nothing is said, and in whose place it stands.
fn why(finding: &Finding) -> String {
    let mut parts = vec![match finding.bound {
        Bound::Over(at) => format!("wanted: over {at}"),
        Bound::AtMost(at) => format!("wanted: {at} at most"),
    }];
    if let Says::Nothing(why) = &finding.says {
        parts.push(escape(why));
    }
    if let Some(name) = &finding.in_place_of {
        parts.push(format!("in {}'s place, which decides nothing", escape(name)));
    }
    parts.join("; ")
}

/// `1 confirmed, 0 refuted, 3 not decidable here`.
fn summary(judged: &[Judged<'_>]) -> String {
    let count = |verdict: ClaimVerdict| {
        let number = judged.iter().filter(|judged| judged.verdict == verdict).count();
        format!("{number} {}", verdict.words())
    };
    [ClaimVerdict::Confirmed, ClaimVerdict::Refuted, ClaimVerdict::NotDecidable]
        .map(count)
        .join(", ")
}
