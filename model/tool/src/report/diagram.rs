//! An execution as a sequence diagram in text: a lifeline for each process, time downwards.
//!
//! Arrows in text cannot slant, so a message is drawn in the row in which it arrives, with the
//! number that it was given where it was sent.

use super::layout::{self, Arrow, Change, End, Ending, Layout, Origin, Part, Row};
use super::words::{self, Tone};
use anstyle::{AnsiColor, Color, Effects, Style};
use bellwether_engine::property::Kind;
use bellwether_engine::protocol::Id;
use bellwether_engine::trace::{Event, Lifeline, Trace, plain_value};
use bellwether_engine::words::jumps;
use std::collections::BTreeMap;

/// The options of a diagram: how it is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether there are colours, as ANSI escape sequences.
    pub colour: bool,
    /// The width to aim at, in characters; 110 if none is given.
    pub width: Option<usize>,
    /// Whether the caption is left out, for a caller that has said already what is shown in which
    /// world.
    pub bare: bool,
}

/// The widest diagram, if nothing else is asked for.
const WIDTH: usize = 110;

/// How wide running text may be even if the drawing is narrower.
const TEXT: usize = 90;

/// The most lifelines that are drawn in characters.
const MOST: usize = 16;

/// The narrowest and the widest distance between two lifelines.
const SPACING: (usize, usize) = (16, 28);

/// The narrowest if the width is given: words are cut, but the drawing fits.
const NARROWEST: usize = 12;

/// Returns the diagram of `trace`.
#[must_use]
pub fn draw(trace: &Trace, options: Options) -> String {
    let (drawn, left_out) = layout::drawn(trace);
    let layout = Layout::of(&drawn);
    let mut drawing = Drawing::new(&layout, options.width);
    if !options.bare {
        drawing.caption();
    }
    if let Some(left_out) = left_out {
        drawing.text(&left_out, Paint::Faint);
        drawing.canvas.line();
    }
    if layout.ids.len() > MOST {
        drawing.too_wide();
    } else {
        drawing.header();
        drawing.body();
        drawing.end();
    }
    drawing.canvas.render(options.colour)
}

struct Drawing<'a> {
    layout: &'a Layout<'a>,
    canvas: Canvas,
    /// The width to aim at.
    limit: usize,
    /// Where the first lifeline stands.
    margin: usize,
    /// From one lifeline to the next.
    spacing: usize,
    /// What is known of each process in the row that is being drawn.
    now: BTreeMap<u8, &'a Lifeline>,
    /// Whether the rows drawn are part of the cycle.
    repeating: bool,
}

impl<'a> Drawing<'a> {
    fn new(layout: &'a Layout<'a>, width: Option<usize>) -> Self {
        let narrowest = if width.is_some() { NARROWEST } else { SPACING.0 };
        let width = width.unwrap_or(WIDTH);
        let margin = 4 + layout.rows.len().to_string().len().max(2);
        let wanted = layout.arrows.iter().map(|a| a.label.chars().count() + 10);
        let status = |(&id, l): (&u8, &&Lifeline)| words::status(id, l).chars().count() + 4;
        let wanted = wanted.chain(layout.last.iter().map(status)).max().unwrap_or(0);
        let room = width.saturating_sub(margin) / layout.ids.len().max(1);
        let spacing = wanted.clamp(18, SPACING.1).min(room).max(narrowest);
        let now = layout.trace.header.initial.iter().map(|(&id, l)| (id, l)).collect();
        let canvas = Canvas::default();
        Drawing { layout, canvas, limit: width, margin, spacing, now, repeating: false }
    }

    fn x(&self, column: usize) -> usize {
        self.margin + column * self.spacing
    }

    fn width(&self) -> usize {
        self.x(self.layout.ids.len())
    }

