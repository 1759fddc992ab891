//! The list of the runs as HTML. It says everything without a script; the script keeps it fresh.

use std::{fmt::Write, path::Path};

use assay_report::{counted, escape, page::escaped};
use jiff::Timestamp;

use crate::{
    board::View,
    html::{page, segment},
    listing::{Entry, State},
};

/// The script that takes the list anew when something has changed.
pub const SCRIPT: &str = include_str!("list.js");

/// The page.
pub fn render(folder: &Path, view: &View) -> String {
    let mut body = String::new();
    list(&mut body, folder, view).expect("a string takes all");
    page("Runs", "", &body)
}

fn list(out: &mut String, folder: &Path, view: &View) -> std::fmt::Result {
    let folder = escaped(&escape(&folder.display().to_string()));
    writeln!(out, "<header>\n<h1>Runs</h1>")?;
    writeln!(out, "<p id=\"live\" class=\"soft\" role=\"status\"></p>\n</header>")?;
    writeln!(out, "<main id=\"runs\" data-version=\"{}\">", view.version)?;
    if let Some(trouble) = &view.trouble {
        let trouble = escaped(trouble);
        writeln!(out, "<p class=\"unreadable\">{folder} cannot be read: {trouble}</p>")?;
    }
    match view.runs.len() {
        0 => writeln!(
            out,
            "<p>There is no run in {folder} yet: make one with <code>assay run</code>.</p>"
        )?,
        1 => writeln!(out, "<p class=\"soft\">1 run in {folder}</p>")?,
        many => writeln!(out, "<p class=\"soft\">{many} runs in {folder}, newest first</p>")?,
    }
    if !view.runs.is_empty() {
        writeln!(out, "<ol>")?;
        for entry in view.runs.iter() {
            item(out, entry)?;
        }
        writeln!(out, "</ol>")?;
    }
    writeln!(out, "</main>\n<script>{SCRIPT}</script>")
}

fn item(out: &mut String, entry: &Entry) -> std::fmt::Result {
    let heading = escaped(heading(entry));
    let path = segment(&entry.id);
    writeln!(out, "<li>\n<h2><a href=\"/runs/{path}\">{heading}</a></h2>")?;
    if !entry.title.is_empty() && !entry.question.is_empty() {
        writeln!(out, "<p>{}</p>", escaped(&entry.question))?;
    }
    if let Some(answer) = answer(entry) {
        writeln!(out, "<p>→ {}</p>", escaped(&answer))?;
    }
    let state = entry.state.name();
    write!(out, "<p><span class=\"status {state}\">{state}</span>")?;
    match &entry.state {
        State::Unreadable(why) => writeln!(out, ": {}</p>", escaped(why))?,
        _ => writeln!(out, " · {} · {}</p>", trials(entry), when(entry))?,
    }
    if let (State::Running, Some(planned)) = (&entry.state, entry.planned) {
        writeln!(
            out,
            "<progress max=\"{planned}\" value=\"{}\" aria-label=\"trials done\"></progress>",
            entry.done
        )?;
    }
    let facts = [entry.systems.join(", "), entry.workloads.join(", "), escape(&entry.id)];
    let facts: Vec<String> = facts.iter().filter(|fact| !fact.is_empty()).cloned().collect();
    writeln!(out, "<p class=\"soft\">{}</p>\n</li>", escaped(&facts.join(" · ")))
}

fn heading(entry: &Entry) -> &str {
    let names = [&entry.title, &entry.question, &entry.id];
    names.into_iter().find(|name| !name.is_empty()).map_or("run", String::as_str)
}

/// The first answer, and how many more there are.
fn answer(entry: &Entry) -> Option<String> {
    let first = entry.answers.first()?;
    Some(match entry.answers.len() - 1 {
        0 => first.clone(),
        1 => format!("{first} (and one more answer)"),
        more => format!("{first} (and {more} more answers)"),
    })
}

/// `3 of 6 trials, 1 failed`.
fn trials(entry: &Entry) -> String {
    let trials = |count: usize| counted(count as u64, "trial");
    let ended = match entry.planned {
        Some(planned) if entry.done != planned => format!("{} of {}", entry.done, trials(planned)),
        _ if entry.state == State::Running => format!("{} so far", trials(entry.done)),
        _ => trials(entry.done),
    };
    match entry.failed {
        0 => ended,
        failed => format!("{ended}, {failed} failed"),
    }
}

