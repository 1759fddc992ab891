//! The report as data and as a page, over fixture records.

mod fixture;

use assay_report::page::{
    Report,
    data::{AnswerBasis, AnswerKind, CaveatKind, GroupCell, SweepAxis},
    json, render,
};
use assay_results::{
    Answers, Arrivals, Axis, Durability, FailedTrial, Figure, Interval, Measure, Mode,
    OperationKind, Published, PublishedValues, Run, RunHeader, RunStatus, Scale, TrialPhase,
    TrialRecord, Unit, Verdict,
};
use serde_json::{Value, json};

fn run(id: &str, mut trials: Vec<TrialRecord>) -> Run {
    for (number, trial) in (1..).zip(&mut trials) {
        trial.trial = number;
    }
    let mut header = RunHeader::starting(
        vec!["/opt/assay".into(), "run".into(), "-s".into(), "a b".into()],
        json!({}),
    );
    header.id = id.into();
    header.status = RunStatus::Finished;
    Run { path: id.into(), header, trials }
}

/// A run in which redis failed in its third repeat of `ycsb/a`, and valkey at once.
fn run_with_failures() -> Run {
    let gone = |trial: &TrialRecord| {
        trial.workload == "ycsb/a"
            && (trial.system == "valkey" || (trial.system == "redis" && trial.repeat >= 3))
    };
    let (failed, ended): (Vec<_>, Vec<_>) = fixture::trials().into_iter().partition(gone);
    let mut run = run("1", ended);
    for (system, repeat) in [("valkey", 1), ("redis", 3)] {
        let of = |trial: &&TrialRecord| trial.system == system && trial.repeat == repeat;
        let trial = TrialRecord { trial: 100, ..failed.iter().find(of).unwrap().clone() };
        let why = "the server ended by itself: signal: 9 <SIGKILL>";
        run.header.failures.push(FailedTrial::of(trial, TrialPhase::Measure, why));
    }
    // The same in another table, which is to be said once.
    let mut again = run.header.failures[0].clone();
    again.workload = "ycsb/e".into();
    run.header.failures.push(again);
    run
}

#[test]
fn what_failed_is_the_first_thing_to_know_and_stands_in_its_table() {
    let report = Report::of(&[run_with_failures()]);
    let severe: Vec<_> = report.caveats.iter().filter(|of| of.code == "failed").collect();
    let told: Vec<(Vec<String>, &str)> =
        severe.iter().map(|of| (names(&report, &of.systems), of.text.as_str())).collect();
    let why = "the server ended by itself: signal: 9 <SIGKILL>";
    let of = |repeat: u32| format!("failed while it was measured in repeat {repeat}: {why}");
    assert_eq!(told, [(vec!["redis".to_owned()], &*of(3)), (vec!["valkey".to_owned()], &*of(1))]);
    assert!(severe.iter().all(|caveat| caveat.kind == CaveatKind::Severe));
    let group = &report.groups[0];
    let cell = |name: &str| {
        let named = |cell: &&_| system_of(&report, cell) == name;
        group.cells.iter().find(named).unwrap()
    };
    let (redis, valkey) = (cell("redis"), cell("valkey"));
    assert_eq!((redis.repeats, redis.failure.as_deref()), (2, Some(&*of(3))));
    assert!(redis.rank.is_some(), "of the repeats before");
    assert_eq!((valkey.repeats, valkey.failure.as_deref()), (0, Some(&*of(1))));
    assert!(valkey.rank.is_none() && valkey.trials.is_empty());
    assert!(group.heading.contains("2 to 5 repeats"), "{}", group.heading);
    assert!(!report.answers[0].sentence.contains("valkey"), "{}", report.answers[0].sentence);
    let html = render(&report);
    let row = "<th scope=\"row\">valkey</th><td colspan=\"13\">failed while it was measured in \
               repeat 1: the server ended by itself: signal: 9 &lt;SIGKILL&gt;</td>";
    assert!(html.contains(row), "{row}");
}

fn system_of(report: &Report, cell: &GroupCell) -> String {
    report.systems[cell.system as usize].name.clone()
}

fn report() -> Report {
    Report::of(&[run("1", fixture::trials())])
}

fn names(report: &Report, systems: &[u32]) -> Vec<String> {
    systems.iter().map(|system| report.systems[*system as usize].name.clone()).collect()
}

