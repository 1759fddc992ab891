//! Keeping secrets out of what is stored: passwords in URLs, in `name=value` settings and behind
//! options. Rather a word too many is starred than one too few.

use serde_json::Value;

const STARS: &str = "***";

/// The ends of names whose values are secrets.
const SECRET_NAMES: [&str; 10] = [
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "secret",
    "requirepass",
    "masterauth",
    "access_key",
    "api_key",
    "token",
];

/// The text with every password replaced by `***`: in `scheme://user:password@host`, in
/// `password=…` (also as a URL's parameter, in quotes or with a colon) and in `--password …`.
pub fn redact(text: &str) -> String {
    redact_named(&redact_urls(text))
}

/// Redacts every string in a JSON value, values under secret names, and the argument after an
/// option with a secret name.
pub(crate) fn redact_value(value: &mut Value) {
    match value {
        Value::String(text) => *text = redact(text),
        Value::Array(items) => {
            let mut secret_follows = false;
            for item in items {
                let option = item.as_str().is_some_and(|text| text.starts_with('-'));
                if secret_follows && !option && item.is_string() {
                    *item = Value::String(STARS.to_owned());
                    secret_follows = false;
                } else {
                    secret_follows = option && item.as_str().is_some_and(names_a_secret);
                    redact_value(item);
                }
            }
        }
        Value::Object(fields) => {
            let old = std::mem::take(fields);
            for (name, mut value) in old {
                if names_a_secret(&name) && (value.is_string() || value.is_number()) {
                    value = Value::String(STARS.to_owned());
                } else {
                    redact_value(&mut value);
                }
                fields.insert(redact(&name), value);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    SECRET_NAMES.iter().any(|secret| name.ends_with(secret))
}

fn ends_a_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '`')
}

/// Stars out the password of each URL. A password may hold an unescaped `@`, `/` or `?`, so the
/// host is taken to follow the last `@` before the next URL or the word's end.
fn redact_urls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(found) = rest.find("://") {
        let (before, after) = rest.split_at(found + 3);
        out.push_str(before);
        let word = after.find(ends_a_word).unwrap_or(after.len());
        // A list such as `a=redis://h1,b=redis://h2`: this URL ends at the comma before the next.
        let next = after[..word].find("://").and_then(|next| after[..next].rfind([',', ';', '|']));
        let (url, remaining) = after.split_at(next.unwrap_or(word));
        match url.rfind('@').map(|at| url.split_at(at)) {
            Some((login, host)) => match login.split_once(':') {
                Some((user, _)) => out.extend([user, ":", STARS, host]),
                None => out.push_str(url),
            },
            None => out.push_str(url),
        }
        rest = remaining;
    }
    out.push_str(rest);
    out
}

/// Stars out the values of `name=value`, `name: value` and `--name value` with secret names.
fn redact_named(text: &str) -> String {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_name) {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let (name, after) = rest.split_at(rest.find(|c| !is_name(c)).unwrap_or(rest.len()));
        out.push_str(name);
        rest = after;
        if !names_a_secret(name) {
            continue;
        }
        let Some(value) = after_separator(after, name.starts_with("--")) else { continue };
        out.push_str(&after[..after.len() - value.len()]);
        let length = value_length(value);
        if length > 0 {
            out.push_str(STARS);
        }
        rest = &value[length..];
    }
    out.push_str(rest);
    out
}

/// What follows the `=` or `:` (or, behind an option, the space) that parts a name from its value.
fn after_separator(after: &str, option: bool) -> Option<&str> {
    // The name may stand in quotes of its own, as in JSON.
    let trimmed = after.strip_prefix(['"', '\'']).unwrap_or(after).trim_start();
    match trimmed.strip_prefix(['=', ':']) {
        Some(value) => Some(value.trim_start()),
        None if option && after.starts_with(' ') => Some(trimmed).filter(|v| !v.starts_with('-')),
        None => None,
    }
}

/// The length of a value: to the closing quote, or to the end of the word or list item.
fn value_length(value: &str) -> usize {
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            value[1..].find(quote).map_or(value.len(), |closing| closing + 2)
        }
        _ => {
            let ends = |c: char| ends_a_word(c) || matches!(c, '&' | ',' | ';' | '}' | ')');
            value.find(ends).unwrap_or(value.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn passwords_in_urls_are_starred_and_the_rest_stays() {
        for (text, redacted) in [
            ("redis://h:6379/0", "redis://h:6379/0"),
            ("redis://u:pw@h:6379/0", "redis://u:***@h:6379/0"),
            ("redis=redis://:pw@h:1", "redis=redis://:***@h:1"),
            ("postgres://u@h/db", "postgres://u@h/db"),
            ("(postgres://u:p@ss/w?rd@h/db)", "(postgres://u:***@h/db)"),
            ("a=redis://u:p@h1:1,b=redis://v:q@h2", "a=redis://u:***@h1:1,b=redis://v:***@h2"),
            ("see 'http://x/y' or http://u:p@z now", "see 'http://x/y' or http://u:***@z now"),
            ("no url: at all@here", "no url: at all@here"),
        ] {
            assert_eq!(redact(text), redacted);
        }
    }

    #[test]
    fn passwords_behind_names_are_starred_and_other_settings_stay() {
        for (text, redacted) in [
            ("host=h password=pw user=u", "host=h password=*** user=u"),
            ("PGPASSWORD='a b' x", "PGPASSWORD=*** x"),
            ("postgres://h/db?password=pw&ssl=1", "postgres://h/db?password=***&ssl=1"),
            ("--requirepass hunter2 --save ''", "--requirepass *** --save ''"),
            ("{\"password\": \"pw\", \"n\": 1}", "{\"password\": ***, \"n\": 1}"),
            ("redis.password=pw,clients=4", "redis.password=***,clients=4"),
            ("password_encryption=scram-sha-256", "password_encryption=scram-sha-256"),
            ("a token is no value", "a token is no value"),
            ("password=", "password="),
        ] {
            assert_eq!(redact(text), redacted);
        }
    }

    #[test]
    fn json_is_redacted_to_its_leaves() {
        let mut value = json!({
            "args": ["run", "--password", "pw", "--clients", "4", "redis://u:pw@h"],
            "url": {"redis://u:pw@h": ["x", {"requirepass": "pw"}]},
            "password": 12345,
            "count": 3,
        });
        redact_value(&mut value);
        assert_eq!(
            value,
            json!({
                "args": ["run", "--password", "***", "--clients", "4", "redis://u:***@h"],
                "url": {"redis://u:***@h": ["x", {"requirepass": "***"}]},
                "password": "***",
                "count": 3,
            })
        );
    }

    #[test]
    fn redacting_twice_changes_nothing_more() {
        for text in ["redis://u:p@h password='x y'", "--password a --secret b", "é://ü:ß@π"] {
            assert_eq!(redact(&redact(text)), redact(text));
        }
    }
}
