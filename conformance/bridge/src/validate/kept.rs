//! The states that one node has made durable, and what was done for it: the lines `did`.

use bellwether_core::trace::Deed;
use std::collections::VecDeque;

/// The most states that are kept which may be durable or not.
const MOST: usize = 1 << 12;

/// The states that one incarnation of a node has put out to be durable, and how many of them are.
#[derive(Clone, Debug)]
pub(super) struct Kept<D> {
    /// The durable state; `None` if there is none.
    durable: Option<D>,
    /// The states that may be durable after it, each with its number.
    put: VecDeque<(u64, D)>,
    /// How many it has put out, and how many of those are durable.
    count: u64,
    saved: u64,
    /// How many are being saved.
    saving: Option<u64>,
    /// How many were durable as another node shows, which has received what was sent after them.
    shown: u64,
    /// The last message that it put out, and those that may not be sent yet, each with how much
    /// must be durable before.
    last: Option<u64>,
    unsent: VecDeque<(u64, u64)>,
    /// How many it had put out when it came to lead.
    led_after: u64,
    /// True if the log tells what was done for the node.
    pub(super) tells: bool,
    /// True if all that it has put out is known.
    pub(super) known: bool,
}

/// The state with which an incarnation begins.
pub(super) enum Begins {
    /// The durable state; the incarnation before had put out so many states up to it.
    With(u64),
    /// A state that the one before may have put out after its log ends.
    Unwritten,
    /// A state of which nothing is known, as the one before put out unknown states.
    Unknown,
    /// A state that cannot be durable.
    Wrong,
}

impl<D: Clone + PartialEq> Kept<D> {
    /// An incarnation begins with this.
    pub(super) fn new(durable: Option<D>) -> Self {
        Kept {
            durable,
            put: VecDeque::new(),
            count: 0,
            saved: 0,
            saving: None,
            shown: 0,
            last: None,
            unsent: VecDeque::new(),
            led_after: 0,
            tells: false,
            known: true,
        }
    }

    /// How many states it has put out.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Returns what is certainly durable, or is as another node shows.
    pub(super) fn certain(&self) -> Option<&D> {
        let shown = self.put.iter().find(|&&(number, _)| number == self.shown);
        shown.map(|(_, put)| put).or(self.durable.as_ref())
    }

    /// Returns what it put out last to be durable, or what is.
    pub(super) fn latest(&self) -> Option<&D> {
        self.put.back().map(|(_, put)| put).or(self.durable.as_ref())
    }

    /// Returns what the next state that it puts out follows: the latest, unless lines are missing.
    pub(super) fn last(&self) -> Option<&D> {
        if self.known { self.latest() } else { self.certain() }
    }

    /// Takes note that the node puts out a state to be durable.
    pub(super) fn put(&mut self, state: &D) {
        self.count += 1;
        if self.put.len() == MOST {
            self.put.pop_front();
        }
        self.put.push_back((self.count, state.clone()));
    }

    pub(super) fn send(&mut self, id: u64) {
        self.last = Some(id);
        if self.count > self.saved && self.unsent.len() < MOST {
            self.unsent.push_back((id, self.count));
        }
    }

    /// Takes note that the node has come to lead.
    pub(super) fn leads(&mut self) {
        self.led_after = self.count;
    }

    /// Another node has received what was sent after so many states were durable.
    pub(super) fn show(&mut self, count: u64) {
        self.shown = self.shown.max(count);
    }

    /// Takes note that so many states are durable.
    fn save(&mut self, count: u64) {
        while let Some((number, _)) = self.put.front()
            && *number <= count
        {
            self.durable = self.put.pop_front().map(|(_, put)| put);
        }
        self.saved = self.saved.max(count);
        while self.unsent.front().is_some_and(|&(_, after)| after <= self.saved) {
            self.unsent.pop_front();
        }
    }

    /// Something was done for the node; what is wrong with that.
    pub(super) fn did(&mut self, deed: &Deed) -> Result<(), String> {
        self.tells = true;
        if !self.known {
            return Ok(());
        }
        match *deed {
            Deed::Saving => self.saving = Some(self.count),
            Deed::Saved => {
                let count = self.saving.take().unwrap_or(self.count);
                self.save(count);
            }
            Deed::Sent(id) if self.last.is_none_or(|last| id > last) => {
                return Err(format!("message {id} is sent, which was not put out"));
            }
            Deed::Sent(id) => {
                if self.unsent.binary_search_by_key(&id, |&(unsent, _)| unsent).is_ok() {
                    let words = "is sent before what was put out to be durable before it is saved";
                    return Err(format!("message {id} {words}"));
                }
            }
            Deed::Told { leads: true, .. } if self.led_after > self.saved => {
                let words = "the program is told that its node leads before what was put out to be \
                             durable before that is saved";
                return Err(words.to_owned());
            }
            Deed::Told { .. } | Deed::Ended => {}
        }
        Ok(())
    }

    /// Returns whether the next incarnation may begin with `durable`. The log of this one may have
    /// lost its end.
    pub(super) fn begins(&self, durable: Option<&D>, killed: bool) -> Begins {
        if !self.known {
            return Begins::Unknown;
        }
        let put = self.put.iter().rev().find(|(_, put)| Some(put) == durable);
        let count = put.map(|&(number, _)| number);
        let count = count.or((self.durable.as_ref() == durable).then_some(self.saved));
        match count {
            Some(count) if count >= self.shown => Begins::With(count),
            // The state is no later than the one that is certain.
            Some(_) => Begins::Wrong,
            None if killed && durable.is_some() => Begins::Unwritten,
            None => Begins::Wrong,
        }
    }
}
