//! All logs of a run, read side by side: in turn, and each as far as it does not wait for another.

use super::answers::{Answers, Wrong};
use super::in_flight::{InFlight, Letter, MISSING, Origin};
use super::judge::{Differs, Judge};
use super::lines::Lines;
use super::names::Names;
use super::recent::{Face, Recent, RecentSteps, What};
use super::words::{StepOf, Vocabulary};
use super::{Options, Outcome, Summary, Watch, all_members, starts_again};
use crate::divergence::{Difference, Divergence, LogLine};
use crate::error::Malformed;
use crate::mapping::{Mapping, Renaming, Sides};
use crate::node::Group;
use crate::suite::{Kinds, met};
use bellwether_core::protocol::{NodeId, Role};
use bellwether_core::trace::{Deed, Entry, Happened, Line, Out, Received, Start};
use bellwether_engine::protocol::{Id, Protocol as Specification};
use bellwether_engine::trace::label as label_of;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

/// How long a log waits for another that grows, and to which nothing comes.
const LATE: Duration = Duration::from_secs(5);
/// The number of epochs of which the leaders are kept.
const MOST_EPOCHS: usize = 1 << 16;
/// How many lines of a log are judged before the next log has its turn.
const BATCH: usize = 64;
/// The most steps that the diagram of a rejection has.
const STEPS: usize = 12;
/// The part of its answers that no log can say.
const ANSWERS: &str = "messages of a service without a log: their order among different nodes, and \
                       how long it keeps what it grants";

/// Why a start is not judged with what was durable before.
const REGROUPED: &str = "starts with other members, whose state may be any: change the list of \
                         members while the nodes run";
/// Why the time of what a step arms is not judged.
const UNTIMED: &str = "steps that arm timers, in starts that do not say how long these take: have \
                       the traces written by a program that does";
/// The states that were taken for durable.
const UNWRITTEN: &str = "starts with a state that was not written to the log before a crash";

/// The log of one node.
struct Source<'a, T: Sides, V: Vocabulary<T>> {
    lines: Lines,
    judge: Judge<'a, T, V>,
    /// The place of the node among all.
    at: usize,
    start: Start,
    /// The answers of services that are no nodes to it.
    answers: Answers,
    /// The number of the next line.
    n: u64,
    next: Option<Line<V::Durable, V::Message>>,
    /// Since when that line waits.
    waits_since: Option<Instant>,
    /// True if nothing had come when it was read last.
    idle: bool,
    done: bool,
    incarnations: Vec<u64>,
    /// The incarnation of which it is known what it has put out to be durable.
    kept_of: u64,
    /// How many states of an incarnation the next one had, and the line of that.
    remembered: FxHashMap<u64, (u64, u64)>,
}

impl<T: Sides, V: Vocabulary<T>> Source<'_, T, V> {
    /// Returns whether nothing was judged because nothing has come, and not because it waits for
    /// another.
    fn may_grow(&self) -> bool {
        !self.done && self.next.is_none()
    }
}

/// Where the first of a kind was seen: a node, and a place in a log.
struct Leader {
    node: NodeId,
    log: usize,
    line: u64,
}

pub(super) struct Run<'a, T: Sides, V: Vocabulary<T>> {
    mapping: &'a Mapping<T>,
    /// The groups of which nodes can be members, by their size.
    groups: &'a [Option<Group<'a, T>>],
    /// All nodes that are members where a log begins, ascending: the place of each.
    places: Vec<NodeId>,
    sources: Vec<Source<'a, T, V>>,
    letters: InFlight<V::Message>,
    leaders: BTreeMap<u64, Leader>,
    recents: RecentSteps<T, V>,
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

