//! An execution as a numbered story in plain sentences, one line for each step.

use super::layout::{Arrow, Change, End, Ending, Layout, Part, Row};
use super::words;
use bellwether_engine::property::Kind;
use bellwether_engine::protocol::Id;
use bellwether_engine::trace::{Event, Fate, Lifeline, Trace, Variable, plain_value};
use bellwether_engine::words::jumps;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Returns the protocol with its rules, and the world, in a line each.
#[must_use]
pub fn heading(trace: &Trace) -> String {
    format!("{}\n{}\n", Layout::of(trace).protocol(), trace.header.world)
}

/// Returns the story of `trace`.
#[must_use]
pub fn tell(trace: &Trace) -> String {
    let layout = Layout::of(trace);
    let first = trace.header.initial.iter().map(|(&id, lifeline)| (id, lifeline)).collect();
    let mut out = format!("At the beginning {}.\n", processes(&layout, &first));
    let digits = layout.rows.len().to_string().len().max(2);
    for part in &layout.parts {
        match part {
            Part::Step(at) => {
                let sentence = step(&layout, &layout.rows[*at]);
                let _ = writeln!(out, "{:>digits$}. {sentence}", at + 1);
            }
            ticks @ Part::Ticks { steps, now } => {
                let passed = if *now == 1 { "has" } else { "have" };
                let so_far = if *now == steps.len() {
                    String::new()
                } else {
                    format!(" {now} {passed} passed so far.")
                };
                let numbers = match steps.len() {
                    1 => steps.end.to_string(),
                    _ => format!("{}-{}", steps.start + 1, steps.end),
                };
                let _ = writeln!(out, "{numbers:>digits$}. {}.{so_far}", ticks.words());
            }
            fold @ Part::Again { .. } => {
                let _ = writeln!(out, "{:>digits$}  … {} …", "", fold.words());
            }
        }
    }
    end(&layout, &mut out);
    out
}

/// Returns what happens in each step of `trace`, in a sentence or two.
#[must_use]
pub fn sentences(trace: &Trace) -> Vec<String> {
    let layout = Layout::of(trace);
    layout.rows.iter().map(|row| step(&layout, row)).collect()
}

/// Who believes what in the end, and what that shows.
fn end(layout: &Layout<'_>, out: &mut String) {
    match layout.ending {
        Ending::Repeats(after) => {
            let (first, last) = (after + 1, layout.rows.len());
            let _ = match last - first {
                0 => writeln!(out, "Step {first} repeats for ever."),
                1 => writeln!(out, "Steps {first} and {last} repeat for ever."),
                _ => writeln!(out, "Steps {first} to {last} repeat for ever."),
            };
        }
        Ending::Stuck => out.push_str("From here nothing happens any more.\n"),
        Ending::Open | Ending::Violated | Ending::Reached => {}
    }
    let _ = writeln!(out, "Now {}.", processes(layout, &layout.last));
    let flying = flying(layout);
    if !flying.is_empty() {
        let _ = writeln!(out, "Still in flight: {}.", flying.join("; "));
    }
    if let Some(shows) = shows(layout) {
        let _ = writeln!(out, "{shows}");
    }
}

/// What the execution shows, if it shows something.
pub(super) fn shows(layout: &Layout<'_>) -> Option<String> {
    let shows = layout.trace.header.shows.as_ref()?;
    let (name, formula) = (words::clean(&shows.property), words::clean(&shows.formula));
    let verb = match shows.kind {
        Kind::Reachability => "is an example of",
        Kind::Safety | Kind::Liveness => "violates",
    };
    Some(format!("This {verb} {name}: {formula}"))
}

/// What is in flight at the end, what one process sent together.
pub(super) fn flying(layout: &Layout<'_>) -> Vec<String> {
    let groups = Layout::grouped(layout.in_flight());
    groups.iter().map(|group| messages(layout, group)).collect()
}

/// Messages of one process that say the same: with their ends.
fn messages(layout: &Layout<'_>, group: &[&Arrow<'_>]) -> String {
    let from = layout.names.name(group[0].from());
    format!("{} from {from} to {}", group[0].label, layout.receivers(group))
}

