//! Epochs [without history](bellwether_engine::terms), and rounds.
//!
//! Of rounds, only a leader asks anything: for how many of those that it waits for an
//! acknowledgement counts. So a round is called by that number, in its state and in flight.

use super::{Letter, Message, Process, Quorum, Role, Stable, Storage, known};
use bellwether_engine::protocol::{Envelope, Everything, Id, WithinBounds};
use bellwether_engine::terms::{self, BEYOND};

/// How many rounds a leader can have where they are concrete.
const MOST_ROUNDS: u16 = 8;

/// Whether the state of which this is a part is within the bounds.
pub(super) const WITHIN: WithinBounds<Quorum> = WithinBounds {
    at_most: "2 epochs between a process that runs and the next higher epoch (or as many epochs as \
              the rule 'epochs' says), and 8 rounds told apart",
    within: |rules, process, stable| {
        let Stable { epoch, .. } = known(process, stable);
        let follows = rules.epochs.is_none_or(|most| epoch <= most);
        epoch != BEYOND && follows && process.round < MOST_ROUNDS
    },
};

/// Gives epochs and rounds names that do not depend on history.
pub(super) fn canonicalize(rules: &Quorum, all: Everything<'_, Quorum>) {
    let Everything { count, processes, stable, messages, group } = all;
    let (processes, stable) = (&mut processes[..count], &mut stable[..count]);
    name_rounds(processes, stable, messages);
    if rules.epochs.is_some() {
        return;
    }
    let forgets = |rules: &Quorum| rules.storage == Storage::ForgetsAll;
    terms::canonicalize(group.any(count, forgets), |show| {
        let written = processes.iter_mut().filter_map(|process| process.written.as_mut());
        for stable in stable.iter_mut().chain(written) {
            show(&mut stable.epoch);
            stable.mark.epoch_mut().map(&mut *show);
        }
        for Envelope { message: Letter { message, mark, .. }, .. } in messages.iter_mut() {
            message.epoch_mut().map(&mut *show);
            mark.epoch_mut().map(&mut *show);
        }
    });
}

fn name_rounds(processes: &mut [Process], stable: &[Stable], messages: &mut [Envelope<Letter>]) {
    let leads = |process: &Process| matches!(process.role, Role::Leader | Role::Lapsed);
    let counts = |leader: Id, epoch, round| {
        let process = &processes[leader.index()];
        let own = known(process, &stable[leader.index()]).epoch;
        let for_one = |waits| waits > 0 && round >= waits;
        let waits = [process.asked, process.later].map(|waits| u16::from(for_one(waits)));
        if leads(process) && epoch == own { waits.iter().sum() } else { 0 }
    };
    for Envelope { from, to, message } in messages.iter_mut() {
        let (leader, epoch, round) = match &mut message.message {
            Message::Coordinator(epoch, round) => (*from, *epoch, round),
            Message::Ack(epoch, round) => (*to, *epoch, round),
            _ => continue,
        };
        *round = counts(leader, epoch, *round);
    }
    for process in processes.iter_mut() {
        process.asked = u16::from(process.asked > 0);
        process.later = 2 * u16::from(process.later > 0);
        process.round = process.asked.max(process.later);
    }
}
