//! Who may ask, and what: decided before anything else is done.
//!
//! A page elsewhere can have its own name point at this machine, and the browser of somebody here would
//! then hand it what is served; so only the names known to be this server's are answered. What a
//! browser sends on behalf of another site is refused as well. On loopback that is all; elsewhere a
//! token must be shown.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri, header, uri::Authority};

use crate::token::Token;

/// What is asked of every request.
pub struct Guard {
    /// Whether only this machine can reach the server.
    pub loopback: bool,
    /// The port it listens on.
    pub port: u16,
    /// Names that it answers to, in small letters, beside its addresses.
    pub names: Vec<String>,
    /// What must be shown, if anything.
    pub token: Option<Token>,
}

/// What a request gets that is not refused.
#[derive(Debug, PartialEq, Eq)]
pub enum Pass {
    /// What it asks for.
    Through,
    /// The cookie for the token in its URL, and the way to this path without it.
    Welcome(String),
}

/// Why a request is refused.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status to answer with.
    pub status: StatusCode,
    /// What is wrong, and what would be right.
    pub why: String,
}

impl Guard {
    /// Judges a request by its head.
    pub fn judge(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<Pass, Refusal> {
        if method != Method::GET && method != Method::HEAD {
            let why = "runs are only shown here: ask with GET or HEAD".to_owned();
            return Err(Refusal { status: StatusCode::METHOD_NOT_ALLOWED, why });
        }
        let host = self.check_host(uri, headers)?;
        check_origin(&host, headers)?;
        self.check_token(uri, headers)
    }

    /// Checks that the request means this server; returns the host as it was written.
    fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<String, Refusal> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            let why = "the request must have one header 'Host'".to_owned();
            return Err(Refusal { status: StatusCode::BAD_REQUEST, why });
        };
        let host = String::from_utf8_lossy(host.as_bytes()).into_owned();
        let named = uri.authority().map(Authority::as_str);
        for name in named.into_iter().chain([host.as_str()]) {
            if !self.answers_to(name) {
                return Err(self.misdirected(name));
            }
        }
        Ok(host)
    }

    fn answers_to(&self, authority: &str) -> bool {
        let Ok(authority) = authority.parse::<Authority>() else { return false };
        if authority.as_str().contains('@') {
            return false;
        }
        // Any port: it may be another one at the near end of a tunnel.
        let host = authority.host().to_ascii_lowercase();
        let host = host.strip_suffix('.').unwrap_or(&host);
        if host == "localhost" || self.names.iter().any(|name| name == host) {
            return true;
        }
        let address = host.trim_start_matches('[').trim_end_matches(']');
        let address = address.parse::<IpAddr>();
        address.is_ok_and(|address| !self.loopback || address.is_loopback())
    }

    fn misdirected(&self, name: &str) -> Refusal {
        let place = match self.loopback {
            true => format!("http://127.0.0.1:{}/", self.port),
            false => "its address, as in http://10.0.0.7:8080/".to_owned(),
        };
        let why = format!(
            "this server does not answer to '{name}': open {place}, or start it with 'assay serve \
             --host NAME' if that name is its own"
        );
        Refusal { status: StatusCode::MISDIRECTED_REQUEST, why }
    }

    fn check_token(&self, uri: &Uri, headers: &HeaderMap) -> Result<Pass, Refusal> {
        let Some(token) = &self.token else { return Ok(Pass::Through) };
        if let Some(shown) = query_token(uri) {
            return match token.is(shown) {
                true => Ok(Pass::Welcome(own_path(uri))),
                false => Err(unauthorized("this is not the token")),
            };
        }
        if let Some(shown) = headers.get(header::AUTHORIZATION) {
            let shown = shown.to_str().unwrap_or_default();
            let bearer =
                shown.split_once(' ').filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer"));
            return match bearer.is_some_and(|(_, shown)| token.is(shown.trim())) {
                true => Ok(Pass::Through),
                false => Err(unauthorized("this is not the token")),
            };
        }
        match cookies(headers, &self.cookie_name()).any(|shown| token.is_cookie(shown)) {
            true => Ok(Pass::Through),
            false => Err(unauthorized("a token is needed")),
        }
    }

    /// The cookie's name. Browsers keep cookies by host, not by port.
    pub fn cookie_name(&self) -> String {
        format!("assay_serve_{}", self.port)
    }
}