    /// A new line with all lifelines in it.
    fn line(&mut self) -> usize {
        let line = self.canvas.line();
        for (column, id) in self.layout.ids.iter().enumerate() {
            let (stroke, paint) = match self.now.get(id) {
                Some(now) if now.paused => ("┆", Paint::Faint),
                Some(now) if now.up => ("│", Paint::Line),
                _ => ("┊", Paint::Faint),
            };
            self.canvas.put(line, self.x(column), stroke, paint);
        }
        if self.repeating {
            self.canvas.put(line, 0, "│", Paint::Cycle);
        }
        line
    }

    fn text_width(&self) -> usize {
        self.width().max(TEXT.min(self.limit))
    }

    /// Lines of running text.
    fn text(&mut self, text: &str, paint: Paint) {
        for line in words::wrap(text, self.text_width()) {
            let at = self.canvas.line();
            self.canvas.put(at, 0, &line, paint);
        }
    }

    /// Says that there are too many lifelines.
    fn too_wide(&mut self) {
        let count = self.layout.ids.len();
        let why = format!(
            "A diagram of {count} processes is too wide to be drawn in characters. The story tells \
             what happens, and the picture (SVG) has all of them."
        );
        self.text(&why, Paint::Plain);
    }

    /// What is shown, and the assumptions.
    fn caption(&mut self) {
        if let Some(shows) = &self.layout.trace.header.shows {
            let (verb, paint) = match shows.kind {
                Kind::Reachability => ("reached", Paint::Leader),
                Kind::Safety | Kind::Liveness => ("violated", Paint::Bad),
            };
            let (name, formula) = (words::clean(&shows.property), words::clean(&shows.formula));
            self.text(&format!("{name} {verb}: {formula}"), paint);
        }
        self.text(&self.layout.protocol(), Paint::Plain);
        self.text(&self.layout.trace.header.world.to_string(), Paint::Faint);
        self.canvas.line();
    }

    fn header(&mut self) {
        let line = self.canvas.line();
        for (column, id) in self.layout.ids.iter().enumerate() {
            self.canvas.put(line, self.x(column), &format!("process {id}"), Paint::Bold);
        }
        self.states();
        self.line();
        let layout = self.layout;
        let already = layout.arrows.iter().filter(|a| a.origin == Origin::Beginning);
        let already: Vec<String> = already.map(flying).collect();
        if !already.is_empty() {
            let text = format!("in flight at the beginning: {}", already.join(", "));
            self.text(&text, Paint::Message);
            self.line();
        }
    }

    /// What every process is, beneath its lifeline.
    fn states(&mut self) {
        let layout = self.layout;
        let state = |(column, id): (usize, &u8)| {
            let lifeline = self.now.get(id)?;
            let paint = Paint::of(words::tone(*id, lifeline));
            Some(Note { column, text: words::status(*id, lifeline), paint })
        };
        let notes: Vec<Note> = layout.ids.iter().enumerate().filter_map(state).collect();
        let first = self.canvas.line();
        for note in notes {
            let lines = words::wrap(&note.text, self.spacing - 1);
            for (down, text) in lines.iter().enumerate() {
                while self.canvas.height() <= first + down {
                    self.canvas.line();
                }
                self.canvas.put(first + down, self.x(note.column), text, note.paint);
            }
        }
    }

    fn body(&mut self) {
        let layout = self.layout;
        for part in &layout.parts {
            match part {
                Part::Step(at) => {
                    self.begin_cycle(*at);
                    self.row(*at, &layout.rows[*at]);
                }
                ticks @ Part::Ticks { steps, now } => {
                    self.begin_cycle(steps.start);
                    self.ticks(&format!(" {}: {now} in all ", ticks.words()), steps.end);
                }
                Part::Again { steps, .. } => {
                    for row in &layout.rows[steps.clone()] {
                        self.now.extend(row.changes.iter().map(|c| (c.id, c.after)));
                    }
                    let line = self.line();
                    let text = format!("… {} …", part.words());
                    self.canvas.put(line, self.margin + 2, &text, Paint::Faint);
                }
            }
        }
        if self.repeating {
            let line = self.line();
            self.canvas.put(line, 0, "└ for ever", Paint::Cycle);
        }
        self.repeating = false;
    }

