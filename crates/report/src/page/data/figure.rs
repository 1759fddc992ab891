//! Figures of studies, with what was published.

use assay_results::{Interval, Ratio, Scale};
use schemars::JsonSchema;
use serde::Serialize;

/// A figure in the form that the study used.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StudyFigure {
    /// The run whose experiment draws it.
    pub run: u32,
    /// The experiment's title.
    pub title: String,
    /// What it goes over.
    pub x: FigureAxis,
    /// What it shows.
    pub y: FigureAxis,
    /// Where the published values stand: work, figure, table.
    pub source: Option<String>,
    /// Its parts, small multiples of one another.
    pub panels: Vec<FigurePanel>,
}

/// An axis of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FigureAxis {
    /// What is along it, as in "records" or "p50 of lookup".
    pub name: String,
    /// The unit of its values, as in "µs"; null for a bare number.
    pub unit: Option<String>,
    /// How it is spread.
    pub scale: Scale,
    /// Whether it goes over percentiles (50, 95, 99, 99.9, 99.99), which are shown as p50, p95, … and
    /// best stand at equal distances.
    pub percentiles: bool,
}

/// A part of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FigurePanel {
    /// What its workloads are called together.
    pub name: String,
    /// What its lines have in common, in one line.
    pub heading: String,
    /// The systems' lines, then the published ones.
    pub lines: Vec<FigureLine>,
    /// How the lines go, what was published, what a reader must know: whole sentences.
    pub notes: Vec<String>,
}

/// A line of a figure: measured, or published.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FigureLine {
    /// The system's name, or what the study calls it.
    pub name: String,
    /// The system; null for a published line.
    pub system: Option<u32>,
    /// Whether it was published, not measured here.
    pub published: bool,
    /// The points in the order of x. None where only a range was published.
    pub points: Vec<FigurePoint>,
    /// The lowest and the highest value over the whole axis in the unit of y, where only these were
    /// published.
    pub range: Option<[f64; 2]>,
    /// The last point's value divided by the first one's.
    pub growth: Option<Ratio>,
}

/// A point of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FigurePoint {
    /// Where it stands.
    pub x: f64,
    /// The value in the unit of y; a published one has no interval.
    pub y: Interval,
}
