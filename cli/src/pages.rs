//! The pages of the manual: what clap says of a command, and then its examples and exit statuses.

use clap::Command;
use clap_mangen::Man;
use std::io;

/// What begins the part of a help that lists exit statuses.
const STATUS: &str = "Exit status:";

/// The pages of a program and of all commands below it, each with the name of its file.
pub(crate) fn pages(program: Command) -> io::Result<Vec<(String, String)>> {
    let mut program = whole(program);
    // So that each page names its command as it is typed.
    program.build();
    let usual = After::of(&program).statuses;
    let mut found = Vec::new();
    collect(&program, &usual, &mut found)?;
    Ok(found)
}

/// A command of which nothing is left out: neither what `-h` does not show, nor commands for help.
fn whole(command: Command) -> Command {
    let command = command.disable_help_subcommand(true);
    command.mut_args(|arg| arg.hide_short_help(false)).mut_subcommands(whole)
}

fn collect(
    command: &Command,
    usual: &[String],
    found: &mut Vec<(String, String)>,
) -> io::Result<()> {
    found.push(page(command, usual)?);
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        collect(below, usual, found)?;
    }
    Ok(())
}

/// The page of a command. Without exit statuses of its own, it has the `usual` ones.
fn page(command: &Command, usual: &[String]) -> io::Result<(String, String)> {
    let man = Man::new(command.clone());
    let mut page: Vec<u8> = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.get_subcommands().any(|below| !below.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    let After { examples, notes, statuses } = After::of(command);
    let statuses = if statuses.is_empty() { usual } else { statuses.as_slice() };
    let sections = [("EXAMPLES", &*examples), ("NOTES", &*notes), ("EXIT STATUS", statuses)];
    let sections = sections.map(|(heading, paragraphs)| section(heading, paragraphs));
    let page = String::from_utf8_lossy(&page).into_owned() + &sections.concat();
    Ok((man.get_filename(), page))
}

/// What stands behind the help of a command, in paragraphs.
#[derive(Default)]
struct After {
    examples: Vec<String>,
    notes: Vec<String>,
    statuses: Vec<String>,
}

impl After {
    fn of(command: &Command) -> After {
        let mut after = After::default();
        let said = command.get_after_long_help().or_else(|| command.get_after_help());
        let said = said.map(ToString::to_string).unwrap_or_default();
        for paragraph in said.split("\n\n") {
            let (before, status) = apart(paragraph);
            match before.strip_prefix("Examples:\n") {
                Some(examples) => add(&mut after.examples, examples),
                None => add(&mut after.notes, before),
            }
            add(&mut after.statuses, status);
        }
        if after.statuses.is_empty() {
            let about = command.get_long_about().map(ToString::to_string).unwrap_or_default();
            add(&mut after.statuses, apart(&about).1);
        }
        after
    }
}

/// What stands before the exit statuses of a text, and what they are.
fn apart(text: &str) -> (&str, &str) {
    match text.split_once(STATUS) {
        Some((before, status)) => (before, status.strip_prefix([' ', '\n']).unwrap_or(status)),
        None => (text, ""),
    }
}

fn add(paragraphs: &mut Vec<String>, text: &str) {
    if !text.trim().is_empty() {
        paragraphs.push(text.trim_end().to_owned());
    }
}

fn section(heading: &str, paragraphs: &[String]) -> String {
    if paragraphs.is_empty() {
        return String::new();
    }
    let paragraphs: Vec<String> = paragraphs.iter().map(|text| source(text)).collect();
    format!(".SH \"{heading}\"\n{}", paragraphs.join(".PP\n"))
}

/// A text as the source of a page. What is laid out in lines, as examples are, stays so.
fn source(text: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        // Such a line would be a command of the formatter.
        let guard = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
        lines += &format!("{guard}{line}\n");
    }
    let is_laid_out = text.lines().any(|line| line.starts_with(' '));
    if is_laid_out { format!(".nf\n{lines}.fi\n") } else { lines }
}

#[cfg(test)]
mod tests {
    use super::pages;
    use clap::{Arg, Command};

    #[test]
    fn each_page_has_what_is_said_of_its_command_and_the_usual_exit_statuses() {
        let seldom = Arg::new("seldom").long("seldom").help("Rarely").hide_short_help(true);
        let after = "Examples:\n  all go --seldom\n\n.odd\n\nIt goes. Exit status: 5 it went.";
        let own = Command::new("go").about("Go").arg(seldom).after_help(after);
        let other = Command::new("stay").about("Stay").subcommand(Command::new("here"));
        let all = Command::new("all").about("All").after_help("Exit status: 0 it was done.");
        let pages = pages(all.subcommands([own, other])).expect("they are made");
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["all.1", "all-go.1", "all-stay.1", "all-stay-here.1"]);
        let (own, here) = (&pages[1].1, &pages[3].1);
        for part in [
            "Rarely",
            "\n.SH \"EXAMPLES\"\n.nf\n  all go \\-\\-seldom\n.fi\n",
            "\n.SH \"NOTES\"\n\\&.odd\n.PP\nIt goes.\n",
            "\n.SH \"EXIT STATUS\"\n5 it went.\n",
        ] {
            assert!(own.contains(part), "{part} is not in\n{own}");
        }
        assert!(here.ends_with(".SH \"EXIT STATUS\"\n0 it was done.\n"), "{here}");
    }
}
