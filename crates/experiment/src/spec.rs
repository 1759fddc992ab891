//! An experiment as written: a TOML file, with what the command line overrides.
//!
//! Every field is optional here; [`plan`](crate::plan) holds the defaults. An unknown field is an
//! error that names its line.

use std::{collections::BTreeMap, fmt, marker::PhantomData, path::Path};

use assay_measure::pacing::Arrivals;
use assay_model::{Durability, redact};
use assay_systems::cache::{CacheSize, NoCacheSize};
use assay_workload::CoreWorkload;
use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, IntoDeserializer},
};
use thiserror::Error;

use crate::{
    extent::{Extent, Time},
    figure::FigureSpec,
    unknown_field::with_nearest,
};

/// An experiment file.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// What the experiment is called.
    pub title: Option<String>,
    /// The question it answers, in words.
    pub question: Option<String>,
    /// The systems, as names (`"postgres:jsonb"`) or as tables.
    pub systems: Option<Vec<SystemSpec>>,
    /// The workloads, as names (`"ycsb/a"`) or as tables that change one.
    pub workloads: Option<Vec<WorkloadSpec>>,
    /// Records loaded before the measurement; several values are a sweep.
    pub records: Option<OneOrMany<u64>>,
    /// Concurrent clients; several values are a sweep.
    pub clients: Option<OneOrMany<u32>>,
    /// Threads that drive wire clients; as many as the client's cores if not given.
    pub threads: Option<u32>,
    /// Operations to measure, in place of `duration`: a number, or "records" for as many as there
    /// are records. A workload that only inserts then inserts the records itself.
    pub operations: Option<OperationsSpec>,
    /// How long to measure, in place of `operations`.
    pub duration: Option<Time>,
    /// How long to run before measuring, as a time or a number of operations.
    pub warmup: Option<Extent>,
    /// How long to go on after measuring, so that the last operations run under full load.
    pub cooldown: Option<Time>,
    /// Operations a second of an open loop; several values are a sweep. Without it, the loop is
    /// closed.
    pub rate: Option<OneOrMany<f64>>,
    /// How the operations of an open loop arrive.
    pub arrivals: Option<Arrivals>,
    /// What an acknowledged write promises.
    pub durability: Option<Durability>,
    /// Which cores client and server run on.
    pub placement: Option<Placement>,
    /// Whether measurements of different systems may alternate in short pieces.
    pub turns: Option<Turns>,
    /// How servers that Assay starts are reached.
    pub transport: Option<Transport>,
    /// How often each trial is repeated: a number, or "auto" until the intervals are narrow.
    pub repeats: Option<RepeatsSpec>,
    /// With automatic repeats: the relative half-width of the throughput's interval to reach.
    pub precision: Option<f64>,
    /// With automatic repeats: stop after this time.
    pub budget: Option<Time>,
    /// The longest an operation may take.
    pub timeout: Option<Time>,
    /// What every random choice follows from.
    pub seed: Option<u64>,
    /// Check every value that is read.
    pub verify: Option<bool>,
    /// The table to create in each system, if not the workload's own.
    pub table: Option<String>,
    /// The folder below which servers and embedded stores keep their data while they run.
    pub data_folder: Option<String>,
    /// Whether the data folder must be on a RAM disk (tmpfs or ramfs); it is /dev/shm if not given.
    pub ram_disk: Option<bool>,
    /// The size of each product's cache, as in "1GiB": one size, which becomes the setting that each
    /// product has for it.
    pub cache: Option<Cache>,
    /// What to draw of the results, with what others have published: a figure, or several.
    pub figure: Option<FiguresSpec>,
}

/// Which cores client and server run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Wherever the kernel puts them.
    Free,
    /// Client and server on cores of their own: half the cores each.
    Split,
    /// Client and server on the same core, core 0.
    Same,
}

/// Whether measurements of different systems alternate in short pieces, so that all meet the same
/// machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Turns {
    /// Those by time in a closed loop, of systems that do nothing between calls.
    #[default]
    Auto,
    /// Each measurement is taken at one go.
    Never,
}

/// The size of a cache, as in `512MiB` or `4GiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Cache(pub CacheSize);

impl std::str::FromStr for Cache {
    type Err = NoCacheSize;

    fn from_str(text: &str) -> Result<Cache, NoCacheSize> {
        text.parse().map(Cache)
    }
}

