//! The figure of an experiment, as written, and what it must satisfy to be drawn.

use std::collections::BTreeSet;

use assay_model::{
    Axis, Figure, Measure, OperationKind, Part, Published, PublishedValues, Scale, Unit,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    plan::{Cell, Mode, PlanError},
    spec::Spec,
};

/// A figure: what goes over what, and what others have published of it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// What it is called where an experiment has several; the experiment's title if not given.
    pub title: Option<String>,
    /// The workloads that it shows, by the names of their entries; all if not given.
    pub workloads: Option<Vec<String>>,
    /// What it goes over: "records", "clients", "rate", the name of a numeric parameter of the
    /// workloads, or "percentile".
    pub x: Axis,
    /// How x is spread; linear if not given.
    pub x_scale: Option<Scale>,
    /// What it shows; "latency" goes over percentiles only.
    pub y: Measure,
    /// Of which kind of operation; needed for a time if the workloads have several.
    pub operation: Option<OperationKind>,
    /// The unit of y, and of the published values; µs or ops/s if not given.
    pub unit: Option<Unit>,
    /// Where the published values stand: work, figure, table.
    pub source: Option<String>,
    /// The published values, one entry a system.
    #[serde(default)]
    pub published: Vec<PublishedSpec>,
}

impl FigureSpec {
    /// Whether it still shows something with what `over` puts in place of the experiment's own:
    /// its workloads are there, and x has more than one value.
    pub(crate) fn outlives(&self, over: &Spec) -> bool {
        let given = match self.x {
            Axis::Records => over.records.as_ref().map(|many| many.0.len()),
            Axis::Clients => over.clients.as_ref().map(|many| many.0.len()),
            Axis::Rate => over.rate.as_ref().map(|many| many.0.len()),
            Axis::Percentile | Axis::Parameter(_) => None,
        };
        over.workloads.is_none() && given != Some(1)
    }
}

/// What others have published of one system.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublishedSpec {
    /// The system, as they call it.
    pub name: String,
    /// The workload that this belongs to; all if not given.
    pub workload: Option<String>,
    /// Each x with its y.
    pub points: Option<Vec<(f64, f64)>>,
    /// The lowest and the highest y, where it is not told at which x each stands.
    pub range: Option<(f64, f64)>,
}

/// Checks a figure against the cells that it is drawn from. `parts` are the experiment's workloads,
/// those that one entry sweeps over together.
pub(crate) fn resolve(
    spec: FigureSpec,
    cells: &[Cell],
    parts: Vec<Part>,
) -> Result<Figure, PlanError> {
    let parts = shown(&spec, parts)?;
    let is_shown = |cell: &&Cell| parts.iter().any(|part| part.workloads.contains(&cell.workload));
    let cells: Vec<Cell> = cells.iter().filter(is_shown).cloned().collect();
    let cells = cells.as_slice();
    let parts = joined(&spec.x, cells, parts);
    check_x(&spec, cells)?;
    check_one_cell_a_point(&spec.x, cells, &parts)?;
    let operation = operation(&spec, cells)?;
    let unit = unit(&spec)?;
    check_source(&spec)?;
    let mut published: Vec<Published> = Vec::new();
    for given in &spec.published {
        let resolved = resolve_published(given, &spec, &parts)?;
        let twice =
            |other: &Published| (&other.name, &other.part) == (&resolved.name, &resolved.part);
        if published.iter().any(twice) {
            return Err(bad("figure.published", format!("'{}' stands there twice", given.name)));
        }
        published.push(resolved);
    }
    let only = match spec.workloads {
        Some(_) => parts.iter().map(|part| part.name.clone()).collect(),
        None => BTreeSet::new(),
    };
    Ok(Figure {
        title: spec.title,
        only,
        x_scale: spec.x_scale.unwrap_or_default(),
        x: spec.x,
        y: spec.y,
        operation,
        unit,
        source: spec.source,
        published,
        parts,
    })
}

