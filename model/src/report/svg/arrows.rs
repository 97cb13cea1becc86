//! Messages as slanted arrows, each from where it was sent to where it arrived or was lost.

use super::geometry::{self, Geometry, LINE};
use super::pen::{Align, Ink, Pen, Point, Text};
use super::rows;
use crate::protocol::Id;
use crate::report::layout::{Arrow, End, Layout, Origin};
use crate::trace::Event;

/// How far from a lifeline an arrow begins and ends.
const RIM: i32 = 4;

/// How far from its receiver's lifeline a lost message ends.
const SHORT: i32 = 22;

/// The widest label; what is longer is cut.
const LABEL: i32 = 260;

pub(super) fn draw(layout: &Layout<'_>, geometry: &Geometry, pen: &mut Pen) {
    for (at, row) in layout.rows.iter().enumerate() {
        if geometry.slot(at).folded {
            continue;
        }
        match &row.step.event {
            Event::Cut { link } => {
                self::link(layout, geometry, pen, at, *link, ("link cut", Ink::Bad));
            }
            Event::Heal { link } => {
                self::link(layout, geometry, pen, at, *link, ("link heals", Ink::Good));
            }
            Event::Duplicate(_) => {
                if let Some(arrow) = row.arrow.map(|at| &layout.arrows[at]) {
                    let to = tip(layout, geometry, arrow, at, SHORT);
                    pen.dot(to, Ink::Stale, false);
                    label(layout, pen, arrow, to, (" is doubled", Ink::Stale));
                }
            }
            _ => {}
        }
        for (nth, &lost) in row.cut_off.iter().enumerate() {
            cut_off(layout, geometry, pen, at, nth, &layout.arrows[lost]);
        }
    }
    for arrow in &layout.arrows {
        message(layout, geometry, pen, arrow);
    }
    beginning(layout, geometry, pen);
}

fn message(layout: &Layout<'_>, geometry: &Geometry, pen: &mut Pen, arrow: &Arrow<'_>) {
    let (row, short, suffix) = match arrow.end {
        End::Delivered(row) => (row, RIM, ""),
        End::Down(row) => (row, RIM, " at a dead process"),
        End::Lost(row) => (row, SHORT, " is lost"),
        End::CutOff(_) | End::Barred | End::Merged | End::InFlight => return,
    };
    let (slot, start) = (geometry.slot(row), start(layout, geometry, arrow, row));
    if slot.folded {
        if let Origin::Row(sent) = arrow.origin
            && !geometry.slot(sent).folded
        {
            let end = tip(layout, geometry, arrow, row, SHORT);
            pen.line("bw-msg-folded", (start, end), Ink::Message, "");
        }
        return;
    }
    let arrived = matches!(arrow.end, End::Delivered(_));
    let ink = match (arrived, &arrow.stale) {
        (false, _) => Ink::Bad,
        (true, Some(_)) => Ink::Stale,
        (true, None) => Ink::Message,
    };
    let end = tip(layout, geometry, arrow, row, short);
    let dashes = if arrow.stale.is_some() { "6 4" } else { "" };
    let class = if arrived { "bw-msg bw-delivered" } else { "bw-msg" };
    pen.line(class, (start, end), ink, dashes);
    if arrived {
        pen.head(start, end, ink)
    } else {
        pen.cross(end, 5, ink)
    }
    let short_suffix = match arrow.end {
        End::Down(_) => format!(": {} is down", arrow.to()),
        _ => suffix.to_owned(),
    };
    label(layout, pen, arrow, end, (&short_suffix, ink));
}

/// Where an arrow begins.
fn start(layout: &Layout<'_>, geometry: &Geometry, arrow: &Arrow<'_>, row: usize) -> Point {
    let (from, to) = (layout.column(arrow.from()), layout.column(arrow.to()));
    let x = geometry.x(from) + if from <= to { RIM } else { -RIM };
    let y = match arrow.origin {
        Origin::Row(sent) => geometry.slot(sent).out,
        Origin::Beginning => geometry.start + 24,
        Origin::Unknown => geometry.slot(row).top,
    };
    (x, y)
}

