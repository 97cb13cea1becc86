//! The stage of the stories of a member: one of three, by any protocol. Times are in milliseconds.
//!
//! - `member PROTOCOL ID [KEY=VALUE]…`: it starts at 0. The keys are `observers`, `witnesses`, and
//!   those of its [`Setup`]: `silence`, `bound`, `prepares`, `detects`.
//! - `save NAME` and `load NAME`: keeps it for later stories, and goes on with it.
//! - `run MS [acks=ID | counted]`: time passes as in a loop. What is sent is not shown. That node
//!   acknowledges the rounds of a leader by the quorum bully. `pause MS`: the process stands still.
//! - What [happens](Event): `wake`, `from ID MESSAGE`, `beat ID`, `rival ID`, `drained`, `gone IDS`,
//!   `saved`, `failed WHY`, `unplugged`, `ask TICKET COMMAND`, `stop`. `works`: work of the program
//!   is under way until it has `ended`. `persist`: the core puts its state out once more.
//! - `what`: what the node is, and what the program knows.
//!
//! What the program is `told` begins with the number of the change. Of a state only news is shown.

use std::collections::BTreeMap;
use std::error::Error;

use super::Run;
use crate::member::*;
use crate::protocol::stories::{ids, milliseconds, say, shown, split};
use crate::protocol::{Config, Members, Reason, bully, garcia_molina, lease, quorum, stoller};
use crate::stories::{Stage, Told, news, read};
use crate::trace::{Received, Sent};

/// Tells a member of some protocol a command.
type Tell = Box<dyn FnMut(&str) -> Told>;

/// One member.
#[derive(Default)]
pub(super) struct AnyMember {
    member: Option<Tell>,
    told: Vec<String>,
    saved: BTreeMap<String, Vec<String>>,
}

impl Stage for AnyMember {
    fn begin(&mut self) {
        (self.member, self.told) = (None, Vec::new());
    }

    fn tell(&mut self, command: &str) -> Told {
        match split(command) {
            ("load", name) => {
                self.begin();
                let saved = self.saved.get(name).ok_or("that is not saved")?.clone();
                saved.iter().try_for_each(|command| self.tell(command).map(drop))?;
                return Ok(Vec::new());
            }
            ("save", name) => {
                let before = self.saved.insert(name.to_owned(), self.told.clone());
                assert!(before.is_none(), "`{name}` is saved twice");
                return Ok(Vec::new());
            }
            ("member", text) => self.member = Some(placed(text)?),
            _ => {}
        }
        self.told.push(command.to_owned());
        self.member.as_mut().ok_or("there is no member")?(command)
    }
}

/// A member that has not started.
fn placed(text: &str) -> Result<Tell, Box<dyn Error>> {
    let (protocol, text) = split(text);
    let (id, keys) = split(text);
    let keys = keys.split_whitespace().map(|key| key.split_once('=').unwrap_or((key, "")));
    let (id, keys) = (id.parse::<NodeId>()?, keys.collect::<BTreeMap<_, _>>());
    let listed = |key: &str| keys.get(key).map_or(Ok(Vec::new()), |nodes| ids(nodes));
    let members = Members::new(ids("1,2,3")?)?.with_observers(listed("observers")?)?;
    let members = members.with_witnesses(listed("witnesses")?)?;
    let (store, durations) = (ids("3")?[0], lease::Durations::DEFAULT);
    let (client, ask) = (lease::ClientConfig { id, store, durations }, Duration::from_secs(1));
    match protocol {
        "bully" => teller::<bully::Bully>(usual(id, members), &keys),
        "garcia-molina" => teller::<garcia_molina::GarciaMolina>(usual(id, members), &keys),
        "lease" => teller::<lease::Lease>(lease::Config::Client(client), &keys),
        "quorum" => teller::<quorum::Quorum>(usual(id, members), &keys),
        "stoller" => teller::<stoller::Stoller>(stoller::Config { id, members, ask }, &keys),
        _ => Err("there is no such protocol")?,
    }
}

fn usual<T: Default>(id: NodeId, members: Members) -> Config<T> {
    Config { id, members, timing: T::default() }
}

fn teller<C: Core>(config: C::Config, keys: &BTreeMap<&str, &str>) -> Result<Tell, Box<dyn Error>> {
    let mut setup = Setup { stores: true, ..Setup::of::<C>(&config, 3) };
    setup.silence = keys.get("silence").map_or(Ok(setup.silence), |time| milliseconds(time))?;
    setup.bound = milliseconds(keys.get("bound").unwrap_or(&"60000"))?;
    setup.prepares = keys.contains_key("prepares");
    let detection = keys.contains_key("detects").then(Detection::default);
    setup.detection = detection.map(|detection| (detection, detection.check().expect("good")));
    let mut run = Run::<C>::new(Node::new(config, C::founder(), 0)?, &setup);
    Ok(Box::new(move |command: &str| run.tell(command)))
}

