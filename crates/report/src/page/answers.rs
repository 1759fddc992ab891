//! One answer a group, in a sentence and in its parts.

use assay_results::{Cell, Failure, Mode};

use super::{
    data::{Answer, AnswerBasis, AnswerKind},
    groups::main_kind,
    measured::Measured,
};
use crate::{
    heading::name,
    text::escape,
    units::{count, duration, with_interval},
    verdict::{is_open, verdict_on},
};

/// The answers of all groups.
pub fn answers(measured: &Measured<'_>) -> Vec<Answer> {
    (0..measured.groups.len()).map(|group| answer(measured, group)).collect()
}

fn answer(measured: &Measured<'_>, group: usize) -> Answer {
    let cells = measured.group(group);
    let on = format!("on {}", name(cells[0], &measured.cells, None).words);
    let ranked = measured.ranked(group);
    let at = |place: u32| -> Vec<u32> {
        let there = ranked.iter().filter(|(_, rank)| rank.place == place);
        there.map(|(cell, _)| measured.system(cell)).collect()
    };
    let by = match cells[0].mode {
        Mode::Closed => AnswerBasis::Throughput,
        Mode::Open { .. } => AnswerBasis::P99,
    };
    let group = group as u32;
    let plain = |kind, sentence, leaders| Answer {
        group,
        sentence,
        kind,
        by,
        leaders,
        next: None,
        lead: None,
        ties: Vec::new(),
    };
    let Some((_, first)) = ranked.first() else {
        return plain(AnswerKind::Nothing, nothing(&cells, &on), Vec::new());
    };
    let Some(sentence) = verdict_on(&ranked, &on) else {
        return plain(AnswerKind::Alone, alone(ranked[0].0, &cells, &on), at(first.place));
    };
    if is_open(&ranked) {
        return plain(AnswerKind::Undecided, sentence, at(first.place));
    }
    let next = ranked.iter().find(|(_, rank)| rank.place != first.place);
    let mut places: Vec<u32> = ranked.iter().map(|(_, rank)| rank.place).collect();
    places.dedup();
    let shared = places.into_iter().skip(1).map(at).filter(|systems| systems.len() > 1);
    let leaders = at(first.place);
    Answer {
        next: next.map(|(cell, _)| measured.system(cell)),
        lead: next.and_then(|(cell, rank)| {
            let to_best = rank.to_best?;
            Some(match cell.mode {
                Mode::Closed => to_best.inverted(),
                Mode::Open { .. } => to_best,
            })
        }),
        ties: shared.collect(),
        ..plain(
            if leaders.len() > 1 { AnswerKind::Tie } else { AnswerKind::Lead },
            sentence,
            leaders,
        )
    }
}

/// `slik does 652k operations a second (628k–691k) on ycsb/a`.
fn alone(cell: &Cell, group: &[&Cell], on: &str) -> String {
    let system = escape(&cell.system);
    let kind = main_kind(group);
    let latency = kind.and_then(|kind| Some((kind, cell.latency_ns.get(&kind)?)));
    match (cell.mode, latency) {
        (Mode::Open { .. }, Some((kind, latency))) => {
            let p99 = with_interval(latency.p99, duration);
            format!("{system}'s p99 of {} is {p99} {on}", kind.name().replace('_', "-"))
        }
        _ => {
            let rate = with_interval(cell.throughput_ops_per_s, count);
            format!("{system} does {rate} operations a second {on}")
        }
    }
}

/// Why there is no answer.
fn nothing(cells: &[&Cell], on: &str) -> String {
    if let Some(harness) = cells.iter().find(|cell| cell.has_run()) {
        let rate = with_interval(harness.throughput_ops_per_s, count);
        let system = escape(&harness.system);
        return match harness.throughput_ops_per_s.median > 0.0 {
            true => format!("Only {system} ran {on}: {rate} operations a second"),
            false => format!("{system} answered nothing {on}"),
        };
    }
    let reasons: Vec<String> = cells
        .iter()
        .filter_map(|cell| {
            let failed = cell.failure.as_ref().map(Failure::sentence);
            let why = cell.unsupported.clone().or(failed)?;
            Some(format!("{}: {}", escape(&cell.system), escape(&why)))
        })
        .collect();
    format!("No system has figures {on}: {}", reasons.join("; "))
}
