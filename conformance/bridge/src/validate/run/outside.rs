//! What a service says that is no node, and writes no log.

use super::{Mapping, Run, Stop, Vocabulary};
use crate::divergence::Difference;
use crate::validate::answers::Wrong;
use bellwether_core::protocol::NodeId;
use bellwether_core::trace::{Out, Step};
use bellwether_engine::protocol::Id;

/// What of its answers no log can say.
const ANSWERS: &str = "messages of a service without a log: their order among different nodes, and \
                       how long it keeps what it grants";

impl<M: Mapping, V: Vocabulary<M>> Run<'_, M, V> {
    /// Whether a node is answered by such a service under this id.
    pub(super) fn is_outside(&self, at: usize, service: NodeId) -> bool {
        self.sources[at].start.services.contains(&service)
    }

    /// Takes note of what a node asks of one in a step.
    pub(super) fn ask(&mut self, at: usize, step: &Step<V::Durable, V::Message>) {
        for out in &step.out {
            if let Out::Send(sent) = out
                && self.is_outside(at, sent.to)
            {
                let exchange = V::exchange(self.mapping, sent.message.clone());
                self.sources[at].answers.send(exchange);
            }
        }
    }

    /// One answers. It could have, and no other node was granted the same.
    pub(super) fn hear(
        &mut self,
        at: usize,
        step: &Step<V::Durable, V::Message>,
        message: V::Message,
    ) -> Result<(), Stop> {
        self.summary.believed += 1;
        self.count(ANSWERS, 1);
        let exchange = V::exchange(self.mapping, message);
        let source = &mut self.sources[at];
        let node = source.start.node;
        match source.answers.receive(exchange) {
            Ok(None) => Ok(()),
            Ok(Some(epoch)) => self.lead(at, step, (epoch, node)),
            Err(Wrong { what, model, program }) => {
                let found = Difference::different(Id::at(source.at), what, model, program);
                Err(self.reject_step(at, step, found))
            }
        }
    }
}
