//! The lines of the figure that a run draws.

use std::collections::BTreeMap;

use assay_measure::statistics::{Interval, Ratio, Verdict};
use assay_model::{Axis, Figure, Measure, PublishedValues, Unit};

use crate::{Cell, LatencySummary, Mode, certainty::over_repeats, rank::ratio_of};

/// A part of a figure: lines over one axis, of workloads and loads that belong together.
#[derive(Clone, Debug)]
pub struct Panel<'a> {
    /// What the workloads are called together.
    pub name: String,
    /// The cells that the lines are drawn from, in the order of x; at least one.
    pub cells: Vec<&'a Cell>,
    /// The lines of the systems, in the order in which they first ran, then the published ones.
    pub lines: Vec<Line>,
}

impl<'a> Panel<'a> {
    /// A cell that has what all have in common.
    pub fn example(&self) -> &'a Cell {
        self.cells[0]
    }
}

/// A system in a figure, or what others have published of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The system.
    pub name: String,
    /// Whether it was published, not measured in this run.
    pub published: bool,
    /// The points, in the order of x. None where only a range was published.
    pub points: Vec<Point>,
    /// The last point's value divided by the first one's.
    pub growth: Option<Ratio>,
    /// The lowest and the highest value, where only these were published.
    pub range: Option<(f64, f64)>,
}

/// A point of a line, in the figure's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Where it stands.
    pub x: f64,
    /// What was measured there: the median over repeats, and its interval if there were several.
    pub y: Interval,
}

/// Where a cell stands on the axis; `None` if it has no such value, or stands at each (over
/// percentiles).
pub fn place(axis: &Axis, cell: &Cell) -> Option<f64> {
    match axis {
        Axis::Records => Some(cell.records_in_question() as f64),
        Axis::Clients => Some(f64::from(cell.clients)),
        Axis::Rate => match cell.mode {
            Mode::Open { rate_per_s, .. } => Some(rate_per_s),
            Mode::Closed => None,
        },
        Axis::Percentile => None,
        Axis::Parameter(name) => cell.workload_parameters.get(name)?.as_f64(),
    }
}

/// The parts of a figure in the order in which their first cells ran. Cells of one part differ in
/// the system and on the axis only.
pub fn panels<'a>(figure: &Figure, cells: &'a [Cell]) -> Vec<Panel<'a>> {
    let mut panels: Vec<Panel<'a>> = Vec::new();
    for cell in cells {
        let part = figure.parts.iter().find(|part| part.workloads.contains(&cell.workload));
        let name = part.map_or(&cell.workload, |part| &part.name);
        if !figure.only.is_empty() && !figure.only.contains(name) {
            continue;
        }
        let home = panels
            .iter_mut()
            .find(|panel| panel.name == *name && same_load(&figure.x, panel.example(), cell));
        match home {
            Some(panel) => panel.cells.push(cell),
            None => panels.push(Panel { name: name.clone(), cells: vec![cell], lines: Vec::new() }),
        }
    }
    for panel in &mut panels {
        panel.lines = lines(figure, &panel.cells);
        panel.lines.extend(published(figure, &panel.name));
        let at = |cell: &Cell| place(&figure.x, cell).unwrap_or_default();
        panel.cells.sort_by(|a, b| at(a).total_cmp(&at(b)));
    }
    panels.retain(|panel| has_operation(figure, panel));
    panels
}

/// Whether a panel's workloads have the kind of operation that is drawn, as far as what ran tells.
fn has_operation(figure: &Figure, panel: &Panel<'_>) -> bool {
    let Some(kind) = figure.operation else { return true };
    let mut ran = panel.cells.iter().filter(|cell| cell.operations > cell.failed()).peekable();
    ran.peek().is_none() || ran.any(|cell| cell.latency_ns.contains_key(&kind))
}

