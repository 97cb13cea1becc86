//! The Explorer as a browser meets it: over HTTP, from a process of its own.

mod page;
mod whole;

use crate::asked::{Random, question};
use crate::cli::run;
use bellwether_model::explore::moments;
use bellwether_model::property::Temporal;
use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// How long anything may take.
const DEADLINE: Duration = Duration::from_secs(60);

fn bellwether(line: &str) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("bellwether-model"));
    command.args(line.split_whitespace()).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The world that most of the tests explore: a restart lets two lead.
const BULLY: &str = "bully --recoveries 1";

/// A timed world in which a lease is granted anew for ever.
const LEASE: &str = "lease --nodes 2 --timing timed --delay 1 --t-holder 7 --t-grant 9 --t-renew 3 \
                     --t-retry 2";

/// An Explorer; it ends with the test.
struct Explorer {
    process: Child,
    address: SocketAddr,
    lines: Receiver<String>,
}

impl Explorer {
    fn start(world: &str) -> Explorer {
        let line = format!("explore {world} --address 127.0.0.1:0");
        let mut process = bellwether(&line).spawn().expect("the binary runs");
        let stdout = BufReader::new(process.stdout.take().expect("it is piped"));
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let mut explorer = Explorer { process, address: ([127, 0, 0, 1], 0).into(), lines };
        let line = explorer.line("Explorer: http://");
        let address = line.trim_start_matches("Explorer: http://").trim_end_matches('/');
        explorer.address = address.parse().expect("an address");
        explorer
    }

    /// The next line that begins like this.
    fn line(&self, begin: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(DEADLINE).expect("a line before the deadline");
            if line.starts_with(begin) {
                return line;
            }
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a time-out");
        stream
    }

    fn ask(&self, what: &str) -> io::Result<TcpStream> {
        let mut stream = self.connect();
        let host = self.address;
        write!(stream, "{what} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
        Ok(stream)
    }

    /// The status and the body of the answer to a GET.
    fn get(&self, path: &str) -> (u16, String) {
        self.answer(&format!("GET {path}"))
    }

    fn answer(&self, what: &str) -> (u16, String) {
        let mut answer = Vec::new();
        let mut stream = self.ask(what).expect("it hears");
        stream.read_to_end(&mut answer).expect("it answers");
        let end = answer.windows(4).position(|w| w == b"\r\n\r\n").expect("headers") + 4;
        let head = String::from_utf8_lossy(&answer[..end]).into_owned();
        let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).expect("a status");
        let chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        let body = &answer[end..];
        let body = if chunked { dechunked(body) } else { body.to_vec() };
        (status, String::from_utf8(body).expect("UTF-8"))
    }

    fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(path);
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).expect("JSON")
    }

    /// What the page asks for after the states at these places were chosen one after the other.
    fn next(&self, path: &[&str]) -> Vec<Value> {
        let path = path.iter().fold(String::from("/.states"), |all, at| all + "/" + at);
        self.json(&path).as_array().expect("a list").clone()
    }

    /// Stateright's status once its search is done.
    fn done(&self) -> Value {
        assert_eq!(self.answer("POST /.runtocompletion").0, 200);
        self.once_done("/.status")
    }

    /// The verdicts of the exact engine.
    fn verdicts(&self) -> Vec<Value> {
        self.once_done("/.verdicts")["properties"].as_array().expect("a list").clone()
    }

    fn once_done(&self, path: &str) -> Value {
        let started = Instant::now();
        loop {
            let status = self.json(path);
            if status["done"] == true {
                return status;
            }
            assert!(started.elapsed() < DEADLINE, "the search does not end: {status}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// The execution that takes these places.
    fn walk(&self, places: &[u64], shows: &str) -> Value {
        let places: String = places.iter().map(|place| format!("/{place}")).collect();
        self.json(&format!("/.walk/0{places}?shows={shows}"))
    }

    /// Ends it; what it wrote on standard error.
    fn end(mut self) -> String {
        assert!(self.process.try_wait().expect("a status").is_none(), "it still runs");
        self.process.kill().expect("it still runs");
        let mut stderr = String::new();
        let mut said = self.process.stderr.take().expect("it is piped");
        said.read_to_string(&mut stderr).expect("UTF-8");
        stderr
    }
}

impl Drop for Explorer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn dechunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    loop {
        let end = body.windows(2).position(|w| w == b"\r\n").expect("the length of a chunk");
        let length = std::str::from_utf8(&body[..end]).expect("a number");
        let length = usize::from_str_radix(length, 16).expect("a number");
        if length == 0 {
            return whole;
        }
        whole.extend_from_slice(&body[end + 2..][..length]);
        body = &body[end + 2 + length + 2..];
    }
}

/// What `check` finds in a world.
fn checked(world: &str) -> Value {
    serde_json::from_str(&run(&format!("check {world} --json")).stdout).expect("JSON")
}

/// The action at `place` among those that were answered.
fn chosen<'a>(states: &'a [Value], place: &str) -> &'a Value {
    let fits = |state: &&Value| state["actionIndex"].as_u64() == place.parse().ok();
    states.iter().find(fits).unwrap_or_else(|| panic!("no {place} in {states:?}"))
}

