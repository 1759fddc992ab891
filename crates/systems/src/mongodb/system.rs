//! A collection on a server: created, loaded, described and removed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use assay_model::{Durability, Endpoint, Schema};

use super::{
    Flavour,
    codec::MongoCodec,
    commands::{self, Commands},
    connection::{Body, Connection},
    error::{COMMAND_NOT_FOUND, NAMESPACE_EXISTS, NAMESPACE_NOT_FOUND, Trouble, UNAUTHORIZED},
    layout::Coding,
    load::InsertLoader,
    login,
};
use crate::{
    Client, Footprint, Identity, Loader, System, SystemError, WireClient, sql::SETUP_TIMEOUT,
};

pub(super) struct Mongo {
    flavour: Flavour,
    endpoint: Endpoint,
    database: String,
    coding: Coding,
    schema: Arc<Schema>,
    commands: Arc<Commands>,
    durability: Durability,
    timeout: Duration,
    created: AtomicBool,
}

impl Mongo {
    pub fn new(
        flavour: Flavour,
        endpoint: Endpoint,
        database: String,
        coding: Coding,
        schema: Arc<Schema>,
        durability: Durability,
        timeout: Duration,
    ) -> Mongo {
        let commands = Commands::new(schema.clone(), coding, &database, durability);
        Mongo {
            commands: Arc::new(commands),
            flavour,
            endpoint,
            database,
            coding,
            schema,
            durability,
            timeout,
            created: AtomicBool::new(false),
        }
    }

    fn failed(&self, action: &str) -> impl FnOnce(Trouble) -> SystemError {
        let (flavour, action, endpoint) = (self.flavour, action.to_owned(), &self.endpoint);
        let anonymous = endpoint.user.is_none().then(|| endpoint.address.to_string());
        move |trouble| match (trouble, anonymous) {
            (Trouble::Server(error), Some(address)) if error.code == UNAUTHORIZED => {
                SystemError::LoginRefused {
                    system: flavour.name.into(),
                    address,
                    why: format!(
                        "{error}. Log in, as in \
                         mongodb://USER:PASSWORD@HOST/DATABASE?authSource=admin"
                    ),
                }
            }
            (trouble, _) => flavour.failed(&action, trouble),
        }
    }

    /// A logged-in connection.
    fn open(&self) -> Result<Connection, SystemError> {
        login::open(&self.flavour, &self.endpoint, self.timeout)
    }

    /// A logged-in connection for set-up commands.
    fn set_up(&self) -> Result<Connection, SystemError> {
        let connection = self.open()?;
        connection
            .socket
            .set_timeout(Some(SETUP_TIMEOUT))
            .map_err(|error| self.flavour.failed("set a time limit", error))?;
        Ok(connection)
    }

    /// Refuses a server of the other product: a stand-in's figures must not pass as MongoDB's.
    fn check_product(&self, connection: &mut Connection) -> Result<(), SystemError> {
        let action = "tell which product it is";
        let build = connection.ask("buildInfo").map_err(self.failed(action))?;
        let status = self.status(connection, action)?;
        let stand_in = is_stand_in(&build, status.as_ref()).map_err(self.failed(action))?;
        let meant = self.flavour.product == STAND_IN;
        let why = match (stand_in, meant) {
            (true, false) => {
                "what answers is SecantusDB, a stand-in: name it secantusdb=mongodb://…, and its \
                 figures are marked as what they are"
            }
            (false, true) => "what answers is no SecantusDB: name it mongodb=mongodb://…",
            _ => return Ok(()),
        };
        Err(self.flavour.failed(&format!("be {}", self.flavour.product), why))
    }

    /// What the server says of itself; `None` if the user may not ask.
    fn status(
        &self,
        connection: &mut Connection,
        action: &str,
    ) -> Result<Option<Body>, SystemError> {
        match connection.ask("serverStatus") {
            Err(trouble) if self.may_not(&trouble) => Ok(None),
            other => other.map(Some).map_err(self.failed(action)),
        }
    }

    /// Whether the server refused because this user may not.
    fn may_not(&self, trouble: &Trouble) -> bool {
        trouble.number_of_error() == Some(UNAUTHORIZED) && self.endpoint.user.is_some()
    }

