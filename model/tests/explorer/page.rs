//! The page of the Explorer, driven in a headless browser as a person would: by keyboard, with a
//! mouse, light and dark, in a wide and in a narrow window.

use super::{BULLY, Explorer, LEASE, checked, places};
use crate::cli::{run, run_in};
use bellwether_browser::Page;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// The page of an Explorer, once it knows the verdicts.
fn open(explorer: &Explorer, hash: &str) -> Option<Page> {
    let mut page = Page::open(&format!("http://{}/{hash}", explorer.address))?;
    page.resize(1280, 900);
    page.wait_for("verdicts.done && walk !== null");
    Some(page)
}

/// An Explorer of a world, and its page, if there is a browser.
fn opened(world: &str) -> Option<(Explorer, Page)> {
    let explorer = Explorer::start(world);
    let page = open(&explorer, "")?;
    Some((explorer, page))
}

/// Presses the button that shows the counterexample to this property, and goes to its end.
fn show(page: &mut Page, property: &str) {
    page.value(&format!("document.querySelector('[data-property={property}]').click()"));
    page.wait_for(&format!("walk.shows && walk.shows.property === '{property}'"));
    assert_eq!(page.value("now"), 1, "it opens at its first step");
    page.value("go(walk.story.length)");
}

fn text(page: &mut Page, id: &str) -> String {
    let text = page.value(&format!("document.getElementById('{id}').innerText"));
    text.as_str().unwrap_or_else(|| panic!("no text in {id}")).to_owned()
}

/// The diagram shows the step.
fn in_sight(page: &mut Page) {
    let place = |id: &str| format!("document.getElementById('{id}').getBoundingClientRect()");
    let (here, frame) = (place("here"), place("frame"));
    let inside = format!("{here}.top >= {frame}.top && {here}.bottom <= {frame}.bottom");
    assert_eq!(page.value(&inside), true, "the step is out of sight");
}

/// The page fits the window: nothing but what scrolls by itself is wider.
pub(super) fn fits(page: &mut Page) {
    let sizes = [(1280, "light"), (800, "dark"), (400, "light"), (400, "dark"), (1280, "dark")];
    for (width, scheme) in sizes {
        page.resize(width, 800);
        page.prefer(scheme);
        let wide = page.value("document.documentElement.scrollWidth");
        assert!(wide.as_u64() <= Some(width.into()), "{wide} pixels at {width}");
        let named = "[...document.querySelectorAll('button, input, select')]\
                     .every(one => one.textContent.trim() || one.ariaLabel || one.labels?.length)";
        assert_eq!(page.value(named), true, "every button has a name");
        if width < 1000 {
            let sticks = page.value("document.getElementById('steps').offsetHeight");
            assert!(sticks.as_u64() <= Some(160), "{sticks} pixels of 800 always cover the page");
        } else {
            // A step and the state after it are seen together, without scrolling.
            page.value("scrollTo(0, 0); go(now)");
            in_sight(page);
            let ends = ["here", "state"]
                .map(|id| format!("document.getElementById('{id}').getBoundingClientRect()"));
            let [here, state] = ends;
            let seen = format!("{here}.bottom <= innerHeight && {state}.top < innerHeight - 100");
            assert_eq!(page.value(&format!("now === 0 || {seen}")), true, "at {width}x800");
        }
    }
    page.resize(1280, 900);
    page.prefer("light");
}

/// What a picture shows, in a number: another one says that the picture is old.
fn digest(page: &mut Page, explorer: &Explorer) -> String {
    let shown = "JSON.stringify([walk, verdicts.properties, verdicts.status.split(' in ')[0]])";
    let shown = page.value(shown);
    let text = explorer.get("/").1 + shown.as_str().expect("JSON");
    format!("{:08x}", crc32fast::hash(text.as_bytes()))
}