    /// If the cycle begins with this step, says so.
    fn begin_cycle(&mut self, at: usize) {
        if self.layout.ending == Ending::Repeats(at) {
            let line = self.line();
            self.canvas.put(line, 0, "┌ repeats", Paint::Cycle);
            self.repeating = true;
        }
    }

    /// Time passes for every process, up to the step of this number.
    fn ticks(&mut self, text: &str, number: usize) {
        let line = self.line();
        self.number(line, number);
        self.stroke(line, self.margin + 1, self.width() - 1, "┄", Paint::Timer);
        for column in 0..self.layout.ids.len() {
            self.canvas.put(line, self.x(column), "┼", Paint::Line);
        }
        self.canvas.put(line, self.margin + 2, text, Paint::Timer);
    }

    fn number(&mut self, line: usize, number: usize) {
        let number = number.to_string();
        self.canvas.put(line, self.margin - 2 - number.len(), &number, Paint::Faint);
    }

    /// One step: what happened, and beneath it what followed.
    fn row(&mut self, at: usize, row: &'a Row<'a>) {
        let top = self.line();
        self.number(top, at + 1);
        let across = self.happening(top, row);
        self.now.extend(row.changes.iter().map(|c| (c.id, c.after)));
        let notes = notes(self.layout, row);
        let mut next: BTreeMap<usize, usize> = BTreeMap::new();
        for note in notes {
            let right_is_taken = across.is_some_and(|(a, b)| a <= note.column && note.column < b);
            let first = top + usize::from(right_is_taken);
            let mut line = *next.get(&note.column).unwrap_or(&first);
            for (nth, text) in
                words::wrap_hanging(&note.text, self.spacing - 3, 1).iter().enumerate()
            {
                while self.canvas.height() <= line {
                    self.line();
                }
                let x = self.x(note.column) + 2 + usize::from(nth > 0);
                self.canvas.put(line, x, text, note.paint);
                line += 1;
            }
            next.insert(note.column, line);
        }
    }

    /// Draws what happened; between which columns it left no room.
    fn happening(&mut self, line: usize, row: &Row<'_>) -> Option<(usize, usize)> {
        let arrow = row.arrow.map(|at| &self.layout.arrows[at]);
        let own = row.step.node.map(|id| self.layout.column(id.number()));
        let mut mark = |stroke, paint| {
            if let Some(column) = own {
                self.canvas.put(line, self.margin + column * self.spacing, stroke, paint);
            }
            None
        };
        match &row.step.event {
            Event::Crash => mark("╳", Paint::Bad),
            Event::Recover => mark("●", Paint::Bold),
            Event::Pause => mark("○", Paint::Bad),
            Event::Resume => mark("●", Paint::Bold),
            Event::Jump { .. } => mark("◷", Paint::Bad),
            Event::Expire { early, .. } => {
                mark("◷", if *early { Paint::Bad } else { Paint::Timer })
            }
            Event::Choose { .. } => mark("?", Paint::Timer),
            Event::Cut { link: [a, b], one_way } => {
                let text = directed(*one_way, a < b, [" ╳ link cut ╳ ", " ╳ cut ► ", " ◄ cut ╳ "]);
                self.link(line, [*a, *b], text, "┄", Paint::Bad)
            }
            Event::Heal { link: [a, b], one_way } => {
                let text = directed(*one_way, a < b, [" link heals ", " heals ► ", " ◄ heals "]);
                self.link(line, [*a, *b], text, "─", Paint::Leader)
            }
            Event::Duplicate(_) => {
                let ends = arrow.map(|a| [a.flight.from, a.flight.to])?;
                let text = arrow.map(|a| format!(" m{} doubled ", a.flight.id));
                self.link(line, ends, &text.unwrap_or_default(), "┄", Paint::Bad)
            }
            Event::Deliver(_) | Event::Lose(_) => self.arrow(line, arrow?),
            Event::Tick => None,
        }
    }

