//! The tables as a user sees them, at 80 and at 200 columns.

mod fixture;
mod snapshot;

use assay_report::{render, render_comparisons, verdicts};
use assay_results::{
    Across, Arrivals, Cell, Interval, Mode, Run, RunHeader, TrialRecord, compare, summarize,
};
use unicode_width::UnicodeWidthStr;

use snapshot::assert_snapshot;

fn cells() -> Vec<Cell> {
    summarize(&fixture::trials())
}

fn run(id: &str, trials: Vec<TrialRecord>) -> Run {
    let mut header = RunHeader::starting(vec![], serde_json::Value::Null);
    header.id = id.into();
    Run { path: id.into(), header, trials }
}

fn without_styles(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("\x1b[") {
        out.push_str(&rest[..start]);
        let end = rest[start..].find('m').expect("a style ends") + start;
        rest = &rest[end + 1..];
    }
    out + rest
}

#[test]
fn at_80_columns_the_rest_goes_into_a_second_block() {
    assert_snapshot("80.txt", &render(&cells(), 80, false));
}

#[test]
fn at_200_columns_everything_stands_side_by_side() {
    assert_snapshot("200.txt", &render(&cells(), 200, false));
}

#[test]
fn colors_change_nothing_but_colors() {
    let (plain, colored) = (render(&cells(), 100, false), render(&cells(), 100, true));
    assert!(!plain.contains('\x1b') && colored.contains('\x1b'));
    assert_eq!(without_styles(&colored), plain);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let mut trials = fixture::trials();
    for trial in &mut trials {
        if trial.system == "valkey" {
            trial.system = "漢字-a-system-with-a-very-long-label+setting=value".into();
        }
    }
    let cells = summarize(&trials);
    let slower =
        compare(&run("1", trials.clone()), &run("2", fixture::trials()), Across::SameSystem);
    for width in 40..=210 {
        for text in [render(&cells, width, false), render_comparisons(&slower, width, false)] {
            for line in text.lines() {
                assert!(line.width() <= width, "{width}: {} {line}", line.width());
            }
        }
    }
}

#[test]
fn every_figure_is_somewhere_at_every_width() {
    for width in [40, 60, 80, 120, 200] {
        let text = render(&cells(), width, false);
        for figure in ["2.1", "µs", "6.20µs", "1.49KiB", "178MiB", "not supported", "[1] scans"] {
            assert!(text.contains(figure), "{figure} at {width}");
        }
    }
}

#[test]
fn a_servers_words_cannot_steer_the_terminal() {
    let text = render(&cells(), 80, false);
    assert!(text.contains("\\u{1b}[31manswer"), "{text}");
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
}

#[test]
fn the_verdict_names_the_lead_and_the_ties_and_leaves_the_no_db_line_out() {
    let verdicts = verdicts(&cells());
    assert_eq!(verdicts.len(), 1, "one system alone needs no verdict: {verdicts:?}");
    let verdict = &verdicts[0];
    assert!(verdict.starts_with("memory is 21.") && verdict.contains(" on ycsb/a with 4 clients"));
    assert!(
        verdict.contains("; valkey and redis tie") || verdict.contains("; redis and valkey tie")
    );
    assert!(!verdict.contains("null"));
}

#[test]
fn a_single_repeat_decides_nothing_and_says_so() {
    let once: Vec<TrialRecord> =
        fixture::trials().into_iter().filter(|trial| trial.repeat == 1).collect();
    let cells = summarize(&once);
    let text = render(&cells, 80, false);
    assert!(text.contains("1?") && text.contains("n=1: a single repeat"), "{text}");
    assert_eq!(
        verdicts(&cells),
        ["memory leads on ycsb/a with 4 clients by a single repeat, which decides nothing"]
    );
}

