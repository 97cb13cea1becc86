//! Messages as slanted arrows, each from where it was sent to where it arrived or was lost.

use super::geometry::{self, Geometry, LINE};
use super::pen::{Align, Pen, Point, Text};
use super::rows;
use crate::report::layout::{Arrow, End, Layout, Origin, Row};
use crate::report::words::Ink;
use bellwether_engine::protocol::Id;
use bellwether_engine::trace::Event;

/// How far from a lifeline an arrow begins and ends.
const RIM: i32 = 4;

/// How far from its receiver's lifeline a lost message ends.
const SHORT: i32 = 22;

/// The widest label; what is longer is cut.
const LABEL: i32 = 260;

/// Every stroke first, then the words: a line never crosses a label.
pub(super) fn draw(layout: &Layout<'_>, geometry: &Geometry, pen: &mut Pen) {
    let visible = || {
        let rows = layout.rows.iter().enumerate();
        rows.filter(|(at, _)| !geometry.slot(*at).folded)
    };
    for (at, row) in visible() {
        if let Event::Cut { link: ends, .. } | Event::Heal { link: ends, .. } = &row.step.event {
            link(layout, geometry, pen, at, *ends, matches!(row.step.event, Event::Cut { .. }));
        }
        for (nth, &lost) in row.cut_off.iter().enumerate() {
            let arrow = &layout.arrows[lost];
            let (start, end) = cut_off(layout, geometry, at, nth, arrow);
            pen.line("bw-msg", (start, end), Ink::Bad, "");
            pen.cross(end, 5, Ink::Bad);
        }
    }
    for arrow in &layout.arrows {
        message(layout, geometry, pen, arrow);
    }
    beginning(layout, geometry, pen);
    for (at, row) in visible() {
        labels(layout, geometry, pen, at, row);
    }
}

/// Where a message ends, and in which colour.
fn fate(arrow: &Arrow<'_>) -> Option<(usize, i32, Ink)> {
    match (arrow.end, &arrow.stale) {
        (End::Delivered(row), None) => Some((row, RIM, Ink::Message)),
        (End::Delivered(row), Some(_)) => Some((row, RIM, Ink::Stale)),
        (End::Down(row), _) => Some((row, RIM, Ink::Bad)),
        (End::Lost(row), _) => Some((row, SHORT, Ink::Bad)),
        (End::CutOff(_) | End::Barred | End::Merged | End::InFlight, _) => None,
    }
}

fn message(layout: &Layout<'_>, geometry: &Geometry, pen: &mut Pen, arrow: &Arrow<'_>) {
    let Some((row, short, ink)) = fate(arrow) else { return };
    let start = start(layout, geometry, arrow, row);
    if geometry.slot(row).folded {
        // What was sent before a fold and arrives in it leads into it.
        let sent = matches!(arrow.origin, Origin::Row(sent) if !geometry.slot(sent).folded);
        if sent {
            let end = tip(layout, geometry, arrow, row, SHORT);
            pen.line("bw-msg-folded", (start, end), ink, "");
        }
        return;
    }
    let end = tip(layout, geometry, arrow, row, short);
    let dashes = if arrow.stale.is_some() { "6 4" } else { "" };
    let arrived = matches!(arrow.end, End::Delivered(_));
    let class = if arrived { "bw-msg bw-delivered" } else { "bw-msg" };
    pen.line(class, (start, end), ink, dashes);
    if arrived { pen.head(start, end, ink) } else { pen.cross(end, 5, ink) }
}

/// The words of what happened between processes in this row.
fn labels(layout: &Layout<'_>, geometry: &Geometry, pen: &mut Pen, at: usize, row: &Row<'_>) {
    match (&row.step.event, row.arrow.map(|at| &layout.arrows[at])) {
        (Event::Duplicate(_), Some(arrow)) => {
            let (x, y) = on_its_way(layout, geometry, arrow, at);
            pen.dot((x, y), Ink::Cycle, false);
            let text = Text { x: x + 8, y: y + 4, align: Align::Start, ink: Ink::Cycle };
            pen.text(text, "bw-label", "is doubled");
        }
        (_, Some(arrow)) => label(layout, geometry, pen, arrow),
        (Event::Cut { link, one_way }, None) => {
            let words = format!("link cut {}", ends(layout, *link, *one_way));
            beneath(layout, geometry, pen, at, *link, &words, Ink::Bad);
        }
        (Event::Heal { link, one_way }, None) => {
            let words = format!("link heals {}", ends(layout, *link, *one_way));
            beneath(layout, geometry, pen, at, *link, &words, Ink::Good);
        }
        (_, None) => {}
    }
    for (nth, &lost) in row.cut_off.iter().enumerate() {
        let arrow = &layout.arrows[lost];
        let (_, (x, y)) = cut_off(layout, geometry, at, nth, arrow);
        let y = y + 14 + to_i32(nth) * LINE;
        let text = Text { x: x + 8, y, align: Align::Start, ink: Ink::Bad };
        pen.text(text, "bw-label", &format!("{} is lost", arrow.label));
    }
}

