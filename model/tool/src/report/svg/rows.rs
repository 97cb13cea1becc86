//! What stands beside the lifelines in each step.

use super::geometry::{self, Geometry, LINE};
use super::pen::{Align, Area, Ink, Pen, Point, Text};
use crate::report::layout::{Change, End, Layout, Part, Row};
use crate::report::words::{self, Tone};
use bellwether_engine::protocol::Id;
use bellwether_engine::trace::{Event, plain_value};
use bellwether_engine::words::jumps;
use std::collections::BTreeMap;

/// From a lifeline to what stands beside it.
const GAP: i32 = 11;

/// Something that stands beside a lifeline.
enum Note {
    Words(String, Ink),
    Pill(String, Tone),
    Timer(String),
    /// Messages that do not become arrows.
    Stub(String, Ink),
}

impl Note {
    fn width(&self) -> i32 {
        match self {
            Note::Words(words, _) => geometry::text_width(words),
            Note::Pill(words, _) => geometry::pill_width(words),
            Note::Timer(words) => geometry::text_width(words) + 17,
            Note::Stub(words, _) => geometry::text_width(words) + 26,
        }
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
            reach.push((column, x + note.width()));
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
        let fits = x == GAP || x + note.width() < spacing - 6;
        if !fits {
            (x, y) = (GAP, y + LINE + 1);
        }
        at(note, (x, y));
        x += note.width() + 8;
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

fn notes(layout: &Layout<'_>, row: &Row<'_>) -> Notes {
    let mut notes = Notes::new();
    if let Some(id) = row.step.node {
        notes.entry(layout.column(id.number())).or_default().extend(happened(row));
    }
    for change in &row.changes {
        became(row, change, notes.entry(layout.column(change.id)).or_default());
    }
    for (end, words, ink) in [
        (End::InFlight, " in flight", Ink::Message),
        (End::Barred, ": link is cut", Ink::Bad),
        (End::Merged, " merged with one in flight", Ink::Faint),
    ] {
        for (label, to) in layout.grouped(&row.sends, |e| e == end) {
            let sender = row.step.node.map_or(0, |id: Id| layout.column(id.number()));
            let text = format!("{label} → {}{words}", words_list(&to));
            notes.entry(sender).or_default().push(Note::Stub(text, ink));
        }
    }
    notes
}

fn words_list(to: &[u8]) -> String {
    to.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn happened(row: &Row<'_>) -> Vec<Note> {
    match &row.step.event {
        Event::Crash => vec![Note::Words("crashes".to_owned(), Ink::Bad)],
        Event::Recover => vec![Note::Words("recovers".to_owned(), Ink::Plain)],
        Event::Pause => vec![Note::Words("is paused".to_owned(), Ink::Bad)],
        Event::Resume => vec![Note::Words("goes on".to_owned(), Ink::Plain)],
        Event::Jump { by } => vec![Note::Words(format!("clock {}", jumps(*by)), Ink::Bad)],
        Event::Expire { timer, early } => {
            let timer = plain_value(timer);
            let text = format!("{} timer expires", words::clean(&timer));
            let mut notes = vec![Note::Words(text, Ink::Timer)];
            if *early {
                notes.push(Note::Words("too early".to_owned(), Ink::Bad));
            }
            notes
        }
        Event::Choose { outcome } => {
            let outcome = plain_value(outcome);
            vec![Note::Words(format!("chooses {}", words::clean(&outcome)), Ink::Timer)]
        }
        Event::Deliver(_)
        | Event::Lose(_)
        | Event::Duplicate(_)
        | Event::Cut { .. }
        | Event::Heal { .. }
        | Event::Tick => Vec::new(),
    }
}

fn became(row: &Row<'_>, change: &Change<'_>, notes: &mut Vec<Note>) {
    if change.visible() && row.step.event != Event::Crash {
        let tone = words::tone(change.id, change.after);
        notes.push(Note::Pill(words::status(change.id, change.after), tone));
    }
    let armed: Vec<_> = change.armed().map(words::clean).collect();
    if !armed.is_empty() {
        notes.push(Note::Timer(armed.join(", ")));
    }
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
                pen.text(text, "bw-timer", &format!("{}: {now} in all", ticks.words()));
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
    let text = |x, ink| Text { x, y: y + 4, align: Align::Start, ink };
    match note {
        Note::Words(words, ink) => pen.text(text(x, *ink), "bw-event", words),
        Note::Pill(words, tone) => pen.pill((x, y), geometry::pill_width(words), *tone, words),
        Note::Timer(words) => {
            pen.clock((x + 6, y), Ink::Timer, false);
            pen.text(text(x + 16, Ink::Timer), "bw-timer", words);
        }
        Note::Stub(words, ink) => {
            pen.line("bw-stub", ((x - GAP, y), (x + 14, y)), *ink, "3 3");
            match ink {
                Ink::Bad => pen.cross((x + 16, y), 4, *ink),
                _ => pen.dot((x + 16, y), *ink, false),
            }
            pen.text(text(x + 25, *ink), "bw-flying", words);
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
