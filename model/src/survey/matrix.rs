//! The matrix of the survey, as Markdown and as a picture.

use super::{Cell, Row, Surrounding};
use crate::check::Verdict;
use std::fmt::Write;

/// The matrix as a table in Markdown. What holds is set in bold.
#[must_use]
pub fn markdown(worlds: &[Surrounding], rows: &[Row]) -> String {
    let mut out = String::from("| protocol |");
    let mut line = String::from("|---|");
    for world in worlds {
        let _ = write!(out, " {} |", world.name);
        line += "---|";
    }
    let _ = write!(out, " messages |\n{line}---|\n");
    for row in rows {
        let _ = write!(out, "| `{}` |", row.protocol);
        for cell in &row.cells {
            let words = cell.words();
            let bold = if cell.verdict() == Some(Verdict::Holds) { "**" } else { "" };
            let _ = write!(out, " {bold}{words}{bold} |");
        }
        let _ = writeln!(out, " {} |", row.messages.words());
    }
    out
}

const LEFT: usize = 150;
const COLUMN: usize = 132;
const HEAD: usize = 44;
const LINE: usize = 16;
const PAD: usize = 10;
/// How many characters of a cell fit on a line.
const WIDE: usize = 19;

/// The matrix as an SVG.
#[must_use]
pub fn svg(worlds: &[Surrounding], rows: &[Row]) -> String {
    let texts: Vec<Vec<Vec<String>>> = rows
        .iter()
        .map(|row| row.cells.iter().map(|cell| broken(&cell.words())).collect())
        .collect();
    let lines = |cells: &Vec<Vec<String>>| cells.iter().map(Vec::len).max().unwrap_or(1);
    let heights: Vec<_> = texts.iter().map(|cells| lines(cells) * LINE + 2 * PAD).collect();
    let width = LEFT + COLUMN * (worlds.len() + 1) + PAD;
    let height = HEAD + heights.iter().sum::<usize>() + PAD;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n\
         <title>What each protocol does in each world</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    let head = worlds.iter().map(|world| world.name).chain(["messages"]);
    for (at, name) in head.enumerate() {
        text(
            &mut out,
            (LEFT + at * COLUMN + COLUMN / 2, HEAD - 16),
            "middle",
            "#1f2933",
            name,
            true,
        );
    }
    let mut top = HEAD;
    for ((row, texts), &high) in rows.iter().zip(&texts).zip(&heights) {
        text(&mut out, (PAD, top + high / 2 + 4), "start", "#1f2933", row.protocol, true);
        for (at, (cell, lines)) in row.cells.iter().zip(texts).enumerate() {
            square(&mut out, (LEFT + at * COLUMN, top, high), cell, lines);
        }
        let middle = (LEFT + row.cells.len() * COLUMN + COLUMN / 2, top + high / 2 + 4);
        text(&mut out, middle, "middle", "#1f2933", &row.messages.words(), false);
        top += high;
    }
    out + "</svg>\n"
}

fn square(out: &mut String, (x, y, high): (usize, usize, usize), cell: &Cell, lines: &[String]) {
    let (fill, ink) = match cell.verdict() {
        Some(Verdict::Holds) => ("#d8f0de", "#1e6b3a"),
        Some(Verdict::Violated) => ("#fbdcdc", "#b91c1c"),
        Some(Verdict::HoldsWithin | Verdict::Unknown) => ("#fff3d1", "#8a5a00"),
        None => ("#eef1f4", "#5f6c7b"),
    };
    let (wide, tall) = (COLUMN - 4, high - 4);
    let _ = writeln!(
        out,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{tall}\" rx=\"4\" fill=\"{fill}\"/>"
    );
    let first = y + high / 2 + 3 - (lines.len() - 1) * LINE / 2;
    for (at, line) in lines.iter().enumerate() {
        text(out, (x + wide / 2, first + at * LINE), "middle", ink, line, false);
    }
}

fn text(
    out: &mut String,
    (x, y): (usize, usize),
    anchor: &str,
    ink: &str,
    words: &str,
    bold: bool,
) {
    let weight = if bold { " font-weight=\"600\"" } else { "" };
    let _ = writeln!(
        out,
        "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" fill=\"{ink}\"{weight}>{words}</text>"
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
