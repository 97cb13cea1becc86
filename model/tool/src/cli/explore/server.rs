//! The server in front: our page and what it asks for; everything else is stateright's.

use super::inside::Inside;
use super::verdicts::Verdicts;
use crate::explore::{PAGE, Walk};
use bellwether_engine::property::Property;
use bellwether_engine::world::{Action, World};
use serde::Serialize;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use tiny_http::{Header, Method, Request, Response, ResponseBox, Server};

/// The largest number of requests at a time; more are refused.
const MOST_REQUESTS: usize = 64;

/// No path that is asked for is longer: its states are computed anew for each answer.
const LONGEST: usize = 10_000;

/// Where stateright's own page is.
const OTHER: &str = "/stateright/";

/// What is served.
pub(super) struct Explorer {
    pub(super) world: Arc<World>,
    pub(super) properties: Vec<Property>,
    pub(super) verdicts: Arc<Verdicts>,
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
        match (request.method(), path) {
            (Method::Get, "/") => page(),
            (Method::Get, "/.verdicts") => json(&self.verdicts.view()),
            (Method::Post, "/.decide") => {
                self.verdicts.start(|_| {});
                text(200, String::new())
            }
            (Method::Get, path) if path.starts_with("/.walk") => self.walk(path, query),
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

    /// Asks stateright's server.
    fn forward(&self, method: &Method, path: &str) -> io::Result<ResponseBox> {
        let answer = self.inside.ask(method.as_str(), path)?;
        let response = Response::from_data(answer.body).with_status_code(answer.status);
        Ok(match answer.kind {
            Some(kind) => response.with_header(header("Content-Type", &kind)).boxed(),
            None => response.boxed(),
        })
    }

    /// `/.walk/0/2/1?shows=decided`: the execution that takes these places, as stateright's
    /// addresses give them.
    fn walk(&self, path: &str, query: &str) -> ResponseBox {
        let actions = match self.actions(path.trim_start_matches("/.walk")) {
            Ok(actions) => actions,
            Err(reason) => return text(404, reason),
        };
        let name = query.split('&').find_map(|one| one.strip_prefix("shows="));
        let shows = name.and_then(|name| self.verdicts.shows(name, &actions));
        let walk = Walk::of(&self.world, &self.properties, &actions, shows);
        match query.split('&').any(|one| one == "html") {
            true => file("text/html; charset=utf-8", walk.html().into_bytes()),
            false => json(&walk),
        }
    }

    /// The actions at these places, each among those that are enabled after those before it.
    fn actions(&self, places: &str) -> Result<Vec<Action>, String> {
        let mut places = places.split('/').skip(1);
        if !matches!(places.next(), Some("0")) {
            return Err("there is one initial state, 0".to_owned());
        }
        let mut state = self.world.initial();
        let mut actions = Vec::new();
        for place in places {
            let mut enabled = Vec::new();
            self.world.enabled(&state, &mut enabled);
            let at = place.parse::<usize>().ok();
            let action = at.and_then(|at| enabled.into_iter().nth(at)).ok_or_else(|| {
                format!("step {}: nothing is at place '{place}'", actions.len() + 1)
            })?;
            if actions.len() == LONGEST {
                return Err(format!("the path has more than {LONGEST} steps"));
            }
            state = self.world.apply(&state, &action).state;
            actions.push(action);
        }
        Ok(actions)
    }
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
