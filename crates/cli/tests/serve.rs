//! The runs of a results folder in the browser.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::Value;

use crate::common::{Finished, LIMIT, Place, Running, await_that, readable};

const TINY: &str = "--records 200 --operations 500 --warmup 0 --clients 1 -q";

/// A server under way.
struct Served {
    running: Running,
    address: String,
    /// What stands behind the address.
    query: String,
}

impl Served {
    /// Starts `assay serve` with these words, and waits for its address.
    fn start(place: &Place, words: &str) -> Served {
        let mut running = place.start(&format!("serve {words}"));
        running.await_that("its address", |running| running.said().ends_with('\n'));
        let url = running.said().trim_end().to_owned();
        let (address, query) =
            url.strip_prefix("http://").and_then(|url| url.split_once('/')).expect(&url);
        Served { running, address: address.to_owned(), query: query.to_owned() }
    }

    fn port(&self) -> &str {
        self.address.rsplit(':').next().unwrap()
    }

    /// Asks for a path as this host with these headers.
    fn ask_as(&self, host: &str, path: &str, headers: &[&str]) -> Answer {
        let extra: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        self.send(&format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{extra}\r\n"
        ))
    }

    fn get(&self, path: &str) -> Answer {
        self.ask_as(&self.address, path, &[])
    }

    fn send(&self, request: &str) -> Answer {
        let mut socket = self.connect();
        socket.write_all(request.as_bytes()).unwrap();
        let mut text = Vec::new();
        socket.read_to_end(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").expect(&text);
        Answer { head: head.to_owned(), body: body.to_owned() }
    }

    fn connect(&self) -> TcpStream {
        let socket = TcpStream::connect(&self.address).unwrap();
        socket.set_read_timeout(Some(LIMIT)).unwrap();
        socket
    }

    /// Listens to what changes.
    fn listen(&self) -> Events {
        let mut socket = self.connect();
        let request = format!("GET /events HTTP/1.1\r\nHost: {}\r\n\r\n", self.address);
        socket.write_all(request.as_bytes()).unwrap();
        let mut events = Events(BufReader::new(socket));
        let head: Vec<String> =
            std::iter::from_fn(|| Some(events.line()).filter(|line| !line.is_empty())).collect();
        assert!(head[0].contains(" 200 "), "{head:?}");
        assert!(head.iter().any(|line| line == "content-type: text/event-stream"), "{head:?}");
        events
    }

    /// Ends it as Ctrl-C does.
    fn end(self) -> Finished {
        self.running.signal_group(Signal::INT);
        let finished = self.running.wait();
        assert_eq!(finished.code, Some(0), "{finished}");
        finished
    }
}

/// What was answered.
struct Answer {
    head: String,
    body: String,
}

impl Answer {
    fn status(&self) -> u16 {
        self.head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    fn header(&self, name: &str) -> &str {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(known, _)| *known == name).map(|(_, value)| value).next().unwrap_or("")
    }

    /// Fails unless the answer has this status and says each of these.
    fn says(&self, status: u16, told: &[&str]) {
        assert_eq!(self.status(), status, "{}\n{}", self.head, self.body);
        for text in told {
            assert!(self.body.contains(text), "'{text}' is not said\n{}", self.body);
        }
    }
}

/// A stream of events.
struct Events(BufReader<TcpStream>);

impl Events {
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// The next event and its data.
    fn next(&mut self) -> (String, Value) {
        let mut kind = String::new();
        let mut data = None;
        loop {
            let line = self.line();
            if let Some(name) = line.strip_prefix("event: ") {
                kind = name.to_owned();
            }
            if let Some(json) = line.strip_prefix("data: ") {
                data = Some(readable(json.as_bytes()));
            }
            if line.is_empty()
                && let Some(data) = data.take()
            {
                return (kind, data);
            }
        }
    }

    /// Events up to one of this kind, which is the last.
    fn up_to(&mut self, last: &str) -> Vec<(String, Value)> {
        let mut events = Vec::new();
        loop {
            events.push(self.next());
            if events.last().is_some_and(|(kind, _)| kind == last) {
                return events;
            }
        }
    }
}

fn name_of(run: &Path) -> &str {
    run.file_name().unwrap().to_str().unwrap()
}

