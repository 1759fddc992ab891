//! From one size of cache to the setting that a product has for it.

use assay_systems::{
    cache::{Cache, CacheSize},
    registry,
};

use crate::plan::{PlanError, SystemPlan, TargetPlan};

/// Gives a system the cache. A product's own setting, where the system names one, stays as it is.
pub(crate) fn size_cache(system: &mut SystemPlan, size: CacheSize) -> Result<(), PlanError> {
    let refused = |why: String| Err(PlanError::BadValue { field: "cache", why });
    let label = &system.label;
    let (setting, value, least_mib) = match registry::find(&system.driver)
        .and_then(|driver| driver.cache.as_ref())
    {
        Some(Cache::Unsized(_)) => return Ok(()),
        Some(Cache::Sized { setting, value, least_mib, .. }) => (*setting, value, *least_mib),
        None => {
            return refused(format!(
                "which setting of {label} is its cache's is not known: leave it out, and set each \
                 system's by its own name, as in {}+NAME=VALUE",
                system.driver
            ));
        }
    };
    if matches!(system.target, TargetPlan::Attach { .. }) {
        return refused(format!(
            "{label} runs already, with the cache that it was started with: leave the URL out and \
             Assay starts one, or leave the cache out and set {setting} there"
        ));
    }
    if size.mib() < least_mib {
        return refused(format!(
            "{size} is less than the {least_mib}MiB that {label} takes at least ({setting})"
        ));
    }
    let plain = |name: &str| name.to_ascii_lowercase().replace('-', "_");
    if !system.settings.keys().any(|given| plain(given) == plain(setting)) {
        system.settings.insert(setting.to_owned(), value(size.mib()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::plan;

    #[test]
    fn one_size_becomes_each_products_own_setting() {
        let plan = plan(
            r#"
            systems = ["null", "sqlite", "redis", "postgres", "postgres@own+Shared-Buffers=1GB", "mysql"]
            cache = "2GiB"
            "#,
        )
        .unwrap();
        let settings: Vec<Vec<(&str, &str)>> = plan
            .cells
            .iter()
            .map(|cell| cell.system.settings.iter().map(|(k, v)| (&**k, &**v)).collect())
            .collect();
        assert_eq!(
            settings,
            [
                vec![],
                vec![("cache_mib", "2048")],
                vec![],
                vec![("shared_buffers", "2048MB")],
                vec![("Shared-Buffers", "1GB")],
                vec![("innodb_buffer_pool_size", "2048M")],
            ]
        );
        let cell = serde_json::to_value(&plan.cells[0]).unwrap();
        assert_eq!((&cell["cache"], &cell["ram_disk"]), (&"2GiB".into(), &false.into()));
    }

    #[test]
    fn a_cache_that_cannot_be_had_is_refused_with_the_next_step() {
        for (system, size, next) in [
            ("mongodb", "128MiB", "256MiB"),
            ("postgres=postgres://h", "1GiB", "leave the URL out"),
            ("aerospike=http://h", "1GiB", "is not known"),
        ] {
            let error = plan(&format!("systems = [\"{system}\"]\ncache = \"{size}\"")).unwrap_err();
            assert!(error.starts_with("cache: ") && error.contains(next), "{error}");
        }
    }
}
