//! The HTML file around the data: one file, which needs nothing and asks nobody.

use base64::{Engine, prelude::BASE64_STANDARD};
use sha2::{Digest, Sha256};

use super::{
    Report, data_block,
    text_page::{self, escaped},
};

const SCRIPT: &str = include_str!("../../../../web/dist/report.js");
const STYLE: &str = include_str!("../../../../web/dist/report.css");

/// The report as one HTML file. It holds style, script and data, loads nothing, and says the answers
/// and the main figures also without a script.
///
/// The element `report` holds the text; the script takes the data from the element `report-data`.
pub fn render(report: &Report) -> String {
    let title = match report.title.as_str() {
        "" => "Assay".to_owned(),
        title => format!("{} · Assay", escaped(title)),
    };
    let policy = policy();
    let version = escaped(&report.assay_version);
    let text = text_page::render(report);
    let data = data_block::json(report);
    format!(
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
</body>
</html>
"#
    )
}

/// What the page may do: run this script, be styled, draw pictures that it made itself. Nothing is
/// fetched, sent or framed.
fn policy() -> String {
    let hash = BASE64_STANDARD.encode(Sha256::digest(SCRIPT.as_bytes()));
    format!(
        "default-src 'none'; script-src 'sha256-{hash}'; style-src 'unsafe-inline'; \
         img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
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
