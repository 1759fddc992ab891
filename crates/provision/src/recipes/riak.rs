//! Riak KV: one node of its own, from the release of Erlang/OTP that it is installed as.
//!
//! The release's own script keeps everything in the folders that the package has, may change the user
//! and starts epmd, which stays behind. So the runtime is started here, as the script does it: `riak.conf`
//! is turned into what Erlang reads by the release's own program, and then the release is booted. The node
//! has a name, which Riak wants, and takes no connection from other nodes, so it needs no epmd.

use std::ffi::OsString;

use assay_model::{Address, Durability, Endpoint};

use super::{PLACE, PROMISE, SECRET};
use crate::{
    ready::{Probe, riak::SERVING},
    recipe::{Applied, Configuration, ConfigurationFile, Level, Recipe, Runs, SettingDoc, Site},
    release::Release,
    warden::protocol::StopSignal,
};

const STRONG: &str = "strong_consistency";
const CONFIGURATION: &str = "riak.conf";
const ADVANCED: &str = "advanced.config";
const START: &str = "start.sh";
const SERVE: &str = "serve.script";

pub(crate) static RIAK: Recipe = Recipe {
    name: "riak",
    product: "Riak KV 3",
    binary: "riak",
    runs: Runs::Release,
    packages: "Riak KV 3 for Erlang/OTP 23 or later, whose script riak is in the folder bin of its release \
               (packages: files.tiot.jp, docs.riak.com)",
    levels: &[
        Level {
            durability: Durability::None,
            settings: &[],
            meaning: "as at buffered: Riak has nothing weaker on a disk",
        },
        Level {
            durability: Durability::Buffered,
            settings: &[],
            meaning: "a write is acknowledged when it is in the backend's log, with the operating system \
                      (the bucket's sync_on_write is backend)",
        },
        Level {
            durability: Durability::Synced,
            settings: &[],
            meaning: "the backend syncs before a write is acknowledged (the bucket's sync_on_write is \
                      all)",
        },
    ],
    settings: &[
        SettingDoc {
            name: "port",
            default: "",
            summary: "TCP port for HTTP; the system picks a free one if not given",
        },
        SettingDoc {
            name: "storage_backend",
            default: "leveldb",
            summary: "leveldb, which keeps keys in order for scans and lookups, as leveled does; Riak's \
                      own default, bitcask, does not; memory is for durability none",
        },
        SettingDoc {
            name: "ring_size",
            default: "8",
            summary: "partitions, the fewest that Riak takes: each has a store of its own; Riak's own \
                      default, 64, is for clusters",
        },
        SettingDoc {
            name: "leveldb.maximum_memory",
            default: "2GB",
            summary: "what LevelDB may take, of all partitions; two write buffers of 30 to 60 MB of each \
                      come out of it, the rest is cache. Riak's own default is 70 % of the machine's \
                      memory, which would not be comparable",
        },
        SettingDoc {
            name: "anti_entropy",
            default: "passive",
            summary: "no hash trees beside the objects: there is no other node to compare them with",
        },
        SettingDoc {
            name: STRONG,
            default: "off",
            summary: "on: with a bucket type strong, of one copy, which the layout strong needs",
        },
    ],
    other_settings: "any setting of riak.conf, for example leveldb.compression=off",
    companions: &["cuttlefish"],
    usual_folders: &[
        "/usr/lib/riak/bin",
        "/usr/lib64/riak/bin",
        "/usr/local/lib/riak/bin",
        "/opt/riak/bin",
        "/opt/riak/rel/riak/bin",
    ],
    sources: &[],
    version_in: |contents| {
        let version = contents.lines().next()?;
        let major: u32 = version.split('.').next()?.parse().ok()?;
        let is_riak = contents.lines().any(|name| name.starts_with("riak_kv-"));
        (is_riak && major >= 3).then_some(version)
    },
    word_separator: "",
    reserved: &[
        ("leveldb.sync_on_write", PROMISE),
        ("leveled.sync_strategy", PROMISE),
        ("bitcask.sync.strategy", PROMISE),
        ("bitcask.sync.interval", PROMISE),
        ("nodename", PLACE),
        ("listener.http.internal", PLACE),
        ("listener.protobuf.internal", PLACE),
        ("handoff.ip", PLACE),
        ("handoff.port", PLACE),
        ("mdc.cluster_manager", PLACE),
        ("mdc.data_root", PLACE),
        ("platform_data_dir", PLACE),
        ("platform_log_dir", PLACE),
        ("platform_etc_dir", PLACE),
        ("platform_lib_dir", PLACE),
        ("platform_bin_dir", PLACE),
        ("erlang.crash_dump", PLACE),
        ("logger.file", PLACE),
        ("distributed_cookie", SECRET),
        ("listener.https.internal", SECRET),
    ],
    stop: StopSignal::Terminate,
    probe: Probe::Riak,
    port_taken: &["eaddrinuse"],
    configuration: Some(Configuration { extra_ports: 3, files }),
    prepare: None,
    arguments,
    socket_name: None,
    endpoint: Endpoint::at,
};

