//! `redis-instances` and `valkey-instances`: several servers of one thread each, which do not know of each
//! other, with the records spread over them by the client as those of a cluster are over its nodes: the
//! slot of a record's key says which server has it, and the slots are divided evenly and for good.

use assay_model::{Address, Capabilities, Durability, Support};

use super::{
    super::{CACHE, LAYOUTS, SETTINGS, SettingDoc},
    open_as, rests,
    system::Kind,
};
use crate::{Driver, Opening, Place, System, SystemError, Verified, bundle};

/// The registry line of several Redis servers.
pub static REDIS: Driver = Driver {
    name: "redis-instances",
    summary: "several Redis servers, records spread over them by the client",
    layouts: LAYOUTS,
    settings: &[SETTINGS[0], OTHERS],
    place: Place::Server { recipe: "redis-instances", default_port: 6379 },
    verified: Verified::ByTests,
    cache: Some(CACHE),
    rests,
    capabilities,
    open: |opening| open("redis-instances", opening),
};

/// The registry line of several Valkey servers.
pub static VALKEY: Driver = Driver {
    name: "valkey-instances",
    summary: "several Valkey servers, records spread over them by the client",
    layouts: LAYOUTS,
    settings: &[SETTINGS[0], OTHERS],
    place: Place::Server { recipe: "valkey-instances", default_port: 6379 },
    verified: Verified::ByTests,
    cache: Some(CACHE),
    rests,
    capabilities,
    open: |opening| open("valkey-instances", opening),
};

/// The setting that names further servers.
const OTHERS: SettingDoc = SettingDoc {
    name: "others",
    default: "",
    summary: "beside the server of a URL: the addresses of the others, as in h2:6379;h3:6379",
};

fn capabilities(layout: &str) -> Capabilities {
    let one_server = super::super::capabilities(layout);
    Capabilities {
        scan: match one_server.scan {
            Support::Emulated(_) => Support::Emulated(
                "a sorted set of all keys, on one of the servers, gives the range; then each record is \
                 read by its key from the server that has it, in a second round trip; the set follows a \
                 write, and is not changed together with the record",
            ),
            other => other,
        },
        lookup: match one_server.lookup {
            Support::Emulated(_) => Support::Emulated(
                "a sorted set of values and keys, on one of the servers, is the index, and follows each \
                 write of the record before that is acknowledged, in a second round trip; a lookup reads \
                 a range of it and then each record by its key, without those that changed in between",
            ),
            other => other,
        },
        durability: &[
            (Durability::None, "on each server: appendonly no, save ''"),
            (Durability::Buffered, "on each server: appendonly yes, appendfsync everysec"),
            (Durability::Synced, "on each server: appendonly yes, appendfsync always"),
        ],
        ..one_server
    }
}

fn open(name: &'static str, opening: Opening) -> Result<Box<dyn System>, SystemError> {
    let refused = |why: String| {
        let setting = OTHERS.name.to_owned();
        SystemError::BadSetting { system: name.into(), setting, why }
    };
    let endpoint = opening.target.clone().server(name)?;
    let mut servers = vec![endpoint.address];
    servers.extend(endpoint.others);
    let named = opening.settings.get(OTHERS.name).map_or("", String::as_str);
    for text in named.split(';').filter(|text| !text.is_empty()) {
        let address = bundle::address(text);
        servers.push(address.ok_or_else(|| refused(format!("'{text}' is no HOST:PORT")))?);
    }
    if servers.iter().any(|server| matches!(server, Address::Unix(_))) {
        let (system, action) = (name.into(), "open the servers".into());
        let why = "a client reaches several servers by TCP: give their hosts and ports".into();
        return Err(SystemError::Failed { system, action, why });
    }
    if (1..servers.len()).any(|at| servers[..at].contains(&servers[at])) {
        return Err(refused("an address stands twice: name each server once".into()));
    }
    open_as(name, Kind::Instances(servers), opening)
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use assay_model::{Endpoint, Schema};

    use super::*;
    use crate::{Settings, Target};

    #[test]
    fn addresses_that_cannot_be_servers_are_refused() {
        let open = |address: Address, others: &str| {
            let opened = open(
                "redis-instances",
                Opening {
                    target: Target::Server(Endpoint::at(address)),
                    layout: "hash".into(),
                    schema: Arc::new(Schema::new("t", "f", 1)),
                    durability: Durability::None,
                    settings: Settings::from([("others".into(), others.into())]),
                    timeout: Duration::from_secs(1),
                },
            );
            opened.map(drop).map_err(|error| error.to_string())
        };
        let first = || Address::Tcp { host: "h".into(), port: 6379 };
        assert_eq!(open(first(), ""), Ok(()));
        assert_eq!(open(first(), "h:6380;i:6379"), Ok(()));
        for (others, why) in
            [("h", "HOST:PORT"), ("h:6380;h:6379", "twice"), ("h:99999", "HOST:PORT")]
        {
            let refused = open(first(), others).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        assert!(open(Address::Unix("/s".into()), "").unwrap_err().contains("TCP"));
    }
}