/// Whether two cells agree in all that a panel has one of.
fn same_load(x: &Axis, a: &Cell, b: &Cell) -> bool {
    (*x == Axis::Records || a.records_in_question() == b.records_in_question())
        && (*x == Axis::Clients || a.clients == b.clients)
        && (*x == Axis::Rate || a.mode == b.mode)
        && a.durability.level == b.durability.level
        && a.placement.policy == b.placement.policy
}

/// By repeat, the value at each place.
type Repeats = BTreeMap<u32, f64>;

fn lines(figure: &Figure, cells: &[&Cell]) -> Vec<Line> {
    let mut systems: Vec<(&str, Vec<(f64, Repeats)>)> = Vec::new();
    for cell in cells {
        let values = values(figure, cell);
        match systems.iter_mut().find(|(system, _)| *system == cell.system) {
            Some((_, points)) => points.extend(values),
            None => systems.push((&cell.system, values)),
        }
    }
    systems
        .into_iter()
        .filter(|(_, points)| !points.is_empty())
        .map(|(system, points)| line(system, points, figure.unit))
        .collect()
}

fn line(system: &str, mut points: Vec<(f64, Repeats)>, unit: Unit) -> Line {
    points.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let growth = match points.as_slice() {
        [(_, first), .., (_, last)] => ratio_of(first, last),
        _ => None,
    };
    let points = points
        .into_iter()
        .filter_map(|(x, repeats)| {
            let values: Vec<f64> = repeats.values().map(|value| value / unit.size()).collect();
            Some(Point { x, y: over_repeats(&values)? })
        })
        .collect();
    Line { name: system.to_owned(), published: false, points, growth, range: None }
}

/// What a cell has to show: a place and the value of each repeat there; several over percentiles.
/// A store that answered nothing has no value.
fn values(figure: &Figure, cell: &Cell) -> Vec<(f64, Repeats)> {
    if !cell.has_run() {
        return Vec::new();
    }
    let Some(kind) = figure.operation else {
        let x = place(&figure.x, cell);
        return x.map(|x| (x, cell.throughputs.clone())).into_iter().collect();
    };
    let Some(latency) = cell.latency_ns.get(&kind) else { return Vec::new() };
    let repeats = |measure| -> Repeats {
        let value = |summary| statistic(measure, summary);
        latency.repeats.iter().filter_map(|(n, summary)| Some((*n, value(summary)?))).collect()
    };
    match figure.x {
        Axis::Percentile => Measure::PERCENTILES.map(|(x, measure)| (x, repeats(measure))).into(),
        _ => place(&figure.x, cell).map(|x| (x, repeats(figure.y))).into_iter().collect(),
    }
}

/// In nanoseconds; `None` for what a summary of latencies does not hold.
fn statistic(measure: Measure, summary: &LatencySummary) -> Option<f64> {
    Some(match measure {
        Measure::Mean => summary.mean,
        Measure::Min => summary.min as f64,
        Measure::P50 => summary.p50 as f64,
        Measure::P95 => summary.p95 as f64,
        Measure::P99 => summary.p99 as f64,
        Measure::P999 => summary.p999 as f64,
        Measure::P9999 => summary.p9999 as f64,
        Measure::Max => summary.max as f64,
        Measure::Throughput | Measure::Latency => return None,
    })
}