fn caveat<'a>(report: &'a Report, code: &str) -> &'a assay_report::page::data::CaveatNote {
    let found = report.caveats.iter().find(|caveat| caveat.code == code);
    found.unwrap_or_else(|| panic!("{code} in {:#?}", report.caveats))
}

#[test]
fn the_head_says_what_was_asked_of_whom_and_where() {
    let report = report();
    assert_eq!(
        report.question,
        "Which of memory, redis, valkey, postgres:jsonb and memcached does ycsb/a and ycsb/e \
         fastest at durability none?"
    );
    let all: Vec<u32> = (0..report.systems.len() as u32).collect();
    assert_eq!(
        names(&report, &all),
        ["memory", "redis", "valkey", "postgres:jsonb", "memcached", "null"],
        "the harness's own cost comes last"
    );
    assert!(report.systems[5].no_db && !report.systems[0].no_db);
    assert_eq!(report.runs[0].command, "assay run -s 'a b'");
    assert_eq!(report.runs[0].trials, 30, "what could not be done did not run");
    let [none] = report.durability.as_slice() else { panic!("{:?}", report.durability) };
    assert_eq!(none.level, Durability::None);
    let settings: Vec<(&str, Vec<String>)> =
        none.settings.iter().map(|of| (of.setting.as_str(), names(&report, &of.systems))).collect();
    assert_eq!(
        settings,
        [
            ("memory only", vec!["memory".into(), "redis".into(), "valkey".into()]),
            ("fsync=off", vec!["postgres:jsonb".into()]),
        ]
    );
}

#[test]
fn an_experiments_own_question_and_title_are_taken() {
    let mut named = run("1", fixture::trials());
    named.header.plan = json!({"title": "T", "question": "Why?"});
    let report = Report::of(&[named.clone(), named]);
    assert_eq!((report.question.as_str(), report.title.as_str()), ("Why?", "T"));
    let mut unnamed = run("1", fixture::trials());
    unnamed.header.plan = json!({"title": "Experiment", "question": null});
    assert_eq!(Report::of(&[unnamed]).title, "", "that is no name");
}

#[test]
fn the_answer_is_the_verdict_in_words_and_in_parts() {
    let report = report();
    let [a, e] = report.answers.as_slice() else { panic!("{:?}", report.answers) };
    assert!(a.sentence.starts_with("memory is 21."), "{}", a.sentence);
    assert!(a.sentence.contains("on ycsb/a;"), "other groups have as many clients: {}", a.sentence);
    assert_eq!((a.kind, a.by), (AnswerKind::Lead, AnswerBasis::Throughput));
    assert_eq!(names(&report, &a.leaders), ["memory"]);
    let lead = a.lead.unwrap();
    assert!(lead.ratio > 21.0 && lead.ratio < 22.0 && lead.verdict == Verdict::Faster, "{lead:?}");
    let mut tied = names(&report, &a.ties[0]);
    tied.sort();
    assert_eq!((a.ties.len(), tied), (1, vec!["redis".to_owned(), "valkey".into()]));

    assert_eq!((e.kind, names(&report, &e.leaders)), (AnswerKind::Alone, vec!["redis".into()]));
    assert!(e.sentence.starts_with("redis does 9.0"), "{}", e.sentence);
    assert_eq!((e.lead, e.next), (None, None));
}

#[test]
fn a_single_repeat_answers_nothing() {
    let once = fixture::trials().into_iter().filter(|trial| trial.repeat == 1).collect();
    let report = Report::of(&[run("1", once)]);
    assert_eq!(report.answers[0].kind, AnswerKind::Undecided);
    assert_eq!(report.answers[0].lead, None);
    assert_eq!(caveat(&report, "single_repeat").kind, CaveatKind::Warning);
}

