//! What a reader of a trial's figures must know, said by the harness itself.

use assay_experiment::{Cell, Extent, Mode, TargetPlan, spec::Placement};
use assay_model::{Feature, Support};
use assay_results::Caveat;
use assay_systems::Verified;

use crate::{deploy, placement, stall, trial::TrialReport};

/// Above this share of its threads' time, the client may be what limits the throughput.
const BUSY: f64 = 0.9;

/// The caveats of a trial.
pub fn of(cell: &Cell, report: &TrialReport) -> Vec<Caveat> {
    [
        stand_in(cell),
        client_bottleneck(cell, report),
        server_without_cores(cell, report),
        late_starts(report),
        rate_not_kept(cell, report),
        stalled(cell, report),
        crowded(cell),
        emulated(cell),
        attached(cell),
        unverified(cell),
        not_on_storage(cell, report),
        cold(cell),
        answers(cell, report),
        drift(report),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn caveat(code: &str, text: String) -> Option<Caveat> {
    Some(Caveat { code: code.to_owned(), text })
}

fn stand_in(cell: &Cell) -> Option<Caveat> {
    let product = cell.driver().stands_in_for()?;
    caveat(
        "stand_in",
        format!(
            "{} is a stand-in for {product}, to test with: its speed says nothing about {product}",
            cell.driver().name
        ),
    )
}

fn client_bottleneck(cell: &Cell, report: &TrialReport) -> Option<Caveat> {
    let phase = &report.measured;
    if !deploy::has_server(cell) || phase.length_ns == 0 {
        return None;
    }
    let busy = phase.client_cpu_ns as f64 / (phase.length_ns as f64 * phase.lanes as f64);
    if busy < BUSY {
        return None;
    }
    caveat(
        "client_bottleneck",
        format!(
            "the client's {} threads were busy {:.0} % of the time: the store may be faster than \
             this shows (more threads or cores for the client would tell)",
            phase.lanes,
            busy * 100.0
        ),
    )
}

/// One thread that fills one core is the usual and interesting case: more cores would not change it.
/// Where threads wait for a core, or fill several, they would.
fn server_without_cores(cell: &Cell, report: &TrialReport) -> Option<Caveat> {
    /// Two threads that always want to run wait as long as they run on one core (1.0), and so do
    /// two beside two busy ones of the client on two cores; a single one there waits half as long.
    const WAITED: f64 = 0.75;
    /// A server that hardly runs waits for no reason that matters.
    const RUNS: f64 = 0.1;
    let phase = &report.measured;
    let server = phase.server.as_ref().filter(|_| phase.length_ns > 0)?;
    let cores = match report.cores.server.len() {
        0 => placement::allowed().len(),
        given => given,
    };
    let used = server.cpu_ns as f64 / phase.length_ns as f64;
    let waited = server.cpu_wait_ns as f64 / server.cpu_ns.max(1) as f64;
    let policy = placement::name(cell.placement);
    let had = match cores {
        1 => format!("1 core that --placement {policy} gives it"),
        cores => format!("{cores} cores that --placement {policy} gives it"),
    };
    // Server and client take turns on one core there, as was asked for.
    if cell.placement != Placement::Same && waited >= WAITED && used >= RUNS {
        return caveat(
            "server_crowded",
            format!(
                "the server's threads waited for a core {waited:.1} times as long as they ran: \
                 more of them, or of other programs, wanted to run than the {had} could take, and \
                 the figures show that as much as the store (fewer threads of it, another \
                 --placement, more cores or a quieter machine would tell)"
            ),
        );
    }
    if cores < 2 || used < BUSY * cores as f64 {
        return None;
    }
    caveat(
        "server_bottleneck",
        format!(
            "the server used {:.0} % of the {had}: with more of them it may be faster than this \
             shows",
            used / cores as f64 * 100.0
        ),
    )
}

fn late_starts(report: &TrialReport) -> Option<Caveat> {
    let late = report.measured.late_starts;
    if late * 1000 < report.measured.executed.max(1) {
        return None;
    }
    caveat(
        "late_starts",
        format!(
            "{late} of {} operations started over 1 ms late although a client was free: the \
             machine kept the client from running; response times hold that delay",
            report.measured.executed
        ),
    )
}

/// A queue of as many operations as there are clients is no queue: they are all being served.
fn rate_not_kept(cell: &Cell, report: &TrialReport) -> Option<Caveat> {
    const KEPT: f64 = 0.98;
    let (Mode::Open { rate_per_s, .. }, Extent::Time(_)) = (cell.mode, cell.measure) else {
        return None;
    };
    let phase = &report.measured;
    let recorded = &phase.recorded;
    let arrived = recorded.succeeded() + recorded.failures() + phase.never_started;
    let answered = recorded.finished_in_window + recorded.failed_in_window;
    let queued = arrived.saturating_sub(answered);
    if queued <= u64::from(cell.clients) || answered as f64 >= arrived as f64 * KEPT {
        return None;
    }
    let left_out = match phase.never_started {
        0 => String::new(),
        count => format!("; {count} of them never started and are in no figure"),
    };
    caveat(
        "rate_not_kept",
        format!(
            "of the {arrived} operations that arrived at {rate_per_s} a second, {queued} were \
             unanswered when the measurement ended{left_out}: response times grow with the length \
             of the run"
        ),
    )
}

/// In an open loop the response times hold what a stall did.
fn stalled(cell: &Cell, report: &TrialReport) -> Option<Caveat> {
    if cell.mode != Mode::Closed {
        return None;
    }
    let longest = stall::longest(&report.measured, cell.clients, report.turns)?;
    caveat(
        "stalled",
        format!(
            "nothing was answered for {:.2} s at a stretch: the clients of a closed loop ask \
             nothing meanwhile, so the percentiles hardly show it (--rate counts everyone who \
             would have asked)",
            longest.as_secs_f64()
        ),
    )
}

fn crowded(cell: &Cell) -> Option<Caveat> {
    let cores = placement::allowed().len();
    if deploy::has_server(cell) || cell.clients as usize <= cores || cores == 0 {
        return None;
    }
    caveat(
        "crowded",
        format!(
            "{} clients of an embedded store share {cores} cores: high percentiles hold the time \
             that a client waited for a core",
            cell.clients
        ),
    )
}

fn emulated(cell: &Cell) -> Option<Caveat> {
    let capabilities = cell.capabilities();
    let kinds = cell.parameters.operation_kinds().into_iter();
    let operations = kinds.map(|kind| (kind.name(), Feature::Operation(kind)));
    let indexes =
        (cell.parameters.index_count > 0).then_some(("secondary indexes", Feature::Indexes));
    let mut told: Vec<&str> = Vec::new();
    let mut ways: Vec<String> = Vec::new();
    for (name, feature) in operations.chain(indexes) {
        // Lookups and the indexes that they need are done in one way.
        if let Support::Emulated(how) = capabilities.support(feature)
            && !told.contains(&how)
        {
            told.push(how);
            ways.push(format!("{name}: {how}"));
        }
    }
    if ways.is_empty() {
        return None;
    }
    caveat("emulated", format!("done by the driver with other commands: {}", ways.join("; ")))
}

fn attached(cell: &Cell) -> Option<Caveat> {
    let TargetPlan::Attach { .. } = cell.system.target else { return None };
    caveat(
        "attached",
        "the server was there before: its settings, cores and other users are not Assay's, its \
         CPU and memory are not measured, and its durability is what it was started with"
            .into(),
    )
}

fn unverified(cell: &Cell) -> Option<Caveat> {
    let verified = cell.driver().verified;
    let code = if verified == Verified::Never { "not_verified" } else { "verified_by_hand" };
    caveat(code, verified.remark()?)
}

fn not_on_storage(cell: &Cell, report: &TrialReport) -> Option<Caveat> {
    let name = report.in_memory?;
    if !cell.promises_storage() {
        return None;
    }
    let next = match cell.ram_disk {
        true => "as the RAM disk that was asked for has it",
        false => "--data-folder names one on a disk",
    };
    caveat(
        "not_on_storage",
        format!(
            "the data folder is on {name}: nothing is on stable storage, and a sync cost nothing ({next})"
        ),
    )
}

fn cold(cell: &Cell) -> Option<Caveat> {
    match cell.warmup {
        Extent::Operations(0) | Extent::Time(std::time::Duration::ZERO) => {
            caveat("cold", "there was no warm-up: caches were cold when it began".into())
        }
        _ => None,
    }
}

fn answers(cell: &Cell, report: &TrialReport) -> Option<Caveat> {
    let Some(answers) = &report.answers else {
        return caveat("no_answers", "it stores nothing: its answers cannot be checked".into());
    };
    if let Some(why) = answers.wrong_count() {
        return caveat("wrong_answers", why);
    }
    if answers.wrong > 0 {
        let first = answers.first_wrong.as_deref().unwrap_or("no detail");
        return caveat(
            "wrong_answers",
            format!(
                "{} of {} records read back were wrong: {first}",
                answers.wrong, answers.sampled
            ),
        );
    }
    match (answers.record_count, cell.capabilities().support(Feature::Count)) {
        (None, Support::Unsupported(why)) => {
            caveat("not_counted", format!("its records were not counted: {why}"))
        }
        _ => None,
    }
}

fn drift(report: &TrialReport) -> Option<Caveat> {
    let (drift_ns, length_ns) = (report.clock_drift_ns, report.measured.length_ns);
    if drift_ns.unsigned_abs() * 10_000 < length_ns || drift_ns.unsigned_abs() < 100_000 {
        return None;
    }
    caveat("clock_drift", format!("the clock moved {drift_ns} ns away from the kernel's"))
}
