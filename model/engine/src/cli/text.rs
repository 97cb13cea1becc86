//! Sentences as wide as the terminal.

use comfy_table::Table;

/// The width of the terminal; nothing when the output goes elsewhere.
pub fn width() -> Option<usize> {
    Table::new().width().map(usize::from)
}

/// The same text, its lines broken between words where they are wider than `width`. What follows a
/// number such as `12.` stays to the right of it.
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
        let wide = word.trim_end().chars().count();
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

/// How far the later lines of a broken line stand from the left.
fn hang(line: &str) -> usize {
    let body = line.trim_start_matches(' ');
    let lead = line.len() - body.len();
    let digits = body.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = digits > 0 && body[digits..].starts_with(". ");
    lead + if numbered { digits + 2 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn lines_break_between_words_beside_their_number() {
        let broken = wrap(" 1. one two three\nfour five\n", Some(11));
        assert_eq!(broken, " 1. one two\n    three\nfour five\n");
    }

    #[test]
    fn a_word_that_fits_nowhere_stays_whole() {
        assert_eq!(wrap("  2. enormous word", Some(6)), "  2. enormous\n     word");
        assert_eq!(wrap("as it is", None), "as it is");
    }
}