#[test]
fn a_group_has_its_cells_best_first_with_what_was_measured() {
    let report = report();
    let group = &report.groups[0];
    assert_eq!((group.name.as_str(), group.clients), ("ycsb/a", 4));
    let systems: Vec<u32> = group.cells.iter().map(|cell| cell.system).collect();
    let order = names(&report, &systems);
    assert_eq!((order[0].as_str(), order[3].as_str()), ("memory", "postgres:jsonb"));
    assert_eq!(order[4], "null", "{order:?}");
    assert_eq!(group.kinds, [OperationKind::Read, OperationKind::Update]);
    assert_eq!(group.main_kind, Some(OperationKind::Read), "of as many, the first in tables");

    let memory = &group.cells[0];
    let rank = memory.rank.as_ref().unwrap();
    assert!(rank.place == 1 && rank.decided && !rank.tied && rank.to_best.is_none());
    assert_eq!((memory.repeats, memory.throughputs.len(), memory.trials.len()), (5, 5, 5));
    let median = memory.throughput_ops_per_s.median;
    assert!(memory.throughputs.iter().any(|repeat| repeat.value == median));
    let of_median = &report.trials[memory.median_trial.unwrap() as usize];
    assert_eq!(of_median.throughput_ops_per_s, median);
    assert_eq!(memory.latency[0].kind, OperationKind::Read);
    assert!(memory.latency[0].p9999_ns.median > memory.latency[0].p999_ns.median);
    assert_eq!(memory.sparkline_operations.len(), 20);
    assert_eq!((memory.server_cpu_ns_per_op, memory.server_rss_bytes), (None, None));
    assert!(group.cells[4].rank.is_none(), "no competitor");

    let valkey = report.systems.iter().position(|system| system.name == "valkey").unwrap() as u32;
    let valkey = group.cells.iter().find(|cell| cell.system == valkey).unwrap();
    assert_eq!((valkey.errors[0].count, valkey.server_rss_bytes), (3, Some(187_000_000)));
    assert!(valkey.error_messages[0].contains("\\u{1b}[31m"), "{:?}", valkey.error_messages);

    let cannot = report.groups[1].cells.last().unwrap();
    assert_eq!(cannot.unsupported.as_deref(), Some("memcached has no ordered keys"));
    assert!(cannot.trials.is_empty() && cannot.latency.is_empty() && cannot.rank.is_none());
}

#[test]
fn caveats_are_said_once_with_whom_they_concern() {
    let report = report();
    assert_eq!(report.caveats[0].code, "errors", "what matters most comes first");
    let errors = caveat(&report, "errors");
    assert_eq!(errors.kind, CaveatKind::Severe);
    assert!(errors.text.starts_with("3 timeout of 500,000 operations failed: read timeout"));
    assert_eq!(
        (names(&report, &errors.systems), errors.groups.as_slice()),
        (vec!["valkey".into()], &[0][..])
    );
    let emulated = caveat(&report, "emulated");
    assert_eq!(
        (names(&report, &emulated.systems), emulated.groups.as_slice()),
        (vec!["redis".into()], &[0, 1][..])
    );
    let unsupported = caveat(&report, "unsupported");
    assert_eq!(names(&report, &unsupported.systems), ["memcached"]);
    assert_eq!(unsupported.kind, CaveatKind::Note);
    let place = report.caveats.iter().position(|caveat| caveat.code == "errors").unwrap() as u32;
    let has: Vec<u32> = report.groups[0]
        .cells
        .iter()
        .filter(|cell| cell.caveats.contains(&place))
        .map(|cell| cell.system)
        .collect();
    assert_eq!(names(&report, &has), ["valkey"]);
}

#[test]
fn repeats_that_scatter_are_told() {
    let mut trials = fixture::trials();
    for trial in trials.iter_mut().filter(|trial| trial.system == "redis") {
        trial.throughput_ops_per_s.median *= 1.0 + 0.2 * f64::from(trial.repeat % 3);
    }
    let report = Report::of(&[run("1", trials)]);
    let noisy = caveat(&report, "noisy_repeats");
    assert_eq!(names(&report, &noisy.systems), ["redis"]);
    assert!(report.caveats.iter().all(|caveat| caveat.code != "single_repeat"));
}

#[test]
fn settings_that_differ_are_marked_and_told() {
    let mut trials = fixture::trials();
    for trial in &mut trials {
        trial.settings = [("clock".into(), "tsc".into())].into();
        if trial.system == "redis" || trial.system == "valkey" {
            let threads = if trial.system == "redis" { "1" } else { "4" };
            trial.settings.insert("io-threads".into(), threads.into());
            // It changes by itself, so it is nobody's choice.
            trial.settings.insert("port".into(), (6000 + trial.repeat).to_string());
        }
    }
    let report = Report::of(&[run("1", trials)]);
    let row = &report.settings[0];
    assert_eq!((row.name.as_str(), row.differs), ("io-threads", true), "first what differs");
    let values: Vec<String> = row.values.iter().map(|values| values.join("|")).collect();
    assert_eq!(values, ["", "1", "4", "", "", ""]);
    assert!(report.settings[1..].iter().all(|row| !row.differs), "{:?}", report.settings);
    let told = caveat(&report, "unequal_settings");
    assert_eq!(told.text, "not all run with the same io-threads: 1 (redis) and 4 (valkey)");
    let sets = &report.settings_sets;
    assert_eq!(sets.len(), 11, "each set once: {sets:?}");
    let redis = report.trials.iter().find(|trial| trial.system == 1 && trial.repeat == 2).unwrap();
    assert_eq!(sets[redis.settings_set as usize]["port"], "6002");
}

