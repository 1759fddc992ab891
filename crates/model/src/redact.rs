//! Keeping secrets out of what is shown and stored: passwords in URLs, in `name=value` settings
//! and behind options. Rather a word too many is starred than one too few.

/// What stands in the place of a secret.
pub const REDACTED: &str = "***";

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

/// The text with every password replaced by [`REDACTED`]: in `scheme://user:password@host`, in
/// `password=…` (also as a URL's parameter, in quotes, with a colon, or with mistakes between them
/// that make it no setting) and in `--password …`.
///
/// A password in a URL may hold anything but another URL's `://`; a blank only if no number precedes
/// it, or it would be the port.
pub fn redact(text: &str) -> String {
    redact_named(&redact_urls(text))
}

/// Whether the value of something called `name` is a secret: `PGPASSWORD`, `--requirepass`.
pub fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    SECRET_NAMES.iter().any(|secret| name.ends_with(secret))
}

/// Stars out the password of each URL. A password may hold an unescaped `@`, `/`, `?` or quote,
/// so the host is taken to follow the last `@` before the next URL or blank.
fn redact_urls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(found) = rest.find("://") {
        let (before, after) = rest.split_at(found + 3);
        out.push_str(before);
        let word = after.find(char::is_whitespace).unwrap_or(after.len());
        // A list such as `a=redis://h1,b=redis://h2`: this URL ends at the comma before the next.
        let next = after[..word].find("://").and_then(|next| after[..next].rfind([',', ';', '|']));
        let (url, remaining) = after.split_at(next.unwrap_or(word));
        let (login, host) = match url.rfind('@') {
            Some(at) => url.split_at(at),
            None => cut_off_login(url),
        };
        match login.split_once(':') {
            Some((user, _)) => out.extend([user, ":", REDACTED, host]),
            None => out.push_str(url),
        }
        // Cut at a blank within the password: what follows to the '@' is the rest of it.
        let cut = !login.is_empty() && host.is_empty();
        rest = match remaining.find(['@', '\n', '"', '\'']) {
            Some(at) if cut && remaining[at..].starts_with('@') => {
                let word = remaining[at..].split(char::is_whitespace).next().unwrap_or_default();
                &remaining[at + word.rfind('@').unwrap_or_default()..]
            }
            _ => remaining,
        };
    }
    out.push_str(rest);
    out
}

/// The login and the rest of a URL without `@`. There is a login if what stands in the port's place
/// is no number: then the URL was cut within its password, as at a comma in a list.
fn cut_off_login(url: &str) -> (&str, &str) {
    let authority = url.find(|c| matches!(c, '/' | '?' | '#') || ends_a_word(c));
    let (authority, _) = url.split_at(authority.unwrap_or(url.len()));
    let after_brackets = authority.rfind(']').map_or(authority, |end| &authority[end..]);
    let is_port = |port: &str| port == REDACTED || port.bytes().all(|byte| byte.is_ascii_digit());
    match after_brackets.split_once(':') {
        Some((_, port)) if !is_port(port.trim_end_matches([',', ';', '.', ')', ':'])) => (url, ""),
        _ => ("", url),
    }
}

fn ends_a_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '`')
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
            out.push_str(REDACTED);
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
    let between = |c: char| c.is_whitespace() || matches!(c, '=' | ':');
    match trimmed.strip_prefix(['=', ':']) {
        Some(value) => Some(value.trim_start_matches(between)),
        // A setting that lacks its separator.
        None if trimmed.starts_with(['"', '\'']) => Some(trimmed),
        None if option && after.starts_with(' ') => Some(trimmed).filter(|v| !v.starts_with('-')),
        None => None,
    }
}

