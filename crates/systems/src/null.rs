//! The No-DB line: a system that answers at once and stores nothing. What it costs to drive is
//! what the harness costs.

use assay_model::{Answer, Capabilities, FieldValue, Operation, Outcome};

use crate::{
    Client, Driver, Footprint, Identity, Layout, Loader, Opening, Place, Session, System,
    SystemError, Verified, cache::Cache,
};

/// The registry line.
pub static DRIVER: Driver = Driver {
    name: "null",
    summary: "no store at all: what the harness itself costs (the No-DB line)",
    layouts: &[Layout { name: "none", summary: "nothing is stored" }],
    settings: &[],
    place: Place::Embedded,
    verified: Verified::ByTests,
    cache: Some(Cache::Unsized("it stores nothing")),
    rests: |_| true,
    capabilities: |_| Capabilities {
        lookup: assay_model::Support::Native,
        count: assay_model::Support::Unsupported("nothing is stored"),
        ..Capabilities::IN_MEMORY
    },
    open: |_: Opening| Ok(Box::new(Null)),
};

struct Null;

impl System for Null {
    fn prepare(&self) -> Result<(), SystemError> {
        Ok(())
    }

    fn loader(&self) -> Result<Box<dyn Loader + '_>, SystemError> {
        Ok(Box::new(Null))
    }

    fn connect(&self) -> Result<Client, SystemError> {
        Ok(Client::Call(Box::new(Null)))
    }

    fn count(&self) -> Result<u64, SystemError> {
        Ok(0)
    }

    fn footprint(&self) -> Result<Footprint, SystemError> {
        Ok(Footprint::default())
    }

    fn identity(&self) -> Result<Identity, SystemError> {
        Ok(Identity {
            version: concat!("Assay ", env!("CARGO_PKG_VERSION")).into(),
            settings: vec![],
        })
    }

    fn remove(&self) -> Result<(), SystemError> {
        Ok(())
    }
}

impl Loader for Null {
    fn insert(&mut self, _: &[u8], _: &[FieldValue<'_>]) -> Result<(), SystemError> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), SystemError> {
        Ok(())
    }
}

impl Session for Null {
    fn execute(&mut self, operation: &Operation<'_>, _: &mut Answer) -> Outcome {
        // The operation must exist, or the compiler would leave out its making.
        std::hint::black_box(operation);
        Outcome::Done
    }
}