/// Makes a picture for the README or a page, if pictures are to be made. The page shows it, and
/// what it shows is what there is today.
fn picture(page: &mut Page, explorer: &Explorer, name: &str, height: u32) {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let file = here.join(format!("../docs/images/{name}.png"));
    let digests = here.join(format!("tests/explorer/pictures/{name}.txt"));
    let digest = digest(page, explorer);
    if std::env::var_os("UPDATE_PICTURES").is_some() {
        page.resize(1280, height);
        page.value("go(now)");
        fs::write(&file, page.picture()).expect("it can be written");
        fs::write(&digests, &digest).expect("it can be written");
        page.resize(1280, 900);
    }
    assert!(file.exists(), "there is no {name}.png: run the tests with UPDATE_PICTURES=1");
    let known = fs::read_to_string(&digests).unwrap_or_default();
    assert_eq!(known, digest, "{name}.png is old: run the tests with UPDATE_PICTURES=1");
}

#[test]
fn a_counterexample_is_one_click_away_and_its_end_is_marked() {
    let Some((explorer, mut page)) = opened(BULLY) else { return };
    let steps = places(&explorer.verdicts(), "at-most-one-leader").len() as u64;
    show(&mut page, "at-most-one-leader");
    assert_eq!(page.value("walk.story.length").as_u64(), Some(steps));
    picture(&mut page, &explorer, "explorer", 1150);
    assert!(text(&mut page, "told").ends_with("at-most-one-leader is violated here."));
    assert!(text(&mut page, "properties").contains("at-most-one-leader: violated ✗ here"));
    // The formula, and what it means, are one click away.
    assert!(!text(&mut page, "properties").contains("leads(i)"));
    page.value("document.querySelector('[data-name=at-most-one-leader] summary').click()");
    let opened = text(&mut page, "properties");
    assert!(opened.contains("leads(i) ∧ leads(j)") && opened.contains("✗ is violated"), "{opened}");
    let concerned = page.value("document.querySelectorAll('th.concerned').length");
    assert_eq!(concerned, 2, "two lead");
    let leaders = page.value("document.querySelectorAll('#state .tag.leader').length");
    assert_eq!(leaders, 2);
    // One step before, nothing is violated, and one step after, it is still.
    page.press("ArrowLeft", 37);
    assert_eq!(page.value("now").as_u64(), Some(steps - 1));
    assert_eq!(page.value("document.querySelectorAll('th.concerned').length"), 0);
    let opened = text(&mut page, "properties");
    assert!(opened.contains("✓ holds") && !opened.contains("✗ here"), "it is open still: {opened}");
    page.press("End", 35);
    page.value("document.querySelector('#choices button').focus()");
    page.press("1", 49);
    page.wait_for(&format!("walk.story.length === {}", steps + 1));
    let still = page.value("document.querySelectorAll('th.concerned').length");
    let leaders = page.value("document.querySelectorAll('#state .tag.leader').length");
    assert_eq!(still.as_u64() > Some(1), leaders.as_u64() > Some(1), "the state says for itself");
    // So does the sentence, whatever path led here, and the way to the first such state is short.
    let told = text(&mut page, "told");
    assert_eq!(told.contains("at-most-one-leader"), leaders.as_u64() > Some(1), "{told}");
    page.press("Home", 36);
    assert!(!text(&mut page, "told").contains("violated"));
    page.value("document.getElementById('wrong').click()");
    assert_eq!(page.value("now").as_u64(), Some(steps));
    fits(&mut page);
}

