//! The settings that a server is started with.

use std::collections::BTreeMap;

use assay_model::Durability;

use crate::{
    error::StartError,
    launch::{Size, Transport},
    recipe::{Level, Recipe},
};

/// The recipe's level for `durability`, or an error that names the nearest one it has.
pub(crate) fn level(
    recipe: &'static Recipe,
    durability: Durability,
) -> Result<&'static Level, StartError> {
    recipe.level(durability).ok_or_else(|| {
        // The nearest is the strongest below; every recipe has `none`.
        let below = recipe.levels.iter().map(|level| level.durability);
        let nearest = below.filter(|&level| level < durability).max().unwrap_or_default();
        StartError::Durability { name: recipe.name, asked: durability, nearest }
    })
}

/// The value of a setting that is as many as the cores the server may use.
pub(crate) const CORES: &str = "cores";

/// The settings of one start: Assay's defaults, what was given, and the durability level's.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The port that was asked for.
    pub port: Option<u16>,
    /// All others, by name.
    pub applied: BTreeMap<String, String>,
}

impl Settings {
    /// With the number of cores in place of [`CORES`]. `cpus` are those that the server is confined
    /// to; `None` for all of this process's.
    pub fn on(mut self, cpus: Option<&[usize]>) -> Settings {
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        let cores = cpus.map_or_else(all, <[usize]>::len).max(1).to_string();
        for value in self.applied.values_mut().filter(|value| *value == CORES) {
            value.clone_from(&cores);
        }
        self
    }

    /// Puts them together; what was given comes last and may not touch what is reserved.
    pub fn resolve(
        recipe: &'static Recipe,
        level: &Level,
        given: &BTreeMap<String, String>,
        transport: Transport,
    ) -> Result<Settings, StartError> {
        let defaults = recipe.settings.iter().map(|setting| (setting.name, setting.default));
        let mut applied: BTreeMap<String, String> = defaults
            .filter(|(_, default)| !default.is_empty())
            .chain(level.settings.iter().copied())
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let mut port = None;
        for (given_name, value) in given {
            // As the server itself spells it: two spellings must not pass as two settings.
            let name = match recipe.word_separator {
                "" => given_name.clone(),
                separator => given_name.to_ascii_lowercase().replace(['-', '_'], separator),
            };
            let refuse = |why: &str| StartError::Setting {
                name: recipe.name,
                setting: given_name.clone(),
                why: why.to_owned(),
            };
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if name.is_empty() || name.starts_with(['-', '_', '.']) || !name.chars().all(plain) {
                return Err(refuse(&format!(
                    "is no name; known are {}; or give {}",
                    known(recipe),
                    recipe.other_settings
                )));
            }
            if value.chars().any(char::is_control) {
                return Err(refuse("the value has a control character in it"));
            }
            if value.split_whitespace().any(|word| word.starts_with("--")) {
                return Err(refuse("the value has another setting in it; give that by its name"));
            }
            if let Some((_, why)) =
                recipe.reserved.iter().find(|(held, _)| held.eq_ignore_ascii_case(&name))
            {
                return Err(refuse(why));
            }
            if name != "port" {
                applied.insert(name, value.clone());
                continue;
            }
            if transport == Transport::Unix {
                return Err(refuse("a Unix socket has no port; leave it out or use TCP"));
            }
            let number = value.parse().ok().filter(|&number: &u16| number != 0);
            port = Some(number.ok_or_else(|| refuse("a port is a number from 1 to 65535"))?);
        }
        if transport == Transport::Unix && recipe.socket_name.is_none() {
            return Err(StartError::Setting {
                name: recipe.name,
                setting: "transport".to_owned(),
                why: format!("{} listens on TCP alone; leave it out", recipe.product),
            });
        }
        if recipe.is_several() {
            Size::of(recipe, &applied, transport)?;
        }
        Ok(Settings { port, applied })
    }
}

impl Recipe {
    /// Refuses settings that the server cannot be started with at this level: what Assay decides
    /// itself, what is no setting's name. Others the server itself may still refuse.
    ///
    /// # Errors
    /// [`StartError::Setting`], or [`StartError::Durability`] if the product has no such level.
    pub fn check_settings(
        &'static self,
        durability: Durability,
        given: &BTreeMap<String, String>,
        transport: Transport,
    ) -> Result<(), StartError> {
        Settings::resolve(self, level(self, durability)?, given, transport).map(drop)
    }
}