impl TryFrom<String> for Cache {
    type Error = NoCacheSize;

    fn try_from(text: String) -> Result<Cache, NoCacheSize> {
        text.parse()
    }
}

impl From<Cache> for String {
    fn from(cache: Cache) -> String {
        cache.0.to_string()
    }
}

/// How a server that Assay starts is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// TCP on the loopback interface.
    Tcp,
    /// A Unix socket.
    Unix,
}

/// A system in an experiment file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SystemSpec {
    /// `NAME[:LAYOUT][@LABEL][+SETTING=VALUE]…[=URL]`.
    Name(String),
    /// The same, spelled out.
    Table(SystemTable),
}

/// A system spelled out.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SystemTable {
    /// The driver, as `assay systems` lists it.
    pub name: String,
    /// One of the driver's layouts.
    pub layout: Option<String>,
    /// What to call it in tables.
    pub label: Option<String>,
    /// The URL of a running server, in place of one that Assay starts.
    pub url: Option<String>,
    /// Settings of the driver and of the server.
    #[serde(default)]
    pub settings: BTreeMap<String, SettingValue>,
}

/// A setting's value: text, number or boolean.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SettingValue {
    /// A boolean.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A fraction.
    Number(f64),
    /// A text.
    Text(String),
}

impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingValue::Boolean(value) => write!(f, "{value}"),
            SettingValue::Integer(value) => write!(f, "{value}"),
            SettingValue::Number(value) => write!(f, "{value}"),
            SettingValue::Text(value) => f.write_str(value),
        }
    }
}

/// A workload in an experiment file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum WorkloadSpec {
    /// A workload in the binary: `ycsb/a` … `ycsb/f`, `ycsb/load`.
    Name(String),
    /// One of them, changed.
    Table(WorkloadTable),
}

/// A workload made from another.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadTable {
    /// What to call it.
    pub name: String,
    /// The workload to start from; `ycsb/c` if not given.
    pub base: Option<String>,
    /// The parameters that differ.
    #[serde(default)]
    #[schemars(with = "CoreWorkload")]
    pub with: toml::Table,
    /// Parameters that take one value after the other, all lists in step: a workload each.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Vec<serde_json::Value>>")]
    pub sweep: BTreeMap<String, Vec<toml::Value>>,
}

/// How often each trial is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum RepeatsSpec {
    /// This often.
    Count(u32),
    /// Until the intervals are narrow or the time is up.
    Auto(AutoWord),
}

/// The word `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AutoWord {
    /// `auto`.
    Auto,
}

impl std::str::FromStr for RepeatsSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<RepeatsSpec, String> {
        match text {
            "auto" => Ok(RepeatsSpec::Auto(AutoWord::Auto)),
            number => number
                .parse()
                .map(RepeatsSpec::Count)
                .map_err(|_| format!("'{text}' is neither a number of repeats nor 'auto'")),
        }
    }
}

/// How many operations are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum OperationsSpec {
    /// This many.
    Count(u64),
    /// As many as there are records.
    AsRecords(RecordsWord),
}

/// The word `records`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordsWord {
    /// `records`.
    Records,
}

/// A figure, or several.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum FiguresSpec {
    /// One, `[figure]`.
    One(Box<FigureSpec>),
    /// Several, each `[[figure]]`.
    Several(Vec<FigureSpec>),
}

impl FiguresSpec {
    /// Each of them.
    pub fn into_vec(self) -> Vec<FigureSpec> {
        match self {
            FiguresSpec::One(one) => vec![*one],
            FiguresSpec::Several(several) => several,
        }
    }
}

/// One value, or several to sweep over.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct OneOrMany<T>(pub Vec<T>);

macro_rules! deserialize_text_or_table {
    ($name:ident, $table:ident, $expecting:literal) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                struct Visitor;
                impl<'de> de::Visitor<'de> for Visitor {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expecting)
                    }

                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        Ok($name::Name(text.to_owned()))
                    }

                    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<$name, A::Error> {
                        $table::deserialize(de::value::MapAccessDeserializer::new(map))
                            .map($name::Table)
                    }
                }
                deserializer.deserialize_any(Visitor)
            }
        }
    };
}

deserialize_text_or_table!(SystemSpec, SystemTable, "a system's name or a table with its name");
deserialize_text_or_table!(WorkloadSpec, WorkloadTable, "a workload's name or a table");

