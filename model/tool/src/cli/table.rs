//! Tables: as wide as the terminal, and no wider than 80 columns in a pipe, without a broken word.

use super::text;
use anstyle::{AnsiColor, Style};
use std::fmt;

/// A cell of a table.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// Returns a cell with this text.
    pub fn new(text: impl fmt::Display) -> Cell {
        Cell { text: text.to_string(), style: Style::new() }
    }

    /// Returns the same cell in a colour.
    #[must_use]
    pub fn in_colour(self, colour: AnsiColor) -> Cell {
        Cell { style: colour.on_default(), ..self }
    }
}

impl<T: fmt::Display> From<T> for Cell {
    fn from(text: T) -> Cell {
        Cell::new(text)
    }
}

/// A table with a header.
#[derive(Clone, Debug)]
pub struct Table {
    header: Vec<Cell>,
    rows: Vec<Vec<Cell>>,
    /// Whether everything stands at the right of its column, as numbers do.
    right: bool,
}

/// What a table costs in width besides its texts: the frame, and for each column the space around
/// it.
const FRAME: usize = 1;
const AROUND: usize = 3;

impl Table {
    /// Returns a table without rows.
    pub fn new<C: Into<Cell>>(header: impl IntoIterator<Item = C>) -> Table {
        let header = header.into_iter().map(Into::into).collect();
        Table { header, rows: Vec::new(), right: false }
    }

    /// Returns the same table, with everything at the right of its column.
    #[must_use]
    pub fn at_the_right(self) -> Table {
        Table { right: true, ..self }
    }

    /// Adds a row, which has as many cells as the header.
    pub fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Returns the table in lines that are no wider than `width`, if words allow it. Where not even
    /// the longest words of all columns fit beside each other, each row is a paragraph.
    fn draw(&self, width: usize) -> String {
        match self.widths(width) {
            Some(widths) => self.framed(&widths),
            None => self.paragraphs(width),
        }
    }

    fn all_rows(&self) -> impl Iterator<Item = &Vec<Cell>> {
        std::iter::once(&self.header).chain(&self.rows)
    }

    /// The widths of the columns, if the table fits.
    fn widths(&self, width: usize) -> Option<Vec<usize>> {
        let of = |at: usize, measure: fn(&str) -> usize| {
            let cells = self.all_rows().filter_map(move |row| row.get(at));
            cells.map(|cell| measure(&cell.text)).max().unwrap_or(0)
        };
        let columns = 0..self.header.len();
        let whole: Vec<_> = columns.clone().map(|at| of(at, chars)).collect();
        let words: Vec<_> = columns.map(|at| of(at, longest_word)).collect();
        let room = width.checked_sub(FRAME + AROUND * whole.len())?;
        // Every column gets what it needs up to a limit, the largest for which all fit.
        let with = |limit: usize| -> Vec<usize> {
            whole.iter().zip(&words).map(|(&whole, &word)| whole.min(limit).max(word)).collect()
        };
        let most = whole.iter().copied().max().unwrap_or(0);
        (0..=most).rev().map(with).find(|widths| widths.iter().sum::<usize>() <= room)
    }

    fn framed(&self, widths: &[usize]) -> String {
        let inside = widths.iter().sum::<usize>() + AROUND * widths.len() - FRAME;
        let line =
            |left: &str, fill: &str, right: &str| format!("{left}{}{right}\n", fill.repeat(inside));
        let mut out = line("┌", "─", "┐");
        out += &self.lines(&self.header, widths);
        out += &line("╞", "═", "╡");
        for row in &self.rows {
            out += &self.lines(row, widths);
        }
        out += line("└", "─", "┘").trim_end();
        out
    }

    /// A row, in as many lines as its longest cell needs.
    fn lines(&self, row: &[Cell], widths: &[usize]) -> String {
        let cell = |(cell, &width): (&Cell, &usize)| -> Vec<String> {
            let text = text::wrap(&cell.text, Some(width));
            text.lines().map(|line| self.padded(line, width, cell.style)).collect()
        };
        let cells: Vec<_> = row.iter().zip(widths).map(cell).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let mut out = String::new();
        for at in 0..height {
            let empty = |&width: &usize| " ".repeat(width);
            let parts = cells.iter().zip(widths);
            let parts = parts.map(|(lines, width)| lines.get(at).cloned().unwrap_or(empty(width)));
            out += &format!("│ {} │\n", parts.collect::<Vec<_>>().join("   "));
        }
        out
    }

    fn padded(&self, line: &str, width: usize, style: Style) -> String {
        let space = " ".repeat(width.saturating_sub(chars(line)));
        let (begin, end) = (style.render(), style.render_reset());
        let line = format!("{begin}{line}{end}");
        if self.right { space + &line } else { line + &space }
    }

    /// Each row by itself: what stands first, and below it everything else by its name.
    fn paragraphs(&self, width: usize) -> String {
        let mut out = Vec::new();
        for row in &self.rows {
            let mut lines = Vec::new();
            for (at, (name, cell)) in self.header.iter().zip(row).enumerate() {
                let (begin, end) = (cell.style.render(), cell.style.render_reset());
                let line = match at {
                    0 => format!("{begin}{}{end}", cell.text),
                    _ if cell.text.is_empty() => continue,
                    _ => format!("  {}: {begin}{}{end}", name.text, cell.text),
                };
                lines.push(text::wrap(&line, Some(width)));
            }
            out.push(lines.join("\n"));
        }
        out.join("\n\n")
    }
}

/// How many columns a table has in a pipe.
const PIPE: usize = 80;

/// As on standard output.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.draw(text::width().unwrap_or(PIPE)))
    }
}

fn chars(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

fn longest_word(text: &str) -> usize {
    text.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(["property", "formula"]);
        table.row(["at-most-one-leader", "□ ¬∃ i ≠ j: leads(i) ∧ leads(j)"]);
        table.row(["decided", "□ (quiescent ⇒ all)"]);
        table
    }

    #[test]
    fn where_there_is_room_each_row_is_a_line() {
        let drawn = "\
┌──────────────────────────────────────────────────────┐
│ property             formula                         │
╞══════════════════════════════════════════════════════╡
│ at-most-one-leader   □ ¬∃ i ≠ j: leads(i) ∧ leads(j) │
│ decided              □ (quiescent ⇒ all)             │
└──────────────────────────────────────────────────────┘";
        assert_eq!(table().draw(PIPE), drawn);
        assert_eq!(table().draw(56), drawn);
    }

    #[test]
    fn what_is_too_wide_breaks_between_words() {
        let drawn = "\
┌─────────────────────────────────────┐
│ property             formula        │
╞═════════════════════════════════════╡
│ at-most-one-leader   □ ¬∃ i ≠ j:    │
│                      leads(i) ∧     │
│                      leads(j)       │
│ decided              □ (quiescent ⇒ │
│                      all)           │
└─────────────────────────────────────┘";
        assert_eq!(table().draw(39), drawn);
    }

    #[test]
    fn rows_that_fit_nowhere_are_paragraphs() {
        let drawn = "\
at-most-one-leader
  formula: □ ¬∃ i ≠ j:
  leads(i) ∧ leads(j)

decided
  formula: □ (quiescent
  ⇒ all)";
        assert_eq!(table().draw(24), drawn);
    }

    #[test]
    fn numbers_stand_at_the_right() {
        let mut table = Table::new(["Tm", "states"]).at_the_right();
        table.row(["1", "20"]);
        assert!(table.draw(PIPE).contains("│  1       20 │"), "{}", table.draw(PIPE));
    }
}
