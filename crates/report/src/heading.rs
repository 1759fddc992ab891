//! What a group's table is about, in one line.

use assay_results::{Arrivals, Cell, Mode};

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
    parts.push(counted(cell.clients.into(), "client"));
    parts.push(counted(cell.records, "record"));
    parts.push(format!("durability {}", cell.durability.level));
    if let Mode::Open { rate_per_s, arrivals } = cell.mode {
        let spread = match arrivals {
            Arrivals::Uniform => "evenly",
            Arrivals::Poisson => "at random",
        };
        parts.push(format!("open loop at {} {spread}", rate(rate_per_s)));
    }
    if !cell.placement.policy.is_empty() && cell.placement.policy != "free" {
        parts.push(format!("placement {}", escape(&cell.placement.policy)));
    }
    let repeats = group.iter().filter(|cell| cell.unsupported.is_none()).map(|cell| cell.repeats);
    let (fewest, most) = (repeats.clone().min().unwrap_or(0), repeats.max().unwrap_or(0));
    if fewest != most {
        parts.push(format!("{fewest} to {most} repeats"));
    } else if most > 0 {
        parts.push(counted(most.into(), "repeat"));
    }
    parts.join(" · ")
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
