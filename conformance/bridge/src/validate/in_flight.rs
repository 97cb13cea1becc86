//! The messages on their way: sent by one node, and not received yet by another.
//!
//! The link from an incarnation of a node to another node keeps the order of what is sent, so what
//! was sent before a message that has arrived is lost, unless messages may overtake each other.
//! Only so many are kept for each link. What is forgotten is counted where it arrives.

use super::Options;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Why a message cannot arrive on a link that keeps the order.
const LATE: &str = "it, or a later one of the same node, arrived before";
/// The kind of a message of which the log of its sender should tell, and does not.
pub(super) const MISSING: &str = "messages whose sending is not in the log";
/// The kind of a message whose sender was killed before its log had a line of that start.
const UNLOGGED: &str = "messages of starts of which no log has a line";
/// The most of these that are believed of each node.
const MOST_UNLOGGED: u64 = 4;
/// The most messages that a link keeps.
const MOST: usize = 1 << 15;

/// A message on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Letter<L> {
    pub(super) id: u64,
    pub(super) message: L,
    /// How often its sender had put out something to be durable before.
    pub(super) after: u64,
    /// The line of the sender's log.
    pub(super) line: u64,
    /// Its number among all messages of all nodes.
    pub(super) serial: u32,
    received: bool,
}

/// The messages of one incarnation of a node to one other node.
#[derive(Debug)]
struct Link<L> {
    letters: VecDeque<Letter<L>>,
    /// The last that arrived.
    last: Option<u64>,
    /// The last that was forgotten.
    forgotten: Option<u64>,
}

/// The messages of one incarnation of a node.
#[derive(Debug)]
struct Sender<L> {
    incarnation: u64,
    links: Vec<Link<L>>,
    /// The number of the last message.
    last: Option<u64>,
    /// True if nothing more can come.
    over: bool,
    /// True if the end of its log may be missing: it was killed before it wrote all.
    killed: bool,
    /// True if lines are missing.
    gaps: bool,
    /// True if it has written nothing for so long that it is not waited for.
    silent: bool,
}