impl<C: Core> Run<C> {
    fn tell(&mut self, command: &str) -> Told {
        let (first, rest) = split(command);
        let (which, what) = split(rest);
        let event = match first {
            "run" => return self.passes(rest),
            "what" => return Ok(vec![self.facts()]),
            "pause" => {
                let _ = self.member.wait(self.now);
                self.now = self.now + milliseconds(rest)?;
                return Ok(Vec::new());
            }
            "persist" => {
                let state = self.durable.clone().ok_or("nothing is durable")?;
                self.member.queue.state = Some(state);
                Event::Wake
            }
            "works" | "ended" => {
                self.works = first == "works";
                Event::WorkEnded
            }
            "member" => Event::Start,
            "wake" => Event::Wake,
            "stop" => Event::Stop,
            "from" => Event::Received(Received::unnumbered(which.parse()?, read(what)?)),
            "beat" => Event::Heartbeat { from: rest.parse()?, incarnation: 1 },
            "rival" => Event::ToldOfRival { from: rest.parse()? },
            "drained" => Event::Drained { gone: BTreeSet::new() },
            "gone" => Event::Drained { gone: ids(rest)?.into_iter().collect() },
            "saved" => Event::StorageAnswered(StorageAnswer::Done),
            "failed" => Event::StorageAnswered(StorageAnswer::Failed(rest.to_owned())),
            "unplugged" => Event::StorageAnswered(StorageAnswer::Gone),
            "ask" => Event::Command { ticket: which.parse()?, command: read(what)? },
            _ => Err("there is no such command")?,
        };
        let done = self.take(event);
        Ok(self.lines(done))
    }

    fn passes(&mut self, text: &str) -> Told {
        let (time, how) = split(text);
        let (end, mut told, mut sent) = (self.now + milliseconds(time)?, Vec::new(), 0);
        while let Some(done) = self.step(end) {
            for line in self.lines(done) {
                let round = line.split_once(": Coordinator");
                if let (Some(node), Some((_, round))) = (how.strip_prefix("acks="), round) {
                    let acked = self.tell(&format!("from {node} Ack{round}"))?;
                    told.extend(acked.into_iter().filter(|line| !line.contains("RenewLease")));
                }
                match line.split(' ').nth(2) {
                    Some("to" | "SendHeartbeat") => sent += 1,
                    _ => told.push(line),
                }
            }
        }
        told.extend((how == "counted").then(|| format!("run {time}: {sent} sent")));
        Ok(told)
    }

    /// What is to be done, as lines.
    fn lines(&mut self, done: Actions<C>) -> Vec<String> {
        let mut lines = Vec::new();
        for action in done {
            match action {
                Action::Send(Sent { to, message, .. }) => say(&mut lines, to, &message),
                Action::Publish(view) => lines.push(format!("told {}", known(&view))),
                Action::Save(state) => {
                    lines.push(format!("save {}", news(self.durable.as_ref(), &state)));
                    self.durable = Some(state);
                }
                other => lines.push(format!("{other:?}")),
            }
        }
        lines.iter().map(|line| format!("at {} {line}", shown(self.now))).collect()
    }

    fn facts(&self) -> String {
        let (member, view) = (&self.member, self.member.view());
        let facts = [
            (member.is_behind(), ", behind"),
            (member.awaits_work(), ", awaits work"),
            (member.leaves(), ", leaves"),
            (member.tracks_gone_nodes(), ", tracks gone nodes"),
        ];
        let facts: String = facts.iter().filter(|(is, _)| *is).map(|(_, fact)| *fact).collect();
        let (role, terms, rivals) = (member.node().status().role, view.terms(), view.rivals());
        let (told, lost) = (known(view), view.lost());
        format!("what: {role}{facts}; told {told}; terms {terms}, rivals {rivals}, lost {lost:?}")
    }
}

/// What a program knows.
fn known(view: &ProgramView) -> String {
    let facts = [
        ("of", view.leader().map(|leader| leader.to_string())),
        ("in epoch", view.epoch().map(|epoch| epoch.to_string())),
        ("until", view.lease().map(|lease| shown(lease.until).to_string())),
        ("with rival", view.rival().map(|rival| rival.to_string())),
    ];
    let facts = facts.into_iter().filter_map(|(what, value)| Some(format!(" {what} {}", value?)));
    let (facts, reason) = (facts.collect::<String>(), view.reason().map_or("none", Reason::name));
    format!("{}: {}{facts}, {reason}", view.seq(), view.role())
}
