//! What is seen of a world: faces, agreement, the invariants, the trace, and the digest.

use std::fmt;

use bellwether::protocol::{Input, NodeId, Role};

use crate::clock::Moment;
use crate::invariant::{Face, Fact, Term, View};
use crate::subject::Subject;

use super::{Broken, MessageOf, World, mix, outcome};

impl<S: Subject> World<S> {
    /// Looks at a node anew, and lets the invariants look if anything changed.
    pub(super) fn observe(&mut self, node: usize) {
        let host = &self.hosts[node];
        let told = host.told;
        let until = |until| host.clock.when(until);
        let face = Face {
            id: host.id,
            up: host.node.is_some(),
            role: told.role,
            leader: told.leader,
            term: told.leadership.map(|leadership| Term {
                epoch: leadership.epoch,
                until: leadership.until.map_or(Moment(u64::MAX), until),
            }),
            durable: host.disk.synced.as_ref().and_then(S::granted),
        };
        let before = &self.faces[node];
        if *before == face {
            return;
        }
        if face.role == Role::Leader && before.role != Role::Leader {
            self.counts.leaders += 1;
        }
        let same = (before.up, before.role, before.leader) == (face.up, face.role, face.leader);
        self.faces[node] = face;
        if !same {
            let leader = self.on_one_leader();
            let since = self.agreed.filter(|&(_, before)| Some(before) == leader);
            self.agreed = since.or(leader.map(|leader| (self.now, leader)));
        }
        self.look(Fact::Changed(node));
    }

    /// The leader on which all nodes that are up agree.
    fn on_one_leader(&self) -> Option<NodeId> {
        let mut up = self.faces.iter().filter(|face| face.up);
        let leader = up.next()?.leader?;
        let leads = self.faces[usize::from(leader.get()) - 1].role == Role::Leader;
        (leads && up.all(|face| face.leader == Some(leader))).then_some(leader)
    }

    pub(super) fn look(&mut self, fact: Fact) {
        let view = View {
            at: self.now,
            nodes: &self.faces,
            agreed: self.agreed,
            terms: self.setting.terms,
        };
        for (name, invariant) in &mut self.invariants {
            if let Err(what) = invariant.look(view, fact)
                && self.broken.is_none()
            {
                self.broken = Some(Broken { invariant: name, at: self.now, what });
            }
        }
        if let (true, Some(broken)) = (self.setting.trace, &self.broken) {
            let Broken { invariant, at, what } = broken;
            self.trace.push(format!("{at}  {invariant} is broken: {what}"));
        }
    }

    pub(super) fn digest_of(&mut self, node: usize, input: &Input<MessageOf<S>>) {
        use std::hash::{Hash, Hasher};
        let mut hasher = outcome::Fold(self.digest ^ self.now.0);
        (node as u64).hash(&mut hasher);
        input.hash(&mut hasher);
        self.digest = mix(hasher.finish());
    }

    pub(super) fn note(&mut self, node: usize, what: fmt::Arguments<'_>) {
        if self.setting.trace {
            self.trace.push(format!("{}  n{:<3} {what}", self.now, self.hosts[node].id));
        }
    }
}