/// "P3 leads, P1 and P2 follow P3": processes that believe the same together. Of a service that is
/// what its name says there is nothing to tell.
fn processes(layout: &Layout<'_>, of: &BTreeMap<u8, &Lifeline>) -> String {
    let mut groups: Vec<(String, Vec<u8>)> = Vec::new();
    for (&id, lifeline) in of {
        if layout.names.says_role(id, &lifeline.role) && !lifeline.paused {
            continue;
        }
        let what = words::is(id, lifeline);
        match groups.iter_mut().find(|(known, _)| *known == what) {
            Some((_, ids)) => ids.push(id),
            None => groups.push((what, vec![id])),
        }
    }
    let phrase = |(what, ids): &(String, Vec<u8>)| {
        let many = match of.get(&ids[0]) {
            Some(lifeline) if ids.len() > 1 => words::belief(ids[0], lifeline, true),
            _ => what.clone(),
        };
        let leader = of.get(&ids[0]).and_then(|l| words::other_leader(ids[0], l));
        let dead = leader.is_some_and(|l| of.get(&l).is_some_and(|l| !l.up));
        let who = layout.names.list(ids);
        format!("{who} {many}{}", if dead { " (which is down)" } else { "" })
    };
    let phrases: Vec<String> = groups.iter().map(phrase).collect();
    if phrases.is_empty() { "there is no process".to_owned() } else { phrases.join("; ") }
}

/// One step in a sentence or two.
pub(super) fn step(layout: &Layout<'_>, row: &Row<'_>) -> String {
    let arrow = row.arrow.map(|at| &layout.arrows[at]);
    let mut out = event(layout, row);
    let who = row.step.node.map(Id::number);
    let deeds = deeds(layout, row);
    match (&row.step.event, deeds.is_empty()) {
        (Event::Deliver(_), true) if arrow.is_some_and(|a| matches!(a.end, End::Down(_))) => {}
        (Event::Deliver(_), true) => out.push_str(&unmoved(layout, row)),
        (_, true) => {}
        (_, false) => {
            let _ = write!(out, " It {}.", words::clauses(&deeds));
        }
    }
    for (fate, why) in [
        (Fate::Cut, "is lost on the cut link"),
        (Fate::Merged, "merges with the same message, which is in flight already"),
    ] {
        for group in layout.sent(row, Some(fate)) {
            let _ = write!(out, " Its {} to {} {why}.", group[0].label, layout.receivers(&group));
        }
    }
    for &lost in &row.cut_off {
        let _ = write!(out, " {} is lost with it.", messages(layout, &[&layout.arrows[lost]]));
    }
    for change in row.changes.iter().filter(|c| Some(c.id) != who) {
        if let Some(what) = words::becomes(change.id, change.before, change.after) {
            let _ = write!(out, " {} {what}.", words::sentence(&layout.names.name(change.id)));
        }
    }
    out
}

/// What happened, without what followed from it.
pub(super) fn event(layout: &Layout<'_>, row: &Row<'_>) -> String {
    let name = |id: Id| layout.names.name(id.number());
    let arrow = row.arrow.map(|at| &layout.arrows[at]);
    let who = row.step.node.map_or_else(|| "a process".to_owned(), name);
    let link = |[a, b]: [Id; 2], one_way: bool| {
        let [between, and] = if one_way { ["from", "to"] } else { ["between", "and"] };
        format!("the link {between} {} {and} {}", name(a), name(b))
    };
    let told = match (&row.step.event, arrow) {
        (Event::Deliver(_), Some(arrow)) => arrival(layout, arrow),
        (Event::Lose(_), Some(arrow)) => format!("{} is lost.", messages(layout, &[arrow])),
        (Event::Duplicate(_), Some(arrow)) => {
            format!("{} is doubled: it may arrive twice.", messages(layout, &[arrow]))
        }
        (Event::Deliver(_) | Event::Lose(_) | Event::Duplicate(_), None) => String::new(),
        (Event::Expire { timer, early }, _) => {
            let timer = plain_value(timer);
            let early = if *early {
                " too early, a false suspicion: what it waits for could still come"
            } else {
                ""
            };
            format!("{who}'s {} timer expires{early}.", words::clean(&timer))
        }
        (Event::Crash, _) => {
            let led = row.changes.iter().any(|c| c.before.is_some_and(|b| words::leads(c.id, b)));
            if led { format!("{who}, the leader, crashes.") } else { format!("{who} crashes.") }
        }
        (Event::Jump { by }, _) => format!("{who}'s clock {}.", jumps(*by)),
        (Event::Cut { link: ends, one_way }, _) => format!("{} is cut.", link(*ends, *one_way)),
        (Event::Heal { link: ends, one_way }, _) => format!("{} heals.", link(*ends, *one_way)),
        (Event::Tick, _) => format!("{}.", words::ticks(1)),
        (event, _) => format!("{who} {}.", words::happens(event).unwrap_or_default()),
    };
    words::sentence(&told)
}

