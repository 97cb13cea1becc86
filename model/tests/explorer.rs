//! The Explorer as a browser meets it: over HTTP, from a process of its own.

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

/// An Explorer of a bully with a crash and a recovery; it ends with the test.
struct Explorer {
    process: Child,
    address: SocketAddr,
    lines: Receiver<String>,
}

impl Explorer {
    fn start() -> Explorer {
        let line = "explore bully --recoveries 1 --address 127.0.0.1:0";
        let mut process = bellwether(line).spawn().expect("the binary runs");
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

    fn ask(&self, path: &str) -> io::Result<TcpStream> {
        let mut stream = self.connect();
        let host = self.address;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
        Ok(stream)
    }

    /// The status and the body of the answer.
    fn get(&self, path: &str) -> (u16, String) {
        let mut answer = Vec::new();
        let mut stream = self.ask(path).expect("it hears");
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

    /// The status once the search is done.
    fn done(&self) -> Value {
        let started = Instant::now();
        loop {
            let status = self.json("/.status");
            if status["done"] == true {
                return status;
            }
            assert!(started.elapsed() < DEADLINE, "the search does not end: {status}");
            thread::yield_now();
        }
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
    let explorer = Explorer::start();
    let (status, page) = explorer.get("/");
    assert_eq!(status, 200);
    assert!(page.contains("<title>Stateright Explorer</title>"), "{page}");
    for file in ["/app.js", "/app.css", "/knockout-3.5.0.js"] {
        assert_eq!(explorer.get(file).0, 200, "{file}");
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
    let explorer = Explorer::start();
    let check = bellwether("check bully --recoveries 1 --json").output().expect("it runs");
    let report: Value = serde_json::from_slice(&check.stdout).expect("JSON");
    let steps = report["properties"][0]["counterexample"]["steps"].as_array().expect("steps");
    let check = bellwether("check bully --recoveries 1").output().expect("it runs");
    let told = String::from_utf8(check.stdout).expect("UTF-8");
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
fn what_does_not_exist_is_not_found_and_breaks_nothing() {
    let explorer = Explorer::start();
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
    let explorer = Explorer::start();
    let paths = ["/", "/knockout-3.5.0.js", "/.states/0/0/0/0", "/.status"];
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
    while explorer.ask("/.states/0").and_then(|mut s| s.read(&mut [0; 1])).unwrap_or(0) == 0 {
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
    let cases = [
        (address.as_str(), ["cannot listen on", "--address"]),
        ("nonsense", ["--address nonsense", "HOST:PORT"]),
        ("127.0.0.1:99999", ["--address 127.0.0.1:99999", "HOST:PORT"]),
        ("127.0.0.1", ["--address 127.0.0.1", "HOST:PORT"]),
        ("192.0.2.1:3000", ["cannot listen on 192.0.2.1:3000", "--address"]),
    ];
    for (address, says) in cases {
        let line = format!("explore bully --address {address}");
        let output = bellwether(&line).output().expect("it runs");
        let stderr = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(2), "{line}: {stderr}");
        assert!(stderr.starts_with("error: "), "{stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
        for part in says {
            assert!(stderr.contains(part), "'{part}' is missing in: {stderr}");
        }
    }
}
