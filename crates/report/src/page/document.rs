//! The HTML file around the data: one file, which needs nothing and asks nobody.

use base64::{Engine, prelude::BASE64_STANDARD};
use sha2::{Digest, Sha256};

use super::{
    Report, data_block,
    text_page::{self, escaped},
};

const SCRIPT: &str = include_str!("../../../../web/dist/report.js");
const STYLE: &str = include_str!("../../../../web/dist/report.css");

/// A page, and what it may do.
pub struct Page {
    /// The HTML file; its head says the policy too.
    pub html: String,
    /// The content security policy, for a server to send with it.
    pub policy: String,
}

/// A script that keeps a page of a server's up to date.
pub struct LiveScript<'a> {
    /// The attributes of its element, each `data-…` name with its value.
    pub attributes: &'a [(&'a str, &'a str)],
    /// JavaScript; it may ask the server that sent the page.
    pub source: &'a str,
}

/// The report as one HTML file. It holds style, script and data, loads nothing, and says the answers
/// and the main figures also without a script.
///
/// The element `report` holds the text; the script takes the data from the element `report-data`.
pub fn render(report: &Report) -> String {
    page(report, None).html
}

/// The report as a page of a server's: as [`render`] gives it, with one more script if there is one.
pub fn page(report: &Report, live: Option<LiveScript<'_>>) -> Page {
    let title = match report.title.as_str() {
        "" => "Assay".to_owned(),
        title => format!("{} · Assay", escaped(title)),
    };
    let policy = policy(live.as_ref().map(|live| live.source));
    let live = live.map_or(String::new(), |live| element_of(&live));
    let version = escaped(&report.assay_version);
    let text = text_page::render(report);
    let data = data_block::json(report);
    let html = format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="Assay {version}">
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
<main id="report">
{text}</main>
<script type="application/json" id="report-data">{data}</script>
<script>{SCRIPT}</script>
{live}</body>
</html>
"#
    );
    Page { html, policy }
}

fn element_of(live: &LiveScript<'_>) -> String {
    let attributes = live.attributes.iter().map(|(name, value)| {
        let value = escaped(value);
        format!(" {name}=\"{value}\"")
    });
    format!("<script{}>{}</script>\n", attributes.collect::<String>(), live.source)
}

/// What the page may do: run its scripts, be styled, draw pictures that it made itself. Nothing is
/// sent or framed, and only a live script may ask the server that sent the page.
fn policy(live: Option<&str>) -> String {
    let scripts: Vec<String> = [Some(SCRIPT), live].into_iter().flatten().map(hash).collect();
    let asks = if live.is_some() { "; connect-src 'self'" } else { "" };
    format!(
        "default-src 'none'; script-src {}; style-src 'unsafe-inline'; img-src data: blob:; \
         base-uri 'none'; form-action 'none'{asks}",
        scripts.join(" ")
    )
}

/// The source expression by which a policy allows an inline script or style.
pub fn hash(text: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundle_can_stand_inside_its_element() {
        let script = SCRIPT.to_ascii_lowercase();
        assert!(!script.contains("</script") && !script.contains("<!--"));
        assert!(!STYLE.to_ascii_lowercase().contains("</style"));
        // A parser of HTML would change these, and the script's hash with them.
        assert!(!SCRIPT.contains('\r') && !SCRIPT.contains('\0'));
    }
}
