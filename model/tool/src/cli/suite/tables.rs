//! What came of a suite, for other programs: JSON, the XML of JUnit, and a table in Markdown.

use super::case::{Done, End};
use serde_json::{Value, json};
use std::fmt::Write;

/// The object that `--json` prints.
pub(super) fn json(file: &str, done: &[Done<'_>]) -> Value {
    let case = |one: &Done<'_>| {
        let ran = one.ran.as_ref();
        json!({
            "name": one.case.name,
            "command": one.case.command,
            "end": one.end().key(),
            "differs": ran.map(|ran| &ran.differs),
            "unknown": ran.map(|ran| &ran.undecided),
            "error": ran.and_then(|ran| ran.failed.as_ref()),
            "left_out": ran.and_then(|ran| ran.left_out.as_ref()),
            "properties": ran.map(|ran| &ran.properties),
            "states": ran.and_then(|ran| ran.states),
            "transitions": ran.and_then(|ran| ran.transitions),
            "seconds": one.seconds(),
        })
    };
    json!({ "suite": file, "cases": done.iter().map(case).collect::<Vec<_>>() })
}

/// How many cases there are, and how they end: "3 cases: 2 as expected, 1 differs".
pub(super) fn counted(done: &[Done<'_>]) -> String {
    use End::{AsExpected, Differs, Failed, LeftOut, NotRun, Unknown};
    let ends = [AsExpected, Differs, Failed, Unknown, NotRun, LeftOut];
    let counts = ends.map(|end| (number(done, &[end]), end.words()));
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, words)| format!("{count} {words}")).collect();
    let s = if done.len() == 1 { "" } else { "s" };
    format!("{} case{s}: {}", done.len(), counts.join(", "))
}

fn number(done: &[Done<'_>], ends: &[End]) -> usize {
    done.iter().filter(|one| ends.contains(&one.end())).count()
}

/// The XML. A case that is not decided is an error there, for it is no success.
pub(super) fn junit(file: &str, done: &[Done<'_>]) -> String {
    let seconds: f64 = done.iter().map(Done::seconds).sum();
    let (name, failed) = (escaped(file), number(done, &[End::Failed, End::Unknown]));
    let skipped = number(done, &[End::NotRun, End::LeftOut]);
    let differ = number(done, &[End::Differs]);
    let of = format!(
        "name=\"{name}\" tests=\"{}\" failures=\"{differ}\" errors=\"{failed}\" \
         skipped=\"{skipped}\" time=\"{seconds:.3}\"",
        done.len()
    );
    let mut xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let _ = writeln!(xml, "<testsuites {of}>\n  <testsuite {of}>");
    for one in done {
        test_case(&mut xml, file, one);
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

fn test_case(xml: &mut String, file: &str, one: &Done<'_>) {
    let (class, name, seconds) = (escaped(file), escaped(&one.case.name), one.seconds());
    let begin =
        format!("    <testcase classname=\"{class}\" name=\"{name}\" time=\"{seconds:.3}\"");
    let kind = match one.end() {
        End::AsExpected => {
            let _ = writeln!(xml, "{begin}/>");
            return;
        }
        End::Differs => "failure",
        End::Failed | End::Unknown => "error",
        End::NotRun | End::LeftOut => "skipped",
    };
    let (words, problems) = (one.end().words(), one.problems());
    let message = if problems.is_empty() { words } else { &*problems };
    let (message, command) = (escaped(message), escaped(&one.case.command));
    let _ = writeln!(xml, "{begin}>");
    let _ = match one.end() {
        End::NotRun | End::LeftOut => writeln!(xml, "      <skipped message=\"{message}\"/>"),
        _ => writeln!(xml, "      <{kind} message=\"{message}\">{command}</{kind}>"),
    };
    xml.push_str("    </testcase>\n");
}

/// Text as it may stand in XML, between tags or in quotation marks. What XML has no way to write is
/// replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // In an attribute, they would be read as spaces.
            '\t' | '\n' | '\r' => {
                let _ = write!(out, "&#{};", u32::from(c));
            }
            '\u{FFFE}' | '\u{FFFF}' => out.push('\u{FFFD}'),
            c if c < ' ' => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}

pub(super) fn markdown(file: &str, done: &[Done<'_>]) -> String {
    let mut page = format!("**{}**: {}.\n\n", cell(file), counted(done));
    page.push_str("| case | result | what | states | seconds |\n|---|---|---|---|---|\n");
    for one in done {
        let states = one.ran.as_ref().and_then(|ran| ran.states);
        let states = states.map(|states| states.to_string()).unwrap_or_default();
        let _ = writeln!(
            page,
            "| {} | {} | {} | {states} | {:.2} |",
            cell(&one.case.name),
            one.end().words(),
            cell(&one.problems()),
            one.seconds()
        );
    }
    let shown = |one: &&Done<'_>| matches!(one.end(), End::Differs | End::Failed);
    for one in done.iter().filter(shown) {
        let _ = write!(page, "\n{}:\n\n```\n{}\n```\n", cell(&one.case.name), one.case.command);
    }
    page
}

/// Text as it may stand in a table: nothing in it ends the cell, or is read as a mark.
fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            '|' | '*' | '_' | '`' | '<' | '[' | ']' | '\\' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{cell, escaped};

    #[test]
    fn xml_says_what_was_said_and_cannot_be_broken_out_of() {
        assert_eq!(escaped("a<b>&\"c'"), "a&lt;b&gt;&amp;&quot;c&#39;");
        assert_eq!(escaped("one\n two\tthree"), "one&#10; two&#9;three");
        assert_eq!(escaped("\u{0}\u{1b}[1m\u{FFFE}"), "\u{FFFD}\u{FFFD}[1m\u{FFFD}");
        assert_eq!(escaped("□ ¬∃ i"), "□ ¬∃ i");
    }

    #[test]
    fn a_cell_stays_one_cell() {
        assert_eq!(cell("never(a || b)\n<b>"), "never(a \\|\\| b) \\<b>");
        assert_eq!(cell("`x`"), "\\`x\\`");
    }
}