#[test]
fn systems_that_end_with_other_records_are_severe() {
    let mut trials = fixture::trials();
    for trial in &mut trials {
        let sum = if trial.system == "redis" { "b" } else { "a" };
        trial.answers = Answers { sample_checksum: Some(sum.into()), ..Answers::default() };
    }
    let report = Report::of(&[run("1", trials.clone())]);
    let told = caveat(&report, "answers_disagree");
    assert_eq!((told.kind, told.groups.as_slice()), (CaveatKind::Severe, &[0][..]));
    for trial in &mut trials {
        trial.answers.sample_checksum = Some(format!("round {}", trial.repeat));
    }
    let agreed = Report::of(&[run("1", trials)]);
    assert!(agreed.caveats.iter().all(|caveat| caveat.code != "answers_disagree"));
}

fn with_clients(clients: u32) -> impl Iterator<Item = TrialRecord> {
    fixture::trials().into_iter().filter(|trial| trial.workload == "ycsb/a").map(move |trial| {
        let mut trial = TrialRecord { clients, ..trial };
        trial.throughput_ops_per_s.median *= f64::from(clients).sqrt();
        trial
    })
}

#[test]
fn several_numbers_of_clients_make_a_panel_and_one_headline() {
    let trials = [1, 2, 4, 8].into_iter().flat_map(with_clients).collect();
    let report = Report::of(&[run("1", trials)]);
    let names: Vec<&str> = report.groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names[..2], ["ycsb/a · 1 client", "ycsb/a · 2 clients"]);
    let [panel] = report.panels.as_slice() else { panic!("{:?}", report.panels) };
    assert_eq!(
        (panel.over, panel.name.as_str(), panel.log_x),
        (SweepAxis::Clients, "ycsb/a", true)
    );
    assert_eq!(panel.lines.len(), 5);
    for line in &panel.lines {
        let xs: Vec<f64> = line.points.iter().map(|point| point.x).collect();
        assert_eq!(xs, [1.0, 2.0, 4.0, 8.0]);
        for point in &line.points {
            let group = &report.groups[point.group as usize];
            let cell = group.cells.iter().find(|cell| cell.system == line.system).unwrap();
            assert_eq!(point.throughput_ops_per_s, cell.throughput_ops_per_s);
            assert_eq!(point.p99_ns, Some(cell.latency[0].p99_ns));
        }
    }
    let [headline] = report.headlines.as_slice() else { panic!("{:?}", report.headlines) };
    assert!(headline.sentence.starts_with("On ycsb/a memory leads from 1 to 8 clients, by 21."));
    assert_eq!(headline.groups, [0, 1, 2, 3]);
    assert!(report.answers[1].sentence.contains("on ycsb/a with 2 clients"));
}

#[test]
fn an_open_loop_makes_a_panel_over_rates_and_is_answered_by_its_p99() {
    let at_rate = |rate_per_s: f64| {
        with_clients(4).map(move |trial| TrialRecord {
            mode: Mode::Open { rate_per_s, arrivals: Arrivals::Poisson },
            throughput_ops_per_s: Interval::unsure(rate_per_s),
            service_latency_ns: trial.latency_ns.clone(),
            ..trial
        })
    };
    let trials = [1_000.0, 2_000.0].into_iter().flat_map(at_rate).collect();
    let report = Report::of(&[run("1", trials)]);
    let [panel] = report.panels.as_slice() else { panic!("{:?}", report.panels) };
    assert_eq!((panel.over, panel.kind), (SweepAxis::Rate, Some(OperationKind::Read)));
    assert_eq!(report.groups[1].name, "ycsb/a · 2,000/s");
    assert_eq!(report.answers[0].by, AnswerBasis::P99);
    assert!(report.answers[0].lead.unwrap().ratio > 1.0);
    assert!(!report.groups[0].cells[0].service_latency.is_empty());
    let told = &report.headlines[0].sentence;
    assert!(told.contains("memory has the lowest p99 at 1,000/s and 2,000/s, by 21."), "{told}");
}

