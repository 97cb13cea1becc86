//! What stands beside the lifelines in each step.

use super::geometry::{self, Geometry, LINE};
use super::pen::{Align, Area, Pen, Point, Text};
use crate::report::layout::{End, Layout, Note, NoteKind, Part, Row};
use crate::report::words::Ink;
use bellwether_engine::trace::{Event, Fate};
use std::collections::BTreeMap;

/// From a lifeline to what stands beside it.
const GAP: i32 = 11;

fn width(note: &Note) -> i32 {
    match note.kind {
        NoteKind::Event | NoteKind::Arrow => geometry::text_width(&note.text),
        NoteKind::Status => geometry::pill_width(&note.text),
        NoteKind::Armed => geometry::text_width(&note.text) + 17,
        NoteKind::Sent => geometry::text_width(&note.text) + 26,
    }
}

/// The notes of one step, by the place of the lifeline whose they are.
type Notes = BTreeMap<usize, Vec<Note>>;

/// The room that a step takes: from its tip down to the point where its messages leave, and how
/// far its words reach to the right, as the place of a lifeline and the distance from it.
pub(super) fn size(layout: &Layout<'_>, row: &Row<'_>, spacing: i32) -> (i32, Vec<(usize, i32)>) {
    let mut lowest = 0;
    let mut reach = Vec::new();
    for (column, notes) in notes(layout, row) {
        place(layout, row, spacing, column, &notes, |note, (x, y)| {
            lowest = lowest.max(y + 10);
            reach.push((column, x + width(note)));
        });
    }
    if let Some(arrow) = row.arrow.map(|at| &layout.arrows[at]) {
        // The words of an arrow from the right, and of what may have become of it.
        let words = geometry::text_width(&arrow.label) + 90;
        reach.push((layout.column(arrow.to()), if arrow.from() < arrow.to() { 0 } else { words }));
    }
    let under = if row.arrow.is_some() { LINE } else { 12 };
    let lost = i32::try_from(row.cut_off.len()).unwrap_or(0).min(100) * LINE;
    (lowest.max(under + lost), reach)
}

/// Calls `at` with the place of each note, relative to where the arrow's tip meets the lifeline.
fn place(
    layout: &Layout<'_>,
    row: &Row<'_>,
    spacing: i32,
    column: usize,
    notes: &[Note],
    mut at: impl FnMut(&Note, Point),
) {
    let (mut x, mut y) = (GAP, if right_is_taken(layout, row, column) { LINE + 10 } else { 0 });
    for note in notes {
        let fits = x == GAP || x + width(note) < spacing - 6;
        if !fits {
            (x, y) = (GAP, y + LINE + 1);
        }
        at(note, (x, y));
        x += width(note) + 8;
    }
}

/// Whether the words of an arrow stand at the right of this lifeline.
fn right_is_taken(layout: &Layout<'_>, row: &Row<'_>, column: usize) -> bool {
    let arrow = row.arrow.map(|at| &layout.arrows[at]);
    let arrow = arrow.is_some_and(|a| {
        let (from, to) = (layout.column(a.from()), layout.column(a.to()));
        to == column && from >= to
    });
    arrow || matches!(row.step.event, Event::Cut { .. } | Event::Heal { .. })
}

/// The notes of the layout, but for what arrows say, and the messages that do not become arrows.
fn notes(layout: &Layout<'_>, row: &Row<'_>) -> Notes {
    let mut notes = Notes::new();
    for note in layout.notes(row).into_iter().filter(|note| note.kind != NoteKind::Arrow) {
        notes.entry(note.column).or_default().push(note);
    }
    for (fate, words, ink) in [
        (None, " in flight", Ink::Message),
        (Some(Fate::Cut), ": link is cut", Ink::Bad),
        (Some(Fate::Merged), " merged with one in flight", Ink::Faint),
    ] {
        for mut group in layout.sent(row, fate) {
            let column = layout.column(group[0].from());
            group.retain(|arrow| !leaves(arrow.end));
            let Some(first) = group.first() else { continue };
            let text = format!("{} → {}{words}", first.label, layout.receivers(&group));
            let note = Note { column, kind: NoteKind::Sent, text, ink };
            notes.entry(column).or_default().push(note);
        }
    }
    notes
}