fn arguments(site: &Site<'_>, _address: &Address, _settings: &Applied) -> Vec<OsString> {
    // It was whole when it was found.
    let Ok(release) = Release::of(&site.installed.binary) else { return Vec::new() };
    let boot = release.root.join("releases").join(&release.version).join("start");
    let start = site.files.join(START);
    [start, release.root, release.runtime, boot, site.files.clone()].map(OsString::from).into()
}

fn files(site: &Site<'_>, address: &Address, settings: &Applied) -> Vec<ConfigurationFile> {
    let (Address::Tcp { host, port }, [protobuf, handoff, manager]) = (address, &*site.ports)
    else {
        return Vec::new();
    };
    let root = site.installed.binary.parent().and_then(|folder| folder.parent());
    let root = root.unwrap_or(&site.files).display();
    let (data, files) = (site.data.display(), site.files.display());
    let mut conf = format!(
        "nodename = riak@{host}\n\
         distributed_cookie = assay\n\
         platform_bin_dir = {root}/bin\n\
         platform_lib_dir = {root}/lib\n\
         platform_data_dir = {data}\n\
         platform_etc_dir = {files}\n\
         platform_log_dir = {files}/log\n\
         erlang.crash_dump = {files}/log/erl_crash.dump\n\
         listener.http.internal = {host}:{port}\n\
         listener.protobuf.internal = {host}:{protobuf}\n\
         handoff.ip = {host}\n\
         handoff.port = {handoff}\n"
    );
    for (name, value) in settings {
        conf.push_str(&format!("{name} = {value}\n"));
    }
    let schemas = quoted(&format!("{root}/share/schema"));
    let own = |name: &str| quoted(&site.data.join(name).to_string_lossy());
    let advanced = advanced(&quoted(host), *manager, &schemas, &own("riak_repl"), &own("setup"));
    let strong = settings.get(STRONG).is_some_and(|value| value == "on");
    let serve = serve(if strong { STRONG_TYPE } else { "ok" }, &own(SERVING));
    vec![
        ConfigurationFile { name: CONFIGURATION, content: conf },
        ConfigurationFile { name: ADVANCED, content: advanced },
        ConfigurationFile { name: SERVE, content: serve },
        ConfigurationFile { name: START, content: STARTING.to_owned() },
    ]
}

/// A string of Erlang's.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// What `riak.conf` does not reach, over what it says: what the package's own file of this name has, and the
/// log on standard output.
fn advanced(host: &str, manager: u16, schemas: &str, replication: &str, setup: &str) -> String {
    format!(
        "[{{kernel, [{{logger, [{{handler, default, logger_std_h, \
         #{{config => #{{type => standard_io}}}}}}]}}]}},\n \
         {{riak_core, [{{cluster_mgr, {{{host}, {manager}}}}}, {{schema_dirs, [{schemas}]}}]}},\n \
         {{riak_repl, [{{data_root, {replication}}}]}},\n \
         {{setup, [{{home, {setup}}}]}}].\n"
    )
}

/// Evaluated in the node: when it serves and `first` is done, it writes its process number into a file.
fn serve(first: &str, serving: &str) -> String {
    format!(
        "spawn(fun() ->\n\
         try\n\
         ok = riak_core:wait_for_service(riak_kv),\n\
         {first},\n\
         ok = file:write_file({serving}, os:getpid())\n\
         catch _:Why ->\n\
         io:format(\"the node cannot be made ready: ~p~n\", [Why]),\n\
         init:stop(1)\n\
         end\nend).\n"
    )
}