/// The parts that a figure shows.
fn shown(spec: &FigureSpec, parts: Vec<Part>) -> Result<Vec<Part>, PlanError> {
    let Some(named) = &spec.workloads else { return Ok(parts) };
    if let Some(unknown) = named.iter().find(|name| !parts.iter().any(|part| part.name == **name)) {
        let known: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        return Err(bad(
            "figure.workloads",
            format!("there is no workload '{unknown}': there are {}", known.join(", ")),
        ));
    }
    if named.is_empty() {
        return Err(bad("figure.workloads", "the list is empty"));
    }
    Ok(parts.into_iter().filter(|part| named.contains(&part.name)).collect())
}

/// Where a cell stands on an axis; `None` if it has no such value.
fn place(axis: &Axis, cell: &Cell) -> Option<f64> {
    match axis {
        Axis::Records => Some(cell.records() as f64),
        Axis::Clients => Some(f64::from(cell.clients)),
        Axis::Rate => match cell.mode {
            Mode::Open { rate_per_s, .. } => Some(rate_per_s),
            Mode::Closed => None,
        },
        Axis::Percentile => None,
        Axis::Parameter(name) => parameters(cell).get(name)?.as_f64(),
    }
}

fn parameters(cell: &Cell) -> Value {
    serde_json::to_value(&cell.parameters).unwrap_or_default()
}