    /// A write concern is only as good as the journal behind it.
    fn check_durability(&self, connection: &mut Connection) -> Result<(), SystemError> {
        if self.durability == Durability::None {
            return Ok(());
        }
        let action = format!("promise durability '{}'", self.durability);
        let refuse = |why: &str| Err(self.flavour.failed(&action, why));
        let Some(status) = self.status(connection, &action)? else {
            return refuse(
                "the user may not ask the server whether it keeps its data on disk: grant it the \
                 role clusterMonitor, or ask for durability none",
            );
        };
        let persistent =
            status.whole(&["storageEngine", "persistent"]).map_err(self.failed(&action))?;
        if persistent != Some(1) {
            return refuse(
                "it does not say that its storage engine keeps the data on disk, as the one in \
                 memory and a router of a sharded cluster do not: ask for durability none, or name \
                 a server with WiredTiger",
            );
        }
        let options = match connection.ask("getCmdLineOpts") {
            Err(trouble) if self.may_not(&trouble) => return Ok(()),
            other => other.map_err(self.failed(&action))?,
        };
        let journal = ["parsed", "storage", "journal", "enabled"];
        if options.whole(&journal).map_err(self.failed(&action))? == Some(0) {
            return refuse(
                "it runs without its journal: start it without --nojournal, or ask for durability \
                 none",
            );
        }
        Ok(())
    }

    fn create(&self, connection: &mut Connection) -> Result<(), SystemError> {
        let name = self.schema.table().as_bytes();
        let already_there = || SystemError::AlreadyThere {
            system: self.flavour.name.into(),
            what: format!("a collection {}.{}", self.database, self.schema.table()),
            next: crate::system::REMOVE_OR_RENAME,
        };
        // From version 7.0 on, `create` succeeds if there is one with the same options.
        let found = connection
            .run(&self.database, |command| {
                command.int32("listCollections", 1);
                command.document("filter", |filter| filter.string("name", name));
                command.boolean("nameOnly", true);
            })
            .map_err(self.failed("look for the collection"))?;
        let first = found.find(&["cursor", "firstBatch", "0"]);
        if first.map_err(self.failed("look for the collection"))?.is_some() {
            return Err(already_there());
        }
        match connection.run(&self.database, |command| command.string("create", name)) {
            Ok(_) => self.created.store(true, Ordering::Relaxed),
            Err(trouble) if trouble.number_of_error() == Some(NAMESPACE_EXISTS) => {
                return Err(already_there());
            }
            Err(trouble) => return Err(self.failed("create the collection")(trouble)),
        }
        if self.schema.index_count() == 0 || self.coding == Coding::Binary {
            return Ok(());
        }
        let indexed = || (0..self.schema.index_count()).map(|at| self.schema.field_name(at));
        let created = connection.run(&self.database, |command| {
            command.string("createIndexes", name);
            command.array("indexes", |indexes| {
                for (at, field) in indexed().enumerate() {
                    indexes.document(&at.to_string(), |index| {
                        index.document("key", |key| key.int32(field, 1));
                        index.string("name", format!("{field}_1").as_bytes());
                    });
                }
            });
        });
        created.map(drop).map_err(self.failed("create the indexes"))
    }

    fn drop_collection(&self, connection: &mut Connection) -> Result<(), SystemError> {
        let name = self.schema.table().as_bytes();
        match connection.run(&self.database, |command| command.string("drop", name)) {
            Err(trouble) if trouble.number_of_error() != Some(NAMESPACE_NOT_FOUND) => {
                return Err(self.failed("drop the collection")(trouble));
            }
            _ => self.created.store(false, Ordering::Relaxed),
        }
        Ok(())
    }
}

/// The product that stands in for MongoDB.
const STAND_IN: &str = "SecantusDB";

/// Whether what answers is the stand-in: it says so in its status, and was built from no revision.
fn is_stand_in(build: &Body, status: Option<&Body>) -> Result<bool, Trouble> {
    let said = match status {
        Some(status) => status.find(&["secantus"])?.is_some(),
        None => false,
    };
    let revision = build.text(&["gitVersion"])?.unwrap_or_default();
    Ok(said || (!revision.is_empty() && revision.bytes().all(|digit| digit == b'0')))
}

impl System for Mongo {
    fn prepare(&self) -> Result<(), SystemError> {
        let mut connection = self.set_up()?;
        self.check_product(&mut connection)?;
        self.check_durability(&mut connection)?;
        // Of a second call, what the first created is none of its business.
        let before = self.created.load(Ordering::Relaxed);
        self.create(&mut connection).inspect_err(|_| {
            if !before && self.created.load(Ordering::Relaxed) {
                // What is told is why there are no indexes.
                let _ = self.drop_collection(&mut connection);
            }
        })
    }

