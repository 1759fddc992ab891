//! What a group's table, or a part of a figure, is about, in one line.

use assay_results::{Arrivals, Axis, Cell, Figure, Measure, Mode, figure::Panel};

use crate::{
    text::{counted, escape, grouped},
    units::rate,
};

/// A parameter that says what a cell's number of records says, too.
const RECORD_COUNT: &str = "record_count=";
const OPERATION_COUNT: &str = "operation_count";

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
    let what = figure_shows(figure);
    let mut parts = vec![
        format!("{what} in {} by {}", figure.unit, escape(figure.x.name())),
        escape(&panel.name),
    ];
    parts.extend(load(panel.example(), Some(&figure.x)));
    parts.extend(repeats(&panel.cells));
    parts.join(" · ")
}

/// What a figure shows, as in `p50 of lookup`.
pub fn figure_shows(figure: &Figure) -> String {
    match (figure.y, figure.operation) {
        (Measure::Latency, Some(kind)) => format!("response time of {}", kind.name()),
        (measure, Some(kind)) => format!("{} of {}", measure.title(), kind.name()),
        (measure, None) => measure.title().to_owned(),
    }
}

/// What parts a group from others of one report: its workload, and of the rest only what is not the
/// same in all of that workload's cells in `all`, leaving out what a panel goes `over`. For people, as in
/// `ycsb/a · 16 clients`, and with words between, as in `ycsb/a with 16 clients`.
pub fn name(cell: &Cell, all: &[Cell], over: Option<&Axis>) -> Name {
    let mut title = vec![escape(&cell.workload)];
    title.extend(
        telling_parameters(cell, all).into_iter().filter(|part| !part.starts_with(RECORD_COUNT)),
    );
    let mut words = title.join(" ");
    let mut add = |part: String, joined: &str, told: bool| {
        if told {
            words.push_str(joined);
            words.push_str(&part);
            title.push(part);
        }
    };
    let varies = |differs: &dyn Fn(&Cell) -> bool| {
        all.iter().filter(|other| other.workload == cell.workload).any(differs)
    };
    let clients = over != Some(&Axis::Clients) && varies(&|other| other.clients != cell.clients);
    add(counted(cell.clients.into(), "client"), " with ", clients);
    add(
        records(cell),
        if clients { " and " } else { " with " },
        over != Some(&Axis::Records)
            && varies(&|other| other.records_in_question() != cell.records_in_question()),
    );
    let arrivals = |of: &Cell| match of.mode {
        Mode::Open { arrivals, .. } => Some(arrivals),
        Mode::Closed => None,
    };
    match cell.mode {
        Mode::Closed => {
            add("closed loop".to_owned(), ", ", varies(&|other| other.mode != cell.mode))
        }
        Mode::Open { rate_per_s, arrivals: own } => {
            let rates = over != Some(&Axis::Rate) && varies(&|other| other.mode != cell.mode);
            add(format!("{}/s", plain(rate_per_s)), " at ", rates);
            let differ = varies(&|other| arrivals(other).is_some_and(|other| other != own));
            add(format!("arriving {}", spread(own)), " ", differ);
        }
    }
    add(
        format!("durability {}", cell.durability.level),
        ", ",
        varies(&|other| other.durability.level != cell.durability.level),
    );
    add(
        format!("placement {}", escape(&cell.placement.policy)),
        ", ",
        varies(&|other| other.placement.policy != cell.placement.policy),
    );
    Name { title: title.join(" · "), words }
}

/// A group's name in two forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// With points between the parts.
    pub title: String,
    /// To stand in a sentence.
    pub words: String,
}

/// A number with all its digits.
fn plain(number: f64) -> String {
    match number >= 0.0 && number.fract() == 0.0 && number < 1e15 {
        true => grouped(number as u64),
        false => number.to_string(),
    }
}

fn spread(arrivals: Arrivals) -> &'static str {
    match arrivals {
        Arrivals::Uniform => "evenly",
        Arrivals::Poisson => "at random",
    }
}

/// Clients, records, durability, loop and placement, but for what a figure goes over.
pub fn load(cell: &Cell, over: Option<&Axis>) -> Vec<String> {
    let mut parts = Vec::new();
    if over != Some(&Axis::Clients) {
        parts.push(counted(cell.clients.into(), "client"));
    }
    if over != Some(&Axis::Records) {
        parts.push(records(cell));
    }
    parts.push(format!("durability {}", cell.durability.level));
    if let Mode::Open { rate_per_s, arrivals } = cell.mode {
        let spread = spread(arrivals);
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

/// The records loaded, or those that the measurement is to insert.
fn records(cell: &Cell) -> String {
    match (cell.records, cell.records_in_question()) {
        (0, inserted) if inserted > 0 => format!("{} to insert", counted(inserted, "record")),
        (loaded, _) => counted(loaded, "record"),
    }
}

pub fn repeats(cells: &[&Cell]) -> Option<String> {
    let repeats = cells.iter().filter(|cell| cell.has_run()).map(|cell| cell.repeats);
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
            // How many were measured is told with the figures.
            *name != OPERATION_COUNT
                && all.iter().any(|other| {
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
