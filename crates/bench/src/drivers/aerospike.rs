//! Aerospike's client library for Rust.

use aerospike::{
    Bin, Bins, Client, ClientPolicy, Key, ReadPolicy, RecordExistsAction, Value, WritePolicy,
};
use anyhow::bail;
use tokio::runtime::{Builder, Runtime};

use super::bare::{Bare, TABLE};

/// A bin of bytes a field. The library works on this thread.
pub struct Aerospike {
    runtime: Runtime,
    client: Client,
    namespace: String,
    read: ReadPolicy,
    update: WritePolicy,
}

impl Aerospike {
    /// Connects to a node that stands alone.
    pub fn connect(host: &str, port: u16, namespace: &str) -> anyhow::Result<Aerospike> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let hosts = format!("{host}:{port}");
        let client = runtime.block_on(Client::new(&ClientPolicy::default(), &hosts))?;
        let update = WritePolicy {
            record_exists_action: RecordExistsAction::UpdateOnly,
            ..WritePolicy::default()
        };
        let read = ReadPolicy::default();
        Ok(Aerospike { runtime, client, namespace: namespace.into(), read, update })
    }

    /// The driver's key: the kind of value is in its digest.
    fn key(&self, key: &[u8]) -> anyhow::Result<Key> {
        Ok(Key::new(self.namespace.as_str(), TABLE, Value::Blob(key.to_vec()))?)
    }
}

impl Bare for Aerospike {
    fn read(&mut self, key: &[u8]) -> anyhow::Result<usize> {
        let key = self.key(key)?;
        let record = self.runtime.block_on(self.client.get(&self.read, &key, Bins::All))?;
        let mut bytes = 0;
        for value in record.bins.values() {
            let Value::Blob(field) = value else { bail!("a bin that is no blob") };
            bytes += field.len();
        }
        Ok(bytes)
    }

    fn update(&mut self, key: &[u8], field: usize, bytes: &[u8]) -> anyhow::Result<()> {
        let key = self.key(key)?;
        let bin = Bin::new(format!("field{field}"), Value::Blob(bytes.to_vec()));
        self.runtime.block_on(self.client.put(&self.update, &key, &[bin]))?;
        Ok(())
    }
}
