//! An execution as a sequence diagram in the language of a program that draws it: Mermaid, which
//! is drawn where Markdown is shown, and PlantUML.
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
    draw(trace, &Mermaid)
}

/// Returns the diagram of `trace` in the language of PlantUML.
#[must_use]
pub fn plantuml(trace: &Trace) -> String {
    draw(trace, &PlantUml)
}

/// How wide a note is, in characters.
const WIDTH: usize = 44;

trait Language {
    /// What stands before the processes.
    fn begin(&self, title: &str) -> String;

    fn process(&self, id: u8) -> String;

    /// A message that arrives, or one that does not.
    fn arrow(&self, from: u8, to: u8, arrives: bool, words: &str) -> String;

    /// A note over all lifelines from one process to another.
    fn note(&self, first: u8, last: u8, lines: &[String]) -> String;

    /// What stands before steps that repeat, what behind them, and what behind all.
    fn ends(&self) -> [&'static str; 3];
}

fn draw(trace: &Trace, language: &dyn Language) -> String {
    let (drawn, left_out) = layout::drawn(trace);
    let layout = Layout::of(&drawn);
    let mut chart = Chart { layout: &layout, language, out: language.begin(&layout.protocol()) };
    for &id in &layout.ids {
        chart.out += &language.process(id);
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

struct Chart<'a> {
    layout: &'a Layout<'a>,
    language: &'a dyn Language,
    out: String,
}

impl Chart<'_> {
    fn parts(&mut self) {
        let layout = self.layout;
        let [begin, end, _] = self.language.ends();
        let cycle = match layout.ending {
            Ending::Repeats(after) => after,
            Ending::Open | Ending::Violated | Ending::Reached | Ending::Stuck => usize::MAX,
        };
        let mut repeats = false;
        for part in &layout.parts {
            let first = match part {
                Part::Step(at) => *at,
                Part::Ticks { steps, .. } | Part::Again { steps, .. } => steps.start,
            };
            if !repeats && first >= cycle {
                self.out += begin;
                repeats = true;
            }
            match part {
                Part::Step(at) => self.step(*at),
                Part::Ticks { .. } | Part::Again { .. } => self.everywhere(&[part.words()]),
            }
        }
        if repeats {
            self.out += end;
        }
    }

    fn step(&mut self, at: usize) {
        let layout = self.layout;
        let row = &layout.rows[at];
        let arrow = row.arrow.map(|arrow| &layout.arrows[arrow]);
        let event = story::event(row, arrow);
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
        let [.., end] = self.language.ends();
        self.out += end;
    }

    fn arrow(&mut self, arrow: &Arrow<'_>, arrives: bool, words: &str) {
        self.out += &self.language.arrow(arrow.from(), arrow.to(), arrives, words);
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
        let lines: Vec<String> = told.flat_map(|text| words::wrap(text, WIDTH)).collect();
        if !lines.is_empty() {
            self.out += &self.language.note(one.min(other), one.max(other), &lines);
        }
    }
}

struct Mermaid;

impl Mermaid {
    /// Text in which nothing is read as a sign of the language.
    fn text(text: &str) -> String {
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
}

impl Language for Mermaid {
    fn begin(&self, title: &str) -> String {
        format!("sequenceDiagram\n    title {}\n", Mermaid::text(title))
    }

    fn process(&self, id: u8) -> String {
        format!("    participant p{id} as process {id}\n")
    }

    fn arrow(&self, from: u8, to: u8, arrives: bool, words: &str) -> String {
        let arrow = if arrives { "->>" } else { "-x" };
        format!("    p{from}{arrow}p{to}: {}\n", Mermaid::text(words))
    }

    fn note(&self, first: u8, last: u8, lines: &[String]) -> String {
        let lines: Vec<String> = lines.iter().map(|line| Mermaid::text(line)).collect();
        let over = if first == last { format!("p{first}") } else { format!("p{first},p{last}") };
        format!("    Note over {over}: {}\n", lines.join("<br/>"))
    }

    fn ends(&self) -> [&'static str; 3] {
        ["    loop for ever\n", "    end\n", ""]
    }
}

struct PlantUml;

impl PlantUml {
    /// Text in which nothing is read as a sign of the language: no tag, no line break, and no pair
    /// of signs that makes text bold or struck out.
    fn text(text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut before = None;
        for c in text.chars() {
            let doubled = before == Some(c) && matches!(c, '*' | '/' | '_' | '-' | '"');
            if doubled || matches!(c, '\\' | '<' | '~' | '%') {
                out += &format!("<U+{:04X}>", u32::from(c));
            } else {
                out.push(c);
            }
            before = Some(c);
        }
        out
    }
}

impl Language for PlantUml {
    fn begin(&self, title: &str) -> String {
        format!("@startuml\ntitle {}\n", PlantUml::text(title))
    }

    fn process(&self, id: u8) -> String {
        format!("participant \"process {id}\" as p{id}\n")
    }

    fn arrow(&self, from: u8, to: u8, arrives: bool, words: &str) -> String {
        let arrow = if arrives { "->" } else { "->x" };
        format!("p{from} {arrow} p{to} : {}\n", PlantUml::text(words))
    }

    fn note(&self, first: u8, last: u8, lines: &[String]) -> String {
        let lines: Vec<String> = lines.iter().map(|line| PlantUml::text(line)).collect();
        let over = if first == last { format!("p{first}") } else { format!("p{first}, p{last}") };
        format!("note over {over} : {}\n", lines.join("\\n"))
    }

    fn ends(&self) -> [&'static str; 3] {
        ["loop for ever\n", "end\n", "@enduml\n"]
    }
}

#[cfg(test)]
mod tests {
    use super::{Mermaid, PlantUml};

    #[test]
    fn no_text_is_read_as_a_sign_of_the_language() {
        assert_eq!(Mermaid::text("a; b #1 <c> □"), "a#59; b #35;1 #lt;c#gt; □");
        let told = "*<U+002A>a*<U+002A> _<U+005F>b <U+003C>i> <U+005C>n";
        assert_eq!(PlantUml::text("**a** __b <i> \\n"), told);
        assert_eq!(PlantUml::text("REQUEST_VOTE(term 1)"), "REQUEST_VOTE(term 1)");
    }
}
