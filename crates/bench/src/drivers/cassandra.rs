//! Cassandra's client library for Rust.

use std::num::NonZeroUsize;

use scylla::{
    client::{PoolSize, session::Session, session_builder::SessionBuilder},
    statement::{Consistency, prepared::PreparedStatement},
};
use tokio::runtime::{Builder, Runtime};

use super::{
    bare::{Bare, FIELDS},
    sql,
};

/// A column of bytes a field. The library works on this thread.
pub struct Cassandra {
    runtime: Runtime,
    session: Session,
    read: PreparedStatement,
    updates: Vec<PreparedStatement>,
}

impl Cassandra {
    /// Connects to a server that stands alone.
    pub fn connect(host: &str, port: u16, keyspace: &str) -> anyhow::Result<Cassandra> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let one = NonZeroUsize::MIN;
        let (session, read, updates) = runtime.block_on(async {
            let session = SessionBuilder::new()
                .known_node(format!("{host}:{port}"))
                .use_keyspace(keyspace, true)
                .pool_size(PoolSize::PerHost(one))
                // With one request at a time there is nothing to wait for.
                .write_coalescing(false)
                .build()
                .await?;
            let read = prepared(&session, &sql::read("ycsb_key", "?")).await?;
            let mut updates = Vec::new();
            for update in sql::updates("ycsb_key", ["?", "?"]) {
                updates.push(prepared(&session, &update).await?);
            }
            anyhow::Ok((session, read, updates))
        })?;
        Ok(Cassandra { runtime, session, read, updates })
    }
}

/// A statement at the driver's level of consistency, whose answers do not describe their columns.
async fn prepared(session: &Session, cql: &str) -> anyhow::Result<PreparedStatement> {
    let mut statement = session.prepare(cql).await?;
    statement.set_consistency(Consistency::Quorum);
    statement.set_use_cached_result_metadata(true);
    Ok(statement)
}

impl Bare for Cassandra {
    fn read(&mut self, key: &[u8]) -> anyhow::Result<usize> {
        let answer = self.runtime.block_on(self.session.execute_unpaged(&self.read, (key,)))?;
        let rows = answer.into_rows_result()?;
        let fields: [&[u8]; FIELDS] = rows.single_row::<Record<'_>>()?.into();
        Ok(fields.iter().map(|field| field.len()).sum())
    }

    fn update(&mut self, key: &[u8], field: usize, bytes: &[u8]) -> anyhow::Result<()> {
        let update = self.session.execute_unpaged(&self.updates[field], (bytes, key));
        self.runtime.block_on(update)?;
        Ok(())
    }
}

/// A record of ten fields.
type Record<'f> = (
    &'f [u8],
    &'f [u8],
    &'f [u8],
    &'f [u8],
    &'f [u8],
    &'f [u8],
    &'f [u8],
    &'f [u8],
    &'f [u8],
    &'f [u8],
);
