//! What is printed: as wide as the terminal.

pub use bellwether_cli::json::print as print_json;
use std::io;
use terminal_size::{Width, terminal_size_of};

/// Returns how many columns there are: as many as `COLUMNS` says, or the terminal has; nothing when
/// the output goes elsewhere.
#[must_use]
pub fn width() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size_of(io::stdout()).map(|(Width(columns), _)| columns);
    said.or_else(terminal).filter(|&columns| columns > 0).map(usize::from)
}

/// Returns a count, with a comma between thousands.
#[must_use]
pub fn count(count: u64) -> String {
    indicatif::HumanCount(count).to_string()
}

/// Returns the same text, its lines broken between words where they are wider than `width`. What
/// follows a number such as `12.` or `1-3.` stays to the right of it.
pub fn wrap(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for line in text.split_inclusive('\n') {
        wrap_line(line, width, &mut out);
    }
    out
}

fn wrap_line(line: &str, width: usize, out: &mut String) {
    let hang = hang(line);
    out.push_str(&line[..hang]);
    let mut column = hang;
    for (at, word) in line[hang..].split(' ').enumerate() {
        let wide = visible(word.trim_end());
        if at > 0 && column + 1 + wide > width && column > hang {
            out.push('\n');
            out.push_str(&" ".repeat(hang));
            column = hang;
        } else if at > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += wide;
    }
}

/// How many characters are seen of a text that may have colours.
fn visible(text: &str) -> usize {
    let mut count = 0;
    let mut escaped = false;
    for c in text.chars() {
        match c {
            '\u{1b}' => escaped = true,
            'm' if escaped => escaped = false,
            _ => count += usize::from(!escaped),
        }
    }
    count
}

/// How far the later lines of a broken line stand from the left.
fn hang(line: &str) -> usize {
    let body = line.trim_start_matches(' ');
    let lead = line.len() - body.len();
    let digits = body.bytes().take_while(|b| b.is_ascii_digit() || *b == b'-').count();
    let numbered = digits > 0 && body[digits..].starts_with(". ");
    lead + if numbered { digits + 2 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn lines_break_between_words_beside_their_number_and_colours_take_no_room() {
        let bold = "\u{1b}[1mone\u{1b}[0m two";
        for (text, width, broken) in [
            (" 1. one two three\nfour five\n", Some(11), " 1. one two\n    three\nfour five\n"),
            (bold, Some(7), bold),
            // A word that fits nowhere stays whole.
            ("  2. enormous word", Some(6), "  2. enormous\n     word"),
            ("as it is", None, "as it is"),
        ] {
            assert_eq!(wrap(text, width), broken);
        }
    }
}