    /// A stroke from lifeline to lifeline with words in it.
    fn link(
        &mut self,
        line: usize,
        ends: [Id; 2],
        text: &str,
        stroke: &str,
        paint: Paint,
    ) -> Option<(usize, usize)> {
        let [a, b] = ends.map(|id| self.layout.column(id.number()));
        let (a, b) = (a.min(b), a.max(b));
        self.stroke(line, self.x(a) + 1, self.x(b), stroke, paint);
        self.crossings(line, a, b);
        self.canvas.put(line, self.x(a), "├", Paint::Line);
        self.canvas.put(line, self.x(b), "┤", Paint::Line);
        let gap = self.spacing - 1;
        let start = self.x(a) + 1 + gap.saturating_sub(text.chars().count()) / 2;
        self.canvas.put(line, start, text, paint);
        Some((a, b))
    }

    fn stroke(&mut self, line: usize, from: usize, to: usize, stroke: &str, paint: Paint) {
        for x in from..to {
            self.canvas.put(line, x, stroke, paint);
        }
    }

    fn crossings(&mut self, line: usize, a: usize, b: usize) {
        for column in a + 1..b {
            self.canvas.put(line, self.x(column), "┼", Paint::Line);
        }
    }

    /// The arrow of a message that arrives, or is lost, in this line.
    fn arrow(&mut self, line: usize, arrow: &Arrow<'_>) -> Option<(usize, usize)> {
        let (from, to) = (self.layout.column(arrow.from()), self.layout.column(arrow.to()));
        let (a, b) = (from.min(to), from.max(to));
        let arrived = matches!(arrow.end, End::Delivered(_));
        let paint = if !arrived {
            Paint::Bad
        } else if arrow.stale.is_some() {
            Paint::Stale
        } else {
            Paint::Message
        };
        let stroke = if arrow.stale.is_some() { "╌" } else { "─" };
        self.stroke(line, self.x(a) + 1, self.x(b), stroke, paint);
        self.crossings(line, a, b);
        if from != to {
            self.tips(line, from, to, arrow, paint);
        }
        let full = format!(" m{} {} ", arrow.flight.id, arrow.label);
        let gap = self.spacing - 1;
        let text =
            if full.chars().count() + 3 <= gap { full } else { format!(" m{} ", arrow.flight.id) };
        // The words stand next to the receiver, between it and its neighbour.
        let left = if from < to { self.x(to.saturating_sub(1)) } else { self.x(to) };
        let start = left + 1 + gap.saturating_sub(text.chars().count()) / 2;
        self.canvas.put(line, start, &text, paint);
        Some((a, b))
    }

    fn tips(&mut self, line: usize, from: usize, to: usize, arrow: &Arrow<'_>, paint: Paint) {
        let rightwards = from < to;
        let tip = if rightwards { self.x(to) - 1 } else { self.x(to) + 1 };
        let head = match arrow.end {
            End::Delivered(_) if rightwards => "►",
            End::Delivered(_) => "◄",
            _ => "✗",
        };
        self.canvas.put(line, tip, head, paint);
        self.canvas.put(line, self.x(from), if rightwards { "├" } else { "┤" }, Paint::Line);
    }

    /// The last state, and what it shows.
    fn end(&mut self) {
        let (title, paint) = match self.layout.ending {
            Ending::Open => ("afterwards", Paint::Faint),
            Ending::Violated => ("violated here", Paint::Bad),
            Ending::Reached => ("reached here", Paint::Leader),
            Ending::Stuck => ("from here nothing happens any more", Paint::Bad),
            Ending::Repeats(_) => ("and so on, for ever", Paint::Bad),
        };
        self.line();
        let line = self.canvas.line();
        let (margin, width) = (self.margin, self.width());
        self.stroke(line, margin, width - 1, "━", paint);
        self.canvas.put(line, margin + 2, &format!(" {title} "), paint);
        self.states();
        let layout = self.layout;
        let flying: Vec<String> = layout.in_flight().map(flying).collect();
        if !flying.is_empty() {
            self.text(&format!("still in flight: {}", flying.join(", ")), Paint::Message);
        }
        self.canvas.line();
        self.text("m1→2: message 1 is sent to 2 · ◷ timer armed, or expires", Paint::Faint);
        if layout.arrows.iter().any(|a| a.stale.is_some()) {
            let text = "╌╌ stale: the sender has crashed or changed its role since it sent this";
            self.text(text, Paint::Faint);
        }
    }
}