fn text<'a>(state: &'a Value, field: &str) -> &'a str {
    state[field].as_str().unwrap_or_else(|| panic!("no {field} in {state}"))
}

#[test]
fn the_page_its_properties_and_a_counterexample_are_served() {
    let explorer = Explorer::start(BULLY);
    let (status, page) = explorer.get("/");
    assert_eq!(status, 200);
    assert!(page.contains("<title>Bellwether Explorer</title>"), "{page}");
    let (status, page) = explorer.get("/stateright/");
    assert_eq!(status, 200);
    assert!(page.contains("<title>Stateright Explorer</title>"), "{page}");
    for file in ["app.js", "app.css", "knockout-3.5.0.js"] {
        assert_eq!(explorer.get(&format!("/stateright/{file}")).0, 200, "{file}");
    }
    let status = explorer.done();
    let properties = status["properties"].as_array().expect("a list");
    let discovery = |name: &str| {
        let found = properties.iter().find(|p| p[1] == name);
        found.unwrap_or_else(|| panic!("no {name} in {status}"))[2].as_str()
    };
    assert_eq!(discovery("validity"), None);
    assert!(discovery("succession").is_some());
    let path = discovery("at-most-one-leader").expect("a restart lets two lead");
    let places: Vec<&str> = path.split('/').collect();
    for depth in 0..places.len() {
        let states = explorer.next(&places[..depth]);
        let state = chosen(&states, places[depth]);
        assert!(text(state, "svg").contains("<svg"));
        assert!(text(state, "state").starts_with("1: "), "{}", text(state, "state"));
        if depth > 0 {
            reads_like_a_sentence(text(state, "action"));
            assert!(text(state, "outcome").starts_with(text(state, "action")));
        }
        if depth + 1 == places.len() {
            let state = text(state, "state");
            assert!(state.matches(": leader").count() > 1, "two lead here: {state}");
        }
    }
    assert_eq!(explorer.end(), "");
}

/// "3 crashes", "1 gets OK from 2", "2's watch timer expires", "3 recovers".
fn reads_like_a_sentence(action: &str) {
    let mut words = action.split(' ');
    let subject = words.next().expect("a subject");
    assert!(subject.trim_end_matches("'s").parse::<u8>().is_ok(), "who? {action}");
    let verbs = ["crashes", "gets", "recovers", "expires"];
    assert!(words.any(|word| verbs.contains(&word)), "does what? {action}");
    assert!(!action.contains(['{', '(', '_', ':']), "for people: {action}");
}

