//! An execution as a numbered story in plain sentences, one line for each step.

use super::layout::{Arrow, Change, End, Ending, Layout, Part, Row};
use super::words;
use bellwether_engine::property::Kind;
use bellwether_engine::protocol::Id;
use bellwether_engine::trace::{Event, Lifeline, Trace, Variable, plain_value};
use bellwether_engine::words::jumps;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Returns the story of `trace`.
#[must_use]
pub fn tell(trace: &Trace) -> String {
    let layout = Layout::of(trace);
    let first = trace.header.initial.iter().map(|(&id, lifeline)| (id, lifeline)).collect();
    let mut out = format!("At the beginning {}.\n", processes(&first));
    let digits = layout.rows.len().to_string().len().max(2);
    for part in &layout.parts {
        match part {
            Part::Step(at) => {
                let sentence = step(&layout, &layout.rows[*at]);
                let _ = writeln!(out, "{:>digits$}. {sentence}", at + 1);
            }
            ticks @ Part::Ticks { steps, now } => {
                let (words, passed) = (ticks.words(), if *now == 1 { "has" } else { "have" });
                let pass = if steps.len() == 1 { "passes" } else { "pass" };
                let so_far = if *now == steps.len() {
                    String::new()
                } else {
                    format!(" {now} {passed} passed so far.")
                };
                let _ = writeln!(out, "{:>digits$}. {words} {pass}.{so_far}", steps.end);
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
    let _ = writeln!(out, "Now {}.", processes(&layout.last));
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
    let mut groups: Vec<(&Arrow<'_>, Vec<u8>)> = Vec::new();
    for arrow in layout.in_flight() {
        let alike = |known: &Arrow<'_>| known.label == arrow.label && known.from() == arrow.from();
        match groups.iter_mut().find(|(known, _)| alike(known)) {
            Some((_, to)) => to.push(arrow.to()),
            None => groups.push((arrow, vec![arrow.to()])),
        }
    }
    let group = |(arrow, to): &(&Arrow<'_>, Vec<u8>)| {
        format!("{} from {} to {}", arrow.label, arrow.from(), words::ids(to))
    };
    groups.iter().map(group).collect()
}

fn message(arrow: &Arrow<'_>) -> String {
    format!("{} from {} to {}", arrow.label, arrow.from(), arrow.to())
}

/// "3 leads, 1 and 2 follow 3": processes that believe the same together.
fn processes(of: &BTreeMap<u8, &Lifeline>) -> String {
    let mut groups: Vec<(String, Vec<u8>)> = Vec::new();
    for (&id, lifeline) in of {
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
        format!("{} {many}{}", words::ids(ids), if dead { " (which is down)" } else { "" })
    };
    let phrases: Vec<String> = groups.iter().map(phrase).collect();
    if phrases.is_empty() { "there is no process".to_owned() } else { phrases.join("; ") }
}

/// One step in a sentence or two.
pub(super) fn step(layout: &Layout<'_>, row: &Row<'_>) -> String {
    let arrow = row.arrow.map(|at| &layout.arrows[at]);
    let mut out = event(row, arrow);
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
    for (end, why) in [
        (End::Barred, "is lost on the cut link"),
        (End::Merged, "merges with the same message, which is in flight already"),
    ] {
        for (label, to) in layout.grouped(&row.sends, |e| e == end) {
            let _ = write!(out, " Its {label} to {} {why}.", words::ids(&to));
        }
    }
    for &lost in &row.cut_off {
        let _ = write!(out, " {} is lost with it.", message(&layout.arrows[lost]));
    }
    for change in row.changes.iter().filter(|c| Some(c.id) != who) {
        if let Some(what) = words::becomes(change.id, change.before, change.after) {
            let _ = write!(out, " {} {what}.", change.id);
        }
    }
    out
}

/// What happened, without what followed from it.
pub(super) fn event(row: &Row<'_>, arrow: Option<&Arrow<'_>>) -> String {
    let who = row.step.node.map_or_else(|| "a process".to_owned(), |id| id.to_string());
    match (&row.step.event, arrow) {
        (Event::Deliver(_), Some(arrow)) => arrival(arrow),
        (Event::Lose(_), Some(arrow)) => format!("{} is lost.", message(arrow)),
        (Event::Duplicate(_), Some(arrow)) => {
            format!("{} is doubled: it may arrive twice.", message(arrow))
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
        (Event::Choose { outcome }, _) => {
            format!("{who} chooses {}.", words::clean(&plain_value(outcome)))
        }
        (Event::Crash, _) => {
            let led = row.changes.iter().any(|c| c.before.is_some_and(|b| words::leads(c.id, b)));
            if led { format!("{who}, the leader, crashes.") } else { format!("{who} crashes.") }
        }
        (Event::Recover, _) => format!("{who} recovers."),
        (Event::Pause, _) => format!("{who} is paused."),
        (Event::Resume, _) => format!("{who} goes on."),
        (Event::Cut { link, one_way }, _) => format!("The {} is cut.", link_of(*link, *one_way)),
        (Event::Heal { link, one_way }, _) => format!("The {} heals.", link_of(*link, *one_way)),
        (Event::Jump { by }, _) => format!("{who}'s clock {}.", jumps(*by)),
        (Event::Tick, _) => "A tick passes.".to_owned(),
    }
}

fn link_of([a, b]: [Id; 2], one_way: bool) -> String {
    if one_way { format!("link from {a} to {b}") } else { format!("link between {a} and {b}") }
}

fn arrival(arrow: &Arrow<'_>) -> String {
    let Arrow { label, stale, .. } = arrow;
    let (from, to) = (arrow.from(), arrow.to());
    let stale = stale.as_ref().map(|why| format!(" (stale: {why})")).unwrap_or_default();
    match arrow.end {
        End::Down(_) => format!("{to} is down: {label} from {from} is lost on it{stale}."),
        _ => format!("{to} gets {label} from {from}{stale}."),
    }
}

/// A message after which its receiver neither is something else nor sends or awaits more: what it
/// notes, if it notes anything.
fn unmoved(layout: &Layout<'_>, row: &Row<'_>) -> String {
    if !row.step.armed.is_empty() {
        return format!(" It starts {} again.", timers(row.step.armed.iter().map(String::as_str)));
    }
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

/// What the process that acted became, sent and armed, each with its verb.
fn deeds(layout: &Layout<'_>, row: &Row<'_>) -> Vec<String> {
    let who = row.step.node.map(Id::number);
    let own: Option<&Change<'_>> = row.changes.iter().find(|c| Some(c.id) == who);
    let mut deeds = Vec::new();
    if let Some(change) = own.filter(|_| row.step.event != Event::Crash) {
        deeds.extend(words::becomes(change.id, change.before, change.after));
    }
    let flies = |end: End| !matches!(end, End::Barred | End::Merged);
    let sends = layout.grouped(&row.sends, flies).into_iter();
    let sends: Vec<_> = sends.map(|(l, to)| format!("{l} to {}", words::ids(&to))).collect();
    if !sends.is_empty() {
        deeds.push(format!("sends {}", words::list(&sends)));
    }
    let mut armed = own.into_iter().flat_map(Change::armed).peekable();
    if armed.peek().is_some() {
        deeds.push(format!("arms {}", timers(armed)));
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