/// Where a message in flight is when this row happens.
fn on_its_way(layout: &Layout<'_>, geometry: &Geometry, arrow: &Arrow<'_>, at: usize) -> Point {
    let y = geometry.slot(at).tip;
    let row = fate(arrow).map_or(at, |(row, ..)| row);
    let (from, to) = (start(layout, geometry, arrow, row), tip(layout, geometry, arrow, row, RIM));
    if fate(arrow).is_none() || to.1 <= from.1 {
        return ((from.0 + to.0) / 2, y);
    }
    // Wide enough for any picture: coordinates have at most nine digits.
    let way = i64::from(to.0 - from.0) * i64::from(y - from.1) / i64::from(to.1 - from.1);
    (from.0 + i32::try_from(way).unwrap_or(0), y)
}

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
fn label(layout: &Layout<'_>, geometry: &Geometry, pen: &mut Pen, arrow: &Arrow<'_>) {
    let Some((row, short, ink)) = fate(arrow) else { return };
    let (x, y) = tip(layout, geometry, arrow, row, short);
    let rightwards = layout.column(arrow.from()) < layout.column(arrow.to());
    let (x, align) = if rightwards { (x - 6, Align::End) } else { (x + 6, Align::Start) };
    let mut words = geometry::shortened(&arrow.label, LABEL);
    match arrow.end {
        End::Down(_) => words.push_str(&format!(": {} is down", layout.names.head(arrow.to()))),
        End::Lost(_) => words.push_str(" is lost"),
        _ => {}
    }
    pen.text(Text { x, y: y + 14, align, ink }, "bw-label", &words);
}

/// Words beneath the line of a link.
fn beneath(
    layout: &Layout<'_>,
    geometry: &Geometry,
    pen: &mut Pen,
    at: usize,
    [a, b]: [Id; 2],
    words: &str,
    ink: Ink,
) {
    let x = geometry.x(layout.column(a.min(b).number())) + 10;
    let y = geometry.slot(at).tip + 14;
    pen.text(Text { x, y, align: Align::Start, ink }, "bw-event", words);
}

/// The ends of a link, or of one of its directions.
fn ends(layout: &Layout<'_>, link: [Id; 2], one_way: bool) -> String {
    link.map(|id| layout.names.head(id.number())).join(if one_way { "→" } else { "–" })
}

/// A link that is cut or heals.
fn link(
    layout: &Layout<'_>,
    geometry: &Geometry,
    pen: &mut Pen,
    at: usize,
    ends: [Id; 2],
    cut: bool,
) {
    let y = geometry.slot(at).tip;
    let [a, b] = ends.map(|id| (geometry.x(layout.column(id.number())), y));
    let (ink, dashes) = if cut { (Ink::Bad, "3 5") } else { (Ink::Good, "") };
    pen.line("bw-link", (a, b), ink, dashes);
    for end in [a, b] {
        if cut { pen.cross(end, 5, ink) } else { pen.dot(end, ink, true) }
    }
}

/// A message that was on a link when it was cut ends on it, next to its receiver.
fn cut_off(
    layout: &Layout<'_>,
    geometry: &Geometry,
    at: usize,
    nth: usize,
    arrow: &Arrow<'_>,
) -> (Point, Point) {
    let start = start(layout, geometry, arrow, at);
    let short = geometry.spacing - 16 - to_i32(nth % 4) * 12;
    (start, tip(layout, geometry, arrow, at, short))
}

fn to_i32(nth: usize) -> i32 {
    i32::try_from(nth).unwrap_or(0).min(100)
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
