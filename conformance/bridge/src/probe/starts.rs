//! How a node starts again that has [other members](Mapping::starts) than those of its world, or
//! does not: what it may be given depends on what it has kept.

use super::{Probe, ProbeResult, WrongAnswer};
use crate::compare::without_facts;
use crate::divergence::Difference;
use crate::follows::ExpectedRun;
use crate::mapping::{Mapping, SpecEvent, Start, node_id};
use crate::node::Node;

impl<M: Mapping> Probe<'_, '_, '_, M> {
    /// The node stops, and starts again in each of these ways.
    pub(super) fn starts(&mut self) -> ProbeResult<M::Spec> {
        let (group, node) = (self.group, self.node);
        let Some(durable) = node.durable() else { return Ok(()) };
        let id = node.id;
        for Start { with, program, by } in
            group.mapping.starts(node_id(id), &group.members, durable)
        {
            self.count += 1;
            let differences = match (program, by) {
                (Err(_), None) => Vec::new(),
                (Ok(_), None) => vec![Difference::unexpected(id, "start", "it must refuse")],
                (Err(refusal), Some(_)) => {
                    vec![Difference::different(id, "start", "possible", refusal.to_string())]
                }
                (Ok(core), Some(rules)) => self.boots_by(rules, &node.after_crash(group, core)),
            };
            if !differences.is_empty() {
                let words = format!("{id} starts again with {with}");
                return Err(WrongAnswer { words, happening: None, differences });
            }
        }
        Ok(())
    }

    /// What differs when a node boots by these rules. What it tells of its members is not compared:
    /// the world has others.
    fn boots_by(&mut self, rules: M::Spec, down: &Node<M>) -> Vec<Difference> {
        let group = self.group;
        let mut run = ExpectedRun::<M>::by(rules, &down.view);
        run.happens(group, down.id, SpecEvent::Boot);
        match down.react(group, SpecEvent::Boot, &mut self.outputs) {
            Ok(after) => {
                without_facts(group, down, &self.outputs, &after, &run.expected(), &run.told)
            }
            Err(difference) => vec![difference],
        }
    }
}