fn arrival(layout: &Layout<'_>, arrow: &Arrow<'_>) -> String {
    let Arrow { label, stale, .. } = arrow;
    let [from, to] = [arrow.from(), arrow.to()].map(|id| layout.names.name(id));
    let stale = stale.as_ref().map(|why| format!(" (stale: {why})")).unwrap_or_default();
    match arrow.end {
        End::Down(_) => format!("{to} is down: {label} from {from} is lost on it{stale}."),
        _ => format!("{to} gets {label} from {from}{stale}."),
    }
}

/// A message after which its receiver neither is something else nor sends or awaits more: what it
/// notes, if it notes anything.
fn unmoved(layout: &Layout<'_>, row: &Row<'_>) -> String {
    let mut deeds = Vec::new();
    let noted: Vec<String> =
        layout.trace.noted.in_step(row.step.seq).iter().map(variable).collect();
    if !noted.is_empty() {
        deeds.push(format!("notes {}", noted.join("; ")));
    }
    let who = row.step.node.map(Id::number);
    let own = row.changes.iter().filter(|change| Some(change.id) == who);
    let mut stopped = own.flat_map(Change::stopped).peekable();
    if stopped.peek().is_some() {
        deeds.push(format!("stops {}", timers(stopped)));
    }
    match &deeds[..] {
        [] => " Nothing changes.".to_owned(),
        deeds => format!(" It {}.", words::clauses(deeds)),
    }
}

/// How a variable changed; of a long one, only that it did.
fn variable(one: &Variable) -> String {
    const LONGEST: usize = 60;
    let Variable { name, before, after } = one;
    if before.len() + after.len() > LONGEST {
        return format!("another {name}");
    }
    format!("{name}: {before} → {after}")
}

/// What the process that acted became, sent, armed and armed again, each with its verb.
fn deeds(layout: &Layout<'_>, row: &Row<'_>) -> Vec<String> {
    let who = row.step.node.map(Id::number);
    let own: Option<&Change<'_>> = row.changes.iter().find(|c| Some(c.id) == who);
    let mut deeds = Vec::new();
    if let Some(change) = own.filter(|_| row.step.event != Event::Crash) {
        deeds.extend(words::becomes(change.id, change.before, change.after));
    }
    let sends = layout.sent(row, None).into_iter();
    let sends: Vec<_> =
        sends.map(|group| format!("{} to {}", group[0].label, layout.receivers(&group))).collect();
    if !sends.is_empty() {
        deeds.push(format!("sends {}", words::list(&sends)));
    }
    let armed: Vec<&str> = own.into_iter().flat_map(Change::armed).collect();
    if !armed.is_empty() {
        deeds.push(format!("arms {}", timers(armed.iter().copied())));
    }
    let runs = |name: &&String| own.is_none_or(|change| change.after.timers.contains(*name));
    let again = row.step.armed.iter().filter(|name| runs(name) && !armed.contains(&name.as_str()));
    let again: BTreeSet<&str> = again.map(String::as_str).collect();
    if !again.is_empty() {
        deeds.push(format!("starts {} again", timers(again.into_iter())));
    }
    let choices: Vec<_> = row.step.choices.iter().map(|one| words::clean(one)).collect();
    if !choices.is_empty() {
        deeds.push(format!("has to choose {}", choices.join(" or ")));
    }
    deeds
}

fn timers<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.map(words::clean).collect();
    format!("its {} timer{}", words::list(&names), if names.len() > 1 { "s" } else { "" })
}
