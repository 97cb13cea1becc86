//! `grants-stand`: what a node has granted is durable before it is sent, and no node grants one
//! epoch to two, for as long as it has its disk. A claim is a grant to oneself.

use std::collections::BTreeMap;

use bellwether_core::protocol::NodeId;

use super::{Fact, Invariant, View};
use crate::subject::Says;

/// To which node each node has granted each epoch, with each disk that it has had.
#[derive(Debug, Default)]
pub(super) struct GrantsStand(BTreeMap<(u64, usize, u64), NodeId>);

impl Invariant for GrantsStand {
    fn look(&mut self, view: View<'_>, fact: Fact) -> Result<(), String> {
        let Fact::Sent { from, to, says, .. } = fact else { return Ok(()) };
        let (me, wiped) = (view.nodes[from].id, view.nodes[from].wiped);
        let (epoch, to) = match says {
            Says::Grants(epoch) => (epoch, to),
            Says::Gives(epoch, to) => (epoch, to),
            Says::Claims(epoch) => (epoch, me),
            Says::Leads(_) | Says::Other => return Ok(()),
        };
        let first = *self.0.entry((epoch, from, wiped)).or_insert(to);
        if first != to {
            return Err(format!("n{me} grants epoch {epoch} to n{to}, and has to n{first}"));
        }
        let durable = view.nodes[from].durable;
        let stands = durable.is_some_and(|granted| {
            granted.epoch > epoch || (granted.epoch == epoch && granted.to == Some(to))
        });
        if stands {
            return Ok(());
        }
        Err(format!("n{me} sends that it grants epoch {epoch} to n{to} before that is durable"))
    }
}
