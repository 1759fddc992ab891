//! Tells the binary which revision it was built from, where git knows.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/refs/heads");
    let described = Command::new("git").args(["describe", "--always", "--dirty"]).output();
    if let Ok(output) = described
        && output.status.success()
    {
        let revision = String::from_utf8_lossy(&output.stdout);
        println!("cargo::rustc-env=ASSAY_GIT_REVISION={}", revision.trim());
    }
}
