//! All logs of a run, read side by side.

mod blocked;
mod diagram;
mod outside;
mod reading;
mod report;

use super::answers::Answers;
use super::judge::{Differs, Judge};
use super::letters::{Letter, Letters, MISSING, Origin};
use super::lines::Lines;
use super::names::Names;
use super::recent::{Face, Recents, What};
use super::words::Vocabulary;
use super::{Options, Summary, all_members, starts_again};
use crate::divergence::{Difference, Divergence};
use crate::error::Malformed;
use crate::mapping::Mapping;
use crate::node::Group;
use bellwether_core::protocol::NodeId;
use bellwether_core::trace::{Deed, Entry, Happened, Line, Out, Received, Start, Step};
use bellwether_engine::protocol::Id;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::task::Poll;
use std::time::{Duration, Instant};

/// How long a log waits for another that grows, and to which nothing comes.
const LATE: Duration = Duration::from_secs(5);
/// Of how many epochs the leaders are kept.
const MOST_EPOCHS: usize = 1 << 16;

/// The log of one node.
struct Source<'a, M: Mapping, V: Vocabulary<M>> {
    lines: Lines,
    judge: Judge<'a, M, V>,
    /// The place of the node among all.
    at: usize,
    /// What the specification calls the members of its list.
    names: Names,
    start: Start,
    /// What services that are no nodes have answered it.
    answers: Answers,
    /// The number of the next line.
    n: u64,
    next: Option<Line<V::Durable, V::Message>>,
    /// Since when that line waits.
    waits_since: Option<Instant>,
    /// Whether nothing had come when it was read last.
    idle: bool,
    done: bool,
    incarnations: Vec<u64>,
    /// Of which incarnation it is known what it has put out to be durable.
    kept_of: u64,
    /// How many states of an incarnation the next one had, and the line of that.
    remembered: FxHashMap<u64, (u64, u64)>,
}

/// Where the first of a kind was seen: a node, and a place in a log.
struct Leader {
    node: NodeId,
    log: usize,
    line: u64,
}

/// All logs.
pub(super) struct Run<'a, M: Mapping, V: Vocabulary<M>> {
    mapping: &'a M,
    /// The groups of which nodes can be members, by their size.
    groups: &'a [Option<Group<'a, M>>],
    /// All nodes that are members where a log begins, ascending: the place of each.
    places: Vec<NodeId>,
    sources: Vec<Source<'a, M, V>>,
    letters: Letters<V::Message>,
    leaders: BTreeMap<u64, Leader>,
    recents: Recents<M, V>,
    /// The message that arrives in this step: its sender, its number, and where it was sent.
    arrived: Option<(usize, u64, u64)>,
    malformed: Vec<Malformed>,
    /// The first difference, and how many there are.
    rejection: Option<Box<Divergence>>,
    differences: u64,
    summary: Summary,
}

/// Why a log is not read on.
enum Stop {
    Rejected(Box<Divergence>),
    Malformed(Malformed),
}

