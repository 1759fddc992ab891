//! A run's page: its report, which takes itself anew while the run is under way.

use std::slice;

use assay_report::page::{self, Report};
use assay_results::{ResultsError, Run, RunStatus};

use crate::{
    html::{self, escaped},
    listing::{Entry, State},
    policy,
};

/// The script that takes the page anew when a trial has ended.
pub const SCRIPT: &str = include_str!("run.js");

/// Where a report says its policy.
const POLICY: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"";

/// A page and the policy that its header must have.
pub struct Page {
    /// The page.
    pub html: String,
    /// The policy.
    pub policy: String,
}

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
    Ok(match (run.trials.is_empty(), live) {
        (true, live) => waiting(entry, live),
        (false, false) => plain(&run),
        (false, true) => alive(entry, &run),
    })
}

fn plain(run: &Run) -> Page {
    let html = page::render(&Report::of(slice::from_ref(run)));
    let policy = policy::of_report(policy_of(&html));
    Page { html, policy }
}

/// The report with one more script at its end, and leave for that in its policy.
fn alive(entry: &Entry, run: &Run) -> Page {
    let html = page::render(&Report::of(slice::from_ref(run)));
    let policy = policy::with_script(policy_of(&html), SCRIPT);
    let from = html.find(POLICY).map_or(0, |at| at + POLICY.len());
    let after = from + policy_of(&html).len();
    let end = html.rfind("</body>").unwrap_or(html.len());
    let script = script(entry, run.trials.len());
    let html = [&html[..from], &policy, &html[after..end], &script, &html[end..]].concat();
    Page { html, policy: policy::of_report(&policy) }
}

/// The policy in a report's head; one that allows nothing if it says none.
fn policy_of(html: &str) -> &str {
    let said = html.split_once(POLICY).and_then(|(_, rest)| rest.split_once('"'));
    said.map_or("default-src 'none'", |(policy, _)| policy)
}

fn script(entry: &Entry, done: usize) -> String {
    let id = escaped(&entry.id);
    format!("<script data-run=\"{id}\" data-done=\"{done}\">{SCRIPT}</script>\n")
}

/// A run none of whose trials has ended.
fn waiting(entry: &Entry, live: bool) -> Page {
    let (told, script) = match live {
        true => ("No trial has ended yet: the report appears here when one has.", script(entry, 0)),
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

        // The two policies, in the page and in the header, both let the two scripts run.
        let said = policy_of(&live.html);
        assert_eq!(live.policy, policy::of_report(said));
        assert_eq!(said.matches("'sha256-").count(), 2, "{said}");
        assert!(said.contains(&policy::hash(SCRIPT)) && said.ends_with("; connect-src 'self'"));
        let strict = policy_of(&over.html);
        assert_eq!(strict.matches("'sha256-").count(), 1, "{strict}");
        assert!(!strict.contains("connect-src") && strict.starts_with("default-src 'none'"));
        let script = format!("{}; connect-src 'self'", strict);
        assert_eq!(said.replace(&format!("{} ", policy::hash(SCRIPT)), ""), script);
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
