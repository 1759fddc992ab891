//! Servers that a test run is given, as no source has them that it could fetch them from:
//! `ASSAY_TEST_<NAME>_URL` names one, as in `ASSAY_TEST_RIAK_URL=riak://127.0.0.1:8098`.

use std::env;

use assay_model::{Address, Endpoint};

/// The server of `system`, if there is one. Its tables named `usertable` and `t` are the test's.
pub fn attached(system: &str) -> Option<Endpoint> {
    let variable = format!("ASSAY_TEST_{}_URL", system.to_uppercase());
    let url = env::var(&variable).ok().filter(|url| !url.is_empty())?;
    let place = url.strip_prefix(&format!("{system}://"));
    let place = place.unwrap_or_else(|| panic!("{variable} is '{url}' and no {system}:// URL"));
    let (place, database) = match place.split_once('/') {
        Some((place, database)) if !database.is_empty() => (place, Some(database.to_owned())),
        Some((place, _)) => (place, None),
        None => (place, None),
    };
    let (host, port) = place.rsplit_once(':').expect("the URL has a port");
    let address = Address::Tcp { host: host.into(), port: port.parse().expect("a port") };
    Some(Endpoint { database, ..Endpoint::at(address) })
}