impl<'a, M: Mapping, V: Vocabulary<M>> Run<'a, M, V> {
    /// The logs whose first lines these are, in the order of their nodes.
    pub(super) fn new(
        mapping: &'a M,
        groups: &'a [Option<Group<'a, M>>],
        begun: Vec<(Lines, Start)>,
        options: Options,
    ) -> Self {
        let places = all_members(&begun);
        let mut letters = Letters::new(places.len(), options);
        let mut sources = Vec::with_capacity(begun.len());
        let mut summary = Summary { members: places.len(), ..Summary::default() };
        for (lines, start) in begun {
            let (names, at) = (Names::new(&start.members), places.binary_search(&start.node));
            let group = groups.get(start.members.len()).and_then(Option::as_ref);
            let (Some(id), Ok(at), Some(group)) = (names.id(start.node), at, group) else {
                continue;
            };
            letters.has_log(at);
            let mut judge = Judge::new(group, id, options.whole);
            judge.begin(start.config_epoch);
            letters.start(at, start.incarnation);
            summary.logs += 1;
            summary.lines += 1;
            summary.incarnations += 1;
            let incarnations = vec![start.incarnation];
            sources.push(Source {
                lines,
                judge,
                at,
                names,
                kept_of: start.incarnation,
                start,
                answers: Answers::default(),
                n: 1,
                next: None,
                waits_since: None,
                idle: false,
                done: false,
                incarnations,
                remembered: FxHashMap::default(),
            });
        }
        Run {
            mapping,
            groups,
            recents: Recents::new(places.len()),
            places,
            sources,
            letters,
            leaders: BTreeMap::new(),
            arrived: None,
            malformed: Vec::new(),
            rejection: None,
            differences: 0,
            summary,
        }
    }

    /// Judges the next line of a log, unless it must wait; whether there was one.
    fn advance(&mut self, at: usize) -> Result<bool, Stop> {
        if self.sources[at].done {
            return Ok(false);
        }
        let source = &mut self.sources[at];
        let line = match source.next.take() {
            Some(line) => line,
            None => {
                let read = source.lines.read().map_err(Stop::Malformed)?;
                source.idle = read.is_pending();
                match read {
                    Poll::Ready(Some(line)) => line,
                    Poll::Ready(None) => {
                        self.close(at);
                        return Ok(true);
                    }
                    Poll::Pending => return Ok(false),
                }
            }
        };
        if let Entry::Step(step) = &line.entry
            && let Some((from, incarnation, id)) = self.numbered(&step.happened)
        {
            let to = self.sources[at].at;
            if let Origin::NotYet = self.letters.origin(from, incarnation, id, to) {
                if !self.is_late(at, from) {
                    self.sources[at].next = Some(line);
                    return Ok(false);
                }
                self.letters.silence(from);
            }
        }
        self.sources[at].waits_since = None;
        self.summary.lines += 1;
        self.judge(at, line)?;
        Ok(true)
    }

    /// Whether a log has waited for long enough for one to which nothing comes.
    fn is_late(&mut self, at: usize, from: usize) -> bool {
        let since = *self.sources[at].waits_since.get_or_insert_with(Instant::now);
        let is_idle = self.sources.iter().any(|source| source.at == from && source.idle);
        is_idle && since.elapsed() >= LATE
    }

    /// The sender of a message that arrives, which is a member, its incarnation and the number.
    fn numbered(&self, happened: &Happened<V::Durable, V::Message>) -> Option<(usize, u64, u64)> {
        let Happened::Receive(Received { from, incarnation, id, .. }) = happened else {
            return None;
        };
        Some((self.place(*from)?, (*incarnation)?, (*id)?))
    }

    /// The place of a member.
    fn place(&self, node: NodeId) -> Option<usize> {
        self.places.binary_search(&node).ok()
    }

    /// The place of the member that a node calls by this name.
    fn place_of(&self, at: usize, name: NodeId) -> Option<usize> {
        self.place(self.sources[at].names.original(name)?)
    }

    fn judge(&mut self, at: usize, line: Line<V::Durable, V::Message>) -> Result<(), Stop> {
        let source = &mut self.sources[at];
        let begins = matches!(line.entry, Entry::Start(_));
        let expected = if begins { 0 } else { source.n };
        if line.n != expected {
            let why = format!("line number {} where {expected} is next", line.n);
            return Err(Stop::Malformed(source.lines.wrong(why)));
        }
        if source.judge.ended && !begins {
            let why = "nothing comes from a node that has ended but its next start";
            return Err(Stop::Malformed(source.lines.wrong(why)));
        }
        source.n = line.n + 1;
        match line.entry {
            Entry::Start(start) => self.start(at, start).map_err(Stop::Malformed),
            Entry::Dropped(count) => {
                source.judge.drop_lines();
                source.answers.drop_lines();
                self.letters.drop_lines(source.at);
                self.count("lines that were dropped", count);
                Ok(())
            }
            Entry::Did(deed) => {
                self.arrived = None;
                let judged = source.judge.did(&deed, line.at);
                if deed == Deed::Ended {
                    source.judge.ended = true;
                    self.letters.stop(source.at);
                }
                let words = || format!("this was done for the node: {}", report::deed(&deed));
                judged.map_err(|differs| self.stop(at, words(), *differs))
            }
            Entry::Step(step) => self.step(at, &step, line.at),
        }
    }

    fn start(&mut self, at: usize, mut start: Start) -> Result<(), Malformed> {
        let source = &mut self.sources[at];
        super::of_protocol::<M>(&mut start)
            .and_then(|()| starts_again(&source.start, &source.incarnations, &start))
            .map_err(|why| source.lines.wrong(why))?;
        let is_in_another = start.members != source.start.members;
        if is_in_another {
            source.names = Names::new(&start.members);
            let group = self.groups.get(start.members.len()).and_then(Option::as_ref);
            let (Some(group), Some(id)) = (group, source.names.id(start.node)) else {
                let count = start.members.len();
                return Err(source.lines.wrong(format!("no group of {count} can be judged")));
            };
            source.judge.regroup(group, id);
        }
        source.answers.start();
        source.incarnations.push(start.incarnation);
        source.judge.begin(start.config_epoch);
        self.letters.start(source.at, start.incarnation);
        self.summary.incarnations += 1;
        source.start = start;
        let id = Id::at(source.at);
        self.recents.add(id, What::Crash, Face::DOWN, Vec::new());
        if is_in_another {
            self.count("starts with other members, whose state may be any", 1);
        }
        Ok(())
    }

    fn step(
        &mut self,
        at: usize,
        step: &Step<V::Durable, V::Message>,
        time: Option<u64>,
    ) -> Result<(), Stop> {
        self.arrived = None;
        let letter = self.receive(at, step)?;
        let boots = matches!(step.happened, Happened::Boot(_));
        let Source { names, judge, .. } = &mut self.sources[at];
        let named = names.step::<M, V>(step);
        let judged = judge.step(&named, time);
        self.grow(at, step)?;
        let sent = self.send(at, step);
        self.ask(at, step);
        self.remember(at, &named, letter, sent);
        if let Err(differs) = judged {
            let words = self.happened(at, &step.happened);
            return Err(self.stop(at, words, *differs));
        }
        let source = &mut self.sources[at];
        if boots {
            if let Some(count) = source.judge.remembers {
                source.remembered.insert(source.kept_of, (count, source.lines.line()));
            }
            source.kept_of = source.start.incarnation;
        }
        match source.judge.doubt {
            Some(doubt) => self.count(doubt, 1),
            None => {
                let kind = report::kind(&step.happened);
                *self.summary.steps.entry(kind).or_default() += 1;
            }
        }
        match (step.after.epoch, step.after.leader) {
            (Some(epoch), Some(leader)) => self.lead(at, step, (epoch, leader)),
            _ => Ok(()),
        }
    }

    /// What arrives was sent, if a log can say so.
    fn receive(
        &mut self,
        at: usize,
        step: &Step<V::Durable, V::Message>,
    ) -> Result<Option<Letter<V::Message>>, Stop> {
        let Happened::Receive(Received { from, message, .. }) = &step.happened else {
            return Ok(None);
        };
        self.summary.received += 1;
        if self.is_outside(at, *from) {
            return self.hear(at, step, message.clone()).map(|()| None);
        }
        let Some((from, incarnation, id)) = self.numbered(&step.happened) else {
            self.summary.believed += 1;
            self.count("messages that arrive without a number, or from no member", 1);
            return Ok(None);
        };
        let to = self.sources[at].at;
        let origin = self.letters.origin(from, incarnation, id, to);
        let letter = match origin {
            Origin::Sent(letter) => letter,
            Origin::Again(letter) => {
                self.summary.duplicates += 1;
                letter
            }
            Origin::Unknown(why) => {
                self.summary.believed += 1;
                self.count(why, 1);
                self.letters.receive(from, incarnation, id, to);
                return Ok(None);
            }
            Origin::NotYet => {
                self.summary.believed += 1;
                self.count(MISSING, 1);
                return Ok(None);
            }
            Origin::Impossible(why) => {
                let words = format!("{id} of node {}: {why}", self.places[from]);
                let found = Difference::unexpected(Id::at(to), "message", words);
                return Err(self.reject_step(at, step, found));
            }
        };
        self.letters.receive(from, incarnation, id, to);
        self.arrived = Some((from, id, letter.line));
        if letter.message != *message {
            let words = |message| self.label(at, message);
            let (sent, arrived) = (words(letter.message.clone()), words(message.clone()));
            let what = format!("content of message {id} of node {}", self.places[from]);
            let found = Difference::different(Id::at(to), what, sent, arrived);
            return Err(self.reject_step(at, step, found));
        }
        self.show(at, step, (from, incarnation, letter.clone()))?;
        Ok(Some(letter))
    }

    /// What was to be durable before a message was sent that has arrived was so.
    fn show(
        &mut self,
        at: usize,
        step: &Step<V::Durable, V::Message>,
        (from, incarnation, letter): (usize, u64, Letter<V::Message>),
    ) -> Result<(), Stop> {
        let Some(sender) = self.sources.iter_mut().find(|source| source.at == from) else {
            return Ok(());
        };
        if sender.kept_of == incarnation {
            sender.judge.kept.show(letter.after);
            return Ok(());
        }
        let Some(&(count, line)) = sender.remembered.get(&incarnation) else { return Ok(()) };
        if letter.after <= count {
            return Ok(());
        }
        let words = format!(
            "what had to be durable before this was sent (line {} of {}) was not when node {} \
             started again in line {line}",
            letter.line,
            sender.lines.name(),
            self.places[from]
        );
        let found = Difference::missing(Id::at(from), "write", words);
        Err(self.reject_step(at, step, found))
    }

    /// The messages of a node have growing numbers. This is looked at before the first is sent: of
    /// a line that cannot be what a node has written, no other log may receive anything.
    fn grow(&self, at: usize, step: &Step<V::Durable, V::Message>) -> Result<(), Stop> {
        let Source { at: from, ref lines, .. } = self.sources[at];
        let ids = step.out.iter().filter_map(|out| match out {
            Out::Send(sent) => Some(sent.id),
            _ => None,
        });
        match self.letters.shrinks(from, ids) {
            None => Ok(()),
            Some((id, last)) => {
                let why = format!("message {id} after message {last}: they must grow");
                Err(Stop::Malformed(lines.wrong(why)))
            }
        }
    }

    /// What the node puts out is on its way; with the number of each message among all.
    fn send(&mut self, at: usize, step: &Step<V::Durable, V::Message>) -> Vec<u32> {
        let Source { at: from, ref lines, ref judge, .. } = self.sources[at];
        // The step is over for the node, and what it puts out comes behind all its states.
        let (line, after) = (lines.line(), judge.kept.count());
        let mut serials = Vec::new();
        for out in &step.out {
            let Out::Send(sent) = out else { continue };
            let to = self.places.binary_search(&sent.to).ok();
            serials.extend(self.letters.send(
                from,
                to,
                (sent.id, sent.message.clone()),
                (after, line),
            ));
        }
        serials
    }

    /// An epoch has one leader.
    fn lead(
        &mut self,
        at: usize,
        step: &Step<V::Durable, V::Message>,
        (epoch, leader): (u64, NodeId),
    ) -> Result<(), Stop> {
        if let Some(known) = self.leaders.get(&epoch) {
            if known.node == leader {
                return Ok(());
            }
            let words = |node, log: usize, line| {
                format!("{node} (line {line} of {})", self.sources[log].lines.name())
            };
            let model = words(known.node, known.log, known.line);
            let program = words(leader, at, self.sources[at].lines.line());
            let what = format!("leader of epoch {epoch}");
            let found = Difference::different(Id::at(self.sources[at].at), what, model, program);
            return Err(self.reject_step(at, step, found));
        }
        if self.leaders.len() == MOST_EPOCHS {
            self.leaders.pop_first();
        }
        let line = self.sources[at].lines.line();
        self.leaders.insert(epoch, Leader { node: leader, log: at, line });
        self.summary.epochs += 1;
        Ok(())
    }

    fn count(&mut self, what: &'static str, count: u64) {
        let counted = self.summary.not_judged.entry(what).or_default();
        *counted = counted.saturating_add(count);
    }

    fn reject_step(
        &self,
        at: usize,
        step: &Step<V::Durable, V::Message>,
        found: Difference,
    ) -> Stop {
        let words = self.happened(at, &step.happened);
        self.stop(at, words, Differs { found: vec![found], ..Differs::default() })
    }
}
