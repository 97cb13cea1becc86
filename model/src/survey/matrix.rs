//! The matrix of the survey, as Markdown and as a picture.

use super::proved;
use super::{Cell, Row, Standing, Surrounding};
use crate::protocol::REGISTRY;
use std::fmt::Write;

/// The matrix as a table in Markdown. A cell in which everything holds is set in bold.
#[must_use]
pub fn markdown(worlds: &[Surrounding], rows: &[Row]) -> String {
    let mut out = String::from("| protocol |");
    let mut line = String::from("|---|");
    for world in worlds {
        let _ = write!(out, " {}<br>{} |", world.name, world.budget());
        line += "---|";
    }
    let _ = write!(out, " messages | every n |\n{line}---|---|\n");
    for row in rows {
        let _ = write!(out, "| `{}` |", row.protocol);
        for cell in &row.cells {
            let words = cell.words();
            let bold = if cell.standing() == Some(Standing::Holds) { "**" } else { "" };
            let _ = write!(out, " {bold}{words}{bold} |");
        }
        let proved: Vec<_> = row.proved.iter().map(|name| format!("**{name}**")).collect();
        let proved = if proved.is_empty() { "-".to_owned() } else { proved.join(", ") };
        let _ = writeln!(out, " {} | {proved} |", row.messages.words());
    }
    out += "\n| world | what happens in it |\n|---|---|\n";
    for Surrounding { name, meaning, .. } in worlds {
        let _ = writeln!(out, "| {name} | {meaning} |");
    }
    out += "\n| name in a cell | property | asked of | in words |\n|---|---|---|---|\n";
    for Name { shown, property, protocols, meaning } in names(rows) {
        let of = protocols.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let of = if of.is_empty() { "all".to_owned() } else { of };
        let _ = writeln!(out, "| {shown} | `{property}` | {of} | {meaning} |");
    }
    out
}

/// A name that cells show.
pub struct Name {
    /// The name.
    pub shown: &'static str,
    /// The property that it is about.
    pub property: &'static str,
    /// The protocols whose own the property is; none if every protocol is asked for it.
    pub protocols: Vec<&'static str>,
    /// The property in words.
    pub meaning: &'static str,
}

/// The names that the cells show, each once: first those of worlds, then those that are proved for
/// every number of processes.
#[must_use]
pub fn names(rows: &[Row]) -> Vec<Name> {
    let mut all: Vec<Name> = Vec::new();
    let of = |row: &Row, (shown, property)| (row.protocol, shown, property);
    let shown = rows
        .iter()
        .flat_map(|row| row.cells.iter().flat_map(Cell::names).map(move |names| of(row, names)));
    let proved = rows.iter().flat_map(|row| row.proved.iter().map(move |&n| of(row, (n, n))));
    for (protocol, shown, property) in shown.chain(proved) {
        let Some(meaning) = meaning(protocol, property) else { continue };
        let is = |known: &&mut Name| (known.shown, known.meaning) == (shown, meaning);
        match all.iter_mut().find(is) {
            Some(known) if known.protocols.contains(&protocol) => {}
            Some(known) => known.protocols.push(protocol),
            None => all.push(Name { shown, property, protocols: vec![protocol], meaning }),
        }
    }
    for name in &mut all {
        if REGISTRY.iter().all(|one| meaning(one.name(), name.property) == Some(name.meaning)) {
            name.protocols.clear();
        }
    }
    all
}

/// A property of a protocol in words, or what is proved of it besides.
fn meaning(protocol: &str, property: &str) -> Option<&'static str> {
    let (usual, timed) = REGISTRY.find(protocol).ok()?.properties();
    let known = usual.iter().chain(&timed).find(|known| known.name == property);
    let proved = || {
        let is_proved = proved::proved(protocol).contains(&property);
        is_proved.then(|| proved::meaning(property)).flatten()
    };
    known.map(|known| known.meaning).or_else(proved)
}

const LEFT: usize = 150;
const COLUMN: usize = 148;
const LAST: usize = 90;
/// The column of what is proved for every number of processes.
const PROVED: usize = 176;
const HEAD: usize = 56;
const LINE: usize = 16;
const PAD: usize = 10;
/// How many characters of a cell fit on a line.
const WIDE: usize = 21;
const INK: &str = "#1f2933";
const PALE: &str = "#5f6c7b";

