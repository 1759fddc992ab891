//! People by age and by the languages they speak: ranges, pages, several keys in one index.
//!
//! Run with `cargo run --package slik --example people_by_age`.

use slik::{Error, IndexId, Match, Query, Store, Table, keys};

const AGE: IndexId = 1;
const LANGUAGE: IndexId = 2;

fn main() -> Result<(), Error> {
    let people = Store::in_memory().create_table("people")?;
    people.create_index(AGE)?;
    people.create_index(LANGUAGE)?;

    add(&people, "Ada", 36, &["English", "French"])?;
    add(&people, "Emmy", 53, &["German", "English"])?;
    add(&people, "Alan", 41, &["English"])?;
    add(&people, "Sofia", 41, &["Russian", "German", "French"])?;
    add(&people, "Grace", 85, &["English"])?;

    println!("40 to 60 years old:");
    let (forty, sixty) = (keys::integer(40), keys::integer(60));
    print(&people, AGE, Query::range(&forty[..]..=&sixty[..]))?;

    println!("the two oldest:");
    print(&people, AGE, Query::all().backward().limit(2))?;

    println!("speakers of French:");
    print(&people, LANGUAGE, Query::key(&keys::string("French")))?;

    println!("by age, in pages of two:");
    let mut page = page_after(&people, None)?;
    while let Some(last) = page.last() {
        let names: Vec<_> = page.iter().map(|found| name(found.object.primary())).collect();
        println!("  {}", names.join(", "));
        page = page_after(&people, Some(last))?;
    }
    Ok(())
}

fn page_after(people: &Table, last: Option<&Match>) -> Result<Vec<Match>, Error> {
    let mut query = Query::all().limit(2);
    if let Some(last) = last {
        query = query.after(&last.key, last.object.primary());
    }
    people.lookup(AGE, &query)?.collect()
}

fn add(people: &Table, name: &str, age: i64, languages: &[&str]) -> Result<(), Error> {
    let age_key = keys::integer(age);
    let language_keys: Vec<_> = languages.iter().map(|language| keys::string(language)).collect();
    let mut secondary: Vec<slik::Key<'_>> = vec![(AGE, &age_key)];
    secondary.extend(language_keys.iter().map(|key| (LANGUAGE, &key[..])));
    people.write(name.as_bytes(), &secondary, format!("{age} years").as_bytes())?;
    Ok(())
}

fn print(people: &Table, index: IndexId, query: Query<'_>) -> Result<(), Error> {
    for found in people.lookup(index, &query)? {
        let object = found?.object;
        println!("  {}, {}", name(object.primary()), String::from_utf8_lossy(object.value()));
    }
    Ok(())
}

fn name(primary: &[u8]) -> String {
    String::from_utf8_lossy(primary).into_owned()
}
