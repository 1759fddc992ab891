//! The table on a server: made, measured, identified and removed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use assay_model::Durability;
use serde_json::{Map, Value};

use super::{
    DRIVER, QUORUMS, Server, bad_setting,
    codec::RiakCodec,
    connection::{Answered, Connection},
    loader::PipelineLoader,
    page::Page,
    refusal,
    table::{Kind, Table},
};
use crate::{
    Client, Footprint, Identity, Loader, Settings, System, SystemError, WireClient,
    system::REMOVE_OR_RENAME,
};

/// The longest that `remove` waits for the server to let go of deleted objects, which it keeps for
/// three seconds unless it is told otherwise (`delete_mode`).
const REAP_LIMIT: Duration = Duration::from_secs(10);
const REAP_POLL: Duration = Duration::from_millis(50);

/// The properties of a bucket that bear on a result.
const SHOWN: [&str; 13] = [
    "n_val",
    "r",
    "w",
    "dw",
    "pr",
    "pw",
    "rw",
    "node_confirms",
    "allow_mult",
    "last_write_wins",
    "dvv_enabled",
    "sync_on_write",
    "consistent",
];

/// What Assay sets the table's bucket to.
pub(super) struct Properties {
    /// The number of copies, if it was given.
    n_val: Option<u64>,
    quorums: Map<String, Value>,
    durability: Durability,
}

impl Properties {
    pub(super) fn read(
        settings: &Settings,
        durability: Durability,
    ) -> Result<Properties, SystemError> {
        let n_val = match settings.get("n_val").map(String::as_str) {
            None | Some("") => None,
            Some(_) => {
                Some(crate::registry::whole_number(DRIVER.name, settings, "n_val", 3, 1..=64)?)
            }
        };
        let mut quorums = Map::new();
        for (name, default) in QUORUMS {
            let text = settings.get(name).map_or(default, String::as_str);
            let value = match (text, text.parse::<u64>()) {
                ("quorum" | "all" | "one", _) => text.into(),
                (_, Ok(number)) if number <= n_val.unwrap_or(64) => number.into(),
                _ => {
                    let why = format!(
                        "'{text}' is neither quorum, all, one nor a whole number up to n_val"
                    );
                    return Err(bad_setting(name, why));
                }
            };
            quorums.insert(name.into(), value);
        }
        Ok(Properties { n_val, quorums, durability })
    }

    /// What the bucket is set to in a cluster of so many nodes.
    fn in_cluster(&self, nodes: usize) -> Map<String, Value> {
        let mut properties = self.quorums.clone();
        let copies = self.n_val.unwrap_or(if nodes == 1 { 1 } else { 3 });
        properties.insert("n_val".into(), copies.into());
        properties.insert("allow_mult".into(), false.into());
        properties.insert("last_write_wins".into(), false.into());
        let synced = self.durability == Durability::Synced;
        let sync = if synced { "all" } else { "backend" };
        properties.insert("sync_on_write".into(), sync.into());
        properties
    }
}

/// A table on a server.
pub(super) struct Riak {
    server: Server,
    table: Arc<Table>,
    type_name: String,
    properties: Properties,
    prepared: AtomicBool,
}

impl Riak {
    pub(super) fn new(
        server: Server,
        table: Table,
        type_name: String,
        properties: Properties,
    ) -> Riak {
        let prepared = AtomicBool::new(false);
        Riak { server, table: Arc::new(table), type_name, properties, prepared }
    }

