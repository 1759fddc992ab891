//! One size for every product's cache: which of a product's own settings it is, and why that one.
//!
//! It is for levelling the ground: systems that are to hold all data in memory get the same room for it.
//! A driver that says nothing of its cache is refused a size.

use std::{fmt, str::FromStr};

use thiserror::Error;

/// How a store caches what it keeps elsewhere.
#[derive(Debug)]
pub enum Cache {
    /// It has a cache whose size can be set.
    Sized {
        /// The setting, of the driver or of the server.
        setting: &'static str,
        /// The setting's value for a size in MiB.
        value: fn(mib: u64) -> String,
        /// The smallest size that the product takes, in MiB.
        least_mib: u64,
        /// What the setting bounds, and why it is the one.
        reason: &'static str,
    },
    /// There is none to size, and why.
    Unsized(&'static str),
}

/// The size of a cache in bytes, a whole number of MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSize {
    mib: u64,
}

/// The largest size that is taken: 1 TiB.
const MOST_MIB: u64 = 1 << 20;

/// A text that is no size of a cache.
#[derive(Debug, Error)]
#[error("'{0}' is no size of a cache: write whole MiB or GiB up to 1024GiB, as in 512MiB or 4GiB")]
pub struct NoCacheSize(String);

impl CacheSize {
    /// The size in MiB.
    pub fn mib(self) -> u64 {
        self.mib
    }
}

impl FromStr for CacheSize {
    type Err = NoCacheSize;

    fn from_str(text: &str) -> Result<CacheSize, NoCacheSize> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match &text[digits.len()..] {
            "MiB" => Some(1),
            "GiB" => Some(1024),
            _ => None,
        };
        // Not by its own parser alone: that takes a sign.
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.parse::<u64>().ok().filter(|_| plain);
        let mib = number.zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
        mib.filter(|mib| (1..=MOST_MIB).contains(mib))
            .map(|mib| CacheSize { mib })
            .ok_or_else(|| NoCacheSize(text.to_owned()))
    }
}

impl fmt::Display for CacheSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.mib % 1024 {
            0 => write!(f, "{}GiB", self.mib / 1024),
            _ => write!(f, "{}MiB", self.mib),
        }
    }
}

/// A size as a plain number of MiB.
pub(crate) fn in_mib(mib: u64) -> String {
    mib.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Place, registry};

    #[test]
    fn sizes_are_read_and_shown() {
        for (text, mib, shown) in
            [("512MiB", 512, "512MiB"), ("1GiB", 1024, "1GiB"), ("2048MiB", 2048, "2GiB")]
        {
            let size: CacheSize = text.parse().unwrap();
            assert_eq!((size.mib(), size.to_string().as_str()), (mib, shown));
        }
        for text in [
            "",
            "1",
            "GiB",
            "0MiB",
            "1GB",
            "+1GiB",
            "1.5GiB",
            "1025GiB",
            "é",
            "9999999999999999999GiB",
        ] {
            let refused = text.parse::<CacheSize>().unwrap_err().to_string();
            assert!(refused.contains("4GiB"), "{refused}");
        }
    }

    #[test]
    fn each_sized_cache_is_a_setting_that_the_product_has() {
        for driver in registry::DRIVERS {
            let Some(Cache::Sized { setting, value, least_mib, .. }) = &driver.cache else {
                continue;
            };
            let of_server = match driver.place {
                Place::Server { recipe, .. } => assay_provision::recipe(recipe)
                    .is_some_and(|found| found.settings.iter().any(|one| one.name == *setting)),
                _ => false,
            };
            assert!(driver.has_setting(setting) || of_server, "{}: {setting}", driver.name);
            assert!(!value(*least_mib).is_empty());
        }
    }

    #[test]
    fn values_are_in_the_products_own_units() {
        let value = |name| match registry::find(name).map(|driver| &driver.cache) {
            Some(Some(Cache::Sized { value, .. })) => value(1536),
            _ => panic!("{name} has a cache"),
        };
        for (name, expected) in [
            ("sqlite", "1536"),
            ("duckdb", "1536MiB"),
            ("postgres", "1536MB"),
            ("mysql", "1536M"),
            ("mongodb", "1.5"),
        ] {
            assert_eq!(value(name), expected, "{name}");
        }
    }
}