/// The length of a value: to the closing quote or bracket, or to the end of the word or list item.
fn value_length(value: &str) -> usize {
    let to_the = |closing: &str, from: usize| {
        value[from..].find(closing).map_or(value.len(), |found| from + found + closing.len())
    };
    match value.chars().next() {
        Some('"') if value.starts_with(r#"""""#) => to_the(r#"""""#, 3),
        Some('\'') if value.starts_with("'''") => to_the("'''", 3),
        Some(quote @ ('"' | '\'')) => closing_quote(&value[1..], quote) + 1,
        Some('[') => to_the("]", 1),
        Some('{') => to_the("}", 1),
        _ => {
            let ends = |c: char| ends_a_word(c) || matches!(c, '&' | ',' | ';' | '}' | ')');
            value.find(ends).unwrap_or(value.len())
        }
    }
}

/// Where the text after `quote` ends, the closing quote included. One behind a backslash is part of
/// the text.
fn closing_quote(text: &str, quote: char) -> usize {
    let mut escaped = false;
    let closing = text.find(|c| {
        let closes = c == quote && !escaped;
        escaped = c == '\\' && !escaped;
        closes
    });
    closing.map_or(text.len(), |closing| closing + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_in_urls_are_starred_and_the_rest_stays() {
        for (text, redacted) in [
            ("redis://h:6379/0", "redis://h:6379/0"),
            ("redis://u:pw@h:6379/0", "redis://u:***@h:6379/0"),
            ("redis=redis://:pw@h:1", "redis=redis://:***@h:1"),
            ("postgres://u@h/db", "postgres://u@h/db"),
            ("(postgres://u:p@ss/w?rd@h/db)", "(postgres://u:***@h/db)"),
            ("a postgres://u:hun/t@er2@h/db b", "a postgres://u:***@h/db b"),
            ("a=redis://u:p@h1:1,b=redis://v:q@h2", "a=redis://u:***@h1:1,b=redis://v:***@h2"),
            ("see 'http://x/y' or http://u:p@z now", "see 'http://x/y' or http://u:***@z now"),
            ("'redis://[::1]:6379', \"http://h:80\".", "'redis://[::1]:6379', \"http://h:80\"."),
            ("http://h:80: refused", "http://h:80: refused"),
            ("no url: at all@here", "no url: at all@here"),
        ] {
            assert_eq!(redact(text), redacted);
        }
    }

    #[test]
    fn a_quote_in_a_password_does_not_end_it() {
        for quote in ['\'', '"', '<', '>', '`', ',', ';', '|', '%', '\\'] {
            let text = format!("redis=redis://:hun{quote}ter2@h:1");
            assert_eq!(redact(&text), "redis=redis://:***@h:1");
        }
    }

    #[test]
    fn a_password_cut_at_a_comma_is_starred() {
        assert_eq!(redact("'redis://:hunter' is no address"), "'redis://:*** is no address");
        assert_eq!(redact("redis://u:6e/x"), "redis://u:***");
        assert_eq!(redact("redis://[::1]:hunter"), "redis://[:***");
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
    fn a_mistake_about_a_password_does_not_show_it() {
        for (text, redacted) in [
            ("requirepass \"hun ter2\"", "requirepass ***"),
            ("\"requirepass\" 'hunter2', zz = 1", "\"requirepass\" ***, zz = 1"),
            ("requirepass == \"hunter2\" ]", "requirepass == *** ]"),
            ("requirepass = \"hun\\\"ter2\", zz = 1", "requirepass = ***, zz = 1"),
            ("requirepass = \"\"\"hunter2\"\"\", zz = 1", "requirepass = ***, zz = 1"),
            ("requirepass = '''hun'ter2''', zz = 1", "requirepass = ***, zz = 1"),
            ("requirepass = \"hunter2, zz = 1", "requirepass = ***"),
            ("requirepass = [\"hun\", \"ter2\"], zz = 1", "requirepass = ***, zz = 1"),
            ("requirepass = { is = \"hunter2\" }, zz = 1", "requirepass = ***, zz = 1"),
            ("url = \"redis://:hun ter2@h:1\", zz", "url = \"redis://:***@h:1\", zz"),
            ("redis://u:hun ter@2@h 1", "redis://u:***@h 1"),
            ("'redis://u:hun' and 'b@c'", "'redis://u:*** and 'b@c'"),
        ] {
            assert_eq!(redact(text), redacted);
        }
    }

    #[test]
    fn redacting_twice_changes_nothing_more() {
        for text in [
            "redis://u:p@h password='x y'",
            "--password a --secret b",
            "é://ü:ß@π",
            "redis://pwd:?x<and more",
            "redis://a:b c@d@e f@g",
            "redis://:hun ter2@h requirepass = [\"x\"] password \"y\"",
        ] {
            assert_eq!(redact(&redact(text)), redact(text));
        }
    }
}