#[test]
fn a_path_is_taken_by_keyboard_alone_and_its_address_opens_it_again() {
    let Some((explorer, mut page)) = opened(BULLY) else { return };
    page.press("/", 191);
    assert_eq!(page.value("document.activeElement.id"), "filter");
    page.write("crash");
    let all = "[...document.querySelectorAll('#choices button')]";
    assert_eq!(page.value(&format!("{all}.every(one => one.innerText.includes('crash'))")), true);
    page.press("Escape", 27);
    assert_eq!(page.value("document.getElementById('filter').value"), "");
    // Tab reaches what may happen next, Enter takes it, and the focus stays there.
    page.value("document.getElementById('filter').focus()");
    for step in 1..=2 {
        page.press("Tab", 9);
        let focused = "document.activeElement.closest('#choices') !== null";
        assert_eq!(page.value(focused), true, "step {step}");
        page.press("Enter", 13);
        page.wait_for(&format!("walk.story.length === {step} && now === {step}"));
        assert_eq!(page.value(focused), true, "after step {step}");
    }
    page.press("Home", 36);
    page.value("document.activeElement.blur(); open('/0', null, true)");
    page.wait_for("walk.story.length === 0");
    for step in 1..=3 {
        page.press("1", 49);
        page.wait_for(&format!("walk.story.length === {step} && now === {step}"));
    }
    page.press("Home", 36);
    page.press("ArrowRight", 39);
    assert_eq!(page.value("now"), 1);
    // What is taken is marked, and what is saved is this path.
    assert_eq!(page.value("document.querySelectorAll('#choices .taken').length"), 1);
    let trace = page.value("walk.trace");
    let lines = trace.as_str().expect("lines").lines().count();
    assert_eq!(lines, 4, "a header and three steps");
    let hash = page.value("location.hash").as_str().expect("an address").to_owned();
    assert!(hash.ends_with("?at=1"), "{hash}");
    let before = (page.value("walk.story"), text(&mut page, "state"));
    let mut again = open(&explorer, &hash).expect("there is a browser");
    assert_eq!((again.value("walk.story"), text(&mut again, "state")), before);
    assert_eq!(again.value("now"), 1);
}

/// The colour of what is behind everything.
fn background(page: &mut Page) -> Value {
    page.value("getComputedStyle(document.body).backgroundColor")
}

#[test]
fn the_slider_the_zoom_and_the_buttons_do_what_they_say() {
    let Some((_explorer, mut page)) = opened(BULLY) else { return };
    show(&mut page, "at-most-one-leader");
    let steps = page.value("walk.story.length").as_u64().expect("a number");
    for (press, step) in [("first", 0), ("forward", 1), ("last", steps), ("back", steps - 1)] {
        page.value(&format!("document.getElementById('{press}').click()"));
        assert_eq!(page.value("now").as_u64(), Some(step), "{press}");
    }
    page.value("{ const at = document.getElementById('slider'); at.value = 2; at.oninput(); }");
    assert_eq!(page.value("now"), 2);
    assert_eq!(text(&mut page, "count"), format!("2 of {steps} steps"));

    let width = "document.querySelector('#picture svg').getBoundingClientRect().width";
    let before = page.value(width).as_f64().expect("a width");
    page.value("document.getElementById('larger').click()");
    assert!(page.value(width).as_f64() > Some(before * 1.2), "it is larger");
    page.value("document.getElementById('smaller').click()");
    assert!(page.value(width).as_f64() < Some(before * 1.01), "it is as before");

    // The steps of the diagram have the numbers of the story, and it grows with the path.
    let numbers = "[...document.querySelectorAll('#picture .bw-step')].map(one => one.textContent)";
    let counted = |steps| (1..=steps).map(|step: u64| Value::from(step.to_string())).collect();
    assert_eq!(page.value(numbers), Value::Array(counted(steps)));
    page.press("End", 35);
    page.press("1", 49);
    page.wait_for(&format!("walk.story.length === {}", steps + 1));
    assert_eq!(page.value(numbers), Value::Array(counted(steps + 1)));
    assert_eq!(page.value("walk.rows.length").as_u64(), Some(steps + 1));

    page.prefer("light");
    let light = background(&mut page);
    page.prefer("dark");
    assert_ne!(background(&mut page), light);
}

