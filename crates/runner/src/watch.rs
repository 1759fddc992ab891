//! Watching a phase from outside: what client and server use, second by second, and whether there
//! is a reason to stop.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use assay_experiment::Extent;
use assay_measure::{
    recorder::Window,
    resources::{ProcessTree, Usage},
};

use crate::{
    gate::Opening,
    phase::{Order, Sample},
};

const LOOK_EVERY: Duration = Duration::from_millis(10);
const SAMPLE_EVERY_NS: u64 = 1_000_000_000;

/// What was seen.
pub(crate) struct Watched {
    pub(crate) opened_at: jiff::Timestamp,
    pub(crate) samples: Vec<Sample>,
    /// What the server used in the window.
    pub(crate) server: Option<Usage>,
    /// What Assay's process used in the window.
    pub(crate) client: Usage,
    pub(crate) why: Option<String>,
}

/// Everything used so far.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    client: Usage,
    server: Option<Usage>,
}

/// Looks at client and server.
pub(crate) fn look(order: &Order<'_>) -> Look {
    Look {
        client: ProcessTree::own().sample().unwrap_or_default(),
        server: order.server.and_then(|server| server.sample().ok()),
    }
}

/// Samples each second and looks for reasons to stop, until no lane is `running`. What was used by
/// the time that the window opens is what was used `at_rest` before it, if the clients begin with
/// it, and is looked at otherwise.
pub(crate) fn watch(
    order: &Order<'_>,
    opening: Opening,
    at_rest: Look,
    running: &AtomicUsize,
    abort: &AtomicBool,
) -> Watched {
    let Opening { begin_ns, window, .. } = opening;
    let Window { from_ns, until_ns, .. } = window;
    let mut why = None;
    while let pause_ns @ 1.. = from_ns.saturating_sub(order.clock.now())
        && running.load(Ordering::Acquire) > 0
    {
        look_for_reason(order, &mut why, abort);
        thread::sleep(Duration::from_nanos(pause_ns).min(LOOK_EVERY));
    }
    let opened_at = jiff::Timestamp::now();
    let (before, before_ns) =
        if begin_ns < from_ns { (look(order), order.clock.now()) } else { (at_rest, from_ns) };
    let (mut last, mut last_ns) = (before, before_ns);
    let mut samples = Vec::new();
    let mut next_ns = from_ns + SAMPLE_EVERY_NS;
    loop {
        let ended = running.load(Ordering::Acquire) == 0;
        let now_ns = order.clock.now();
        if (now_ns >= next_ns || ended || now_ns >= until_ns) && last_ns < until_ns {
            let (now, now_ns) = (look(order), order.clock.now());
            samples.push(sample((last_ns, &last), (now_ns, &now)));
            (last, last_ns) = (now, now_ns);
            next_ns += SAMPLE_EVERY_NS;
        }
        if ended {
            break;
        }
        look_for_reason(order, &mut why, abort);
        let left_ns = until_ns.saturating_sub(now_ns);
        let pause = if left_ns == 0 { LOOK_EVERY } else { Duration::from_nanos(left_ns) };
        thread::sleep(pause.min(LOOK_EVERY));
    }
    // A window by time is not quite what was watched: what was used is scaled to it. After a number
    // of operations both sides were at rest, however late the look was.
    let watched_ns = last_ns.saturating_sub(before_ns).max(1) as f64;
    let scale = match order.extent {
        Extent::Time(time) => time.as_nanos() as f64 / watched_ns,
        Extent::Operations(_) => 1.0,
    };
    let used = |now: Usage, before: &Usage| {
        let used = now.since(before);
        let scaled = |ns: u64| (ns as f64 * scale) as u64;
        Usage { cpu_ns: scaled(used.cpu_ns), cpu_wait_ns: scaled(used.cpu_wait_ns), ..used }
    };
    Watched {
        opened_at,
        samples,
        server: last.server.zip(before.server).map(|(now, before)| used(now, &before)),
        client: used(last.client, &before.client),
        why,
    }
}

/// Stops the lanes if there is a reason to.
fn look_for_reason(order: &Order<'_>, why: &mut Option<String>, abort: &AtomicBool) {
    if why.is_none() {
        *why = (order.why_stop)();
        if why.is_some() {
            abort.store(true, Ordering::Relaxed);
        }
    }
}

fn sample((last_ns, last): (u64, &Look), (now_ns, now): (u64, &Look)) -> Sample {
    Sample {
        length_s: now_ns.saturating_sub(last_ns) as f64 / 1e9,
        client: now.client.since(&last.client),
        server: now.server.zip(last.server).map(|(now, last)| now.since(&last)),
    }
}