    fn connection(&self) -> Result<Connection<'_>, SystemError> {
        Connection::open(&self.server, &self.table)
    }

    fn checked(&self, action: &str, answered: Answered) -> Result<Vec<u8>, SystemError> {
        match answered.status {
            200 | 204 => Ok(answered.body),
            status => Err(self.server.failed(action, refusal(status, &answered.body))),
        }
    }

    /// An object of JSON.
    fn object(&self, action: &str, body: &[u8]) -> Result<Map<String, Value>, SystemError> {
        match serde_json::from_slice(body) {
            Ok(Value::Object(object)) => Ok(object),
            _ => Err(self.server.failed(action, "it answered with something else than JSON")),
        }
    }

    fn stats(&self, connection: &mut Connection<'_>) -> Result<Map<String, Value>, SystemError> {
        let action = "read the statistics";
        let body = self.checked(action, connection.get(action, "/stats")?)?;
        self.object(action, &body)
    }

    /// The properties of a bucket or a bucket type; `None` if there is no such type.
    fn properties_of(
        &self,
        connection: &mut Connection<'_>,
        what: &str,
    ) -> Result<Option<Map<String, Value>>, SystemError> {
        let action = "read the bucket's properties";
        let answered = connection.get(action, &format!("{what}/props"))?;
        if answered.status == 404 {
            return Ok(None);
        }
        let body = self.checked(action, answered)?;
        match self.object(action, &body)?.remove("props") {
            Some(Value::Object(properties)) => Ok(Some(properties)),
            _ => Err(self.server.failed(action, "it told none")),
        }
    }

    /// All keys of the bucket, those of deleted records too for a while.
    fn keys(&self, connection: &mut Connection<'_>) -> Result<Page, SystemError> {
        let action = "list the keys";
        let body = self.checked(action, connection.get(action, &self.table.all_keys())?)?;
        let mut page = Page::default();
        page.read(&body).map_err(|why| self.server.failed(action, format!("it sent {why}")))?;
        Ok(page)
    }

    /// How many of the keys have a record.
    fn records(&self, connection: &mut Connection<'_>, page: &Page) -> Result<u64, SystemError> {
        let mut there = 0;
        connection.for_each("count the records", b"GET", &page.keys, |status| {
            there += u64::from(status != 404);
        })?;
        Ok(there)
    }

    /// Waits until the server lists no keys; whether that was so in time.
    fn await_no_keys(&self, connection: &mut Connection<'_>) -> Result<bool, SystemError> {
        let end = Instant::now() + REAP_LIMIT;
        while self.keys(connection)?.keys.len() > 0 {
            if Instant::now() >= end {
                return Ok(false);
            }
            thread::sleep(REAP_POLL);
        }
        Ok(true)
    }

    fn cannot(&self, why: String) -> SystemError {
        self.server.failed("prepare the table", why)
    }

    /// The bucket type must be there and of the layout's kind.
    fn check_type(&self, connection: &mut Connection<'_>) -> Result<(), SystemError> {
        let name = &self.type_name;
        let strong = self.table.kind == Kind::Strong;
        let create = if strong { r#"'{"props":{"consistent":true}}'"# } else { "" };
        let Some(properties) = self.properties_of(connection, &self.table.bucket_type)? else {
            return Err(self.cannot(format!(
                "it has no bucket type '{name}': on the server run 'riak admin bucket-type create \
                 {name} {create}' and 'riak admin bucket-type activate {name}', or name another \
                 with the setting bucket_type; a server that Assay starts has one, strong, with the \
                 setting strong_consistency=on"
            )));
        };
        let is = |name: &str| properties.get(name) == Some(&Value::Bool(true));
        let kind = match (strong, is("consistent")) {
            (true, false) => Some("has no strong consistency (consistent)"),
            (false, true) => Some("has strong consistency; the layout 'strong' is for it"),
            _ if properties.contains_key("datatype") => Some("is one of a data type"),
            _ if is("write_once") => Some("takes each record once only (write_once)"),
            _ => None,
        };
        kind.map_or(Ok(()), |kind| {
            Err(self.cannot(format!(
                "the bucket type '{name}' {kind}; name another with the setting bucket_type"
            )))
        })
    }

    fn check_backend(&self, stats: &Map<String, Value>) -> Result<(), SystemError> {
        let backend = stats.get("storage_backend").and_then(Value::as_str).unwrap_or_default();
        if self.table.kind == Kind::Indexed && backend == "riak_kv_bitcask_backend" {
            let why = "its backend is Bitcask, which has no secondary indexes: start it with \
                       storage_backend = leveldb or leveled, or use the layout 'value-noindex'";
            return Err(self.cannot(why.into()));
        }
        let level = self.properties.durability;
        if level != Durability::None && backend == "riak_kv_memory_backend" {
            return Err(self.cannot(format!(
                "durability '{level}' takes a disk, and its backend is memory: start it with \
                 storage_backend = leveldb, leveled or bitcask, or ask for durability 'none'"
            )));
        }
        Ok(())
    }

    /// Sets the bucket's properties, and looks whether the server knows them.
    fn set_properties(
        &self,
        connection: &mut Connection<'_>,
        nodes: usize,
    ) -> Result<(), SystemError> {
        let action = "set the bucket's properties";
        let wanted = self.properties.in_cluster(nodes);
        let bucket = &self.table.bucket;
        let json = Value::from(Map::from_iter([("props".into(), wanted.clone().into())]));
        let put = connection.put(action, &format!("{bucket}/props"), &json.to_string())?;
        self.checked(action, put)?;
        let have = self.properties_of(connection, bucket)?.unwrap_or_default();
        for (name, value) in &wanted {
            match have.get(name) {
                Some(found) if found == value => {}
                // Before 3.0 there was no such property.
                None if name == "sync_on_write"
                    && self.properties.durability != Durability::Synced => {}
                None if name == "sync_on_write" => {
                    let why = "durability 'synced' takes the bucket property sync_on_write, which \
                               Riak has since 3.0; an older one syncs as its riak.conf says, which \
                               it does not tell: ask for durability 'buffered'";
                    return Err(self.cannot(why.into()));
                }
                found => {
                    let found = found.map_or("absent".to_owned(), Value::to_string);
                    let why = format!("the bucket's {name} should be {value}, and is {found}");
                    return Err(self.server.failed(action, why));
                }
            }
        }
        Ok(())
    }
}

