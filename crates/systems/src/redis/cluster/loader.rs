//! The bulk loader: pipelines of about 64 KiB over all nodes, each acknowledged before the next is sent.

use assay_model::FieldValue;

use super::{super::table::Table, fleet::Fleet};
use crate::{Loader, SystemError};

const BATCH_BYTES: usize = 64 * 1024;
const ACTION: &str = "load the records";

/// Loads a table over a connection to each node.
pub(super) struct FleetLoader<'a> {
    fleet: Fleet,
    table: &'a Table,
    system: &'static str,
    /// The keys that are to be looked for before anything is written, if the cluster held keys that are
    /// not ours, and the commands that wait for that.
    guarded: Option<(Vec<Vec<u8>>, Vec<u8>)>,
    commands: Vec<u8>,
}

impl<'a> FleetLoader<'a> {
    /// A loader which, if `guarded`, refuses to overwrite keys that exist.
    pub(super) fn new(
        fleet: Fleet,
        table: &'a Table,
        system: &'static str,
        guarded: bool,
    ) -> FleetLoader<'a> {
        let guarded = guarded.then(Default::default);
        FleetLoader { fleet, table, system, guarded, commands: Vec::new() }
    }

    fn flush(&mut self) -> Result<(), SystemError> {
        if let Some((keys, commands)) = &mut self.guarded {
            for key in keys.drain(..) {
                self.fleet.ask(&[b"EXISTS", &key])?;
            }
            let found = self.fleet.flush_sum(ACTION)?;
            if found > 0 {
                return Err(SystemError::AlreadyThere {
                    system: self.system.into(),
                    what: format!("{found} of the keys to be loaded"),
                    next: super::OTHER_CLUSTER,
                });
            }
            self.fleet.add(commands)?;
            commands.clear();
        }
        self.fleet.flush(ACTION, |_| ())
    }
}

impl Loader for FleetLoader<'_> {
    fn insert(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), SystemError> {
        let waiting = match &mut self.guarded {
            Some((keys, commands)) => {
                keys.push(key.to_vec());
                self.table.load(key, values, commands);
                commands.len()
            }
            None => {
                self.commands.clear();
                self.table.load(key, values, &mut self.commands);
                self.fleet.add(&self.commands)?;
                self.fleet.waiting_bytes()
            }
        };
        if waiting >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<(), SystemError> {
        self.flush()
    }
}
