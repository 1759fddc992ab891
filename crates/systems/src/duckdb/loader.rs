//! The bulk load, by DuckDB's appender.

use assay_model::FieldValue;

use super::{api::Appender, failed};
use crate::{Loader, SystemError};

/// After how many bytes of keys and values the rows so far are put into the table. DuckDB's appender
/// does so by itself after 204,800 rows, however long these are.
const BATCH_BYTES: usize = 64 << 20;

const LOAD: &str = "load the records";

/// Loads in transactions of up to 204,800 records or [`BATCH_BYTES`].
pub(super) struct AppenderLoader {
    appender: Appender,
    field_count: u16,
    unflushed: usize,
}

impl AppenderLoader {
    pub(super) fn new(appender: Appender, field_count: u16) -> AppenderLoader {
        AppenderLoader { appender, field_count, unflushed: 0 }
    }
}

impl Loader for AppenderLoader {
    fn insert(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), SystemError> {
        let appender = &mut self.appender;
        appender.bytes(key).map_err(|error| failed(LOAD, error))?;
        self.unflushed += key.len();
        for position in 0..self.field_count {
            let value = crate::framing::given(values, position).unwrap_or_default();
            appender.bytes(value).map_err(|error| failed(LOAD, error))?;
            self.unflushed += value.len();
        }
        appender.end_row().map_err(|error| failed(LOAD, error))?;
        if self.unflushed >= BATCH_BYTES {
            self.unflushed = 0;
            appender.flush().map_err(|error| failed(LOAD, error))?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), SystemError> {
        self.appender.flush().map_err(|error| failed(LOAD, error))
    }
}
