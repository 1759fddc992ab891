//! What the tests of drivers share: opening a driver, and the tables that it is checked with.

use std::{sync::Arc, time::Duration};

use assay_model::{Capabilities, Durability, Schema, Support};
use assay_systems::{
    Client, Driver, Opening, Session, System, Target,
    blocking::Blocking,
    conformance::{Content, Misses, Subject, Updates, check},
    registry,
};

/// One driver in one layout.
pub struct Candidate {
    /// The driver's name.
    pub driver: &'static str,
    /// The layout's name.
    pub layout: &'static str,
    /// What keys and values may hold.
    pub content: Content,
    /// What becomes of concurrent updates.
    pub updates: Updates,
    /// What becomes of updates and deletes of missing keys.
    pub misses: Misses,
    /// The level it is opened at.
    pub durability: Durability,
}

impl Candidate {
    /// One that keeps any bytes and loses no update, opened without durability.
    pub fn new(driver: &'static str, layout: &'static str) -> Candidate {
        Candidate {
            driver,
            layout,
            content: Content::Bytes,
            updates: Updates::Isolated,
            misses: Misses::Told,
            durability: Durability::None,
        }
    }

    /// The registry's driver.
    pub fn driver(&self) -> &'static Driver {
        registry::find(self.driver).expect("the driver is in the registry")
    }

    /// What the driver declares for the layout.
    pub fn capabilities(&self) -> Capabilities {
        (self.driver().capabilities)(self.layout)
    }

    /// Opens it for `schema`.
    pub fn open(&self, target: Target, schema: &Arc<Schema>) -> Box<dyn System> {
        let driver = self.driver();
        assert!(driver.layout(Some(self.layout)).is_some(), "no layout {}", self.layout);
        let opening = Opening {
            target,
            layout: self.layout.into(),
            schema: Arc::clone(schema),
            durability: self.durability,
            settings: Default::default(),
            timeout: Duration::from_secs(30),
        };
        (driver.open)(opening).expect("the driver opens")
    }

    /// Runs the conformance test with tables of one field and of several.
    pub fn conforms(&self, target: impl Fn() -> Target) {
        let indexes: &[_] = match self.capabilities().lookup {
            Support::Unsupported(_) => &[],
            _ => &[(1, 1), (3, 2)],
        };
        for &(fields, indexes) in [(1, 0), (10, 0)].iter().chain(indexes) {
            let schema = Schema::new("usertable", "field", fields).with_indexes(indexes);
            let schema = Arc::new(schema);
            let system = self.open(target(), &schema);
            let name = format!(
                "{}:{} ({fields} fields, {indexes} indexes, {})",
                self.driver, self.layout, self.durability
            );
            let report = check(&Subject {
                name: &name,
                system: &*system,
                capabilities: &self.capabilities(),
                schema: &schema,
                content: self.content,
                updates: self.updates,
                misses: self.misses,
            })
            .unwrap_or_else(|failure| panic!("{failure}"));
            let least = if indexes > 0 { 4 } else { 15 };
            assert!(report.passed.len() >= least, "{name}: only {:?}", report.passed);
        }
    }
}

/// One more client of the system, which waits for each answer.
pub fn session(system: &dyn System) -> Box<dyn Session> {
    match system.connect().unwrap_or_else(|error| panic!("{error}")) {
        Client::Wire(client) => Box::new(Blocking::new(client)),
        Client::Call(session) => session,
    }
}