fn when(entry: &Entry) -> String {
    let time = |time: Timestamp| {
        format!("<time datetime=\"{time}\">{}</time>", time.strftime("%Y-%m-%d %H:%M:%S UTC"))
    };
    let began = time(entry.started_at);
    match entry.finished_at.map(|finished| finished.duration_since(entry.started_at).as_secs()) {
        Some(seconds) if seconds >= 120 => format!("{began}, {} min", seconds / 60),
        Some(seconds) => format!("{began}, {} s", seconds.max(0)),
        None => began,
    }
}

#[cfg(test)]
mod tests {
    use std::{path::PathBuf, sync::Arc};

    use super::*;

    fn entry() -> Entry {
        Entry {
            id: "20260102T030405Z-1a2b".to_owned(),
            path: PathBuf::from("x"),
            state: State::Running,
            started_at: "2026-01-02T03:04:05Z".parse().unwrap(),
            finished_at: None,
            title: String::new(),
            question: "Which of slik and redis does ycsb/a fastest?".to_owned(),
            systems: vec!["slik".to_owned(), "redis".to_owned()],
            workloads: vec!["ycsb/a".to_owned()],
            done: 3,
            failed: 0,
            planned: Some(6),
            answers: vec!["slik leads".to_owned(), "b".to_owned(), "c".to_owned()],
        }
    }

    fn page_of(entries: Vec<Entry>) -> String {
        let runs = entries.into_iter().map(Arc::new).collect();
        render(Path::new("results"), &View { version: 7, runs, trouble: None })
    }

    #[test]
    fn a_run_is_told_in_words() {
        let html = page_of(vec![entry()]);
        for part in [
            "data-version=\"7\"",
            "<a href=\"/runs/20260102T030405Z-1a2b\">Which of slik and redis does ycsb/a fastest?</a>",
            "→ slik leads (and 2 more answers)",
            "<span class=\"status running\">running</span> · 3 of 6 trials",
            "datetime=\"2026-01-02T03:04:05Z\">2026-01-02 03:04:05 UTC",
            "<progress max=\"6\" value=\"3\"",
            "slik, redis · ycsb/a · 20260102T030405Z-1a2b",
            "1 run in results",
        ] {
            assert!(html.contains(part), "{part}\n{html}");
        }
        let finished_at = Some("2026-01-02T03:05:05Z".parse().unwrap());
        let over = Entry { state: State::Finished, finished_at, done: 6, ..entry() };
        let failed = Entry { done: 5, planned: Some(5), failed: 1, ..over.clone() };
        assert!(page_of(vec![failed]).contains("finished</span> · 5 trials, 1 failed · "));
        let html = page_of(vec![over]);
        assert!(
            html.contains("finished</span> · 6 trials · ") && html.contains(", 60 s"),
            "{html}"
        );
        assert!(!html.contains("<progress"));
        assert!(page_of(vec![]).contains("There is no run in results yet"));
    }

    #[test]
    fn names_that_are_scripts_are_only_names() {
        let evil = "\"><script>alert(1)</script>";
        let all = || vec![evil.to_owned()];
        let html = page_of(vec![
            Entry {
                id: evil.to_owned(),
                title: evil.to_owned(),
                question: evil.to_owned(),
                systems: all(),
                workloads: all(),
                answers: all(),
                ..entry()
            },
            Entry { state: State::Unreadable(evil.to_owned()), ..entry() },
        ]);
        assert_eq!(html.matches("<script").count(), 1, "the page's own");
        assert!(!html.contains("\"><script>alert"));
        assert!(html.contains("href=\"/runs/%22%3E%3Cscript%3Ealert%281%29%3C%2Fscript%3E\""));
    }

    #[test]
    fn the_scripts_can_stand_inside_their_elements() {
        for script in [SCRIPT, crate::run_page::SCRIPT] {
            assert!(!script.contains("</script") && !script.contains("<!--"));
            assert!(!script.contains('\r'));
        }
        assert!(!crate::html::STYLE.contains("</style"));
    }
}
