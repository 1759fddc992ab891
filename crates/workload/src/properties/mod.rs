//! YCSB's property files: what `-P FILE` and `-p name=value` say, as typed parameters.
//!
//! [`parse_properties`] reads the syntax of a Java property file. [`Properties`] puts files and
//! overrides together, and [`Properties::resolve`] turns them into a [`YcsbRun`]: a workload, the
//! settings of YCSB's client, and a list of those properties that Assay takes but that have no
//! effect in it, each with the reason. A property that YCSB's client and core workload do not know
//! is an error that names it, where it stands and the nearest known one.
//!
//! Two names are taken that YCSB 0.17 lacks and others have added: `zipfian.constant` and
//! `keyprefix`.

mod known;
mod resolve;
mod syntax;

use std::{fmt, time::Duration};

use thiserror::Error;

use crate::{CoreWorkload, InvalidWorkload, distributions::HistogramError};

pub use known::known_names;
pub use syntax::parse_properties;

/// One property as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its name.
    pub name: String,
    /// Its value, as Java reads it.
    pub value: String,
    /// Where it was written.
    pub origin: Origin,
}

/// Where a property was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In a file.
    File {
        /// The file's name; empty if it was not given.
        name: String,
        /// The line on which the property begins, counted from 1.
        line: usize,
    },
    /// On the command line, by `-p`.
    CommandLine,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::File { name, line } if name.is_empty() => write!(f, "line {line}"),
            Origin::File { name, line } => write!(f, "{name}, line {line}"),
            Origin::CommandLine => f.write_str("-p"),
        }
    }
}

/// Properties from files and from the command line. A later file overrides an earlier one; the
/// command line overrides all files, as in YCSB.
#[derive(Clone, Debug, Default)]
pub struct Properties {
    files: Vec<Property>,
    overrides: Vec<Property>,
}

/// What a set of properties says.
#[derive(Clone, Debug, PartialEq)]
pub struct YcsbRun {
    /// The workload, valid.
    pub workload: CoreWorkload,
    /// The settings of YCSB's client.
    pub client: ClientSettings,
    /// The properties given that have no effect in Assay.
    pub without_effect: Vec<WithoutEffect>,
}

/// What YCSB's client is told beside the workload. Absent: not given, or given as YCSB's value for
/// "none".
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientSettings {
    /// `threadcount`: how many clients.
    pub threads: Option<u32>,
    /// `target`: operations a second of all clients together.
    pub target_ops_per_second: Option<u64>,
    /// `maxexecutiontime`: when to end the run.
    pub max_execution_time: Option<Duration>,
    /// `dotransactions`: false for the load alone.
    pub transactions: Option<bool>,
}

/// A property that was given and has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithoutEffect {
    /// The property.
    pub property: Property,
    /// Why it has none, and what to use instead where there is something.
    pub reason: &'static str,
}

impl fmt::Display for WithoutEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Property { name, origin, .. } = &self.property;
        write!(f, "{origin}: {name} has no effect: {}", self.reason)
    }
}