#[test]
fn the_runs_are_listed_and_each_shows_its_report() {
    let place = Place::new();
    place.succeeds(&format!("run ycsb/c -s null,memory {TINY} --repeats 2"));
    let run = place.only_run();
    let served = Served::start(&place, "");
    assert!(served.address.starts_with("127.0.0.1:"), "loopback unless told");
    assert_eq!(served.query, "", "no login on loopback");

    let list = served.get("/");
    let link = format!("href=\"/runs/{}\"", name_of(&run));
    list.says(200, &[&link, "How fast does memory do ycsb/c", "finished", "4 trials", "→ memory"]);
    let policy = list.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none';") && policy.contains("frame-ancestors 'none'"));
    assert!(!policy.contains("unsafe"), "{policy}");

    let page = served.get(&format!("/runs/{}", name_of(&run)));
    page.says(200, &[]);
    assert_eq!(page.body, fs::read_to_string(run.join("report.html")).unwrap(), "the very report");
    let policy = page.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    assert!(!policy.contains("connect-src"), "a run that is over asks for nothing: {policy}");
    assert_eq!(page.header("cache-control"), "no-store");

    let head = served
        .send(&format!("HEAD / HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", served.address));
    assert_eq!((head.status(), head.body.as_str()), (200, ""));
    assert_eq!(served.end().stdout.lines().count(), 1, "the address, once");
}

#[test]
fn a_run_is_told_as_it_goes() {
    let place = Place::new();
    fs::create_dir(place.path().join("assay-results")).unwrap();
    let served = Served::start(&place, "");
    served.get("/").says(200, &["There is no run in assay-results yet"]);
    let mut events = served.listen();
    let (kind, hello) = events.next();
    assert_eq!(kind, "hello");
    assert_eq!(hello["running"], serde_json::json!([]));

    let finished = place.start(&format!("run ycsb/c -s null,memory {TINY} --repeats 2")).wait();
    assert_eq!(finished.code, Some(0), "{finished}");
    let run = place.only_run();
    let told = events.up_to("ended");
    assert_eq!(told[0].0, "begun", "{told:?}");
    assert!(told.iter().all(|(_, data)| data["id"] == name_of(&run)), "{told:?}");
    let (_, last) = told.iter().rfind(|(kind, _)| kind == "trial").unwrap();
    assert_eq!((&last["done"], &last["planned"]), (&4.into(), &4.into()), "{told:?}");
    assert_eq!(told.last().unwrap().1["status"], "finished");
    served.get("/").says(200, &[name_of(&run), "finished"]);
    served.end();
}

#[test]
fn a_run_that_is_killed_is_live_before_and_interrupted_after() {
    let place = Place::new();
    fs::create_dir(place.path().join("assay-results")).unwrap();
    let served = Served::start(&place, "");
    let mut events = served.listen();
    // The second trial waits for a store that takes an hour.
    let running = place.start(
        "run ycsb/c -s null,memory+stall=3600s@600 --records 1000 --operations 5000 --warmup 0 \
         --repeats 1 --clients 1 --timeout 2h",
    );
    let (_, told) = events.up_to("trial").pop().unwrap();
    assert_eq!((&told["done"], &told["planned"]), (&1.into(), &2.into()));
    let run = place.only_run();
    served.get("/").says(200, &["running", "1 of 2 trials", "<progress max=\"2\" value=\"1\""]);
    let path = format!("/runs/{}", name_of(&run));
    let live = served.get(&path);
    live.says(200, &["id=\"report-data\"", "data-done=\"1\"", "EventSource"]);
    assert!(live.header("content-security-policy").contains("connect-src 'self'"));
    let (_, hello) = served.listen().next();
    assert_eq!(hello["running"][0]["id"], name_of(&run));

    running.signal(Signal::KILL);
    assert_eq!(running.wait().signal, Some(9));
    let (_, told) = events.up_to("ended").pop().unwrap();
    assert_eq!(told["status"], "interrupted");
    assert_eq!(place.status(), "running", "the run had no chance to say so");
    served.get("/").says(200, &["interrupted", "1 of 2 trials"]);
    let over = served.get(&path);
    over.says(200, &["\"status\":\"interrupted\""]);
    assert!(!over.body.contains("EventSource"));
    served.end();
    place.await_clean();
}

