//! Names of systems and addresses: what is shown and stored does not depend on the password.

#![no_main]

use arbitrary::Arbitrary;
use assay_experiment::system_name::{SystemName, endpoint};
use assay_model::{Endpoint, redact};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Given<'a> {
    name: &'a str,
    scheme: u8,
    user: &'a str,
    /// The passwords that must not be told apart.
    passwords: [&'a str; 2],
    host: &'a str,
    rest: &'a str,
}

const SCHEMES: [&str; 5] = ["redis", "valkey", "postgres", "redis+unix", "http"];

fn shown(name: &str, url: &str) -> (Option<Endpoint>, String, String) {
    let text = format!("{name}={url}");
    let parsed = text.parse::<SystemName>().map(|system| format!("{:?}", system.label));
    let address = endpoint(url, 1234);
    let bare = address.as_ref().ok().map(|found| Endpoint { password: None, ..found.clone() });
    if let Some(bare) = &bare {
        let stored = endpoint(&redact(url), 1234).expect("a redacted address is an address");
        assert_eq!(*bare, Endpoint { password: None, ..stored }, "it names another server");
        assert_eq!(redact(&redact(url)), redact(url), "what is redacted stays");
    }
    let told = format!("{parsed:?} {:?}", address.map(|_| ()));
    (bare, told, redact(&text))
}

fuzz_target!(|given: Given<'_>| {
    let _ = redact(given.rest);
    let _ = given.name.parse::<SystemName>();
    let _ = endpoint(given.rest, 1);

    let plain = |text: &str| !text.contains(|c: char| c.is_whitespace() || c == ':' || c == '/');
    let scheme = SCHEMES[usize::from(given.scheme) % SCHEMES.len()];
    let Given { user, host, rest, .. } = given;
    let urls = given.passwords.map(|password| format!("{scheme}://{user}:{password}@{host}{rest}"));
    let fits = |url: &String| url.matches("://").count() == 1;
    let words = |password: &&str| !password.is_empty() && !password.contains(char::is_whitespace);
    if !plain(user) || !urls.iter().all(fits) || !given.passwords.iter().all(words) {
        return;
    }
    let [one, other] = urls.map(|url| shown(given.name, &url));
    // A password with an '@' or '/' may be no password at all to the parser; what is shown stays.
    assert_eq!(one.2, other.2, "what is stored tells the passwords apart");
    if one.0.is_some() && other.0.is_some() {
        assert_eq!(one.1, other.1, "what is said tells the passwords apart");
    }
});
