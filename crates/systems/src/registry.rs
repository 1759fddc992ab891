//! The list of drivers: a system is in Assay when it has a line in [`DRIVERS`].

use std::{collections::BTreeMap, ops::RangeInclusive, path::PathBuf, sync::Arc, time::Duration};

use assay_model::{Capabilities, Durability, Endpoint, Schema};

use crate::{
    System, SystemError, aerospike, cache::Cache, cassandra, duckdb, fjall, lmdb, memcached,
    memory, monetdb, mongodb, mysql, null, postgres, redb, redis, riak, rocksdb, slik, sqlite,
    voltdb,
};

/// Every driver, in the order in which `assay systems` lists them.
pub static DRIVERS: &[&Driver] = &[
    &null::DRIVER,
    &memory::DRIVER,
    &slik::DRIVER,
    &sqlite::DRIVER,
    &lmdb::DRIVER,
    &redb::DRIVER,
    &fjall::DRIVER,
    &rocksdb::DRIVER,
    &duckdb::DRIVER,
    &redis::REDIS,
    &redis::VALKEY,
    &redis::cluster::REDIS,
    &redis::cluster::VALKEY,
    &redis::cluster::instances::REDIS,
    &redis::cluster::instances::VALKEY,
    &memcached::DRIVER,
    &postgres::DRIVER,
    &postgres::HYPER,
    &monetdb::DRIVER,
    &mysql::MARIADB,
    &mysql::MYSQL,
    &mongodb::MONGODB,
    &mongodb::SECANTUSDB,
    &riak::DRIVER,
    &aerospike::DRIVER,
    &cassandra::DRIVER,
    &voltdb::DRIVER,
];

/// The drivers whose store stands in for another product, to test with, and that product. What they
/// measure says nothing about it.
static STAND_INS: &[(&str, &str)] = &[("secantusdb", "MongoDB")];

/// One driver: what it is called, what it can do and how it is opened.
pub struct Driver {
    /// The name on the command line, in experiment files and in records.
    pub name: &'static str,
    /// One line for `assay systems`.
    pub summary: &'static str,
    /// The ways in which it can lay a record out; the first is the default.
    pub layouts: &'static [Layout],
    /// The driver's own settings.
    pub settings: &'static [SettingDoc],
    /// Where the store runs.
    pub place: Place,
    /// Which real server or library the driver was checked against.
    pub verified: Verified,
    /// The cache whose size can be levelled with others'; `None` if nothing is known of it.
    pub cache: Option<Cache>,
    /// Whether the store does nothing between calls at a durability level: then others may be
    /// measured while it is up. A store that writes behind, compacts or cleans up must say no.
    pub rests: fn(Durability) -> bool,
    /// What the store can do in a layout (one of `layouts`).
    pub capabilities: fn(layout: &str) -> Capabilities,
    /// Opens the store. The layout and the settings' names have been checked.
    pub open: fn(Opening) -> Result<Box<dyn System>, SystemError>,
}

/// A way of laying a record out in a store.
pub struct Layout {
    /// Its name, as in `postgres:jsonb`.
    pub name: &'static str,
    /// One line for `assay systems`.
    pub summary: &'static str,
}

/// A setting of a driver.
#[derive(Clone, Copy, Debug)]
pub struct SettingDoc {
    /// Its name, as in `memory+slowdown=0.05`.
    pub name: &'static str,
    /// The value it has if not given.
    pub default: &'static str,
    /// One line for `assay systems`.
    pub summary: &'static str,
}

/// Where a store runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In Assay's own process.
    Embedded,
    /// In Assay's own process, by a shared library that is looked for on the machine.
    Library {
        /// The library's name in provisioning.
        library: &'static str,
    },
    /// In a server that the named provisioning recipe starts, or that runs already.
    Server {
        /// The recipe's name.
        recipe: &'static str,
        /// The TCP port that the server's users expect, for URLs without one.
        default_port: u16,
    },
}

impl Place {
    /// Whether the store runs in a server.
    pub fn is_server(self) -> bool {
        matches!(self, Place::Server { .. })
    }
}

/// Which real store a driver was checked against. Every one passes the conformance test where there
/// is a store for it; not every store can be had by those who test Assay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verified {
    /// Every run of the tests has the real store.
    ByTests,
    /// Somebody ran the conformance test against this one; the tests have recorded exchanges only.
    ByHand(&'static str),
    /// Nobody did: recorded exchanges from the protocol's documentation are all there is.
    Never,
}

impl Verified {
    /// What a reader of figures must know of it; `None` if there is nothing to tell.
    pub fn remark(self) -> Option<String> {
        match self {
            Verified::ByTests => None,
            Verified::ByHand(what) => Some(format!(
                "the driver was verified by hand against {what}; Assay's tests have no server of it"
            )),
            Verified::Never => Some("the driver is not verified against a server here".to_owned()),
        }
    }
}

/// A driver's settings as given, by name.
pub type Settings = BTreeMap<String, String>;

/// What a driver is opened with.
pub struct Opening {
    /// Where the store is.
    pub target: Target,
    /// One of the driver's layouts.
    pub layout: String,
    /// The table to create.
    pub schema: Arc<Schema>,
    /// A level that the driver's capabilities list.
    pub durability: Durability,
    /// The settings given, each of a name that the driver documents.
    pub settings: Settings,
    /// The longest an operation may take before it counts as timed out.
    pub timeout: Duration,
}

/// Where the store is.
#[derive(Clone, Debug)]
pub enum Target {
    /// In this process, with its files, if any, in this empty folder.
    Embedded {
        /// The folder.
        data_dir: PathBuf,
    },
    /// In this process, like `Embedded`, by a shared library.
    Library {
        /// The library, whole and made for this machine.
        library: PathBuf,
        /// The folder.
        data_dir: PathBuf,
    },
    /// A listening server.
    Server(Endpoint),
}

