//! The words in which story, diagram and picture speak of processes.

use bellwether_engine::protocol::{Belief, Id};
use bellwether_engine::trace::{self, Event, Lifeline, Trace, plain_value};
use bellwether_engine::words::jumps;
use bellwether_engine::world::World;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

/// What a stroke or a text is part of, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    Plain,
    Bold,
    Faint,
    Light,
    Line,
    Dead,
    Message,
    Stale,
    Timer,
    Good,
    Bad,
    Cycle,
}

/// The colour of a process: that it leads, follows, is anything between, or is down.
pub(super) fn tone(id: u8, lifeline: &Lifeline) -> Ink {
    match lifeline.belief(id) {
        _ if !lifeline.up => Ink::Bad,
        Belief::Leads => Ink::Good,
        Belief::Follows(_) => Ink::Plain,
        Belief::Undecided => Ink::Timer,
    }
}

/// The names of processes: P1, P2, and so on; a service is called by its role.
#[derive(Clone, Debug)]
pub(crate) struct Names(BTreeMap<u8, String>);

impl Names {
    /// Returns the names where processes up to `nodes` elect, and begin in these roles.
    fn of<'a>(nodes: usize, roles: impl Iterator<Item = (u8, &'a str)>) -> Names {
        let services = roles.filter(|(id, role)| usize::from(*id) > nodes && *role != trace::DOWN);
        let named = services.map(|(id, role)| (id, format!("the {}", clean(role))));
        let named: BTreeMap<u8, String> = named.collect();
        // Two services of one role need their numbers.
        let distinct: BTreeSet<_> = named.values().collect();
        Names(if distinct.len() == named.len() { named } else { BTreeMap::new() })
    }

    /// Returns the names of the processes of `world`.
    pub(crate) fn of_world(world: &World) -> Names {
        let first = world.initial();
        let role = |id: Id| (id.number(), Lifeline::of(&first, id).role);
        let roles: Vec<(u8, String)> = first.ids().map(role).collect();
        Names::of(world.scenario().nodes, roles.iter().map(|(id, role)| (*id, &**role)))
    }

    /// Returns the names of the processes of `trace`.
    pub(super) fn of_trace(trace: &Trace) -> Names {
        let initial = trace.header.initial.iter();
        Names::of(trace.header.world.nodes, initial.map(|(&id, first)| (id, &*first.role)))
    }

    /// Returns the name of a process.
    pub(crate) fn name(&self, id: u8) -> String {
        self.0.get(&id).cloned().unwrap_or_else(|| format!("P{id}"))
    }

    /// Returns the name without an article, as it stands above a lifeline.
    pub(super) fn head(&self, id: u8) -> String {
        self.name(id).trim_start_matches("the ").to_owned()
    }

    /// Returns whether the name of a process is its role.
    pub(super) fn says_role(&self, id: u8, role: &str) -> bool {
        self.0.get(&id).is_some_and(|name| name.strip_prefix("the ") == Some(&*clean(role)))
    }

    /// Returns ids in ascending order, as [`list`] tells them; many in a row are a range: "P1–P98
    /// and P100".
    pub(super) fn list(&self, ids: &[u8]) -> String {
        let next = |a: &u8, b: &u8| a.checked_add(1) == Some(*b) && !self.0.contains_key(b);
        let told = ids.chunk_by(next).flat_map(|row| match row {
            [first, .., last] if row.len() >= LONG => vec![format!("P{first}–P{last}")],
            few => few.iter().map(|&id| self.name(id)).collect(),
        });
        list(&told.collect::<Vec<_>>())
    }
}

pub(super) fn leads(id: u8, lifeline: &Lifeline) -> bool {
    lifeline.belief(id) == Belief::Leads
}

/// The leader of a process that follows another.
pub(super) fn other_leader(id: u8, lifeline: &Lifeline) -> Option<u8> {
    match lifeline.belief(id) {
        Belief::Follows(leader) => Some(leader.number()),
        Belief::Leads | Belief::Undecided => None,
    }
}

/// A process's role and leader, as they stand beside its lifeline.
pub(super) fn status(id: u8, lifeline: &Lifeline) -> String {
    let role = clean(&lifeline.role);
    match other_leader(id, lifeline) {
        Some(leader) => format!("{role} of P{leader}"),
        None => role.into_owned(),
    }
}

/// A role as it follows "is" or "becomes": "a candidate", but "waiting" and "in stage 1".
pub(super) fn role(role: &str) -> String {
    let role = clean(role);
    if stands_alone(&role) {
        return role.into_owned();
    }
    let vowel = role.starts_with(|c: char| "aeiouAEIOU".contains(c));
    format!("{} {role}", if vowel { "an" } else { "a" })
}

fn stands_alone(role: &str) -> bool {
    let ends = |with| role.ends_with(with);
    let adjective = ["ing", "ed", "able", "certain"].into_iter().any(ends);
    role.is_empty() || adjective || role == trace::DOWN || role.starts_with("in ")
}

/// Whether the role is but the word for what a process that follows another does: then the verb
/// says it, and the role need not be said.
fn says_follower(lifeline: &Lifeline) -> bool {
    lifeline.role == "follower"
}

/// What a process is, with its verb: "follows P3", "is waiting".
pub(super) fn is(id: u8, lifeline: &Lifeline) -> String {
    belief(id, lifeline, false)
}