/// A crash changes one process, what it leads to is in flight, and it was counted.
#[test]
fn what_a_step_changes_is_marked() {
    let Some((_explorer, mut page)) = opened(BULLY) else { return };
    let crash = "walk.moments[0].next.findIndex(one => one.what === 'P3 crashes')";
    page.value(&format!("take({crash})"));
    page.wait_for("now === 1");
    let changed = "[...document.querySelectorAll('#state td.changed')].map(one => one.cellIndex)";
    assert_eq!(page.value(&format!("[...new Set({changed})]")), serde_json::json!([3]));
    let world = text(&mut page, "world");
    assert!(world.contains("crashes 1 of 1") && world.contains("none"), "{world}");
    assert_eq!(page.value("document.querySelectorAll('#world td.changed').length"), 1);
    let expires = "walk.moments[1].next.findIndex(one => one.node !== 3)";
    page.value(&format!("take({expires})"));
    page.wait_for("now === 2");
    let world = text(&mut page, "world");
    assert!(world.contains("ELECTION P2 → P3") || world.contains("ELECTION P1 → "), "{world}");
}

/// What the three buttons save.
#[test]
fn a_path_is_saved_as_trace_picture_and_page() {
    let Some((_explorer, mut page)) = opened(BULLY) else { return };
    show(&mut page, "at-most-one-leader");
    page.value("window.saved = []; save = (...what) => window.saved.push(what)");
    for button in ["trace", "svg", "html"] {
        page.value(&format!("document.getElementById('save-{button}').click()"));
    }
    page.wait_for("window.saved.length === 3");
    for (at, (name, begins)) in [
        ("bully-at-most-one-leader.ndjson", "{\"format\""),
        ("bully-at-most-one-leader.svg", "<svg"),
        ("bully-at-most-one-leader.html", "<!DOCTYPE html>"),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(page.value(&format!("window.saved[{at}][0]")), name);
        let text = page.value(&format!("window.saved[{at}][2]"));
        let text = text.as_str().expect("text");
        assert!(text.to_lowercase().starts_with(&begins.to_lowercase()), "{name}: {text:.80}");
        assert!(text.contains("at-most-one-leader"), "{name}");
    }
}

#[test]
fn a_cycle_goes_round_and_clocks_are_shown() {
    let Some((explorer, mut page)) = opened(LEASE) else { return };
    let button = page.value("document.querySelector('[data-property=settles]').textContent");
    show(&mut page, "settles");
    let after = page.value("walk.shows.cycle_after").as_u64().expect("a cycle");
    // The page counts as the command line does.
    assert_eq!(button.as_str(), Some(&*format!("show: {after} steps, then a cycle")));
    let printed = run(&format!("check {LEASE}")).stdout;
    let row = printed.lines().find(|line| line.contains(" settles ")).expect("it is listed");
    assert!(row.contains(&format!("violated ({after} steps)")), "{row}");
    assert!(text(&mut page, "told").contains("repeat for ever: settles is violated"));
    let ticks = page.value("walk.story.filter(text => /tick/.test(text)).length");
    let elapsed = page.value("walk.moments[now].elapsed");
    assert!(elapsed.as_u64() > Some(0) && elapsed == ticks, "{elapsed} of {ticks}");
    assert!(text(&mut page, "world").contains(&format!("{elapsed} ticks have passed")));
    // Nothing is marked before the cycle, and in it the processes that keep the property from it.
    assert_ne!(page.value("document.querySelectorAll('th.concerned').length"), 0);
    page.press("Home", 36);
    assert_eq!(page.value("document.querySelectorAll('th.concerned').length"), 0);
    page.press("End", 35);
    in_sight(&mut page);
    picture(&mut page, &explorer, "explorer-cycle", 1500);
    page.press("ArrowRight", 39);
    assert_eq!(page.value("now").as_u64(), Some(after + 1), "it goes round");
    in_sight(&mut page);
    let ticks = page.value(
        "walk.moments[now].processes.flatMap(one => one.timers)\
                            .every(timer => timer.ticks !== null)",
    );
    assert_eq!(ticks, true);
    let state = text(&mut page, "state");
    assert!(state.contains("stable"), "{state}");
    assert!(state.chars().any(|c| c.is_ascii_digit()), "{state}");
    fits(&mut page);
}

