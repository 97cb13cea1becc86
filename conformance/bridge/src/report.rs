//! What people read of a [`Divergence`], the same wherever it was found: what differs, what the
//! model does instead and why, and how it came to that.

use crate::divergence::{Divergence, Size};
use bellwether_engine::trace::Trace;
use bellwether_tool::report::{diagram, story};
use std::fmt::Write as _;

/// The most lines of a report, unless all is asked for.
pub const MOST_LINES: usize = 60;
/// The most lines of one list.
const MOST_EACH: usize = 8;
/// Where all of it is.
const LEFT_OUT: &str = "(Not all of it fits: --verbose prints the rest.)";

impl Divergence {
    /// Returns the report: what differs, what the model does and on what it depends, the story of
    /// how it came to that, and the diagram of the last steps. It has at most [`MOST_LINES`] lines.
    #[must_use]
    pub fn report(&self) -> String {
        let whole = self.full_report();
        if whole.lines().count() <= MOST_LINES {
            return whole;
        }
        let mut out = self.words(MOST_EACH);
        // The last line says that something is left out.
        let room = |out: &str| (MOST_LINES - 1).saturating_sub(out.lines().count());
        for story in self.stories() {
            if story.lines().count() <= room(&out) {
                out += &story;
            }
        }
        if self.is_drawn() {
            let mut steps = self.trace.clone();
            while !steps.steps.is_empty() {
                let drawn = drawing(&steps);
                if drawn.lines().count() <= room(&out) {
                    out += &drawn;
                    break;
                }
                let first = steps.steps.remove(0);
                steps.header.initial.extend(first.changed);
            }
        }
        let mut short: Vec<&str> = out.lines().take(MOST_LINES - 1).collect();
        short.push(LEFT_OUT);
        short.join("\n") + "\n"
    }

    /// Returns the report with all that there is to tell, in as many lines as that takes.
    #[must_use]
    pub fn full_report(&self) -> String {
        let mut out = self.words(usize::MAX) + &self.stories().concat();
        if self.is_drawn() {
            out += &drawing(&self.trace);
        }
        if let Some(other) = &self.other {
            out += &drawing(other);
        }
        out
    }

    /// Whether there is a step to draw. Nothing is known of a world before its beginning.
    fn is_drawn(&self) -> bool {
        self.settling.is_empty() && !self.trace.steps.is_empty()
    }

    /// All but stories and diagrams; of each list so many lines.
    fn words(&self, most: usize) -> String {
        let mut out = format!("{}\n", self.heading());
        let differences: Vec<_> = self.differences.iter().map(ToString::to_string).collect();
        items(&mut out, &differences, most);
        if !self.before.is_empty() {
            let _ = writeln!(out, "The process before: {}", self.before);
        }
        let guards: Vec<_> = self.guards.iter().map(ToString::to_string).collect();
        let titles = [
            ("What the model does:", &self.expected),
            ("What the model reads:", &guards),
            ("It depends on:", &self.depends),
        ];
        for (title, list) in titles {
            if !list.is_empty() {
                let _ = writeln!(out, "{title}");
                items(&mut out, list, most);
            }
        }
        if let Some(Size { steps, nodes }) = self.reduced_from {
            let world = &self.trace.header.world;
            let s = if steps == 1 { "" } else { "s" };
            let _ = writeln!(out, "Found after {steps} step{s} of {nodes} nodes, and reduced.");
            let _ = writeln!(out, "It shows in this world: {world}");
        }
        out
    }

    /// The stories, each with its title.
    fn stories(&self) -> Vec<String> {
        if self.line.is_some() {
            return Vec::new();
        }
        if !self.settling.is_empty() {
            let mut out = "\nWhat happens to the node before the beginning:\n".to_owned();
            for (line, number) in self.settling.iter().zip(1..) {
                let _ = writeln!(out, "{number:>2}. {line}.");
            }
            return vec![out];
        }
        let mut first = format!("\nAs the model tells it:\n{}", story::tell(&self.trace));
        if self.probe {
            let _ = writeln!(first, "Then, as in no execution: {}.", self.happened);
        }
        let other = self.other.iter().map(|other| {
            format!("\nThe other execution, to the same process:\n{}", story::tell(other))
        });
        std::iter::once(first).chain(other).collect()
    }
}

/// A list, line by line, of which so many are shown.
fn items(out: &mut String, list: &[String], most: usize) {
    for item in list.iter().take(most) {
        let _ = writeln!(out, "  {item}");
    }
    if list.len() > most {
        let _ = writeln!(out, "  and {} more", list.len() - most);
    }
}

fn drawing(steps: &Trace) -> String {
    let options = diagram::Options { bare: true, ..diagram::Options::default() };
    let title = match steps.steps.len() {
        1 => "The last step".to_owned(),
        count => format!("The last {count} steps"),
    };
    format!("\n{title}:\n{}", diagram::draw(steps, options))
}
