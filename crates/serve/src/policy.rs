//! Content security policies: what a page may do, by the hashes of what it holds.

use assay_report::page::hash;

use crate::html::STYLE;

/// What no page of this server may be: part of another's.
const NOT_FRAMED: &str = "frame-ancestors 'none'";

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