#[test]
fn other_hosts_other_origins_and_other_methods_are_refused() {
    let place = Place::new();
    fs::create_dir(place.path().join("assay-results")).unwrap();
    let served = Served::start(&place, "--host bench.example");
    let own = served.address.clone();
    for path in ["/", "/events", "/runs/x"] {
        for host in ["evil.example", "10.0.0.7", "127.0.0.1.evil.example"] {
            served.ask_as(host, path, &[]).says(421, &["does not answer to", host, &own]);
        }
        for origin in ["http://evil.example", "null", "http://localhost:1"] {
            let foreign = served.ask_as(&own, path, &[&format!("Origin: {origin}")]);
            foreign.says(403, &["other sites"]);
        }
    }
    served.ask_as(&own, "/", &[&format!("Origin: http://{own}")]).says(200, &[]);
    served.ask_as(&format!("localhost:{}", served.port()), "/", &[]).says(200, &[]);
    served.ask_as("bench.example", "/", &[]).says(200, &[]);
    let posted = served.send(&format!(
        "POST / HTTP/1.1\r\nHost: {own}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    ));
    posted.says(405, &["GET or HEAD"]);
    assert_eq!(posted.header("allow"), "GET, HEAD");
    served.end();
}

#[test]
fn no_path_leads_out_of_the_folder() {
    let place = Place::new();
    place.succeeds(&format!("run ycsb/c -s memory {TINY} --repeats 1"));
    place.succeeds(&format!("run ycsb/c -s memory {TINY} --repeats 1 --results other"));
    let elsewhere = fs::read_dir(place.path().join("other")).unwrap().next().unwrap().unwrap();
    let elsewhere = elsewhere.file_name().into_string().unwrap();
    let served = Served::start(&place, "");
    for path in [
        format!("/runs/..%2F..%2Fother%2F{elsewhere}"),
        format!("/runs/../../other/{elsewhere}"),
        format!("/runs/%2e%2e/%2e%2e/other/{elsewhere}"),
        format!("/runs/{}", place.path().join("other").join(&elsewhere).display()),
        "/runs/latest".to_owned(),
        "/runs/.".to_owned(),
        "/runs/".to_owned(),
        "/runs/%00".to_owned(),
        format!("/runs/{}%2Ftrials", name_of(&place.only_run())),
        "/run.json".to_owned(),
    ] {
        served.get(&path).says(404, &["All runs"]);
    }
    served.get(&format!("/runs/{}", name_of(&place.only_run()))).says(200, &[]);
    served.end();
}

#[test]
fn beyond_loopback_a_token_is_made_and_asked_for() {
    let place = Place::new();
    place.succeeds(&format!("run ycsb/c -s memory {TINY} --repeats 1"));
    let served = Served::start(&place, "--listen 0.0.0.0");
    let token = served.query.strip_prefix("?token=").expect("the address has the token").to_owned();
    assert_eq!(token.len(), 64);
    let path = format!("/runs/{}", name_of(&place.only_run()));
    for path in ["/", "/events", &path, "/nothing"] {
        let refused = served.get(path);
        refused.says(401, &["a token is needed", "Bearer"]);
        assert_eq!(refused.header("www-authenticate"), "Bearer");
        served.get(&format!("{path}?token=0123456789abcdef")).says(401, &["not the token"]);
    }
    let bearer = format!("Authorization: Bearer {token}");
    served.ask_as(&served.address, "/", &[&bearer]).says(200, &["finished"]);
    served.ask_as("10.0.0.7:80", "/", &[&bearer]).says(200, &["finished"]);
    served.ask_as("evil.example", "/", &[&bearer]).says(421, &["--host"]);

    let welcome = served.get(&format!("{path}?token={token}"));
    welcome.says(200, &[&format!("content=\"0; url={path}\"")]);
    assert!(!welcome.body.contains(&token), "the token is in no page");
    let set = welcome.header("set-cookie");
    assert!(set.contains("; HttpOnly; SameSite=Strict; Path=/") && !set.contains(&token), "{set}");
    let cookie = format!("Cookie: {}", set.split(';').next().unwrap());
    served.ask_as(&served.address, &path, &[&cookie]).says(200, &["id=\"report-data\""]);
    served.ask_as(&served.address, &path, &["Cookie: assay_serve=x"]).says(401, &[]);
    let finished = served.end();
    finished.says(&["other machines can reach this"]);
    assert!(!finished.stderr.contains(&token));
}

#[test]
fn a_token_that_was_chosen_is_asked_for_and_not_printed() {
    let place = Place::new();
    fs::create_dir(place.path().join("assay-results")).unwrap();
    let served = Served::start(&place, "--token chosen-by-somebody");
    assert_eq!(served.query, "");
    served.get("/").says(401, &[]);
    let bearer = "Authorization: Bearer chosen-by-somebody";
    served.ask_as(&served.address, "/", &[bearer]).says(200, &[]);
    served.end();
    place.refuses("serve --token short", &["at least 16", "--token"]);
}

#[test]
fn a_damaged_run_is_told_and_the_others_are_shown() {
    let place = Place::new();
    place.succeeds(&format!("run ycsb/c -s memory {TINY} --repeats 1"));
    let damaged = place.only_run();
    fs::write(&place.record_files()[0], "{\"format_version\": 1, \"system\": \"<script>x").unwrap();
    place.succeeds(&format!("run ycsb/a -s slik {TINY} --repeats 1"));
    let served = Served::start(&place, "");
    let list = served.get("/");
    list.says(200, &["slik", "ycsb/a", "finished", "unreadable", "0001-memory", "restore it"]);
    served.get(&format!("/runs/{}", name_of(&damaged))).says(500, &["0001-memory", "All runs"]);
    served.end();
}

#[test]
fn names_that_are_scripts_are_only_names() {
    let place = Place::new();
    let evil = "</title><script>alert(1)</script>";
    place.succeeds(&format!("run ycsb/c -s memory {TINY} --repeats 1"));
    let run = place.only_run();
    let header = run.join("run.json");
    let mut plan = readable(&fs::read(&header).unwrap());
    plan["plan"]["title"] = evil.into();
    plan["plan"]["question"] = evil.into();
    for cell in plan["plan"]["cells"].as_array_mut().unwrap() {
        cell["system"]["label"] = evil.into();
        cell["workload"] = evil.into();
    }
    fs::write(&header, plan.to_string()).unwrap();
    let record = &place.record_files()[0];
    let mut trial = readable(&fs::read(record).unwrap());
    trial["system"] = evil.into();
    trial["workload"] = evil.into();
    fs::write(record, trial.to_string()).unwrap();
    let folder = place.path().join("assay-results").join("<script>alert(2)<");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("run.json"), "{<script>alert(3)</script>").unwrap();

    let served = Served::start(&place, "");
    let link = "/runs/%3Cscript%3Ealert%282%29%3C";
    let list = served.get("/");
    list.says(200, &["&lt;script&gt;alert(1)", &format!("href=\"{link}\"")]);
    let run = served.get(&format!("/runs/{}", name_of(&run)));
    run.says(200, &["&lt;script&gt;alert(1)"]);
    let broken = served.get(link);
    broken.says(500, &["&lt;script&gt;alert(2)"]);
    let nothing = served.get("/runs/%3Cscript%3Ealert(4)");
    nothing.says(404, &[]);
    for answer in [list, run, broken, nothing] {
        assert!(!answer.body.contains("<script>alert"), "{}", answer.body);
    }
    served.end();
}

#[test]
fn ctrl_c_ends_it_though_somebody_listens_or_has_half_asked() {
    let place = Place::new();
    fs::create_dir(place.path().join("assay-results")).unwrap();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let served = Served::start(&place, "");
        let mut events = served.listen();
        assert_eq!(events.next().0, "hello");
        let mut half = served.connect();
        half.write_all(b"GET / HTTP/1.1\r\nHost:").unwrap();
        let idle = served.connect();
        let asked = Instant::now();
        served.running.signal(signal);
        let finished = served.running.wait();
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{finished}");
        // Far from the limit after which tests fail, and from the listeners' next sign of life.
        assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
        drop((events, half, idle));
    }
}

