//! What is kept of each step for the diagram of a rejection.

use super::{Letter, Mapping, Run, Vocabulary};
use crate::validate::recent::{Face, What};
use bellwether_core::protocol::Role;
use bellwether_core::trace::{Happened, Out, Received, Step};
use bellwether_engine::protocol::{Id, Protocol as Specification};

impl<M: Mapping, V: Vocabulary<M>> Run<'_, M, V> {
    /// Keeps the step for the diagram, with the names that the node's process has.
    pub(super) fn remember(
        &mut self,
        at: usize,
        step: &Step<V::Durable, V::Message>,
        letter: Option<Letter<V::Message>>,
        serials: Vec<u32>,
    ) {
        let source = &self.sources[at];
        let view = &source.judge.view;
        let what = match &step.happened {
            Happened::Boot(_) => What::Boot,
            Happened::Receive(Received { from, message, .. }) => match self.place_of(at, *from) {
                Some(from) => {
                    let serial = letter.map_or(0, |letter| letter.serial);
                    What::Receive { from: Id::at(from), message: message.clone(), serial }
                }
                None => return,
            },
            Happened::Expire(name) => What::Expire(source.judge.named(name)),
            Happened::Suspect(_) | Happened::Request(_) => What::Expire(None),
        };
        let role = match source.judge.doubt {
            None => M::Spec::role(&view.process),
            Some(_) => told(view.role),
        };
        let leader = view.leader.and_then(|leader| self.place_of(at, leader)).map(Id::at);
        let after = Face { up: true, role, leader, timers: view.timers };
        let sent = step.out.iter().filter_map(|out| match out {
            Out::Send(sent) => Some((self.place_of(at, sent.to), sent.message.clone())),
            _ => None,
        });
        let sent = sent.zip(serials);
        let sent = sent
            .filter_map(|((to, message), serial)| Some((Id::at(to?), message, serial)))
            .collect();
        let id = Id::at(source.at);
        self.recents.add(id, what, after, sent);
    }
}

/// A role as a log tells it.
fn told(role: Role) -> &'static str {
    match role {
        Role::NotStarted => "not started",
        Role::Follower => "follower",
        Role::Candidate => "candidate",
        Role::Waiting => "waiting",
        Role::Leader => "leader",
    }
}
