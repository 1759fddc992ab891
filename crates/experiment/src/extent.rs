//! How long a phase lasts: a time, or a number of operations.

use std::{borrow::Cow, fmt, str::FromStr, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::number;

/// How long a phase lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Until this much time has passed.
    Time(Duration),
    /// Until this many operations have been issued.
    Operations(u64),
}

impl FromStr for Extent {
    type Err = String;

    fn from_str(text: &str) -> Result<Extent, String> {
        if let Ok(operations) = number::whole(text) {
            return Ok(Extent::Operations(operations));
        }
        parse_duration(text).map(Extent::Time).map_err(|_| {
            format!(
                "'{text}' is neither a number of operations nor a time: write for example 20000, \
                 1e6, 500ms or 2s"
            )
        })
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extent::Time(time) => f.write_str(&show_duration(*time)),
            Extent::Operations(count) => write!(f, "{count}"),
        }
    }
}

impl Serialize for Extent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Extent::Operations(count) => serializer.serialize_u64(*count),
            time => serializer.collect_str(time),
        }
    }
}

impl<'de> Deserialize<'de> for Extent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Extent, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Extent;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of operations or a time such as \"2s\" or \"500ms\"")
            }

            fn visit_u64<E: de::Error>(self, count: u64) -> Result<Extent, E> {
                Ok(Extent::Operations(count))
            }

            fn visit_i64<E: de::Error>(self, count: i64) -> Result<Extent, E> {
                u64::try_from(count)
                    .map(Extent::Operations)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(count), &self))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Extent, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Extent {
    fn schema_name() -> Cow<'static, str> {
        "Extent".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number of operations, or a time such as \"2s\" or \"500ms\".",
            "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "string" }],
        })
    }
}

/// A length of time as written: `"2s"`, `"500ms"`, `"1m 30s"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(pub Duration);

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Time, String> {
        parse_duration(text).map(Time)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&show_duration(self.0))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Time {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A time such as \"2s\", \"500ms\" or \"1m 30s\".",
            "type": "string",
        })
    }
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("'{text}' is no time: write for example 500ms, 2s or 1m30s");
    let parsed: jiff::SignedDuration = text.trim().parse().map_err(|_| wrong())?;
    Duration::try_from(parsed).map_err(|_| wrong())
}

/// A time in the form that [`Time`] reads.
pub fn show_duration(time: Duration) -> String {
    match jiff::SignedDuration::try_from(time) {
        Ok(signed) => format!("{signed:#}"),
        Err(_) => format!("{}s", time.as_secs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_read_and_show_the_same() {
        for (text, extent) in [
            ("2s", Extent::Time(Duration::from_secs(2))),
            ("500ms", Extent::Time(Duration::from_millis(500))),
            ("1m 30s", Extent::Time(Duration::from_secs(90))),
            ("200000", Extent::Operations(200_000)),
        ] {
            assert_eq!(text.parse(), Ok(extent));
            let shown = serde_json::to_value(extent).unwrap();
            assert_eq!(serde_json::from_value::<Extent>(shown).unwrap(), extent, "{text}");
        }
        assert_eq!("1_000".parse(), Ok(Extent::Operations(1000)));
        assert_eq!("1e6".parse(), Ok(Extent::Operations(1_000_000)));
        for wrong in ["", "-2s", "2 parsecs", "fast"] {
            assert!(wrong.parse::<Extent>().is_err(), "{wrong}");
        }
    }
}
