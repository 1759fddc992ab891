//! What an acknowledgement promises.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// What survives once a write was acknowledged. Each system maps the levels to its own settings
/// and shows the mapping; a level that it lacks is refused.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Nothing is promised: the store may keep the data in memory only.
    #[default]
    None,
    /// The write is handed to the operating system or a log buffer and reaches the disk soon; a
    /// crash may lose the last moments.
    Buffered,
    /// The write is on stable storage before it is acknowledged.
    Synced,
}

impl Durability {
    /// Every level, weakest first.
    pub const ALL: [Durability; 3] = [Durability::None, Durability::Buffered, Durability::Synced];

    /// The level's name in experiment files, options and records.
    pub fn name(self) -> &'static str {
        match self {
            Durability::None => "none",
            Durability::Buffered => "buffered",
            Durability::Synced => "synced",
        }
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Durability {
    type Err = String;

    fn from_str(text: &str) -> Result<Durability, String> {
        Durability::ALL
            .into_iter()
            .find(|level| level.name() == text)
            .ok_or_else(|| format!("unknown durability '{text}': use none, buffered or synced"))
    }
}
