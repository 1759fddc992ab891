//! An experiment that draws a figure: planned, run, shown, exported.

use crate::common::{Place, readable};

const EXPERIMENT: &str = r#"
    title = "Lookups by size"
    systems = ["slik:object", "memcached"]
    records = [1, 10, 100]
    clients = 1
    operations = 300
    repeats = 2

    [[workloads]]
    name = "lookup"
    with = { field_count = 2, index_count = 1, read_proportion = 0.0, lookup_proportion = 1.0 }

    [figure]
    x = "records"
    x_scale = "log"
    y = "p99"
    unit = "µs"
    source = "A Paper, Figure 7"
    published = [
        { name = "RAM", points = [[1, 10.2], [100, 13.1]] },
        { name = "Disk", range = [800, 1_200] },
    ]
"#;

#[test]
fn a_figure_is_planned_drawn_shown_and_exported() {
    let place = Place::new();
    place.file("figure.toml", EXPERIMENT);
    let planned = place.succeeds("plan figure.toml").stdout;
    assert!(planned.contains("figure: p99 of lookup in µs by records"), "{planned}");
    assert!(planned.contains("published of RAM, Disk"), "{planned}");

    let drawn = place.succeeds("run figure.toml").stdout;
    for part in [
        "Lookups by size\n",
        "p99 of lookup in µs by records · lookup · 1 client",
        "slik:object",
        "RAM (published)",
        "from 1 to 100 records",
        "Disk 800–1,200 µs (1.50×)",
        "source: A Paper, Figure 7",
        "memcached: not supported",
    ] {
        assert!(drawn.contains(part), "{part}\n{drawn}");
    }
    assert!(!drawn.contains("ops/s"), "the figure stands for the tables\n{drawn}");
    assert_eq!(place.succeeds("show").stdout, drawn);
    let both = place.succeeds("show --tables").stdout;
    assert!(both.contains("ops/s") && both.ends_with(&drawn), "{both}");

    let csv = place.succeeds("export assay-results/latest --format figure").stdout;
    let of = |series: &str| csv.lines().filter(|line| line.contains(series)).count();
    assert_eq!((of(",slik:object,no,"), of(",RAM,yes,"), of(",Disk,yes,")), (3, 2, 1), "{csv}");
    assert!(csv.contains("lookup,1,,Disk,yes,records,,p99,lookup,µs,,800,1200"), "{csv}");
    assert_eq!(place.succeeds("show --json").stdout.lines().count(), 2 * 3);
    let line = place.succeeds("plan figure.toml --json").stdout;
    assert_eq!(readable(line.as_bytes())["figure"]["published"][0]["name"], "RAM");
}

#[test]
fn a_sweep_of_a_parameter_is_a_line() {
    let place = Place::new();
    place.file(
        "sweep.toml",
        r#"
        systems = ["slik"]
        records = 50
        operations = 200
        repeats = 1
        [[workloads]]
        name = "wide"
        base = "ycsb/a"
        sweep = { field_count = [1, 2, 4] }
        [figure]
        x = "field_count"
        y = "throughput"
        unit = "kops/s"
        "#,
    );
    let drawn = place.succeeds("run sweep.toml").stdout;
    assert!(drawn.contains("throughput in kops/s by field_count · wide"), "{drawn}");
    assert!(drawn.contains("from field_count 1 to 4"), "{drawn}");
    let workloads: Vec<String> = place
        .records()
        .iter()
        .map(|record| record["workload"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(workloads, ["wide field_count=1", "wide field_count=2", "wide field_count=4"]);
}

#[test]
fn a_figure_that_cannot_be_drawn_says_why_and_one_that_was_overridden_goes() {
    let place = Place::new();
    place.file("clients.toml", &EXPERIMENT.replace("x = \"records\"", "x = \"clients\""));
    let why = ["figure.x", "'clients' is 1 throughout", "sweeps records (3 values)"];
    place.refuses("run clients.toml", &why);
    assert!(!place.path().join("assay-results").exists(), "nothing ran");

    place.file("figure.toml", EXPERIMENT);
    let one = place.succeeds("run figure.toml --records 10 --repeats 1");
    one.says(&["the experiment's figure is left out"]);
    assert!(one.stdout.contains("ops/s"), "{one}");
    let none = ["has no [figure]", "--format csv"];
    place.fails("export assay-results/latest --format figure", &none);
}