#[test]
fn what_cannot_be_served_is_told() {
    let place = Place::new();
    place.refuses("serve", &["assay-results", "no such folder", "assay run", "--results"]);
    place.file("file", "");
    place.refuses("serve --results file", &["file", "no folder", "--results"]);
    place.succeeds(&format!("run ycsb/c -s memory {TINY} --repeats 1"));
    let run = place.only_run();
    place.refuses(&format!("serve --results {}", run.display()), &["it is a run", "--results"]);
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let address = format!("127.0.0.1:{port}");
    place.fails(&format!("serve --listen {port}"), &["cannot listen on", &address, "--listen"]);
    let unknown = place.run("serve --listen nowhere");
    assert_eq!(unknown.code, Some(2), "{unknown}");
    unknown.says(&["127.0.0.1:8080"]);
}

#[test]
fn a_folder_that_goes_away_is_told_and_taken_again_when_it_is_back() {
    let place = Place::new();
    place.succeeds(&format!("run ycsb/c -s memory {TINY} --repeats 1"));
    let served = Served::start(&place, "");
    let mut events = served.listen();
    let folder = place.path().join("assay-results");
    fs::rename(&folder, place.path().join("away")).unwrap();
    events.up_to("changed");
    served.get("/").says(200, &["cannot be read", "finished"]);
    fs::rename(place.path().join("away"), &folder).unwrap();
    await_that("the folder is back", || !served.get("/").body.contains("cannot be read"));
    served.get("/").says(200, &["finished"]);
    served.end();
}