/// Why properties cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PropertyError {
    /// A `\u` escape is not followed by four hexadecimal digits.
    #[error("{origin}: a \\u is followed by four hexadecimal digits; write \\\\u for a backslash")]
    BadEscape {
        /// Where.
        origin: Origin,
    },
    /// An override is not of the form name=value.
    #[error("-p '{given}' is not of the form name=value")]
    NotAnAssignment {
        /// What was given.
        given: String,
    },
    /// Neither YCSB's client nor its core workload has the property.
    #[error(
        "{origin}: unknown property '{name}'{}; settings of a data store go with --systems",
        nearest.map(|name| format!(", did you mean '{name}'?")).unwrap_or_default()
    )]
    Unknown {
        /// The property's name.
        name: String,
        /// Where it was written.
        origin: Origin,
        /// The known name nearest to it, if one is near.
        nearest: Option<&'static str>,
    },
    /// A value is not what the property takes.
    #[error("{origin}: {name}={value}: expected {expected}")]
    BadValue {
        /// The property's name.
        name: String,
        /// The value.
        value: String,
        /// Where it was written.
        origin: Origin,
        /// What the property takes.
        expected: String,
    },
    /// Assay does not do what the property asks for.
    #[error("{origin}: {name}={value} is not supported: {why}")]
    Unsupported {
        /// The property's name.
        name: String,
        /// The value.
        value: String,
        /// Where it was written.
        origin: Origin,
        /// Why, and what to do instead.
        why: &'static str,
    },
    /// Field lengths come by a histogram, and its file's text was not given.
    #[error("fieldlengthdistribution=histogram needs the histogram file '{file}' to be read")]
    NoHistogram {
        /// The file that the properties name.
        file: String,
    },
    /// The histogram of field lengths is malformed.
    #[error("histogram file '{file}': {why}")]
    BadHistogram {
        /// The file that the properties name.
        file: String,
        /// What is wrong in it.
        why: HistogramError,
    },
    /// The properties are understood one by one but make no workload together.
    #[error("the properties make no workload: {0}")]
    Invalid(#[from] InvalidWorkload),
}

impl Properties {
    /// No properties.
    pub fn new() -> Properties {
        Properties::default()
    }

    /// Adds those of a file, given its name, for messages, and its text.
    pub fn add_file(&mut self, name: &str, text: &str) -> Result<(), PropertyError> {
        let in_file = |origin: Origin| match origin {
            Origin::File { line, .. } => Origin::File { name: name.to_owned(), line },
            other => other,
        };
        let properties = parse_properties(text).map_err(|error| match error {
            PropertyError::BadEscape { origin } => {
                PropertyError::BadEscape { origin: in_file(origin) }
            }
            other => other,
        })?;
        self.files.extend(
            properties
                .into_iter()
                .map(|property| Property { origin: in_file(property.origin), ..property }),
        );
        Ok(())
    }

    /// Adds an override of the form `name=value`.
    pub fn add_override(&mut self, assignment: &str) -> Result<(), PropertyError> {
        let (name, value) = assignment
            .split_once('=')
            .filter(|(name, _)| !name.trim().is_empty())
            .ok_or_else(|| PropertyError::NotAnAssignment { given: assignment.to_owned() })?;
        self.overrides.push(Property {
            name: name.trim().to_owned(),
            value: value.to_owned(),
            origin: Origin::CommandLine,
        });
        Ok(())
    }

    /// The property called `name` that is in force.
    pub fn get(&self, name: &str) -> Option<&Property> {
        let written = self.files.iter().chain(&self.overrides);
        written.rev().find(|property| property.name == name)
    }

    /// The file with the histogram of field lengths, if [`resolve`](Properties::resolve) will need
    /// its text.
    pub fn histogram_file(&self) -> Option<String> {
        let by_histogram = self
            .get("fieldlengthdistribution")
            .is_some_and(|property| property.value.trim() == "histogram");
        by_histogram.then(|| {
            self.get("fieldlengthhistogram")
                .map_or("hist.txt", |property| property.value.trim())
                .to_owned()
        })
    }

    /// What the properties say. `histogram` is the text of the file that
    /// [`histogram_file`](Properties::histogram_file) names.
    pub fn resolve(&self, histogram: Option<&str>) -> Result<YcsbRun, PropertyError> {
        resolve::resolve(self, histogram)
    }

    /// Every property that is in force, each name once, in the order of first mention.
    fn in_force(&self) -> Vec<&Property> {
        let mut names: Vec<&str> = Vec::new();
        for property in self.files.iter().chain(&self.overrides) {
            if !names.contains(&property.name.as_str()) {
                names.push(&property.name);
            }
        }
        names.into_iter().filter_map(|name| self.get(name)).collect()
    }
}