/// The state of a message that has arrived, by the log of its sender.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin<L> {
    /// The sender has sent the message.
    Sent(Letter<L>),
    /// The message arrived before.
    Again(Letter<L>),
    /// The message is not sent yet, as far as the log has been read.
    NotYet,
    /// No log can say, for this reason.
    Unknown(&'static str),
    /// The message was never sent, or arrived when it could not.
    Impossible(&'static str),
}

/// The starts of which the log of a node has no line, and how many of their messages are believed.
#[derive(Clone, Debug, Default)]
struct Unlogged {
    incarnations: Vec<u64>,
    messages: u64,
}

/// The messages of all nodes.
#[derive(Debug)]
pub(super) struct InFlight<L> {
    options: Options,
    /// The incarnations of each node.
    senders: Vec<Vec<Sender<L>>>,
    /// Which nodes have a log, and which of those read on.
    logs: Vec<bool>,
    reads: Vec<bool>,
    /// The last message that arrived from a node without a log at another: its incarnation, and its
    /// number.
    believed: FxHashMap<(usize, usize), (u64, u64)>,
    /// The starts of each node of which its log has no line.
    unlogged: Vec<Unlogged>,
    serial: u32,
    pub(super) lost: u64,
}

impl<L: Clone> InFlight<L> {
    pub(super) fn new(nodes: usize, options: Options) -> Self {
        let senders = (0..nodes).map(|_| Vec::new()).collect();
        let (logs, reads) = (vec![false; nodes], vec![false; nodes]);
        let (believed, unlogged) = (FxHashMap::default(), vec![Unlogged::default(); nodes]);
        InFlight { options, senders, logs, reads, believed, unlogged, serial: 0, lost: 0 }
    }

    pub(super) fn has_log(&mut self, node: usize) {
        self.logs[node] = true;
        self.reads[node] = true;
    }

    /// An incarnation of a node begins. Of the one before, nothing more comes.
    pub(super) fn start(&mut self, node: usize, incarnation: u64) {
        self.end(node);
        let count = self.senders.len();
        let link = |_| Link { letters: VecDeque::new(), last: None, forgotten: None };
        let links = (0..count).map(link).collect();
        let killed = !self.options.whole;
        let (last, over, gaps, silent) = (None, false, false, false);
        self.senders[node].push(Sender { incarnation, links, last, over, killed, gaps, silent });
    }

    /// The node has said that nothing more comes, so the end of its log is there.
    pub(super) fn stop(&mut self, node: usize) {
        if let Some(sender) = self.senders[node].last_mut() {
            sender.killed = false;
            sender.over = true;
        }
    }

    /// Nothing more comes from the last incarnation of a node.
    fn end(&mut self, node: usize) {
        if let Some(sender) = self.senders[node].last_mut() {
            sender.over = true;
        }
    }

    /// The log of a node has ended: nothing arrives there any more.
    pub(super) fn close(&mut self, node: usize) {
        self.end(node);
        self.reads[node] = false;
        for sender in self.senders.iter_mut().flatten() {
            let link = &mut sender.links[node];
            self.lost += link.letters.drain(..).filter(|letter| !letter.received).count() as u64;
        }
    }

    /// Lines are missing in the log of a node.
    pub(super) fn drop_lines(&mut self, node: usize) {
        if let Some(sender) = self.senders[node].last_mut() {
            sender.gaps = true;
        }
    }

    /// A node writes nothing: what it may have sent is believed until it does.
    pub(super) fn silence(&mut self, node: usize) {
        if let Some(sender) = self.senders[node].last_mut() {
            sender.gaps = true;
            sender.silent = true;
        }
    }

    /// The number that does not grow, of those of the messages that a node sends in one step, and
    /// the one before it.
    pub(super) fn shrinks(
        &self,
        from: usize,
        ids: impl IntoIterator<Item = u64>,
    ) -> Option<(u64, u64)> {
        let mut last = self.senders[from].last().and_then(|sender| sender.last);
        ids.into_iter().find_map(|id| {
            let before = last.replace(id);
            before.filter(|&before| before >= id).map(|before| (id, before))
        })
    }

    /// A node sends a message, whose number [grows](Self::shrinks): how many messages there are
    /// with it. `None` if the node has not started.
    pub(super) fn send(
        &mut self,
        from: usize,
        to: Option<usize>,
        id: u64,
        message: L,
        after: u64,
        line: u64,
    ) -> Option<u32> {
        let sender = self.senders[from].last_mut()?;
        sender.last = Some(id);
        sender.silent = false;
        self.serial = self.serial.wrapping_add(1);
        let serial = self.serial;
        let Some(to) = to.filter(|&to| self.logs[to]) else { return Some(serial) };
        if !self.reads[to] {
            self.lost += 1;
            return Some(serial);
        }
        let link = &mut sender.links[to];
        if link.letters.len() == MOST
            && let Some(letter) = link.letters.pop_front()
        {
            self.lost += u64::from(!letter.received);
            link.forgotten = Some(letter.id);
        }
        link.letters.push_back(Letter { id, message, after, line, serial, received: false });
        Some(serial)
    }

    /// Where a message comes from that arrives, as the sender's log says. Nothing changes.
    pub(super) fn origin(&self, from: usize, incarnation: u64, id: u64, to: usize) -> Origin<L> {
        if !self.logs[from] {
            let last = self.believed.get(&(from, to)).filter(|&&(of, _)| of == incarnation);
            let may_be_late = self.options.duplicates || self.options.reorder;
            if !may_be_late && last.is_some_and(|&(_, last)| id <= last) {
                return Origin::Impossible(LATE);
            }
            return Origin::Unknown("messages of nodes without a log");
        }
        let of_it = |sender: &&Sender<L>| sender.incarnation == incarnation;
        let Some(sender) = self.senders[from].iter().rev().find(of_it) else {
            let Unlogged { incarnations, messages } = &self.unlogged[from];
            return match (incarnations.contains(&incarnation), self.reads[from]) {
                (true, _) if *messages >= MOST_UNLOGGED => {
                    Origin::Impossible("its sender's log has no line of that start")
                }
                (false, true) => Origin::NotYet,
                (true, _) | (false, false) => Origin::Unknown(UNLOGGED),
            };
        };
        let link = &sender.links[to];
        if let Ok(at) = link.letters.binary_search_by_key(&id, |letter| letter.id) {
            let letter = link.letters[at].clone();
            return match (letter.received, self.options.duplicates) {
                (false, _) => Origin::Sent(letter),
                (true, true) => Origin::Again(letter),
                (true, false) => Origin::Impossible("it arrived before"),
            };
        }
        let upto = |last: Option<u64>| last.is_some_and(|last| id <= last);
        if upto(link.forgotten) {
            return Origin::Unknown("messages that arrive after too many others were sent");
        }
        if upto(link.last) && !self.options.duplicates {
            return Origin::Impossible(LATE);
        }
        let missing = Origin::Unknown(MISSING);
        match upto(sender.last) {
            false if !sender.over && !sender.silent => Origin::NotYet,
            false if sender.killed || sender.gaps => missing,
            false => Origin::Impossible("its sender ended before"),
            true if sender.gaps => missing,
            true => Origin::Impossible("its sender put it out to no such node"),
        }
    }

    /// No log goes on before a message of this start has arrived, which the sender's log does not
    /// have so far: the node was killed before it wrote a line of it. Whether that may be.
    pub(super) fn is_unlogged(&mut self, from: usize, incarnation: u64) -> bool {
        let is_known = self.senders[from].iter().any(|sender| sender.incarnation == incarnation);
        let Unlogged { incarnations, messages } = &mut self.unlogged[from];
        let may_be = !self.options.whole && !is_known && *messages < MOST_UNLOGGED;
        if may_be {
            incarnations.push(incarnation);
        }
        may_be
    }

    /// A message has arrived. What was sent before it and has not is lost.
    pub(super) fn receive(&mut self, from: usize, incarnation: u64, id: u64, to: usize) {
        if !self.logs[from] {
            self.believed.insert((from, to), (incarnation, id));
            return;
        }
        let of_it = |sender: &&mut Sender<L>| sender.incarnation == incarnation;
        let Some(sender) = self.senders[from].iter_mut().rev().find(of_it) else {
            self.unlogged[from].messages += 1;
            return;
        };
        let link = &mut sender.links[to];
        if let Ok(at) = link.letters.binary_search_by_key(&id, |letter| letter.id) {
            link.letters[at].received = true;
            let over = if self.options.reorder { 0 } else { at };
            for letter in link.letters.drain(..over) {
                self.lost += u64::from(!letter.received);
            }
            if self.options.reorder && !self.options.duplicates {
                // Messages that have arrived need not be kept at the front.
                while link.letters.front().is_some_and(|letter| letter.received) {
                    link.last = link.letters.pop_front().map(|letter| letter.id);
                }
            }
        }
        if !self.options.reorder {
            link.last = link.last.max(Some(id));
        }
    }
}
