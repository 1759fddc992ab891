//! The answers in as few sentences as there are workloads: a sweep's groups are one.

use assay_results::Ratio;

use super::data::{Answer, AnswerKind, Headline, SweepAxis, SweepPanel, SystemSummary};
use crate::{
    text::{grouped, listed},
    units::ratio,
    verdict::times,
};

/// A sentence for each group, and one for all groups of a panel.
pub fn headlines(
    answers: &[Answer],
    panels: &[SweepPanel],
    systems: &[SystemSummary],
) -> Vec<Headline> {
    let mut headlines: Vec<Headline> = Vec::new();
    for answer in answers {
        if headlines.iter().any(|headline| headline.groups.contains(&answer.group)) {
            continue;
        }
        let whole = panels.iter().map(|panel| (panel, places(panel))).find(|(_, places)| {
            let taken = |group: &u32| headlines.iter().any(|known| known.groups.contains(group));
            let groups = || places.iter().map(|(_, group)| group);
            groups().any(|group| *group == answer.group) && !groups().any(taken)
        });
        headlines.push(match whole {
            None => Headline { sentence: answer.sentence.clone(), groups: vec![answer.group] },
            Some((panel, places)) => Headline {
                sentence: sentence(panel, &places, answers, systems),
                groups: places.into_iter().map(|(_, group)| group).collect(),
            },
        });
    }
    headlines
}

/// The places of a panel's groups, in order.
fn places(panel: &SweepPanel) -> Vec<(f64, u32)> {
    let points = panel.lines.iter().flat_map(|line| &line.points);
    let mut places: Vec<(f64, u32)> = points.map(|point| (point.x, point.group)).collect();
    places.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    places.dedup();
    places
}

/// Places at which the same was found out.
struct Stretch<'a> {
    kind: AnswerKind,
    leaders: &'a [u32],
    xs: Vec<f64>,
    leads: Vec<Ratio>,
}

/// `On ycsb/a slik leads from 1 to 16 clients, by 14.3× to 28.3×`.
fn sentence(
    panel: &SweepPanel,
    places: &[(f64, u32)],
    answers: &[Answer],
    systems: &[SystemSummary],
) -> String {
    let mut stretches: Vec<Stretch<'_>> = Vec::new();
    for (x, group) in places {
        let answer = &answers[*group as usize];
        let mut leaders = answer.leaders.as_slice();
        if answer.kind == AnswerKind::Nothing {
            leaders = &[];
        }
        let same = |stretch: &&mut Stretch<'_>| {
            let mut both = [stretch.leaders.to_vec(), leaders.to_vec()];
            both.iter_mut().for_each(|leaders| leaders.sort_unstable());
            stretch.kind == answer.kind && both[0] == both[1]
        };
        match stretches.iter_mut().find(same) {
            Some(stretch) => {
                stretch.xs.push(*x);
                stretch.leads.extend(answer.lead);
            }
            None => stretches.push(Stretch {
                kind: answer.kind,
                leaders,
                xs: vec![*x],
                leads: answer.lead.into_iter().collect(),
            }),
        }
    }
    let all: Vec<f64> = places.iter().map(|(x, _)| *x).collect();
    let clauses: Vec<String> =
        stretches.iter().map(|stretch| clause(panel.over, stretch, &all, systems)).collect();
    let mut on = panel.name.replace(" · ", ", ");
    if on != panel.name {
        on.push(',');
    }
    format!("On {on} {}", clauses.join("; "))
}

fn clause(
    over: SweepAxis,
    stretch: &Stretch<'_>,
    all: &[f64],
    systems: &[SystemSummary],
) -> String {
    let named: Vec<String> =
        stretch.leaders.iter().map(|system| systems[*system as usize].name.clone()).collect();
    let leaders = listed(&named);
    let at = stretch_of(over, &stretch.xs, all);
    match (stretch.kind, over) {
        (AnswerKind::Lead, SweepAxis::Rate) => {
            format!("{leaders} has the lowest p99 {at}{}", by(&stretch.leads))
        }
        (AnswerKind::Lead, _) => format!("{leaders} leads {at}{}", by(&stretch.leads)),
        (AnswerKind::Tie, _) => format!("{leaders} tie {at}"),
        (AnswerKind::Undecided, _) => {
            let are = if named.len() == 1 { "is" } else { "are" };
            format!("{leaders} {are} ahead {at}, but repeats are too few or too unlike to be sure")
        }
        (AnswerKind::Alone, _) => format!("{leaders} alone has figures {at}"),
        (AnswerKind::Nothing, _) => format!("there is nothing to compare {at}"),
    }
}

/// `, by 14.3× to 28.3×`; of a single one with its interval.
fn by(leads: &[Ratio]) -> String {
    if let [only] = leads {
        return format!(", by {}", times(only));
    }
    let least = leads.iter().map(|lead| lead.ratio).fold(f64::INFINITY, f64::min);
    let most = leads.iter().map(|lead| lead.ratio).fold(0.0, f64::max);
    match (ratio(least), ratio(most)) {
        _ if leads.is_empty() => String::new(),
        (least, most) if least == most => format!(", by {least}×"),
        (least, most) => format!(", by {least}× to {most}×"),
    }
}

/// `from 1 to 16 clients`, or `with 1 and 4 clients` where others lie between.
fn stretch_of(over: SweepAxis, xs: &[f64], all: &[f64]) -> String {
    let begin = all.iter().position(|x| Some(x) == xs.first()).unwrap_or(0);
    let together = xs.len() > 2 && all[begin..].starts_with(xs);
    let shown: Vec<String> = xs
        .iter()
        .map(|x| {
            let number = if x.fract() == 0.0 { grouped(*x as u64) } else { x.to_string() };
            if over == SweepAxis::Rate { number + "/s" } else { number }
        })
        .collect();
    let one = xs == [1.0];
    let unit = match over {
        SweepAxis::Clients if one => " client",
        SweepAxis::Clients => " clients",
        SweepAxis::Records if one => " record",
        SweepAxis::Records => " records",
        SweepAxis::Rate => "",
    };
    match shown.as_slice() {
        [first, .., last] if together => format!("from {first} to {last}{unit}"),
        some if over == SweepAxis::Rate => format!("at {}", listed(some)),
        some => format!("with {}{unit}", listed(some)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_as_a_stretch_where_none_is_left_out() {
        let all = [1.0, 2.0, 4.0, 8.0];
        for (over, xs, told) in [
            (SweepAxis::Clients, &all[..], "from 1 to 8 clients"),
            (SweepAxis::Clients, &[1.0, 4.0, 8.0], "with 1, 4 and 8 clients"),
            (SweepAxis::Clients, &[2.0, 4.0, 8.0], "from 2 to 8 clients"),
            (SweepAxis::Clients, &[1.0], "with 1 client"),
            (SweepAxis::Rate, &[4.0, 8.0], "at 4/s and 8/s"),
            (SweepAxis::Records, &[2.0, 4.0], "with 2 and 4 records"),
        ] {
            assert_eq!(stretch_of(over, xs, &all), told);
        }
    }
}
