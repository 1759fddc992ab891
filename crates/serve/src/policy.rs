//! Content security policies: what a page may do, by the hashes of what it holds.

use base64::{Engine, prelude::BASE64_STANDARD};
use sha2::{Digest, Sha256};

use crate::html::STYLE;

/// What no page of this server may be: part of another's.
const NOT_FRAMED: &str = "frame-ancestors 'none'";

/// The source expression for an inline script or style.
pub fn hash(text: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)))
}

/// The policy of a page of the server's own, which may run this script, if any, and ask this server.
pub fn own(script: Option<&str>) -> String {
    let style = hash(STYLE);
    let run = script.map(|script| format!(" script-src {}; connect-src 'self';", hash(script)));
    format!(
        "default-src 'none';{} style-src {style}; base-uri 'none'; form-action 'none'; {NOT_FRAMED}",
        run.unwrap_or_default()
    )
}

/// A report's policy as a header: frames can only be refused in one.
pub fn of_report(policy: &str) -> String {
    format!("{policy}; {NOT_FRAMED}")
}

/// A report's policy with leave for one more script, and for that to ask this server.
pub fn with_script(policy: &str, script: &str) -> String {
    let scripts = format!("script-src {} ", hash(script));
    format!("{}; connect-src 'self'", policy.replacen("script-src ", &scripts, 1))
}
