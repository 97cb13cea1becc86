//! Blocks that show commands, and what they print.
//!
//! In a `console` block, a line that begins with `$` is a command. The lines below it must be
//! printed, in this order; a line `...` stands for any number of lines, and a line that ends with
//! `...` for any line that begins so.

use crate::pages::{Block, blocks};
use crate::{is_timed, timed};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// A program whose commands are shown.
pub struct Console<'a> {
    /// The path of the program.
    pub program: &'a str,
    /// What stands before its arguments.
    pub prompt: &'a str,
    /// Returns the exit statuses that a command may have. Without any, it is not run.
    pub statuses: &'a (dyn Fn(&str) -> &'static [i32] + Sync),
}

impl Console<'_> {
    /// Runs the slow blocks of these pages, or all others, and returns the number of commands. As
    /// many pages are run at a time as there are processors, but one if blocks are timed.
    pub fn run(&self, pages: &BTreeMap<String, String>, slow: bool) -> usize {
        let run = |(name, text): (&String, &String)| self.page(name, text, slow);
        match is_timed() {
            true => pages.iter().map(run).sum(),
            false => pages.par_iter().map(run).sum(),
        }
    }

    /// Runs the blocks of one page, one after the other, in a folder of its own.
    fn page(&self, name: &str, text: &str, slow: bool) -> usize {
        let blocks = blocks(text, "console");
        let marks = text.lines().filter(|line| line.starts_with("<!-- slow")).count();
        let marked = blocks.iter().filter(|block| block.slow).count();
        assert_eq!(marks, marked, "{name}: <!-- slow --> is for the line before a console block");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let ours = |block: &&Block| block.slow == slow && block.text.contains(self.prompt);
        let run = |block: &Block| {
            timed(&format!("{name}:{}", block.line), || self.block(name, block, folder.path()))
        };
        blocks.iter().filter(ours).map(run).sum()
    }

    /// Runs the commands of one block, and returns their number.
    fn block(&self, page: &str, block: &Block, folder: &Path) -> usize {
        let (mut line, mut commands) = (block.line, 0);
        for shown in block.text.strip_suffix('\n').unwrap_or_default().split("\n$ ") {
            let mut lines = shown.split('\n');
            let command = lines.next().unwrap_or_default().trim_start_matches("$ ");
            if let Some(args) = command.strip_prefix(self.prompt) {
                let expected: Vec<&str> = lines.collect();
                commands += self.command(&format!("{page}:{line}"), args, &expected, folder);
            }
            line += shown.split('\n').count();
        }
        commands
    }

    /// Runs one command and compares what it prints, or does not run it; how many have been run.
    fn command(&self, place: &str, args: &str, expected: &[&str], folder: &Path) -> usize {
        let statuses = (self.statuses)(args);
        if statuses.is_empty() {
            return 0;
        }
        let mut command = Command::new(self.program);
        command.args(words(args));
        let output = command.env_remove("COLUMNS").current_dir(folder).output();
        let output = output.expect("it runs");
        let status = output.status.code();
        let errors = String::from_utf8_lossy(&output.stderr);
        let is_right = status.is_some_and(|code| statuses.contains(&code));
        assert!(is_right, "{place}: exit status {status:?}: {errors}");
        compare(place, expected, &String::from_utf8_lossy(&output.stdout));
        1
    }
}

/// Returns the words of a command as a shell reads them, if it quotes with `'` alone.
#[must_use]
pub fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    words
}

fn matches(printed: &str, expected: &str) -> bool {
    match expected.strip_suffix("...") {
        Some(beginning) => printed.starts_with(beginning),
        None => printed.trim_end() == expected.trim_end(),
    }
}

/// Fails if something else was printed than the page shows.
fn compare(place: &str, expected: &[&str], printed: &str) {
    let mut lines = printed.lines();
    let mut skipping = true;
    for expected in expected {
        if *expected == "..." {
            skipping = true;
            continue;
        }
        let found = match skipping {
            true => lines.any(|line| matches(line, expected)),
            false => lines.next().is_some_and(|line| matches(line, expected)),
        };
        assert!(found, "{place}: not printed (here):\n{expected}\nbut:\n{printed}");
        skipping = false;
    }
}
