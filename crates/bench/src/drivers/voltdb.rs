//! A client library of VoltDB for Rust: there is none of VoltDB's own.

use anyhow::ensure;
use voltdb_client_rust::{IpPort, Node, NodeOpt, Value, block_for_result, volt_param};

use super::{
    TIMEOUT,
    bare::{Bare, FIELDS, TABLE},
};

/// Calls of the procedures that the driver has declared.
pub struct Voltdb {
    node: Node,
    read: String,
    updates: Vec<String>,
}

impl Voltdb {
    /// Connects to a node without a password.
    pub fn connect(host: &str, port: u16) -> anyhow::Result<Voltdb> {
        let node = Node::new(NodeOpt {
            ip_port: IpPort::new(host.to_owned(), port),
            user: None,
            pass: None,
            connect_timeout: Some(TIMEOUT),
            read_timeout: None,
        })?;
        let procedure = |name: &str| format!("assay_{TABLE}_{name}");
        let updates = (0..FIELDS).map(|field| procedure(&format!("update_{field}"))).collect();
        Ok(Voltdb { node, read: procedure("read"), updates })
    }
}

impl Bare for Voltdb {
    fn read(&mut self, key: &[u8]) -> anyhow::Result<usize> {
        let key = key.to_vec();
        let mut answer = block_for_result(&self.node.call_sp(&self.read, volt_param![key])?)?;
        ensure!(answer.advance_row(), "no record");
        let mut length = 0;
        for field in 0..FIELDS as i16 {
            length += answer.get_bytes_op_by_idx(field)?.map_or(0, |value| value.len());
        }
        Ok(length)
    }

    fn update(&mut self, key: &[u8], field: usize, bytes: &[u8]) -> anyhow::Result<()> {
        let (bytes, key) = (bytes.to_vec(), key.to_vec());
        let call = self.node.call_sp(&self.updates[field], volt_param![bytes, key])?;
        let mut answer = block_for_result(&call)?;
        ensure!(answer.advance_row(), "no number of records");
        let changed: i64 = answer.take(0)?;
        ensure!(changed == 1, "{changed} records of the key");
        Ok(())
    }
}