#[test]
fn runs_of_the_same_stand_side_by_side_and_are_not_paired() {
    let slower = || {
        fixture::trials().into_iter().map(|mut trial| {
            trial.throughput_ops_per_s.median *= 0.5;
            trial
        })
    };
    let mut second = run("2", slower().collect());
    second.header.machine.kernel = Some("another".into());
    second.header.status = RunStatus::Interrupted;
    let report = Report::of(&[run("1", fixture::trials()), second]);
    assert_eq!(report.groups.len(), 2, "the same questions");
    let cells: Vec<u32> = report.groups[0].cells.iter().map(|cell| cell.system).collect();
    assert_eq!(names(&report, &cells)[..2], ["memory (run 1)", "memory (run 2)"]);
    assert_eq!(report.systems[cells[1] as usize].run, Some(1));
    assert_eq!(report.groups[0].cells[0].throughputs.len(), 5);
    let lead = report.answers[0].lead.unwrap();
    assert!((lead.ratio - 2.0).abs() < 0.05, "{lead:?}");
    assert!(caveat(&report, "runs_differ").text.contains("kernel"));
    assert!(caveat(&report, "unfinished_run").text.starts_with("run 2 was stopped"));
    assert_eq!(report.trials.len(), 60);
    assert_eq!((report.trials[30].run, report.trials[30].number), (1, 1));
}

#[test]
fn runs_that_ask_different_questions_are_not_asked_one() {
    let of = |system: &'static str, workload: &'static str| {
        let trials = fixture::trials().into_iter();
        trials.filter(move |trial| trial.system == system && trial.workload == workload).collect()
    };
    let mut second = run("2", of("valkey", "ycsb/e"));
    second.header.plan = json!({"question": "Does it scan?"});
    let report = Report::of(&[run("1", of("redis", "ycsb/a")), second]);
    assert_eq!(report.question, "How fast does redis do ycsb/a at durability none? Does it scan?");
}

#[test]
fn runs_of_different_things_stand_together_under_their_own_names() {
    let of = |system: &'static str| {
        fixture::trials().into_iter().filter(move |trial| trial.system == system).collect()
    };
    let report = Report::of(&[run("1", of("redis")), run("2", of("valkey"))]);
    let all: Vec<&str> = report.systems.iter().map(|system| system.name.as_str()).collect();
    assert_eq!(all, ["redis", "valkey"]);
    assert_eq!(report.groups[0].cells.len(), 2);
    assert_eq!(report.answers[0].kind, AnswerKind::Tie);
}

#[test]
fn a_studys_figure_has_measured_and_published_lines() {
    let figure = Figure {
        title: None,
        only: Default::default(),
        x: Axis::Clients,
        x_scale: Scale::Log,
        y: Measure::Throughput,
        operation: None,
        unit: Unit::ThousandsPerSecond,
        source: Some("A Paper, Figure 1".into()),
        published: vec![
            Published {
                name: "Theirs".into(),
                part: None,
                values: PublishedValues::Points(vec![(1.0, 461.0), (8.0, 357.0)]),
            },
            Published {
                name: "redis".into(),
                part: None,
                values: PublishedValues::Range { low: 10.0, high: 20.0 },
            },
        ],
        parts: vec![],
    };
    let mut run = run("1", [1, 2, 4].into_iter().flat_map(with_clients).collect());
    run.header.plan = json!({"title": "Figure", "figure": figure});
    let report = Report::of(&[run]);
    let [figure] = report.figures.as_slice() else { panic!("{:?}", report.figures) };
    assert_eq!((figure.y.unit.as_deref(), figure.y.scale), (Some("kops/s"), Scale::Log));
    assert_eq!((figure.x.name.as_str(), figure.x.scale), ("clients", Scale::Log));
    let lines = &figure.panels[0].lines;
    let redis = lines.iter().find(|line| line.name == "redis" && !line.published).unwrap();
    assert_eq!(names(&report, &[redis.system.unwrap()]), ["redis"]);
    let first = redis.points[0].y;
    assert!((first.median - 100.3).abs() < 1.5 && first.low.is_some(), "{first:?}");
    let theirs = lines.iter().find(|line| line.name == "Theirs").unwrap();
    assert!(theirs.published && theirs.system.is_none() && theirs.points[0].y.low.is_none());
    let range = lines.iter().find(|line| line.range.is_some()).unwrap();
    assert_eq!((range.range, range.system), (Some([10.0, 20.0]), None));
    assert!(figure.panels[0].notes.iter().any(|note| note == "source: A Paper, Figure 1"));
}