#[test]
fn terms_votes_groups_tokens_and_rules_are_shown() {
    for (world, property, shown, name) in [
        (
            "raft-election --variant paper --rule storage=forgets-vote --start cold --recoveries 1 \
             --suspicions 1",
            "election-safety",
            ["stable: term", "stable: vote"],
            "explorer-raft-election",
        ),
        (
            "invitation --variant paper --losses 1",
            "at-most-one-leader",
            ["group", "stable: counter"],
            "explorer-invitation",
        ),
        ("lease --suspicions 1", "at-most-one-leader", ["token", "holder"], "explorer-lease"),
    ] {
        let Some((explorer, mut page)) = opened(world) else { return };
        show(&mut page, property);
        let state = text(&mut page, "state");
        for shown in shown {
            assert!(state.contains(shown), "{shown} is not in {state}");
        }
        picture(&mut page, &explorer, name, 1500);
        fits(&mut page);
    }
    // What no variable says, such as the logs that processes begin with, is in the rules.
    let Some((_explorer, mut page)) = opened("raft-election --rule logs=012") else { return };
    let world = text(&mut page, "world");
    assert!(world.contains("logs = 012"), "{world}");
}

#[test]
fn a_saved_page_needs_no_server() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(run_in(folder.path(), &format!("check {BULLY} --out .")).status, 1);
    let file = folder.path().join("bully-at-most-one-leader.html");
    let Some(mut page) = Page::open(&format!("file://{}", file.display())) else { return };
    page.resize(1280, 900);
    page.wait_for("walk !== null");
    assert_eq!(page.value("now"), 1);
    // What the search has found of all properties is saved with it.
    let open = "document.querySelectorAll('#properties .verdict.open').length";
    assert_eq!(page.value(open), 0);
    assert!(text(&mut page, "properties").contains("holds"));
    page.press("End", 35);
    assert!(text(&mut page, "told").ends_with("at-most-one-leader is violated here."));
    assert_eq!(page.value("document.querySelectorAll('th.concerned').length"), 2);
    assert_eq!(page.value("document.getElementById('problem').hidden"), true);
    assert_eq!(page.value("performance.getEntriesByType('resource').length"), Value::from(0));
    fits(&mut page);
}

/// A property that is asked only by name is asked of the Explorer too, with what `check` prints.
#[test]
fn what_check_prints_shows_a_property_that_is_asked_by_name() {
    let line = "check bully --timing asynchronous --property failover";
    let printed = run(line).stdout;
    let flags = printed.lines().find_map(|line| line.split_once(" explore "));
    let (_, flags) = flags.unwrap_or_else(|| panic!("nothing to browse in {printed}"));
    let at = printed.lines().find_map(|line| line.split_once("#/steps"));
    let (_, at) = at.unwrap_or_else(|| panic!("no address in {printed}"));
    let explorer = Explorer::start(flags);
    let verdicts = explorer.verdicts();
    assert_eq!(verdicts.iter().filter(|row| row["name"] == "failover").count(), 1);
    let Some(mut page) = open(&explorer, &format!("#/steps{at}")) else { return };
    page.wait_for("walk.shows && walk.shows.property === 'failover' && now === 1");
    page.press("End", 35);
    assert!(text(&mut page, "told").contains("failover is violated"));
}

/// Chooses a value in the form that changes the world.
fn choose(page: &mut Page, name: &str, value: &str) {
    page.wait_for("choosable !== null");
    page.value("document.getElementById('edit').open = true");
    let select = format!(
        "[...document.querySelectorAll('.choices label')]\
         .find(label => label.firstChild.data === '{name}').querySelector('select')"
    );
    page.value(&format!("{{ const at = {select}; at.value = '{value}'; at.onchange(); }}"));
}

