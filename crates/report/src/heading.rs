//! What a group's table, or a part of a figure, is about, in one line.

use assay_results::{Arrivals, Axis, Cell, Figure, Measure, Mode, figure::Panel};

use crate::{
    text::{counted, escape},
    units::rate,
};

/// Workload, clients, records, durability, loop and repeats of a group. `all` are the cells of the
/// whole run: parameters in which its workloads of one name differ are named.
pub fn heading(group: &[&Cell], all: &[Cell]) -> String {
    let cell = group[0];
    let mut parts = vec![escape(&cell.workload)];
    parts.extend(telling_parameters(cell, all));
    parts.extend(load(cell, None));
    parts.extend(repeats(group));
    parts.join(" · ")
}

/// What a part of a figure shows, and what its lines have in common.
pub fn figure_heading(figure: &Figure, panel: &Panel<'_>) -> String {
    let what = match (figure.y, figure.operation) {
        (Measure::Latency, Some(kind)) => format!("response time of {}", kind.name()),
        (measure, Some(kind)) => format!("{} of {}", measure.title(), kind.name()),
        (measure, None) => measure.title().to_owned(),
    };
    let mut parts = vec![
        format!("{what} in {} by {}", figure.unit, escape(figure.x.name())),
        escape(&panel.name),
    ];
    parts.extend(load(panel.example(), Some(&figure.x)));
    parts.extend(repeats(&panel.cells));
    parts.join(" · ")
}

/// Clients, records, durability, loop and placement, but for what a figure goes over.
fn load(cell: &Cell, over: Option<&Axis>) -> Vec<String> {
    let mut parts = Vec::new();
    if over != Some(&Axis::Clients) {
        parts.push(counted(cell.clients.into(), "client"));
    }
    if over != Some(&Axis::Records) {
        parts.push(counted(cell.records, "record"));
    }
    parts.push(format!("durability {}", cell.durability.level));
    if let Mode::Open { rate_per_s, arrivals } = cell.mode {
        let spread = match arrivals {
            Arrivals::Uniform => "evenly",
            Arrivals::Poisson => "at random",
        };
        parts.push(match over {
            Some(Axis::Rate) => format!("open loop {spread}"),
            _ => format!("open loop at {} {spread}", rate(rate_per_s)),
        });
    }
    if !cell.placement.policy.is_empty() && cell.placement.policy != "free" {
        parts.push(format!("placement {}", escape(&cell.placement.policy)));
    }
    parts
}

fn repeats(cells: &[&Cell]) -> Option<String> {
    let repeats = cells.iter().filter(|cell| cell.unsupported.is_none()).map(|cell| cell.repeats);
    let (fewest, most) = (repeats.clone().min()?, repeats.max()?);
    Some(match fewest == most {
        true => counted(most.into(), "repeat"),
        false => format!("{fewest} to {most} repeats"),
    })
}

/// `name=value` of each parameter in which cells of the same workload name differ.
fn telling_parameters(cell: &Cell, all: &[Cell]) -> Vec<String> {
    let Some(parameters) = cell.workload_parameters.as_object() else { return Vec::new() };
    parameters
        .iter()
        .filter(|(name, value)| {
            all.iter().any(|other| {
                other.workload == cell.workload
                    && other.workload_parameters.get(name.as_str()) != Some(*value)
            })
        })
        .map(|(name, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            escape(&format!("{name}={value}"))
        })
        .collect()
}