fn known(recipe: &Recipe) -> String {
    recipe.settings.iter().map(|setting| setting.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::recipe;

    fn resolve(
        name: &str,
        durability: Durability,
        given: &[(&str, &str)],
    ) -> Result<Settings, StartError> {
        let recipe = recipe(name).expect("listed");
        let given =
            given.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        Settings::resolve(recipe, level(recipe, durability)?, &given, Transport::Tcp)
    }

    #[test]
    fn each_level_has_its_own_settings() {
        let value = |recipe, durability, setting: &str| {
            resolve(recipe, durability, &[]).expect("a level").applied.get(setting).cloned()
        };
        assert_eq!(value("redis", Durability::None, "appendonly").as_deref(), Some("no"));
        assert_eq!(
            value("valkey", Durability::Buffered, "appendfsync").as_deref(),
            Some("everysec")
        );
        assert_eq!(value("redis", Durability::Synced, "appendfsync").as_deref(), Some("always"));
        assert_eq!(value("postgres", Durability::None, "fsync").as_deref(), Some("off"));
        assert_eq!(value("postgres", Durability::Buffered, "fsync").as_deref(), Some("on"));
        assert_eq!(
            value("postgres", Durability::Buffered, "synchronous_commit").as_deref(),
            Some("off")
        );
        assert_eq!(
            value("postgres", Durability::Synced, "synchronous_commit").as_deref(),
            Some("on")
        );
    }

    #[test]
    fn a_level_that_a_product_lacks_is_refused_with_the_nearest() {
        let error = resolve("memcached", Durability::Synced, &[]).expect_err("only none");
        assert_eq!(error.to_string(), "memcached cannot promise durability 'synced': use none");
    }

    #[test]
    fn threads_are_as_many_as_the_cores_unless_given() {
        let on = |given: &[(&str, &str)], cpus: Option<&[usize]>| {
            let settings = resolve("memcached", Durability::None, given).unwrap();
            settings.on(cpus).applied["threads"].clone()
        };
        assert_eq!(on(&[], Some(&[0, 3, 5])), "3");
        assert_eq!(on(&[("threads", "7")], Some(&[0])), "7");
        assert!(on(&[], None).parse::<usize>().unwrap() >= 1);
    }

    #[test]
    fn settings_override_defaults_and_add_to_them() {
        let given =
            [("shared_buffers", "1GB"), ("JIT", "off"), ("work-mem", "7MB"), ("port", "5433")];
        let settings = resolve("postgres", Durability::None, &given).expect("good settings");
        assert_eq!(settings.applied["shared_buffers"], "1GB");
        assert_eq!(settings.applied["jit"], "off");
        assert_eq!(settings.applied["work_mem"], "7MB");
        assert_eq!(settings.applied["max_connections"], "300");
        assert_eq!(settings.port, Some(5433));
        assert!(!settings.applied.contains_key("port"));
    }

    #[test]
    fn settings_that_would_break_a_promise_are_refused() {
        for (recipe, setting) in [
            ("postgres", "fsync"),
            ("postgres", "Synchronous_Commit"),
            ("postgres", "full-page-writes"),
            ("redis", "no_appendfsync_on_rewrite"),
            ("redis", "appendfsync"),
            ("redis", "requirepass"),
            ("valkey", "bind"),
            ("redis", "--appendfsync"),
            ("redis", "a b"),
        ] {
            let error = resolve(recipe, Durability::Synced, &[(setting, "off")])
                .expect_err("refused")
                .to_string();
            assert!(error.starts_with(&format!("{recipe}: setting '{setting}': ")), "{error}");
        }
        for (setting, value) in [("maxmemory", "1\nsave 1"), ("hz", "10 --appendfsync no")] {
            assert!(resolve("redis", Durability::Synced, &[(setting, value)]).is_err(), "{value}");
        }
        for port in ["0", "65536", "x"] {
            assert!(resolve("redis", Durability::None, &[("port", port)]).is_err(), "{port}");
        }
    }
}
