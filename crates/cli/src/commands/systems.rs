//! `assay systems`: what is found, where, which version, what each can do, how to get the others.

use std::{io::Write, process::ExitCode};

use assay_model::Support;
use assay_provision::{Folders, Installed, InstalledLibrary};
use assay_systems::{Driver, Place, cache::Cache, registry::DRIVERS};
use serde_json::json;

use crate::{args::SystemsArguments, mistake::mistaken, speech::out};

/// Lists the systems, briefly or in full.
pub fn systems(arguments: SystemsArguments) -> anyhow::Result<ExitCode> {
    let folders = Folders::from_env();
    let drivers = match arguments.names.is_empty() {
        true => DRIVERS.to_vec(),
        false => named(&arguments.names)?,
    };
    let mut out = out();
    for driver in drivers {
        let found = Found::look(driver, &folders);
        if arguments.json {
            writeln!(out, "{}", found.json())?;
        } else {
            found.print(&mut out, !arguments.names.is_empty())?;
        }
    }
    if !arguments.json && arguments.names.is_empty() {
        writeln!(out, "\n`assay systems NAME` says everything of one: layouts, settings, levels.")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn named(names: &[String]) -> anyhow::Result<Vec<&'static Driver>> {
    names
        .iter()
        .map(|name| match assay_systems::registry::find(name) {
            Some(driver) => Ok(driver),
            None => mistaken!("unknown system '{name}': `assay systems` lists all"),
        })
        .collect()
}

/// A driver and what was found of its server or library.
pub struct Found {
    /// The driver.
    pub driver: &'static Driver,
    needed: Needed,
}

/// What a driver needs beside Assay.
enum Needed {
    Nothing,
    Server(Installed),
    Library(InstalledLibrary),
    /// One of them, and why it is not there.
    Missing(String),
}

impl Found {
    /// Looks for what a driver needs.
    pub fn look(driver: &'static Driver, folders: &Folders) -> Found {
        let needed = match driver.place {
            Place::Embedded => None,
            Place::Library { library } => assay_provision::library(library).map(|library| {
                assay_provision::require_library(library, folders).map(Needed::Library)
            }),
            Place::Server { recipe, .. } => assay_provision::recipe(recipe)
                .map(|recipe| assay_provision::require(recipe, folders).map(Needed::Server)),
        };
        let needed = needed.unwrap_or(Ok(Needed::Nothing));
        Found { driver, needed: needed.unwrap_or_else(|error| Needed::Missing(error.to_string())) }
    }

    /// Whether the system can be run here.
    pub fn is_ready(&self) -> bool {
        !matches!(self.needed, Needed::Missing(_))
    }

    /// Why the system cannot be run here, and how to get what it needs.
    pub fn missing(&self) -> Option<&str> {
        match &self.needed {
            Needed::Missing(why) => Some(why),
            _ => None,
        }
    }

    /// Why what was found is too old for a layout, if it is.
    pub fn too_old_for(&self, layout: &str) -> Option<String> {
        let Needed::Server(server) = &self.needed else { return None };
        let why = self.driver.needs_newer(layout, &server.version)?;
        Some(format!("{why} ({})", server.binary.display()))
    }

    fn status(&self) -> String {
        match &self.needed {
            Needed::Nothing => "in the binary".into(),
            Needed::Server(server) => format!("{} at {}", server.version, server.binary.display()),
            Needed::Library(InstalledLibrary { path, version, .. }) => match version {
                Some(version) => format!("{version} at {}", path.display()),
                None => format!("the library at {}", path.display()),
            },
            Needed::Missing(why) => why.clone(),
        }
    }

    fn print(&self, out: &mut dyn Write, full: bool) -> std::io::Result<()> {
        let driver = self.driver;
        let mark = if self.is_ready() { "✓" } else { "✗" };
        writeln!(out, "{mark} {:<16} {}", driver.name, driver.summary)?;
        writeln!(out, "  {:<16} {}", "", self.status())?;
        if let Some(remark) = driver.verified.remark() {
            writeln!(out, "  {:<16} {remark}", "")?;
        }
        if !full {
            return Ok(());
        }
        for layout in driver.layouts {
            writeln!(out, "\n  layout {}:{}: {}", driver.name, layout.name, layout.summary)?;
            let can = (driver.capabilities)(layout.name);
            for (what, support) in [
                ("scans", &can.scan),
                ("lookups", &can.lookup),
                ("deletes", &can.delete),
                ("counting", &can.count),
            ] {
                match support {
                    Support::Native => writeln!(out, "    {what}: yes")?,
                    Support::Emulated(how) => writeln!(out, "    {what}: by the driver: {how}")?,
                    Support::InPart(what_not) => writeln!(out, "    {what}: in part: {what_not}")?,
                    Support::Unsupported(why) => writeln!(out, "    {what}: no: {why}")?,
                }
            }
            for (level, setting) in can.durability {
                writeln!(out, "    durability {level}: {setting}")?;
            }
        }
        match &driver.cache {
            Some(Cache::Sized { setting, value, least_mib, reason }) => writeln!(
                out,
                "\n  --cache 1GiB is {setting}={}, at least {least_mib}MiB: {reason}",
                value(1024)
            )?,
            Some(Cache::Unsized(why)) => writeln!(out, "\n  --cache changes nothing: {why}")?,
            None => writeln!(out, "\n  --cache is refused: the setting of its cache is not known")?,
        }
        let server_settings = match &self.needed {
            Needed::Server(installed) => installed.recipe.settings,
            _ => &[],
        };
        if !driver.settings.is_empty() || !server_settings.is_empty() {
            writeln!(out, "\n  settings, as in {}+NAME=VALUE:", driver.name)?;
        }
        for setting in driver.settings {
            setting_line(out, setting.name, setting.default, setting.summary)?;
        }
        for setting in server_settings {
            setting_line(out, setting.name, setting.default, setting.summary)?;
        }
        Ok(())
    }

    fn json(&self) -> serde_json::Value {
        let driver = self.driver;
        let layouts: Vec<_> = driver
            .layouts
            .iter()
            .map(|layout| {
                let can = (driver.capabilities)(layout.name);
                let levels: serde_json::Map<_, _> = can
                    .durability
                    .iter()
                    .map(|(level, setting)| (level.name().to_owned(), json!(setting)))
                    .collect();
                json!({
                    "name": layout.name, "summary": layout.summary, "scan": can.scan,
                    "delete": can.delete, "count": can.count, "durability": levels,
                })
            })
            .collect();
        let needed = match &self.needed {
            Needed::Nothing => json!(null),
            Needed::Server(installed) => {
                json!({ "version": installed.version, "binary": installed.binary })
            }
            Needed::Library(library) => {
                json!({ "version": library.version, "library": library.path })
            }
            Needed::Missing(why) => json!({ "missing": why }),
        };
        let (server, library) = match driver.place {
            Place::Library { .. } => (json!(null), needed),
            _ => (needed, json!(null)),
        };
        json!({
            "name": driver.name, "summary": driver.summary, "ready": self.is_ready(),
            "server": server, "library": library, "layouts": layouts,
            "remark": driver.verified.remark(), "cache_setting": match &driver.cache {
                Some(Cache::Sized { setting, .. }) => Some(*setting),
                _ => None,
            },
        })
    }
}

fn setting_line(
    out: &mut dyn Write,
    name: &str,
    default: &str,
    summary: &str,
) -> std::io::Result<()> {
    let default = if default.is_empty() { String::new() } else { format!(" [{default}]") };
    writeln!(out, "    {name}{default}: {summary}")
}
