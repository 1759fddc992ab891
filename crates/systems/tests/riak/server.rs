//! A Riak node of the test's own, with strong consistency too, in a folder of its own. Dropping it stops it.

#[allow(dead_code, reason = "these tests take a part of what others share")]
#[path = "../common/site.rs"]
mod site;
#[allow(clippy::duplicate_mod, reason = "a file without a state of its own")]
#[path = "../common/stopped.rs"]
mod stopped;

use std::{fs, path::Path, process::Child};

use assay_model::{Address, Endpoint};

use self::site::{Site, free_port, installed::installed, wait};

/// Run in the folder with that of the release, its runtime and its version.
const START: &str = r#"set -e
ROOTDIR=$1 BINDIR=$1/erts-$2/bin EMU=beam PROGNAME=erl boot=$1/releases/$3/start
export ROOTDIR BINDIR EMU PROGNAME
"$BINDIR/escript" "$ROOTDIR/bin/cuttlefish" -e . -s "$ROOTDIR/share/schema" -c riak.conf -d generated
set -- generated/app.*.config generated/vm.*.args
exec "$BINDIR/erlexec" -noshell -noinput -boot "$boot" -mode interactive -config "$1" -args_file "$2" \
    -start_epmd false -dist_listen false -eval 'file:script("strong").'
"#;

/// What `riak admin` would be asked for, and what a cluster of three does by itself.
const STRONG: &str = r#"spawn(fun() ->
    riak_core:wait_for_service(riak_kv),
    riak_ensemble_manager:enable(),
    riak_core_ring_manager:force_update(),
    ok = riak_core_bucket_type:create(<<"strong">>, [{consistent, true}, {n_val, 1}]),
    Until = fun Until(Done) ->
        case Done() of true -> ok; _ -> timer:sleep(100), Until(Done) end
    end,
    Until(fun() -> riak_core_bucket_type:activate(<<"strong">>) =:= ok end),
    Until(fun() -> lists:keymember(1, 3, riak_kv_ensembles:ensembles()) end),
    Until(fun() -> lists:all(fun(Is) -> Is =:= true end, riak_kv_ensembles:check_quorum()) end),
    file:write_file("serving", "")
end).
"#;

/// A running node.
pub struct Server {
    process: Child,
    site: Site,
    port: u16,
}

impl Server {
    /// Starts one, if Riak is installed.
    pub fn start() -> Option<Server> {
        let site = Site::new(installed("riak")?);
        let root = site.installed.binary.ancestors().nth(2).expect("a release").to_path_buf();
        let told = fs::read_to_string(root.join("releases/start_erl.data")).expect("a release");
        let (runtime, version) = told.trim().split_once(' ').expect("two versions");
        let port = free_port();
        let write = |name: &str, content: &str| {
            fs::write(site.folder().join(name), content).expect("written");
        };
        write("riak.conf", &configuration(&root, site.folder(), port));
        let manager = format!(
            "[{{riak_kv, [{{delete_mode, immediate}}]}}, \
             {{riak_core, [{{cluster_mgr, {{\"127.0.0.1\", {}}}}}, {{schema_dirs, [\"{}\"]}}]}}, \
             {{riak_repl, [{{data_root, \"repl\"}}]}}, {{setup, [{{home, \"setup\"}}]}}].\n",
            free_port(),
            root.join("share/schema").display()
        );
        write("advanced.config", &manager);
        write("strong", STRONG);
        let mut command = site.command(Path::new("/bin/sh"));
        command.args(["-c", START, "riak"]).arg(&root).args([runtime, version]);
        let process = command.env("HOME", site.folder()).spawn().expect("a shell");
        let server = Server { process, site, port };
        let serving = server.site.folder().join("serving");
        wait(port, || serving.exists());
        Some(server)
    }

    /// Its HTTP listener.
    pub fn endpoint(&self) -> Endpoint {
        Endpoint::at(Address::Tcp { host: "127.0.0.1".into(), port: self.port })
    }

    /// Stops it from running, without ending it.
    #[allow(dead_code, reason = "some of those who share this leave it running")]
    pub fn pause(&self) {
        stopped::pause(&self.process);
    }

    /// Lets it run again.
    #[allow(dead_code, reason = "some of those who share this leave it running")]
    pub fn resume(&self) {
        stopped::resume(&self.process);
    }
}

fn configuration(root: &Path, folder: &Path, port: u16) -> String {
    let (root, folder, protobuf, handoff) =
        (root.display(), folder.display(), free_port(), free_port());
    format!(
        "nodename = riak@127.0.0.1\n\
         distributed_cookie = test\n\
         platform_bin_dir = {root}/bin\n\
         platform_lib_dir = {root}/lib\n\
         platform_data_dir = {folder}/data\n\
         platform_etc_dir = {folder}\n\
         platform_log_dir = {folder}/log\n\
         listener.http.internal = 127.0.0.1:{port}\n\
         listener.protobuf.internal = 127.0.0.1:{protobuf}\n\
         handoff.ip = 127.0.0.1\n\
         handoff.port = {handoff}\n\
         ring_size = 8\n\
         storage_backend = leveldb\n\
         leveldb.maximum_memory = 2GB\n\
         anti_entropy = passive\n\
         strong_consistency = on\n"
    )
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
