//! The server in front: our page and what it asks for; everything else is stateright's.

use super::worlds::{Served, Worlds};
use crate::explore::{PAGE, Walk};
use anyhow::{Context, anyhow};
use bellwether_engine::check::model::Model;
use percent_encoding::percent_decode_str;
use serde::Serialize;
use stateright::Model as _;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tiny_http::{Header, Method, Request, Response, ResponseBox, Server};

/// The largest number of requests at a time; more are refused.
const MOST_REQUESTS: usize = 64;

/// No path that is asked for is longer: its states are computed anew for each answer.
const LONGEST: usize = 10_000;

/// Where stateright's own page is.
const OTHER: &str = "/stateright/";

pub(super) struct Explorer {
    pub(super) worlds: Worlds,
    pub(super) inside: Inside,
}

/// Answers every request; never returns.
pub(super) fn run(server: &Server, explorer: &Arc<Explorer>) {
    let open = Arc::new(AtomicUsize::new(0));
    for request in server.incoming_requests() {
        if open.fetch_add(1, Ordering::Relaxed) >= MOST_REQUESTS {
            open.fetch_sub(1, Ordering::Relaxed);
            let _ = request.respond(text(503, "too many requests at a time".to_owned()));
            continue;
        }
        let (open, explorer) = (Arc::clone(&open), Arc::clone(explorer));
        thread::spawn(move || {
            let answer = explorer.answer(&request);
            // A connection that fails concerns its client only, which sees it end.
            let _ = request.respond(answer);
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

impl Explorer {
    fn answer(&self, request: &Request) -> ResponseBox {
        let (path, query) = request.url().split_once('?').unwrap_or((request.url(), ""));
        let asked = path.starts_with("/.").then(|| self.asked(request.method(), path, query));
        if let Some(answer) = asked.flatten() {
            return answer;
        }
        match (request.method(), path) {
            (Method::Get, "/") => page(),
            (Method::Get, "/stateright") => {
                text(301, String::new()).with_header(header("Location", OTHER)).boxed()
            }
            (method, path) => {
                let path = path.strip_prefix(OTHER).map(|path| format!("/{path}"));
                let path = path.unwrap_or_else(|| request.url().to_owned());
                self.forward(method, &path).unwrap_or_else(|error| text(502, error.to_string()))
            }
        }
    }

    /// What the page asks of the world that the query names, if it is that.
    fn asked(&self, method: &Method, path: &str, query: &str) -> Option<ResponseBox> {
        let world = |name| self.worlds.find(parameter(query, name).as_deref());
        let served = match world("world") {
            Ok(served) => served,
            Err(wrong) => return Some(text(400, wrong)),
        };
        Some(match (method, path) {
            (Method::Get, "/.verdicts") => json(&served.verdicts.view()),
            (Method::Get, "/.world") => json(&self.worlds.choices(&served)),
            (Method::Post, "/.decide") => {
                served.verdicts.start(|_| {});
                text(200, String::new())
            }
            (Method::Get, path) if path.starts_with("/.walk") => walk(&served, path, query),
            (Method::Get, path) if path.starts_with("/.same") => match world("of") {
                Ok(of) => same(&served, &of, path),
                Err(wrong) => text(400, wrong),
            },
            _ => return None,
        })
    }

    /// Asks stateright's server.
    fn forward(&self, method: &Method, path: &str) -> io::Result<ResponseBox> {
        let answer = self.inside.ask(method.as_str(), path)?;
        let response = Response::from_data(answer.body).with_status_code(answer.status);
        Ok(match answer.kind {
            Some(kind) => response.with_header(header("Content-Type", &kind)).boxed(),
            None => response.boxed(),
        })
    }
}

/// `/.walk/0/2/1?shows=decided`: the execution that takes these places, as stateright's addresses
/// give them.
fn walk(served: &Served, path: &str, query: &str) -> ResponseBox {
    let actions = match served.actions(path.trim_start_matches("/.walk"), LONGEST) {
        Ok(actions) => actions,
        Err(reason) => return text(404, reason),
    };
    let shows = parameter(query, "shows").and_then(|name| served.verdicts.shows(&name, &actions));
    let walk = Walk::of(&served.world, &served.properties, &actions, shows);
    match query.split('&').any(|one| one == "html") {
        true => file("text/html; charset=utf-8", walk.html().into_bytes()),
        false => json(&walk),
    }
}

/// `/.same/0/2/1?of=FLAGS&world=FLAGS`: the execution that takes the same actions as that of
/// another world, as far as they can happen.
fn same(served: &Served, of: &Served, path: &str) -> ResponseBox {
    match of.actions(path.trim_start_matches("/.same"), LONGEST) {
        Ok(actions) => {
            let actions = served.as_far_as_possible(&actions);
            json(&Walk::of(&served.world, &served.properties, &actions, None))
        }
        Err(reason) => text(404, reason),
    }
}

/// The value of a parameter of a query.
fn parameter(query: &str, name: &str) -> Option<String> {
    let value = query.split('&').find_map(|one| one.strip_prefix(name)?.strip_prefix('='))?;
    Some(percent_decode_str(value).decode_utf8_lossy().into_owned())
}

fn page() -> ResponseBox {
    file("text/html; charset=utf-8", PAGE.as_bytes().to_vec())
}

fn json(shown: &impl Serialize) -> ResponseBox {
    file("application/json", serde_json::to_vec(shown).unwrap_or_default())
}

fn file(kind: &str, bytes: Vec<u8>) -> ResponseBox {
    let response = Response::from_data(bytes).with_header(header("Content-Type", kind));
    response.with_header(header("Cache-Control", "no-store")).boxed()
}

fn text(status: u16, words: String) -> ResponseBox {
    Response::from_string(words).with_status_code(status).boxed()
}

fn header(name: &str, value: &str) -> Header {
    let bytes = |text: &str| text.as_bytes().to_vec();
    Header::from_bytes(bytes(name), bytes(value)).expect("a name and a value of ASCII")
}

/// How long the server may take to start.
const START: Duration = Duration::from_secs(10);

/// Stateright's own server, which listens on a private port of the loopback interface.
///
/// It stops the whole program with a panic when its address is in use or when a client hangs up in
/// the middle of an answer. So it has but one client, which always reads the whole answer.
#[derive(Clone, Copy)]
pub(super) struct Inside(SocketAddr);

struct Answer {
    status: u16,
    kind: Option<String>,
    body: Vec<u8>,
}

impl Inside {
    /// Starts it on a free port of the loopback interface.
    pub(super) fn start(model: Model) -> anyhow::Result<Inside> {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|l| l.local_addr());
        let at = free.context("no free port on the loopback interface")?;
        let server = thread::spawn(move || {
            let _ = model.checker().serve(at);
        });
        let started = Instant::now();
        while TcpStream::connect(at).is_err() {
            if server.is_finished() || started.elapsed() > START {
                return Err(anyhow!("the Explorer did not start on {at}; try again"));
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(Inside(at))
    }

    /// Asks it. In HTTP/1.0 an answer is not in chunks, and ends with the connection.
    fn ask(self, method: &str, path: &str) -> io::Result<Answer> {
        let mut stream = TcpStream::connect(self.0)?;
        let host = self.0;
        let head = format!("{method} {path} HTTP/1.0\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(head.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        parse(answer).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    }
}

fn parse(mut answer: Vec<u8>) -> Option<Answer> {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let body = answer.split_off(end);
    let head = String::from_utf8(answer).ok()?;
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let kind = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("Content-Type").then(|| value.trim().to_owned())
    });
    Some(Answer { status, kind, body })
}
