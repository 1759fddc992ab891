//! A guest book that is kept on disk: each run signs it, and lists who signed last.
//!
//! `cargo run --example guest_book -- /tmp/guests Ada`

use std::process::ExitCode;
use std::time::SystemTime;

use slik::{Durability, Error, IndexId, Options, Query, Store, keys};

const SIGNED_AT: IndexId = 1;

fn sign(path: &str, name: &str) -> Result<(), Error> {
    // A visit counts once it is on disk.
    let options = Options { durability: Durability::Synced, ..Options::default() };
    let store = Store::open_with(path, &options)?;
    let guests = store.open_table("guests")?;
    match guests.create_index(SIGNED_AT) {
        Ok(()) | Err(Error::IndexExists { .. }) => {}
        Err(error) => return Err(error),
    }

    let moment = keys::timestamp(SystemTime::now());
    loop {
        // Another thread may sign for the same guest: then count again.
        let guest = guests.read(name.as_bytes())?;
        let visits = guest.as_ref().and_then(|guest| guest.value().try_into().ok());
        let visits = visits.map_or(0, u64::from_le_bytes) + 1;
        let expected = guest.map(|guest| guest.version());
        let signed = [(SIGNED_AT, &moment[..])];
        let value = visits.to_le_bytes();
        match guests.write_if_version(name.as_bytes(), expected, &signed, &value) {
            Err(Error::VersionMismatch { .. }) => {}
            other => break other.map(drop)?,
        }
    }

    for found in guests.lookup(SIGNED_AT, &Query::all().backward().limit(10))? {
        let guest = found?.object;
        let visits = guest.value().try_into().map_or(0, u64::from_le_bytes);
        println!("{:20} {visits} visits", String::from_utf8_lossy(guest.primary()));
    }
    store.close()
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [path, name] = &words[..] else {
        eprintln!("usage: guest_book FOLDER NAME");
        return ExitCode::from(2);
    };
    match sign(path, name) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
