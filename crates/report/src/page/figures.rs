//! The figures of studies.

use assay_results::{
    Axis, Cell, Figure, Scale,
    figure::{Line, panels},
};

use super::{
    data::{FigureAxis, FigureLine, FigurePanel, FigurePoint, StudyFigure},
    measured::Measured,
};
use crate::{
    figure::{growth, panel_notes, published},
    heading::{figure_heading, figure_shows},
    study::{self, StudyTable},
    text::escape,
};

/// Values this far apart are drawn on a log axis.
const FAR_APART: f64 = 30.0;

/// The figures that the runs draw. A run whose figure cannot be read draws none: its cells show all
/// the same.
pub fn figures(measured: &Measured<'_>) -> Vec<StudyFigure> {
    let mut figures = Vec::new();
    for (number, run) in measured.runs.iter().enumerate() {
        let Ok(drawn_here) = run.figures() else { continue };
        let cells = cells_of(measured, number);
        let title = run.header.plan["title"].as_str().unwrap_or_default();
        for figure in drawn_here {
            let title = figure.title.as_deref().unwrap_or(title);
            figures
                .push(StudyFigure { run: number as u32, ..drawn(measured, &figure, title, cells) });
        }
    }
    figures
}

/// The tables of the studies that the runs belong to.
pub fn tables(measured: &Measured<'_>) -> Vec<StudyTable> {
    let mut tables = Vec::new();
    for (number, run) in measured.runs.iter().enumerate() {
        let (Ok(Some(study)), Ok(absent)) = (run.study(), run.absent()) else { continue };
        tables.extend(study::page_tables(&study, &absent, cells_of(measured, number)));
    }
    tables
}

/// The cells of a run: they stand run by run.
fn cells_of<'a>(measured: &'a Measured<'_>, run: usize) -> &'a [Cell] {
    let begin = measured.origins.partition_point(|origin| origin.run < run);
    let end = measured.origins.partition_point(|origin| origin.run <= run);
    &measured.cells[begin..end]
}

fn drawn(measured: &Measured<'_>, figure: &Figure, title: &str, cells: &[Cell]) -> StudyFigure {
    let panels: Vec<FigurePanel> = panels(figure, cells)
        .iter()
        .map(|panel| {
            let measured_lines = panel.lines.iter().filter(|line| !line.published);
            let mut notes: Vec<String> =
                measured_lines.filter_map(|line| growth(figure, line)).collect();
            notes.extend(published(figure, panel));
            notes.extend(panel_notes(figure, panel).into_iter().map(|note| note.text));
            FigurePanel {
                name: escape(&panel.name),
                heading: figure_heading(figure, panel),
                lines: panel.lines.iter().map(|of| line(measured, of)).collect(),
                notes,
            }
        })
        .collect();
    StudyFigure {
        run: 0,
        title: escape(title),
        x: FigureAxis {
            name: escape(figure.x.name()),
            unit: (figure.x == Axis::Rate).then(|| "ops/s".to_owned()),
            scale: figure.x_scale,
            percentiles: figure.x == Axis::Percentile,
        },
        y: FigureAxis {
            name: figure_shows(figure),
            unit: Some(figure.unit.sign().to_owned()),
            scale: scale(&panels),
            percentiles: false,
        },
        source: figure.source.as_deref().map(escape),
        panels,
    }
}

fn line(measured: &Measured<'_>, line: &Line) -> FigureLine {
    let name = escape(&line.name);
    let system = measured.systems.iter().position(|system| system.name == name);
    FigureLine {
        system: system.filter(|_| !line.published).map(|system| system as u32),
        name,
        published: line.published,
        points: line.points.iter().map(|point| FigurePoint { x: point.x, y: point.y }).collect(),
        range: line.range.map(|(low, high)| [low, high]),
        growth: line.growth.filter(|growth| growth.ratio.is_finite()),
    }
}

/// The scale that shows both the lowest and the highest value of all parts.
fn scale(panels: &[FigurePanel]) -> Scale {
    let lines = panels.iter().flat_map(|panel| &panel.lines);
    let values: Vec<f64> = lines
        .flat_map(|line| {
            let points = line.points.iter().map(|point| point.y.median);
            points.chain(line.range.into_iter().flatten())
        })
        .collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    match least > 0.0 && most >= FAR_APART * least {
        true => Scale::Log,
        false => Scale::Linear,
    }
}
