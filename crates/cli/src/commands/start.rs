//! `assay start`: asks what to run, runs it, and shows the command that does the same.
//!
//! The answers become the words of an `assay run`, which are then read as any command line is: so
//! the command shown is the one that was carried out.

use std::{
    io::{self, BufRead, IsTerminal, Read, Write},
    process::ExitCode,
};

use anyhow::Context;
use assay_experiment::{Plan, Spec, number, plan::Extras, spec::SystemSpec, study::check_system};
use assay_model::redact;
use assay_provision::Folders;
use assay_report::escape;
use assay_systems::registry::{self, DRIVERS};
use clap::Parser;

use super::{resolve, run, systems::Found};
use crate::{
    args::{Arguments, Command, RunArguments},
    mistake::mistaken,
    speech::{fit_to_say, out, say},
};

/// Wrong answers to one question after which nobody is taken to listen.
const MOST_WRONG: u32 = 20;

/// No answer has more bytes.
const LONGEST_ANSWER: u64 = 4096;

/// As many clients as the study had whose start script this follows.
const CLIENTS: &str = "4";

/// Repeats enough for an interval.
const REPEATS: &str = "5";

const DEFAULT_RECORDS: u64 = 100_000;

/// The system offered, if it is there; otherwise one that is in the binary.
const OFFERED: [&str; 2] = ["redis", "slik"];

/// Asks, runs, shows the command.
pub fn start() -> anyhow::Result<ExitCode> {
    let Some(words) = ask(&mut Dialogue::new(io::stdin().lock()))? else {
        mistaken!(
            "the answers ended before the last question: nothing was started; `assay run --help` \
             tells how to say all at once"
        );
    };
    let arguments = Arguments::try_parse_from(&words).context("the answers make no command")?;
    let Command::Run(RunArguments { experiment, overrides, properties, output }) =
        arguments.command
    else {
        unreachable!("the words begin with assay run");
    };
    let (plan, _) = resolve::plan(experiment, overrides, properties)?;
    let shown = words.iter().map(|word| quoted(&redact(word))).collect::<Vec<_>>().join(" ");
    say!("running: {shown}");
    let interrupt = run::interruptible()?;
    let carried = run::carry_out_until(&plan, &output, words, &interrupt)?;
    writeln!(out(), "\nthe same again: {}", escape(&shown))?;
    Ok(carried.ended.code())
}

/// The words of the command that the answers make; `None` if they ended early.
fn ask<R: BufRead>(dialogue: &mut Dialogue<R>) -> anyhow::Result<Option<Vec<String>>> {
    let folders = Folders::from_env();
    let ready: Vec<&str> = DRIVERS
        .iter()
        .filter(|driver| Found::look(driver, &folders).is_ready())
        .map(|driver| driver.name)
        .collect();
    let offered = OFFERED.into_iter().find(|name| ready.contains(name)).unwrap_or("slik");
    let missing: Vec<&str> =
        DRIVERS.iter().map(|driver| driver.name).filter(|name| !ready.contains(name)).collect();
    if !missing.is_empty() {
        dialogue.tell(&format!(
            "not on this machine: {} (`assay systems` tells how to get them)",
            missing.join(", ")
        ));
    }
    let question = format!("System ({})", ready.join(", "));
    let Some(system) = dialogue
        .ask(&question, offered, |text| can_run(text, &folders).map(|()| text.to_owned()))?
    else {
        return Ok(None);
    };
    let which = "Workload (a: half reads, half updates; b: 95 % reads; c: reads; d: the latest; e: \
                 scans; f: read-modify-writes)";
    let Some(workload) = dialogue.ask(which, "a", |text| workload(text, &system))? else {
        return Ok(None);
    };
    let Some(insert_only) = dialogue.ask("Insert only (yes, no)", "no", yes_or_no)? else {
        return Ok(None);
    };
    let mut words: Vec<String> =
        ["assay", "run", "--systems", &system, "--workloads"].map(str::to_owned).into();
    let mut say = |words_more: &[&str]| words.extend(words_more.iter().map(|w| (*w).to_owned()));
    if insert_only {
        // Into an empty table: there are no records but those that the operations insert.
        let asked = dialogue.ask("Records to insert", &DEFAULT_RECORDS.to_string(), above_zero)?;
        let Some(records) = asked else { return Ok(None) };
        say(&["ycsb/load", "--operations", &records.to_string(), "--warmup", "0"]);
    } else {
        let asked = dialogue.ask("Records", &DEFAULT_RECORDS.to_string(), above_zero)?;
        let Some(records) = asked else { return Ok(None) };
        let records = records.to_string();
        let Some(operations) = dialogue.ask("Operations", &records, above_zero)? else {
            return Ok(None);
        };
        say(&[&workload, "--records", &records, "--operations", &operations.to_string()]);
    }
    say(&["--clients", CLIENTS, "--repeats", REPEATS]);
    Ok(Some(words))
}

/// Whether a system can be run here.
fn can_run(text: &str, folders: &Folders) -> Result<(), String> {
    if text.contains(',') {
        return Err("one system; `assay run --systems` takes several".to_owned());
    }
    let system = check_system(&SystemSpec::Name(text.to_owned()), Default::default())
        .map_err(|error| error.to_string())?;
    let attached = matches!(system.target, assay_experiment::TargetPlan::Attach { .. });
    let missing = registry::find(&system.driver)
        .filter(|_| !attached)
        .and_then(|driver| Found::look(driver, folders).missing().map(str::to_owned));
    match missing {
        Some(why) => Err(why),
        None => Ok(()),
    }
}

