//! The stage of the stories of a protocol: some nodes, and a network on virtual time between them.
//! Times are in milliseconds; states, messages and requests are RON.
//!
//! - `node IDS [KEY=VALUE]… [durable=STATE]`: these nodes, which have not started. The keys are
//!   `members`, `observers`, `witnesses`, `order` (the number of the election), `seed`, and those of
//!   the protocol. The state can be `last`: what that node made durable last. Without any, the node
//!   votes at once.
//! - `save NAME` and `load NAME`: keeps all this for later stories, and goes on with it.
//! - `crash ID`, and `delay MS`: how long a message takes from here on, if not 10.
//! - `run MS [mute=IDS]`: time passes. Only events are shown, and how many messages were sent. Those
//!   from `mute` are lost that would arrive.
//! - `[ID] at MS INPUT`: this happens to one node, or to each. It is `boot`, `wake`, `suspect ID`,
//!   `request REQUEST` or `from ID MESSAGE`. A message to several nodes is one line, and of a state
//!   only the fields are shown that are new.
//! - `[ID] QUESTION`: `leads MS…`, `status`, `armed`, `hears` (by its configuration), `successor`,
//!   `waits_for`, `waits_to_vote`, `watched`, `durable` (what it made durable last), `core` (all
//!   that it knows, where nothing else tells it), or one of the protocol's.

use std::collections::BTreeMap;
use std::error::Error;
use std::mem;
use std::time::Duration;

use serde::Serialize;

use super::{
    Core, DurationError, Input, MemberError, Members, Membership as _, Node, NodeId, Output,
    SettingsError, Status, Time,
};
use crate::stories::{Stage, Told, list, news, read, written};

const COMMANDS: &str = "there are node, save, load, crash, delay, run, at, leads, status, armed, \
                        hears, successor, waits_for, waits_to_vote, watched, durable, core";

/// A protocol of which stories are told.
pub(crate) trait Scripted: Core {
    /// Returns the configuration of a node, with the usual durations.
    fn configured(id: NodeId, members: Members) -> Self::Config;

    /// Gives what has this key in the configuration this value, if there is such a thing.
    fn set(config: &mut Self::Config, key: &str, value: &str) -> Option<()> {
        let _ = (config, key, value);
        None
    }

    /// Returns the answer to a question that only this protocol knows, if it is one.
    fn answer(&self, question: &str) -> Option<String> {
        let _ = question;
        None
    }
}

/// Returns why node 2 of three is refused once this has changed its configuration.
pub(crate) fn refused<C: Scripted>(change: impl FnOnce(&mut C::Config)) -> C::Error {
    let mut config = C::configured(id(2), Members::new([1, 2, 3].map(id)).expect("valid"));
    change(&mut config);
    Node::<C>::new(config, None, 0).expect_err("refused")
}

/// Returns the keys of the duration that is out of range, or of the two that do not fit together,
/// once this has changed the configuration.
pub(crate) fn unfit<C: Scripted<Error = SettingsError>>(
    change: impl FnOnce(&mut C::Config),
) -> Vec<&'static str> {
    match refused::<C>(change) {
        SettingsError::Duration(error) => keys(&error),
        SettingsError::Members(error) => panic!("{error}"),
    }
}

pub(crate) fn keys(error: &DurationError) -> Vec<&'static str> {
    match error {
        DurationError::OutOfRange { name, .. } => vec![*name],
        DurationError::Conflict(conflict) => vec![conflict.name, conflict.than],
    }
}

/// Some nodes, what is under way between them, and what was saved.
#[derive(Clone)]
pub(crate) struct Nodes<C: Core> {
    nodes: BTreeMap<NodeId, Node<C>>,
    /// What each node made durable last.
    durable: BTreeMap<NodeId, Option<C::Durable>>,
    /// The messages, by the time at which they arrive, and by their number.
    flights: BTreeMap<(Time, usize), (NodeId, NodeId, C::Message)>,
    sent: usize,
    delay: Duration,
    now: Time,
    saved: BTreeMap<String, Self>,
}

impl<C: Core> Default for Nodes<C> {
    fn default() -> Self {
        let (nodes, durable, flights) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (delay, now, saved) = (Duration::from_millis(10), Time::ZERO, BTreeMap::new());
        Self { nodes, durable, flights, sent: 0, delay, now, saved }
    }
}

impl<C: Scripted> Stage for Nodes<C> {
    fn begin(&mut self) {
        *self = Self { saved: mem::take(&mut self.saved), ..Self::default() };
    }

