//! An execution as a stand-alone SVG sequence diagram: a lifeline for each process, time
//! downwards, slanted arrows from where a message is sent to where it arrives.
//!
//! The picture can also be put into a page as it is: it has no prolog, no script, no style sheet
//! and no ids, brings its own background, and every class begins with `bw-`.

mod arrows;
mod geometry;
mod pen;
mod rows;

use super::layout::{self, Ending, Layout};
use super::words::{self, Ink};
use bellwether_engine::trace::{Lifeline, Trace};
use geometry::Geometry;
use pen::{Align, Area, Pen, Text};
use std::collections::BTreeMap;

/// Returns the picture of `trace`.
#[must_use]
pub fn draw(trace: &Trace) -> String {
    draw_with_rows(trace).0
}

/// Returns the picture of `trace`, and for each step the top and the bottom of its place in it.
#[must_use]
pub fn draw_with_rows(trace: &Trace) -> (String, Vec<(i32, i32)>) {
    let (drawn, left_out) = layout::drawn(trace);
    let layout = Layout::of(&drawn);
    let caption = Caption::of(&layout, left_out.as_deref());
    let geometry = Geometry::of(&layout, caption.lines.len());
    let mut pen = Pen::new(trace.steps.len());
    pen.begin(geometry.width, geometry.height, &caption.title, &caption.description);
    caption.draw(&mut pen);
    band(&layout, &geometry, &mut pen);
    lifelines(&layout, &geometry, &mut pen);
    arrows::draw(&layout, &geometry, &mut pen);
    rows::draw(&layout, &geometry, &mut pen);
    cycle(&layout, &geometry, &mut pen);
    heads(&layout, &geometry, &mut pen);
    let rows = (0..layout.rows.len()).map(|at| geometry.slot(at)).map(|slot| (slot.top, slot.out));
    (pen.end(), rows.collect())
}

/// What is shown, and under which assumptions.
struct Caption {
    title: String,
    description: String,
    /// The lines, and whether each is the property's.
    lines: Vec<(String, Ink)>,
}

impl Caption {
    fn of(layout: &Layout<'_>, left_out: Option<&str>) -> Caption {
        let columns = geometry::columns_of_text(layout);
        let caption = layout.caption();
        let mut lines = Vec::new();
        let mut add = |text: &str, ink| {
            lines.extend(words::wrap(text, columns).into_iter().map(|line| (line, ink)));
        };
        caption.iter().for_each(|(line, ink)| add(line, *ink));
        let title = match layout.trace.header.shows {
            Some(_) => format!("{} by {}", caption[0].0, layout.protocol()),
            None => layout.protocol(),
        };
        add("Filled clock: a timer expires. Empty clock: it is armed.", Ink::Faint);
        if layout.arrows.iter().any(|a| a.stale.is_some()) {
            let why = "its sender has crashed or changed its role since.";
            add(&format!("Dashed: a message that was stale when it arrived; {why}"), Ink::Faint);
        }
        if let Some(left_out) = left_out {
            add(left_out, Ink::Faint);
        }
        let steps = layout.rows.len();
        let description =
            format!("Sequence diagram of {} processes and {steps} steps.", layout.ids.len());
        Caption { title, description, lines }
    }

    fn draw(&self, pen: &mut Pen) {
        // Nothing hangs on how wide the viewer's font is: there is room to spare.
        for (at, (line, ink)) in (0..).zip(&self.lines) {
            let text = Text { x: 16, y: 24 + at * geometry::LINE, align: Align::Start, ink: *ink };
            pen.text(text, if at == 0 { "bw-title" } else { "bw-caption" }, line);
        }
    }
}

/// The coloured band behind the last state.
fn band(layout: &Layout<'_>, geometry: &Geometry, pen: &mut Pen) {
    let (words, ink) = layout.ending.words();
    let fill = match ink {
        Ink::Bad => "#fde2e1",
        Ink::Good => "#dcf5e3",
        _ => "#f3f4f6",
    };
    let top = geometry.end;
    let area = Area { x: 0, y: top, width: geometry.width, height: geometry::BAND };
    pen.rect("bw-end", area, fill, 0);
    let text = Text { x: 16, y: top + 46, align: Align::Start, ink };
    pen.text(text, "bw-verdict", words);
}

