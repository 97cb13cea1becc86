//! The manual: the pages, and the short help.

use std::collections::BTreeSet;
use std::fs;

use super::common::bellwether;

#[test]
fn the_short_help_of_every_command_is_one_screen_and_the_manual_has_a_page_for_it() {
    let wrong = bellwether_docs_runner::not_one_screen(bellwether, &[]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let missing = bellwether_docs_runner::not_in_the_manual(bellwether);
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn there_is_a_page_for_each_command_that_says_what_its_help_says() {
    let one = bellwether().arg("man").output().expect("it runs");
    let page = String::from_utf8(one.stdout).expect("text");
    assert!(one.status.success() && page.contains(".TH bellwether 1"), "{page}");

    let directory = tempfile::tempdir().expect("a directory");
    let pages = directory.path().join("share/man1");
    let made = bellwether().arg("man").arg("--out").arg(&pages).output().expect("it runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let names: BTreeSet<String> = fs::read_dir(&pages)
        .expect("it is made")
        .map(|file| file.expect("a file").file_name().into_string().expect("text"))
        .collect();
    // The commands that the help lists, and the whole.
    let help = bellwether().arg("--help").output().expect("it runs");
    let help = String::from_utf8(help.stdout).expect("text");
    let (_, listed) = help.split_once("Commands:\n").expect("they are listed");
    let listed = listed.lines().take_while(|line| line.starts_with("  "));
    let commands = listed.filter_map(|line| line.split_whitespace().next());
    let commands: Vec<&str> = commands.filter(|name| *name != "help").collect();
    assert!(commands.len() > 10, "{help}");
    assert!(names.contains("bellwether.1"), "{names:?}");
    for command in commands {
        assert!(names.contains(&format!("bellwether-{command}.1")), "{command}: {names:?}");
    }
    let page = fs::read_to_string(pages.join("bellwether-status.1")).expect("readable");
    for part in ["bellwether\\-status", "\\-\\-watch", "\\-\\-json", "BELLWETHER_NODE"] {
        assert!(page.contains(part), "{part} is not in\n{page}");
    }
}