/// Like [`is`], of several processes if `many`.
pub(super) fn belief(id: u8, lifeline: &Lifeline, many: bool) -> String {
    let paused = if lifeline.paused { " (paused)" } else { "" };
    format!("{}{paused}", running(id, lifeline, many))
}

fn running(id: u8, lifeline: &Lifeline, many: bool) -> String {
    let (be, s) = if many { ("are", "") } else { ("is", "s") };
    if !lifeline.up {
        return format!("{be} down");
    }
    if leads(id, lifeline) {
        return if many { "lead at the same time" } else { "leads" }.to_owned();
    }
    let what = if many && !stands_alone(&lifeline.role) {
        format!("{}s", clean(&lifeline.role))
    } else {
        role(&lifeline.role)
    };
    match other_leader(id, lifeline) {
        Some(leader) if says_follower(lifeline) => format!("follow{s} P{leader}"),
        Some(leader) => format!("{be} {what} with P{leader} as the leader"),
        None if says_follower(lifeline) => format!("{be} {what} without a leader"),
        None => format!("{be} {what}"),
    }
}

/// What a process becomes, with its verb, if its role or leader changed.
pub(super) fn becomes(id: u8, before: Option<&Lifeline>, after: &Lifeline) -> Option<String> {
    let what = |l: &Lifeline| (l.up, l.role.clone(), l.leader);
    if before.map(what) == Some(what(after)) {
        return None;
    }
    if !after.up {
        return Some("goes down".to_owned());
    }
    if leads(id, after) {
        return match before.filter(|before| leads(id, before)) {
            Some(before) if before.role == after.role => None,
            Some(_) if stands_alone(&after.role) => Some(format!("is now {}", role(&after.role))),
            _ => Some("becomes the leader".to_owned()),
        };
    }
    let same_role = before.is_some_and(|b| b.up && b.role == after.role);
    let participle = stands_alone(&after.role);
    let role = format!("{} {}", if participle { "is now" } else { "becomes" }, role(&after.role));
    Some(match (other_leader(id, after), same_role) {
        (Some(leader), _) if says_follower(after) => format!("now follows P{leader}"),
        (Some(leader), true) => format!("now takes P{leader} for the leader"),
        (Some(leader), false) => format!("{role} with P{leader} as the leader"),
        (None, true) => "no longer has a leader".to_owned(),
        (None, false) => role,
    })
}

/// What happens to a process, as it stands beside its lifeline; nothing of what happens to messages,
/// links and all clocks.
pub(crate) fn happens(event: &Event) -> Option<String> {
    Some(match event {
        Event::Crash => "crashes".to_owned(),
        Event::Recover => "recovers".to_owned(),
        Event::Pause => "is paused".to_owned(),
        Event::Resume => "goes on".to_owned(),
        Event::Jump { by } => format!("clock {}", jumps(*by)),
        Event::Expire { timer, .. } => format!("{} expires", clean(&plain_value(timer))),
        Event::Choose { outcome } => format!("chooses {}", clean(&plain_value(outcome))),
        Event::Deliver(_)
        | Event::Lose(_)
        | Event::Duplicate(_)
        | Event::Cut { .. }
        | Event::Heal { .. }
        | Event::Tick => return None,
    })
}

/// So many ticks in a sentence, without its full stop.
pub(super) fn ticks(count: usize) -> String {
    const NUMBERS: [&str; 12] = [
        "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Eleven",
        "Twelve",
    ];
    match (count, count.checked_sub(1).and_then(|at| NUMBERS.get(at))) {
        (1, _) => "A tick passes".to_owned(),
        (_, Some(number)) => format!("{number} ticks pass"),
        (_, None) => format!("{count} ticks pass"),
    }
}

/// Text that begins a sentence.
pub(super) fn sentence(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// "P1", "P1 and P2", "P1, P2 and P3".
pub(super) fn list(items: &[impl Display]) -> String {
    let mut out = String::new();
    for (at, item) in items.iter().enumerate() {
        out.push_str(match at {
            0 => "",
            _ if at + 1 == items.len() => " and ",
            _ => ", ",
        });
        out.push_str(&item.to_string());
    }
    out
}

/// So many ids in a row are told as a range.
const LONG: usize = 8;

/// Clauses that may themselves be lists: "a", "a and b", "a, b, and c".
pub(super) fn clauses(items: &[String]) -> String {
    match items {
        [first @ .., last] if first.len() > 1 => format!("{}, and {last}", first.join(", ")),
        few => list(few),
    }
}

/// Text without control characters: a trace is a file, and may come from anywhere.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    let bad = |c: char| c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}');
    if text.contains(bad) { Cow::Owned(text.replace(bad, "\u{FFFD}")) } else { Cow::Borrowed(text) }
}

/// Breaks text into lines of at most `width` characters, at spaces where it can.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    wrap_hanging(text, width, 0)
}

/// Like [`wrap`], with lines after the first that are shorter by `indent`.
pub(super) fn wrap_hanging(text: &str, width: usize, indent: usize) -> Vec<String> {
    let mut width = width.max(1);
    let rest = width.saturating_sub(indent).max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let mut word: Vec<char> = word.chars().collect();
        if used > 0 && used + 1 + word.len() > width {
            lines.push(std::mem::take(&mut line));
            (used, width) = (0, rest);
        } else if used > 0 {
            line.push(' ');
            used += 1;
        }
        while word.len() > width {
            lines.push(word.drain(..width).collect());
            width = rest;
        }
        used += word.len();
        line.extend(word);
    }
    if used > 0 || lines.is_empty() {
        lines.push(line);
    }
    lines
}
