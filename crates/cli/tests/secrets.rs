//! No password is said, whatever is wrong with what holds it.

use crate::common::{Finished, Place};

const PASSWORD: &str = "S3cr3tPw";

fn is_silent_about_it(finished: &Finished) {
    assert_eq!(finished.code, Some(2), "{finished}");
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert!(!said.contains(PASSWORD), "{finished}");
    assert!(!finished.stderr.is_empty());
}

#[test]
fn a_mistake_in_an_experiment_file_shows_no_password_and_is_said_once() {
    let place = Place::new();
    for text in [
        r#"systems = [{ name = "redis", urll = "redis://:S3cr3tPw@127.0.0.1:7399" }]"#,
        r#"systems = [{ name = "redis", url = "redis://:S3cr3tPw@127.0.0.1:7399""#,
        r#"systems = [{ name = "redis", url = "redis://:S3cr3tPw@127.0.0.1:7399 }]"#,
        r#"systems = [{ name = "redis", settings = { requirepass = "S3cr3tPw" }, zz = 1 }]"#,
        r#"systems = [{ name = "redis", settings = { requirepass "S3cr3tPw" } }]"#,
        r#"systems = [{ name = "redis", settings = { requirepass = ["S3cr3tPw"] } }]"#,
        r#"systems = ["redis=redis://:S3cr3tPw@127.0.0.1:port"]"#,
        r#"systems = ["redis=redis://:S3cr3tPw@127.0.0.1:1/0#x"]"#,
    ] {
        place.file("exp.toml", text);
        for command in ["run", "plan"] {
            let finished = place.run(&format!("{command} exp.toml"));
            is_silent_about_it(&finished);
            assert!(finished.stderr.matches("TOML parse error").count() <= 1, "{finished}");
        }
    }
}

#[test]
fn a_mistake_on_the_command_line_shows_no_password() {
    let place = Place::new();
    for words in [
        "run redis://:S3cr3tPw@127.0.0.1:7399",
        "run redis://:S3cr3tPw@localhost",
        "plan redis://:S3cr3tPw@127.0.0.1:7399",
        "run -s redis://:S3cr3tPw@127.0.0.1:7399 --clients redis://:S3cr3tPw@h",
        "run -s redsi=redis://:S3cr3tPw@127.0.0.1:7399 --bananas=redis://:S3cr3tPw@h",
        "run -s redis=redis://:S3cr3tPw@127.0.0.1:port",
        "run -s redis=redis://:S3cr3tPw@h,redis=redis://:S3cr3tPw@h:1#x",
        "run -s redis=redis://u:1,S3cr3tPw@h",
        "redis://:S3cr3tPw@127.0.0.1:7399",
        "run -P redis://:S3cr3tPw@h",
        "run -p redis.password=S3cr3tPw",
        "run -p recordcount=redis://:S3cr3tPw@h",
        "show redis://:S3cr3tPw@h",
        "rerun redis://:S3cr3tPw@h",
        "compare redis://:S3cr3tPw@h --across a b",
    ] {
        is_silent_about_it(&place.run(words));
    }
    // What is wrong in a property file.
    place.file("properties", "redis.password=S3cr3tPw\nrecordcount=redis://:S3cr3tPw@h\n");
    is_silent_about_it(&place.run("run -P properties"));
}

#[test]
fn an_address_for_a_rerun_shows_no_password() {
    let place = Place::new();
    place.succeeds("run ycsb/c -q -s memory --records 10 --operations 10 --repeats 1 --results r");
    let run = std::fs::read_dir(place.path().join("r")).unwrap().next().unwrap().unwrap().path();
    let record = std::fs::read_dir(run.join("trials"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|end| end == "json"))
        .unwrap();
    // As a record of an attached server, of which there is none here.
    let text = std::fs::read_to_string(&record).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let system = &mut json["plan"]["system"];
    system["driver"] = "redis".into();
    system["layout"] = "hash".into();
    system["target"] = serde_json::json!({
        "attach": { "url": "redis://:***@h", "default_port": 6379 }
    });
    place.file("record.json", &json.to_string());
    for url in ["redis://:S3cr3tPw@127.0.0.1:port", "redis://:S3cr3tPw@h/0#x"] {
        is_silent_about_it(&place.run(&format!("rerun record.json --url {url}")));
    }
}