/// Where it ends: at its receiver's lifeline, on the side from which it comes.
fn tip(
    layout: &Layout<'_>,
    geometry: &Geometry,
    arrow: &Arrow<'_>,
    row: usize,
    short: i32,
) -> Point {
    let (from, to) = (layout.column(arrow.from()), layout.column(arrow.to()));
    let x = geometry.x(to) + if from < to { -short } else { short };
    (x, geometry.slot(row).tip)
}

/// The words of an arrow, beneath its tip: the arrow comes from above.
fn label(
    layout: &Layout<'_>,
    pen: &mut Pen,
    arrow: &Arrow<'_>,
    (x, y): Point,
    (suffix, ink): (&str, Ink),
) {
    let rightwards = layout.column(arrow.from()) < layout.column(arrow.to());
    let (x, align) = if rightwards { (x - 6, Align::End) } else { (x + 6, Align::Start) };
    let words = format!("{}{suffix}", geometry::shortened(&arrow.label, LABEL));
    pen.text(Text { x, y: y + 14, align, ink }, "bw-label", &words);
}

/// A link that is cut or heals.
fn link(
    layout: &Layout<'_>,
    geometry: &Geometry,
    pen: &mut Pen,
    at: usize,
    ends: [Id; 2],
    (words, ink): (&str, Ink),
) {
    let [a, b] = ends.map(|id| layout.column(id.number()));
    let (left, right) = (geometry.x(a.min(b)), geometry.x(a.max(b)));
    let y = geometry.slot(at).tip;
    let dashes = if ink == Ink::Bad { "3 5" } else { "" };
    pen.line("bw-link", ((left, y), (right, y)), ink, dashes);
    for x in [left, right] {
        if ink == Ink::Bad { pen.cross((x, y), 5, ink) } else { pen.dot((x, y), ink, true) }
    }
    let [a, b] = ends;
    let text = Text { x: left + 10, y: y + 14, align: Align::Start, ink };
    pen.text(text, "bw-event", &format!("{words} {a}–{b}"));
}

/// A message that was on a link when it was cut ends in the middle of it.
fn cut_off(
    layout: &Layout<'_>,
    geometry: &Geometry,
    pen: &mut Pen,
    at: usize,
    nth: usize,
    arrow: &Arrow<'_>,
) {
    let start = start(layout, geometry, arrow, at);
    let (from, to) = (layout.column(arrow.from()), layout.column(arrow.to()));
    let nth = i32::try_from(nth).unwrap_or(0).min(100);
    let (from, to) = (geometry.x(from), geometry.x(to));
    let end = ((from + to) / 2 + nth % 4 * 14, geometry.slot(at).tip);
    pen.line("bw-msg", (start, end), Ink::Bad, "");
    pen.cross(end, 5, Ink::Bad);
    let text = Text {
        x: from.min(to) + 10,
        y: end.1 + 14 + (nth + 1) * LINE,
        align: Align::Start,
        ink: Ink::Bad,
    };
    let words = format!("{} {}→{} is lost", arrow.label, arrow.from(), arrow.to());
    pen.text(text, "bw-label", &words);
}

/// What was in flight at the beginning and still is.
fn beginning(layout: &Layout<'_>, geometry: &Geometry, pen: &mut Pen) {
    let waiting = layout.arrows.iter().filter(|a| a.origin == Origin::Beginning);
    for arrow in waiting.filter(|a| !rows::leaves(a.end)) {
        let x = geometry.x(layout.column(arrow.from()));
        let side = if arrow.from() <= arrow.to() { 1 } else { -1 };
        let (start, end) = ((x, geometry.start + 24), (x + 24 * side, geometry.start + 30));
        pen.line("bw-stub", (start, end), Ink::Message, "3 3");
        pen.dot(end, Ink::Message, false);
    }
}