/// How many nodes the cluster has.
fn nodes(stats: &Map<String, Value>) -> usize {
    stats.get("ring_members").and_then(Value::as_array).map_or(1, Vec::len)
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl System for Riak {
    fn prepare(&self) -> Result<(), SystemError> {
        let already_there = |what| SystemError::AlreadyThere {
            system: DRIVER.name.into(),
            what,
            next: REMOVE_OR_RENAME,
        };
        let name = self.table.schema.table();
        if self.prepared.load(Ordering::SeqCst) {
            return Err(already_there(format!("the bucket '{name}'")));
        }
        let mut connection = self.connection()?;
        self.check_type(&mut connection)?;
        let stats = self.stats(&mut connection)?;
        self.check_backend(&stats)?;
        let keys = self.keys(&mut connection)?;
        let records = self.records(&mut connection, &keys)?;
        if records > 0 {
            let s = if records == 1 { "" } else { "s" };
            let what = format!("the bucket '{name}' with {records} object{s}");
            return Err(already_there(what));
        }
        if keys.keys.len() > 0 {
            // They are those of records that were deleted a moment ago.
            self.table.note_delete();
        }
        if self.table.kind != Kind::Strong {
            self.set_properties(&mut connection, nodes(&stats))?;
        }
        self.prepared.store(true, Ordering::SeqCst);
        Ok(())
    }

    fn loader(&self) -> Result<Box<dyn Loader + '_>, SystemError> {
        Ok(Box::new(PipelineLoader::new(&self.server, &self.table)?))
    }

    fn connect(&self) -> Result<Client, SystemError> {
        let socket = self.connection()?.into_socket()?;
        let codec = Box::new(RiakCodec::new(Arc::clone(&self.table)));
        Ok(Client::Wire(WireClient { socket, codec }))
    }

    fn count(&self) -> Result<u64, SystemError> {
        let mut connection = self.connection()?;
        let keys = self.keys(&mut connection)?;
        if self.table.lists_more() {
            return self.records(&mut connection, &keys);
        }
        Ok(keys.keys.len() as u64)
    }

    /// What a bucket takes the server does not tell; the memory that it tells is the whole Erlang
    /// machine's, most of it code, and without what LevelDB holds beside it.
    fn footprint(&self) -> Result<Footprint, SystemError> {
        Ok(Footprint::default())
    }

    fn identity(&self) -> Result<Identity, SystemError> {
        let mut connection = self.connection()?;
        let stats = self.stats(&mut connection)?;
        let told = |name: &str| stats.get(name).map(shown);
        let mut settings = vec![
            ("bucket_type".to_owned(), self.type_name.clone()),
            ("nodes".to_owned(), nodes(&stats).to_string()),
        ];
        for name in ["storage_backend", "ring_num_partitions"] {
            settings.extend(told(name).map(|value| (name.to_owned(), value)));
        }
        let properties = self.properties_of(&mut connection, &self.table.bucket)?;
        let properties = properties.unwrap_or_default();
        settings.extend(
            SHOWN
                .iter()
                .filter_map(|name| Some(((*name).to_owned(), shown(properties.get(*name)?)))),
        );
        let version = told("riak_kv_version").unwrap_or_else(|| "of an unknown version".into());
        Ok(Identity { version: format!("Riak KV {version}"), settings })
    }

    /// Deletes every object of the bucket and takes its properties back to those of its type. With
    /// other properties, n_val above all, Riak would look for what is left of the objects in other
    /// places; where they stay for longer the properties stay too.
    fn remove(&self) -> Result<(), SystemError> {
        if !self.prepared.load(Ordering::SeqCst) {
            return Ok(());
        }
        let mut connection = self.connection()?;
        let keys = self.keys(&mut connection)?;
        self.table.note_delete();
        connection.for_each("remove the records", b"DELETE", &keys.keys, |_| {})?;
        if self.table.kind != Kind::Strong && self.await_no_keys(&mut connection)? {
            let action = "reset the bucket's properties";
            let reset =
                connection.ask(action, b"DELETE", &format!("{}/props", self.table.bucket))?;
            self.checked(action, reset)?;
        }
        self.prepared.store(false, Ordering::SeqCst);
        Ok(())
    }
}
