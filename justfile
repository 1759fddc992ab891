# The habits of the project; `just` lists them.

default:
    @just --list

# Format, clippy, docs, licences and the tests that need no server
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet
    cargo deny --log-level error check bans licenses sources
    cargo test --workspace --lib --quiet

# Everything, on real servers; installs what it needs
test:
    scripts/test

# What Assay promises of its own speed, against its peers (parts: no-db redis memcached postgres)
bench-harness *PARTS:
    cargo run --release --package assay-bench --bin assay-bench -- harness {{PARTS}}
    @cargo build --release --package assay --quiet
    scripts/client-memory

# Whether verdicts can be trusted: ties tie, 5 % is found, 19 times in 20
bench-verdicts RUNS="20":
    cargo build --release --package assay --package assay-bench
    target/release/assay-bench verdicts {{RUNS}}

# What slik promises, against embedded stores (see its usage for the parts)
bench-slik *PARTS:
    cargo run --release --package assay-bench --bin assay-bench -- slik {{PARTS}}

# What a driver adds to the library that it drives
bench-drivers *NAMES:
    cargo run --release --package assay-bench --features mongodb,cassandra,voltdb --bin assay-bench -- drivers {{NAMES}}

# All benchmarks of speed
bench: bench-harness bench-verdicts bench-slik bench-drivers

# The report's front end: types, lints, unit tests, bundle, and report and assay serve in a browser
web:
    cargo build --package assay
    cd web && npm ci --no-audit --no-fund && npm run --silent check && npm run --silent e2e

# How long the report of 1,000 trials of a minute takes, and how large it is
bench-report:
    #!/usr/bin/env bash
    set -euo pipefail
    cargo build --release --package assay
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    run=$(cargo run --release --quiet --package assay-report --example large_run -- "$folder")
    for _ in 1 2 3; do time target/release/assay report "$run" --output "$folder/report.html"; done
    du --apparent-size --human-readable "$folder/report.html"

# How long a default build takes from nothing
bench-build:
    #!/usr/bin/env bash
    set -euo pipefail
    fresh=$(mktemp -d)
    trap 'rm -rf "$fresh"' EXIT
    time cargo build --release --package assay --locked --target-dir "$fresh"

# Fuzz every target for SECONDS each
fuzz SECONDS="30":
    #!/usr/bin/env bash
    set -euo pipefail
    cd fuzz
    for target in $(cargo +nightly fuzz list); do
      # No codec may believe a length that it is told and make room for it.
      case $target in *_replies) limit=-malloc_limit_mb=64 ;; *) limit= ;; esac
      cargo +nightly fuzz run "$target" -- -max_total_time={{SECONDS}} $limit
    done
