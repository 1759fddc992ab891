//! YCSB's property files to a workload. A workload that is accepted reads back and makes
//! operations.

#![no_main]

use std::sync::LazyLock;

use arbitrary::Arbitrary;
use assay_workload::{
    Acknowledged, CoreWorkload, Prepared, Stream, ValuePool,
    properties::{Properties, known_names, parse_properties},
};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Given<'a> {
    file: &'a str,
    overrides: Vec<(u8, Value<'a>)>,
    histogram: Option<&'a str>,
}

#[derive(Arbitrary, Debug)]
enum Value<'a> {
    Whole(u64),
    Small(u8),
    Fraction(f64),
    Truth(bool),
    Word(u8),
    Text(&'a str),
}

const WORDS: [&str; 10] = [
    "zipfian",
    "latest",
    "uniform",
    "hotspot",
    "sequential",
    "exponential",
    "constant",
    "histogram",
    "hashed",
    "ordered",
];

/// The longest values that are made here.
const MOST_BYTES: usize = 4096;
static POOL: LazyLock<ValuePool> = LazyLock::new(|| ValuePool::new(1, MOST_BYTES));

fuzz_target!(|given: Given<'_>| {
    let _ = parse_properties(given.file);
    let names: Vec<_> = known_names().collect();
    let mut properties = Properties::new();
    if properties.add_file("fuzz", given.file).is_err() {
        return;
    }
    for (name, value) in &given.overrides {
        let name = names[usize::from(*name) % names.len()];
        let value = match value {
            Value::Whole(number) => number.to_string(),
            Value::Small(number) => number.to_string(),
            Value::Fraction(number) => number.to_string(),
            Value::Truth(truth) => truth.to_string(),
            Value::Word(word) => WORDS[usize::from(*word) % WORDS.len()].into(),
            Value::Text(text) => (*text).into(),
        };
        properties.add_override(&format!("{name}={value}")).expect("it is an assignment");
    }
    let Ok(run) = properties.resolve(given.histogram) else { return };
    run.workload.validate().expect("what is resolved is valid");
    let stored = serde_json::to_string(&run.workload).expect("plain data");
    let back = serde_json::from_str(&stored).expect("what was stored reads back");
    assert_eq!(run.workload, back);
    if run.workload.field_length.greatest() <= MOST_BYTES && run.workload.field_count <= 100 {
        makes_operations(&run.workload);
    }
});

fn makes_operations(workload: &CoreWorkload) {
    let acknowledged = Acknowledged::new(workload.first_inserted_key());
    let mut stream = Stream::new(workload, &POOL, &acknowledged, 42);
    let mut prepared = Prepared::new();
    let loaded = workload.loaded_keys();
    for n in (0..20).chain([1 << 20, 1 << 40]) {
        stream.prepare(n, &mut prepared);
        assert!(!prepared.key().is_empty());
        let inserts = prepared.kind() == assay_model::OperationKind::Insert;
        assert_eq!(loaded.contains(&prepared.key_number()), !inserts, "{prepared:?}");
        assert!(prepared.values().iter().all(|value| !value.bytes.is_empty()));
        assert!(prepared.scan_length() <= workload.max_scan_length);
    }
}
