//! MongoDB's own client library.

use std::str;

use anyhow::{Context, ensure};
use mongodb::bson::{RawDocumentBuf, doc};

use super::bare::{Bare, TABLE};

/// A document of strings a record, read undecoded.
pub struct Mongodb(mongodb::sync::Collection<RawDocumentBuf>);

impl Mongodb {
    /// Connects to a server that stands alone.
    pub fn connect(host: &str, port: u16, database: &str) -> anyhow::Result<Mongodb> {
        let url = format!("mongodb://{host}:{port}/?directConnection=true&maxPoolSize=1");
        let client = mongodb::sync::Client::with_uri_str(url)?;
        Ok(Mongodb(client.database(database).collection(TABLE)))
    }
}

impl Bare for Mongodb {
    fn read(&mut self, key: &[u8]) -> anyhow::Result<usize> {
        let filter = doc! { "_id": str::from_utf8(key)? };
        let record = self.0.find_one(filter).run()?.context("no record")?;
        let mut length = 0;
        for element in record.iter() {
            let (name, value) = element?;
            if name != "_id" {
                length += value.as_str().context("a field that is no string")?.len();
            }
        }
        Ok(length)
    }

    fn update(&mut self, key: &[u8], field: usize, bytes: &[u8]) -> anyhow::Result<()> {
        let filter = doc! { "_id": str::from_utf8(key)? };
        let set = doc! { "$set": { format!("field{field}"): str::from_utf8(bytes)? } };
        let updated = self.0.update_one(filter, set).run()?;
        ensure!(updated.matched_count == 1, "{} records of the key", updated.matched_count);
        Ok(())
    }
}