#[test]
fn the_address_that_check_prints_opens_exactly_its_counterexample() {
    let explorer = Explorer::start(BULLY);
    let report = checked(BULLY);
    let steps = report["properties"][0]["counterexample"]["steps"].as_array().expect("steps");
    let told = run(&format!("check {BULLY}")).stdout;
    let link = told.lines().find_map(|l| l.trim().strip_prefix("at: ")).expect("an address");
    let link = link.strip_prefix("http://127.0.0.1:3000/#/steps/").expect("a deep link");
    let places: Vec<&str> = link.split('/').collect();
    assert_eq!(places.len(), steps.len() + 1, "{link}");
    for (depth, step) in (1..).zip(steps) {
        let states = explorer.next(&places[..depth]);
        let action = text(chosen(&states, places[depth]), "action").to_owned();
        let kind = text(&step["event"], "kind");
        let verb = [("crash", "crashes"), ("recover", "recovers"), ("expire", "expires")];
        let verb = verb.iter().find(|(name, _)| *name == kind).map_or("gets", |(_, verb)| verb);
        assert!(action.contains(verb), "{action}: {step}");
        assert!(action.starts_with(&step["node"].to_string()), "{action}: {step}");
    }
    let last = explorer.next(&places[..places.len() - 1]);
    let state = text(chosen(&last, places[places.len() - 1]), "state").to_owned();
    assert_eq!(state.matches(": leader").count(), 2, "{state}");

    // `explore` itself prints the same path at its own address.
    let line = explorer.line("at-most-one-leader is violated: ");
    assert!(line.ends_with(&format!("http://{}/#/steps/{link}", explorer.address)), "{line}");
    assert_eq!(explorer.end(), "");
}

#[test]
fn the_verdicts_are_those_of_the_exact_engine_with_shortest_counterexamples() {
    for world in [BULLY, "invitation --variant paper --losses 1", LEASE] {
        let report = checked(world);
        let checked = report["properties"].as_array().expect("properties");
        let explorer = Explorer::start(world);
        let told = explorer.verdicts();
        assert_eq!(told.len(), checked.len());
        for (told, checked) in told.iter().zip(checked) {
            let length = |list: &Value| list.as_array().map_or(0, Vec::len);
            let found = &checked["counterexample"];
            assert_eq!(told["name"], checked["name"]);
            let verdict = if checked["verdict"] == "holds-within" {
                "within"
            } else {
                text(checked, "verdict")
            };
            assert_eq!(told["verdict"], *verdict, "{told}");
            assert_eq!(told["places"].is_null(), found.is_null(), "{told}");
            let steps = length(&found["steps"]) + length(&found["cycle"]);
            assert_eq!(length(&told["places"]), steps, "{told}");
            let after = found["cycle"].as_array().map(|_| length(&found["steps"]) as u64);
            assert_eq!(told["cycle_after"].as_u64(), after, "{told}");
        }
    }
}

/// The places of the counterexample to a property.
fn places(verdicts: &[Value], property: &str) -> Vec<u64> {
    let row = verdicts.iter().find(|row| row["name"] == property);
    let row = row.unwrap_or_else(|| panic!("no {property}"));
    let places = row["places"].as_array().unwrap_or_else(|| panic!("it holds: {row}"));
    places.iter().map(|place| place.as_u64().expect("a place")).collect()
}