fn unauthorized(what: &str) -> Refusal {
    let why = format!(
        "{what}: open the address that 'assay serve' printed, with '?token=' and all, or send the \
         header 'Authorization: Bearer TOKEN'"
    );
    Refusal { status: StatusCode::UNAUTHORIZED, why }
}

/// Refuses what another site's page asks for. Links from elsewhere may be followed.
fn check_origin(host: &str, headers: &HeaderMap) -> Result<(), Refusal> {
    let own = format!("http://{}", host.to_ascii_lowercase());
    let foreign = headers
        .get_all(header::ORIGIN)
        .iter()
        .any(|origin| !origin.to_str().is_ok_and(|origin| origin.to_ascii_lowercase() == own));
    let fetch = |name: &'static str| headers.get(HeaderName::from_static(name));
    let elsewhere =
        fetch("sec-fetch-site").is_some_and(|site| site == "cross-site" || site == "same-site");
    let followed = fetch("sec-fetch-mode").is_some_and(|mode| mode == "navigate")
        && fetch("sec-fetch-dest").is_some_and(|dest| dest == "document");
    match foreign || (elsewhere && !followed) {
        true => Err(Refusal {
            status: StatusCode::FORBIDDEN,
            why: "pages of other sites may not ask this server: open it in a tab of its own"
                .to_owned(),
        }),
        false => Ok(()),
    }
}

/// The token in the URL. One that can stand there unescaped is the only kind there is.
fn query_token(uri: &Uri) -> Option<&str> {
    uri.query()?.split('&').find_map(|part| part.strip_prefix("token="))
}

/// The path to go on to, which must not lead to another host, as `//host` would.
fn own_path(uri: &Uri) -> String {
    let path = uri.path();
    if path.starts_with("/runs/") { path.to_owned() } else { "/".to_owned() }
}

