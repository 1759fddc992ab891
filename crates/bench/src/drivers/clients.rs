//! The client libraries that a program in Rust would take to each server, one connection each, the
//! statements prepared where there are any.

use anyhow::{Context, bail, ensure};
use assay_model::{Address, Endpoint};
use mysql::prelude::Queryable;
use postgres::types::Type;

use super::{
    bare::{Bare, FIELDS, looked_at, replaced},
    sql,
};

/// The database that the driver makes on HyPer where none is named.
const HYPER_DATABASE: &str = "assay.hyper";

/// Connects the client library of the server `name`.
pub fn connect(name: &str, endpoint: &Endpoint) -> anyhow::Result<Box<dyn Bare>> {
    let Address::Tcp { host, port } = &endpoint.address else { bail!("no TCP address") };
    let user = endpoint.user.as_deref().unwrap_or_default();
    let database = endpoint.database.as_deref();
    Ok(match name {
        "redis" => Box::new(Redis::connect(host, *port)?),
        "memcached" => Box::new(Memcached::connect(host, *port)?),
        "postgres" => {
            let database = database.context("PostgreSQL has a database")?;
            Box::new(Postgres::connect(host, *port, user, database, &[])?)
        }
        // It speaks PostgreSQL's protocol, and wants to be told that parameters are text.
        "hyper" => {
            let text = [Type::TEXT, Type::TEXT];
            Box::new(Postgres::connect(host, *port, user, HYPER_DATABASE, &text)?)
        }
        "mariadb" => Box::new(Mysql::connect(host, *port, user, database.unwrap_or("assay"))?),
        #[cfg(feature = "mongodb")]
        "secantusdb" => {
            Box::new(super::mongodb::Mongodb::connect(host, *port, database.unwrap_or("assay"))?)
        }
        #[cfg(feature = "cassandra")]
        "cassandra" => Box::new(super::cassandra::Cassandra::connect(
            host,
            *port,
            database.unwrap_or("assay"),
        )?),
        #[cfg(feature = "aerospike")]
        "aerospike" => {
            Box::new(super::aerospike::Aerospike::connect(host, *port, database.unwrap_or("test"))?)
        }
        #[cfg(feature = "voltdb")]
        "voltdb" => Box::new(super::voltdb::Voltdb::connect(host, *port)?),
        _ => bail!("there is no client library for {name}"),
    })
}

/// A hash a record.
struct Redis(redis::Connection);

impl Redis {
    fn connect(host: &str, port: u16) -> anyhow::Result<Redis> {
        Ok(Redis(redis::Client::open((host, port))?.get_connection()?))
    }
}

impl Bare for Redis {
    fn read(&mut self, key: &[u8]) -> anyhow::Result<usize> {
        let fields: Vec<(Vec<u8>, Vec<u8>)> = redis::cmd("HGETALL").arg(key).query(&mut self.0)?;
        Ok(fields.iter().map(|(_, value)| value.len()).sum())
    }

    fn update(&mut self, key: &[u8], field: usize, bytes: &[u8]) -> anyhow::Result<()> {
        let field = format!("field{field}");
        let added: u32 = redis::cmd("HSET").arg(key).arg(field).arg(bytes).query(&mut self.0)?;
        ensure!(added == 0, "the field was not there");
        Ok(())
    }
}

/// A string a record; a field is replaced by a read with its number and a swap.
struct Memcached(memcache::Client);

impl Memcached {
    fn connect(host: &str, port: u16) -> anyhow::Result<Memcached> {
        Ok(Memcached(memcache::connect(format!("memcache://{host}:{port}?protocol=ascii"))?))
    }
}

impl Bare for Memcached {
    fn read(&mut self, key: &[u8]) -> anyhow::Result<usize> {
        let record: Option<Vec<u8>> = self.0.get(std::str::from_utf8(key)?)?;
        Ok(looked_at(&record.context("no record")?))
    }

