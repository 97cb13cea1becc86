//! What goes wrong with a time-out that is too short, in half a sentence.

use super::TooShort;
use bellwether_engine::property::TIMEOUTS_ACCURATE;
use bellwether_engine::protocol::Id;
use bellwether_engine::world::{Envelope, TooEarly};

impl TooShort {
    /// Returns which timer would expire in the end, and what it waits for still; `None` if it is
    /// not accurate time-outs that are looked for.
    #[must_use]
    pub fn blame(&self) -> Option<String> {
        let found = self.counterexample.as_ref();
        let found = found.filter(|_| self.property.name == TIMEOUTS_ACCURATE)?;
        let actions = self.world.in_concrete_terms(&found.actions());
        let world = self.world.concrete();
        let mut end = world.initial();
        for action in &actions {
            end = world.apply(&end, action).state;
        }
        world.too_early(&end).first().map(half_a_sentence)
    }
}

fn half_a_sentence(early: &TooEarly) -> String {
    let TooEarly { id, timer, messages, senders } = early;
    let still = match (&messages[..], &senders[..]) {
        ([], []) => "what it waits for can still come".to_owned(),
        ([], senders) => {
            let senders: Vec<String> = senders.iter().map(ToString::to_string).collect();
            format!("{} may still send what it waits for", senders.join(" or "))
        }
        (messages, _) => {
            let words: Vec<String> = messages.iter().map(|one| message(*id, one)).collect();
            let verb =
                if words.len() == 1 { "is still on its way" } else { "are still on their way" };
            format!("{} {verb}", words.join(" and "))
        }
    };
    format!("{id}'s {} timer would expire now, though {still}", timer.label())
}

/// A message as the process sees it whose timer it is.
fn message(id: Id, envelope: &Envelope) -> String {
    let &Envelope { from, to, message } = envelope;
    let label = message.label();
    if to == id {
        format!("{label} from {from}")
    } else if from == id {
        format!("{label} to {to}")
    } else {
        format!("{label} from {from} to {to}")
    }
}