fn cookies<'a>(headers: &'a HeaderMap, name: &'a str) -> impl Iterator<Item = &'a str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|cookies| cookies.to_str().ok())
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .filter(move |(known, _)| *known == name)
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn local() -> Guard {
        Guard { loopback: true, port: 8080, names: vec!["bench.example".to_owned()], token: None }
    }

    fn open() -> Guard {
        let token = Token::chosen(TOKEN.to_owned()).unwrap();
        Guard { loopback: false, token: Some(token), ..local() }
    }

    fn ask(guard: &Guard, path: &str, headers: &[(&'static str, &str)]) -> Result<Pass, u16> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::from_static(name), value.parse().unwrap());
        }
        let judged = guard.judge(&Method::GET, &path.parse().unwrap(), &map);
        judged.map_err(|refusal| {
            assert!(refusal.why.len() > 20, "{refusal:?}");
            refusal.status.as_u16()
        })
    }

    #[test]
    fn only_get_and_head_are_answered() {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, "localhost".parse().unwrap());
        let uri = "/".parse().unwrap();
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS, Method::CONNECT]
        {
            let refused = local().judge(&method, &uri, &headers).unwrap_err();
            assert_eq!(refused.status, StatusCode::METHOD_NOT_ALLOWED, "{method}");
        }
        for method in [Method::GET, Method::HEAD] {
            assert_eq!(local().judge(&method, &uri, &headers), Ok(Pass::Through), "{method}");
        }
    }

    #[test]
    fn a_loopback_server_answers_only_to_loopback_names() {
        for host in [
            "127.0.0.1:8080",
            "127.0.0.1",
            "127.3.2.1:1",
            "localhost:8080",
            "LOCALHOST",
            "localhost.",
            "[::1]:8080",
            "bench.example:80",
        ] {
            assert_eq!(ask(&local(), "/", &[("host", host)]), Ok(Pass::Through), "{host}");
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example:8080",
            "localhost.evil.example",
            "10.0.0.7:8080",
            "0.0.0.0:8080",
            "[::ffff:10.0.0.7]",
            "user@localhost",
            "localhost@evil.example",
            "",
            "a b",
        ] {
            assert_eq!(ask(&local(), "/", &[("host", host)]), Err(421), "{host}");
        }
        assert_eq!(ask(&local(), "/", &[]), Err(400));
        let two = [("host", "localhost"), ("host", "evil.example")];
        assert_eq!(ask(&local(), "/", &two), Err(400));
    }

    #[test]
    fn the_host_in_the_request_line_counts_too() {
        let host = [("host", "localhost:8080")];
        assert_eq!(ask(&local(), "http://localhost:8080/", &host), Ok(Pass::Through));
        assert_eq!(ask(&local(), "http://evil.example/", &host), Err(421));
    }

    #[test]
    fn a_foreign_origin_is_refused_and_the_own_one_is_not() {
        let with =
            |name, value| ask(&local(), "/events", &[("host", "localhost:8080"), (name, value)]);
        assert_eq!(with("origin", "http://localhost:8080"), Ok(Pass::Through));
        for origin in [
            "http://evil.example",
            "null",
            "http://localhost:8081",
            "http://localhost",
            "https://localhost:8080",
            "http://127.0.0.1:8080",
            "",
        ] {
            assert_eq!(with("origin", origin), Err(403), "{origin}");
        }
        assert_eq!(with("sec-fetch-site", "cross-site"), Err(403));
        assert_eq!(with("sec-fetch-site", "same-site"), Err(403), "another port of this machine");
        assert_eq!(with("sec-fetch-site", "same-origin"), Ok(Pass::Through));
        assert_eq!(with("sec-fetch-site", "none"), Ok(Pass::Through));
    }

    #[test]
    fn a_link_from_elsewhere_can_be_followed_but_not_framed() {
        let from = |dest| {
            let headers = [
                ("host", "localhost"),
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", "navigate"),
                ("sec-fetch-dest", dest),
            ];
            ask(&local(), "/", &headers)
        };
        assert_eq!(from("document"), Ok(Pass::Through));
        assert_eq!(from("iframe"), Err(403));
    }

    #[test]
    fn beyond_this_machine_a_token_must_be_shown() {
        let host = ("host", "10.0.0.7:8080");
        let guard = open();
        let cookie =
            format!("a=b; {}={}", guard.cookie_name(), guard.token.as_ref().unwrap().cookie());
        let right = format!("Bearer {TOKEN}");
        assert_eq!(ask(&guard, "/", &[host]), Err(401));
        assert_eq!(ask(&guard, "/", &[("host", "127.0.0.1")]), Err(401), "here as well");
        assert_eq!(ask(&guard, "/", &[host, ("authorization", &right)]), Ok(Pass::Through));
        assert_eq!(ask(&guard, "/events", &[host, ("cookie", &cookie)]), Ok(Pass::Through));
        for wrong in ["Bearer ", "Bearer 0123456789abcdee", "Basic 0123456789abcdef", TOKEN] {
            assert_eq!(ask(&guard, "/", &[host, ("authorization", wrong)]), Err(401), "{wrong}");
        }
        let wrong = format!("{}={TOKEN}; assay_serve_1=x", guard.cookie_name());
        assert_eq!(ask(&guard, "/", &[host, ("cookie", &wrong)]), Err(401));
        // The token does not open the server to other sites' pages or names.
        assert_eq!(
            ask(&guard, "/", &[("host", "evil.example"), ("authorization", &right)]),
            Err(421)
        );
        let foreign = [host, ("authorization", &right), ("origin", "http://evil.example")];
        assert_eq!(ask(&guard, "/", &foreign), Err(403));
    }

    #[test]
    fn a_token_in_the_url_is_traded_for_a_cookie_and_leads_nowhere_else() {
        let host = [("host", "10.0.0.7:8080")];
        let welcome = |path: &str| ask(&open(), path, &host);
        let to = |path: &str| Ok(Pass::Welcome(path.to_owned()));
        assert_eq!(welcome(&format!("/?token={TOKEN}")), to("/"));
        assert_eq!(welcome(&format!("/runs/a%20b?x=y&token={TOKEN}")), to("/runs/a%20b"));
        assert_eq!(welcome(&format!("//evil.example/?token={TOKEN}")), to("/"));
        assert_eq!(welcome("/?token=wrong"), Err(401));
        assert_eq!(welcome("/?token="), Err(401));
    }
}
