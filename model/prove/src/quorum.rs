//! The quorum bully: grants of epochs.

use super::part::{Part, thing};
use super::structure::Picture;
use super::votes::{self, Votes};
use bellwether_model::machine::machine;
use bellwether_model::protocol::quorum::{
    Canvass, Founding, Grants, Lists, Message, Observing, Preemption, Process, Quorum, Role,
    Stable, Storage,
};
use bellwether_model::world::{Faults, Scenario, Start, State, Timing, World};

/// The words of the quorum bully.
const WORDS: &[(&str, &str)] = &[
    ("%term", "epoch"),
    ("%vote", "granted-to"),
    ("%candidate", "claims"),
    ("%grant", "grant-in-flight"),
    ("%one-leader", "one-leader-per-epoch"),
    ("%stand", "grants-stand"),
    ("%behind", "epochs-grow"),
];

/// What is proved of the quorum bully by these rules.
pub(super) fn parts(rules: &Quorum) -> Result<Vec<Part>, String> {
    if rules.lists != Lists::One {
        return Err("the proof is about one list of members; give --rule lists=one".to_owned());
    }
    if rules.founding != Founding::Given || rules.wiped.is_some() {
        let instead = "give --rule founding=given and --rule wiped=null";
        return Err(format!("the proof is about processes that vote from the start; {instead}"));
    }
    let mut besides = vec!["follow", "succeed"];
    besides.extend(match rules.storage {
        Storage::Durable => &[][..],
        Storage::SyncsLate => &["lose-writes", "lose-vote"],
        Storage::ForgetsGrant => &["forget-vote"],
        Storage::ForgetsAll => &["forget-all"],
    });
    besides.extend(match rules.grants {
        Grants::Once => None,
        Grants::Again => Some("vote-twice"),
        Grants::CountsSupport => Some("say-only"),
    });
    let votes = Votes { besides, anyone_votes: rules.observing == Observing::Votes };
    Ok(vec![Part {
        name: "grants",
        about: "grants of epochs",
        rules: machine(*rules),
        relation: votes.relation(WORDS),
        assumes: vec!["every process knows all members, and they do not change"],
        worlds: worlds(rules),
        picture,
        history: votes::HISTORY,
        says_the_same: rules.storage != Storage::SyncsLate,
    }])
}

/// Small worlds in which every fault strikes.
fn worlds(rules: &Quorum) -> Vec<Scenario> {
    let nodes = if rules.observer.is_some_and(|id| id.index() >= 3) { 4 } else { 3 };
    let with = |faults| Scenario { faults, ..Scenario::calm(nodes) };
    let restart = Faults { crashes: 1, recoveries: 1, ..Faults::NONE };
    let mut worlds = vec![
        with(restart),
        with(Faults { suspicions: 2, ..Faults::NONE }),
        with(Faults { suspicions: 1, ..restart }),
        with(Faults { losses: 1.into(), duplicates: 1, suspicions: 1, ..Faults::NONE }),
        Scenario { start: Start::Cold, ..with(Faults { suspicions: 1, ..restart }) },
    ];
    if rules.canvass == Canvass::None && rules.preemption == Preemption::Never {
        worlds.push(Scenario { timing: Timing::Asynchronous, capacity: Some(1), ..with(restart) });
    }
    worlds
}

/// What a process takes for its epoch and its grant.
fn kept(process: &Process, stable: &Stable) -> Stable {
    process.written.unwrap_or(*stable)
}

fn picture(world: &World, state: &State) -> Picture {
    let mut picture = Picture::default();
    let rules = world.rules::<Quorum>().expect("a world of this protocol");
    let all: Vec<u64> = world.ids().map(thing).collect();
    let observers = rules.observers(0, all.len());
    let voters = world.ids().filter(|&id| !observers.contains(id)).map(thing).collect::<Vec<_>>();
    votes::tell_of_majorities(&mut picture, &all, &voters, voters.len() / 2 + 1);
    for id in state.ids() {
        let (me, process) = (thing(id), state.process_of::<Quorum>(id));
        let Stable { epoch, granted_to, .. } = kept(process, state.stable_of::<Quorum>(id));
        picture.is("epoch-of", &[me], epoch.into());
        if let Some(to) = granted_to {
            picture.holds("granted-to", &[me, thing(to)]);
        }
        match process.role {
            Role::Claiming | Role::Succeeding => {
                picture.holds("claims", &[me]);
                for voter in process.granted.iter() {
                    picture.holds("counted", &[me, thing(voter)]);
                }
            }
            Role::Leader | Role::Lapsed => {
                picture.holds("leads", &[me]);
                picture.holds("has-led", &[epoch.into(), me]);
            }
            Role::Follower | Role::Deferring | Role::Canvassing => {}
        }
    }
    for envelope in state.in_flight() {
        let (from, to) = (thing(envelope.from), thing(envelope.to));
        let epoch = match envelope.message.get::<Quorum>().message {
            Message::Grant(epoch) | Message::Entrust(epoch) => epoch,
            // Who yields has granted the next epoch to the one that is next.
            Message::Yield(epoch, next) if next == Some(envelope.to) => epoch + 1,
            Message::Support(epoch) if rules.grants == Grants::CountsSupport => epoch,
            _ => continue,
        };
        picture.holds("grant-in-flight", &[from, to, epoch.into()]);
    }
    picture
}