impl<'a, T: Sides, V: Vocabulary<T>> Run<'a, T, V> {
    /// The logs whose first lines these are, in the order of their nodes.
    pub(super) fn new(
        mapping: &'a Mapping<T>,
        groups: &'a [Option<Group<'a, T>>],
        begun: Vec<(Lines, Start)>,
        options: Options,
    ) -> Self {
        let places = all_members(&begun);
        let mut letters = InFlight::new(places.len(), options);
        let mut sources = Vec::with_capacity(begun.len());
        let mut summary = Summary { members: places.len(), ..Summary::default() };
        for (lines, start) in begun {
            let (names, at) = (Names::new(&start.members), places.binary_search(&start.node));
            let group = groups.get(start.members.len()).and_then(Option::as_ref);
            let (Some(id), Ok(at), Some(group)) = (names.id(start.node), at, group) else {
                continue;
            };
            letters.has_log(at);
            let mut judge = Judge::new(group, id, start.clone(), options.whole);
            judge.begin(start.clone());
            letters.start(at, start.incarnation);
            summary.logs += 1;
            summary.lines += 1;
            summary.incarnations += 1;
            let incarnations = vec![start.incarnation];
            sources.push(Source {
                lines,
                judge,
                at,
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
            recents: RecentSteps::new(places.len()),
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

    pub(super) fn run(mut self, watch: &mut dyn Watch) -> Outcome {
        self.read(watch);
        let Run { mut summary, letters, sources, malformed, rejection, differences, .. } = self;
        summary.lost = letters.lost;
        let mut kinds = Kinds::new();
        for source in &sources {
            source.judge.met.add_to(&mut kinds);
            summary.torn += source.lines.torn;
            summary.deeds |= source.judge.kept.tells;
            if source.judge.unwritten > 0 {
                *summary.assumed.entry(UNWRITTEN).or_default() += source.judge.unwritten;
            }
            if source.judge.untimed > 0 {
                *summary.not_judged.entry(UNTIMED).or_default() += source.judge.untimed;
            }
        }
        summary.met = met(kinds, |name| name);
        Outcome { summary, rejection, differences, malformed }
    }

    fn read(&mut self, watch: &mut dyn Watch) {
        loop {
            let (mut moved, mut left) = (false, false);
            for at in 0..self.sources.len() {
                for _ in 0..BATCH {
                    match self.advance(at) {
                        Ok(true) => moved = true,
                        Ok(false) => break,
                        Err(stop) => {
                            moved = true;
                            if !self.stopped(at, stop, watch) {
                                return;
                            }
                        }
                    }
                }
                left |= !self.sources[at].done;
            }
            let waits = !moved && self.sources.iter().any(Source::may_grow);
            if !left {
                return;
            }
            if !moved && !waits {
                if self.lacks_a_start() {
                    continue;
                }
                if let Some(rejection) = self.blocked() {
                    self.differ(rejection, watch);
                }
                return;
            }
            if !watch.goes_on(&self.summary, waits) {
                self.finish(watch);
                return;
            }
        }
    }

    /// A line is not what it has to be; whether to judge on.
    fn stopped(&mut self, at: usize, stop: Stop, watch: &mut dyn Watch) -> bool {
        match stop {
            Stop::Malformed(malformed) => {
                watch.malformed(&malformed);
                self.malformed.push(malformed);
                self.close(at);
                true
            }
            Stop::Rejected(rejection) => {
                let source = &mut self.sources[at];
                self.letters.drop_lines(source.at);
                // A difference that follows from another is none of its own.
                if let Some(doubt) = source.judge.differ() {
                    self.count(doubt, 1);
                    return true;
                }
                self.differ(rejection, watch)
            }
        }
    }

    /// There is a difference; whether to judge on.
    fn differ(&mut self, rejection: Box<Divergence>, watch: &mut dyn Watch) -> bool {
        self.differences += 1;
        let goes_on = watch.differs(&rejection);
        if self.rejection.is_none() {
            self.rejection = Some(rejection);
        }
        goes_on
    }

    /// Nothing more is read, though more may come.
    fn finish(&mut self, watch: &mut dyn Watch) {
        let mut waiting = 0;
        for source in self.sources.iter_mut().filter(|source| !source.done) {
            waiting += u64::from(source.next.is_some());
            if let Some(malformed) = source.lines.finish() {
                watch.malformed(&malformed);
                self.malformed.push(malformed);
            }
        }
        if waiting > 0 {
            self.assume("logs that wait for what another log does not say yet", waiting);
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

    /// Returns whether a log has waited for long enough for one to which nothing comes.
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

    fn place(&self, node: NodeId) -> Option<usize> {
        self.places.binary_search(&node).ok()
    }

    /// The place of the member that a node calls by this name.
    fn place_of(&self, at: usize, name: NodeId) -> Option<usize> {
        self.place(self.sources[at].judge.names.original(name)?)
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
                self.count(
                    "lines that were dropped: have the traces written to a faster disk",
                    count,
                );
                Ok(())
            }
            Entry::Did(deed) => {
                self.arrived = None;
                let judged = source.judge.did(&deed, line.at);
                if deed == Deed::Ended {
                    source.judge.ended = true;
                    self.letters.stop(source.at);
                }
                let words = || format!("this was done for the node: {}", deed_words(&deed));
                judged.map_err(|differs| self.stop(at, words(), *differs))
            }
            Entry::Step(step) => self.step(at, &step, line.at),
        }
    }

    fn start(&mut self, at: usize, mut start: Start) -> Result<(), Malformed> {
        let source = &mut self.sources[at];
        super::of_protocol(self.mapping, &mut start)
            .and_then(|()| starts_again(&source.start, &source.incarnations, &start))
            .map_err(|why| source.lines.wrong(why))?;
        let is_in_another = start.members != source.start.members;
        let had_state = source.judge.kept.latest().is_some();
        if is_in_another {
            let names = Names::new(&start.members);
            let group = self.groups.get(start.members.len()).and_then(Option::as_ref);
            let (Some(group), Some(id)) = (group, names.id(start.node)) else {
                let count = start.members.len();
                return Err(source.lines.wrong(format!("no group of {count} can be judged")));
            };
            source.judge.regroup(group, id, names);
        }
        source.answers.start();
        source.incarnations.push(start.incarnation);
        source.judge.begin(start.clone());
        self.letters.start(source.at, start.incarnation);
        self.summary.incarnations += 1;
        source.start = start;
        let (id, names) = (Id::at(source.at), Arc::clone(&source.judge.names));
        let sent = Vec::new();
        self.recents.add(Recent { id, names, what: What::Crash, sent, after: Face::DOWN });
        if is_in_another && had_state {
            self.count(REGROUPED, 1);
        }
        Ok(())
    }

    fn step(&mut self, at: usize, step: &StepOf<T, V>, time: Option<u64>) -> Result<(), Stop> {
        self.arrived = None;
        let letter = self.receive(at, step)?;
        let boots = matches!(step.happened, Happened::Boot(_));
        let judge = &mut self.sources[at].judge;
        let named = judge.names.step::<T, V>(step);
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
                let kind = kind(&step.happened);
                *self.summary.steps.entry(kind).or_default() += 1;
            }
        }
        match (step.after.epoch, step.after.leader) {
            (Some(epoch), Some(leader)) => self.lead(at, step, epoch, leader),
            _ => Ok(()),
        }
    }

    /// Checks that a message that arrives was sent, if a log can say so.
    fn receive(
        &mut self,
        at: usize,
        step: &StepOf<T, V>,
    ) -> Result<Option<Letter<V::Message>>, Stop> {
        let Happened::Receive(Received { from, message, .. }) = &step.happened else {
            return Ok(None);
        };
        self.summary.received += 1;
        if self.is_outside(at, *from) {
            return self.hear(at, step, message.clone()).map(|()| None);
        }
        let Some((from, incarnation, id)) = self.numbered(&step.happened) else {
            self.believe("messages that arrive without a number, or from no member");
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
                self.believe(why);
                self.letters.receive(from, incarnation, id, to);
                return Ok(None);
            }
            Origin::NotYet => {
                self.believe(MISSING);
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
        self.show(at, step, from, incarnation, &letter)?;
        Ok(Some(letter))
    }

    /// Takes note that all was durable that was to be so before a message was sent that has
    /// arrived.
    fn show(
        &mut self,
        at: usize,
        step: &StepOf<T, V>,
        from: usize,
        incarnation: u64,
        letter: &Letter<V::Message>,
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
    fn grow(&self, at: usize, step: &StepOf<T, V>) -> Result<(), Stop> {
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

    /// Puts the messages of a node on their way. Returns the number of each among all.
    fn send(&mut self, at: usize, step: &StepOf<T, V>) -> Vec<u32> {
        let Source { at: from, ref lines, ref judge, .. } = self.sources[at];
        // The step is over for the node, and what it puts out comes behind all its states.
        let (line, after) = (lines.line(), judge.kept.count());
        let mut serials = Vec::new();
        for out in &step.out {
            let Out::Send(sent) = out else { continue };
            let to = self.places.binary_search(&sent.to).ok();
            let message = sent.message.clone();
            serials.extend(self.letters.send(from, to, sent.id, message, after, line));
        }
        serials
    }

    /// An epoch has one leader.
    fn lead(
        &mut self,
        at: usize,
        step: &StepOf<T, V>,
        epoch: u64,
        leader: NodeId,
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

    fn assume(&mut self, what: &'static str, count: u64) {
        *self.summary.assumed.entry(what).or_default() += count;
    }

    /// A message arrives of which no log says that it was sent.
    fn believe(&mut self, why: &'static str) {
        self.summary.believed += 1;
        self.assume(why, 1);
    }

    fn reject_step(&self, at: usize, step: &StepOf<T, V>, found: Difference) -> Stop {
        let words = self.happened(at, &step.happened);
        self.stop(at, words, Differs { found: vec![found], ..Differs::default() })
    }

    /// Returns whether a service that writes no log answers a node under this id.
    fn is_outside(&self, at: usize, service: NodeId) -> bool {
        self.sources[at].start.services.contains(&service)
    }

    /// Takes note of what a node asks of such a service in a step.
    fn ask(&mut self, at: usize, step: &StepOf<T, V>) {
        for out in &step.out {
            if let Out::Send(sent) = out
                && self.is_outside(at, sent.to)
            {
                let exchange = V::exchange(self.mapping, sent.message.clone());
                self.sources[at].answers.send(exchange);
            }
        }
    }

    /// Such a service answers: it could have, and no other node was granted the same.
    fn hear(&mut self, at: usize, step: &StepOf<T, V>, message: V::Message) -> Result<(), Stop> {
        self.believe(ANSWERS);
        let exchange = V::exchange(self.mapping, message);
        let source = &mut self.sources[at];
        let node = source.start.node;
        match source.answers.receive(exchange) {
            Ok(None) => Ok(()),
            Ok(Some(epoch)) => self.lead(at, step, epoch, node),
            Err(Wrong { what, model, program }) => {
                let found = Difference::different(Id::at(source.at), what, model, program);
                Err(self.reject_step(at, step, found))
            }
        }
    }

    /// Keeps the step for the diagram, with the names that the node's process has.
    fn remember(
        &mut self,
        at: usize,
        step: &StepOf<T, V>,
        letter: Option<Letter<V::Message>>,
        serials: Vec<u32>,
    ) {
        let source = &self.sources[at];
        let view = &source.judge.view;
        let what = match &step.happened {
            Happened::Boot(_) => What::Boot,
            Happened::Receive(Received { from, message, .. }) => match self.place_of(at, *from) {
                Some(from) => {
                    let serial = letter.map_or(0, |letter| letter.serial);
                    What::Receive { from: Id::at(from), message: message.clone(), serial }
                }
                None => return,
            },
            Happened::Expire(name) => What::Expire(source.judge.named(name)),
            Happened::Suspect(_) | Happened::Request(_) => What::Expire(None),
        };
        let role = match source.judge.doubt {
            None => T::Spec::role(&view.process),
            Some(_) => told(view.role),
        };
        let leader = view.leader.and_then(|leader| self.place_of(at, leader)).map(Id::at);
        let after = Face { up: true, role, leader, timers: view.timers };
        let sent = step.out.iter().filter_map(|out| match out {
            Out::Send(sent) => Some((self.place_of(at, sent.to), sent.message.clone())),
            _ => None,
        });
        let sent = sent.zip(serials);
        let sent = sent
            .filter_map(|((to, message), serial)| Some((Id::at(to?), message, serial)))
            .collect();
        let (id, names) = (Id::at(source.at), Arc::clone(&source.judge.names));
        self.recents.add(Recent { id, names, what, sent, after });
    }

    /// The line that was read last in a log is rejected.
    fn reject(&self, at: usize, happened: String, differs: Differs) -> Box<Divergence> {
        let Source { lines, judge, .. } = &self.sources[at];
        let depends = self.arrived.map(|(from, id, line)| {
            let sender = self.sources.iter().find(|source| source.at == from);
            let log = sender.map_or("?", |source| source.lines.name());
            let node = self.places[from];
            format!("message {id} of node {node}: line {line} of {log}")
        });
        let Differs { found, before, would, guards } = differs;
        let before = before + &judge.names.words();
        let line = LogLine { log: lines.name().to_owned(), line: lines.line() };
        let last = self.recents.trace(self.mapping, STEPS);
        Box::new(Divergence {
            happened,
            before: before.trim_start_matches("; ").to_owned(),
            expected: would,
            guards,
            depends: depends.into_iter().collect(),
            ..Divergence::in_log(line, found, last)
        })
    }

    /// The same, to stop there.
    fn stop(&self, at: usize, happened: String, differs: Differs) -> Stop {
        Stop::Rejected(self.reject(at, happened, differs))
    }

    /// Returns what happened to a node, in words.
    fn happened(&self, at: usize, happened: &Happened<V::Durable, V::Message>) -> String {
        match happened {
            Happened::Boot(_) => "the node starts".to_owned(),
            Happened::Receive(Received { from, message, .. }) => {
                format!("{} of node {from} arrives", self.label(at, message.clone()))
            }
            Happened::Expire(name) => format!("the timer {name} expires"),
            Happened::Suspect(node) => format!("node {node} is suspected"),
            Happened::Request(request) => format!("the node is asked: {request:?}"),
        }
    }

    /// A message that a node gets, as diagrams have it.
    fn label(&self, at: usize, message: V::Message) -> String {
        let names = &self.sources[at].judge.names;
        let node = |node| names.name(node);
        let names = &mut Renaming { number: &mut |_, number| number, node: &node };
        label_of(&V::message(self.mapping, message, false, names))
    }

    /// No log can be read on. Whether one waits for a message of a start of which no line was
    /// written.
    fn lacks_a_start(&mut self) -> bool {
        let all = 0..self.sources.len();
        let awaited: Vec<_> = all.filter_map(|at| self.awaited(at)).collect();
        awaited
            .into_iter()
            .any(|(from, incarnation, _)| self.letters.is_unlogged(from, incarnation))
    }

    /// No log can be read on: the first that waits does so for a message that no log has sent.
    fn blocked(&self) -> Option<Box<Divergence>> {
        let at = self.sources.iter().position(|source| !source.done)?;
        let words = self.circle(at)?;
        let found = Difference::unexpected(Id::at(self.sources[at].at), "message", words);
        let Some(Entry::Step(step)) = self.sources[at].next.as_ref().map(|line| &line.entry) else {
            return None;
        };
        let words = self.happened(at, &step.happened);
        Some(self.reject(at, words, Differs { found: vec![found], ..Differs::default() }))
    }

    /// For what a log waits, and the logs for which it so waits, in words.
    fn circle(&self, first: usize) -> Option<String> {
        let (from, _, id) = self.awaited(first)?;
        let node = self.places[from];
        let mut words = format!("{id} of node {node}, whose log does not send it before");
        let mut sender = from;
        // Each waits for another: after so many steps the circle is told.
        for _ in 0..self.sources.len() {
            let Some(next) = self.sources.iter().position(|log| log.at == sender) else { break };
            let Some((other, _, id)) = self.awaited(next) else { break };
            let lines = &self.sources[next].lines;
            let (line, log, node) = (lines.line(), lines.name(), self.places[other]);
            words += &format!("; line {line} of {log} waits for message {id} of node {node}");
            sender = other;
            if next == first {
                break;
            }
        }
        Some(words)
    }

    /// For which message a log waits: its sender, its incarnation and its number.
    fn awaited(&self, at: usize) -> Option<(usize, u64, u64)> {
        match &self.sources[at].next.as_ref()?.entry {
            Entry::Step(step) => self.numbered(&step.happened),
            _ => None,
        }
    }
}

fn kind<D, L>(happened: &Happened<D, L>) -> &'static str {
    match happened {
        Happened::Boot(_) => "boot",
        Happened::Receive(_) => "receive",
        Happened::Expire(_) => "expire",
        Happened::Suspect(_) => "suspect",
        Happened::Request(_) => "request",
    }
}

/// Returns what was done for a node, in words.
fn deed_words(deed: &Deed) -> String {
    match deed {
        Deed::Saving => "something is being saved".to_owned(),
        Deed::Saved => "something was saved".to_owned(),
        Deed::Sent(id) => format!("message {id} is given to the network"),
        Deed::Told { leads, .. } => {
            let leads = if *leads { "leads" } else { "does not lead" };
            format!("the program is told that its node {leads}")
        }
        Deed::Ended => "the node takes part no longer".to_owned(),
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