impl Target {
    /// The folder that `system`, a store in this process, has to itself.
    ///
    /// # Errors
    /// [`SystemError::Failed`] if the target is a server.
    pub fn embedded(self, system: &str) -> Result<PathBuf, SystemError> {
        match self {
            Target::Embedded { data_dir } => Ok(data_dir),
            Target::Library { .. } => Err(misplaced(system, "it is in Assay; it has no library")),
            Target::Server(_) => Err(misplaced(system, NO_ADDRESS)),
        }
    }

    /// The library of `system`, a store in this process that comes with one, and the folder that it
    /// has to itself.
    ///
    /// # Errors
    /// [`SystemError::Failed`] if the target is a server, or names no library.
    pub fn library(self, system: &str) -> Result<(PathBuf, PathBuf), SystemError> {
        match self {
            Target::Library { library, data_dir } => Ok((library, data_dir)),
            Target::Embedded { .. } => {
                Err(misplaced(system, "its library was not given; name the file"))
            }
            Target::Server(_) => Err(misplaced(system, NO_ADDRESS)),
        }
    }

    /// Where `system`, a server, listens.
    ///
    /// # Errors
    /// [`SystemError::Failed`] if the target is this process.
    pub fn server(self, system: &str) -> Result<Endpoint, SystemError> {
        match self {
            Target::Server(endpoint) => Ok(endpoint),
            Target::Embedded { .. } | Target::Library { .. } => {
                Err(misplaced(system, "it is a server; give its address, or let Assay start one"))
            }
        }
    }
}

/// The value of a setting that is a whole number, or `default` if it was not given.
///
/// # Errors
/// [`SystemError::BadSetting`] if the value is no whole number or lies outside `range`.
pub(crate) fn whole_number(
    system: &str,
    settings: &Settings,
    name: &str,
    default: u64,
    range: RangeInclusive<u64>,
) -> Result<u64, SystemError> {
    let Some(text) = settings.get(name) else { return Ok(default) };
    text.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
        let (least, most) = (range.start(), range.end());
        SystemError::BadSetting {
            system: system.into(),
            setting: name.into(),
            why: format!(
                "'{text}' is not a whole number from {least} to {most}, such as {default}"
            ),
        }
    })
}

const NO_ADDRESS: &str = "it runs in Assay's own process and has no address; leave the address out";

fn misplaced(system: &str, why: &str) -> SystemError {
    SystemError::Failed { system: system.into(), action: "open".into(), why: why.into() }
}

impl Driver {
    /// The layout called `name`, or the default one.
    pub fn layout(&self, name: Option<&str>) -> Option<&'static Layout> {
        match name {
            None => self.layouts.first(),
            Some(name) => self.layouts.iter().find(|layout| layout.name == name),
        }
    }

    /// The product that the driver's store stands in for where that cannot be had. Its speed says
    /// nothing about that product, and a report must say so.
    pub fn stands_in_for(&self) -> Option<&'static str> {
        STAND_INS.iter().find(|(name, _)| *name == self.name).map(|(_, product)| *product)
    }

    /// Why a server of this version cannot keep records in this layout, if it cannot.
    pub fn needs_newer(&self, layout: &str, version: &str) -> Option<String> {
        mysql::needs_newer(self.name, layout, version)
    }

    /// Whether `name` is one of the driver's own settings.
    pub fn has_setting(&self, name: &str) -> bool {
        self.settings.iter().any(|setting| setting.name == name)
    }
}

/// The driver called `name`.
pub fn find(name: &str) -> Option<&'static Driver> {
    DRIVERS.iter().copied().find(|driver| driver.name == name)
}

#[cfg(test)]
mod tests {
    use assay_model::Address;

    use super::*;

    #[test]
    fn a_stand_in_is_told_from_what_it_stands_in_for() {
        let product = |name| find(name).and_then(Driver::stands_in_for);
        assert_eq!((product("secantusdb"), product("mongodb")), (Some("MongoDB"), None));
        assert!(STAND_INS.iter().all(|(name, _)| find(name).is_some()));
    }

    #[test]
    fn a_server_that_is_too_old_for_a_layout_is_told_by_its_version() {
        let why = |name, layout, version| find(name).unwrap().needs_newer(layout, version);
        assert!(why("mysql", "json", "5.6.24").unwrap().contains("5.7.22"));
        assert_eq!(why("mysql", "row", "5.6.24"), None);
        assert_eq!(why("mysql", "json", "8.0.36"), None);
        assert_eq!(why("redis", "json", "1.0"), None);
    }

    #[test]
    fn a_target_of_the_other_kind_is_refused_with_the_next_step() {
        let address = Address::Tcp { host: "127.0.0.1".into(), port: 1 };
        // A store that keeps no files does not look at its target.
        let diskless = ["null", "memory"];
        for driver in DRIVERS.iter().filter(|driver| !diskless.contains(&driver.name)) {
            let (target, next) = match driver.place {
                Place::Embedded | Place::Library { .. } => {
                    (Target::Server(Endpoint::at(address.clone())), "leave the address out")
                }
                Place::Server { .. } => {
                    (Target::Embedded { data_dir: "unused".into() }, "give its address")
                }
            };
            let opened = (driver.open)(Opening {
                target,
                layout: driver.layouts[0].name.into(),
                schema: Arc::new(Schema::new("t", "f", 1)),
                durability: Durability::None,
                settings: Settings::new(),
                timeout: Duration::from_secs(1),
            });
            let Err(refused) = opened else { panic!("{} opened it", driver.name) };
            let refused = refused.to_string();
            assert!(refused.starts_with(driver.name) && refused.contains(next), "{refused}");
        }
    }
}