fn published(figure: &Figure, part: &str) -> Vec<Line> {
    let of_part = figure
        .published
        .iter()
        .filter(|published| published.part.as_ref().is_none_or(|named| named == part));
    of_part
        .map(|published| {
            let mut line = Line {
                name: published.name.clone(),
                published: true,
                points: Vec::new(),
                growth: None,
                range: None,
            };
            match &published.values {
                PublishedValues::Range { low, high } => line.range = Some((*low, *high)),
                PublishedValues::Points(points) => {
                    let sure = |&(x, y)| Point { x, y: Interval::unsure(y) };
                    line.points = points.iter().map(sure).collect();
                    if let [(_, first), .., (_, last)] = points.as_slice() {
                        line.growth = Some(Ratio {
                            ratio: last / first,
                            low: None,
                            high: None,
                            verdict: Verdict::Undecided,
                        });
                    }
                }
            }
            line
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use assay_model::{OperationKind, Part, Published, Scale};
    use serde_json::json;

    use super::*;
    use crate::{Arrivals, TrialRecord, summarize};

    fn figure(x: Axis, y: Measure) -> Figure {
        let operation = y.is_time().then_some(OperationKind::Lookup);
        let unit = if y.is_time() { Unit::Microseconds } else { Unit::ThousandsPerSecond };
        Figure {
            title: None,
            only: Default::default(),
            x,
            x_scale: Scale::Linear,
            y,
            operation,
            unit,
            source: None,
            published: vec![],
            parts: vec![],
        }
    }

    /// A trial whose median lookup takes `us` microseconds.
    fn trial(system: &str, workload: &str, records: u64, repeat: u32, us: f64) -> TrialRecord {
        let p50 = (us * 1e3) as u64;
        let summary = LatencySummary { p50, p9999: p50 * 20, count: 9, ..Default::default() };
        TrialRecord {
            system: system.into(),
            workload: workload.into(),
            workload_parameters: json!({"index_count": records / 10, "table": "t"}),
            clients: 1,
            records,
            repeat,
            throughput_ops_per_s: Interval::unsure(1e6 / us),
            latency_ns: [(OperationKind::Lookup, summary)].into(),
            ..TrialRecord::default()
        }
    }

    fn xs(line: &Line) -> Vec<f64> {
        line.points.iter().map(|point| point.x).collect()
    }

    #[test]
    fn a_line_has_the_median_of_each_place_in_order_and_its_growth() {
        let mut trials = Vec::new();
        for repeat in 1..=3 {
            for (records, us) in [(100, 3.0), (1, 2.0), (10, 2.5)] {
                let factor = 1.0 + f64::from(repeat) * 0.001;
                trials.push(trial("a", "w", records, repeat, us * factor));
                trials.push(trial("b", "w", records, repeat, 9.0 * factor));
            }
        }
        let cells = summarize(&trials);
        let panels = panels(&figure(Axis::Records, Measure::P50), &cells);
        let [panel] = panels.as_slice() else { panic!("one load: {}", panels.len()) };
        let [a, b] = panel.lines.as_slice() else { panic!("two systems") };
        assert_eq!((a.name.as_str(), b.name.as_str(), panel.name.as_str()), ("a", "b", "w"));
        assert_eq!(xs(a), [1.0, 10.0, 100.0]);
        assert!((a.points[2].y.median - 3.006).abs() < 1e-9, "{:?}", a.points);
        assert!(a.points[2].y.low.is_some_and(|low| low < 3.006));
        let growth = a.growth.unwrap();
        assert!(
            (growth.ratio - 1.5).abs() < 1e-3 && growth.verdict == Verdict::Faster,
            "{growth:?}"
        );
        assert_eq!(b.growth.unwrap().verdict, Verdict::Tie);
        let places: Vec<u64> = panel.cells.iter().map(|cell| cell.records).collect();
        assert_eq!(places, [1, 1, 10, 10, 100, 100]);
    }

    #[test]
    fn each_axis_has_its_place() {
        let open = Mode::Open { rate_per_s: 70.0, arrivals: Arrivals::Uniform };
        let cells = summarize(&[TrialRecord { mode: open, ..trial("a", "w", 40, 1, 1.0) }]);
        let at = |axis: Axis| place(&axis, &cells[0]);
        assert_eq!(at(Axis::Records), Some(40.0));
        assert_eq!(at(Axis::Clients), Some(1.0));
        assert_eq!(at(Axis::Rate), Some(70.0));
        assert_eq!(at(Axis::Parameter("index_count".into())), Some(4.0));
        for nowhere in [Axis::Percentile, Axis::Parameter("table".into())] {
            assert_eq!(at(nowhere), None);
        }
        let closed = summarize(&[trial("a", "w", 40, 1, 1.0)]);
        assert_eq!(place(&Axis::Rate, &closed[0]), None);
    }

    #[test]
    fn workloads_of_one_part_make_one_panel_and_other_loads_another() {
        let trials = [
            trial("a", "w x=1", 10, 1, 1.0),
            trial("a", "w x=2", 20, 1, 1.0),
            trial("a", "v", 10, 1, 1.0),
            TrialRecord { clients: 4, ..trial("a", "v", 20, 1, 1.0) },
        ];
        let cells = summarize(&trials);
        let mut figure = figure(Axis::Records, Measure::Throughput);
        let workloads = ["w x=1".to_owned(), "w x=2".to_owned()].into();
        figure.parts = vec![Part { name: "w".into(), workloads }];
        let shape: Vec<(String, usize)> = panels(&figure, &cells)
            .into_iter()
            .map(|panel| (panel.name, panel.cells.len()))
            .collect();
        assert_eq!(shape, [("w".into(), 2), ("v".into(), 1), ("v".into(), 1)]);
    }

    #[test]
    fn a_throughput_is_in_the_figures_unit_and_a_single_repeat_has_no_interval() {
        let cells = summarize(&[trial("a", "w", 1, 1, 0.5)]);
        let panels = panels(&figure(Axis::Records, Measure::Throughput), &cells);
        let line = &panels[0].lines[0];
        assert_eq!(line.points, [Point { x: 1.0, y: Interval::unsure(2000.0) }]);
        assert_eq!(line.growth, None, "one place shows no growth");
    }

    #[test]
    fn a_figure_over_percentiles_has_five_places_a_cell() {
        let cells = summarize(&[trial("a", "w", 1, 1, 2.0)]);
        let panels = panels(&figure(Axis::Percentile, Measure::Latency), &cells);
        let line = &panels[0].lines[0];
        assert_eq!(xs(line), [50.0, 95.0, 99.0, 99.9, 99.99]);
        assert_eq!((line.points[0].y.median, line.points[4].y.median), (2.0, 40.0));
    }

    #[test]
    fn what_did_not_run_has_no_line_and_no_panel_of_its_own() {
        let mut ran = trial("a", "w", 1, 1, 2.0);
        ran.placement.policy = "split".into();
        let why = Some("it has no indexes".to_owned());
        let cannot = TrialRecord { system: "b".into(), unsupported: why, ..ran.clone() };
        for trials in [[ran.clone(), cannot.clone()], [cannot, ran]] {
            let cells = summarize(&trials);
            let panels = panels(&figure(Axis::Records, Measure::P50), &cells);
            let [panel] = panels.as_slice() else { panic!("{}", panels.len()) };
            assert_eq!(panel.lines.iter().map(|line| &line.name).collect::<Vec<_>>(), ["a"]);
            assert_eq!(panel.cells.len(), 2);
        }
    }

    #[test]
    fn published_lines_stand_in_their_own_part() {
        let cells = summarize(&[trial("a", "v", 1, 1, 1.0), trial("a", "w", 1, 1, 1.0)]);
        let mut figure = figure(Axis::Records, Measure::P50);
        let points = PublishedValues::Points(vec![(1.0, 4.0), (100.0, 5.0)]);
        let range = PublishedValues::Range { low: 1.0, high: 2.0 };
        figure.published = vec![
            Published { name: "all".into(), part: None, values: points },
            Published { name: "one".into(), part: Some("w".into()), values: range },
        ];
        let panels = panels(&figure, &cells);
        let names = |panel: &Panel<'_>| -> Vec<String> {
            panel.lines.iter().map(|line| line.name.clone()).collect()
        };
        assert_eq!(
            (names(&panels[0]), names(&panels[1])),
            (vec!["a".into(), "all".into()], vec!["a".into(), "all".into(), "one".into()],)
        );
        let all = &panels[1].lines[1];
        assert!(all.published && !panels[1].lines[0].published);
        assert_eq!((all.growth.unwrap().ratio, all.range), (1.25, None));
        assert_eq!(
            (panels[1].lines[2].range, panels[1].lines[2].points.len()),
            (Some((1.0, 2.0)), 0)
        );
    }
}
