//! Connections to every node of a cluster for set-up, loading and checks: each waits for its replies.

use std::sync::Arc;

use assay_model::Address;

use super::{
    super::{
        Server,
        connection::{Connection, Reply},
        resp,
        slots::Map,
    },
    router,
};
use crate::SystemError;

/// Connections that are made when they are first used, and what waits to be sent on each.
pub(super) struct Fleet {
    server: Server,
    map: Arc<Map>,
    nodes: Vec<Node>,
    waiting_bytes: usize,
}

#[derive(Default)]
struct Node {
    connection: Option<Connection<'static>>,
    requests: Vec<u8>,
    replies: usize,
}

/// The server at another address, with the same login.
pub(super) fn server_at(server: &Server, address: &Address) -> Server {
    let mut other = server.clone();
    other.endpoint.address = address.clone();
    other
}

impl Fleet {
    pub(super) fn new(server: &Server, map: Arc<Map>) -> Fleet {
        let nodes = map.nodes().iter().map(|_| Node::default()).collect();
        Fleet { server: server.clone(), map, nodes, waiting_bytes: 0 }
    }

    /// The nodes that have slots.
    pub(super) fn masters(&self) -> Vec<u16> {
        self.map.masters()
    }

    /// The connection to a node.
    pub(super) fn node(&mut self, node: u16) -> Result<&mut Connection<'static>, SystemError> {
        let at = usize::from(node);
        let connection = match self.nodes[at].connection.take() {
            Some(connection) => connection,
            None => Connection::open(server_at(&self.server, &self.map.nodes()[at]))?,
        };
        Ok(self.nodes[at].connection.insert(connection))
    }

    /// The connection to the node that has this key.
    pub(super) fn of(&mut self, key: &[u8]) -> Result<&mut Connection<'static>, SystemError> {
        let slot = super::super::slots::slot_of(key);
        let owner = self.owner(slot)?;
        self.node(owner)
    }

    fn owner(&self, slot: u16) -> Result<u16, SystemError> {
        self.map.owner(slot).ok_or_else(|| {
            let why = format!("no node has the slot {slot}: mend the cluster, or use another");
            self.server.failed("find the node of a key", why)
        })
    }

    /// Has commands wait for [`flush`](Self::flush), each for the node of its key.
    pub(super) fn add(&mut self, mut commands: &[u8]) -> Result<(), SystemError> {
        while !commands.is_empty() {
            let Some((length, slot)) = router::command(commands) else {
                let why = "a request was made that is no command";
                return Err(self.server.failed("send a request", why));
            };
            let node = usize::from(self.owner(slot)?);
            self.nodes[node].requests.extend_from_slice(&commands[..length]);
            self.nodes[node].replies += 1;
            self.waiting_bytes += length;
            commands = &commands[length..];
        }
        Ok(())
    }

    /// Like [`add`](Self::add) for a command that is not encoded yet.
    pub(super) fn ask(&mut self, arguments: &[&[u8]]) -> Result<(), SystemError> {
        let mut command = Vec::new();
        resp::request(arguments, &mut command);
        self.add(&command)
    }

    /// How many bytes wait.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// Sends what waits and takes every reply; a refusal is an error.
    pub(super) fn flush(
        &mut self,
        action: &str,
        mut take: impl FnMut(Reply),
    ) -> Result<(), SystemError> {
        self.waiting_bytes = 0;
        for node in 0..self.nodes.len() {
            let requests = std::mem::take(&mut self.nodes[node].requests);
            if !requests.is_empty() {
                self.node(node as u16)?.send(action, &requests)?;
            }
            self.nodes[node].requests = requests;
            self.nodes[node].requests.clear();
        }
        for node in 0..self.nodes.len() {
            for _ in 0..std::mem::take(&mut self.nodes[node].replies) {
                match self.node(node as u16)?.reply(action)? {
                    Reply::Error(why) => return Err(self.server.failed(action, why)),
                    reply => take(reply),
                }
            }
        }
        Ok(())
    }

    /// Like [`flush`](Self::flush) for commands that answer with counts: their sum.
    pub(super) fn flush_sum(&mut self, action: &str) -> Result<u64, SystemError> {
        let mut sum = 0;
        self.flush(action, |reply| {
            if let Reply::Integer(count) = reply {
                sum += u64::try_from(count).unwrap_or(0);
            }
        })?;
        Ok(sum)
    }
}
