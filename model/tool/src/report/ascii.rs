//! The nearest thing in ASCII, for terminals and logs that have nothing else.

use std::io::{self, Write};

/// Returns a text in ASCII.
#[must_use]
pub fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| put(c, &mut out));
    out
}

/// Returns JSON in ASCII, which says the same.
#[must_use]
pub fn json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            // Outside of ASCII there are only strings.
            for unit in c.encode_utf16(&mut [0; 2]) {
                out += &format!("\\u{unit:04x}");
            }
        }
    }
    out
}

/// Puts a character into a text. What stands in a drawing keeps its width of one.
pub(super) fn put(c: char, out: &mut String) {
    out.push_str(match c {
        '│' => "|",
        '┊' | '┆' => ":",
        '─' | '━' | '–' => "-",
        '═' => "=",
        '╌' | '┄' | '…' => ".",
        '├' | '┤' | '┼' | '┌' | '└' | '┐' | '┘' | '╞' | '╡' => "+",
        '►' | '→' | '▸' => ">",
        '◄' => "<",
        '╳' | '✗' => "x",
        '●' => "*",
        '○' => "o",
        '◷' => "@",
        '·' => "*",
        '□' => "[]",
        '◇' => "<>",
        '¬' => "!",
        '∃' => "exists",
        '∀' => "all",
        '∧' => "and",
        '∨' => "or",
        '⇒' => "=>",
        '⇝' => "~>",
        '≠' => "!=",
        '≥' => ">=",
        '≤' => "<=",
        '∈' => "in",
        '∉' => "not in",
        '²' => "^2",
        '³' => "^3",
        '½' => "1/2",
        '⅓' => "1/3",
        c if c.is_ascii() => return out.push(c),
        _ => "?",
    });
}

/// A writer that writes in ASCII what is written as UTF-8.
#[derive(Debug)]
pub struct Ascii<W>(pub W);

impl<W: Write> Write for Ascii<W> {
    /// What is formatted comes in whole characters.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(text(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_says_the_same() {
        let says = serde_json::json!({ "formula": "◇□ ∀ i: p ⇝ q", "smile": "\u{1f600}" });
        let ascii = json(&says.to_string());
        assert!(ascii.is_ascii(), "{ascii}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&ascii).expect("JSON"), says);
    }

    #[test]
    fn what_is_written_is_ascii() {
        let mut written = Ascii(Vec::new());
        let (property, line) = ("□ p", '┆');
        writeln!(written, "{property} {line}").expect("memory");
        assert_eq!(String::from_utf8(written.0).expect("ASCII"), "[] p :\n");
    }
}
