//! Each system has a page in `docs/systems` that names its layouts, its settings and its levels.

use std::{fs, path::Path};

use assay_systems::{Place, registry::DRIVERS};

#[test]
fn every_system_is_documented() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/systems");
    for driver in DRIVERS {
        let page = match driver.name {
            "valkey" => "redis",
            "valkey-cluster" => "redis-cluster",
            "redis-instances" | "valkey-instances" => "leveling",
            "mariadb" => "mysql",
            "secantusdb" => "mongodb",
            "null" => "memory",
            "lmdb" | "redb" | "fjall" | "rocksdb" => "libraries",
            name => name,
        };
        let path = folder.join(page).with_extension("md");
        let text = fs::read_to_string(&path).unwrap_or_else(|error| {
            panic!("{} has no page {}: {error}", driver.name, path.display())
        });
        let names = |name: &str| {
            assert!(text.contains(&format!("`{name}`")), "{}: {name} is not there", path.display());
        };
        driver.layouts.iter().for_each(|layout| names(layout.name));
        driver.settings.iter().for_each(|setting| names(setting.name));
        for layout in driver.layouts {
            (driver.capabilities)(layout.name).durability.iter().for_each(|(level, _)| {
                names(level.name());
            });
        }
        if let Place::Library { library } = driver.place {
            assert!(assay_provision::library(library).is_some(), "{library} has no recipe");
        }
        if let Place::Server { recipe, .. } = driver.place {
            let recipe = assay_provision::recipe(recipe).expect("the driver's recipe exists");
            recipe.settings.iter().for_each(|setting| names(setting.name));
        }
    }
}
