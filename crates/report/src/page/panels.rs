//! Lines over what the groups of a sweep differ in.

use assay_results::{Axis, Cell, Mode, OperationKind, figure::place};
use serde_json::Value;

use super::{
    data::{SweepAxis, SweepLine, SweepPanel, SweepPoint},
    groups::main_kind,
    measured::Measured,
};
use crate::heading::{load, name, repeats};

/// They say what a cell's number of records says, too.
const RECORD_COUNTS: [&str; 2] = ["record_count", "operation_count"];

/// The panels of a report: over clients, then rates, then records.
pub fn panels(measured: &Measured<'_>) -> Vec<SweepPanel> {
    let axes = [SweepAxis::Clients, SweepAxis::Rate, SweepAxis::Records];
    axes.into_iter().flat_map(|over| panels_over(measured, over)).collect()
}

fn panels_over(measured: &Measured<'_>, over: SweepAxis) -> Vec<SweepPanel> {
    let axis = axis(over);
    let mut homes: Vec<Vec<usize>> = Vec::new();
    for (group, places) in measured.groups.iter().enumerate() {
        let example = &measured.cells[places[0]];
        if place(&axis, example).is_none() {
            continue;
        }
        let first = |home: &Vec<usize>| &measured.cells[measured.groups[home[0]][0]];
        match homes.iter_mut().find(|home| same_but_for(over, first(home), example)) {
            Some(home) => home.push(group),
            None => homes.push(vec![group]),
        }
    }
    homes
        .into_iter()
        .filter(|groups| groups.len() > 1)
        .filter_map(|groups| panel(measured, over, &groups))
        .collect()
}

fn axis(over: SweepAxis) -> Axis {
    match over {
        SweepAxis::Clients => Axis::Clients,
        SweepAxis::Rate => Axis::Rate,
        SweepAxis::Records => Axis::Records,
    }
}

fn same_but_for(over: SweepAxis, a: &Cell, b: &Cell) -> bool {
    let same_mode = match (over, a.mode, b.mode) {
        (SweepAxis::Rate, Mode::Open { arrivals: a, .. }, Mode::Open { arrivals: b, .. }) => a == b,
        (_, a, b) => a == b,
    };
    same_mode
        && a.workload == b.workload
        && same_parameters(over, &a.workload_parameters, &b.workload_parameters)
        && (over == SweepAxis::Clients || a.clients == b.clients)
        && (over == SweepAxis::Records || a.records_in_question() == b.records_in_question())
        && a.durability.level == b.durability.level
        && a.placement.policy == b.placement.policy
}

fn same_parameters(over: SweepAxis, a: &Value, b: &Value) -> bool {
    let (SweepAxis::Records, Some(a), Some(b)) = (over, a.as_object(), b.as_object()) else {
        return a == b;
    };
    let others = |of: &serde_json::Map<String, Value>| -> Vec<(String, Value)> {
        let others = of.iter().filter(|(name, _)| !RECORD_COUNTS.contains(&name.as_str()));
        others.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    others(a) == others(b)
}

fn panel(measured: &Measured<'_>, over: SweepAxis, groups: &[usize]) -> Option<SweepPanel> {
    let axis = axis(over);
    let cells: Vec<&Cell> = groups.iter().flat_map(|group| measured.group(*group)).collect();
    let kind = main_kind(&cells);
    let lines: Vec<SweepLine> = (0..measured.systems.len() as u32)
        .map(|system| SweepLine { system, points: points(measured, &axis, groups, system, kind) })
        .filter(|line| !line.points.is_empty())
        .collect();
    let mut xs: Vec<f64> =
        lines.iter().flat_map(|line| &line.points).map(|point| point.x).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    if xs.len() < 2 {
        return None;
    }
    let name = name(cells[0], &measured.cells, Some(&axis)).title;
    let mut heading = vec![name.split(" · ").next().unwrap_or_default().to_owned()];
    heading.extend(load(cells[0], Some(&axis)));
    heading.extend(repeats(&cells));
    Some(SweepPanel {
        over,
        name,
        heading: heading.join(" · "),
        kind,
        log_x: is_geometric(&xs),
        lines,
    })
}

fn points(
    measured: &Measured<'_>,
    axis: &Axis,
    groups: &[usize],
    system: u32,
    kind: Option<OperationKind>,
) -> Vec<SweepPoint> {
    let mut points: Vec<SweepPoint> = Vec::new();
    for group in groups {
        for place_of_cell in &measured.groups[*group] {
            let cell = &measured.cells[*place_of_cell];
            let here = measured.origins[*place_of_cell].system == system;
            let (true, true, Some(x)) = (here, cell.has_run(), place(axis, cell)) else {
                continue;
            };
            let latency = kind.and_then(|kind| cell.latency_ns.get(&kind));
            points.push(SweepPoint {
                x,
                group: *group as u32,
                throughput_ops_per_s: cell.throughput_ops_per_s,
                p50_ns: latency.map(|latency| latency.p50),
                p99_ns: latency.map(|latency| latency.p99),
                p999_ns: latency.map(|latency| latency.p999),
            });
        }
    }
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points
}

/// Whether places, in order, stand at more equal distances on a log axis than on a linear one.
fn is_geometric(xs: &[f64]) -> bool {
    if xs.len() < 3 || xs[0] <= 0.0 {
        return xs.len() == 2 && xs[0] > 0.0 && xs[1] >= 10.0 * xs[0];
    }
    let spread = |of: &dyn Fn(f64) -> f64| {
        let gaps = xs.windows(2).map(|pair| of(pair[1]) - of(pair[0]));
        let (least, most) = gaps
            .fold((f64::INFINITY, 0.0_f64), |(least, most), gap| (least.min(gap), most.max(gap)));
        most / least
    };
    spread(&f64::ln) < spread(&|x| x)
}

#[cfg(test)]
mod tests {
    use super::is_geometric;

    #[test]
    fn a_log_axis_is_for_places_that_multiply() {
        for multiply in [&[1.0, 2.0, 4.0, 8.0][..], &[1.0, 10.0, 50.0, 1000.0], &[1.0, 16.0]] {
            assert!(is_geometric(multiply), "{multiply:?}");
        }
        for add in [&[1.0, 2.0, 4.0, 6.0, 8.0, 10.0][..], &[0.0, 1.0, 10.0], &[1.0, 2.0], &[5.0]] {
            assert!(!is_geometric(add), "{add:?}");
        }
    }
}