#[test]
fn a_walk_tells_everything_of_each_state() {
    let explorer = Explorer::start(BULLY);
    let places = places(&explorer.verdicts(), "at-most-one-leader");
    let walk = explorer.walk(&places, "at-most-one-leader");
    assert_eq!(walk["shows"]["property"], "at-most-one-leader");
    let moments = walk["moments"].as_array().expect("states");
    assert_eq!(moments.len(), places.len() + 1);
    assert_eq!(walk["rows"].as_array().map(Vec::len), Some(places.len()));
    assert_eq!(walk["story"].as_array().map(Vec::len), Some(places.len()));
    // What may happen is what stateright's own page offers, in its order.
    let mut path = vec!["0".to_owned()];
    for (moment, place) in moments.iter().zip(places.iter().map(Some).chain([None])) {
        let next: Vec<&str> = path.iter().map(String::as_str).collect();
        let offered = explorer.next(&next);
        let ours = moment["next"].as_array().expect("a list");
        assert_eq!(ours.len(), offered.len());
        for (ours, theirs) in ours.iter().zip(&offered) {
            let plain = |what: &Value| what.as_str().map(|what| what.replace('P', ""));
            assert_eq!(plain(&ours["what"]), plain(&theirs["action"]));
        }
        path.extend(place.map(ToString::to_string));
    }
    // Only in the last state do two lead, and it says so for itself.
    let property = walk["properties"].as_array().expect("properties").iter();
    let property = property.clone().find(|one| one["name"] == "at-most-one-leader");
    let at = property.expect("it is asked")["conditions"][0][1].as_u64().expect("a place");
    for (step, moment) in moments.iter().enumerate() {
        let answer = &moment["answers"][at as usize];
        let leaders = moment["processes"].as_array().expect("processes").iter();
        let leaders = leaders.filter(|one| one["up"] == true && one["leader"] == one["id"]);
        let leaders: Vec<&Value> = leaders.map(|one| &one["id"]).collect();
        assert_eq!(answer["holds"], step < places.len(), "{moment}");
        assert_eq!(answer["holds"], leaders.len() < 2);
        if step == places.len() {
            let concerned = answer["concerned"].as_array().expect("ids");
            assert_eq!(concerned.iter().collect::<Vec<_>>(), leaders);
        }
    }
    assert_eq!(explorer.walk(&places[1..=1], "")["shows"], Value::Null);
}

/// Names that the search makes one, such as those of groups, are what the processes call them, and
/// the same everywhere.
#[test]
fn a_message_has_one_name_in_buttons_story_and_diagram() {
    let explorer = Explorer::start(LEASE);
    let verdicts = explorer.verdicts();
    let violated = verdicts.iter().filter(|row| !row["places"].is_null());
    let mut named = 0;
    for row in violated {
        let name = text(row, "name");
        let places = places(&verdicts, name);
        let walk = explorer.walk(&places, name);
        for (step, place) in places.iter().enumerate() {
            let next = &walk["moments"][step]["next"][*place as usize];
            let what = text(next, "what");
            let Some((_, label)) = what.split_once(" gets ") else { continue };
            let (label, _) = label.split_once(" from ").expect("a sender");
            assert!(text(&walk, "svg").contains(label), "{label} is not in the diagram");
            let story = walk["story"][step].as_str().expect("a sentence");
            assert!(story.contains(label), "{story}: {label}");
            named += usize::from(label.contains('('));
        }
    }
    assert!(named > 0, "no message with a number was seen");
}

#[test]
fn a_path_is_saved_as_one_file_that_needs_no_server() {
    let explorer = Explorer::start(BULLY);
    let places = places(&explorer.verdicts(), "at-most-one-leader");
    let path: String = places.iter().map(|place| format!("/{place}")).collect();
    let (status, page) = explorer.get(&format!("/.walk/0{path}?shows=at-most-one-leader&html"));
    assert_eq!(status, 200);
    for loaded in ["src=", "http-equiv", "@import", "url("] {
        assert!(!page.contains(loaded), "it loads something: {loaded}");
    }
    let (_, walk) = page.split_once("id=\"walk\">").expect("a place for the walk");
    let (walk, _) = walk.split_once("</script>").expect("its end");
    let walk: Value = serde_json::from_str(walk).expect("JSON");
    assert_eq!(walk, explorer.walk(&places, "at-most-one-leader"));
}

#[test]
fn a_large_world_is_decided_when_the_page_asks() {
    let explorer = Explorer::start("bully --nodes 5 --crashes 2 --on-demand --max-states 20000");
    let told = explorer.json("/.verdicts");
    assert_eq!((&told["started"], &told["done"]), (&false.into(), &false.into()));
    assert_eq!(explorer.answer("POST /.decide").0, 200);
    let verdicts = explorer.verdicts();
    assert!(verdicts.iter().any(|row| text(row, "words").contains("limit on states")));
}