/// The lines of a cell, each in its colour.
type Lines = Vec<(&'static str, String)>;

/// The matrix as an SVG.
#[must_use]
pub fn svg(worlds: &[Surrounding], rows: &[Row]) -> String {
    let texts: Vec<Vec<Lines>> =
        rows.iter().map(|row| row.cells.iter().map(lines).collect()).collect();
    let most = |cells: &Vec<Lines>| cells.iter().map(Vec::len).max().unwrap_or(1);
    let lines = |(cells, row): (&Vec<Lines>, &Row)| most(cells).max(row.proved.len());
    let heights: Vec<_> = texts.iter().zip(rows).map(|both| lines(both) * LINE + 2 * PAD).collect();
    let width = LEFT + COLUMN * worlds.len() + LAST + PROVED + PAD;
    let height = HEAD + heights.iter().sum::<usize>() + PAD;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n\
         <title>What each protocol does in each world</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    for (at, world) in worlds.iter().enumerate() {
        let middle = LEFT + at * COLUMN + COLUMN / 2;
        text(&mut out, middle, HEAD - 30, INK, world.name, true);
        text(&mut out, middle, HEAD - 14, PALE, &world.budget(), false);
    }
    let last = LEFT + worlds.len() * COLUMN + LAST / 2;
    text(&mut out, last, HEAD - 30, INK, "messages", true);
    let proved = LEFT + worlds.len() * COLUMN + LAST;
    text(&mut out, proved + PROVED / 2, HEAD - 30, INK, "every n", true);
    let mut top = HEAD;
    for ((row, texts), &high) in rows.iter().zip(&texts).zip(&heights) {
        text(&mut out, LEFT / 2, top + high / 2 + 4, INK, row.protocol, true);
        for (at, (cell, lines)) in row.cells.iter().zip(texts).enumerate() {
            square(&mut out, LEFT + at * COLUMN, top, high, COLUMN, cell.standing(), lines);
        }
        text(&mut out, last, top + high / 2 + 4, INK, &row.messages.words(), false);
        if !row.proved.is_empty() {
            let (_, ink) = colours(Some(Standing::Holds));
            let lines = row.proved.iter().map(|&name| (ink, name.to_owned())).collect();
            square(&mut out, proved, top, high, PROVED, Some(Standing::Holds), &lines);
        }
        top += high;
    }
    out + "</svg>\n"
}

/// What a cell says, a line or more for each part of it.
fn lines(cell: &Cell) -> Lines {
    let parts = cell.parts().into_iter();
    let lines: Lines = parts
        .flat_map(|(standing, words)| {
            broken(&words).into_iter().map(move |line| (colours(Some(standing)).1, line))
        })
        .collect();
    if lines.is_empty() { vec![(PALE, cell.words())] } else { lines }
}

/// The colours of a cell that stands like this, and of its words.
fn colours(standing: Option<Standing>) -> (&'static str, &'static str) {
    match standing {
        Some(Standing::Fails) => ("#fbdcdc", "#b91c1c"),
        Some(Standing::Unknown(_) | Standing::Vacuous | Standing::Within) => ("#fff3d1", "#8a5a00"),
        Some(Standing::NotPromised) => ("#e6eef8", "#33567f"),
        Some(Standing::Holds) => ("#d8f0de", "#1e6b3a"),
        None => ("#eef1f4", PALE),
    }
}

fn square(
    out: &mut String,
    x: usize,
    y: usize,
    high: usize,
    column: usize,
    standing: Option<Standing>,
    lines: &Lines,
) {
    let (fill, _) = colours(standing);
    let (wide, tall) = (column - 4, high - 4);
    let _ = writeln!(
        out,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{tall}\" rx=\"4\" fill=\"{fill}\"/>"
    );
    let bold = standing == Some(Standing::Holds);
    let first = y + high / 2 + 3 - (lines.len() - 1) * LINE / 2;
    for (at, (ink, line)) in lines.iter().enumerate() {
        text(out, x + wide / 2, first + at * LINE, ink, line, bold);
    }
}

fn text(out: &mut String, x: usize, y: usize, ink: &str, words: &str, bold: bool) {
    let weight = if bold { " font-weight=\"600\"" } else { "" };
    let _ = writeln!(
        out,
        "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" fill=\"{ink}\"{weight}>{words}</text>"
    );
}

/// The words on lines that fit into a cell.
fn broken(words: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= WIDE => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