    fn tell(&mut self, command: &str) -> Told {
        let (first, rest) = split(command);
        match first {
            "node" => self.place(rest)?,
            "save" => {
                let mut saved = mem::take(&mut self.saved);
                let before = saved.insert(rest.to_owned(), self.clone());
                assert!(before.is_none(), "`{rest}` is saved twice");
                self.saved = saved;
            }
            "load" => {
                let saved = mem::take(&mut self.saved);
                *self = saved.get(rest).ok_or("that is not saved")?.clone();
                self.saved = saved;
            }
            "crash" => drop(self.nodes.remove(&rest.parse::<NodeId>()?)),
            "delay" => self.delay = milliseconds(rest)?,
            "run" => return self.run(rest),
            _ => {
                let (ids, command) = match first.parse::<NodeId>() {
                    Ok(id) => (vec![id], rest),
                    Err(_) => (self.nodes.keys().copied().collect(), command),
                };
                if ids.is_empty() {
                    return Err(COMMANDS.into());
                }
                let mut told = Vec::new();
                for id in ids {
                    let which = if self.nodes.len() > 1 { format!("{id} ") } else { String::new() };
                    let lines = self.ask(id, command)?;
                    told.extend(lines.iter().map(|line| format!("{which}{line}")));
                }
                return Ok(told);
            }
        }
        Ok(Vec::new())
    }
}

impl<C: Scripted> Nodes<C> {
    /// Places nodes that have not started.
    fn place(&mut self, text: &str) -> Result<(), Box<dyn Error>> {
        let (text, durable) = text.split_once(" durable=").unwrap_or((text, ""));
        let (nodes, options) = split(text);
        let (mut members, mut seed, mut others) = (Members::new(ids("1,2,3")?)?, 0_u64, Vec::new());
        for option in options.split_whitespace() {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            match key {
                "members" => members = Members::new(ids(value)?)?,
                "observers" => members = members.with_observers(ids(value)?)?,
                "witnesses" => members = members.with_witnesses(ids(value)?)?,
                "order" => members = members.for_election(value.parse()?),
                "seed" => seed = value.parse()?,
                _ => others.push((key, value)),
            }
        }
        for id in ids(nodes)? {
            let durable = match durable {
                "" => C::founder(),
                "last" => self.durable.get(&id).cloned().flatten(),
                state => read(state)?,
            };
            let mut config = C::configured(id, members.clone());
            for (key, value) in &others {
                C::set(&mut config, key, value).ok_or_else(|| format!("what is {key}={value}?"))?;
            }
            self.nodes.insert(id, Node::new(config, durable.clone(), seed)?);
            self.durable.insert(id, durable);
        }
        Ok(())
    }

    /// Tells a node what happens to it, or asks it something.
    fn ask(&mut self, id: NodeId, command: &str) -> Told {
        let (what, rest) = split(command);
        let node = self.nodes.get(&id).ok_or("there is no such node")?;
        let answer = match what {
            "at" => {
                let (time, input) = split(rest);
                let input = match split(input) {
                    ("boot", _) => Input::Boot,
                    ("wake", _) => Input::Wake,
                    ("suspect", node) => Input::Suspect(node.parse()?),
                    ("request", request) => Input::Request(read(request)?),
                    ("from", sent) => {
                        let (from, message) = split(sent);
                        Input::Receive { from: from.parse()?, message: read(message)? }
                    }
                    _ => Err("there are boot, wake, suspect, request, from")?,
                };
                self.now = Time::ZERO + milliseconds(time)?;
                let lines = self.happens(id, input, true);
                return Ok(lines.iter().map(|line| format!("at {time} {line}")).collect());
            }
            "leads" => {
                let mut answers = Vec::new();
                for time in rest.split(' ') {
                    let epoch = node.leads(Time::ZERO + milliseconds(time)?);
                    let epoch = epoch.map_or("none".to_owned(), |epoch| format!("epoch {epoch}"));
                    answers.push(format!("{epoch} at {time}"));
                }
                list(answers)
            }
            "status" => {
                let Status { role, leader, .. } = node.status();
                leader.map_or(role.to_string(), |leader| format!("{role} of {leader}"))
            }
            "armed" => list(node.armed().map(|(timer, at)| format!("{timer:?} at {}", shown(at)))),
            "hears" => {
                let ids = (1..=u16::MAX).filter_map(NodeId::new);
                list(ids.filter(|&id| node.config().hears(id)))
            }
            "successor" => list(node.successor()),
            "waits_for" => {
                let waits = node.skippable_wait();
                list(waits.map(|(timer, nodes)| format!("{timer:?} of {}", list(nodes))))
            }
            "waits_to_vote" => match node.core().and_then(|core| core.waits_to_vote(id)) {
                Some(waits) => format!("{waits:?}"),
                None => "no".to_owned(),
            },
            "core" => node.core().map_or("none".to_owned(), |core| format!("{core:?}")),
            "watched" => list(node.watched()),
            "durable" => {
                let durable = self.durable.get(&id).into_iter().flatten();
                list(durable.map(|state| written(state, 0)))
            }
            _ => node.core().and_then(|core| core.answer(what)).ok_or(COMMANDS)?,
        };
        Ok(vec![format!("{what}: {answer}")])
    }

