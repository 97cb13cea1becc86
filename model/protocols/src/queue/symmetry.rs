//! Numbers that only grow: what counts is their order, so each state has the smallest that there
//! can be.

use super::entries::{Number, Session};
use super::store::Watched;
use super::{Directory, Message, Process, Queue};
use bellwether_engine::protocol::Everything;

/// The numbers that occur, one bit each.
#[derive(Clone, Copy, Default)]
struct Known(u128);

impl Known {
    fn note(&mut self, number: u8) {
        self.0 |= 1 << number;
    }

    /// The number's place among those that occur, counted from 1.
    fn rank(self, number: u8) -> u8 {
        let below = self.0 & ((1 << number) - 1);
        u8::try_from(below.count_ones() + 1).expect("as many as there are bits")
    }
}

/// Gives sessions and entries the smallest numbers in the same order. A directory that counts from
/// the beginning again gives numbers that have been: there entries keep theirs.
pub(super) fn canonicalize(rules: &Queue, mut all: Everything<'_, Queue>) {
    let (mut sessions, mut numbers) = (Known::default(), Known::default());
    each(&mut all, &mut |session| sessions.note(session.0), &mut |number| numbers.note(number.0));
    let entries_too = rules.directory == Directory::Stays;
    each(&mut all, &mut |session| session.0 = sessions.rank(session.0), &mut |number| {
        if entries_too {
            number.0 = numbers.rank(number.0);
        }
    });
}

/// Visits every number. The next ones are larger than all others, and stay so.
fn each(
    all: &mut Everything<'_, Queue>,
    on_session: &mut impl FnMut(&mut Session),
    on_number: &mut impl FnMut(&mut Number),
) {
    for process in &mut *all.processes {
        match process {
            Process::Client(client) => {
                client.session.iter_mut().for_each(&mut *on_session);
                client.entry.iter_mut().for_each(&mut *on_number);
            }
            Process::Store(store) => {
                on_session(&mut store.next_session);
                on_number(&mut store.next_entry);
                for entry in store.entries.iter_mut() {
                    on_session(&mut entry.session);
                    on_number(&mut entry.number);
                }
                for open in store.sessions_mut() {
                    on_session(&mut open.session);
                    if let Some(Watched::Entry(number)) = &mut open.watch {
                        on_number(number);
                    }
                }
            }
        }
    }
    for envelope in &mut *all.messages {
        match &mut envelope.message {
            Message::Create(session)
            | Message::Read(session)
            | Message::ReadAndWatch(session)
            | Message::Ping(session)
            | Message::Opened(session)
            | Message::Expired(session) => on_session(session),
            Message::Watch { session, entry } => {
                on_session(session);
                on_number(entry);
            }
            Message::Created(number) => on_number(number),
            Message::Children(entries) => {
                for entry in entries.iter_mut() {
                    on_session(&mut entry.session);
                    on_number(&mut entry.number);
                }
            }
            Message::Open
            | Message::Watching
            | Message::Gone
            | Message::Changed
            | Message::Pong => {}
        }
    }
}