/// Draws what stands beside the lifelines, the step numbers and the folds.
pub(super) fn draw(layout: &Layout<'_>, geometry: &Geometry, pen: &mut Pen) {
    for part in &layout.parts {
        match part {
            Part::Step(at) => step(layout, geometry, pen, *at),
            ticks @ Part::Ticks { steps, now } => {
                let y = geometry.slot(steps.start).tip;
                number(pen, y, steps.end);
                pen.line("bw-tick", ((44, y), (geometry.width - 16, y)), Ink::Timer, "1 4");
                let text =
                    Text { x: geometry.width - 16, y: y - 4, align: Align::End, ink: Ink::Timer };
                pen.text(text, "bw-timer", &format!("{}, {now} in all", ticks.words()));
            }
            Part::Again { steps, .. } => {
                let y = geometry.slot(steps.start).tip;
                let band = Area { x: 0, y: y - 11, width: geometry.width, height: 22 };
                pen.rect("bw-fold", band, "#f3f4f6", 0);
                let text = Text { x: 16, y: y + 4, align: Align::Start, ink: Ink::Faint };
                pen.text(text, "bw-caption", &format!("… {} …", part.words()));
            }
        }
    }
}

fn step(layout: &Layout<'_>, geometry: &Geometry, pen: &mut Pen, at: usize) {
    let (row, slot) = (&layout.rows[at], geometry.slot(at));
    number(pen, slot.tip, at + 1);
    mark(layout, geometry, pen, at);
    for (column, notes) in notes(layout, row) {
        let left = geometry.x(column);
        place(layout, row, geometry.spacing, column, &notes, |note, (x, y)| {
            write(pen, note, (left + x, slot.tip + y));
        });
    }
}

fn number(pen: &mut Pen, y: i32, number: usize) {
    let at = Text { x: 40, y: y + 4, align: Align::End, ink: Ink::Faint };
    pen.text(at, "bw-step", &number.to_string());
}

fn write(pen: &mut Pen, note: &Note, (x, y): Point) {
    let Note { kind, text: words, ink, .. } = note;
    let text = |x| Text { x, y: y + 4, align: Align::Start, ink: *ink };
    match kind {
        NoteKind::Event | NoteKind::Arrow => pen.text(text(x), "bw-event", words),
        NoteKind::Status => pen.pill((x, y), geometry::pill_width(words), *ink, words),
        NoteKind::Armed => {
            pen.clock((x + 6, y), *ink, false);
            pen.text(text(x + 16), "bw-timer", words);
        }
        NoteKind::Sent => {
            pen.line("bw-stub", ((x - GAP, y), (x + 14, y)), *ink, "3 3");
            match ink {
                Ink::Bad => pen.cross((x + 16, y), 4, *ink),
                _ => pen.dot((x + 16, y), *ink, false),
            }
            pen.text(text(x + 25), "bw-flying", words);
        }
    }
}

/// The sign on the lifeline: what happened to the process, or that it took a step.
fn mark(layout: &Layout<'_>, geometry: &Geometry, pen: &mut Pen, at: usize) {
    let (row, slot) = (&layout.rows[at], geometry.slot(at));
    let Some(id) = row.step.node else { return };
    let x = geometry.x(layout.column(id.number()));
    if row.sends.iter().any(|&send| leaves(layout.arrows[send].end)) {
        let bar = Area { x: x - 3, y: slot.tip, width: 6, height: (slot.out - slot.tip).max(2) };
        pen.rect("bw-active", bar, "#90a4ae", 2);
    }
    match &row.step.event {
        Event::Crash => pen.cross((x, slot.tip), 7, Ink::Bad),
        Event::Recover | Event::Resume => pen.dot((x, slot.tip), Ink::Plain, true),
        Event::Pause => pen.dot((x, slot.tip), Ink::Bad, false),
        Event::Jump { .. } => pen.clock((x, slot.tip), Ink::Bad, true),
        Event::Choose { .. } => pen.dot((x, slot.tip), Ink::Timer, false),
        Event::Expire { early, .. } => {
            pen.clock((x, slot.tip), if *early { Ink::Bad } else { Ink::Timer }, true);
        }
        _ => {}
    }
}

/// Whether a message is drawn as an arrow that leaves its sender.
pub(super) fn leaves(end: End) -> bool {
    !matches!(end, End::InFlight | End::Barred | End::Merged)
}
