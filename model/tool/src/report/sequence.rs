//! An execution as a sequence diagram in the language of Mermaid, which is drawn where Markdown is
//! shown.
//!
//! A message is an arrow where it arrives. What follows from it, and what happens otherwise, is a
//! note, in the words of the [story].

use super::layout::{self, Arrow, End, Ending, Layout, Part};
use super::{story, words};
use bellwether_engine::protocol::Id;
use bellwether_engine::trace::{Event, Trace};

/// Returns the diagram of `trace` in the language of Mermaid.
#[must_use]
pub fn mermaid(trace: &Trace) -> String {
    let (drawn, left_out) = layout::drawn(trace);
    let layout = Layout::of(&drawn);
    let out = format!("sequenceDiagram\n    title {}\n", escaped(&layout.protocol()));
    let mut chart = Chart { layout: &layout, out };
    for &id in &layout.ids {
        chart.out += &format!("    participant p{id} as {}\n", escaped(&layout.names.head(id)));
    }
    if let Some(left_out) = left_out {
        chart.everywhere(&[left_out]);
    }
    for (&id, lifeline) in &layout.trace.header.initial {
        chart.note(id, id, &[words::status(id, lifeline)]);
    }
    chart.parts();
    chart.end();
    chart.out
}

/// How wide a note is, in characters.
const WIDTH: usize = 44;

struct Chart<'a> {
    layout: &'a Layout<'a>,
    out: String,
}

impl Chart<'_> {
    fn parts(&mut self) {
        let layout = self.layout;
        let mut repeats = false;
        for part in &layout.parts {
            let first = match part {
                Part::Step(at) => *at,
                Part::Ticks { steps, .. } | Part::Again { steps, .. } => steps.start,
            };
            if !repeats && first >= layout.cycle() {
                self.out += "    loop for ever\n";
                repeats = true;
            }
            match part {
                Part::Step(at) => self.step(*at),
                Part::Ticks { .. } | Part::Again { .. } => self.everywhere(&[part.words()]),
            }
        }
        if repeats {
            self.out += "    end\n";
        }
    }

    fn step(&mut self, at: usize) {
        let layout = self.layout;
        let row = &layout.rows[at];
        let arrow = row.arrow.map(|arrow| &layout.arrows[arrow]);
        let event = story::event(layout, row);
        let told = story::step(layout, row);
        let follows = told.strip_prefix(&event).unwrap_or(&told).trim().to_owned();
        let number = at + 1;
        match (&row.step.event, arrow) {
            (Event::Deliver(_), Some(arrow)) => {
                let down = matches!(arrow.end, End::Down(_));
                let lost = if down { " (it is down)" } else { "" };
                self.arrow(arrow, !down, &format!("{number}. {}{lost}", arrow.label));
                self.note(arrow.to(), arrow.to(), &[follows]);
            }
            (Event::Lose(_), Some(arrow)) => {
                self.arrow(arrow, false, &format!("{number}. {} is lost", arrow.label));
                self.note(arrow.to(), arrow.to(), &[follows]);
            }
            (Event::Duplicate(_), Some(arrow)) => {
                self.note(arrow.from(), arrow.to(), &[format!("{number}. {event}"), follows]);
            }
            (Event::Cut { link: [a, b], .. } | Event::Heal { link: [a, b], .. }, _) => {
                self.note(a.number(), b.number(), &[format!("{number}. {event}"), follows]);
            }
            _ => {
                let lines = [format!("{number}. {event}"), follows];
                match row.step.node.map(Id::number) {
                    Some(id) => self.note(id, id, &lines),
                    None => self.everywhere(&lines),
                }
            }
        }
    }

    /// What it shows, and what is still on its way.
    fn end(&mut self) {
        let mut told = Vec::new();
        if self.layout.ending == Ending::Stuck {
            told.push("From here nothing happens any more.".to_owned());
        }
        let flying = story::flying(self.layout);
        if !flying.is_empty() {
            told.push(format!("Still in flight: {}.", flying.join("; ")));
        }
        told.extend(story::shows(self.layout));
        self.everywhere(&told);
    }

    fn arrow(&mut self, arrow: &Arrow<'_>, arrives: bool, words: &str) {
        let (from, to) = (arrow.from(), arrow.to());
        let arrow = if arrives { "->>" } else { "-x" };
        self.out += &format!("    p{from}{arrow}p{to}: {}\n", escaped(words));
    }

    /// A note over all processes.
    fn everywhere(&mut self, told: &[String]) {
        if let (Some(&first), Some(&last)) = (self.layout.ids.first(), self.layout.ids.last()) {
            self.note(first, last, told);
        }
    }

    /// A note over the lifelines of two processes, or of one, unless there is nothing to say.
    fn note(&mut self, one: u8, other: u8, told: &[String]) {
        let told = told.iter().filter(|text| !text.is_empty());
        let lines = told.flat_map(|text| words::wrap(text, WIDTH));
        let lines: Vec<String> = lines.map(|line| escaped(&line)).collect();
        if !lines.is_empty() {
            let (first, last) = (one.min(other), one.max(other));
            let over = if one == other { format!("p{one}") } else { format!("p{first},p{last}") };
            self.out += &format!("    Note over {over}: {}\n", lines.join("<br/>"));
        }
    }
}

/// Text in which nothing is read as a sign of the language.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '#' => out.push_str("#35;"),
            ';' => out.push_str("#59;"),
            '<' => out.push_str("#lt;"),
            '>' => out.push_str("#gt;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn no_text_is_read_as_a_sign_of_the_language() {
        assert_eq!(escaped("a; b #1 <c> □"), "a#59; b #35;1 #lt;c#gt; □");
    }
}
