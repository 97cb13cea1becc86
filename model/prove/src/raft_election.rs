//! Raft's election: votes in terms.

use super::part::{Part, thing};
use super::structure::Picture;
use super::votes::{self, Votes};
use bellwether_model::machine::machine;
use bellwether_model::protocol::raft_election::{Message, RaftElection, Returning, Role, Storage};
use bellwether_model::world::{Faults, Scenario, Start, State, Timing, World};

/// The words of Raft.
const WORDS: &[(&str, &str)] = &[
    ("%term", "term"),
    ("%vote", "voted"),
    ("%candidate", "candidate"),
    ("%grant", "vote-in-flight"),
    ("%one-leader", "election-safety"),
    ("%stand", "votes-stand"),
    ("%behind", "majority-behind"),
];

/// What is proved of Raft's election by these rules.
pub(super) fn parts(rules: &RaftElection) -> Vec<Part> {
    let mut besides = match rules.storage {
        Storage::Durable => vec![],
        Storage::ForgetsVote => vec!["forget-vote"],
        Storage::ForgetsAll => vec!["forget-all"],
    };
    if rules.returning == Returning::ForgetsVote && rules.storage != Storage::ForgetsVote {
        besides.push("forget-vote");
    }
    let votes = Votes { besides, anyone_votes: false };
    vec![Part {
        name: "votes",
        about: "votes in terms",
        rules: machine(*rules),
        relation: votes.relation(WORDS),
        assumes: vec!["every process knows all members, and they do not change"],
        worlds: worlds(),
        picture,
        history: votes::HISTORY,
        says_the_same: true,
    }]
}

/// Small worlds in which every fault strikes.
fn worlds() -> Vec<Scenario> {
    let with = |faults| Scenario { faults, ..Scenario::calm(3) };
    vec![
        with(Faults { crashes: 1, recoveries: 1, ..Faults::NONE }),
        with(Faults { suspicions: 2, ..Faults::NONE }),
        with(Faults { crashes: 1, recoveries: 1, suspicions: 1, ..Faults::NONE }),
        with(Faults { losses: 1.into(), duplicates: 1, suspicions: 1, ..Faults::NONE }),
        Scenario { start: Start::Cold, ..Scenario::calm(4).with_crashes(1, 0) },
        Scenario {
            start: Start::Cold,
            ..with(Faults { crashes: 1, recoveries: 1, suspicions: 1, ..Faults::NONE })
        },
        Scenario { timing: Timing::Asynchronous, capacity: Some(1), ..Scenario::calm(2) },
    ]
}

fn picture(world: &World, state: &State) -> Picture {
    let mut picture = Picture::default();
    let all: Vec<u64> = world.ids().map(thing).collect();
    votes::tell_of_majorities(&mut picture, &all, &all, all.len() / 2 + 1);
    for id in state.ids() {
        let (me, process, stable) =
            (thing(id), state.process_of::<RaftElection>(id), state.stable_of::<RaftElection>(id));
        picture.is("term-of", &[me], stable.term.into());
        if let Some(vote) = stable.vote {
            picture.holds("voted", &[me, thing(vote)]);
        }
        if process.role == Role::Candidate {
            picture.holds("candidate", &[me]);
            for voter in process.granted.iter() {
                picture.holds("counted", &[me, thing(voter)]);
            }
        }
        if process.role == Role::Leader {
            picture.holds("leads", &[me]);
            picture.holds("has-led", &[stable.term.into(), me]);
        }
    }
    for envelope in state.in_flight() {
        if let Message::VoteGranted(term) = *envelope.message.get::<RaftElection>() {
            let (from, to) = (thing(envelope.from), thing(envelope.to));
            picture.holds("vote-in-flight", &[from, to, term.into()]);
        }
    }
    picture
}