    fn update(&mut self, key: &[u8], field: usize, bytes: &[u8]) -> anyhow::Result<()> {
        let key = std::str::from_utf8(key)?;
        let mut found: std::collections::HashMap<String, (Vec<u8>, u32, Option<u64>)> =
            self.0.gets(&[key])?;
        let (record, _, number) = found.remove(key).context("no record")?;
        let number = number.context("no number of the record")?;
        let swapped = self.0.cas(key, &replaced(&record, field, bytes)[..], 0, number)?;
        ensure!(swapped, "the record has changed");
        Ok(())
    }
}

/// A text column a field.
struct Postgres {
    client: postgres::Client,
    read: postgres::Statement,
    updates: Vec<postgres::Statement>,
}

impl Postgres {
    /// The parameters' types are found out by the server if they are not given.
    fn connect(
        host: &str,
        port: u16,
        user: &str,
        database: &str,
        types: &[Type],
    ) -> anyhow::Result<Postgres> {
        let mut client = postgres::Config::new()
            .host(host)
            .port(port)
            .user(user)
            .dbname(database)
            .connect(postgres::NoTls)?;
        let read =
            client.prepare_typed(&sql::read("ycsb_key", "$1"), &types[..types.len().min(1)])?;
        let updates = sql::updates("ycsb_key", ["$1", "$2"]);
        let updates =
            updates.iter().map(|sql| client.prepare_typed(sql, types)).collect::<Result<_, _>>()?;
        Ok(Postgres { client, read, updates })
    }
}

impl Bare for Postgres {
    fn read(&mut self, key: &[u8]) -> anyhow::Result<usize> {
        let row = self.client.query_one(&self.read, &[&std::str::from_utf8(key)?])?;
        Ok((0..FIELDS).map(|field| row.get::<_, &str>(field).len()).sum())
    }

    fn update(&mut self, key: &[u8], field: usize, bytes: &[u8]) -> anyhow::Result<()> {
        let values: [&(dyn postgres::types::ToSql + Sync); 2] =
            [&std::str::from_utf8(key)?, &std::str::from_utf8(bytes)?];
        let changed = self.client.execute(&self.updates[field], &values)?;
        ensure!(changed == 1, "{changed} records of the key");
        Ok(())
    }
}

/// A column of bytes a field.
struct Mysql {
    client: mysql::Conn,
    read: mysql::Statement,
    updates: Vec<mysql::Statement>,
}

impl Mysql {
    fn connect(host: &str, port: u16, user: &str, database: &str) -> anyhow::Result<Mysql> {
        let options = mysql::OptsBuilder::new()
            .ip_or_hostname(Some(host))
            .tcp_port(port)
            .user(Some(user))
            .db_name(Some(database))
            // Over TCP, as the driver is.
            .prefer_socket(false)
            // A record that is there counts although its field has the value already.
            .additional_capabilities(mysql::consts::CapabilityFlags::CLIENT_FOUND_ROWS);
        let mut client = mysql::Conn::new(options)?;
        let read = client.prep(sql::read("ycsb_key", "?"))?;
        let updates = sql::updates("ycsb_key", ["?", "?"]);
        let updates = updates.iter().map(|sql| client.prep(sql)).collect::<Result<_, _>>()?;
        Ok(Mysql { client, read, updates })
    }
}

impl Bare for Mysql {
    fn read(&mut self, key: &[u8]) -> anyhow::Result<usize> {
        let row: mysql::Row = self.client.exec_first(&self.read, (key,))?.context("no record")?;
        let length = |field| match row.as_ref(field) {
            Some(mysql::Value::Bytes(bytes)) => bytes.len(),
            _ => 0,
        };
        Ok((0..FIELDS).map(length).sum())
    }

    fn update(&mut self, key: &[u8], field: usize, bytes: &[u8]) -> anyhow::Result<()> {
        self.client.exec_drop(&self.updates[field], (bytes, key))?;
        let found = self.client.affected_rows();
        ensure!(found == 1, "{found} records of the key");
        Ok(())
    }
}
