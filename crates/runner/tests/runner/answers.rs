//! The check after the phases, and the check of every read.

use std::sync::Arc;

use assay_experiment::{Cell, Extent, Plan, Spec, plan::Extras};
use assay_model::Durability;
use assay_runner::{
    check::{self, Done},
    phase::{self, Clients, Order},
};
use assay_systems::{
    Client, Opening, System, Target,
    registry::{self, Settings},
};
use assay_workload::{Prepared, Stream};

use crate::world::{World, workload};

struct Store {
    cell: Cell,
    world: World,
    system: Box<dyn System>,
}

/// The `memory` store of workload `name`, loaded.
fn store(name: &str, records: u64) -> Store {
    let text = format!(
        "systems = [\"memory\"]\nworkloads = [\"ycsb/{name}\"]\noperations = 1000\nwarmup = 0"
    );
    let spec = Spec::parse(&text, "test").unwrap();
    let mut cell = Plan::resolve(spec, Extras::default()).unwrap().cells.remove(0);
    cell.parameters = workload(name);
    cell.parameters.record_count = records;
    let world = World::new(cell.parameters.clone());
    let system = (registry::find("memory").unwrap().open)(Opening {
        target: Target::Embedded { data_dir: std::env::temp_dir() },
        layout: "map".into(),
        schema: Arc::new(world.workload.schema()),
        durability: Durability::None,
        settings: Settings::new(),
        timeout: std::time::Duration::from_secs(1),
    })
    .unwrap();
    system.prepare().unwrap();
    let store = Store { cell, world, system };
    store.insert(store.world.workload.loaded_keys(), None);
    store
}

impl Store {
    /// Inserts records; `strange` is given the value of another record.
    fn insert(&self, numbers: std::ops::Range<u64>, strange: Option<u64>) {
        let World { workload, pool, acknowledged, .. } = &self.world;
        let mut stream = Stream::new(workload, pool, acknowledged, 1);
        let mut loader = self.system.loader().unwrap();
        let (mut record, mut other) = (Prepared::new(), Prepared::new());
        for number in numbers {
            stream.load_record(number, &mut record);
            stream.load_record(number + 1, &mut other);
            let values = if strange == Some(number) { other.values() } else { record.values() };
            loader.insert(record.key(), values).unwrap();
        }
        loader.finish().unwrap();
    }

    fn done(&self, inserted: u64) -> Done {
        let first = self.world.workload.first_inserted_key();
        Done { inserted, failed_inserts: 0, failed: 0, inserted_keys: first..first + inserted }
    }

    fn check(&self, done: &Done) -> check::Answers {
        check::check(&self.cell, &*self.system, &self.world.pool, done).unwrap()
    }
}

#[test]
fn a_store_that_holds_what_it_acknowledged_is_right() {
    let store = store("d", 500);
    store.insert(500..700, None);
    let answers = store.check(&store.done(200));
    assert_eq!((answers.wrong, answers.sampled, answers.wrong_count()), (0, 700, None));
    assert_eq!((answers.record_count, answers.expected_count), (Some(700), 700));
}

#[test]
fn a_lost_insert_is_found_by_the_count_and_by_the_sample() {
    let store = store("d", 500);
    store.insert(500..699, None);
    let answers = store.check(&store.done(200));
    let count = answers.wrong_count().expect("a record is missing");
    assert!(count.contains("699") && count.contains("700"), "{count}");
    assert_eq!(answers.wrong, 1);
    assert!(answers.first_wrong.unwrap().contains("is missing"));
}

#[test]
fn an_insert_whose_answer_was_lost_may_be_there_or_not() {
    let store = store("d", 500);
    store.insert(500..699, None);
    // One of two hundred failed: 199 were acknowledged.
    let mut done = Done { failed_inserts: 1, failed: 1, ..store.done(200) };
    done.inserted = 199;
    let without = store.check(&done);
    assert_eq!((without.wrong, without.wrong_count()), (0, None));
    store.insert(699..700, None);
    let with = store.check(&done);
    assert_eq!((with.wrong, with.wrong_count()), (0, None));
    store.insert(700..701, None);
    assert!(store.check(&done).wrong_count().is_some());
}

#[test]
fn a_wrong_value_in_an_inserted_record_is_found_though_nothing_was_loaded() {
    let store = store("load", 0);
    store.insert(0..50, Some(17));
    let answers = store.check(&store.done(50));
    assert_eq!((answers.sampled, answers.wrong), (50, 1));
}

#[test]
fn operations_by_number_without_warm_up_are_compared_with_their_updates() {
    let mut store = store("a", 100);
    assert!(store.check(&store.done(0)).covers_updates);
    assert!(!store.check(&Done { failed: 1, ..store.done(0) }).covers_updates);
    store.cell.measure = Extent::Time(std::time::Duration::from_secs(1));
    assert!(!store.check(&store.done(0)).covers_updates);
}

#[test]
fn every_kind_of_read_that_is_right_passes_the_verification() {
    for name in ["a", "d", "e", "f"] {
        let store = store(name, 500);
        let connect = || match store.system.connect().unwrap() {
            Client::Call(session) => session,
            Client::Wire(_) => panic!("it is a library"),
        };
        let mut clients = Clients::Call(vec![connect(), connect()]);
        let order = Order { verify: true, ..store.world.order(Extent::Operations(2000)) };
        let report = phase::run(&order, &mut clients);
        assert_eq!(report.recorded.messages, [""; 0], "workload {name}");
        assert_eq!(report.recorded.failures(), 0, "workload {name}");
        assert!(report.verified > 900, "workload {name}: {}", report.verified);
    }
}