/// The different places of cells on an axis, in ascending order.
fn places<'a>(axis: &Axis, cells: impl IntoIterator<Item = &'a Cell>) -> Vec<f64> {
    let mut places: Vec<f64> = cells.into_iter().filter_map(|cell| place(axis, cell)).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

/// Workloads that were written one by one belong together too if each has one place on the axis
/// and they differ.
fn joined(x: &Axis, cells: &[Cell], parts: Vec<Part>) -> Vec<Part> {
    let of_part = |part: &Part| {
        let within = cells.iter().filter(|cell| part.workloads.contains(&cell.workload));
        places(x, within).len()
    };
    let one_by_one = matches!(x, Axis::Parameter(_)) && parts.iter().all(|part| of_part(part) == 1);
    if !one_by_one || places(x, cells).len() != parts.len() {
        return parts;
    }
    let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    let name = names.join(", ");
    vec![Part { name, workloads: parts.into_iter().flat_map(|part| part.workloads).collect() }]
}

fn check_x(spec: &FigureSpec, cells: &[Cell]) -> Result<(), PlanError> {
    let over_percentiles = spec.x == Axis::Percentile;
    if over_percentiles != (spec.y == Measure::Latency) {
        return Err(match over_percentiles {
            true => bad("figure.y", "over percentiles a figure shows \"latency\""),
            false => bad(
                "figure.y",
                "\"latency\" goes over x = \"percentile\"; over anything else give one of its \
                 figures, as in \"p50\"",
            ),
        });
    }
    let places = places(&spec.x, cells);
    if !over_percentiles && places.len() < 2 {
        return Err(bad("figure.x", why_not_swept(&spec.x, &places, cells)));
    }
    let log = spec.x_scale == Some(Scale::Log);
    if log && (over_percentiles || places.first().is_some_and(|least| *least <= 0.0)) {
        let why = "a logarithmic scale has no place for 0, and none for percentiles: leave it out";
        return Err(bad("figure.x_scale", why));
    }
    Ok(())
}

fn why_not_swept(x: &Axis, places: &[f64], cells: &[Cell]) -> String {
    let name = x.name();
    let what = match (places, x) {
        ([only], _) => format!("'{name}' is {only} throughout"),
        (_, Axis::Rate) => "there is no rate: the loop is closed".to_owned(),
        _ => match nearest_axis(name, cells) {
            Some(nearest) => {
                format!("the workloads have no number '{name}': did you mean '{nearest}'?")
            }
            None => format!("the workloads have no number '{name}'"),
        },
    };
    let swept: Vec<String> =
        swept(cells).into_iter().map(|(name, count)| format!("{name} ({count} values)")).collect();
    match swept.as_slice() {
        [] => format!(
            "{what}; this experiment sweeps nothing: give several values, as in records = [1000, 10000]"
        ),
        swept => format!("{what}; this experiment sweeps {}", swept.join(", ")),
    }
}

/// Every axis on which the cells differ, and how many places they have there.
fn swept(cells: &[Cell]) -> Vec<(String, usize)> {
    axes(cells)
        .into_iter()
        .map(|axis| (axis.name().to_owned(), places(&axis, cells).len()))
        .filter(|(_, count)| *count > 1)
        .collect()
}

/// Every axis on which a cell can stand.
fn axes(cells: &[Cell]) -> Vec<Axis> {
    let numbers: BTreeSet<String> = cells
        .iter()
        .filter_map(|cell| match parameters(cell) {
            Value::Object(parameters) => Some(parameters),
            _ => None,
        })
        .flatten()
        .filter(|(name, value)| value.is_number() && name != "record_count")
        .map(|(name, _)| name)
        .collect();
    Axis::FIXED.into_iter().chain(numbers.into_iter().map(Axis::Parameter)).collect()
}

fn nearest_axis(name: &str, cells: &[Cell]) -> Option<String> {
    const MOST_TYPOS: usize = 3;
    axes(cells)
        .into_iter()
        .map(|axis| (strsim::levenshtein(axis.name(), name), axis.name().to_owned()))
        .filter(|(typos, _)| *typos <= MOST_TYPOS)
        .min()
        .map(|(_, name)| name)
}

/// A line of the figure has one cell at each x.
fn check_one_cell_a_point(x: &Axis, cells: &[Cell], parts: &[Part]) -> Result<(), PlanError> {
    let mut taken: Vec<String> = Vec::new();
    for cell in cells {
        let part = parts.iter().position(|part| part.workloads.contains(&cell.workload));
        // What a line is told apart by, and where it goes.
        let load = match x {
            Axis::Records => format!("{} {:?}", cell.clients, cell.mode),
            Axis::Clients => format!("{} {:?}", cell.records(), cell.mode),
            Axis::Rate => format!("{} {}", cell.clients, cell.records()),
            Axis::Percentile | Axis::Parameter(_) => {
                format!("{} {:?} {}", cell.clients, cell.mode, cell.records())
            }
        };
        let point = format!("{} {part:?} {load} {:?}", cell.system.label, place(x, cell));
        if taken.contains(&point) {
            let (system, workload) = (&cell.system.label, &cell.workload);
            return Err(bad(
                "figure.x",
                format!(
                    "{system} has two workloads at one {}, the second {workload}: give workloads \
                     that differ in something else names of their own",
                    x.name()
                ),
            ));
        }
        taken.push(point);
    }
    Ok(())
}

fn operation(spec: &FigureSpec, cells: &[Cell]) -> Result<Option<OperationKind>, PlanError> {
    let field = "figure.operation";
    if !spec.y.is_time() {
        return match spec.operation {
            None => Ok(None),
            Some(_) => Err(bad(field, "a throughput is that of all operations: leave it out")),
        };
    }
    let had: Vec<OperationKind> = OperationKind::ALL
        .into_iter()
        .filter(|kind| cells.iter().any(|cell| cell.parameters.operation_kinds().contains(kind)))
        .collect();
    let names: Vec<&str> = had.iter().map(|kind| kind.name()).collect();
    let names = names.join(", ");
    match (spec.operation, had.as_slice()) {
        (Some(kind), had) if had.contains(&kind) => Ok(Some(kind)),
        (Some(kind), _) => Err(bad(
            field,
            format!("no workload has an operation of kind {}: they have {names}", kind.name()),
        )),
        (None, [only]) => Ok(Some(*only)),
        (None, _) => Err(bad(field, format!("which one? The workloads have {names}"))),
    }
}

fn unit(spec: &FigureSpec) -> Result<Unit, PlanError> {
    let of_time = spec.y.is_time();
    let unit = spec.unit.unwrap_or(match of_time {
        true => Unit::Microseconds,
        false => Unit::PerSecond,
    });
    if unit.is_of_time() == of_time {
        return Ok(unit);
    }
    let known = if of_time { "ns, µs, ms or s" } else { "ops/s, kops/s or Mops/s" };
    Err(bad("figure.unit", format!("{} is counted in {known}, not in {unit}", spec.y.name())))
}

fn check_source(spec: &FigureSpec) -> Result<(), PlanError> {
    let told = spec.source.as_ref().is_some_and(|source| !source.trim().is_empty());
    if spec.published.is_empty() || told {
        return Ok(());
    }
    Err(bad(
        "figure.source",
        "published values need their source: the work and the figure's number",
    ))
}

fn resolve_published(
    given: &PublishedSpec,
    spec: &FigureSpec,
    parts: &[Part],
) -> Result<Published, PlanError> {
    let name = given.name.clone();
    let refuse = |why: String| Err(bad("figure.published", format!("'{name}': {why}")));
    if name.trim().is_empty() {
        return refuse("it needs a name".into());
    }
    if let Some(workload) = &given.workload
        && !parts.iter().any(|part| part.name == *workload)
    {
        let known: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        return refuse(format!(
            "there is no workload '{workload}': there are {}",
            known.join(", ")
        ));
    }
    let values = match (&given.points, given.range) {
        (Some(points), None) => {
            let mut points = points.clone();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            let is_on_log = |x: f64| spec.x_scale != Some(Scale::Log) || x > 0.0;
            if points.is_empty() {
                return refuse("its list of points is empty".into());
            }
            if !points.iter().all(|(x, y)| x.is_finite() && is_on_log(*x) && is_value(*y)) {
                return refuse("a point is [x, y] on the figure's axes, y above 0".into());
            }
            if points.windows(2).any(|pair| pair[0].0 == pair[1].0) {
                return refuse("two of its points have the same x".into());
            }
            PublishedValues::Points(points)
        }
        (None, Some((low, high))) if is_value(low) && is_value(high) && low <= high => {
            PublishedValues::Range { low, high }
        }
        (None, Some(_)) => {
            return refuse("a range is [lowest, highest], both above 0".into());
        }
        _ => {
            return refuse(
                "give its points, or, where the values of y are told but not at which x each \
                 stands, their range"
                    .into(),
            );
        }
    };
    Ok(Published { name, part: given.workload.clone(), values })
}

fn is_value(y: f64) -> bool {
    y.is_finite() && y > 0.0
}

fn bad(field: &'static str, why: impl Into<String>) -> PlanError {
    PlanError::BadValue { field, why: why.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan;

    /// A sweep over records and clients of two workloads with lookups, and one with a parameter.
    const SWEEPS: &str = r#"
        systems = ["memory", "slik"]
        records = [1, 10, 100]
        [[workloads]]
        name = "kept"
        with = { index_count = 1, lookup_proportion = 1.0 }
        [[workloads]]
        name = "changed"
        base = "ycsb/a"
    "#;

    fn figure(rest: &str, figure: &str) -> Result<Figure, String> {
        let text = format!("{rest}\n[figure]\n{figure}");
        Ok(plan(&text)?.figures.pop().expect("the experiment has a figure"))
    }

    #[test]
    fn a_figure_is_resolved_with_its_defaults_and_its_parts() {
        let drawn = figure(
            SWEEPS,
            r#"
            x = "records"
            x_scale = "log"
            y = "p999"
            operation = "lookup"
            source = "Figure 7"
            published = [
                { name = "A", points = [[100, 3], [1, 2.5]] },
                { name = "B", workload = "kept", range = [10.2, 13.1] },
            ]
            "#,
        )
        .unwrap();
        assert_eq!((drawn.x, drawn.x_scale, drawn.y), (Axis::Records, Scale::Log, Measure::P999));
        assert_eq!(
            (drawn.operation, drawn.unit),
            (Some(OperationKind::Lookup), Unit::Microseconds)
        );
        let parts: Vec<&str> = drawn.parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(parts, ["kept", "changed"]);
        let [a, b] = drawn.published.as_slice() else { panic!("two: {:?}", drawn.published) };
        assert_eq!(a.values, PublishedValues::Points(vec![(1.0, 2.5), (100.0, 3.0)]), "in order");
        assert_eq!(b.values, PublishedValues::Range { low: 10.2, high: 13.1 });
        assert_eq!((&a.part, &b.part), (&None, &Some("kept".into())));
    }

    #[test]
    fn a_figure_survives_its_record() {
        let drawn = figure(
            SWEEPS,
            "x = \"records\"\ny = \"throughput\"\nunit = \"kops/s\"\nsource = \"s\"\n\
             published = [{ name = \"A\", range = [0.1, 3] }, { name = \"B\", points = [[1, 2]] }]",
        )
        .unwrap();
        let stored = serde_json::to_string(&drawn).unwrap();
        assert_eq!(serde_json::from_str::<Figure>(&stored).unwrap(), drawn, "{stored}");
    }

    #[test]
    fn workloads_of_one_sweep_are_one_part_and_so_are_those_written_one_by_one() {
        let swept = "[[workloads]]\nname = \"w\"\nsweep = { lookup_length = [1, 2] }\n\
                     with = { index_count = 1 }";
        let one_by_one = "[[workloads]]\nname = \"w1\"\nwith = { lookup_length = 1 }\n\
                          [[workloads]]\nname = \"w2\"\nwith = { lookup_length = 2 }";
        for (rest, name) in [(swept, "w"), (one_by_one, "w1, w2")] {
            let rest = format!("systems = [\"memory\"]\n{rest}");
            let drawn = figure(&rest, "x = \"lookup_length\"\ny = \"throughput\"").unwrap();
            let parts: Vec<_> =
                drawn.parts.iter().map(|part| (part.name.as_str(), part.workloads.len())).collect();
            assert_eq!(parts, [(name, 2)]);
            assert_eq!((drawn.unit, drawn.operation), (Unit::PerSecond, None));
        }
    }

    #[test]
    fn the_only_kind_of_operation_needs_no_name_and_percentiles_need_no_sweep() {
        let rest = "systems = [\"memory\"]\nworkloads = [\"ycsb/c\"]";
        let drawn = figure(rest, "x = \"percentile\"\ny = \"latency\"").unwrap();
        assert_eq!((drawn.x, drawn.operation), (Axis::Percentile, Some(OperationKind::Read)));
    }

    #[test]
    fn what_cannot_be_drawn_is_refused_with_the_reason() {
        let times = "x = \"records\"\ny = \"p50\"\noperation = \"lookup\"\n";
        let published = |entry: &str| format!("{times}source = \"s\"\npublished = [{entry}]");
        for (given, named) in [
            ("x = \"records\"".to_owned(), "missing field `y`"),
            ("x = \"records\"\ny = \"p75\"".into(), "p9999"),
            ("x = \"records\"\ny = \"p50\"\nz = 1".into(), "unknown field `z`"),
            ("x = \"clients\"\ny = \"throughput\"".into(), "'clients' is 2 throughout"),
            ("x = \"clients\"\ny = \"throughput\"".into(), "sweeps records (3 values)"),
            ("x = \"recods\"\ny = \"throughput\"".into(), "did you mean 'records'"),
            ("x = \"index_cuont\"\ny = \"throughput\"".into(), "did you mean 'index_count'"),
            ("x = \"rate\"\ny = \"throughput\"".into(), "the loop is closed"),
            ("x = \"percentile\"\ny = \"p50\"\noperation = \"lookup\"".into(), "\"latency\""),
            ("x = \"records\"\ny = \"latency\"\noperation = \"lookup\"".into(), "\"percentile\""),
            ("x = \"records\"\ny = \"p50\"".into(), "have read, update, lookup"),
            ("x = \"records\"\ny = \"p50\"\noperation = \"scan\"".into(), "have read, update"),
            ("x = \"records\"\ny = \"p50\"\noperation = \"skan\"".into(), "skan"),
            ("x = \"records\"\ny = \"throughput\"\noperation = \"read\"".into(), "leave it out"),
            (format!("{times}unit = \"ops/s\""), "ns, µs, ms or s"),
            ("x = \"records\"\ny = \"throughput\"\nunit = \"ms\"".into(), "kops/s"),
            (format!("{times}published = [{{ name = \"A\", range = [1, 2] }}]"), "figure.source"),
            (format!("{times}workloads = [\"kpet\"]"), "there are kept, changed"),
            (format!("{times}workloads = []"), "the list is empty"),
            (published("{ name = \"A\" }"), "'A': give its points"),
            (published("{ name = \"A\", points = [[1, 2]], range = [1, 2] }"), "'A': give"),
            (published("{ name = \"A\", points = [] }"), "empty"),
            (published("{ name = \"A\", points = [[1, 0]] }"), "y above 0"),
            (published("{ name = \"A\", points = [[1, nan]] }"), "y above 0"),
            (published("{ name = \"A\", points = [[1, 2], [1, 3]] }"), "same x"),
            (published("{ name = \"A\", range = [3, 2] }"), "[lowest, highest]"),
            (published("{ name = \" \", range = [1, 2] }"), "needs a name"),
            (published("{ name = \"A\", range = [1, 2], workload = \"w\" }"), "kept, changed"),
            (
                published("{ name = \"A\", range = [1, 2] }, { name = \"A\", range = [1, 2] }"),
                "twice",
            ),
        ] {
            let error = figure(SWEEPS, &given).unwrap_err();
            assert!(error.contains(named), "{given}: {error}");
        }
        let error =
            figure("systems = [\"null\"]", "x = \"clients\"\ny = \"throughput\"").unwrap_err();
        assert!(error.contains("sweeps nothing"), "{error}");
        let log = "x = \"index_count\"\nx_scale = \"log\"\ny = \"throughput\"";
        let zero = "[[workloads]]\nname = \"w\"\nsweep = { index_count = [0, 1] }";
        let error = figure(zero, log).unwrap_err();
        assert!(error.contains("figure.x_scale"), "{error}");
    }

    #[test]
    fn two_cells_at_one_x_of_one_line_are_refused() {
        let rest = "systems = [\"memory\"]\nrecords = [1, 2]\n\
                    [[workloads]]\nname = \"w\"\nsweep = { field_count = [1, 2] }";
        let error = figure(rest, "x = \"records\"\ny = \"throughput\"").unwrap_err();
        assert!(
            error.contains("w field_count=2") && error.contains("names of their own"),
            "{error}"
        );
        // Over the fields themselves the records make a line each.
        figure(rest, "x = \"field_count\"\ny = \"throughput\"").unwrap();
    }

    #[test]
    fn a_figure_goes_when_what_it_goes_over_goes() {
        let text = format!("{SWEEPS}\n[figure]\nx = \"records\"\ny = \"throughput\"");
        let after = |over: &str| {
            let file = Spec::parse(&text, "f").unwrap();
            file.overridden_by(Spec::parse(over, "o").unwrap()).figure.is_some()
        };
        for over in ["", "clients = 1", "records = [5, 6]", "rate = 5.0", "repeats = 1"] {
            assert!(after(over), "{over}");
        }
        for over in ["records = 5", "workloads = [\"ycsb/a\"]"] {
            assert!(!after(over), "{over}");
        }
    }
}