#[test]
fn an_open_loop_names_its_rate_and_is_judged_by_its_latency() {
    let mode = Mode::Open { rate_per_s: 5_000.0, arrivals: Arrivals::Poisson };
    let trials: Vec<TrialRecord> = fixture::trials()
        .into_iter()
        .filter(|trial| trial.workload == "ycsb/a")
        .map(|trial| TrialRecord { mode, throughput_ops_per_s: Interval::unsure(5_000.0), ..trial })
        .collect();
    let cells = summarize(&trials);
    assert!(render(&cells, 100, false).contains("open loop at 5.00k/s at random"));
    let verdict = &verdicts(&cells)[0];
    assert!(verdict.contains("'s p99 is 21.") && verdict.contains("× "), "{verdict}");
    assert!(verdict.contains(" memory's on ycsb/a"), "{verdict}");
}

#[test]
fn a_comparison_shows_ratios_verdicts_and_what_is_missing() {
    let before = fixture::trials();
    let after: Vec<TrialRecord> = fixture::trials()
        .into_iter()
        .filter(|trial| trial.system != "postgres:jsonb")
        .map(|mut trial| {
            if trial.system == "redis" {
                trial.throughput_ops_per_s.median *= 0.9;
            }
            trial
        })
        .collect();
    let comparisons = compare(&run("1", before), &run("2", after), Across::SameSystem);
    assert!(comparisons.any_worse());
    assert_snapshot("comparison-80.txt", &render_comparisons(&comparisons, 80, false));
}

#[test]
fn runs_without_a_common_trial_say_so() {
    let comparisons = compare(&run("1", vec![]), &run("2", vec![]), Across::SameSystem);
    assert_eq!(
        render_comparisons(&comparisons, 80, false),
        "The two runs have no trial in common.\n"
    );
    assert_eq!(render(&[], 80, false), "");
}

#[test]
fn repeats_too_unlike_to_tell_make_no_tie() {
    let mut trials = fixture::trials();
    trials.retain(|trial| trial.workload == "ycsb/a" && trial.repeat <= 2);
    for trial in trials.iter_mut().filter(|trial| trial.system == "redis" && trial.repeat == 2) {
        trial.throughput_ops_per_s.median *= 40.0;
    }
    let cells = summarize(&trials);
    let text = render(&cells, 80, false);
    let redis = text.lines().find(|line| line.contains(" redis ")).expect(&text);
    assert!(redis.contains("? ") && redis.contains("n=2") && !redis.contains('±'), "{text}");
    assert!(text.contains("n=2: so few repeats, and so unlike,"), "{text}");
    let verdict = &verdicts(&cells)[0];
    assert!(verdict.contains(" is ahead on ycsb/a with 4 clients, but the repeats"), "{verdict}");
    assert!(!verdict.contains("tie"), "{verdict}");
}

#[test]
fn what_is_decided_is_told_beside_what_is_not() {
    let mut trials = fixture::trials();
    trials.retain(|trial| trial.workload == "ycsb/a");
    for trial in &mut trials {
        trial.throughput_ops_per_s.median = match &*trial.system {
            "redis" => 10_000.0 * f64::from(trial.repeat),
            "memory" => 25_000.0,
            _ => 100.0,
        };
    }
    let verdict = &verdicts(&summarize(&trials))[0];
    let (open, decided) = verdict.split_once("; ").expect(verdict);
    assert!(open.contains("to tell it from"), "{verdict}");
    assert!(decided.starts_with("redis is ") && decided.contains('×'), "{verdict}");
}

#[test]
fn labels_that_begin_alike_stay_apart() {
    let mut trials = fixture::trials();
    for trial in &mut trials {
        trial.system = format!("the same long beginning of {}", trial.system);
    }
    let (before, after) = (run("1", trials.clone()), run("2", trials.clone()));
    let compared = compare(&before, &after, Across::SameSystem);
    for text in [render(&summarize(&trials), 60, false), render_comparisons(&compared, 60, false)] {
        assert!(text.contains("of redis ") && text.contains("of valkey "), "{text}");
    }
}