#[test]
fn what_if_a_message_is_lost_is_one_choice() {
    let Some((explorer, mut page)) = opened("bully") else { return };
    for step in 1..=2 {
        page.press("1", 49);
        page.wait_for(&format!("walk.story.length === {step} && now === {step}"));
    }
    let story = page.value("walk.story");
    choose(&mut page, "losses", "1");
    page.wait_for("walk.budgets.losses === 1 && verdicts && verdicts.done");
    assert_eq!(page.value("walk.story"), story, "the same steps");
    let told = text(&mut page, "properties");
    assert!(told.contains("at-most-one-leader: violated"), "{told}");
    // The verdicts are those of the command line.
    let check = checked("bully --losses 1");
    let states = check["states"]["distinct"].as_u64().expect("a count");
    let searched = text(&mut page, "searched").replace(',', "");
    assert!(searched.contains(&format!("searched: {states} states")), "{searched}, {states}");
    // The address has the world and the path.
    let hash = page.value("location.hash").as_str().expect("an address").to_owned();
    let mut again = open(&explorer, &hash).expect("there is a browser");
    assert_eq!(again.value("walk.story"), story);
    assert_eq!(again.value("walk.budgets.losses"), 1);
    choose(&mut again, "variant", "baseline");
    again.wait_for("walk.title.includes('baseline') && verdicts && verdicts.done");
    assert_eq!(again.value("walk.budgets.losses"), 1, "the rest of the world stays");
    // Back is the world before.
    again.value("history.back()");
    again.wait_for("walk.title.includes('recommended') && verdicts && verdicts.done");
    // What is no world is said, and nothing changes.
    // At once, or what may be chosen comes and replaces it.
    let typed = "document.getElementById('flags').value = 'bully --crashes 9'";
    again.value(&format!("{typed}; document.getElementById('typed').requestSubmit()"));
    again.wait_for("!document.getElementById('problem').hidden");
    let told = text(&mut again, "problem");
    assert!(told.contains("--crashes"), "{told}");
    assert_eq!(again.value("walk.budgets.losses"), 1);
    page.value("document.getElementById('edit').open = true");
    fits(&mut page);
}

#[test]
fn the_first_step_that_differs_in_another_variant_is_marked() {
    let Some((explorer, mut page)) = opened("bully --variant tanenbaum --recoveries 1") else {
        return;
    };
    show(&mut page, "at-most-one-leader");
    page.wait_for("choosable !== null");
    let variants = page.value("[...document.querySelectorAll('#beside option')].length");
    assert!(variants.as_u64() > Some(5), "{variants}");
    page.value("beside('coulouris')");
    page.wait_for("other !== null && other.variant === 'coulouris'");
    let differs = page.value("other.differs").as_i64().expect("a step");
    let told = text(&mut page, "other-told");
    assert!(differs > 0 && told.contains(&format!("step {differs}")), "{differs}: {told}");
    // Before that, both are the same.
    let same = "JSON.stringify(walk.moments[other.differs - 1].processes)\
                === JSON.stringify(other.found.moments[other.differs - 1].processes)";
    assert_eq!(page.value(same), true);
    let hash = page.value("location.hash").as_str().expect("an address").to_owned();
    assert!(hash.contains("beside=coulouris"), "{hash}");
    let mut again = open(&explorer, &hash).expect("there is a browser");
    again.wait_for("other !== null");
    assert_eq!(text(&mut again, "other-told"), told);
    fits(&mut page);
    // Not in the other page: that may be about to ask once more, and would show the answer.
    page.value("beside('none')");
    page.wait_for("document.getElementById('other-frame').hidden");
}

#[test]
fn an_address_that_leads_nowhere_has_a_way_home() {
    let explorer = Explorer::start(BULLY);
    for hash in ["#/steps/0/99", "#/steps/7", "#/steps/0?world=bully%20--nodes%2099"] {
        let address = format!("http://{}/{hash}", explorer.address);
        let Some(mut page) = Page::open(&address) else { return };
        page.wait_for("!document.getElementById('problem').hidden");
        page.value("document.querySelector('#problem button').click()");
        page.wait_for("walk !== null && verdicts && verdicts.done");
        assert_eq!(page.value("document.getElementById('problem').hidden"), true, "{hash}");
        assert_eq!(page.value("walk.story.length"), 0);
    }
}
