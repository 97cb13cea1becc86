//! A sheet of characters, each with its paint.

use crate::report::ascii;
use crate::report::words::Tone;
use anstyle::{AnsiColor, Color, Effects, Style};

/// What a character is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint {
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
    pub(super) fn of(tone: Tone) -> Paint {
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
pub(super) struct Canvas {
    lines: Vec<Vec<(char, Paint)>>,
}

impl Canvas {
    /// Adds an empty line; its number.
    pub(super) fn line(&mut self) -> usize {
        self.lines.push(Vec::new());
        self.lines.len() - 1
    }

    pub(super) fn height(&self) -> usize {
        self.lines.len()
    }

    /// Writes text over what is there.
    pub(super) fn put(&mut self, line: usize, x: usize, text: &str, paint: Paint) {
        let Some(line) = self.lines.get_mut(line) else { return };
        for (x, c) in (x..).zip(text.chars()) {
            if line.len() <= x {
                line.resize(x + 1, (' ', Paint::Plain));
            }
            line[x] = (c, paint);
        }
    }

    pub(super) fn render(&self, ascii: bool, colour: bool) -> String {
        let mut out = String::new();
        for line in &self.lines {
            let end = line.iter().rposition(|(c, _)| *c != ' ').map_or(0, |at| at + 1);
            for run in line[..end].chunk_by(|a, b| a.1 == b.1) {
                let style = run[0].1.style();
                if colour {
                    out.push_str(&style.render().to_string());
                }
                for (c, _) in run {
                    match c {
                        // It stands between the signs that are explained.
                        '·' if ascii => out.push(';'),
                        c if ascii => ascii::put(*c, &mut out),
                        c => out.push(*c),
                    }
                }
                if colour {
                    out.push_str(&style.render_reset().to_string());
                }
            }
            out.push('\n');
        }
        out
    }
}