#[test]
fn a_run_without_trials_is_a_report_without_groups() {
    let report = Report::of(&[run("1", vec![])]);
    assert!(report.groups.is_empty() && report.answers.is_empty() && report.systems.is_empty());
    assert!(render(&report).contains("<!doctype html>"));
}

/// The places of elements that a browser would make, by their beginnings.
fn count(html: &str, beginning: &str) -> usize {
    html.to_ascii_lowercase().matches(beginning).count()
}

#[test]
fn a_system_that_calls_itself_a_script_harms_nothing() {
    const EVIL: &str = "<script>alert(1)</script>";
    const WORSE: &str = "--><!--</style></script><img src=x onerror=alert(1)>\u{2028}\"'&amp;";
    let evil = |text: &mut String| *text = format!("{EVIL}{WORSE}{text}");
    let harmless = render(&report());
    let mut trials = fixture::trials();
    for trial in trials.iter_mut().filter(|trial| trial.system != "null") {
        evil(&mut trial.system);
        evil(&mut trial.system_version);
        evil(&mut trial.workload);
        evil(&mut trial.durability.setting);
        evil(&mut trial.rerun);
        trial.settings = [(format!("{EVIL}{WORSE}"), format!("{EVIL}{WORSE}"))].into();
        trial.error_messages.iter_mut().for_each(evil);
        trial.caveats.iter_mut().for_each(|caveat| evil(&mut caveat.text));
        trial.unsupported.iter_mut().for_each(evil);
        trial.workload_parameters = json!({EVIL: WORSE});
    }
    let mut run = run("1", trials);
    evil(&mut run.header.id);
    run.header.command_line.iter_mut().for_each(evil);
    run.header.machine.cpu = Some(format!("{EVIL}{WORSE}"));
    run.header.plan = json!({"title": format!("{EVIL}{WORSE}"), "question": EVIL});
    let report = Report::of(&[run]);
    let html = render(&report);
    for beginning in ["<script", "</script", "<style", "</style", "<!--", "<img", "<iframe"] {
        assert_eq!(count(&html, beginning), count(&harmless, beginning), "{beginning}");
    }
    assert!(!html.contains('\u{2028}'));
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "it shows as what it is");
    let data = data_of(&html);
    let read: Value = serde_json::from_str(data).unwrap();
    assert_eq!(read["question"], EVIL, "and reads back as what it was");
}

/// What stands in the element of the data.
fn data_of(html: &str) -> &str {
    let begin = "<script type=\"application/json\" id=\"report-data\">";
    let from = html.find(begin).unwrap() + begin.len();
    &html[from..from + html[from..].find("</script>").unwrap()]
}

#[test]
fn the_page_holds_its_data_and_may_load_nothing() {
    let report = report();
    let html = render(&report);
    assert_eq!(data_of(&html), json(&report));
    let policy = "content=\"default-src 'none'; script-src 'sha256-";
    assert!(html.contains(policy) && !html.contains("script-src 'unsafe"), "{}", &html[..600]);
    for elsewhere in ["<link", " src=\"http", " href=\"http", "@import"] {
        assert!(!html.contains(elsewhere), "{elsewhere}");
    }
}

#[test]
fn without_a_script_the_answers_and_figures_are_there() {
    let html = render(&report());
    let text = &html[html.find("<main").unwrap()..html.find("</main>").unwrap()];
    for part in [
        "<li>memory is 21.",
        "<li>Severe: valkey: 3 timeout of 500,000 operations failed",
        "<caption>ycsb/a · 4 clients · 100,000 records · durability none · 5 repeats</caption>",
        "<th scope=\"col\">update p99</th>",
        "<th scope=\"row\">postgres:jsonb</th><td>14.",
        "<td colspan=\"10\">not supported: memcached has no ordered keys</td>",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn every_number_of_the_data_is_one() {
    fn check(value: &Value, path: &str) {
        match value {
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(i, item)| check(item, &format!("{path}[{i}]")));
            }
            Value::Object(fields) => {
                fields.iter().for_each(|(name, field)| check(field, &format!("{path}.{name}")));
            }
            // A NaN would stand as null where the schema has a number.
            Value::Null => assert!(
                !path.ends_with(".median")
                    && !path.ends_with(".ratio")
                    && !path.ends_with(".value"),
                "{path}"
            ),
            _ => {}
        }
    }
    check(&serde_json::from_str(&json(&report())).unwrap(), "");
}
