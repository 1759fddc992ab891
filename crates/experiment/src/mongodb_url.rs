//! What is particular about MongoDB's connection strings: several hosts, and many parameters. What
//! would be passed over is refused, with what to do instead.

/// Refuses what stands for several servers.
pub(crate) fn check_hosts(url: &str) -> Result<(), String> {
    let (scheme, rest) = url.split_once("://").unwrap_or((url, ""));
    if scheme == "mongodb+srv" {
        return Err("its servers are looked up in the DNS, and Assay connects to one: write \
                    mongodb://HOST:PORT, with the primary's name"
            .into());
    }
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    // A password may have an '@' in it.
    let hosts = authority.rsplit('@').next().unwrap_or_default();
    if scheme == "mongodb" && hosts.contains(',') {
        return Err("it names several hosts, and Assay connects to one: name the replica set's \
                    primary, or one router of a sharded cluster, alone"
            .into());
    }
    Ok(())
}

/// The path of a socket, with its escapes, if `host` is one.
pub(crate) fn socket(host: &str) -> Option<&str> {
    let escaped = host.get(..3)?.eq_ignore_ascii_case("%2f");
    escaped.then_some(host)
}

/// Refuses a parameter that asks for something else than is done.
pub(crate) fn check_parameter(name: &str, value: &str) -> Result<(), String> {
    let why = match (name, value) {
        ("tls" | "ssl", "false") | ("directConnection", "true") => return Ok(()),
        ("tls" | "ssl", _) => {
            "Assay does not speak TLS: leave it out, and connect over the Unix socket or to a \
             server with net.tls.mode=allowTLS"
        }
        ("authSource", _) => "it names one database, that the user is in",
        ("directConnection" | "replicaSet" | "loadBalanced" | "readPreference", _) => {
            "Assay speaks to the one server that the URL names: leave it out, and name the primary"
        }
        ("w" | "journal" | "wtimeoutMS" | "readConcernLevel", _) => {
            "the durability level decides what is waited for: leave it out, and use --durability"
        }
        ("compressors" | "zlibCompressionLevel", _) => {
            "nothing is compressed on the way: leave it out"
        }
        ("authMechanism", _) => {
            "of SCRAM-SHA-256 and SCRAM-SHA-1, the first that the server has for the user is \
             taken: leave it out"
        }
        _ => return Err(format!("it has no parameter '{name}'")),
    };
    Err(format!("parameter '{name}': {why}"))
}

#[cfg(test)]
mod tests {
    use assay_model::Address;

    use crate::system_name::endpoint;

    #[test]
    fn every_part_of_a_connection_string_is_read() {
        let full = endpoint("mongodb://u:p%40w@h:27018/db?authSource=admin&tls=false", 27017);
        let full = full.unwrap();
        assert_eq!(full.address, Address::Tcp { host: "h".into(), port: 27018 });
        assert_eq!(full.user.as_deref(), Some("u"));
        assert_eq!(full.password.unwrap().reveal(), "p@w");
        assert_eq!(full.database.as_deref(), Some("db"));
        assert_eq!(full.login_database.as_deref(), Some("admin"));

        let bare = endpoint("mongodb://h/?directConnection=true", 27017).unwrap();
        assert_eq!(bare.address, Address::Tcp { host: "h".into(), port: 27017 });
        assert_eq!((bare.database, bare.login_database), (None, None));

        for socket in [
            "mongodb://%2Ftmp%2Fm.sock/db?authSource=a",
            "mongodb+unix:///tmp/m.sock?database=db&authSource=a",
        ] {
            let socket = endpoint(socket, 27017).unwrap();
            assert_eq!(socket.address, Address::Unix("/tmp/m.sock".into()));
            assert_eq!(socket.database.as_deref(), Some("db"));
            assert_eq!(socket.login_database.as_deref(), Some("a"));
        }
    }

    #[test]
    fn what_would_be_passed_over_is_refused_with_the_next_step() {
        for (url, why) in [
            ("mongodb://h1:1,h2:2/db", "primary"),
            ("mongodb://u:p@h1,h2", "primary"),
            ("mongodb+srv://cluster.example/db", "mongodb://HOST:PORT"),
            ("mongodb://h/?tls=true", "TLS"),
            ("mongodb://h/?ssl=yes", "TLS"),
            ("mongodb://h/?replicaSet=rs0", "name the primary"),
            ("mongodb://h/?directConnection=false", "name the primary"),
            ("mongodb://h/?w=majority", "--durability"),
            ("mongodb://h/?journal=true", "--durability"),
            ("mongodb://h/?compressors=zstd", "compressed"),
            ("mongodb://h/?authMechanism=PLAIN", "SCRAM-SHA-256"),
            ("mongodb://h/?authSource=", "one database"),
            ("mongodb://h/?authSource=a&authSource=b", "one database"),
            ("mongodb://h/?retryWrites=true", "'retryWrites'"),
            ("redis://h/?authSource=a", "'authSource'"),
        ] {
            let error = endpoint(url, 27017).unwrap_err();
            assert!(error.contains(why), "{url}: {error}");
            assert!(!error.contains(":p@"), "{error}");
        }
    }
}