/// Makes the bucket type `strong`. Riak itself begins consensus on three nodes and more; here it begins
/// on one, by what a cluster does then, and the ensembles of one copy are waited for.
const STRONG_TYPE: &str = "Until = fun Until(Done) ->\n\
    case Done() of true -> ok; _ -> timer:sleep(100), Until(Done) end\n\
    end,\n\
    Type = <<\"strong\">>,\n\
    riak_ensemble_manager:enable(),\n\
    riak_core_ring_manager:force_update(),\n\
    ok = riak_core_bucket_type:create(Type, [{consistent, true}, {n_val, 1}]),\n\
    Until(fun() -> riak_core_bucket_type:status(Type) =:= ready end),\n\
    ok = riak_core_bucket_type:activate(Type),\n\
    Until(fun() -> riak_core_bucket_type:status(Type) =:= active end),\n\
    Until(fun() -> lists:keymember(1, 3, riak_kv_ensembles:ensembles()) end),\n\
    Until(fun() -> lists:all(fun(Is) -> Is =:= true end, riak_kv_ensembles:check_quorum()) end)";

/// Run by a shell with the folder of the release, that of its runtime's programs, its boot file and the
/// folder of the configuration.
const STARTING: &str = r#"set -e
ROOTDIR=$1 BINDIR=$2 EMU=beam PROGNAME=erl
export ROOTDIR BINDIR EMU PROGNAME
boot=$3 files=$4
rm -rf "$files/generated"
mkdir -p "$files/log"
"$BINDIR/escript" "$ROOTDIR/bin/cuttlefish" -e "$files" -s "$ROOTDIR/share/schema" \
    -c "$files/riak.conf" -d "$files/generated"
set -- "$files"/generated/app.*.config "$files"/generated/vm.*.args
exec "$BINDIR/erlexec" -noshell -noinput +Bd -boot "$boot" -mode interactive \
    -config "$1" -args_file "$2" -start_epmd false -dist_listen false \
    -serve "$files/serve.script" \
    -eval '{ok, [[Serve]]} = init:get_argument(serve), {ok, _} = file:script(Serve).'
"#;

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::find::{Installed, Origin};

    #[test]
    fn a_release_of_riak_3_is_told_from_others() {
        let version = RIAK.version_in;
        assert_eq!(version("3.2.1\nkernel-8.5.3\nriak_kv-3.0.16"), Some("3.2.1"));
        assert_eq!(version("2.9.10\nriak_kv-2.9.10"), None);
        assert_eq!(version("3.2.1\nriak_cs-3.2.1\nriak_kv_stub"), None);
        assert_eq!(version(""), None);
    }

    /// The files of a node with these settings, whose folders have quotes in their names.
    fn configured(strong: &str) -> Vec<ConfigurationFile> {
        let place = tempfile::tempdir().expect("a temporary folder");
        let binary = PathBuf::from("/opt/riak/bin/riak");
        let (version, origin) = ("3.2.1".to_owned(), Origin::Named);
        let library_folders = Vec::new();
        let installed =
            Installed { recipe: &RIAK, version, binary, java: None, origin, library_folders };
        let site = Site {
            installed: &installed,
            data: "/tmp/a\"b/data".into(),
            socket: place.path().into(),
            files: "/tmp/a\"b/files".into(),
            ports: vec![2, 3, 4],
        };
        let address = Address::Tcp { host: "127.0.0.1".into(), port: 1 };
        let settings = Applied::from([(STRONG.to_owned(), strong.to_owned())]);
        files(&site, &address, &settings)
    }

    #[test]
    fn every_port_and_folder_is_the_nodes_own() {
        let files = configured("off");
        let content = |name: &str| {
            let file = files.iter().find(|file| file.name == name).expect("written");
            file.content.clone()
        };
        let conf = content(CONFIGURATION);
        for line in [
            "listener.http.internal = 127.0.0.1:1",
            "listener.protobuf.internal = 127.0.0.1:2",
            "handoff.port = 3",
            "platform_data_dir = /tmp/a\"b/data",
            "platform_lib_dir = /opt/riak/lib",
            "strong_consistency = off",
        ] {
            assert!(conf.lines().any(|found| found == line), "{line}\n{conf}");
        }
        let advanced = content(ADVANCED);
        assert!(advanced.contains(r#"{cluster_mgr, {"127.0.0.1", 4}}"#), "{advanced}");
        assert!(advanced.contains(r#"{data_root, "/tmp/a\"b/data/riak_repl"}"#), "{advanced}");
        let serve = content(SERVE);
        assert!(serve.contains(r#"write_file("/tmp/a\"b/data/serving.pid""#), "{serve}");
        assert!(!serve.contains("consistent"), "{serve}");
    }

    #[test]
    fn a_node_with_strong_consistency_makes_its_bucket_type() {
        let files = configured("on");
        let serve = files.iter().find(|file| file.name == SERVE).expect("written");
        assert!(serve.content.contains("{consistent, true}"), "{}", serve.content);
    }
}