    /// Lets time pass.
    fn run(&mut self, text: &str) -> Told {
        let (time, mute) = text.split_once(" mute=").unwrap_or((text, ""));
        let mute = if mute.is_empty() { Vec::new() } else { ids(mute)? };
        let (end, before, mut lines) = (self.now + milliseconds(time)?, self.sent, Vec::new());
        loop {
            let deadline = |node: &Node<C>| node.armed().map(|(_, at)| at).min();
            let wakes = self.nodes.iter().filter_map(|(&id, node)| Some((deadline(node)?, id)));
            let wake = wakes.min().filter(|(at, _)| *at <= end);
            let next = wake.map_or(end, |(at, _)| at);
            let arrives = self.flights.keys().next().is_some_and(|(at, _)| *at <= next);
            let (at, id, input) =
                if arrives && let Some(((at, _), (from, to, message))) = self.flights.pop_first() {
                    if mute.contains(&from) {
                        continue;
                    }
                    (at, to, Input::Receive { from, message })
                } else if let Some((at, id)) = wake {
                    (at, id, Input::Wake)
                } else {
                    break;
                };
            self.now = self.now.max(at);
            let (now, events) = (self.now, self.happens(id, input, false));
            lines.extend(events.iter().map(|line| format!("{id} at {} {line}", shown(now))));
            let leaders = self.nodes.values().filter(|node| node.leads(now).is_some());
            assert!(leaders.count() <= 1, "two leases at {}", shown(now));
        }
        self.now = end;
        lines.push(format!("run {time}: {} messages", self.sent - before));
        Ok(lines)
    }

    /// Something happens to a node. Returns what it puts out, or its events only.
    fn happens(&mut self, id: NodeId, input: Input<C::Message>, all: bool) -> Vec<String> {
        let (mut lines, now) = (Vec::new(), self.now);
        let Some(node) = self.nodes.get_mut(&id) else { return lines };
        node.handle(now, input);
        while let Some(output) = node.poll() {
            match output {
                Output::Event(event) => lines.push(event.to_string()),
                Output::Send { to, message } => {
                    if all {
                        say(&mut lines, to, &message);
                    }
                    self.sent += 1;
                    self.flights.insert((now + self.delay, self.sent), (id, to, message));
                }
                Output::Persist(state) => {
                    let before = self.durable.insert(id, Some(state.clone())).flatten();
                    if all {
                        lines.push(format!("durable: {}", news(before.as_ref(), &state)));
                    }
                }
                Output::WakeAt(Some(time)) if all => lines.push(format!("wake at {}", shown(time))),
                Output::WakeAt(None) if all => lines.push("no timer".to_owned()),
                Output::WakeAt(_) => {}
            }
        }
        lines
    }
}

/// Adds what is sent: a line of its own, or one more receiver in the line before.
pub(crate) fn say(lines: &mut Vec<String>, to: NodeId, message: &impl Serialize) {
    let said = format!(": {}", written(message, 0));
    match lines.last_mut() {
        Some(line) if line.starts_with("to ") && line.ends_with(&said) => {
            line.insert_str(line.len() - said.len(), &format!(", {to}"));
        }
        _ => lines.push(format!("to {to}{said}")),
    }
}

/// The first word, and all behind it.
pub(crate) fn split(text: &str) -> (&str, &str) {
    text.split_once(' ').unwrap_or((text, ""))
}

pub(crate) fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

pub(crate) fn ids(text: &str) -> Result<Vec<NodeId>, MemberError> {
    text.split(',').map(str::parse).collect()
}

pub(crate) fn milliseconds(text: &str) -> Result<Duration, Box<dyn Error>> {
    Ok(Duration::from_millis(text.parse()?))
}

pub(crate) fn shown(time: Time) -> u128 {
    time.since(Time::ZERO).as_millis()
}