/// The words on a link: those of both directions, of the one to the right, or to the left.
fn directed(
    one_way: bool,
    rightwards: bool,
    [both, right, left]: [&'static str; 3],
) -> &'static str {
    match (one_way, rightwards) {
        (false, _) => both,
        (true, true) => right,
        (true, false) => left,
    }
}

/// A piece of text at the right of a lifeline: what a process did and became in a step.
struct Note {
    column: usize,
    text: String,
    paint: Paint,
}

/// The notes of a step, those of one lifeline from top to bottom.
fn notes(layout: &Layout<'_>, row: &Row<'_>) -> Vec<Note> {
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

fn flying(arrow: &Arrow<'_>) -> String {
    format!("m{} {} {}→{}", arrow.flight.id, arrow.label, arrow.from(), arrow.to())
}

/// What a character is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paint {
    Plain,
    Bold,
    Faint,
    Line,
    Message,
    Stale,
    Timer,
    Bad,
    Leader,
    Other,
    Cycle,
}

impl Paint {
    fn of(tone: Tone) -> Paint {
        match tone {
            Tone::Leader => Paint::Leader,
            Tone::Follower => Paint::Plain,
            Tone::Other => Paint::Other,
            Tone::Down => Paint::Bad,
        }
    }

    fn style(self) -> Style {
        let colour = |c: AnsiColor| Style::new().fg_color(Some(Color::Ansi(c)));
        match self {
            Paint::Plain | Paint::Line => Style::new(),
            Paint::Bold => Style::new().effects(Effects::BOLD),
            Paint::Faint => Style::new().effects(Effects::DIMMED),
            Paint::Message => colour(AnsiColor::Cyan),
            Paint::Stale | Paint::Cycle => colour(AnsiColor::Magenta),
            Paint::Timer | Paint::Other => colour(AnsiColor::Yellow),
            Paint::Bad => colour(AnsiColor::Red).effects(Effects::BOLD),
            Paint::Leader => colour(AnsiColor::Green).effects(Effects::BOLD),
        }
    }
}

/// Lines of characters, as long as they need to be.
#[derive(Default)]
struct Canvas {
    lines: Vec<Vec<(char, Paint)>>,
}

impl Canvas {
    /// Adds an empty line; its number.
    fn line(&mut self) -> usize {
        self.lines.push(Vec::new());
        self.lines.len() - 1
    }

    fn height(&self) -> usize {
        self.lines.len()
    }

    /// Writes text over what is there.
    fn put(&mut self, line: usize, x: usize, text: &str, paint: Paint) {
        let Some(line) = self.lines.get_mut(line) else { return };
        for (x, c) in (x..).zip(text.chars()) {
            if line.len() <= x {
                line.resize(x + 1, (' ', Paint::Plain));
            }
            line[x] = (c, paint);
        }
    }

    fn render(&self, colour: bool) -> String {
        let mut out = String::new();
        for line in &self.lines {
            let end = line.iter().rposition(|(c, _)| *c != ' ').map_or(0, |at| at + 1);
            for run in line[..end].chunk_by(|a, b| a.1 == b.1) {
                let style = run[0].1.style();
                if colour {
                    out.push_str(&style.render().to_string());
                }
                out.extend(run.iter().map(|(c, _)| c));
                if colour {
                    out.push_str(&style.render_reset().to_string());
                }
            }
            out.push('\n');
        }
        out
    }
}
