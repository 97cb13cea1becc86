//! What stands beside a lifeline: what a process did and became in a step.

use super::canvas::Paint;
use crate::report::layout::{Arrow, Change, End, Layout, Row};
use crate::report::words;
use bellwether_engine::trace::{Event, plain_value};
use bellwether_engine::words::jumps;

/// A piece of text at the right of a lifeline.
pub(super) struct Note {
    pub(super) column: usize,
    pub(super) text: String,
    pub(super) paint: Paint,
}

/// The notes of a step, those of one lifeline from top to bottom.
pub(super) fn of(layout: &Layout<'_>, row: &Row<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    happened(layout, row, &mut notes);
    for change in &row.changes {
        became(layout, row, change, &mut notes);
    }
    sent(layout, row, &mut notes);
    notes
}

/// What the picture alone does not say of the event.
fn happened(layout: &Layout<'_>, row: &Row<'_>, notes: &mut Vec<Note>) {
    let own = row.step.node.map_or(0, |id| layout.column(id.number()));
    let mut note = |column, text: &str, paint| {
        notes.push(Note { column, text: text.to_owned(), paint });
    };
    match &row.step.event {
        Event::Crash => note(own, "crashes", Paint::Bad),
        Event::Recover => note(own, "recovers", Paint::Bold),
        Event::Pause => note(own, "is paused", Paint::Bad),
        Event::Resume => note(own, "goes on", Paint::Bold),
        Event::Jump { by } => note(own, &format!("clock {}", jumps(*by)), Paint::Bad),
        Event::Expire { timer, early } => {
            let timer = plain_value(timer);
            note(own, &format!("{} expires", words::clean(&timer)), Paint::Timer);
            if *early {
                note(own, "too early: a false suspicion", Paint::Bad);
            }
        }
        Event::Choose { outcome } => {
            let outcome = plain_value(outcome);
            note(own, &format!("chooses {}", words::clean(&outcome)), Paint::Timer);
        }
        Event::Deliver(_) | Event::Lose(_) | Event::Duplicate(_) => {
            if let Some(arrow) = row.arrow.map(|at| &layout.arrows[at]) {
                about(layout.column(arrow.to()), arrow, &mut note);
            }
        }
        Event::Cut { link: [a, b], .. } => {
            let column = layout.column(a.min(b).number());
            for &lost in &row.cut_off {
                note(column, &format!("✗ {}", flying(&layout.arrows[lost])), Paint::Bad);
            }
        }
        Event::Heal { .. } | Event::Tick => {}
    }
}

fn about(column: usize, arrow: &Arrow<'_>, note: &mut impl FnMut(usize, &str, Paint)) {
    match arrow.end {
        End::Down(_) => note(column, "down: lost", Paint::Bad),
        End::Lost(_) => note(column, "lost", Paint::Bad),
        _ => {}
    }
    if let Some(why) = &arrow.stale {
        note(column, &format!("stale: {why}"), Paint::Stale);
    }
}

fn became(layout: &Layout<'_>, row: &Row<'_>, change: &Change<'_>, notes: &mut Vec<Note>) {
    let column = layout.column(change.id);
    if change.visible() && row.step.event != Event::Crash {
        let text = format!("[{}]", words::status(change.id, change.after));
        notes.push(Note { column, text, paint: Paint::of(words::tone(change.id, change.after)) });
    }
    let armed: Vec<_> = change.armed().map(words::clean).collect();
    if !armed.is_empty() {
        notes.push(Note { column, text: format!("◷ {}", armed.join(", ")), paint: Paint::Timer });
    }
}

fn sent(layout: &Layout<'_>, row: &Row<'_>, notes: &mut Vec<Note>) {
    let mut groups: Vec<(&Arrow<'_>, String)> = Vec::new();
    for arrow in row.sends.iter().map(|&at| &layout.arrows[at]) {
        let to = match arrow.end {
            End::Barred | End::Merged => format!(" →{}", arrow.to()),
            _ => format!(" m{}→{}", arrow.flight.id, arrow.to()),
        };
        let alike = |known: &Arrow<'_>| {
            let kind = |end: End| (end == End::Barred, end == End::Merged);
            known.from() == arrow.from()
                && known.label == arrow.label
                && kind(known.end) == kind(arrow.end)
        };
        match groups.iter_mut().find(|(known, _)| alike(known)) {
            Some((_, all)) => all.push_str(&to),
            None => groups.push((arrow, to)),
        }
    }
    for (arrow, to) in groups {
        let (text, paint) = match arrow.end {
            End::Barred => (format!("✗ {}{to} link is cut", arrow.label), Paint::Bad),
            End::Merged => {
                let known = arrow.flight.id;
                (format!("▸ {}{to} merged with m{known}", arrow.label), Paint::Faint)
            }
            _ => (format!("▸ {}{to}", arrow.label), Paint::Message),
        };
        notes.push(Note { column: layout.column(arrow.from()), text, paint });
    }
}

/// A message on its way.
pub(super) fn flying(arrow: &Arrow<'_>) -> String {
    format!("m{} {} {}→{}", arrow.flight.id, arrow.label, arrow.from(), arrow.to())
}
