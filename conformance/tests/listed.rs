//! The introduction lists every protocol, and says as what it is here.

use bellwether_conformance::mapping;
use bellwether_docs_runner::root;
use bellwether_model::protocol::REGISTRY;
use std::fs;

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
        let program = mapping::MAPPINGS.names().contains(&name);
        assert_eq!(row.contains("program"), program, "is there a program of {name}? {row}");
    }
    let rows = page.lines().filter(|line| line.contains("](protocols/") && line.starts_with("| ["));
    assert_eq!(
        rows.count(),
        REGISTRY.names().len(),
        "the introduction lists protocols that are not here"
    );
}
