//! The commands that a document shows.
//!
//! In a `console` block, a line that begins with the prompt is a command of the program. The lines
//! below it must be printed, in this order; a line `...` stands for any number of lines, and a line
//! that ends with `...` for any line that begins so.

use std::fs;
use std::path::Path;

/// A command that a document shows, and what it shows of the output.
pub(crate) struct Example {
    /// Where it stands.
    pub(crate) place: String,
    /// What is behind the program.
    pub(crate) args: String,
    expected: Vec<String>,
}

/// The commands that a document shows behind this prompt.
pub(crate) fn examples(document: &Path, prompt: &str) -> Vec<Example> {
    let text = fs::read_to_string(document).expect("the document can be read");
    let mut examples: Vec<Example> = Vec::new();
    let (mut in_block, mut in_example) = (false, false);
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with("```") {
            in_block = !in_block && line == "```console";
            in_example = false;
        } else if let Some(args) = line.strip_prefix(prompt).filter(|_| in_block) {
            let place = format!("{}:{number}", document.display());
            examples.push(Example { place, args: args.to_owned(), expected: Vec::new() });
            in_example = true;
        } else if line.starts_with("$ ") {
            in_example = false;
        } else if let Some(example) = examples.last_mut().filter(|_| in_example) {
            example.expected.push(line.to_owned());
        }
    }
    examples
}

fn matches(printed: &str, expected: &str) -> bool {
    match expected.strip_suffix("...") {
        Some(beginning) => printed.starts_with(beginning),
        None => printed.trim_end() == expected.trim_end(),
    }
}

/// Fails if something else was printed than the document shows.
pub(crate) fn compare(example: &Example, printed: &str) {
    let mut lines = printed.lines();
    let mut skipping = true;
    for expected in &example.expected {
        if expected == "..." {
            skipping = true;
            continue;
        }
        let found = match skipping {
            true => lines.any(|line| matches(line, expected)),
            false => lines.next().is_some_and(|line| matches(line, expected)),
        };
        assert!(found, "{}: not printed (here):\n{expected}\nbut:\n{printed}", example.place);
        skipping = false;
    }
}
