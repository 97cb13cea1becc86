//! `transfers-work`: where nothing else happens, a node that can take over does, and if it cannot,
//! the leader leads on.

use super::{Answer, Fact, Invariant, View};

#[derive(Debug)]
pub(super) struct TransfersWork;

impl Invariant for TransfersWork {
    fn look(&mut self, view: View<'_>, fact: Fact) -> Result<(), String> {
        let Fact::Answered { node, to, able: Some(able), answer, .. } = fact else {
            return Ok(());
        };
        match (able, answer) {
            (true, Answer::Done(_)) | (false, Answer::Stays | Answer::Refused) => Ok(()),
            (able, answer) => {
                let (can, node) = (if able { "can" } else { "cannot" }, view.nodes[node].id);
                Err(format!("n{to} {can} take over from n{node}, and the answer is {answer:?}"))
            }
        }
    }
}
