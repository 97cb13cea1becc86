//! A whole world in one file: it has the states of a search and what each step does, and the page
//! shows from it what an Explorer shows.

use super::{BULLY, Explorer, LEASE, bellwether, checked, places};
use crate::asked::{Random, question};
use bellwether_browser::Page;
use bellwether_model::explore::{TooMany, Walk, Whole, moments};
use bellwether_model::property::Temporal;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::{fs, process};
use tempfile::TempDir;

/// Writes a world into a file.
fn export(folder: &Path, world: &str) -> (PathBuf, process::Output) {
    let file = folder.join("world.html");
    let mut command = bellwether(&format!("explore {world} --export"));
    let output = command.arg(&file).output().expect("it runs");
    (file, output)
}

/// What a page has: all of it, and the values of its table.
struct Data {
    whole: Value,
    values: Vec<Value>,
}

impl Data {
    /// Reads the page as its script does.
    fn of(page: &str) -> Data {
        let (_, data) = page.split_once(" id=\"whole\">").expect("a place for the world");
        let (data, _) = data.split_once("</script>").expect("its end");
        let whole: Value = serde_json::from_str(data).expect("JSON");
        let mut values: Vec<Value> = Vec::new();
        for entry in whole["values"].as_array().expect("a table") {
            let value = match entry.as_array().map(|entry| numbers(entry)) {
                None => entry.clone(),
                Some(parts) => {
                    let all = parts[1..].iter().map(|&part| values[part].clone());
                    match parts[0] {
                        0 => Value::Array(all.collect()),
                        shape => {
                            let names = whole["shapes"][shape - 1].as_array().expect("names");
                            let names = names.iter().map(|name| name.as_str().expect("a name"));
                            Value::Object(names.map(str::to_owned).zip(all).collect())
                        }
                    }
                }
            };
            values.push(value);
        }
        Data { whole, values }
    }

    fn states(&self) -> usize {
        self.whole["states"].as_array().expect("states").len()
    }

    fn moment(&self, state: usize) -> &Value {
        &self.values[number(&self.whole["states"][state][0])]
    }

    /// What may happen in a state: each step, and where it leads if that is within the bounds.
    fn steps(&self, state: usize) -> Vec<(&Value, Option<usize>)> {
        let [_, steps, targets] = &self.whole["states"][state].as_array().expect("a state")[..]
        else {
            panic!("no state")
        };
        let steps = steps.as_array().expect("steps").iter().map(|at| &self.values[number(at)]);
        let targets = targets.as_array().expect("states").iter();
        steps.zip(targets.map(|at| at.as_u64().map(|at| at as usize))).collect()
    }
}

fn number(value: &Value) -> usize {
    value.as_u64().expect("a number") as usize
}

fn numbers(values: &[Value]) -> Vec<usize> {
    values.iter().map(number).collect()
}

/// The sentences of each step. In which order messages are lost with a link depends on the path
/// that led to the state.
fn in_any_order(story: &[String]) -> Vec<Vec<&str>> {
    let mut steps = Vec::with_capacity(story.len());
    for told in story {
        let mut sentences: Vec<_> = told.trim_end_matches('.').split(". ").collect();
        sentences.sort_unstable();
        steps.push(sentences);
    }
    steps
}

/// Without the reason why a message was stale, which depends on the path.
fn without_stale(sentence: &str) -> String {
    let Some((before, rest)) = sentence.split_once(" (stale: ") else { return sentence.to_owned() };
    format!("{before}{}", rest.split_once(')').expect("its end").1)
}

