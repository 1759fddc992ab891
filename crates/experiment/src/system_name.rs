//! Naming a system: `NAME[:LAYOUT][@LABEL][+SETTING=VALUE]…[=URL]`.
//!
//! `postgres:jsonb`, `memory@slow+slowdown=0.05`, `redis=redis://:secret@10.0.0.5:6379/2`,
//! `valkey=valkey+unix:///run/valkey.sock`. The label tells two copies of one system apart.

use std::{collections::BTreeMap, path::PathBuf, str::FromStr};

use assay_model::{Address, Endpoint, Secret, redact};
use url::Url;

use crate::mongodb_url;

/// A system as named in an experiment or on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemName {
    /// The driver's name.
    pub driver: String,
    /// The layout, if not the driver's default.
    pub layout: Option<String>,
    /// What to call it in tables, if not `driver:layout`.
    pub label: Option<String>,
    /// The driver's and the server's settings.
    pub settings: BTreeMap<String, String>,
    /// The URL of a running server, password included.
    pub url: Option<String>,
}

impl FromStr for SystemName {
    type Err = String;

    fn from_str(text: &str) -> Result<SystemName, String> {
        let (text_before, url) = match text.find("://") {
            None => (text, None),
            Some(scheme_end) => match text[..scheme_end].rfind('=') {
                Some(equals) => (&text[..equals], Some(text[equals + 1..].to_owned())),
                None => (&text[..scheme_end], None),
            },
        };
        let wrong = |why: &str| {
            format!(
                "'{}' names no system: {why} (the form is \
                 NAME[:LAYOUT][@LABEL][+SETTING=VALUE][=URL])",
                redact(text_before)
            )
        };
        if url.is_none() && text_before.len() < text.len() {
            return Err(wrong("a URL follows the system's name and '='"));
        }
        let mut parts = text_before.split('+');
        let name = parts.next().unwrap_or_default();
        if let Some((name, _)) = name.split_once('=') {
            // What follows may hold a password that nothing marks as one: it is not shown.
            return Err(format!(
                "'{name}=…' names no system: a URL begins with its scheme, as in \
                 {name}=redis://HOST:PORT"
            ));
        }
        let mut settings = BTreeMap::new();
        for part in parts {
            let (setting, value) =
                part.split_once('=').ok_or_else(|| wrong("a setting is written +NAME=VALUE"))?;
            settings.insert(setting.trim().to_owned(), value.trim().to_owned());
        }
        let (name, label) = match name.split_once('@') {
            Some((name, label)) => (name, Some(label.trim().to_owned())),
            None => (name, None),
        };
        let (driver, layout) = match name.split_once(':') {
            Some((driver, layout)) => (driver, Some(layout.trim().to_owned())),
            None => (name, None),
        };
        let driver = driver.trim().to_owned();
        if driver.is_empty() {
            return Err(wrong("the name is empty"));
        }
        Ok(SystemName { driver, layout, label, settings, url })
    }
}

/// The endpoint that a URL names. `default_port` is used where the URL has none.
///
/// Refused, besides what is no URL, is what would be passed over (a fragment, parameters other than
/// a socket's database) and what would not name the same server without its password, as records
/// keep it.
pub fn endpoint(url: &str, default_port: u16) -> Result<Endpoint, String> {
    let strange = |c: char| c.is_whitespace() || c.is_control();
    if url.contains(strange) || url.matches("://").count() != 1 {
        // Where the password ends is anybody's guess: nothing of it is shown.
        return Err("an address is written SCHEME://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE], \
                    with %20 for a blank and %3A for a colon in a password"
            .to_owned());
    }
    let wrong = |why: String| format!("'{}' is no address: {why}", redact(url));
    let given = read_endpoint(url, default_port).map_err(&wrong)?;
    let stored = read_endpoint(&redact(url), default_port).ok();
    let stored = stored.map(|stored| Endpoint { password: given.password.clone(), ..stored });
    if stored.as_ref() != Some(&given) {
        return Err(wrong("outside the password, write %40 for '@' and %3D for '='".into()));
    }
    Ok(given)
}

