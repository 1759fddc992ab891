//! `docs/guide.md` explains every caveat.

const SOURCE: &str = include_str!("../src/caveats.rs");
const DOCUMENT: &str = include_str!("../../../docs/guide.md");

#[test]
fn every_caveat_is_documented() {
    let calls = SOURCE.split("caveat(").skip(1);
    let codes: Vec<&str> = calls
        .filter_map(|call| call.trim_start().strip_prefix('"')?.split_once('"'))
        .map(|(code, _)| code)
        .collect();
    assert!(codes.contains(&"client_bottleneck") && codes.len() >= 10, "{codes:?}");
    for code in codes {
        assert!(DOCUMENT.contains(&format!("| `{code}` |")), "{code} is not documented");
    }
}