/// The name of a workload, if the system can do it.
fn workload(text: &str, system: &str) -> Result<String, String> {
    let letter = text.to_ascii_lowercase();
    let letter = letter.strip_prefix("ycsb/").unwrap_or(&letter);
    if letter.len() != 1 || !("a"..="f").contains(&letter) {
        return Err(format!("'{text}' is no workload: write a letter from a to f"));
    }
    let name = format!("ycsb/{letter}");
    let spec = Spec {
        systems: Some(vec![SystemSpec::Name(system.to_owned())]),
        workloads: Some(vec![assay_experiment::spec::WorkloadSpec::Name(name.clone())]),
        ..Spec::default()
    };
    let plan = Plan::resolve(spec, Extras::default()).map_err(|error| error.to_string())?;
    match plan.cells.iter().find_map(|cell| cell.unsupported.as_ref()) {
        Some(why) => Err(format!("{system} cannot do {name}: {why}")),
        None => Ok(name),
    }
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "y" | "1" => Ok(true),
        "no" | "n" | "0" => Ok(false),
        _ => Err(format!("'{text}' is neither yes nor no")),
    }
}

fn above_zero(text: &str) -> Result<u64, String> {
    match number::whole::<u64>(text)? {
        0 => Err("0 measure nothing: write at least 1".to_owned()),
        number => Ok(number),
    }
}

/// The word as a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Questions on standard error, answers from a reader.
struct Dialogue<R> {
    answers: R,
    /// Whether the answers come from elsewhere than a keyboard, and so are not seen.
    echo: bool,
}

impl<R: BufRead> Dialogue<R> {
    fn new(answers: R) -> Dialogue<R> {
        Dialogue { answers, echo: !io::stdin().is_terminal() }
    }

    fn tell(&self, text: &str) {
        say!("{text}");
    }

    /// Asks until an answer can be read; an empty one is `usual`. `None` where there is none.
    fn ask<T>(
        &mut self,
        question: &str,
        usual: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> anyhow::Result<Option<T>> {
        for _ in 0..MOST_WRONG {
            prompt(&format!("{question} [{usual}]: "));
            let mut line = Vec::new();
            let taken = (&mut self.answers).take(LONGEST_ANSWER).read_until(b'\n', &mut line);
            if taken.context("cannot read the answer")? == 0 {
                prompt("\n");
                return Ok(None);
            }
            if line.len() as u64 == LONGEST_ANSWER && !line.ends_with(b"\n") {
                say!("  that is too long: an answer has less than {LONGEST_ANSWER} bytes");
                continue;
            }
            let answer = String::from_utf8_lossy(&line);
            let answer = answer.trim();
            if self.echo {
                say!("{answer}");
            }
            match read(if answer.is_empty() { usual } else { answer }) {
                Ok(value) => return Ok(Some(value)),
                Err(why) => say!("  {why}"),
            }
        }
        mistaken!("{MOST_WRONG} answers to one question could not be read: nothing was started")
    }
}

/// Writes a question; if nobody sees it, it is lost.
fn prompt(text: &str) {
    let shown = match text.strip_suffix('\n') {
        Some(line) => fit_to_say(line) + "\n",
        None => fit_to_say(text),
    };
    let mut err = io::stderr();
    let _ = err.write_all(shown.as_bytes());
    let _ = err.flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(answers: &str) -> Option<Vec<String>> {
        let mut dialogue = Dialogue { answers: answers.as_bytes(), echo: false };
        ask(&mut dialogue).unwrap()
    }

    #[test]
    fn the_answers_make_a_command_and_an_empty_one_is_the_usual() {
        let told = |answers: &str| words(answers).map(|words| words.join(" "));
        assert_eq!(
            told("memory\nB\n0\n1e4\n\n").unwrap(),
            "assay run --systems memory --workloads ycsb/b --records 10000 --operations 10000 \
             --clients 4 --repeats 5"
        );
        assert_eq!(
            told("slik\n\nyes\n2_000\n").unwrap(),
            "assay run --systems slik --workloads ycsb/load --operations 2000 --warmup 0 \
             --clients 4 --repeats 5"
        );
    }

    #[test]
    fn what_cannot_be_read_is_asked_again() {
        let answers = "memry\nmemory,slik\nmemory\ng\na\nperhaps\nno\n0\nmany\n10\n-3\n5";
        let words = words(answers).unwrap().join(" ");
        assert!(words.contains("memory --workloads ycsb/a --records 10 --operations 5"), "{words}");
    }

    #[test]
    fn answers_that_end_make_nothing_and_neither_does_a_flood() {
        for answers in ["", "memory\n", "memory\na\nno\n10\n"] {
            assert_eq!(words(answers), None, "{answers:?}");
        }
        let mut flood = Dialogue { answers: io::BufReader::new(io::repeat(b'y')), echo: false };
        let error = ask(&mut flood).unwrap_err().to_string();
        assert!(error.contains("nothing was started"), "{error}");
    }

    #[test]
    fn a_word_is_quoted_for_a_shell() {
        assert_eq!(quoted("redis=redis://:***@h:1"), "'redis=redis://:***@h:1'");
        assert_eq!((quoted("ycsb/a"), quoted("it's")), ("ycsb/a".into(), r"'it'\''s'".into()));
    }
}