#[test]
fn a_file_has_the_states_of_the_search_and_its_verdicts() {
    let folder = TempDir::new().expect("a folder");
    let bounded = "bully --nodes 2 --timing asynchronous --losses 1";
    for world in [BULLY, LEASE, bounded, "stoller --recoveries 1", "queue --nodes 2 --cuts 1"] {
        let (file, output) = export(folder.path(), world);
        let told = String::from_utf8(output.stdout).expect("UTF-8");
        assert_eq!(output.status.code(), Some(0), "{world}: {told}");
        let page = fs::read_to_string(&file).expect("it was written");
        let data = Data::of(&page);
        let report = checked(world);
        assert_eq!(report["states"]["distinct"], json!(data.states()), "{world}");
        assert!(told.contains(&format!("\n{} states, ", data.states())), "{told}");
        assert!(told.ends_with(&format!("Saved: {}\n", file.display())), "{told}");
        let verdicts = data.whole["verdicts"]["properties"].as_array().expect("rows");
        for (row, checked) in verdicts.iter().zip(report["properties"].as_array().expect("rows")) {
            assert_eq!(row["name"], checked["name"], "{world}");
            let found = &checked["counterexample"];
            let length = |steps: &Value| steps.as_array().map_or(0, Vec::len);
            let steps = length(&found["steps"]) + length(&found["cycle"]);
            assert_eq!(length(&row["places"]), steps, "{world}: {row}");
        }
        // Far below what 629 states are without a table: two megabytes.
        assert!(page.len() < 100_000 + 400 * data.states(), "{world}: {} bytes", page.len());
        for loaded in ["src=", "http-equiv", "@import", "url(", "fetch(\"http"] {
            assert!(!page.contains(loaded), "it loads something: {loaded}");
        }
    }
}

/// The messages in flight, as the steps tell of them, are those of the next state. In the lease's
/// world and in the last two a symmetry gives them other names.
#[test]
fn what_a_step_says_of_messages_leads_to_the_next_state() {
    let folder = TempDir::new().expect("a folder");
    let mut renamed = 0;
    for world in [
        "bully --nodes 2 --losses 1 --duplicates 1 --cuts 1",
        "bully --nodes 2 --cuts 1 --network set",
        LEASE,
        "invitation --nodes 2 --losses 1",
        "stoller --recoveries 1",
    ] {
        let (file, _) = export(folder.path(), world);
        let data = Data::of(&fs::read_to_string(file).expect("it was written"));
        for state in 0..data.states() {
            for (step, target) in data.steps(state) {
                let Some(target) = target else { continue };
                renamed += step["renamed"].as_array().expect("a list").len();
                let after = sorted(flying(data.moment(target)));
                assert_eq!(sorted(follow(data.moment(state), step)), after, "{world}: {step}");
            }
        }
    }
    assert!(renamed > 0, "no message was renamed");
}

type Message = (Value, Value, Value);

fn message(of: &Value) -> Message {
    (of["from"].clone(), of["to"].clone(), of["label"].clone())
}

fn flying(moment: &Value) -> Vec<Message> {
    moment["in_flight"].as_array().expect("messages").iter().map(message).collect()
}

fn sorted(mut messages: Vec<Message>) -> Vec<String> {
    messages.sort_by_key(|message| format!("{message:?}"));
    messages.iter().map(|message| format!("{message:?}")).collect()
}

/// What is in flight after a step, by what it says.
fn follow(before: &Value, step: &Value) -> Vec<Message> {
    let mut flying = flying(before);
    let kind = step["kind"].as_str().expect("a kind");
    if !step["message"].is_null() {
        let one = message(&step["message"]);
        let at = flying.iter().position(|other| *other == one).expect("it was in flight");
        match kind {
            "duplicate" => flying.push(one),
            _ => drop(flying.remove(at)),
        }
    }
    if kind == "cut" {
        let (a, b) = (&step["link"][0], &step["link"][1]);
        let cut = |(from, to, _): &Message| (from, to) == (a, b) || (from, to) == (b, a);
        flying.retain(|message| !cut(message));
    }
    let sent = step["sent"].as_array().expect("a list").iter();
    flying.extend(sent.filter(|sent| sent["fate"].is_null()).map(message));
    let mut names = step["renamed"].as_array().expect("a list").clone();
    for (from, to, label) in &mut flying {
        let is = |one: &Value| (&one["from"], &one["to"], &one["was"]) == (&*from, &*to, &*label);
        if let Some(at) = names.iter().position(is) {
            *label = names.remove(at)["is"].clone();
        }
    }
    assert!(names.is_empty(), "no such message: {names:?} in {step}");
    flying
}

