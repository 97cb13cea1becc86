//! The shapes that a diagram is made of, written into one string.

use crate::report::words::Ink;
use std::fmt::Write;

impl Ink {
    fn colour(self) -> &'static str {
        match self {
            Ink::Plain | Ink::Bold => "#1f2933",
            Ink::Faint => "#5f6c7b",
            Ink::Light => "#ffffff",
            Ink::Line => "#78909c",
            Ink::Dead => "#c9a0a0",
            Ink::Message => "#1d4f91",
            Ink::Stale => "#8e44ad",
            Ink::Timer => "#8a5a00",
            Ink::Good => "#1e6b3a",
            Ink::Bad => "#b91c1c",
            Ink::Cycle => "#6b21a8",
        }
    }
}

/// Where text stands against its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Start,
    Middle,
    End,
}

/// A place for text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text {
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) align: Align,
    pub(super) ink: Ink,
}

pub(super) type Point = (i32, i32);

/// A place for a rectangle: its upper left corner, and how large it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) width: i32,
    pub(super) height: i32,
}

/// Writes SVG elements. Writing into a string does not fail.
pub(super) struct Pen {
    out: String,
}

impl Pen {
    pub(super) fn new(steps: usize) -> Pen {
        Pen { out: String::with_capacity(4096 + steps.min(10_000) * 1024) }
    }

    pub(super) fn begin(&mut self, width: i32, height: i32, title: &str, description: &str) {
        let _ = write!(
            self.out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"bw-diagram\" role=\"img\" \
             width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"DejaVu Sans, Verdana, Arial, sans-serif\" font-size=\"11\">\n<title>"
        );
        self.escaped(title);
        self.out.push_str("</title><desc>");
        self.escaped(description);
        self.out.push_str("</desc>\n");
        self.rect("bw-paper", Area { x: 0, y: 0, width, height }, "#ffffff", 0);
    }

    pub(super) fn end(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }

    /// Text with a white rim, so that it stays legible where a line crosses it.
    pub(super) fn text(&mut self, at: Text, class: &str, words: &str) {
        let _ = write!(self.out, "<text class=\"{class}\" x=\"{}\" y=\"{}\"", at.x, at.y);
        match at.align {
            Align::Start => {}
            Align::Middle => self.out.push_str(" text-anchor=\"middle\""),
            Align::End => self.out.push_str(" text-anchor=\"end\""),
        }
        match class {
            "bw-title" => self.out.push_str(" font-size=\"14\" font-weight=\"bold\""),
            "bw-caption" => self.out.push_str(" font-size=\"12\""),
            "bw-id" | "bw-verdict" => self.out.push_str(" font-size=\"12\" font-weight=\"bold\""),
            "bw-role" => {}
            _ => self.out.push_str(
                " paint-order=\"stroke\" stroke=\"#ffffff\" stroke-width=\"3\" \
                 stroke-linejoin=\"round\"",
            ),
        }
        let _ = write!(self.out, " fill=\"{}\">", at.ink.colour());
        self.escaped(words);
        self.out.push_str("</text>\n");
    }

    /// A stroke; `dashes` as in SVG, empty for a solid one.
    pub(super) fn line(&mut self, class: &str, ends: (Point, Point), ink: Ink, dashes: &str) {
        let ((x1, y1), (x2, y2)) = ends;
        let _ = write!(
            self.out,
            "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" \
             stroke=\"{}\" stroke-width=\"1.5\"",
            ink.colour()
        );
        if !dashes.is_empty() {
            let _ = write!(self.out, " stroke-dasharray=\"{dashes}\"");
        }
        self.out.push_str("/>\n");
    }

    /// A rectangle, whose corners have this radius.
    pub(super) fn rect(&mut self, class: &str, area: Area, fill: &str, round: i32) {
        let Area { x, y, width, height } = area;
        let _ = writeln!(
            self.out,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
             rx=\"{round}\" fill=\"{fill}\"/>"
        );
    }

    /// The head of an arrow that comes from `from` and points at `to`.
    pub(super) fn head(&mut self, from: Point, to: Point, ink: Ink) {
        let (dx, dy) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
        let length = dx.hypot(dy).max(1.0);
        let (ux, uy) = (dx / length, dy / length);
        let (x, y) = (f64::from(to.0), f64::from(to.1));
        let (bx, by) = (x - 9.0 * ux, y - 9.0 * uy);
        let _ = writeln!(
            self.out,
            "<path class=\"bw-tip\" d=\"M{x} {y}L{:.1} {:.1}L{:.1} {:.1}Z\" fill=\"{}\"/>",
            bx - 4.0 * uy,
            by + 4.0 * ux,
            bx + 4.0 * uy,
            by - 4.0 * ux,
            ink.colour()
        );
    }

    /// A cross with arms of this length.
    pub(super) fn cross(&mut self, (x, y): Point, arm: i32, ink: Ink) {
        let a = 2 * arm;
        let _ = writeln!(
            self.out,
            "<path class=\"bw-cross\" d=\"M{} {}l{a} {a}m0 -{a}l-{a} {a}\" fill=\"none\" \
             stroke=\"{}\" stroke-width=\"2.5\"/>",
            x - arm,
            y - arm,
            ink.colour()
        );
    }

    /// A small circle, empty unless it is filled.
    pub(super) fn dot(&mut self, (x, y): Point, ink: Ink, filled: bool) {
        let colour = ink.colour();
        let fill = if filled { colour } else { "#ffffff" };
        let _ = writeln!(
            self.out,
            "<circle class=\"bw-dot\" cx=\"{x}\" cy=\"{y}\" r=\"4\" fill=\"{fill}\" \
             stroke=\"{colour}\" stroke-width=\"1.5\"/>"
        );
    }

    /// A clock: what is expired is filled.
    pub(super) fn clock(&mut self, (x, y): Point, ink: Ink, expired: bool) {
        let colour = ink.colour();
        let (fill, hands) = if expired { (colour, "#ffffff") } else { ("#ffffff", colour) };
        let _ = writeln!(
            self.out,
            "<g class=\"bw-clock\"><circle cx=\"{x}\" cy=\"{y}\" r=\"6\" fill=\"{fill}\" \
             stroke=\"{colour}\" stroke-width=\"1.5\"/><path d=\"M{x} {}v4h3\" fill=\"none\" \
             stroke=\"{hands}\" stroke-width=\"1.3\"/></g>",
            y - 4
        );
    }

    /// A role, in the colour of its kind; the point is the middle of its left edge.
    pub(super) fn pill(&mut self, (x, y): Point, width: i32, ink: Ink, words: &str) {
        let (fill, edge) = match ink {
            Ink::Good => ("#c8efd4", "#1e6b3a"),
            Ink::Timer => ("#ffefc2", "#b7791f"),
            Ink::Bad => ("#fde2e1", "#b91c1c"),
            _ => ("#eceff1", "#78909c"),
        };
        let _ = writeln!(
            self.out,
            "<rect class=\"bw-pill\" x=\"{x}\" y=\"{}\" width=\"{width}\" height=\"16\" rx=\"8\" \
             fill=\"{fill}\" stroke=\"{edge}\"/>",
            y - 8
        );
        let text = Text { x: x + width / 2, y: y + 4, align: Align::Middle, ink };
        self.text(text, "bw-role", words);
    }

    fn escaped(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                '"' => self.out.push_str("&quot;"),
                '\'' => self.out.push_str("&#39;"),
                c => self.out.push(c),
            }
        }
    }
}
