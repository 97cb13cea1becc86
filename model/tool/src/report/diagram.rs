//! An execution as a sequence diagram in text: a lifeline for each process, time downwards.
//!
//! Arrows in text cannot slant, so a message is drawn in the row in which it arrives, with the
//! number that it was given where it was sent.

use super::layout::{self, Arrow, End, Ending, Layout, Note, NoteKind, Origin, Part, Row};
use super::words::{self, Ink};
use anstyle::{AnsiColor, Color, Effects, Style};
use bellwether_engine::protocol::Id;
use bellwether_engine::trace::{Event, Fate, Lifeline, Trace};
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
        drawing.text(&left_out, Ink::Faint);
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
                Some(now) if now.paused => ("┆", Ink::Faint),
                Some(now) if now.up => ("│", Ink::Line),
                _ => ("┊", Ink::Faint),
            };
            self.canvas.put(line, self.x(column), stroke, paint);
        }
        if self.repeating {
            self.canvas.put(line, 0, "│", Ink::Cycle);
        }
        line
    }

    fn text_width(&self) -> usize {
        self.width().max(TEXT.min(self.limit))
    }

    /// Lines of running text.
    fn text(&mut self, text: &str, paint: Ink) {
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
        self.text(&why, Ink::Plain);
    }

    /// What is shown, and the assumptions.
    fn caption(&mut self) {
        for (line, ink) in self.layout.caption() {
            self.text(&line, ink);
        }
        self.canvas.line();
    }

    fn header(&mut self) {
        let line = self.canvas.line();
        for (column, id) in self.layout.ids.iter().enumerate() {
            self.canvas.put(line, self.x(column), &self.layout.names.head(*id), Ink::Bold);
        }
        self.states();
        self.line();
        let layout = self.layout;
        let already = layout.arrows.iter().filter(|a| a.origin == Origin::Beginning);
        let already: Vec<String> = already.map(|arrow| layout.flying(arrow)).collect();
        if !already.is_empty() {
            let text = format!("in flight at the beginning: {}", already.join(", "));
            self.text(&text, Ink::Message);
            self.line();
        }
    }

    /// What every process is, beneath its lifeline.
    fn states(&mut self) {
        let layout = self.layout;
        let first = self.canvas.line();
        for (column, id) in layout.ids.iter().enumerate() {
            let Some(lifeline) = self.now.get(id) else { continue };
            let ink = words::tone(*id, lifeline);
            let lines = words::wrap(&words::status(*id, lifeline), self.spacing - 1);
            for (down, text) in lines.iter().enumerate() {
                while self.canvas.height() <= first + down {
                    self.canvas.line();
                }
                self.canvas.put(first + down, self.x(column), text, ink);
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
                    self.ticks(&format!(" {}, {now} in all ", ticks.words()), steps.end);
                }
                Part::Again { steps, .. } => {
                    for row in &layout.rows[steps.clone()] {
                        self.now.extend(row.changes.iter().map(|c| (c.id, c.after)));
                    }
                    let line = self.line();
                    let text = format!("… {} …", part.words());
                    self.canvas.put(line, self.margin + 2, &text, Ink::Faint);
                }
            }
        }
        if self.repeating {
            let line = self.line();
            self.canvas.put(line, 0, "└ for ever", Ink::Cycle);
        }
        self.repeating = false;
    }

    /// If the cycle begins with this step, says so.
    fn begin_cycle(&mut self, at: usize) {
        if self.layout.ending == Ending::Repeats(at) {
            let line = self.line();
            self.canvas.put(line, 0, "┌ repeats", Ink::Cycle);
            self.repeating = true;
        }
    }

    /// Time passes for every process, up to the step of this number.
    fn ticks(&mut self, text: &str, number: usize) {
        let line = self.line();
        self.number(line, number);
        self.stroke(line, self.margin + 1, self.width() - 1, "┄", Ink::Timer);
        for column in 0..self.layout.ids.len() {
            self.canvas.put(line, self.x(column), "┼", Ink::Line);
        }
        self.canvas.put(line, self.margin + 2, text, Ink::Timer);
    }

    fn number(&mut self, line: usize, number: usize) {
        let number = number.to_string();
        self.canvas.put(line, self.margin - 2 - number.len(), &number, Ink::Faint);
    }

    /// One step: what happened, and beneath it what followed.
    fn row(&mut self, at: usize, row: &'a Row<'a>) {
        let top = self.line();
        self.number(top, at + 1);
        let across = self.happening(top, row);
        self.now.extend(row.changes.iter().map(|c| (c.id, c.after)));
        let mut notes = self.layout.notes(row);
        notes.extend(sent(self.layout, row));
        let mut next: BTreeMap<usize, usize> = BTreeMap::new();
        for note in notes {
            let right_is_taken = across.is_some_and(|(a, b)| a <= note.column && note.column < b);
            let first = top + usize::from(right_is_taken);
            let mut line = *next.get(&note.column).unwrap_or(&first);
            let text = match note.kind {
                NoteKind::Status => format!("[{}]", note.text),
                NoteKind::Armed => format!("◷ {}", note.text),
                NoteKind::Event | NoteKind::Arrow | NoteKind::Sent => note.text,
            };
            for (nth, text) in words::wrap_hanging(&text, self.spacing - 3, 1).iter().enumerate() {
                while self.canvas.height() <= line {
                    self.line();
                }
                let x = self.x(note.column) + 2 + usize::from(nth > 0);
                self.canvas.put(line, x, text, note.ink);
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
            Event::Crash => mark("╳", Ink::Bad),
            Event::Recover => mark("●", Ink::Bold),
            Event::Pause => mark("○", Ink::Bad),
            Event::Resume => mark("●", Ink::Bold),
            Event::Jump { .. } => mark("◷", Ink::Bad),
            Event::Expire { early, .. } => mark("◷", if *early { Ink::Bad } else { Ink::Timer }),
            Event::Choose { .. } => mark("?", Ink::Timer),
            Event::Cut { link: [a, b], one_way } => {
                let text = directed(*one_way, a < b, [" ╳ link cut ╳ ", " ╳ cut ► ", " ◄ cut ╳ "]);
                self.link(line, [*a, *b], text, "┄", Ink::Bad)
            }
            Event::Heal { link: [a, b], one_way } => {
                let text = directed(*one_way, a < b, [" link heals ", " heals ► ", " ◄ heals "]);
                self.link(line, [*a, *b], text, "─", Ink::Good)
            }
            Event::Duplicate(_) => {
                let ends = arrow.map(|a| [a.flight.from, a.flight.to])?;
                let text = arrow.map(|a| format!(" m{} doubled ", a.flight.id));
                self.link(line, ends, &text.unwrap_or_default(), "┄", Ink::Bad)
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
        paint: Ink,
    ) -> Option<(usize, usize)> {
        let [a, b] = ends.map(|id| self.layout.column(id.number()));
        let (a, b) = (a.min(b), a.max(b));
        self.stroke(line, self.x(a) + 1, self.x(b), stroke, paint);
        self.crossings(line, a, b);
        self.canvas.put(line, self.x(a), "├", Ink::Line);
        self.canvas.put(line, self.x(b), "┤", Ink::Line);
        let gap = self.spacing - 1;
        let start = self.x(a) + 1 + gap.saturating_sub(text.chars().count()) / 2;
        self.canvas.put(line, start, text, paint);
        Some((a, b))
    }

    fn stroke(&mut self, line: usize, from: usize, to: usize, stroke: &str, paint: Ink) {
        for x in from..to {
            self.canvas.put(line, x, stroke, paint);
        }
    }

    fn crossings(&mut self, line: usize, a: usize, b: usize) {
        for column in a + 1..b {
            self.canvas.put(line, self.x(column), "┼", Ink::Line);
        }
    }

    /// The arrow of a message that arrives, or is lost, in this line.
    fn arrow(&mut self, line: usize, arrow: &Arrow<'_>) -> Option<(usize, usize)> {
        let (from, to) = (self.layout.column(arrow.from()), self.layout.column(arrow.to()));
        let (a, b) = (from.min(to), from.max(to));
        let arrived = matches!(arrow.end, End::Delivered(_));
        let paint = if !arrived {
            Ink::Bad
        } else if arrow.stale.is_some() {
            Ink::Stale
        } else {
            Ink::Message
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

    fn tips(&mut self, line: usize, from: usize, to: usize, arrow: &Arrow<'_>, paint: Ink) {
        let rightwards = from < to;
        let tip = if rightwards { self.x(to) - 1 } else { self.x(to) + 1 };
        let head = match arrow.end {
            End::Delivered(_) if rightwards => "►",
            End::Delivered(_) => "◄",
            _ => "✗",
        };
        self.canvas.put(line, tip, head, paint);
        self.canvas.put(line, self.x(from), if rightwards { "├" } else { "┤" }, Ink::Line);
    }

    /// The last state, and what it shows.
    fn end(&mut self) {
        let (title, paint) = self.layout.ending.words();
        self.line();
        let line = self.canvas.line();
        let (margin, width) = (self.margin, self.width());
        self.stroke(line, margin, width - 1, "━", paint);
        self.canvas.put(line, margin + 2, &format!(" {title} "), paint);
        self.states();
        let layout = self.layout;
        let flying: Vec<String> = layout.in_flight().map(|arrow| layout.flying(arrow)).collect();
        if !flying.is_empty() {
            self.text(&format!("still in flight: {}", flying.join(", ")), Ink::Message);
        }
        self.canvas.line();
        self.text("→ P2 (m1): message 1 is sent to P2 · ◷ timer armed, or expires", Ink::Faint);
        if layout.arrows.iter().any(|a| a.stale.is_some()) {
            let text = "╌╌ stale: the sender has crashed or changed its role since it sent this";
            self.text(text, Ink::Faint);
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

/// What is sent in a step, what says the same together.
fn sent(layout: &Layout<'_>, row: &Row<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    for fate in [Some(Fate::Cut), None, Some(Fate::Merged)] {
        for group in layout.sent(row, fate) {
            let (label, to) = (&group[0].label, layout.receivers(&group));
            let (text, ink) = match fate {
                Some(Fate::Cut) => (format!("✗ {label} → {to}: link is cut"), Ink::Bad),
                Some(Fate::Merged) => {
                    let known = group[0].flight.id;
                    (format!("▸ {label} → {to}: merged with m{known}"), Ink::Faint)
                }
                None => {
                    let one = |arrow: &&Arrow<'_>| {
                        format!("{} (m{})", layout.names.head(arrow.to()), arrow.flight.id)
                    };
                    let to: Vec<String> = group.iter().map(one).collect();
                    (format!("▸ {label} → {}", to.join(", ")), Ink::Message)
                }
            };
            let column = layout.column(group[0].from());
            notes.push(Note { column, kind: NoteKind::Sent, text, ink });
        }
    }
    notes
}

impl Ink {
    fn style(self) -> Style {
        let colour = |c: AnsiColor| Style::new().fg_color(Some(Color::Ansi(c)));
        match self {
            Ink::Plain | Ink::Line | Ink::Light => Style::new(),
            Ink::Bold => Style::new().effects(Effects::BOLD),
            Ink::Faint | Ink::Dead => Style::new().effects(Effects::DIMMED),
            Ink::Message => colour(AnsiColor::Cyan),
            Ink::Stale | Ink::Cycle => colour(AnsiColor::Magenta),
            Ink::Timer => colour(AnsiColor::Yellow),
            Ink::Bad => colour(AnsiColor::Red).effects(Effects::BOLD),
            Ink::Good => colour(AnsiColor::Green).effects(Effects::BOLD),
        }
    }
}

/// Lines of characters, as long as they need to be.
#[derive(Default)]
struct Canvas {
    lines: Vec<Vec<(char, Ink)>>,
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
    fn put(&mut self, line: usize, x: usize, text: &str, paint: Ink) {
        let Some(line) = self.lines.get_mut(line) else { return };
        for (x, c) in (x..).zip(text.chars()) {
            if line.len() <= x {
                line.resize(x + 1, (' ', Ink::Plain));
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
