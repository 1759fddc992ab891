//! Output as it is to be, in `tests/snapshots/`. When a change is wanted, run with `ACCEPT=1` and
//! read the difference.

use std::{env, fs, path::Path};

/// Compares `actual` with the snapshot `name`.
pub fn assert_snapshot(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if env::var_os("ACCEPT").is_some() {
        fs::write(&path, actual).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap();
    assert!(actual == expected, "{name} differs\n--- is\n{actual}\n--- was\n{expected}");
}
