//! The bulk loader: pipelines of about 64 KiB, each acknowledged before the next is sent.

use assay_model::FieldValue;

use super::{
    connection::{Connection, Reply},
    resp,
    table::Table,
};
use crate::{Loader, SystemError};

const BATCH_BYTES: usize = 64 * 1024;
const ACTION: &str = "load the records";

/// Loads a table over one connection.
pub(super) struct PipelineLoader<'a> {
    connection: Connection<'a>,
    table: &'a Table,
    system: &'static str,
    requests: Vec<u8>,
    replies: usize,
    /// The keys of the batch, encoded, and their number: asked for before anything is written,
    /// if the database held keys that are not ours.
    guarded: Option<(Vec<u8>, usize)>,
}

impl<'a> PipelineLoader<'a> {
    /// A loader which, if `guarded`, refuses to overwrite keys that exist.
    pub(super) fn new(
        connection: Connection<'a>,
        table: &'a Table,
        system: &'static str,
        guarded: bool,
    ) -> PipelineLoader<'a> {
        PipelineLoader {
            connection,
            table,
            system,
            requests: Vec::with_capacity(2 * BATCH_BYTES),
            replies: 0,
            guarded: guarded.then(|| (Vec::new(), 0)),
        }
    }

    fn flush(&mut self) -> Result<(), SystemError> {
        if self.replies == 0 {
            return Ok(());
        }
        self.refuse_existing()?;
        self.connection.send(ACTION, &self.requests)?;
        self.requests.clear();
        for _ in 0..std::mem::take(&mut self.replies) {
            if let Reply::Error(why) = self.connection.reply(ACTION)? {
                return Err(SystemError::Failed {
                    system: self.system.into(),
                    action: ACTION.into(),
                    why,
                });
            }
        }
        Ok(())
    }

    fn refuse_existing(&mut self) -> Result<(), SystemError> {
        let Some((keys, count)) = &mut self.guarded else { return Ok(()) };
        let mut request = Vec::with_capacity(keys.len() + 32);
        resp::array(1 + *count, &mut request);
        resp::bulk(b"EXISTS", &mut request);
        request.append(keys);
        *count = 0;
        self.connection.send(ACTION, &request)?;
        match self.connection.reply(ACTION)? {
            Reply::Integer(0) => Ok(()),
            Reply::Integer(found) => Err(SystemError::AlreadyThere {
                system: self.system.into(),
                what: format!("{found} of the keys to be loaded"),
                next: super::OTHER_DATABASE,
            }),
            other => Err(SystemError::Failed {
                system: self.system.into(),
                action: ACTION.into(),
                why: format!("it answered {other:?} to EXISTS"),
            }),
        }
    }
}

impl Loader for PipelineLoader<'_> {
    fn insert(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), SystemError> {
        if let Some((keys, count)) = &mut self.guarded {
            resp::bulk(key, keys);
            *count += 1;
        }
        self.replies += self.table.insert(key, values, &mut self.requests);
        if self.requests.len() >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<(), SystemError> {
        self.flush()
    }
}
