//! A run's page: its report, which takes itself anew while the run is under way.

use std::slice;

use assay_report::page::{self, LiveScript, Page, Report, escaped};
use assay_results::{ResultsError, Run, RunStatus};

use crate::{
    html,
    listing::{Entry, State},
    policy,
};

/// The script that takes the page anew when a trial has ended.
pub const SCRIPT: &str = include_str!("run.js");

/// Reads the run and draws it.
///
/// # Errors
/// What [`Run::open`] says.
pub fn render(entry: &Entry) -> Result<Page, ResultsError> {
    let mut run = Run::open(&entry.path)?;
    // It may have begun or ended since somebody looked.
    let unfinished = run.header.status == RunStatus::Running;
    if unfinished && entry.state == State::Interrupted {
        run.header.status = RunStatus::Interrupted;
    }
    let live = unfinished && entry.state == State::Running;
    let nothing_yet = run.trials.is_empty() && run.header.failures.is_empty();
    Ok(match (nothing_yet, live) {
        (true, live) => waiting(entry, live),
        (false, live) => report(entry, &run, live),
    })
}

fn report(entry: &Entry, run: &Run, live: bool) -> Page {
    let done = run.trials.len().to_string();
    let attributes = [("data-run", &*entry.id), ("data-done", &*done)];
    let live = live.then_some(LiveScript { attributes: &attributes, source: SCRIPT });
    let Page { html, policy } = page::page(&Report::of(slice::from_ref(run)), live);
    Page { html, policy: policy::of_report(&policy) }
}

/// A run none of whose trials has ended.
fn waiting(entry: &Entry, live: bool) -> Page {
    let (told, script) = match live {
        true => {
            let id = escaped(&entry.id);
            let script = format!("<script data-run=\"{id}\" data-done=\"0\">{SCRIPT}</script>\n");
            ("No trial has ended yet: the report appears here when one has.", script)
        }
        false => ("It ended before any trial did: there is nothing to report.", String::new()),
    };
    let title = if entry.title.is_empty() { &entry.id } else { &entry.title };
    let body = format!(
        "<main>\n<h1>{}</h1>\n<p role=\"status\">{told}</p>\n<p><a href=\"/\">All runs</a></p>\n\
         </main>\n{script}",
        escaped(&assay_report::escape(title))
    );
    let html = html::page(title, "", &body);
    Page { html, policy: policy::own(live.then_some(SCRIPT)) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use assay_results::{RunFolder, RunHeader, TrialRecord};
    use serde_json::json;

    use super::*;
    use crate::listing::Listing;

    fn entry_in(folder: &std::path::Path) -> Arc<Entry> {
        let mut listing = Listing::of(folder.to_owned());
        listing.look().unwrap();
        listing.entries().remove(0)
    }

    fn record() -> TrialRecord {
        let (system, workload) = ("<script>alert(1)</script>".into(), "ycsb/a".into());
        TrialRecord { trial: 1, repeat: 1, system, workload, clients: 1, ..TrialRecord::default() }
    }

    #[test]
    fn a_page_is_live_for_as_long_as_its_run_is() {
        let parent = tempfile::tempdir().unwrap();
        let header = RunHeader::starting(vec!["assay".into()], json!({"title": "<script>x"}));
        let mut folder = RunFolder::create(parent.path(), header).unwrap();

        let waiting = render(&entry_in(parent.path())).unwrap();
        assert!(waiting.html.contains("No trial has ended yet"), "{}", waiting.html);
        assert!(waiting.html.contains("data-done=\"0\"") && !waiting.html.contains("<script>x"));

        folder.write_trial(&record(), None).unwrap();
        let live = render(&entry_in(parent.path())).unwrap();
        assert!(
            live.html.contains(&format!("data-run=\"{}\" data-done=\"1\"", folder.header().id))
        );
        assert!(live.html.ends_with("</script>\n</body>\n</html>\n"));
        assert!(!live.html.contains("<script>alert"));

        folder.finish(RunStatus::Finished).unwrap();
        let run = Run::open(folder.path()).unwrap();
        let over = render(&entry_in(parent.path())).unwrap();
        assert_eq!(over.html, page::render(&Report::of(&[run])), "the very report");

        // The page says the policy of its header, which lets the two scripts run.
        for page in [&live, &over] {
            let said = page.policy.strip_suffix("; frame-ancestors 'none'").unwrap();
            assert!(page.html.contains(&format!("content=\"{said}\"")), "{said}");
            assert!(said.starts_with("default-src 'none'"), "{said}");
        }
        assert_eq!(live.policy.matches("'sha256-").count(), 2, "{}", live.policy);
        assert!(live.policy.contains(&page::hash(SCRIPT)));
        assert!(live.policy.contains("connect-src 'self'"));
        assert_eq!(over.policy.matches("'sha256-").count(), 1, "{}", over.policy);
        assert!(!over.policy.contains("connect-src"));
    }

    #[test]
    fn the_report_of_a_killed_run_says_that_it_was_interrupted() {
        let parent = tempfile::tempdir().unwrap();
        let header = RunHeader::starting(vec!["assay".into()], json!({}));
        let folder = RunFolder::create(parent.path(), header).unwrap();
        let id = folder.header().id.clone();
        drop(folder);
        let none = render(&entry_in(parent.path())).unwrap();
        assert!(none.html.contains("nothing to report") && !none.html.contains("<script"));
        let mut run = Run::open(&parent.path().join(&id)).unwrap();
        assert_eq!(run.header.status, RunStatus::Running, "nothing says so");
        let json = serde_json::to_vec(&TrialRecord { format_version: 1, ..record() }).unwrap();
        std::fs::write(run.path.join("trials/0001-x.json"), json).unwrap();
        run = Run::open(&run.path).unwrap();
        run.header.status = RunStatus::Interrupted;
        let page = render(&entry_in(parent.path())).unwrap();
        assert_eq!(page.html, page::render(&Report::of(&[run])));
    }
}
