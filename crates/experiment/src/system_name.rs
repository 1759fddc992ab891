//! Naming a system: `NAME[:LAYOUT][@LABEL][+SETTING=VALUE]…[=URL]`.
//!
//! `postgres:jsonb`, `memory@slow+slowdown=0.05`, `redis=redis://:secret@10.0.0.5:6379/2`,
//! `valkey=valkey+unix:///run/valkey.sock`. The label tells two copies of one system apart.

use std::{collections::BTreeMap, path::PathBuf, str::FromStr};

use assay_model::{Address, Endpoint, Secret};
use url::Url;

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
        let wrong = |why: &str| {
            format!(
                "'{}' names no system: {why} (the form is \
                 NAME[:LAYOUT][@LABEL][+SETTING=VALUE][=URL])",
                redact(text)
            )
        };
        let (text_before, url) = match text.find("://") {
            None => (text, None),
            Some(scheme_end) => {
                let equals = text[..scheme_end]
                    .rfind('=')
                    .ok_or_else(|| wrong("a URL follows the system's name and '='"))?;
                (&text[..equals], Some(text[equals + 1..].to_owned()))
            }
        };
        let mut parts = text_before.split('+');
        let name = parts.next().unwrap_or_default();
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
pub fn endpoint(url: &str, default_port: u16) -> Result<Endpoint, String> {
    let wrong = |why: String| format!("'{}' is no address: {why}", redact(url));
    let parsed = Url::parse(url).map_err(|error| wrong(error.to_string()))?;
    let decode = |text: &str| percent_decode(text).map_err(&wrong);
    let path = decode(parsed.path())?;
    let (address, database) = if parsed.scheme().ends_with("+unix") || parsed.scheme() == "unix" {
        if path.len() < 2 {
            return Err(wrong("a Unix socket needs a path, as in redis+unix:///run/r.sock".into()));
        }
        let database = parsed.query_pairs().find(|(name, _)| name == "database");
        (Address::Unix(PathBuf::from(path)), database.map(|(_, value)| value.into_owned()))
    } else {
        let host = parsed.host_str().filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| wrong("it has no host".into()))?;
        let host = host.trim_matches(|c| c == '[' || c == ']').to_owned();
        let database = path.trim_start_matches('/');
        let address = Address::Tcp { host, port: parsed.port().unwrap_or(default_port) };
        (address, (!database.is_empty()).then(|| database.to_owned()))
    };
    let user = (!parsed.username().is_empty()).then(|| decode(parsed.username())).transpose()?;
    let password = parsed.password().map(decode).transpose()?.map(Secret::new);
    Ok(Endpoint { address, user, password, database })
}

/// A URL, or text with URLs in it, with each password replaced by `***`.
pub fn redact(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(scheme_end) = rest.find("://") {
        let (before, after) = rest.split_at(scheme_end + 3);
        shown.push_str(before);
        let end = after.find(['/', '?', '#', ' ', '"', '\'', ',']).unwrap_or(after.len());
        // A password may hold an unescaped '/' or '@': the last '@' before a blank ends it.
        let blank = after.find([' ', '"', '\'', ',']).unwrap_or(after.len());
        let at = after[..blank].rfind('@');
        match at {
            Some(at) => {
                let user = after[..at].split(':').next().unwrap_or_default();
                let has_password = after[..at].contains(':');
                shown.push_str(user);
                shown.push_str(if has_password { ":***" } else { "" });
                rest = &after[at..];
            }
            None => {
                shown.push_str(&after[..end]);
                rest = &after[end..];
            }
        }
    }
    shown.push_str(rest);
    shown
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
        for (text, shown) in [
            ("redis=redis://:hunter2@h:1", "redis=redis://:***@h:1"),
            ("a postgres://u:hun/t@er2@h/db b", "a postgres://u:***@h/db b"),
            ("redis://h:6379/2", "redis://h:6379/2"),
            ("redis://user@h", "redis://user@h"),
            ("x=redis://:hunter2@h,y=redis://:hunter2@g", "x=redis://:***@h,y=redis://:***@g"),
        ] {
            assert_eq!(redact(text), shown);
        }
        let error = "redis://:hunter2@h".parse::<SystemName>().unwrap_err();
        assert!(!error.contains("hunter2"), "{error}");
        let error = super::endpoint("redis://:hunter2@h:port", 1).unwrap_err();
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn what_is_no_name_is_refused_with_the_form() {
        for wrong in ["", ":jsonb", "redis+maxmemory", "redis://h:1"] {
            let error = wrong.parse::<SystemName>().unwrap_err();
            assert!(error.contains("NAME[:LAYOUT]"), "{error}");
        }
    }
}
