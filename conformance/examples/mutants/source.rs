//! The sources, and the functions, constants and structs in them. A row of the set names such an
//! item, and a pattern that stands in the item once.

use anyhow::{Context as _, Result, bail, ensure};
use proc_macro2::TokenTree;
use quote::ToTokens;
use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::sync::Arc;
use syn::visit::{self, Visit};
use syn::{
    Block, Ident, ImplItemConst, ImplItemFn, ItemConst, ItemFn, ItemImpl, ItemMod, ItemStruct,
    ItemTrait, Signature, TraitItemFn, Type, spanned::Spanned as _,
};

use crate::set::root;

pub(crate) struct Source {
    /// The path from the root of the workspace.
    pub(crate) file: String,
    pub(crate) text: Arc<str>,
    items: Vec<Item>,
}

struct Item {
    /// The modules of the package, the type and the name, each after `::`.
    path: String,
    place: Range<usize>,
    /// The body, if a function can have several.
    body: Option<Range<usize>>,
}

/// A part of a file that is replaced.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    pub(crate) place: Range<usize>,
    pub(crate) replace: String,
    /// The body of the function around the part, if that function can have several.
    pub(crate) body: Option<Range<usize>>,
}

impl Source {
    /// Reads each of these modules with all modules below it, but no tests.
    pub(crate) fn read_all(modules: &[String]) -> Result<Vec<Self>> {
        let mut files = Vec::new();
        for module in modules {
            let before = files.len();
            add_files(module, &mut files)?;
            ensure!(files.len() > before, "no source is called {module}");
        }
        let read = |file: String| {
            let text = fs::read_to_string(root().join(&file))?;
            Self::parse(&file, &text).context(file)
        };
        files.into_iter().map(read).collect()
    }

    pub(crate) fn parse(file: &str, text: &str) -> Result<Self> {
        let (_, module) = file.split_once("/src/").context("no source of a package")?;
        let names = module.trim_end_matches(".rs").split('/');
        let names = names.filter(|name| !["lib", "main", "mod"].contains(name));
        let mut found = Finder { path: names.map(str::to_owned).collect(), items: Vec::new() };
        found.visit_file(&syn::parse_file(text).context("no source of a module")?);
        Ok(Self { file: file.to_owned(), text: text.into(), items: found.items })
    }
}

/// Adds the file of a module, and those of all modules below it.
fn add_files(module: &str, files: &mut Vec<String>) -> Result<()> {
    let file = format!("{module}.rs");
    if root().join(&file).is_file() {
        files.push(file);
    }
    let folder = root().join(module);
    if folder.is_dir() {
        let mut below = BTreeSet::new();
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            below.insert(name.trim_end_matches(".rs").to_owned());
        }
        below.remove("tests");
        for name in below {
            add_files(&format!("{module}/{name}"), files)?;
        }
    }
    Ok(())
}

/// Finds the one place of a pattern in the item that has this name. A name is the end of a path:
/// several items may share a path, as methods of several traits do.
pub(crate) fn find<'s>(
    sources: &'s [Source],
    name: &str,
    pattern: &str,
    replace: String,
) -> Result<(&'s Source, Edit)> {
    let end = format!("::{name}");
    let mut named = Vec::new();
    for source in sources {
        let items = source.items.iter().filter(|item| item.path.ends_with(&end));
        named.extend(items.map(|item| (source, item)));
    }
    let Some(&(source, first)) = named.first() else { bail!("no item is called {name}") };
    if let Some((_, other)) = named.iter().find(|(_, item)| item.path != first.path) {
        bail!("{name} may be {} or {}", &first.path[2..], &other.path[2..]);
    }
    let mut found = Vec::new();
    for (_, item) in named {
        let start = item.place.start;
        let places = matches(pattern, &source.text[item.place.clone()]);
        found.extend(places.into_iter().map(|at| (item, start + at.start..start + at.end)));
    }
    let [(item, place)] = &found[..] else {
        let lines = found.iter().map(|(_, at)| line(&source.text, at.start));
        let lines = lines.map(|line| format!(", line {line}")).collect::<String>();
        let (times, file) = (found.len(), &source.file);
        let at = line(&source.text, first.place.start);
        bail!("`{pattern}` is {times} times in {name}, {file}:{at}{lines}");
    };
    let around = |body: &Range<usize>| body.start < place.start && place.end < body.end;
    let body = item.body.clone().filter(around);
    Ok((source, Edit { place: place.clone(), replace, body }))
}

/// The places of a pattern in a text. White space, comments on lines of their own and trailing
/// commas do not count; the pattern cuts no word.
fn matches(pattern: &str, text: &str) -> Vec<Range<usize>> {
    let (pattern, squeezed) = (squeeze(pattern), squeeze(text));
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let cuts = |at: usize| text[..at].ends_with(is_word) && text[at..].starts_with(is_word);
    let is_same = |window: &&[(usize, char)]| {
        window.iter().map(|&(_, c)| c).eq(pattern.iter().map(|&(_, c)| c))
    };
    let windows = squeezed.windows(pattern.len().max(1)).filter(is_same);
    let place = |window: &[(usize, char)]| {
        let (first, last) = (window[0], window[window.len() - 1]);
        first.0..last.0 + last.1.len_utf8()
    };
    windows.map(place).filter(|place| !cuts(place.start) && !cuts(place.end)).collect()
}

