//! Figures as a user sees them, at 80 and at 200 columns.

mod snapshot;

use assay_report::render_figure;
use assay_results::{
    Axis, Caveat, Cell, Figure, Interval, LatencySummary, Measure, OperationKind, Published,
    PublishedValues, Scale, TrialRecord, Unit, summarize,
};
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use snapshot::assert_snapshot;

const SIZES: [u64; 4] = [1, 1_000, 100_000, 1_000_000];

fn trial(system: &str, records: u64, repeat: u32) -> TrialRecord {
    // By size; a spread of some percent that differs by system and repeat.
    let (base, decade) = match system {
        "slik:object" => (0.21, 1.05),
        "sqlite" => (2.4, 1.2),
        "redis" => (31.0, 1.0),
        _ => (44.0, 1.02),
    };
    let letters: u32 = system.bytes().map(u32::from).sum();
    let phase = (repeat * repeat * 7 + letters * repeat + records as u32) % 5;
    let us = base * f64::powf(decade, (records as f64).log10()) * (0.97 + 0.01 * f64::from(phase));
    let p50 = (us * 1e3) as u64;
    let summary = LatencySummary {
        p50,
        p95: p50 * 2,
        p99: p50 * 3,
        p999: p50 * 20,
        p9999: p50 * 400,
        count: 1000,
        ..Default::default()
    };
    TrialRecord {
        system: system.into(),
        driver: system.into(),
        workload: "lookup".into(),
        clients: 1,
        records,
        repeat,
        operations: 1000,
        throughput_ops_per_s: Interval::unsure(1e6 / us),
        latency_ns: [(OperationKind::Lookup, summary)].into(),
        ..TrialRecord::default()
    }
}

fn trials() -> Vec<TrialRecord> {
    let mut trials = Vec::new();
    for repeat in 1..=5 {
        for records in SIZES {
            for system in ["slik:object", "sqlite", "redis", "postgres:row"] {
                trials.push(trial(system, records, repeat));
            }
        }
    }
    for trial in &mut trials {
        if trial.system == "sqlite" && trial.records == 1_000 && trial.repeat == 2 {
            trial.errors = [(assay_results::FailureKind::Timeout, 3)].into();
        }
        if trial.system == "redis" || trial.system == "postgres:row" {
            let text = format!("the client's {} threads were busy", trial.records);
            trial.caveats = vec![Caveat { code: "client_bottleneck".into(), text }];
        }
    }
    for records in SIZES {
        let why = Some("lookup: it has no secondary indexes".to_owned());
        let blank = trial("memcached", records, 0);
        trials.push(TrialRecord { unsupported: why, latency_ns: [].into(), ..blank });
    }
    trials
}

fn cells() -> Vec<Cell> {
    summarize(&trials())
}

fn figure() -> Figure {
    let points = vec![(1.0, 10.5), (1_000.0, 11.0), (10_000.0, 11.5), (1_000_000.0, 13.0)];
    let few = vec![(1.0, 1_500.0), (10_000.0, 1_200.0)];
    let published = |name: &str, values| Published { name: name.into(), part: None, values };
    Figure {
        title: None,
        only: Default::default(),
        x: Axis::Records,
        x_scale: Scale::Log,
        y: Measure::P50,
        operation: Some(OperationKind::Lookup),
        unit: Unit::Microseconds,
        source: Some("The Paper, Figure 7".into()),
        published: vec![
            published("RAM", PublishedValues::Points(points)),
            published("Disk", PublishedValues::Points(few)),
            published("H-Store", PublishedValues::Range { low: 929.22, high: 1024.35 }),
        ],
        parts: vec![],
    }
}

fn render(figure: &Figure, cells: &[Cell], width: usize) -> String {
    render_figure("Lookup latency by index size", figure, cells, width, false)
}

#[test]
fn at_80_columns_the_systems_go_on_in_a_second_block() {
    assert_snapshot("figure-80.txt", &render(&figure(), &cells(), 80));
}

#[test]
fn at_200_columns_intervals_are_written_out() {
    assert_snapshot("figure-200.txt", &render(&figure(), &cells(), 200));
}

