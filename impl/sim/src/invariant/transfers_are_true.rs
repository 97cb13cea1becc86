//! `transfers-are-true`: what an operator is answered is what has happened. A transfer is done if
//! the other node has said that it leads the epoch that is named, a later one than before; and it
//! was not taken if the node that was asked leads as before.

use std::collections::BTreeMap;

use bellwether_core::protocol::NodeId;

use super::{Answer, Fact, Invariant, View};
use crate::subject::Says;

/// Which node has said first that it leads each epoch.
#[derive(Debug, Default)]
pub(super) struct TransfersAreTrue(BTreeMap<u64, NodeId>);

impl Invariant for TransfersAreTrue {
    fn look(&mut self, view: View<'_>, fact: Fact) -> Result<(), String> {
        let (node, to, before, leads, answer) = match fact {
            Fact::Sent { from, says: Says::Leads(epoch), .. } => {
                self.0.entry(epoch).or_insert(view.nodes[from].id);
                return Ok(());
            }
            Fact::Answered { node, to, epoch, leads, answer, .. } => {
                (view.nodes[node].id, to, epoch, leads, answer)
            }
            _ => return Ok(()),
        };
        match answer {
            Answer::Done(epoch) => {
                let said = epoch.and_then(|epoch| self.0.get(&epoch));
                if said == Some(&to) && epoch > before {
                    return Ok(());
                }
                Err(format!("n{node} answers that n{to} leads epoch {epoch:?}, which it does not"))
            }
            Answer::Stays if leads.is_none() || leads != before => {
                Err(format!("n{node} answers that it leads on, after {before:?} it is {leads:?}"))
            }
            Answer::Stays | Answer::Other | Answer::Refused => Ok(()),
        }
    }
}
