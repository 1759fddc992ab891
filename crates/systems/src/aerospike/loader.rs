//! The bulk loader: writes in pipelines, each acknowledged before the next is sent.

use std::sync::Arc;

use assay_model::FieldValue;

use super::{
    Server,
    cluster::server_at,
    connection::Connection,
    meaning,
    message::{self, Action, Reply},
    partitions::Map,
    table::Table,
};
use crate::{Loader, SystemError};

const BATCH_BYTES: usize = 64 * 1024;
const ACTION: &str = "load the records";

/// Loads a table over one connection to each node.
pub(super) struct PipelineLoader<'a> {
    server: &'a Server,
    table: &'a Table,
    /// Who has which partition; `None` for a node that is alone.
    map: Option<Arc<Map>>,
    pipelines: Vec<Pipeline<'a>>,
    request: Vec<u8>,
    waiting_bytes: usize,
}

/// What is to be sent to a node, and how many replies it then owes.
#[derive(Default)]
struct Pipeline<'a> {
    connection: Option<Connection<'a>>,
    requests: Vec<u8>,
    owed: usize,
}

impl<'a> PipelineLoader<'a> {
    /// `first` is a connection to the node that was named.
    pub(super) fn new(
        server: &'a Server,
        table: &'a Table,
        first: Connection<'a>,
        map: Option<Arc<Map>>,
    ) -> PipelineLoader<'a> {
        let mut pipelines = Vec::new();
        match &map {
            None => pipelines.push(Pipeline { connection: Some(first), ..Pipeline::default() }),
            Some(map) => pipelines.resize_with(map.nodes().len(), Pipeline::default),
        }
        PipelineLoader { server, table, map, pipelines, request: Vec::new(), waiting_bytes: 0 }
    }

    /// The node that a request goes to.
    fn node(&self) -> Result<usize, SystemError> {
        let Some(map) = &self.map else { return Ok(0) };
        let partition = message::partition(&self.request, &self.table.place);
        let owner = partition.and_then(|partition| map.owner(partition)).map(usize::from);
        owner.ok_or_else(|| self.server.failed(ACTION, "no node has the partition of a record"))
    }

    fn flush(&mut self) -> Result<(), SystemError> {
        self.waiting_bytes = 0;
        for (node, pipeline) in self.pipelines.iter_mut().enumerate() {
            if pipeline.requests.is_empty() {
                continue;
            }
            let connection = match (&mut pipeline.connection, &self.map) {
                (Some(connection), _) => connection,
                (none, Some(map)) => {
                    let address = &map.nodes()[node].address;
                    none.insert(Connection::open_owned(server_at(self.server, address))?)
                }
                (None, None) => return Err(self.server.failed(ACTION, "it has no connection")),
            };
            connection.send(ACTION, &pipeline.requests)?;
            pipeline.requests.clear();
        }
        for pipeline in &mut self.pipelines {
            let Some(connection) = &mut pipeline.connection else { continue };
            for _ in 0..std::mem::take(&mut pipeline.owed) {
                let code = connection.reply(ACTION, |reply| match reply {
                    Reply::Messages(messages) => {
                        message::first(messages).map(|(first, _)| first.code)
                    }
                    Reply::Info(_) => Err("a reply that nothing asked for"),
                })?;
                if code != 0 {
                    return Err(self.server.failed(ACTION, meaning(code)));
                }
            }
        }
        Ok(())
    }
}

impl Loader for PipelineLoader<'_> {
    fn insert(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), SystemError> {
        self.request.clear();
        let written = self.table.write(Action::Replace, key, values, &mut self.request);
        written.map_err(|why| self.server.failed(ACTION, why))?;
        let node = self.node()?;
        let pipeline = &mut self.pipelines[node];
        pipeline.requests.extend_from_slice(&self.request);
        pipeline.owed += 1;
        self.waiting_bytes += self.request.len();
        if self.waiting_bytes >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<(), SystemError> {
        self.flush()
    }
}
