//! An experiment file to its plan. What is planned can be stored, read back and checked.

#![no_main]

use std::fmt::Write;

use arbitrary::Arbitrary;
use assay_experiment::{Cell, Plan, Spec};
use libfuzzer_sys::fuzz_target;

/// More cells than this are a matter of patience, not of parsing.
const MOST_CELLS: usize = 2000;

#[derive(Arbitrary, Debug)]
enum Line<'a> {
    /// A field of an experiment.
    Known(u8, Value<'a>),
    Raw(&'a str),
}

#[derive(Arbitrary, Debug)]
enum Value<'a> {
    Whole(i64),
    Small(u8),
    Fraction(f64),
    Truth(bool),
    Word(u8),
    Text(&'a str),
    Time(u32, u8),
    List(Vec<Value<'a>>),
    Table(Vec<(u8, Value<'a>)>),
}

const FIELDS: [&str; 23] = [
    "title",
    "question",
    "systems",
    "workloads",
    "records",
    "clients",
    "threads",
    "operations",
    "duration",
    "warmup",
    "cooldown",
    "rate",
    "arrivals",
    "durability",
    "placement",
    "transport",
    "repeats",
    "precision",
    "budget",
    "timeout",
    "seed",
    "verify",
    "table",
];
const WORDS: [&str; 24] = [
    "memory",
    "null",
    "sqlite",
    "redis:string",
    "postgres:jsonb@a+key=document",
    "memcached",
    "redis=redis://u:p@h:1/2",
    "valkey@b+maxmemory=1gb",
    "ycsb/a",
    "ycsb/e",
    "ycsb/load",
    "none",
    "buffered",
    "synced",
    "uniform",
    "poisson",
    "free",
    "split",
    "same",
    "tcp",
    "unix",
    "auto",
    "zipfian",
    "latest",
];
const UNITS: [&str; 4] = ["ms", "s", "m", "h"];
const PARAMETERS: [&str; 20] = [
    "name",
    "layout",
    "label",
    "url",
    "settings",
    "base",
    "with",
    "field_count",
    "field_length",
    "record_count",
    "operation_count",
    "request_distribution",
    "scan_length_distribution",
    "max_scan_length",
    "read_proportion",
    "insert_proportion",
    "scan_proportion",
    "zero_padding",
    "insert_start",
    "table",
];

fn write(value: &Value<'_>, out: &mut String) {
    let quoted = |text: &str| serde_json::to_string(text).expect("a text is JSON");
    match value {
        Value::Whole(number) => write!(out, "{number}"),
        Value::Small(number) => write!(out, "{number}"),
        Value::Fraction(number) => write!(out, "{number:e}"),
        Value::Truth(truth) => write!(out, "{truth}"),
        Value::Word(word) => out.write_str(&quoted(WORDS[usize::from(*word) % WORDS.len()])),
        Value::Text(text) => out.write_str(&quoted(text)),
        Value::Time(number, unit) => {
            write!(out, "\"{number}{}\"", UNITS[usize::from(*unit) % UNITS.len()])
        }
        Value::List(values) => {
            out.push('[');
            for value in values {
                write(value, out);
                out.push(',');
            }
            out.write_str("]")
        }
        Value::Table(members) => {
            out.push('{');
            for (index, (name, value)) in members.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                out.push_str(PARAMETERS[usize::from(*name) % PARAMETERS.len()]);
                out.push_str(" = ");
                write(value, out);
            }
            out.write_str("}")
        }
    }
    .expect("a text takes everything");
}

fuzz_target!(|lines: Vec<Line<'_>>| {
    let mut text = String::new();
    for line in &lines {
        match line {
            Line::Known(field, value) => {
                text.push_str(FIELDS[usize::from(*field) % FIELDS.len()]);
                text.push_str(" = ");
                write(value, &mut text);
            }
            Line::Raw(raw) => text.push_str(raw),
        }
        text.push('\n');
    }
    plan(&text);
});

fn plan(text: &str) {
    let spec = match Spec::parse(text, "fuzz.toml") {
        Ok(spec) => spec,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let Ok(plan) = Plan::resolve(spec.clone().overridden_by(spec), Default::default()) else {
        return;
    };
    assert!(!plan.cells.is_empty());
    let _ = plan.round_estimate();
    for round in 0..3 {
        let mut order = plan.round(round).concat();
        order.sort_unstable();
        assert!(order.into_iter().eq(0..plan.cells.len()), "every cell once a round");
    }
    for cell in plan.cells.iter().take(MOST_CELLS) {
        let stored = serde_json::to_string(cell).expect("a cell is plain data");
        let back: Cell = serde_json::from_str(&stored).expect("what was stored reads back");
        back.check().expect("what was planned can be repeated");
        assert_eq!(serde_json::to_string(&back).expect("plain data"), stored);
    }
}
