//! The words in which story, diagram and picture speak of processes.

use bellwether_engine::protocol::Belief;
use bellwether_engine::trace::{self, Lifeline};
use std::borrow::Cow;
use std::fmt::Display;

/// How a process is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    /// It leads.
    Leader,
    /// It follows another process.
    Follower,
    /// Anything between.
    Other,
    /// It is down.
    Down,
}

pub(super) fn tone(id: u8, lifeline: &Lifeline) -> Tone {
    match lifeline.belief(id) {
        _ if !lifeline.up => Tone::Down,
        Belief::Leads => Tone::Leader,
        Belief::Follows(_) => Tone::Follower,
        Belief::Undecided => Tone::Other,
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
        Some(leader) => format!("{role} of {leader}"),
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

/// What a process is, with its verb: "follows 3", "is waiting".
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
        Some(leader) if says_follower(lifeline) => format!("follow{s} {leader}"),
        Some(leader) => format!("{be} {what} with {leader} as the leader"),
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
        (Some(leader), _) if says_follower(after) => format!("now follows {leader}"),
        (Some(leader), true) => format!("now takes {leader} for the leader"),
        (Some(leader), false) => format!("{role} with {leader} as the leader"),
        (None, true) => "no longer has a leader".to_owned(),
        (None, false) => role,
    })
}

/// "1", "1 and 2", "1, 2 and 3".
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

/// Ids in ascending order, as [`list`] tells them; many in a row are a range: "1–98 and 100".
pub(super) fn ids(ids: &[u8]) -> String {
    let rows = ids.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    let told = rows.flat_map(|row| match row {
        [first, .., last] if row.len() >= LONG => vec![format!("{first}–{last}")],
        few => few.iter().map(ToString::to_string).collect(),
    });
    list(&told.collect::<Vec<_>>())
}

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
