//! The documents are one book: the summary has every page once, and every relative link leads to a
//! file that is there, and to a heading that is there. Files to copy are shown as they are, and the
//! introduction lists every protocol, and says as what it is here.
//!
//! Headings have the anchors that GitHub gives them, which are those of mdbook too. No link to
//! another site is followed.

use bellwether_conformance::mapping;
use bellwether_docs_runner::root;
use bellwether_model::protocol::REGISTRY;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The files that a user copies: the page that shows each, in which language, and its path.
const COPIED: [(&str, &str, &str); 2] = [
    ("docs/ci.md", "sh", "packaging/ci/election.sh"),
    ("docs/ci.md", "yaml", "packaging/ci/github.yml"),
];

fn read(document: &Path) -> String {
    fs::read_to_string(document).expect("a document that can be read")
}

/// The documents below a folder. What is built and what is hidden is left out, but for `.github`.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder that can be read") {
        let path = entry.expect("an entry that can be read").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let left_out = name == "target" || (name.starts_with('.') && name != ".github");
        if left_out {
            continue;
        }
        if path.is_dir() {
            found.extend(documents(&path));
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The lines of a document that are in no block of code.
fn outside_blocks(text: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    })
}

/// The targets of the links and pictures in a document, as they are written.
fn links(text: &str) -> Vec<String> {
    let lines: Vec<&str> = outside_blocks(text).collect();
    let mut found = Vec::new();
    for paragraph in lines.join("\n").split("\n\n") {
        // What stands between two backticks is code, and no link begins there.
        let prose: String = paragraph.split('`').step_by(2).collect();
        for (begin, end) in [("](", ')'), ("src=\"", '"'), ("href=\"", '"')] {
            let after = prose.split(begin).skip(1);
            found.extend(after.filter_map(|rest| rest.split(end).next()).map(str::to_owned));
        }
    }
    found
}

/// The anchor of a heading: its letters, digits, dashes and underscores, with a dash for a space.
fn slug(heading: &str) -> String {
    let mut words = String::new();
    let mut rest = heading;
    while let Some((before, after)) = rest.split_once("](") {
        words += before;
        rest = after.split_once(')').map_or("", |(_, behind)| behind);
    }
    words += rest;
    let kept = |c: &char| c.is_alphanumeric() || matches!(*c, ' ' | '-' | '_');
    let words = words.trim().to_lowercase();
    words.chars().filter(kept).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The anchors of a document. Those of headings with the same words are numbered.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut times = BTreeMap::<String, usize>::new();
    let mut found = BTreeSet::new();
    for line in outside_blocks(text).filter(|line| line.starts_with('#')) {
        let Some(heading) = line.trim_start_matches('#').strip_prefix(' ') else { continue };
        let slug = slug(heading);
        let before = times.entry(slug.clone()).or_default();
        found.insert(if *before == 0 { slug } else { format!("{slug}-{before}") });
        *before += 1;
    }
    found
}

/// What is wrong with a link in a document, if anything is.
fn complaint(document: &Path, link: &str) -> Option<&'static str> {
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let folder = document.parent().expect("a document is in a folder");
    let target = if path.is_empty() { document.to_owned() } else { folder.join(path) };
    if !target.exists() {
        return Some("there is no such file");
    }
    let has_headings = target.extension().is_some_and(|ending| ending == "md");
    let missing = has_headings && !anchor.is_empty() && !anchors(&read(&target)).contains(anchor);
    missing.then_some("there is no such heading")
}

#[test]
fn every_page_stands_once_in_the_summary() {
    let book = root().join("docs");
    let name = |page: &PathBuf| {
        let path = page.strip_prefix(&book).expect("a page of the book");
        let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
        parts.join("/")
    };
    let mut pages: Vec<String> = documents(&book).iter().map(name).collect();
    pages.retain(|page| page != "SUMMARY.md");
    let summary = links(&read(&book.join("SUMMARY.md")));
    assert!(pages.len() > 20, "the test looks in the wrong place: {pages:?}");
    let mut wrong = Vec::new();
    for page in &pages {
        let times = summary.iter().filter(|link| *link == page).count();
        if times != 1 {
            wrong.push(format!("docs/{page} stands {times} times in docs/SUMMARY.md"));
        }
    }
    // A chapter without a page of its own has an empty link.
    for link in summary.iter().filter(|link| !link.is_empty() && !pages.contains(link)) {
        wrong.push(format!("docs/SUMMARY.md names docs/{link}, which is not there"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_relative_link_leads_somewhere() {
    let root = root();
    let (mut wrong, mut followed) = (Vec::new(), 0);
    for document in documents(&root) {
        let place = document.strip_prefix(&root).expect("below the root").display();
        for link in links(&read(&document)) {
            if link.is_empty() || link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            followed += 1;
            if let Some(complaint) = complaint(&document, &link) {
                wrong.push(format!("{place}: {link}: {complaint}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(followed > 300, "only {followed} links were found");
}

#[test]
fn files_that_a_user_copies_are_shown_as_they_are() {
    for (page, language, file) in COPIED {
        let block = format!("\n```{language}\n{}```\n", read(&root().join(file)));
        assert!(read(&root().join(page)).contains(&block), "{page} shows {file} otherwise");
    }
}

#[test]
fn links_in_code_are_none_and_anchors_are_those_of_github() {
    let page = "# The `x`: what's *new*?\n\n[a\nb](c.md#d), `[e](f)` and ![g](h.svg)\n\n\
                ```md\n# No heading\n[i](j)\n```\n\n## Two words\n## Two words\n\
                ## [To](k.md), or_not\n";
    assert_eq!(links(page), ["c.md#d", "h.svg", "k.md"]);
    let anchors = anchors(page).into_iter().collect::<Vec<_>>();
    assert_eq!(anchors, ["the-x-whats-new", "to-or_not", "two-words", "two-words-1"]);
}

#[test]
fn the_introduction_lists_every_protocol_with_its_page_and_as_what_it_is_here() {
    let root = root();
    let page = fs::read_to_string(root.join("docs/introduction.md")).expect("the page");
    let row = |name: &str| {
        let link = format!("| [`{name}`](protocols/{name}.md) | ");
        page.lines().find(|line| line.starts_with(&link))
    };
    for name in REGISTRY.names() {
        let row = row(name).unwrap_or_else(|| panic!("the introduction does not list {name}"));
        assert!(root.join(format!("docs/protocols/{name}.md")).exists(), "{name} has no page");
        let program = mapping::mappings().names().contains(&name);
        assert_eq!(row.contains("program"), program, "is there a program of {name}? {row}");
    }
    let rows = page.lines().filter(|line| line.contains("](protocols/") && line.starts_with("| ["));
    assert_eq!(
        rows.count(),
        REGISTRY.names().len(),
        "the introduction lists protocols that are not here"
    );
}
