//! All wrong programs in one build: a function with mistakes has one body for each of them, and
//! which one runs is said in the environment when the program starts.
//!
//! To build each wrong program by itself would take most of a day. A mistake outside of all such
//! functions, such as in a constant, is left, and is built alone.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::set::Mutant;

/// Says which of them runs: a number, or nothing for the right program. Those who start daemons
/// take the variables of the daemon out of the environment, and this is none of them.
pub(crate) const WHICH: &str = "WRONG_PROGRAM";

/// What the root of a package has in addition: the number of the wrong program that runs.
pub(crate) const ROOT: &str = r#"
/// The number of the wrong program that runs; 0 is none.
#[doc(hidden)]
#[allow(unreachable_pub)]
pub fn wrong_program() -> u32 {
    static WHICH: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    let read = || std::env::var("WRONG_PROGRAM").ok()?.parse().ok();
    *WHICH.get_or_init(|| read().unwrap_or(0))
}
"#;

/// A file with all of its mistakes.
pub(crate) struct Woven {
    pub(crate) text: String,
    /// Where the body of each stands in the text.
    pub(crate) bodies: Vec<(Range<usize>, u32)>,
}

impl Woven {
    pub(crate) fn whose(&self, at: usize) -> Option<u32> {
        let there = self.bodies.iter().find(|(body, _)| body.contains(&at));
        there.map(|&(_, number)| number)
    }
}

/// By where the right body begins: its end, and the wrong ones.
type Functions = BTreeMap<usize, (usize, Vec<(u32, String)>)>;

/// The source with these mistakes of one file, each with its number, and the numbers of those that
/// are left.
pub(crate) fn weave(source: &str, wrong: &[(u32, &Mutant)]) -> (Woven, BTreeSet<u32>) {
    let mut functions = Functions::new();
    let mut left = BTreeSet::new();
    for &(number, mutant) in wrong {
        let bodies = mutant.edits.iter().map(|edit| edit.body.clone());
        let Some(mut bodies) = bodies.collect::<Option<Vec<_>>>() else {
            left.insert(number);
            continue;
        };
        bodies.dedup();
        for body in bodies {
            let (_, of_one) = functions.entry(body.start).or_insert((body.end, Vec::new()));
            of_one.push((number, mutant.part(&body)));
        }
    }
    (write(source, &functions), left)
}

/// The source in which each of these functions chooses among its bodies.
fn write(source: &str, functions: &Functions) -> Woven {
    let (mut text, mut bodies, mut copied) = (String::new(), Vec::new(), 0);
    for (&start, (end, wrong)) in functions {
        text += &source[copied..start];
        text += "{ match crate::wrong_program() {\n";
        for (number, body) in wrong {
            text += &format!("{number} => ");
            let from = text.len();
            text += body;
            bodies.push((from..text.len(), *number));
            text += "\n";
        }
        text += "_ => ";
        text += &source[start..*end];
        text += "\n} }";
        copied = *end;
    }
    text += &source[copied..];
    Woven { text, bodies }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::{By, Way};
    use crate::source::{Source, find};

    const SOURCE: &str = "\
/// Doubles: { and } in a word.
const TWO: u32 = 2;
fn double(one: u32) -> u32 {
    let text = \"}\";
    one * TWO + text.len() as u32 - 1
}
impl Some {
    fn half(&self) -> u32 { self.0 / 2 }
    const fn none() -> u32 { 0 }
    fn all(&self) -> impl Iterator<Item = u32> { 0..7 }
}
";

    /// What is replaced in this item by what.
    fn mutant(edits: &[[&str; 3]]) -> Mutant {
        let source = Source::parse("impl/core/src/some.rs", SOURCE).expect("a source");
        let sources = [source];
        let edit = |&[item, pattern, replace]: &[&str; 3]| {
            find(&sources, item, pattern, replace.to_owned()).expect("there").1
        };
        Mutant {
            list: "some".to_owned(),
            file: sources[0].file.clone(),
            source: sources[0].text.clone(),
            name: "some".to_owned(),
            wrong: "It is wrong.".to_owned(),
            edits: edits.iter().map(edit).collect(),
            by: By { way: Way::Tests, what: vec!["some::tests".to_owned()] },
            survives: None,
            bug: None,
        }
    }

    #[test]
    fn each_mistake_has_its_body_and_the_right_one_is_the_last() {
        let adds = mutant(&[["double", "one * TWO", "one + TWO"]]);
        let both = mutant(&[["double", "one * TWO", "one"], ["half", "self.0 / 2", "self.0"]]);
        let (woven, left) = weave(SOURCE, &[(4, &adds), (7, &both)]);
        assert!(left.is_empty());
        let text = &woven.text;
        assert!(Source::parse("impl/core/src/some.rs", text).is_ok(), "still a source:\n{text}");
        for part in [
            "-> u32 { match crate::wrong_program() {\n4 => {\n    let text",
            "one + TWO + text",
            "7 => {\n    let text = \"}\";\n    one + text.len()",
            "_ => {\n    let text = \"}\";\n    one * TWO + text",
            "match crate::wrong_program() {\n7 => { self.0 }\n_ => { self.0 / 2 }\n} }",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        let whose = |part: &str| woven.whose(text.find(part).expect("it is there"));
        assert_eq!(whose("one + TWO"), Some(4));
        assert_eq!(whose("one + text"), Some(7));
        assert_eq!(whose("one * TWO"), None);
    }

    #[test]
    fn what_is_in_no_function_with_several_bodies_is_left() {
        for edit in [
            ["TWO", "= 2", "= 3"],
            ["none", "u32 { 0 }", "u32 { 1 }"],
            ["none", "{ 0 }", "{ 1 }"],
            ["all", "0..7", "0..8"],
            ["half", "-> u32 { self", "-> u32 { 1 + self"],
        ] {
            let (woven, left) = weave(SOURCE, &[(1, &mutant(&[edit]))]);
            assert_eq!(left, BTreeSet::from([1]), "{edit:?}");
            assert_eq!(woven.text, SOURCE);
        }
    }
}
