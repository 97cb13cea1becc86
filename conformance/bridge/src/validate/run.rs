//! All logs of a run, read side by side.

mod blocked;
mod report;

use super::judge::{Differs, Judge};
use super::letters::{Letter, Letters, Origin};
use super::lines::Lines;
use super::met::Kinds;
use super::recent::{Face, Recents, What, node};
use super::words::Vocabulary;
use super::{Options, Outcome, Summary, same_group};
use crate::divergence::{Difference, Divergence};
use crate::error::Malformed;
use crate::mapping::{Mapping, process_id};
use crate::node::Group;
use bellwether_core::protocol::{NodeId, Role};
use bellwether_core::trace::{Deed, Entry, Happened, Line, Out, Received, Start, Step};
use bellwether_engine::protocol::{Id, Protocol as Specification};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// How many lines of a log are judged before the next log has its turn.
const BATCH: usize = 64;
/// Of how many epochs the leaders are kept.
const MOST_EPOCHS: usize = 1 << 16;

/// The log of one node.
struct Source<'a, M: Mapping, V: Vocabulary<M>> {
    lines: Lines,
    judge: Judge<'a, M, V>,
    /// The place of the node among all.
    at: usize,
    start: Start,
    /// The number of the next line.
    n: u64,
    next: Option<Line<V::Durable, V::Message>>,
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
    group: &'a Group<'a, M>,
    sources: Vec<Source<'a, M, V>>,
    letters: Letters<V::Message>,
    leaders: BTreeMap<u64, Leader>,
    recents: Recents<M, V>,
    /// The message that arrives in this step: its sender, its number, and where it was sent.
    arrived: Option<(usize, u64, u64)>,
    malformed: Vec<Malformed>,
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
        group: &'a Group<'a, M>,
        begun: Vec<(Lines, Start)>,
        options: Options,
    ) -> Self {
        let mut letters = Letters::new(group.size, options);
        let mut sources = Vec::with_capacity(begun.len());
        let mut summary = Summary { members: group.size, ..Summary::default() };
        for (lines, start) in begun {
            let Some(id) = process_id(start.node) else { continue };
            letters.has_log(id.index());
            let mut judge = Judge::new(group, id, options.whole);
            judge.begin();
            letters.start(id.index(), start.incarnation);
            summary.logs += 1;
            summary.lines += 1;
            summary.incarnations += 1;
            let incarnations = vec![start.incarnation];
            sources.push(Source {
                lines,
                judge,
                at: id.index(),
                kept_of: start.incarnation,
                start,
                n: 1,
                next: None,
                done: false,
                incarnations,
                remembered: FxHashMap::default(),
            });
        }
        let recents = Recents::new(group.size);
        let (leaders, malformed) = (BTreeMap::new(), Vec::new());
        let arrived = None;
        Run { group, sources, letters, leaders, recents, arrived, malformed, summary }
    }

    /// Reads and judges all.
    pub(super) fn run(mut self) -> Outcome {
        let rejection = self.read();
        let Run { mut summary, letters, sources, malformed, .. } = self;
        summary.lost = letters.lost;
        let mut kinds = Kinds::default();
        for source in &sources {
            source.judge.met.add_to(&mut kinds);
            summary.torn += source.lines.torn;
            summary.deeds |= source.judge.kept.tells;
            if source.judge.unwritten > 0 {
                let what = "starts with a state that was not written to the log before a crash";
                *summary.not_judged.entry(what).or_default() += source.judge.unwritten;
            }
        }
        summary.met = kinds.met();
        Outcome { summary, rejection, malformed }
    }

    fn read(&mut self) -> Option<Box<Divergence>> {
        loop {
            let (mut moved, mut left) = (false, false);
            for at in 0..self.sources.len() {
                for _ in 0..BATCH {
                    match self.advance(at) {
                        Ok(true) => moved = true,
                        Ok(false) => break,
                        Err(Stop::Rejected(rejection)) => return Some(rejection),
                        Err(Stop::Malformed(malformed)) => {
                            self.malformed.push(malformed);
                            self.close(at);
                            moved = true;
                            break;
                        }
                    }
                }
                left |= !self.sources[at].done;
            }
            match (left, moved) {
                (false, _) => return None,
                (true, true) => {}
                (true, false) => return self.blocked(),
            }
        }
    }

    fn close(&mut self, at: usize) {
        self.sources[at].done = true;
        self.letters.close(self.sources[at].at);
    }

    /// Judges the next line of a log, unless it must wait; whether there was one.
    fn advance(&mut self, at: usize) -> Result<bool, Stop> {
        if self.sources[at].done {
            return Ok(false);
        }
        let line = match self.sources[at].next.take() {
            Some(line) => line,
            None => match self.sources[at].lines.read().map_err(Stop::Malformed)? {
                Some(line) => line,
                None => {
                    self.close(at);
                    return Ok(true);
                }
            },
        };
        if let Entry::Step(step) = &line.entry
            && let Some((from, incarnation, id)) = self.numbered(&step.happened)
        {
            let to = self.sources[at].at;
            if let Origin::NotYet = self.letters.origin(from, incarnation, id, to) {
                self.sources[at].next = Some(line);
                return Ok(false);
            }
        }
        self.summary.lines += 1;
        self.judge(at, line)?;
        Ok(true)
    }

    /// The sender of a message that arrives, which is a member, its incarnation and the number.
    fn numbered(&self, happened: &Happened<V::Durable, V::Message>) -> Option<(usize, u64, u64)> {
        let Happened::Receive(Received { from, incarnation, id, .. }) = happened else {
            return None;
        };
        let from = process_id(*from).map(Id::index).filter(|&from| from < self.group.size)?;
        Some((from, (*incarnation)?, (*id)?))
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
            Entry::Step(step) => self.step(at, &step),
        }
    }

    fn start(&mut self, at: usize, start: Start) -> Result<(), Malformed> {
        let source = &mut self.sources[at];
        let why = super::of_protocol::<M>(&start)
            .and_then(|()| same_group(&source.start.members, &start))
            .err();
        let why = why.or_else(|| {
            let other = start.node != source.start.node;
            other.then(|| "the start of another node in one log".to_owned())
        });
        let why = why.or_else(|| {
            let again = source.incarnations.contains(&start.incarnation);
            again.then(|| "the node has had this incarnation before".to_owned())
        });
        let why = why.or_else(|| {
            let other = start.vocabulary != source.start.vocabulary;
            other.then(|| "another vocabulary than before".to_owned())
        });
        if let Some(why) = why {
            return Err(source.lines.wrong(why));
        }
        source.incarnations.push(start.incarnation);
        source.judge.begin();
        self.letters.start(source.at, start.incarnation);
        self.summary.incarnations += 1;
        source.start = start;
        let id = Id::at(source.at);
        self.recents.add(id, What::Crash, Face::DOWN, std::iter::empty());
        Ok(())
    }

    fn step(&mut self, at: usize, step: &Step<V::Durable, V::Message>) -> Result<(), Stop> {
        self.arrived = None;
        let letter = self.receive(at, step)?;
        let boots = matches!(step.happened, Happened::Boot(_));
        let judged = self.sources[at].judge.step(step);
        let sent = self.send(at, step)?;
        self.remember(at, step, letter, sent);
        if let Err(differs) = judged {
            let words = report::happened::<M, V>(self.group.mapping, &step.happened);
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
        self.lead(at, step)
    }

    /// What arrives was sent, if a log can say so.
    fn receive(
        &mut self,
        at: usize,
        step: &Step<V::Durable, V::Message>,
    ) -> Result<Option<Letter<V::Message>>, Stop> {
        let Happened::Receive(Received { message, .. }) = &step.happened else { return Ok(None) };
        self.summary.received += 1;
        let Some((from, incarnation, id)) = self.numbered(&step.happened) else {
            self.count("messages that arrive without a number", 1);
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
                self.count(why, 1);
                self.letters.receive(from, incarnation, id, to);
                return Ok(None);
            }
            Origin::NotYet => return Ok(None),
            Origin::Impossible(why) => {
                let words = format!("{id} of node {}: {why}", node(from));
                let found = Difference::unexpected(Id::at(to), "message", words);
                return Err(self.reject_step(at, step, found));
            }
        };
        self.letters.receive(from, incarnation, id, to);
        self.arrived = Some((from, id, letter.line));
        if letter.message != *message {
            let words = |message| report::label::<M, V>(self.group.mapping, message);
            let (sent, arrived) = (words(letter.message), words(*message));
            let what = format!("content of message {id} of node {}", node(from));
            let found = Difference::different(Id::at(to), what, sent, arrived);
            return Err(self.reject_step(at, step, found));
        }
        self.show(at, step, (from, incarnation, letter))?;
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
            node(from)
        );
        let found = Difference::missing(Id::at(from), "write", words);
        Err(self.reject_step(at, step, found))
    }

    /// What the node puts out is on its way; with the number of each message among all.
    fn send(&mut self, at: usize, step: &Step<V::Durable, V::Message>) -> Result<Vec<u32>, Stop> {
        let Source { at: from, ref lines, ref judge, .. } = self.sources[at];
        // The step is over for the node, and what it puts out comes behind all its states.
        let (line, after) = (lines.line(), judge.kept.count());
        let mut serials = Vec::new();
        for out in &step.out {
            let Out::Send(sent) = out else { continue };
            let to = process_id(sent.to).map(Id::index).filter(|&to| to < self.group.size);
            match self.letters.send(from, to, (sent.id, sent.message), (after, line)) {
                Ok(serial) => serials.push(serial),
                Err(last) => {
                    let why = format!("message {} after message {last}: they must grow", sent.id);
                    return Err(Stop::Malformed(lines.wrong(why)));
                }
            }
        }
        Ok(serials)
    }

    /// Keeps the step for the diagram.
    fn remember(
        &mut self,
        at: usize,
        step: &Step<V::Durable, V::Message>,
        letter: Option<Letter<V::Message>>,
        serials: Vec<u32>,
    ) {
        let source = &self.sources[at];
        let view = &source.judge.view;
        let what = match &step.happened {
            Happened::Boot(_) => What::Boot,
            Happened::Receive(Received { from, message, .. }) => match process_id(*from) {
                Some(from) if from.index() < self.group.size => {
                    let serial = letter.map_or(0, |letter| letter.serial);
                    What::Receive { from, message: *message, serial }
                }
                _ => return,
            },
            Happened::Expire(name) => What::Expire(source.judge.named(name)),
            Happened::Suspect(_) | Happened::Request(_) => What::Expire(None),
        };
        let role = match source.judge.doubt {
            None => M::Spec::role(&view.process),
            Some(_) => told(view.role),
        };
        let leader = view.leader.and_then(process_id);
        let after = Face { up: true, role, leader, timers: view.timers };
        let sent = step.out.iter().filter_map(|out| match out {
            Out::Send(sent) => Some((process_id(sent.to), sent.message)),
            _ => None,
        });
        let size = self.group.size;
        let sent = sent.zip(serials).filter_map(|((to, message), serial)| {
            Some((to.filter(|to| to.index() < size)?, message, serial))
        });
        self.recents.add(Id::at(source.at), what, after, sent);
    }

    /// An epoch has one leader.
    fn lead(&mut self, at: usize, step: &Step<V::Durable, V::Message>) -> Result<(), Stop> {
        let (Some(epoch), Some(leader)) = (step.after.epoch, step.after.leader) else {
            return Ok(());
        };
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
        let words = report::happened::<M, V>(self.group.mapping, &step.happened);
        self.stop(at, words, Differs { found: vec![found], ..Differs::default() })
    }
}

/// A role as a log tells it.
fn told(role: Role) -> &'static str {
    match role {
        Role::NotStarted => "not started",
        Role::Follower => "follower",
        Role::Candidate => "candidate",
        Role::Waiting => "waiting",
        Role::Leader => "leader",
    }
}