/// The characters of a text that count, each with its place.
fn squeeze(text: &str) -> Vec<(usize, char)> {
    let mut left: Vec<(usize, char)> = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let is_comment = line.trim_start().starts_with("//");
        for (at, c) in line.char_indices().filter(|(_, c)| !is_comment && !c.is_whitespace()) {
            if matches!(c, ')' | ']' | '}' | '>') && matches!(left.last(), Some((_, ','))) {
                left.pop();
            }
            left.push((start + at, c));
        }
        start += line.len();
    }
    left
}

/// The number of the line at this place.
pub(crate) fn line(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

struct Finder {
    path: Vec<String>,
    items: Vec<Item>,
}

impl Finder {
    fn add(&mut self, name: &Ident, item: &impl ToTokens, body: Option<Range<usize>>) {
        let path = self.path.iter().map(|part| format!("::{part}")).collect::<String>();
        let (path, place) = (format!("{path}::{name}"), item.span().byte_range());
        self.items.push(Item { path, place, body });
    }

    fn within(&mut self, name: String, visit: impl FnOnce(&mut Self)) {
        self.path.push(name);
        visit(self);
        self.path.pop();
    }
}

/// The body of a function, if that can have several. A constant function cannot ask which program
/// runs, and a function that returns a type without a name returns another from each body.
fn body_of(signature: &Signature, body: &Block) -> Option<Range<usize>> {
    let is_impl = |token: TokenTree| matches!(token, TokenTree::Ident(name) if name == "impl");
    let unnamed = signature.output.to_token_stream().into_iter().any(is_impl);
    (signature.constness.is_none() && !unnamed).then(|| body.span().byte_range())
}

impl<'a> Visit<'a> for Finder {
    fn visit_item_mod(&mut self, module: &'a ItemMod) {
        if module.ident != "tests" {
            self.within(module.ident.to_string(), |found| visit::visit_item_mod(found, module));
        }
    }

    fn visit_item_impl(&mut self, block: &'a ItemImpl) {
        let name = match &*block.self_ty {
            Type::Path(of) => of.path.segments.last().map(|segment| segment.ident.to_string()),
            _ => None,
        };
        self.within(name.unwrap_or_default(), |found| visit::visit_item_impl(found, block));
    }

    fn visit_item_trait(&mut self, item: &'a ItemTrait) {
        self.within(item.ident.to_string(), |found| visit::visit_item_trait(found, item));
    }

    fn visit_item_fn(&mut self, item: &'a ItemFn) {
        self.add(&item.sig.ident, item, body_of(&item.sig, &item.block));
    }

    fn visit_impl_item_fn(&mut self, item: &'a ImplItemFn) {
        self.add(&item.sig.ident, item, body_of(&item.sig, &item.block));
    }

    fn visit_trait_item_fn(&mut self, item: &'a TraitItemFn) {
        let body = item.default.as_ref().and_then(|body| body_of(&item.sig, body));
        self.add(&item.sig.ident, item, body);
    }

    fn visit_item_const(&mut self, item: &'a ItemConst) {
        self.add(&item.ident, item, None);
    }

    fn visit_impl_item_const(&mut self, item: &'a ImplItemConst) {
        self.add(&item.ident, item, None);
    }

    fn visit_item_struct(&mut self, item: &'a ItemStruct) {
        self.add(&item.ident, item, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
impl Some {
    /// Returns half of it.
    fn half(&self) -> u32 {
        // halved, rounded down
        halve(
            self.first,
            self.second,
        )
    }
}
fn quarter(some: &Some) -> u32 { some.half() / 2 }
mod tests { fn quarter() {} }
mod more { fn half() -> u32 { 1 / 2 + 1 / 2 } }
";

    fn found(name: &str, pattern: &str) -> Result<String> {
        let source = Source::parse("some/src/lib.rs", SOURCE).expect("a source");
        let place = find(&[source], name, pattern, String::new())?.1.place;
        Ok(SOURCE[place].to_owned())
    }

    #[test]
    fn a_pattern_is_found_however_its_item_is_formatted() {
        for pattern in ["self.first, self.second", "self .\nfirst,\n self.second", "u32 { halve("] {
            assert!(found("Some::half", pattern).is_ok(), "{pattern}");
        }
        let all = found("Some::half", "halve(self.first, self.second)").expect("there");
        assert!(all.starts_with("halve(\n") && all.ends_with(",\n        )"), "{all}");
        assert_eq!(found("quarter", "half() / 2").expect("there"), "half() / 2");
    }

    #[test]
    fn an_error_says_where_the_pattern_should_be() {
        let wrong = |name, pattern| found(name, pattern).expect_err("it is wrong").to_string();
        assert_eq!(wrong("third", "half"), "no item is called third");
        assert_eq!(wrong("half", "2"), "half may be Some::half or more::half");
        assert_eq!(wrong("quarter", "hal"), "`hal` is 0 times in quarter, some/src/lib.rs:11");
        assert_eq!(wrong("quarter", ""), "`` is 0 times in quarter, some/src/lib.rs:11");
        let twice = "`/ 2` is 2 times in more::half, some/src/lib.rs:13, line 13, line 13";
        assert_eq!(wrong("more::half", "/ 2"), twice);
    }
}
