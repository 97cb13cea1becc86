//! All wrong programs in one build: a function with mistakes has one body for each of them, and
//! which one runs is said in the environment when the program starts.
//!
//! To build each wrong program by itself would take most of a day. A mistake outside of all such
//! functions, such as in a constant, is left, and is built alone.

use anyhow::{Context as _, Result};
use proc_macro2::TokenTree;
use quote::ToTokens as _;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use syn::spanned::Spanned as _;
use syn::visit::Visit;
use syn::{Block, ImplItemFn, ItemFn, Signature, TraitItemFn};

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
    /// Whose body stands there.
    pub(crate) fn whose(&self, at: usize) -> Option<u32> {
        let there = self.bodies.iter().find(|(body, _)| body.contains(&at));
        there.map(|&(_, number)| number)
    }
}

/// The source with these mistakes, each with its number, and the numbers of those that are left.
///
/// # Errors
/// If the source is none, or does not have what is to be replaced.
pub(crate) fn weave(source: &str, wrong: &[(u32, &Mutant)]) -> Result<(Woven, BTreeSet<u32>)> {
    let functions = functions(source)?;
    let mut bodies: BTreeMap<usize, Vec<(u32, String)>> = BTreeMap::new();
    let mut left = BTreeSet::new();
    for &(number, mutant) in wrong {
        // Whether it can be made at all.
        mutant.apply(source)?;
        match wrong_bodies(source, &functions, mutant) {
            Some(of_one) => {
                for (function, body) in of_one {
                    bodies.entry(function).or_default().push((number, body));
                }
            }
            None => {
                left.insert(number);
            }
        }
    }
    Ok((write(source, &functions, &bodies), left))
}

/// The bodies that a mistake changes, by the number of their function; `None` if it changes
/// anything else.
fn wrong_bodies(
    source: &str,
    functions: &[Range<usize>],
    mutant: &Mutant,
) -> Option<BTreeMap<usize, String>> {
    let mut edits: BTreeMap<usize, Vec<&[String; 2]>> = BTreeMap::new();
    for edit in &mutant.edits {
        let start = source.find(&edit[0])?;
        let end = start + edit[0].len();
        let around = |body: &Range<usize>| body.start < start && end < body.end;
        edits.entry(functions.iter().position(around)?).or_default().push(edit);
    }
    let changed = |(function, edits): (usize, Vec<&[String; 2]>)| {
        let mut body = source[functions[function].clone()].to_owned();
        for [find, replace] in edits {
            body = body.replacen(find, replace, 1);
        }
        (function, body)
    };
    Some(edits.into_iter().map(changed).collect())
}

/// The source in which each of these functions chooses among its bodies.
fn write(
    source: &str,
    functions: &[Range<usize>],
    wrong: &BTreeMap<usize, Vec<(u32, String)>>,
) -> Woven {
    let (mut text, mut bodies, mut copied) = (String::new(), Vec::new(), 0);
    for (&function, of_one) in wrong {
        let right = functions[function].clone();
        text += &source[copied..right.start];
        text += "{ match crate::wrong_program() {\n";
        for (number, body) in of_one {
            text += &format!("{number} => ");
            let start = text.len();
            text += body;
            bodies.push((start..text.len(), *number));
            text += "\n";
        }
        text += "_ => ";
        text += &source[right.clone()];
        text += "\n} }";
        copied = right.end;
    }
    text += &source[copied..];
    Woven { text, bodies }
}

/// The bodies of all functions that can have several, in the order of the source; what is in a body
/// is part of it.
fn functions(source: &str) -> Result<Vec<Range<usize>>> {
    let mut found = Functions(Vec::new());
    found.visit_file(&syn::parse_file(source).context("this is no source of a module")?);
    found.0.sort_by_key(|body| body.start);
    Ok(found.0)
}

struct Functions(Vec<Range<usize>>);

impl Functions {
    /// A constant function cannot ask what runs. One that returns a type without a name returns
    /// another from each body.
    fn add(&mut self, signature: &Signature, body: &Block) {
        let is_impl = |token: TokenTree| matches!(token, TokenTree::Ident(name) if name == "impl");
        let unnamed = signature.output.to_token_stream().into_iter().any(is_impl);
        if signature.constness.is_none() && !unnamed {
            self.0.push(body.span().byte_range());
        }
    }
}

impl<'a> Visit<'a> for Functions {
    fn visit_item_fn(&mut self, function: &'a ItemFn) {
        self.add(&function.sig, &function.block);
    }

    fn visit_impl_item_fn(&mut self, function: &'a ImplItemFn) {
        self.add(&function.sig, &function.block);
    }

    fn visit_trait_item_fn(&mut self, function: &'a TraitItemFn) {
        if let Some(body) = &function.default {
            self.add(&function.sig, body);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::By;

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

    fn mutant(edits: &[[&str; 2]]) -> Mutant {
        Mutant {
            list: "some".to_owned(),
            file: "impl/core/src/some.rs".to_owned(),
            name: "some".to_owned(),
            wrong: "It is wrong.".to_owned(),
            edits: edits.iter().map(|edit| edit.map(str::to_owned)).collect(),
            by: By::Tests("some::tests".to_owned()),
            survives: None,
            report: None,
        }
    }

    #[test]
    fn each_mistake_has_its_body_and_the_right_one_is_the_last() {
        let adds = mutant(&[["one * TWO", "one + TWO"]]);
        let both = mutant(&[["one * TWO", "one"], ["self.0 / 2", "self.0"]]);
        let (woven, left) = weave(SOURCE, &[(4, &adds), (7, &both)]).expect("a source");
        assert!(left.is_empty());
        let text = &woven.text;
        assert_eq!(functions(text).expect("still a source").len(), 2);
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
            ["TWO: u32 = 2", "TWO: u32 = 3"],
            ["u32 { 0 }", "u32 { 1 }"],
            ["{ 0 }", "{ 1 }"],
            ["0..7", "0..8"],
            ["-> u32 { self", "-> u32 { 1 + self"],
        ] {
            let (woven, left) = weave(SOURCE, &[(1, &mutant(&[edit]))]).expect("a source");
            assert_eq!(left, BTreeSet::from([1]), "{edit:?}");
            assert_eq!(woven.text, SOURCE);
        }
    }

    #[test]
    fn what_is_not_there_cannot_be_woven() {
        assert!(weave(SOURCE, &[(1, &mutant(&[["three", "four"]]))]).is_err());
        assert!(weave("fn {", &[]).is_err());
    }
}
