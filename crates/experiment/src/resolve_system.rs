//! From a system as named to its driver, layout, settings and place.

use assay_model::{Durability, redact};
use assay_systems::{
    Driver, Layout, Place,
    registry::{self, DRIVERS},
};

use crate::{
    plan::{NULL, PlanError, SystemPlan, TargetPlan},
    spec::SystemSpec,
    system_name::{self, SystemName},
};

pub(crate) fn find_driver(name: &str) -> Result<&'static Driver, PlanError> {
    registry::find(name).ok_or_else(|| PlanError::UnknownSystem {
        name: name.to_owned(),
        nearest: DRIVERS
            .iter()
            .map(|driver| driver.name)
            .min_by_key(|known| strsim::levenshtein(known, name))
            .expect("there are drivers"),
    })
}

pub(crate) fn find_layout(
    driver: &'static Driver,
    layout: Option<&str>,
) -> Result<&'static Layout, PlanError> {
    driver.layout(layout).ok_or_else(|| PlanError::UnknownLayout {
        system: driver.name.to_owned(),
        layout: layout.unwrap_or_default().to_owned(),
        known: driver.layouts.iter().map(|layout| layout.name).collect::<Vec<_>>().join(", "),
    })
}

/// The systems of an experiment, in order.
pub(crate) fn resolve_systems(specs: Vec<SystemSpec>) -> Result<Vec<SystemPlan>, PlanError> {
    let mut systems: Vec<SystemPlan> = Vec::with_capacity(specs.len());
    for spec in specs {
        let follows_url =
            matches!(systems.last(), Some(SystemPlan { target: TargetPlan::Attach { .. }, .. }));
        let ends_url = matches!(&spec, SystemSpec::Name(text) if text.contains('@'));
        systems.push(resolve_system(spec).map_err(|error| {
            match follows_url && ends_url {
            // It may be the rest of a password: nothing of it is shown.
            true => PlanError::BadSystem(
                "what follows the comma after an address names no system: if the comma is part of \
                 the password, write %2C for it"
                    .to_owned(),
            ),
            false => error,
        }
        })?);
    }
    distinct_labels(systems)
}

fn name_of(spec: SystemSpec) -> Result<SystemName, String> {
    match spec {
        SystemSpec::Name(text) => text.parse(),
        SystemSpec::Table(table) => Ok(SystemName {
            driver: table.name,
            layout: table.layout,
            label: table.label,
            settings: table
                .settings
                .into_iter()
                .map(|(name, value)| (name, value.to_string()))
                .collect(),
            url: table.url,
        }),
    }
}

/// What a system is called in tables, whether or not there is a driver of its name.
pub(crate) fn label_of(spec: &SystemSpec) -> String {
    match name_of(spec.clone()) {
        Ok(SystemName { label: Some(label), .. }) => label,
        Ok(SystemName { driver, layout: Some(layout), .. }) => format!("{driver}:{layout}"),
        Ok(SystemName { driver, .. }) => driver,
        Err(_) => "a system".to_owned(),
    }
}

pub(crate) fn resolve_system(spec: SystemSpec) -> Result<SystemPlan, PlanError> {
    let name = name_of(spec).map_err(PlanError::BadSystem)?;
    let driver = find_driver(&name.driver)?;
    let layout = find_layout(driver, name.layout.as_deref())?;
    let target = match (driver.place, &name.url) {
        (Place::Embedded | Place::Library { .. }, None) => TargetPlan::Embedded,
        (Place::Embedded | Place::Library { .. }, Some(_)) => {
            let name = driver.name;
            return Err(PlanError::BadSystem(format!(
                "{name} runs inside Assay: it has no URL; write just '{name}'"
            )));
        }
        (Place::Server { recipe, .. }, None) => TargetPlan::Launch { recipe: recipe.to_owned() },
        (Place::Server { default_port, .. }, Some(url)) => {
            let endpoint =
                system_name::endpoint(url, default_port).map_err(PlanError::BadSystem)?;
            TargetPlan::Attach { url: redact(url), default_port, password: endpoint.password }
        }
    };
    // A server's recipe takes settings of its own; other stores have only the driver's.
    if !matches!(driver.place, Place::Server { .. })
        && let Some(unknown) = name.settings.keys().find(|key| !driver.has_setting(key))
    {
        let known: Vec<_> = driver.settings.iter().map(|setting| setting.name).collect();
        return Err(PlanError::BadSystem(format!(
            "{} has no setting '{unknown}': it has {}",
            driver.name,
            if known.is_empty() { "none".to_owned() } else { known.join(", ") }
        )));
    }
    let label = name.label.unwrap_or_else(|| match name.layout {
        Some(_) => format!("{}:{}", driver.name, layout.name),
        None => driver.name.to_owned(),
    });
    Ok(SystemPlan {
        label,
        driver: driver.name.to_owned(),
        layout: layout.name.to_owned(),
        settings: name.settings,
        target,
    })
}

fn distinct_labels(systems: Vec<SystemPlan>) -> Result<Vec<SystemPlan>, PlanError> {
    for (i, system) in systems.iter().enumerate() {
        if systems[..i].iter().any(|other| other.label == system.label) {
            return Err(PlanError::BadSystem(format!(
                "two systems are called '{0}': tell them apart by labels, as in {0}@a and {0}@b",
                system.label
            )));
        }
    }
    Ok(systems)
}

pub(crate) fn check_durability(system: &SystemPlan, wanted: Durability) -> Result<(), PlanError> {
    let capabilities = (find_driver(&system.driver)?.capabilities)(&system.layout);
    // The No-DB line stands beside every level: it has nothing to lose.
    if system.driver == NULL || capabilities.durability_setting(wanted).is_some() {
        return Ok(());
    }
    let nearest = capabilities.nearest_durability(wanted);
    Err(PlanError::NoSuchDurability {
        system: system.label.clone(),
        wanted,
        nearest,
        setting: capabilities.durability_setting(nearest).unwrap_or_default().to_owned(),
    })
}
