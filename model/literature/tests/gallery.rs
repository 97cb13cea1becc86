//! The executions that are worth a look: each command finds what its entry says, the page that
//! lists them is the one in `docs`, and each can be walked through without a server.

use crate::cli::{run, run_in};
use crate::some;
use bellwether_browser::Page;
use bellwether_docs_runner::is_shown;
use bellwether_literature::gallery::{Execution, Gallery};
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Executions that people asked for.
const WANTED: [&str; 7] = [
    "two-leaders-after-a-restart",
    "the-zombie-writes",
    "two-phase-commit-blocks",
    "three-phase-commit-splits",
    "the-redlock-debate",
    "the-disturbing-rejoiner",
    "the-flapping-leader",
];

fn executions() -> Vec<Execution> {
    Gallery::load(None).expect("the entries can be read").executions
}

#[test]
fn each_execution_is_told_in_two_sentences() {
    let executions = executions();
    assert!(executions.len() >= 25, "{}", executions.len());
    for name in WANTED {
        assert!(executions.iter().any(|one| one.name == name), "{name}");
    }
    for one in &executions {
        let name = &one.name;
        assert!(one.about.ends_with('.') && !one.title.ends_with('.'), "{name}");
        assert_eq!(one.about.matches(". ").count(), 1, "{name}: {}", one.about);
    }
}

/// This runs every command. `UPDATE_DOCS=1 cargo test gallery` writes the page anew.
#[test]
fn the_list_is_what_the_commands_find_today() {
    let ran = run("gallery --markdown");
    assert_eq!(ran.status, 0, "{}", ran.stdout);
    is_shown("docs/gallery/README.md", None, |_| ran.stdout);
}

/// What the page of an execution shows.
fn walk(folder: &Path, name: &str) -> (String, Value) {
    let page = fs::read_to_string(folder.join(format!("{name}.html"))).expect("there is a page");
    let (_, walk) = page.split_once("id=\"walk\">").expect("a place for the walk");
    let (walk, _) = walk.split_once("</script>").expect("its end");
    let walk = serde_json::from_str(walk).expect("JSON");
    (page, walk)
}

#[test]
fn each_execution_has_a_page_with_its_steps_and_its_verdict() {
    let folder = TempDir::new().expect("a folder");
    let ran = run_in(folder.path(), "gallery --out pages");
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let pages = folder.path().join("pages");
    let index = fs::read_to_string(pages.join("index.html")).expect("there is a list");
    for one in executions() {
        let name = &one.name;
        assert!(index.contains(&format!("<a href=\"{name}.html\">")), "{name}");
        let (page, walk) = walk(&pages, name);
        for loaded in ["src=", "http-equiv", "@import", "url("] {
            assert!(!page.contains(loaded) && !index.contains(loaded), "{name}: {loaded}");
        }
        assert_eq!(walk["about"]["text"], one.about.as_str());
        assert_eq!(walk["about"]["command"], one.case.command());
        let list = |key: &str| walk[key].as_array().map_or(0, Vec::len);
        assert_eq!(list("moments"), list("story") + 1, "{name}");
        let steps = walk["shows"]["cycle_after"].as_u64().unwrap_or(list("story") as u64);
        assert_eq!(Some(steps), one.case.steps().map(|steps| steps as u64), "{name}");
        let property = walk["shows"]["property"].as_str().expect("a property");
        assert_eq!(one.case.property, property, "{name}");
        // The last state says so itself; of the end, the way that goes on.
        let asked = walk["properties"].as_array().expect("properties").iter();
        let asked = asked.clone().find(|one| one["name"] == property).expect("it is asked");
        let at = asked["conditions"][0][1].as_u64().expect("a place") as usize;
        let last = &walk["moments"][list("story")]["answers"][at];
        if walk["shows"]["kind"] == "safety" {
            assert_eq!(last["holds"], false, "{name}");
        } else {
            assert!(walk["shows"]["cycle_after"].is_u64(), "{name}");
        }
    }
}

/// Each is stepped to its end, in a wide and in a narrow window, light and dark.
#[test]
fn each_page_is_walked_to_its_end_without_a_server() {
    let folder = TempDir::new().expect("a folder");
    assert_eq!(run_in(folder.path(), "gallery --out .").status, 0);
    for one in some(executions(), 6) {
        let file = folder.path().join(format!("{}.html", one.name));
        let Some(mut page) = Page::open(&format!("file://{}", file.display())) else { return };
        page.wait_for("walk !== null");
        for (width, height, scheme) in [(1280, 800, "light"), (400, 800, "dark")] {
            page.resize(width, height);
            page.prefer(scheme);
            page.value("go(0)");
            let steps = page.value("walk.story.length").as_u64().expect("a number");
            for step in 1..=steps {
                page.press("ArrowRight", 39);
                assert_eq!(page.value("now").as_u64(), Some(step), "{}", one.name);
            }
            let told = page.value("document.getElementById('told').innerText");
            let told = told.as_str().expect("text");
            let property = page.value("walk.shows.property");
            let named = told.contains(property.as_str().expect("a name"));
            assert!(named && told.contains(" violated"), "{}: {told}", one.name);
            let wide = page.value("document.documentElement.scrollWidth");
            assert!(wide.as_u64() <= Some(width.into()), "{}: {wide} pixels", one.name);
        }
        let title = page.value("document.getElementById('title').innerText");
        assert_eq!(title, one.title.as_str());
        let loaded = page.value("performance.getEntriesByType('resource').length");
        assert_eq!(loaded, Value::from(0), "{}", one.name);
    }
    let index = folder.path().join("index.html");
    let mut page = Page::open(&format!("file://{}", index.display())).expect("a browser");
    page.resize(400, 800);
    let links = format!("document.querySelectorAll('li a').length === {}", executions().len());
    page.wait_for(&links);
    assert!(page.value("document.documentElement.scrollWidth").as_u64() <= Some(400));
}
