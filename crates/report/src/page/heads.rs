//! The report's head: the question, the runs, what the durability levels mean.

use assay_results::{Cell, Durability, Machine, Mode, Run};

use super::{
    data::{DurabilityNote, LevelSetting, RunSummary},
    measured::Measured,
};
use crate::{
    heading::figure_shows,
    text::{escape, listed},
};

/// What an experiment without a title is called.
const UNNAMED: &str = "Experiment";

/// The titles of the runs, each once; empty for experiments without one.
pub fn title(runs: &[Run]) -> String {
    let mut titles: Vec<String> = Vec::new();
    for title in runs.iter().map(run_title) {
        if !title.is_empty() && !titles.contains(&title) {
            titles.push(title);
        }
    }
    titles.join(" · ")
}

fn run_title(run: &Run) -> String {
    let title = run.header.plan["title"].as_str().filter(|title| *title != UNNAMED);
    escape(title.unwrap_or_default())
}

/// What was asked: by each run for itself where no table has systems of several, otherwise by all
/// together.
pub fn question(measured: &Measured<'_>) -> String {
    let run_of = |place: &usize| measured.origins[*place].run;
    let apart = measured
        .groups
        .iter()
        .all(|group| group.iter().all(|place| run_of(place) == run_of(&group[0])));
    let all: Vec<usize> = (0..measured.runs.len()).collect();
    let asked = match apart {
        true => distinct(all.iter().map(|run| question_of(measured, &[*run]))),
        false => vec![question_of(measured, &all)],
    };
    asked.join(" ")
}

/// The experiments' own question where these runs all ask one, otherwise one made of what was
/// measured.
fn question_of(measured: &Measured<'_>, runs: &[usize]) -> String {
    let own = |run: &usize| measured.runs[*run].header.plan["question"].as_str().map(escape);
    if let Some(question) = runs.first().and_then(own)
        && runs.iter().all(|run| own(run).as_ref() == Some(&question))
    {
        return question;
    }
    let theirs = || {
        let cells = measured.cells.iter().zip(&measured.origins);
        cells.filter(|(_, origin)| runs.contains(&origin.run))
    };
    let systems = theirs().map(|(_, origin)| &measured.systems[origin.system as usize]);
    let systems =
        distinct(systems.filter(|system| !system.no_db).map(|system| system.name.clone()));
    let done: Vec<&Cell> =
        theirs().map(|(cell, _)| cell).filter(|cell| cell.unsupported.is_none()).collect();
    let workloads = distinct(done.iter().map(|cell| escape(&cell.workload)));
    let levels = distinct(done.iter().map(|cell| cell.durability.level.to_string()));
    let at = match levels.as_slice() {
        [] => String::new(),
        levels => format!(" at durability {}", listed(levels)),
    };
    if let [run] = runs
        && let Ok([figure]) = measured.runs[*run].figures().as_deref()
    {
        let shown = figure_shows(figure);
        let over = escape(figure.x.name());
        return format!("How does the {shown} of {} change with {over}{at}?", listed(&systems));
    }
    let open = !done.is_empty() && done.iter().all(|cell| cell.mode != Mode::Closed);
    match systems.as_slice() {
        [] => format!("What does the harness itself cost on {}{at}?", listed(&workloads)),
        [only] if open => format!("How soon does {only} answer {}{at}?", listed(&workloads)),
        [only] => format!("How fast does {only} do {}{at}?", listed(&workloads)),
        several if open => {
            format!("Which of {} answers {} soonest{at}?", listed(several), listed(&workloads))
        }
        several => {
            format!("Which of {} does {} fastest{at}?", listed(several), listed(&workloads))
        }
    }
}

fn distinct(items: impl Iterator<Item = String>) -> Vec<String> {
    let mut distinct = Vec::new();
    for item in items {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    distinct
}

/// A run as the report shows it.
pub fn run(run: &Run) -> RunSummary {
    let header = &run.header;
    RunSummary {
        id: escape(&header.id),
        title: run_title(run),
        started_at: header.started_at.to_string(),
        finished_at: header.finished_at.map(|finished| finished.to_string()),
        status: header.status,
        assay_version: escape(&header.assay_version),
        git_revision: header.git_revision.as_deref().map(escape),
        command: command(&header.command_line),
        machine: machine(&header.machine),
        trials: run.trials.iter().filter(|trial| trial.unsupported.is_none()).count() as u32,
    }
}

fn machine(machine: &Machine) -> Machine {
    let told = |text: &Option<String>| text.as_deref().map(escape);
    Machine {
        cpu: told(&machine.cpu),
        kernel: told(&machine.kernel),
        os: told(&machine.os),
        clocksource: told(&machine.clocksource),
        governor: told(&machine.governor),
        ..*machine
    }
}

/// The words of a command line for a shell; the program by its name only.
fn command(words: &[String]) -> String {
    let mut quoted = Vec::new();
    for (place, word) in words.iter().enumerate() {
        let word = match place {
            0 => word.rsplit('/').next().unwrap_or_default(),
            _ => word,
        };
        quoted.push(quote(&escape(word)));
    }
    quoted.join(" ")
}

fn quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// The levels asked for, weakest first, with the systems' own settings.
pub fn durability(measured: &Measured<'_>) -> Vec<DurabilityNote> {
    let of_level = |level: Durability| {
        let mut settings: Vec<LevelSetting> = Vec::new();
        let mut asked = false;
        for (cell, origin) in measured.cells.iter().zip(&measured.origins) {
            if cell.durability.level != level || cell.unsupported.is_some() {
                continue;
            }
            asked = true;
            let setting = escape(&cell.durability.setting);
            if setting.is_empty() || measured.systems[origin.system as usize].no_db {
                continue;
            }
            match settings.iter_mut().find(|known| known.setting == setting) {
                Some(known) if known.systems.contains(&origin.system) => {}
                Some(known) => known.systems.push(origin.system),
                None => settings.push(LevelSetting { setting, systems: vec![origin.system] }),
            }
        }
        asked.then(|| DurabilityNote { level, promise: promise(level).to_owned(), settings })
    };
    Durability::ALL.into_iter().filter_map(of_level).collect()
}

fn promise(level: Durability) -> &'static str {
    match level {
        Durability::None => "An acknowledged write promises nothing: it may be in memory only.",
        Durability::Buffered => {
            "An acknowledged write is with the operating system or in a log buffer and reaches the \
             disk soon; a crash may lose the last moments."
        }
        Durability::Synced => "An acknowledged write is on stable storage.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        let words = ["/opt/x y/assay", "run", "-p", "a=b c", "it's", "", "redis=redis://h:1/0"];
        let words = words.map(str::to_owned);
        assert_eq!(command(&words), r"assay run -p 'a=b c' 'it'\''s' '' redis=redis://h:1/0");
        assert_eq!(command(&[]), "");
    }
}
