//! The run's figures as comma-separated values: a line a point, those of the run first in each part.
//! A published range is one line with its ends in `low` and `high` and no `x` and `y`.

use std::io::{self, Write};

use assay_model::{Axis, Figure};

use super::csv::write_line;
use crate::{
    Cell,
    figure::{Line, Panel, panels},
};

const HEADER: &str = "workload,clients,records,series,published,x_name,x,y_name,operation,unit,y,\
    low,high";

pub fn write(figures: &[Figure], cells: &[Cell], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADER}")?;
    for figure in figures {
        for panel in panels(figure, cells) {
            for line in &panel.lines {
                for fields in rows(figure, &panel, line) {
                    write_line(out, fields.iter().map(String::as_str))?;
                }
            }
        }
    }
    Ok(())
}

fn rows(figure: &Figure, panel: &Panel<'_>, line: &Line) -> Vec<Vec<String>> {
    let example = panel.example();
    let unless = |axis: Axis, value: String| if figure.x == axis { String::new() } else { value };
    let row = |x: Option<f64>, y: Option<f64>, low: Option<f64>, high: Option<f64>| {
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        vec![
            panel.name.clone(),
            unless(Axis::Clients, example.clients.to_string()),
            unless(Axis::Records, example.records_in_question().to_string()),
            line.name.clone(),
            if line.published { "yes" } else { "no" }.to_owned(),
            figure.x.name().to_owned(),
            number(x),
            figure.y.name().to_owned(),
            figure.operation.map(|kind| kind.name().to_owned()).unwrap_or_default(),
            figure.unit.to_string(),
            number(y),
            number(low),
            number(high),
        ]
    };
    let points = line.points.iter().map(|p| row(Some(p.x), Some(p.y.median), p.y.low, p.y.high));
    let range = line.range.map(|(low, high)| row(None, None, Some(low), Some(high)));
    points.chain(range).collect()
}

#[cfg(test)]
mod tests {
    use assay_model::{Measure, Published, PublishedValues, Scale, Unit};

    use super::*;
    use crate::{Interval, TrialRecord, summarize};

    #[test]
    fn measured_and_published_points_have_a_line_each_and_a_range_has_one() {
        let trial = |clients, repeat, rate: f64| TrialRecord {
            system: "a".into(),
            workload: "w, x".into(),
            clients,
            records: 7,
            repeat,
            throughput_ops_per_s: Interval::unsure(rate),
            ..TrialRecord::default()
        };
        let trials = [trial(1, 1, 1000.0), trial(1, 2, 1000.0), trial(2, 1, 3000.0)];
        let published = |name: &str, values| Published { name: name.into(), part: None, values };
        let figure = Figure {
            title: None,
            only: Default::default(),
            x: Axis::Clients,
            x_scale: Scale::Linear,
            y: Measure::Throughput,
            operation: None,
            unit: Unit::ThousandsPerSecond,
            source: Some("s".into()),
            published: vec![
                published("P", PublishedValues::Points(vec![(1.0, 2.5)])),
                published("R", PublishedValues::Range { low: 1.0, high: 4.0 }),
            ],
            parts: vec![],
        };
        let mut out = Vec::new();
        write(&[figure], &summarize(&trials), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "\"w, x\",,7,a,no,clients,1,throughput,,kops/s,1,1,1",
                "\"w, x\",,7,a,no,clients,2,throughput,,kops/s,3,,",
                "\"w, x\",,7,P,yes,clients,1,throughput,,kops/s,2.5,,",
                "\"w, x\",,7,R,yes,clients,,throughput,,kops/s,,1,4",
            ]
        );
        assert_eq!(HEADER.split(',').count(), 13);
    }
}