#[test]
fn what_does_not_exist_is_not_found_and_breaks_nothing() {
    let explorer = Explorer::start(BULLY);
    let wrong = [
        "/nowhere",
        "/.states/1",
        "/.states/0/999",
        "/.states/0/0/0/0/999",
        "/.states/egg",
        "/.states/0/-1",
        "/.states/0/99999999999999999999999999",
        "/.states/0/%F0%9F%A5%9A",
        "/../../etc/passwd",
        "/stateright/nowhere",
        "/.walk",
        "/.walk/1",
        "/.walk/0/999",
        "/.walk/0/egg",
        "/.walk/0/-1",
        "/.walk/0/0/",
        "/.walk/0/99999999999999999999999999",
    ];
    for path in wrong {
        assert_eq!(explorer.get(path).0, 404, "{path}");
    }
    // What is not HTTP at all is answered somehow, or not.
    let mut stream = explorer.connect();
    stream.write_all(b"\x16\x03\x01 is this TLS?\r\n\r\n").expect("it hears");
    stream.shutdown(Shutdown::Write).expect("it is open");
    let _ = io::copy(&mut stream, &mut io::sink());
    assert_eq!(explorer.next(&[]).len(), 1);
    assert_eq!(explorer.end(), "");
}

#[test]
fn a_browser_that_hangs_up_does_not_bring_it_down() {
    let explorer = Explorer::start(BULLY);
    let paths = ["GET /", "GET /.walk/0/0/0", "GET /.states/0/0/0/0", "GET /.status"];
    for round in 0..200 {
        let mut stream = explorer.ask(paths[round % paths.len()]).expect("it hears");
        match round % 3 {
            // Bytes that were never read make the system reset the connection.
            0 => drop(stream.read(&mut [0; 1])),
            1 => drop(stream.shutdown(Shutdown::Both)),
            _ => {}
        }
    }
    // Half a request, and gone.
    for _ in 0..20 {
        let _ = explorer.connect().write_all(b"GET /.states/0 HTTP/1.1\r\nHo");
    }
    // More connections than are relayed at a time may be open for a moment still.
    let started = Instant::now();
    while explorer.ask("GET /.states/0").and_then(|mut s| s.read(&mut [0; 1])).unwrap_or(0) == 0 {
        assert!(started.elapsed() < DEADLINE, "it does not answer any more");
    }
    assert!(explorer.next(&["0"]).len() > 1);
    assert_eq!(explorer.done()["done"], true);
    assert_eq!(explorer.end(), "");
}

#[test]
fn an_address_that_cannot_be_had_is_refused() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    for (address, says) in [
        (address.as_str(), ["cannot listen on", "--address"]),
        ("nonsense", ["--address nonsense", "HOST:PORT"]),
        ("127.0.0.1:99999", ["--address 127.0.0.1:99999", "HOST:PORT"]),
        ("127.0.0.1", ["--address 127.0.0.1", "HOST:PORT"]),
        ("192.0.2.1:3000", ["cannot listen on 192.0.2.1:3000", "--address"]),
    ] {
        let ran = run(&format!("explore bully --address {address}"));
        assert_eq!(ran.status, 2, "{address}: {}", ran.stderr);
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
        for part in says {
            assert!(ran.stderr.contains(part), "'{part}' is missing in: {}", ran.stderr);
        }
    }
}

/// However many lead, all of them are concerned: no one of them alone is the mistake.
#[test]
fn of_several_leaders_all_are_concerned() {
    let (world, mut asked) =
        question("bully --crashes 0 --cuts 3 --capacity none -p at-most-one-leader");
    let Temporal::Always(asked) = asked.remove(0).temporal else { panic!("it is safety") };
    let (mut random, mut most) = (Random(1), 0);
    for _ in 0..200 {
        let path = random.walk(&world, 30);
        for moment in moments(&world, &path, std::slice::from_ref(&asked)) {
            let processes = moment.processes.iter();
            let leaders = processes.filter(|one| one.up && one.leader == Some(one.id));
            let leaders: Vec<_> = leaders.map(|one| one.id).collect();
            let expected = if leaders.len() < 2 { &[][..] } else { &leaders };
            assert_eq!(moment.answers[0].concerned, expected);
            most = most.max(leaders.len());
        }
    }
    assert_eq!(most, 3, "all three have led at once");
}