/// On random paths, every state of the file and every sentence is what the engine says of the path.
#[test]
fn a_random_path_through_the_file_is_one_of_the_world() {
    let (world, properties) = question(
        "bully --nodes 2 --recoveries 1 --losses 1 --cuts 1 --network unordered --capacity 2 \
         -p at-most-one-leader -p agreement -p decided",
    );
    let conditions: Vec<_> = properties
        .iter()
        .map(|property| match &property.temporal {
            Temporal::Always(condition) => condition.clone(),
            _ => panic!("it is safety"),
        })
        .collect();
    let whole = Whole::of(&world, &properties, 50_000).expect("it is small");
    let data = Data::of(&whole.html(&json!({})));
    assert_eq!(data.states(), whole.states());
    let mut random = Random(7);
    let mut beyond = 0;
    for _ in 0..200 {
        let (mut state, mut at, mut path) = (world.initial(), 0, Vec::new());
        let (mut visited, mut told) = (vec![0], Vec::new());
        for _ in 0..25 {
            let (enabled, steps) = (world.actions(&state), data.steps(at));
            assert_eq!(steps.len(), enabled.len());
            if enabled.is_empty() {
                break;
            }
            let place = random.below(enabled.len());
            let after = world.apply(&state, &enabled[place]).state;
            let (step, target) = steps[place];
            assert_eq!(target.is_some(), world.within_bounds(&after));
            let Some(target) = target else {
                beyond += 1;
                break;
            };
            (state, at) = (after, target);
            path.push(enabled[place]);
            visited.push(at);
            told.push(step["told"].as_str().expect("a sentence").to_owned());
        }
        let shown = moments(&world, &path, &conditions);
        let shown = serde_json::to_value(shown).expect("JSON");
        let visited = visited.iter().map(|&at| data.moment(at).clone());
        assert_eq!(shown, Value::Array(visited.collect()));
        let walk = Walk::of(&world, &properties, &path, None);
        let story: Vec<_> = walk.story.iter().map(|sentence| without_stale(sentence)).collect();
        assert_eq!(in_any_order(&story), in_any_order(&told));
    }
    assert!(beyond > 0, "no path went beyond the bounds");
    let most = whole.states() - 1;
    assert_eq!(Whole::of(&world, &properties, most).err(), Some(TooMany { most }));
}

#[test]
fn a_world_that_is_too_large_for_a_page_is_refused() {
    let folder = TempDir::new().expect("a folder");
    for (world, says) in [
        (format!("{BULLY} --max-states 628"), "more than 628 states"),
        ("bully --nodes 5 --crashes 2".to_owned(), "more than 5000 states"),
    ] {
        let (file, output) = export(folder.path(), &world);
        let stderr = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        for says in [says, "too many for one page", "--nodes", "--max-states", "leave --export out"]
        {
            assert!(stderr.contains(says), "'{says}' is not in {stderr}");
        }
        assert!(!file.exists());
    }
    let (_, output) = export(folder.path(), &format!("{BULLY} --max-states 629"));
    assert_eq!(output.status.code(), Some(0));
}

/// The page of a file, once it shows something.
fn open(file: &Path, hash: &str) -> Option<Page> {
    let mut page = Page::open(&format!("file://{}{hash}", file.display()))?;
    page.resize(1280, 900);
    page.wait_for("verdicts.done && walk !== null");
    Some(page)
}

/// What is compared with an Explorer, besides the story and the states themselves.
const SHOWN: &str = "JSON.stringify([walk.places, walk.rows.length,
    document.getElementById('state').innerText, document.getElementById('world').innerText,
    document.getElementById('choices').innerText, document.getElementById('count').innerText])";