#[test]
fn over_percentiles_a_distribution_goes_down() {
    let only: Vec<Cell> = cells().into_iter().filter(|cell| cell.records == 1_000).collect();
    let over = Figure {
        x: Axis::Percentile,
        x_scale: Scale::Linear,
        y: Measure::Latency,
        published: vec![],
        ..figure()
    };
    assert_snapshot("figure-percentiles-80.txt", &render(&over, &only, 80));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let mut trials = trials();
    for trial in &mut trials {
        if trial.system == "redis" {
            trial.system = "漢字-a-system-with-a-very-long-label+setting=value".into();
        }
        trial.workload_parameters = json!({"a_parameter_with_quite_a_long_name": trial.records});
    }
    let cells = summarize(&trials);
    let by_parameter =
        Figure { x: Axis::Parameter("a_parameter_with_quite_a_long_name".into()), ..figure() };
    for width in 40..=210 {
        for figure in [&figure(), &by_parameter] {
            for line in render(figure, &cells, width).lines() {
                assert!(line.width() <= width, "{width}: {} {line}", line.width());
            }
        }
    }
}

#[test]
fn names_that_begin_alike_stay_apart() {
    let points = |y: f64| PublishedValues::Points(vec![(1.0, y), (1_000_000.0, y * 2.0)]);
    let published = |name: &str, y| Published { name: name.into(), part: None, values: points(y) };
    let names = ["H-Store partitioned by secondary key", "H-Store partitioned by primary key"];
    let figure = Figure {
        published: vec![published(names[0], 147.0), published(names[1], 929.0)],
        ..figure()
    };
    for width in [80, 200] {
        let text = render(&figure, &cells(), width);
        for (name, value) in names.iter().zip(["147", "929"]) {
            let title = format!("{name} (published)");
            let at = text.find(&title).unwrap_or_else(|| panic!("{title} at {width}\n{text}"));
            let line_start = text[..at].rfind('\n').unwrap() + 1;
            // The value stands flush right under its own title.
            let end = text[line_start..at].width() + title.width();
            let below = text[at..].lines().nth(1).unwrap();
            let under: String = below.chars().take(end).collect();
            assert!(under.ends_with(&format!(" {value}")), "{title} at {width}\n{text}");
        }
        assert!(text.lines().all(|line| line.width() <= width), "{width}\n{text}");
    }
    // Where they cannot stand whole, their ends do.
    let text = render(&figure, &cells(), 40);
    for title in ["…by secondary key (published)", "…d by primary key (published)"] {
        assert!(text.contains(title), "{title}\n{text}");
    }
}

#[test]
fn how_a_system_changes_is_said_as_sure_as_it_is() {
    let only = |system: &str, repeats: u32| -> String {
        let trials: Vec<TrialRecord> = trials()
            .into_iter()
            .filter(|trial| trial.system == system && (1..=repeats).contains(&trial.repeat))
            .collect();
        let text = render(&figure(), &summarize(&trials), 200);
        text.lines().find(|line| line.starts_with('→')).unwrap().to_owned()
    };
    let sqlite = only("sqlite", 5);
    assert!(sqlite.starts_with("→ sqlite grows ") && sqlite.contains("× ("), "{sqlite}");
    assert!(sqlite.ends_with(" from 1 to 1,000,000 records"), "{sqlite}");
    assert!(only("redis", 5).contains("redis shows no change beyond the noise: "));
    let once = only("sqlite", 1);
    assert!(once.contains("sqlite goes to ") && !once.contains('('), "{once}");
    let mut apart = trials();
    apart.retain(|trial| trial.system == "redis" && (1..=2).contains(&trial.repeat));
    for trial in &mut apart {
        let factor = if trial.repeat == 1 { 1 } else { trial.records.clamp(1, 1000) };
        trial.latency_ns.get_mut(&OperationKind::Lookup).unwrap().p50 *= factor;
    }
    let text = render(&figure(), &summarize(&apart), 200);
    assert!(text.contains("redis repeats too differently to tell how it changes"), "{text}");
}

#[test]
fn what_is_published_says_so_and_where_from() {
    let text = render(&figure(), &cells(), 200);
    for part in [
        "RAM (published)",
        "published: RAM grows 1.24× from 1 to 1,000,000 records; Disk falls to 0.800× from 1 to 10,000",
        "published, lowest to highest: H-Store 929–1,024 µs (1.10×)",
        "source: The Paper, Figure 7",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    // A place that only the published ones have.
    assert!(text.lines().any(|line| line.trim_start().starts_with("10,000 ")), "{text}");
}

#[test]
fn words_from_elsewhere_cannot_steer_the_terminal() {
    let mut figure = figure();
    figure.source = Some("a\x1b[31mred source".into());
    figure.published[0].name = "R\x1b[0m".into();
    let text = render_figure("t\x07", &figure, &cells(), 80, false);
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
    assert_eq!(render(&figure, &[], 80), "");
}