    fn loader(&self) -> Result<Box<dyn Loader + '_>, SystemError> {
        let connection = self.set_up()?;
        Ok(Box::new(InsertLoader::new(self.flavour, connection, self.commands.clone())))
    }

    fn settle(&self) -> Result<(), SystemError> {
        match self.set_up()?.ask("fsync") {
            // An attached server's own checkpoint will do it, each minute.
            Err(trouble)
                if self.may_not(&trouble)
                    || trouble.number_of_error() == Some(COMMAND_NOT_FOUND) =>
            {
                Ok(())
            }
            other => other.map(drop).map_err(self.failed("write a checkpoint")),
        }
    }

    fn connect(&self) -> Result<Client, SystemError> {
        let (socket, number) =
            self.open()?.into_socket().map_err(self.failed("log in and no more"))?;
        let codec = MongoCodec::new(self.commands.clone(), number);
        Ok(Client::Wire(WireClient { socket, codec: Box::new(codec) }))
    }

    fn count(&self) -> Result<u64, SystemError> {
        let action = "count the records";
        // The command `count` would tell what the collection's metadata say, right or wrong.
        let counted = self
            .set_up()?
            .run(&self.database, |command| {
                command.string("aggregate", self.schema.table().as_bytes());
                command.array("pipeline", |stages| {
                    stages.document("0", |stage| stage.string("$count", b"n"));
                });
                command.document("cursor", |_| {});
            })
            .map_err(self.failed(action))?;
        // Of nothing there is no count.
        let number =
            counted.whole(&["cursor", "firstBatch", "0", "n"]).map_err(self.failed(action))?;
        Ok(number.unwrap_or(0) as u64)
    }

    fn footprint(&self) -> Result<Footprint, SystemError> {
        let action = "measure the collection";
        let name = self.schema.table().as_bytes();
        let stats = self
            .set_up()?
            .run(&self.database, |command| command.string("collStats", name))
            .map_err(self.failed(action))?;
        let bytes = |name| stats.whole(&[name]).map_err(self.failed(action));
        let records = bytes("storageSize")?;
        let indexes = bytes("totalIndexSize")?;
        let disk_bytes = records.map(|records| (records + indexes.unwrap_or(0)) as u64);
        Ok(Footprint { disk_bytes, memory_bytes: None })
    }

    fn identity(&self) -> Result<Identity, SystemError> {
        let action = "report its version and settings";
        let mut connection = self.set_up()?;
        let build = connection.ask("buildInfo").map_err(self.failed(action))?;
        let status = self.status(&mut connection, action)?;
        let parameters = match connection.run("admin", |command| {
            command.int32("getParameter", 1);
            PARAMETERS.iter().for_each(|name| command.int32(name, 1));
        }) {
            Ok(parameters) => Some(parameters),
            // The user may not ask, or the server has none of them.
            Err(Trouble::Server(_)) => None,
            Err(trouble) => return Err(self.failed(action)(trouble)),
        };
        self.describe(&build, status.as_ref(), parameters.as_ref()).map_err(self.failed(action))
    }

    fn remove(&self) -> Result<(), SystemError> {
        if self.created.load(Ordering::Relaxed) {
            self.drop_collection(&mut self.set_up()?)?;
        }
        Ok(())
    }
}

/// The parameters in force that bear on the result; a server tells those that it has.
const PARAMETERS: &[&str] =
    &["featureCompatibilityVersion", "journalCommitInterval", "syncdelay", "notablescan"];

impl Mongo {
    fn describe(
        &self,
        build: &Body,
        status: Option<&Body>,
        parameters: Option<&Body>,
    ) -> Result<Identity, Trouble> {
        let version = build.text(&["version"])?.unwrap_or_default();
        let mut settings = Vec::new();
        let mut add = |name: &str, value: Option<String>| {
            settings.extend(value.map(|value| (name.to_owned(), value)));
        };
        let number = |value: Option<i64>| value.map(|number| number.to_string());
        add("writeConcern", Some(commands::shown_write_concern(self.durability)));
        let mut own_version = None;
        if let Some(status) = status {
            own_version = status.text(&["secantus", "version"])?;
            add("storageEngine", status.text(&["storageEngine", "name"])?);
            let persistent = status.whole(&["storageEngine", "persistent"])?;
            add("persistent", persistent.map(|value| (value == 1).to_string()));
            let cache = ["wiredTiger", "cache", "maximum bytes configured"];
            add("wiredTigerCacheBytes", number(status.whole(&cache)?));
            add("replicaSet", status.text(&["repl", "setName"])?);
        }
        if let Some(parameters) = parameters {
            let compatible = ["featureCompatibilityVersion", "version"];
            add("featureCompatibilityVersion", parameters.text(&compatible)?);
            for name in &PARAMETERS[1..] {
                add(name, number(parameters.whole(&[name])?));
            }
        }
        let version = if self.flavour.product == STAND_IN {
            // The version that it gives is that of the MongoDB that it speaks like.
            add("speaksLike", Some(format!("MongoDB {version}")));
            own_version.unwrap_or_else(|| "of unknown version".into())
        } else {
            version
        };
        settings.sort();
        Ok(Identity { version: format!("{} {version}", self.flavour.product), settings })
    }
}