fn read_endpoint(url: &str, default_port: u16) -> Result<Endpoint, String> {
    let mongodb = url.starts_with("mongodb");
    if mongodb {
        mongodb_url::check_hosts(url)?;
    }
    let parsed = Url::parse(url).map_err(|error| error.to_string())?;
    let unix = parsed.scheme().ends_with("+unix") || parsed.scheme() == "unix";
    let (mut database_of_socket, mut login_database) = (None, None);
    for (name, value) in parsed.query_pairs() {
        match &*name {
            "database" if unix => database_of_socket = Some(value.into_owned()),
            "authSource" if mongodb && login_database.is_none() && !value.is_empty() => {
                login_database = Some(value.into_owned());
            }
            _ if mongodb => mongodb_url::check_parameter(&name, &value)?,
            _ => return Err(format!("it has no parameter '{name}'")),
        }
    }
    if parsed.fragment().is_some() {
        return Err("nothing follows a '#': write %23 for the letter".into());
    }
    let path = percent_decode(parsed.path())?;
    let (address, database) = if unix {
        if path.len() < 2 {
            return Err("a Unix socket needs a path, as in redis+unix:///run/r.sock".into());
        }
        (Address::Unix(PathBuf::from(path)), database_of_socket)
    } else {
        let host = parsed.host_str().filter(|host| !host.is_empty()).ok_or("it has no host")?;
        let host = host.trim_matches(|c| c == '[' || c == ']').to_owned();
        let database = path.trim_start_matches('/');
        let address = match mongodb.then(|| mongodb_url::socket(&host)).flatten() {
            Some(path) => Address::Unix(percent_decode(path)?.into()),
            None => Address::Tcp { host, port: parsed.port().unwrap_or(default_port) },
        };
        (address, (!database.is_empty()).then(|| database.to_owned()))
    };
    let user = parsed.username();
    let user = (!user.is_empty()).then(|| percent_decode(user)).transpose()?;
    let password = parsed.password().map(percent_decode).transpose()?.map(Secret::new);
    Ok(Endpoint { user, password, database, login_database, ..Endpoint::at(address) })
}

fn percent_decode(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next().unwrap_or(b'?'), rest.next().unwrap_or(b'?')];
        let hex = std::str::from_utf8(&digits).ok().and_then(|d| u8::from_str_radix(d, 16).ok());
        bytes.push(hex.ok_or("'%' is followed by two hexadecimal digits")?);
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_name_is_read() {
        let name: SystemName =
            "postgres:jsonb@tuned+key=document+shared_buffers=1GB=postgres://u:p%40w@h:5433/db"
                .parse()
                .unwrap();
        assert_eq!((name.driver.as_str(), name.layout.as_deref()), ("postgres", Some("jsonb")));
        assert_eq!(name.label.as_deref(), Some("tuned"));
        assert_eq!(name.settings["key"], "document");
        assert_eq!(name.settings["shared_buffers"], "1GB");
        let endpoint = endpoint(name.url.as_deref().unwrap(), 5432).unwrap();
        assert_eq!(endpoint.address, Address::Tcp { host: "h".into(), port: 5433 });
        assert_eq!(endpoint.user.as_deref(), Some("u"));
        assert_eq!(endpoint.password.unwrap().reveal(), "p@w");
        assert_eq!(endpoint.database.as_deref(), Some("db"));
    }

    #[test]
    fn unix_sockets_and_default_ports() {
        let unix = endpoint("redis+unix:///run/r.sock?database=3", 6379).unwrap();
        assert_eq!(unix.address, Address::Unix("/run/r.sock".into()));
        assert_eq!(unix.database.as_deref(), Some("3"));
        let tcp = endpoint("redis://[::1]", 6379).unwrap();
        assert_eq!(tcp.address, Address::Tcp { host: "::1".into(), port: 6379 });
    }

    #[test]
    fn no_password_is_shown() {
        for text in ["redis://:hunter2@h", "redis://:hunter 2@h", "+pwd=hunter2=redis://:hunter2@h"]
        {
            let error = text.parse::<SystemName>().unwrap_err();
            assert!(!error.contains("hunter"), "{error}");
        }
        for url in
            ["redis://:hunter2@h:port", "redis://:hun ter2@h", "redis://u:hunter2", "hunter2"]
        {
            let error = super::endpoint(url, 1).unwrap_err();
            assert!(!error.contains("ter2"), "{error}");
        }
    }

    #[test]
    fn a_redacted_address_names_the_same_server() {
        for url in [
            "redis://:hunter2@h:1/3",
            "postgres://u:hun@ter'2@h/db",
            "redis://[::1]:1",
            "redis://u@h",
        ] {
            let bare = |url: &str| Endpoint { password: None, ..endpoint(url, 5).unwrap() };
            assert_eq!(bare(url), bare(&redact(url)), "{url}");
        }
    }

    #[test]
    fn what_redaction_would_change_is_refused() {
        for (url, why) in [
            ("postgres://h:5432/db@x", "%40"),
            ("postgres://h/db#x", "%23"),
            ("postgres://h/db?sslmode=require", "sslmode"),
            ("redis://:a,x://b@h", "%3A"),
            ("redis://token=x@h", "%3D"),
        ] {
            let error = endpoint(url, 1).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        let encoded = endpoint("postgres://h/db%40x", 1).unwrap();
        assert_eq!(encoded.database.as_deref(), Some("db@x"));
    }

    #[test]
    fn what_is_no_name_is_refused_with_the_form() {
        let error = "redis=:hunter2@h".parse::<SystemName>().unwrap_err();
        assert!(error.contains("redis://") && !error.contains("hunter2"), "{error}");
        for wrong in ["", ":jsonb", "redis+maxmemory", "redis://h:1"] {
            let error = wrong.parse::<SystemName>().unwrap_err();
            assert!(error.contains("NAME[:LAYOUT]"), "{error}");
        }
    }
}