impl<'de> Deserialize<'de> for RepeatsSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RepeatsSpec, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = RepeatsSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of repeats or \"auto\"")
            }

            fn visit_i64<E: de::Error>(self, count: i64) -> Result<RepeatsSpec, E> {
                u32::try_from(count)
                    .map(RepeatsSpec::Count)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(count), &self))
            }

            fn visit_u64<E: de::Error>(self, count: u64) -> Result<RepeatsSpec, E> {
                u32::try_from(count)
                    .map(RepeatsSpec::Count)
                    .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(count), &self))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<RepeatsSpec, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl<'de> Deserialize<'de> for OperationsSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OperationsSpec, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = OperationsSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of operations or \"records\"")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<OperationsSpec, E> {
                u64::try_from(value)
                    .map(OperationsSpec::Count)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<OperationsSpec, E> {
                Ok(OperationsSpec::Count(value))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<OperationsSpec, E> {
                match text {
                    "records" => Ok(OperationsSpec::AsRecords(RecordsWord::Records)),
                    other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl<'de> Deserialize<'de> for FiguresSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FiguresSpec, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = FiguresSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a figure, [figure], or several, each [[figure]]")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<FiguresSpec, A::Error> {
                FigureSpec::deserialize(de::value::MapAccessDeserializer::new(map))
                    .map(|one| FiguresSpec::One(Box::new(one)))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<FiguresSpec, A::Error> {
                Vec::deserialize(de::value::SeqAccessDeserializer::new(seq))
                    .map(FiguresSpec::Several)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OneOrMany<T>, D::Error> {
        struct Visitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> de::Visitor<'de> for Visitor<T> {
            type Value = OneOrMany<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a list of numbers")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<OneOrMany<T>, E> {
                T::deserialize(value.into_deserializer()).map(|one| OneOrMany(vec![one]))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<OneOrMany<T>, E> {
                T::deserialize(value.into_deserializer()).map(|one| OneOrMany(vec![one]))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<OneOrMany<T>, E> {
                T::deserialize(value.into_deserializer()).map(|one| OneOrMany(vec![one]))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(
                self,
                mut seq: A,
            ) -> Result<OneOrMany<T>, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = seq.next_element()? {
                    values.push(value);
                }
                Ok(OneOrMany(values))
            }
        }
        deserializer.deserialize_any(Visitor(PhantomData))
    }
}

/// Why an experiment file cannot be read. No password of the file is in it.
#[derive(Debug, Error)]
pub enum SpecError {
    /// The file cannot be read.
    #[error(
        "cannot read the experiment {path}: {source}; `assay run` without a file runs the default one"
    )]
    Unreadable {
        /// The file, without a password if it is a URL.
        path: String,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The file is not a valid experiment.
    #[error("{path} is no valid experiment:\n{why}\n`assay schema` prints what may stand in it")]
    Malformed {
        /// The file.
        path: String,
        /// Where and what. The parser's own error is not kept: it quotes the line as it stands.
        why: String,
    },
}

impl Spec {
    /// Reads an experiment file.
    pub fn read(path: &Path) -> Result<Spec, SpecError> {
        let shown = redact(&path.display().to_string());
        let text = std::fs::read_to_string(path)
            .map_err(|source| SpecError::Unreadable { path: shown.clone(), source })?;
        Spec::parse(&text, &shown)
    }

    /// Parses an experiment; `name` is for the error.
    pub fn parse(text: &str, name: &str) -> Result<Spec, SpecError> {
        toml::from_str(text).map_err(|error| SpecError::Malformed {
            path: name.to_owned(),
            why: redact(with_nearest(&error.to_string()).trim_end()),
        })
    }

    /// This experiment with every field that `over` has in place of its own. A number of operations
    /// takes the place of a time to measure, and the other way round. A figure that then has
    /// nothing to go over is left out.
    pub fn overridden_by(self, over: Spec) -> Spec {
        let (operations, duration) = match (over.operations, over.duration) {
            (None, None) => (self.operations, self.duration),
            given => given,
        };
        let left = self.figure.map(|figures| {
            let mut left = figures.into_vec();
            left.retain(|figure| figure.outlives(&over));
            left
        });
        let left = left.filter(|left| !left.is_empty()).map(FiguresSpec::Several);
        Spec {
            figure: over.figure.or(left),
            title: over.title.or(self.title),
            question: over.question.or(self.question),
            systems: over.systems.or(self.systems),
            workloads: over.workloads.or(self.workloads),
            records: over.records.or(self.records),
            clients: over.clients.or(self.clients),
            threads: over.threads.or(self.threads),
            operations,
            duration,
            warmup: over.warmup.or(self.warmup),
            cooldown: over.cooldown.or(self.cooldown),
            rate: over.rate.or(self.rate),
            arrivals: over.arrivals.or(self.arrivals),
            durability: over.durability.or(self.durability),
            placement: over.placement.or(self.placement),
            turns: over.turns.or(self.turns),
            transport: over.transport.or(self.transport),
            repeats: over.repeats.or(self.repeats),
            precision: over.precision.or(self.precision),
            budget: over.budget.or(self.budget),
            timeout: over.timeout.or(self.timeout),
            seed: over.seed.or(self.seed),
            verify: over.verify.or(self.verify),
            table: over.table.or(self.table),
            data_folder: over.data_folder.or(self.data_folder),
            ram_disk: over.ram_disk.or(self.ram_disk),
            cache: over.cache.or(self.cache),
        }
    }
}

/// The JSON schema of an experiment file, for editors.
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Spec).to_value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_experiment_is_read() {
        let spec = Spec::parse(
            r#"
            title = "t"
            systems = ["memory", { name = "postgres", layout = "jsonb", settings = { jit = false } }]
            workloads = ["ycsb/a", { name = "wide", base = "ycsb/c", with = { field_count = 200 } }]
            clients = [1, 4]
            records = 1000
            rate = [500, 1e3]
            warmup = "200ms"
            operations = 5000
            repeats = "auto"
            "#,
            "test",
        )
        .unwrap();
        assert_eq!(spec.clients, Some(OneOrMany(vec![1, 4])));
        assert_eq!(spec.records, Some(OneOrMany(vec![1000])));
        assert_eq!(spec.rate, Some(OneOrMany(vec![500.0, 1000.0])));
        assert_eq!(spec.repeats, Some(RepeatsSpec::Auto(AutoWord::Auto)));
        assert!(matches!(&spec.systems.unwrap()[1], SystemSpec::Table(t) if t.name == "postgres"));
    }

    #[test]
    fn an_unknown_field_is_an_error_that_names_it_and_its_line() {
        let error = Spec::parse("clients = 4\nrecrods = 5\n", "x.toml").unwrap_err().to_string();
        assert!(error.contains("recrods") && error.contains("line 2"), "{error}");
        let error = Spec::parse("systems = [{ name = \"redis\", layuot = \"hash\" }]", "x.toml")
            .unwrap_err()
            .to_string();
        assert!(error.contains("layuot"), "{error}");
    }

    #[test]
    fn no_error_nor_its_causes_show_a_password() {
        let mut errors = vec![Spec::read(Path::new("redis://:hunter2@h:1")).unwrap_err()];
        for text in [
            "systems = [{ name = \"redis\", url = \"redis://:hunter2@h\", layuot = 1 }]",
            "systems = [{ name = \"redis\", urll = \"redis://:hunter2@h\" }]",
            "systems = [{ name = \"redis\", url = \"redis://:hunter2@h\"",
            "systems = [{ name = \"redis\", settings = { requirepass = \"hunter2\" }, zz = 1 }]",
            "systems = [{ name = \"redis\", settings = { requirepass \"hunter2\" } }]",
            "systems = [{ name = \"redis\", settings = { requirepass = [\"hunter2\"] } }]",
        ] {
            errors.push(Spec::parse(text, "x.toml").unwrap_err());
        }
        for error in errors {
            let mut error: Option<&dyn std::error::Error> = Some(&error);
            while let Some(one) = error {
                let told = format!("{one} {one:?}");
                assert!(!told.contains("hunter2"), "{told}");
                error = one.source();
            }
        }
    }

    #[test]
    fn the_command_line_wins_and_operations_replace_a_duration() {
        let file = Spec::parse("duration = \"2s\"\nclients = 4\nseed = 1", "f").unwrap();
        let over = Spec::parse("operations = 10\nclients = 8", "o").unwrap();
        let spec = file.overridden_by(over);
        assert_eq!((spec.operations, spec.duration), (Some(OperationsSpec::Count(10)), None));
        assert_eq!((spec.clients, spec.seed), (Some(OneOrMany(vec![8])), Some(1)));
    }
}