#[test]
fn the_page_of_a_file_shows_what_an_explorer_shows() {
    let folder = TempDir::new().expect("a folder");
    let explorer = Explorer::start(BULLY);
    let verdicts = explorer.verdicts();
    let (file, _) = export(folder.path(), BULLY);
    for property in ["at-most-one-leader", "follower-bound"] {
        let path: String =
            places(&verdicts, property).iter().map(|place| format!("/{place}")).collect();
        // The address is that of the Explorer.
        let hash = format!("#/steps/0{path}");
        let Some(mut page) = open(&file, &hash) else { return };
        let is = format!("walk.shows && walk.shows.property === '{property}'");
        page.wait_for(&is);
        let url = format!("http://{}/{hash}", explorer.address);
        let mut served = Page::open(&url).expect("there is a browser");
        served.resize(1280, 900);
        served.wait_for(&format!("verdicts.done && {is}"));
        for at in ["0", "2", "walk.story.length"] {
            page.value(&format!("go({at})"));
            served.value(&format!("go({at})"));
            assert_eq!(page.value(SHOWN), served.value(SHOWN), "{property}: {at}");
        }
        assert_eq!(page.value("walk.moments"), served.value("walk.moments"), "{property}");
        let stories = [&mut page, &mut served].map(|page| page.value("walk.story"));
        let [ours, theirs] = stories.map(|story| story.as_array().expect("a story").clone());
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let [ours, theirs] = [ours, theirs].map(|text| text.as_str().expect("text").to_owned());
            let told = ours.split(" It was stale: ").next().expect("a part");
            assert_eq!(told, without_stale(&theirs));
            assert_eq!(told == ours, !theirs.contains("(stale: "), "{ours}; {theirs}");
        }
        assert_eq!(page.value("performance.getEntriesByType('resource').length"), Value::from(0));
    }
}

/// A person walks, branches, goes back, plays and opens a counterexample, without a server.
#[test]
fn a_file_is_walked_through_without_a_server() {
    let folder = TempDir::new().expect("a folder");
    let (file, _) = export(folder.path(), "bully --nodes 2 --recoveries 1");
    let Some(mut page) = open(&file, "") else { return };
    for step in 1..=3 {
        page.press("1", 49);
        page.wait_for(&format!("walk.story.length === {step} && now === {step}"));
    }
    let numbers = "[...document.querySelectorAll('#picture .bw-step')].map(one => one.textContent)";
    assert_eq!(page.value(numbers), json!(["1", "2", "3"]));
    // Another step where there was one already: a branch.
    page.press("Home", 36);
    let other = "walk.moments[0].next.findIndex((_, place) => place !== walk.places[0])";
    page.value(&format!("take({other})"));
    page.wait_for("walk.story.length === 1 && now === 1");
    page.press("ArrowLeft", 37);
    assert_eq!(page.value("now"), 0);
    page.value("document.querySelector('[data-property=at-most-one-leader]').click()");
    page.wait_for("walk.shows && walk.shows.property === 'at-most-one-leader'");
    page.press("End", 35);
    let leaders = page.value("document.querySelectorAll('#state .tag.leader').length");
    assert_eq!(leaders, 2);
    let drawn = "walk.story.length === document.querySelectorAll('#picture .bw-step').length";
    assert_eq!(page.value(drawn), true);
    let steps = page.value("walk.story.length");
    let plays = "go(walk.story.length - 2); at('play').click(); at('play').ariaPressed";
    assert_eq!(page.value(plays), "true");
    page.wait_for("document.getElementById('play').ariaPressed === 'false'");
    assert_eq!(page.value("now"), steps);
    // What needs a server is not offered.
    for id in ["save-html", "save-trace", "other"] {
        assert_eq!(page.value(&format!("document.getElementById('{id}').hidden")), true, "{id}");
    }
    super::page::fits(&mut page);
    let mut lost = open_lost(&file);
    lost.wait_for("!document.getElementById('problem').hidden");
    let told = lost.value("document.getElementById('problem').innerText");
    assert!(told.as_str().expect("text").contains("nothing is at place '99'"), "{told}");
}

/// The page at an address that leads nowhere.
fn open_lost(file: &Path) -> Page {
    let url = format!("file://{}#/steps/0/99", file.display());
    Page::open(&url).expect("there is a browser")
}
