//! What the checker calls the groups: names that do not depend on how many there were.
//!
//! Group numbers are compared for equality and for nothing else, and of the numbers of one
//! coordinator only its own last one, on its stable storage, is ever added to. So the numbers of
//! each coordinator may be replaced by their ranks among those that a process still knows: equal
//! ones stay equal, different ones different, and since the last one is the largest of all, the
//! next one is again a number that no process knows. What follows in the renamed state is, renamed,
//! what follows in the other.
//!
//! Where the counter is volatile this is not so: it starts at the beginning again, and whether it
//! meets a number that is still known depends on how large that is. There, nothing is renamed.

use super::{Counter, Group, Invitation, Message};
use bellwether_engine::protocol::{Everything, Id};

/// The numbers that are known, a set of bytes.
struct Known([u128; 2]);

impl Known {
    fn note(&mut self, number: u8) {
        self.0[usize::from(number >> 7)] |= 1 << (number & 127);
    }

    /// How many known numbers above 0 are not larger than `number`, which is known.
    fn rank(&self, number: u8) -> u8 {
        let upto = |half: u128, number: u8| (half & (u128::MAX >> (127 - number))).count_ones();
        let counted = match number {
            0..=127 => upto(self.0[0] & !1, number),
            _ => (self.0[0] & !1).count_ones() + upto(self.0[1], number - 128),
        };
        u8::try_from(counted).expect("a set of 8-bit numbers")
    }
}

/// Replaces every group number by its rank, where the counter is stable.
pub(super) fn canonicalize(rules: &Invitation, all: Everything<'_, Invitation>) {
    if rules.counter == Counter::Stable {
        rank(all);
    }
}

fn rank(all: Everything<'_, Invitation>) {
    let Everything { processes, stable, messages, .. } = all;
    for (coordinator, at) in Id::all(processes.len()).zip(0..) {
        let mut known = Known([0; 2]);
        let mut note = |group: &mut Group| {
            if group.coordinator == coordinator {
                known.note(group.number);
            }
        };
        let mut groups = |each: &mut dyn FnMut(&mut Group)| {
            processes.iter_mut().filter_map(|p| p.group.as_mut()).for_each(&mut *each);
            messages.iter_mut().filter_map(|e| e.message.group_mut()).for_each(each);
        };
        groups(&mut note);
        known.note(stable[at].counter);
        groups(&mut |group| {
            if group.coordinator == coordinator {
                group.number = known.rank(group.number);
            }
        });
        stable[at].counter = known.rank(stable[at].counter);
    }
}

impl Message {
    fn group_mut(&mut self) -> Option<&mut Group> {
        match self {
            Message::AreYouCoordinator | Message::Coordinator => None,
            Message::Invitation(group)
            | Message::Accept(group)
            | Message::Ready { group, .. }
            | Message::Done(group)
            | Message::AreYouThere(group)
            | Message::Here(group) => Some(group),
        }
    }
}