/// Solid while a process is up, dashed while it is paused, dotted while it is down.
fn lifelines(layout: &Layout<'_>, geometry: &Geometry, pen: &mut Pen) {
    let alive = |lifeline: &Lifeline| match (lifeline.up, lifeline.paused) {
        (true, false) => Alive::Up,
        (true, true) => Alive::Paused,
        (false, _) => Alive::Down,
    };
    let first = |id: &u8| layout.trace.header.initial.get(id).map_or(Alive::Down, alive);
    let mut since: BTreeMap<u8, (i32, Alive)> =
        layout.ids.iter().map(|id| (*id, (geometry.start, first(id)))).collect();
    let stroke = |pen: &mut Pen, id: u8, from: i32, to: i32, alive: Alive| {
        let x = geometry.x(layout.column(id));
        let (class, ink, dashes) = match alive {
            Alive::Up => ("bw-up", Ink::Line, ""),
            Alive::Paused => ("bw-paused", Ink::Dead, "7 5"),
            Alive::Down => ("bw-down", Ink::Dead, "2 4"),
        };
        pen.line(class, ((x, from), (x, to)), ink, dashes);
    };
    for (at, row) in layout.rows.iter().enumerate() {
        for change in &row.changes {
            let Some((from, before)) = since.get_mut(&change.id) else { continue };
            if *before != alive(change.after) {
                let y = geometry.slot(at).tip;
                stroke(pen, change.id, *from, y, *before);
                (*from, *before) = (y, alive(change.after));
            }
        }
    }
    for (id, (from, alive)) in since {
        stroke(pen, id, from, geometry.end + 16, alive);
    }
}

/// How a lifeline is drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alive {
    Up,
    Paused,
    Down,
}

/// The processes at the top, and what each is at the beginning and at the end.
fn heads(layout: &Layout<'_>, geometry: &Geometry, pen: &mut Pen) {
    for (column, id) in layout.ids.iter().enumerate() {
        let x = geometry.x(column);
        let name = layout.names.head(*id);
        let width = (geometry::text_width(&name) + 16).max(32);
        let area = Area { x: x - width / 2, y: geometry.head, width, height: 22 };
        pen.rect("bw-head", area, "#263238", 4);
        let at = Text { x, y: geometry.head + 16, align: Align::Middle, ink: Ink::Light };
        pen.text(at, "bw-id", &name);
        let mut pill = |lifeline: &Lifeline, y| {
            let (status, tone) = (words::status(*id, lifeline), words::tone(*id, lifeline));
            let status = geometry::shortened(&status, (geometry.spacing - 34).min(136));
            let width = geometry::pill_width(&status);
            pen.pill((x - width / 2, y), width, tone, &status);
        };
        if let Some(lifeline) = layout.trace.header.initial.get(id) {
            pill(lifeline, geometry.head + 36);
        }
        if let Some(lifeline) = layout.last.get(id) {
            pill(lifeline, geometry.end + 18);
        }
    }
}

/// The bracket at the left of what repeats for ever.
fn cycle(layout: &Layout<'_>, geometry: &Geometry, pen: &mut Pen) {
    let Ending::Repeats(after) = layout.ending else { return };
    let top = geometry.slot(after).top - geometry::LINE + 6;
    let bottom = geometry.end - 4;
    for line in [((8, top), (8, bottom)), ((8, top), (16, top)), ((8, bottom), (16, bottom))] {
        pen.line("bw-cycle", line, Ink::Cycle, "");
    }
    let words = Text { x: 20, y: top + 4, align: Align::Start, ink: Ink::Cycle };
    pen.text(words, "bw-note", "repeats for ever");
}
