//! The judge of one node: its log beside its process, step by step.
//!
//! A step of one process is decided by what happened to it, so nothing is looked for: the process
//! takes the step, and what the log says of the node must be the same.

mod checks;
mod timers;

use super::kept::{Begins, Kept};
use super::names::Names;
use super::numbers::Numbers;
use super::words::{StepOf, Vocabulary};
use crate::compare::{Expected, ExpectedReport, fields};
use crate::coverage::kind_of;
use crate::divergence::{Difference, Guard};
use crate::guards::{self, Case, was};
use crate::mapping::{
    Process, ProgramCore, Renaming, Sides, SpecEvent, SpecMessage, SpecTimer, Stable, process_id,
    process_request,
};
use crate::node::{Group, NodeView};
use crate::suite::Kinds;
use bellwether_core::protocol::{Core as _, NodeId, Reason, Role};
use bellwether_core::trace::{After, Deed, Happened, Out, Received, Sent, Start};
use bellwether_engine::protocol::{Effect, Id, Protocol as Specification, Timers};
use bellwether_engine::trace::{DOWN, plain};
use checks::Armed;
use rustc_hash::FxHashMap;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use timers::Deadlines;

/// Why a node cannot be judged for a while.
pub(super) type Doubt = &'static str;

const DROPPED: Doubt = "steps after lines that were dropped: have the traces written to a faster \
                        disk, and judge from the next start on";
const LISTS: Doubt = "steps of nodes whose list of members is not the one that they began with: \
                      start them again when the list is decided";
const DIFFERS: Doubt = "steps after a difference: look at that first";
const ASKED: Doubt = "steps after a request that the specification does not know";
const TOO_LARGE: Doubt = "steps after numbers that the specification has no room for: judge a run \
                          whose numbers are smaller";
const MORE_TIMERS: Doubt = "steps with more timers than the specification tells apart: configure \
                            fewer at once, such as by longer rounds";
const SERVICE: Doubt = "steps of a service that has restarted: judge a run in which it does not";
const UNREADABLE: Doubt = "steps after a state that no earlier line has: give the log from the \
                           first start of the node on";
const PANICS: Doubt = "steps after one that the specification has no answer to: report this as a \
                       mistake of the specification";

/// Why a program is told that its node does not lead, which does.
const WITHHELD: [Reason; 4] =
    [Reason::PREPARING, Reason::PAUSED, Reason::STORAGE_STALLED, Reason::LEFT];
/// The most changes that are kept of which a program was not told.
const MOST_CHANGES: usize = 64;

/// The differences, and what the model would have done.
#[derive(Clone, Debug, Default)]
pub(super) struct Differs {
    pub(super) found: Vec<Difference>,
    /// The process before the step.
    pub(super) before: String,
    /// The steps that follow in the model.
    pub(super) would: Vec<String>,
    /// The guards of the model that are false, by which the node goes on.
    pub(super) guards: Vec<Guard>,
}

impl From<Difference> for Box<Differs> {
    fn from(difference: Difference) -> Self {
        Box::new(Differs { found: vec![difference], ..Differs::default() })
    }
}

/// The facts that a node told last.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    leads: bool,
    epoch: Option<u64>,
    until: Option<u64>,
}

pub(super) struct Judge<'a, T: Sides, V: Vocabulary<T>> {
    group: &'a Group<'a, T>,
    id: Id,
    /// The names of the members in the specification.
    pub(super) names: Arc<Names>,
    pub(super) view: NodeView<T::Spec>,
    /// Why it is not judged now.
    pub(super) doubt: Option<Doubt>,
    numbers: Numbers,
    pub(super) kept: Kept<V::Durable>,
    timers: FxHashMap<String, Option<SpecTimer<T>>>,
    deadlines: Deadlines,
    /// Its start, and the one before that.
    start: Start,
    earlier: Start,
    /// The states that may be on its stable storage, the default in front.
    stables: Vec<Stable<T>>,
    incarnations: u64,
    /// The life of the incarnation: it has booted, it has ended, and the one before may have lost
    /// the end of its log.
    booted: bool,
    killed: bool,
    pub(super) ended: bool,
    told: Told,
    /// The news that its program was told last.
    news: Option<Deed>,
    /// The changes since then: whether it leads by each, and the reason.
    changes: Vec<(bool, String)>,
    /// The timer that must expire next: nothing followed from another one, which it forbids.
    owed: Option<SpecTimer<T>>,
    /// The highest epoch that it has told.
    epoch: Option<u64>,
    whole: bool,
    /// How many of the states that the incarnation before had put out it began with, if that is
    /// known.
    pub(super) remembers: Option<u64>,
    /// How often it began with a state that is not in its log.
    pub(super) unwritten: u64,
    /// How many steps have armed timers of which the start does not say how long they take.
    pub(super) untimed: u64,
    sent: Vec<(NodeId, SpecMessage<T>)>,
    written: Vec<Result<Stable<T>, String>>,
    pub(super) met: Tally<T>,
}

type Judged = Result<(), Box<Differs>>;

/// An event of a process, if there is one, and what the node tells if there is none.
type Happens<P> = (Option<SpecEvent<P>>, ExpectedReport);

impl<'a, T: Sides, V: Vocabulary<T>> Judge<'a, T, V> {
    /// The node of this start, whose log begins.
    pub(super) fn new(group: &'a Group<'a, T>, id: Id, start: Start, whole: bool) -> Self {
        Judge {
            group,
            id,
            names: Arc::new(Names::new(&start.members)),
            view: NodeView::down(),
            doubt: None,
            numbers: Numbers::new(group.mapping),
            kept: Kept::new(None),
            timers: FxHashMap::default(),
            deadlines: Deadlines::default(),
            earlier: start.clone(),
            start,
            stables: vec![Stable::<T>::default()],
            incarnations: 0,
            booted: false,
            killed: false,
            ended: false,
            told: Told::default(),
            news: None,
            changes: Vec::new(),
            owed: None,
            epoch: None,
            whole,
            remembers: None,
            unwritten: 0,
            untimed: 0,
            sent: Vec::new(),
            written: Vec::new(),
            met: Tally::new(),
        }
    }

    /// The node is a member of another group from now on, with these names.
    pub(super) fn regroup(&mut self, group: &'a Group<'a, T>, id: Id, names: Names) {
        (self.group, self.id, self.names) = (group, id, Arc::new(names));
        // The state may be any among other members.
        self.kept = Kept::new(None);
        self.kept.known = false;
    }

    /// Another incarnation begins so; it has not booted.
    pub(super) fn begin(&mut self, start: Start) {
        self.deadlines = self.first_deadlines(&start);
        self.earlier = mem::replace(&mut self.start, start);
        // A node that has left has not crashed.
        if self.booted && !self.ended && self.doubt.is_none() {
            self.met.step(&self.view, SpecEvent::Crash, true, true);
        }
        self.incarnations += 1;
        self.booted = false;
        self.killed = !self.ended && !self.whole;
        self.ended = false;
        self.owed = None;
        self.doubt = None;
        self.told = Told::default();
        (self.news, self.changes) = (None, Vec::new());
        let stable = self.view.stable;
        self.view = NodeView { stable, ..NodeView::down() };
    }

    /// Lines are missing here.
    pub(super) fn drop_lines(&mut self) {
        self.doubt = Some(DROPPED);
        self.kept.known = false;
        self.booted = true;
        self.deadlines.forget();
    }

    /// The node has done what the specification does not allow, so it is not judged until it starts
    /// again. If this was so before, that is why.
    pub(super) fn differ(&mut self) -> Option<Doubt> {
        let before = self.doubt.filter(|&doubt| doubt == DIFFERS);
        self.drop_lines();
        self.doubt = Some(DIFFERS);
        before
    }

    /// Something was done for the node; the time is that of its own clock.
    pub(super) fn did(&mut self, deed: &Deed, at: Option<u64>) -> Judged {
        // A program that is told of a rival is told once more what it knows.
        if self.news.as_ref() == Some(deed) {
            return Ok(());
        }
        if let Deed::Told { leads, epoch, reason } = deed {
            self.tells(*leads, *epoch, reason.as_deref(), at)?;
            self.news = Some(deed.clone());
            let of_it = |(led, why): &(bool, String)| led == leads && Some(why) == reason.as_ref();
            if let Some(told) = self.changes.iter().position(of_it) {
                self.changes.drain(..=told);
            }
        }
        let id = self.id;
        self.kept.did(deed).map_err(|words| Difference::unexpected(id, "deed", words).into())
    }

    /// Checks that the program is told the truth of its node: it leads, in its epoch, and its lease
    /// lasts; or it does not, by a change that the program had not been told, or for a reason that
    /// is none of the protocol.
    fn tells(
        &self,
        leads: bool,
        epoch: Option<u64>,
        reason: Option<&str>,
        at: Option<u64>,
    ) -> Judged {
        let Told { leads: is_leader, epoch: led, until } = self.told;
        // The content of dropped lines is not known.
        if self.doubt == Some(DROPPED) || self.doubt == Some(DIFFERS) {
            return Ok(());
        }
        let wrong =
            |words: &str| -> Judged { Err(Difference::unexpected(self.id, "deed", words).into()) };
        let is_over = || at.zip(until).is_some_and(|(at, until)| at >= until);
        let follows = |reason: &str| {
            let is_it = |(led, why): &(bool, String)| !led && why == reason;
            WITHHELD.iter().any(|known| known.name() == reason) || self.changes.iter().any(is_it)
        };
        match leads {
            true if !is_leader => wrong("the program is told that its node leads, which does not"),
            true if is_over() => {
                wrong("the program is told that its node leads, whose lease is over by then")
            }
            false if epoch.is_some() => {
                wrong("the program is told the epoch of a leadership that is none")
            }
            false if is_leader && reason.is_some_and(|reason| !follows(reason)) => {
                wrong("the program is told that its node does not lead, which does")
            }
            _ => match epoch.zip(led) {
                Some((told, led)) if told != led => {
                    let (model, program) = (led.to_string(), told.to_string());
                    Err(Difference::different(self.id, "epoch told", model, program).into())
                }
                _ => Ok(()),
            },
        }
    }

    /// The node takes a step, at this time of its own clock. `Ok` with a doubt means that it was
    /// not judged.
    pub(super) fn step(&mut self, step: &StepOf<T, V>, at: Option<u64>) -> Judged {
        self.checks(step)?;
        self.passes(at)?;
        if let Happened::Boot(durable) = &step.happened {
            self.boot(durable.as_ref())?;
        } else if !self.booted {
            let words = "taken before the node has started";
            return Err(Difference::unexpected(self.id, "step", words).into());
        }
        let before = self.view.role;
        self.follows(step)?;
        let changes = |out: &Out<V::Durable, V::Message>| match out {
            Out::Persist(durable) => {
                !V::is_settled(self.group.mapping, Some(durable), self.start.config_epoch)
            }
            _ => false,
        };
        if step.out.iter().any(changes) {
            self.doubt = Some(LISTS);
        }
        let judged = if self.doubt.is_none() {
            let taken = catch_unwind(AssertUnwindSafe(|| self.take(step)));
            taken.unwrap_or_else(|_| {
                self.doubt = Some(PANICS);
                Ok(())
            })
        } else {
            self.note_request(&step.happened);
            Ok(())
        };
        (self.view.role, self.view.leader) = (step.after.role, step.after.leader);
        self.note(before, step);
        self.note_deadlines(&step.after);
        if self.may_resume(before, step) {
            self.resume(&step.after);
        }
        judged
    }

    /// Checks that the new durable state does not contradict the one before, judged or not.
    fn follows(&self, step: &StepOf<T, V>) -> Judged {
        let mut before = self.kept.last();
        for out in &step.out {
            let Out::Persist(durable) = out else { continue };
            let wrong = V::contradicts(self.group.mapping, &[&self.start], before, durable);
            if let Some(words) = wrong {
                return Err(Difference::unexpected(self.id, "durable data", words).into());
            }
            before = Some(durable);
        }
        Ok(())
    }

    /// The node boots with this. How many of the states that the incarnation before had put out it
    /// remembers is kept in [`Judge::remembers`].
    fn boot(&mut self, durable: Option<&V::Durable>) -> Judged {
        if self.booted {
            let words = "it starts, and has started before";
            return Err(Difference::unexpected(self.id, "step", words).into());
        }
        self.booted = true;
        self.remembers = None;
        if self.incarnations > 1 {
            match self.kept.begins(durable, self.killed) {
                Begins::With(count) => self.remembers = Some(count),
                Begins::Unknown | Begins::Unwritten if self.has_forgotten(durable) => {
                    return Err(self.forgot(durable));
                }
                Begins::Unknown => {}
                Begins::Unwritten => self.unwritten += 1,
                Begins::Wrong => return Err(self.forgot(durable)),
            }
        }
        self.kept = Kept::new(durable.cloned());
        self.restart_numbers(durable);
        match self.read(durable) {
            Some(stable) => self.view.stable = stable,
            None => self.doubt = Some(UNREADABLE),
        }
        if self.numbers.take_misfit() {
            self.doubt = Some(TOO_LARGE);
        }
        let nodes = self.group.size - T::Spec::OPTIONS.services.count;
        let lives = !(T::Spec::OPTIONS.services.crash)(&self.group.mapping.log_rules());
        if self.id.index() >= nodes && lives && self.incarnations > 1 {
            self.doubt = Some(SERVICE);
        }
        if !V::is_settled(self.group.mapping, durable, self.start.config_epoch) {
            self.doubt = Some(LISTS);
        }
        Ok(())
    }

    /// The names of numbers begin anew, from those that are durable.
    fn restart_numbers(&mut self, durable: Option<&V::Durable>) {
        let numbers = durable.map(|durable| V::numbers(self.group.mapping, durable));
        self.numbers.restart(&numbers.unwrap_or_default());
    }

    /// Returns what is durable as the specification has it.
    fn read(&mut self, durable: Option<&V::Durable>) -> Option<Stable<T>> {
        let Some(durable) = durable else { return Some(Stable::<T>::default()) };
        let numbers = &mut self.numbers;
        let names = &mut Renaming {
            number: &mut |kind, number| numbers.rename(kind, number),
            node: &|node| self.names.name(node),
        };
        V::stable(self.group.mapping, durable, &self.stables, names).ok()
    }

    /// Returns whether it boots with what cannot be: what is in no line came after all that is.
    fn has_forgotten(&self, durable: Option<&V::Durable>) -> bool {
        let (mapping, Some(before)) = (self.group.mapping, self.kept.last()) else {
            return false;
        };
        let Some(now) = durable else { return true };
        let (numbers, kept) = (V::numbers(mapping, now), V::numbers(mapping, before));
        let lower = |&(kind, number): &(usize, u64)| {
            let highest = kept.iter().filter(|&&(of, _)| of == kind).map(|&(_, before)| before);
            kind < mapping.more.counters.kinds
                && highest.max().is_some_and(|before| number < before)
        };
        let starts = [&self.start, &self.earlier];
        numbers.iter().any(lower) || V::contradicts(mapping, &starts, Some(before), now).is_some()
    }

    /// Returns the difference of a node that does not begin with its durable state.
    fn forgot(&mut self, durable: Option<&V::Durable>) -> Box<Differs> {
        let certain = self.kept.certain().cloned();
        let mut found = Vec::new();
        self.restart_numbers(certain.as_ref());
        let (model, program) = (self.read(certain.as_ref()), self.read(durable));
        if let (Some(model), Some(program)) = (&model, &program) {
            fields(self.id, model, program, &mut found);
        }
        if found.is_empty() {
            let words =
                |of: Option<&V::Durable>| of.map_or("nothing".into(), |of| format!("{of:?}"));
            let (model, program) = (words(certain.as_ref()), words(durable));
            found.push(Difference::different(self.id, "stable storage", model, program));
        }
        let before = model.as_ref().map(plain).unwrap_or_default();
        let would = vec!["begins with what was durable".to_owned()];
        let before = format!("on stable storage: {before}");
        Box::new(Differs { found, before, would, guards: Vec::new() })
    }

    /// Takes note of what the node puts out, judged or not.
    fn note(&mut self, before: Role, step: &StepOf<T, V>) {
        for out in &step.out {
            match out {
                Out::Persist(durable) => self.kept.put(durable),
                Out::Send(sent) => self.kept.send(sent.id),
                Out::Role { to, reason, .. } => {
                    if self.changes.len() == MOST_CHANGES {
                        self.changes.remove(0);
                    }
                    self.changes.push((*to == Role::Leader, reason.clone()));
                }
                Out::Ignored { .. } | Out::Rival(_) => {}
            }
        }
        let After { role, epoch, ref lease, .. } = step.after;
        if role == Role::Leader && (before != role || self.told.epoch != epoch) {
            self.kept.leads();
        }
        let until = lease.as_ref().map(|lease| lease.until);
        self.told = Told { leads: role == Role::Leader, epoch, until };
        self.epoch = self.epoch.max(epoch);
    }

    /// Takes note of what a node is asked that is judged again later: no later step says whether it
    /// is fit.
    fn note_request(&mut self, happened: &Happened<V::Durable, V::Message>) {
        if self.doubt == Some(MORE_TIMERS)
            && let Happened::Request(request) = happened
            && let Some(request) = process_request(request, self.group.size)
        {
            let mut run = Expected::nothing(&self.view);
            let rules = self.group.mapping.log_rules();
            run.happens(self.group, rules, self.id, SpecEvent::Asked(request));
            self.view = run.view;
        }
    }

    /// The process takes the step as well.
    fn take(&mut self, step: &StepOf<T, V>) -> Judged {
        let Some(armed) = self.armed(&step.after)? else {
            self.doubt = Some(MORE_TIMERS);
            return Ok(());
        };
        let Some((happening, nothing)) = self.happening(&step.happened)? else { return Ok(()) };
        let left = self.left_in_vain(step, happening, armed)?;
        let mut run = Expected::nothing(&self.view);
        let rules = self.group.mapping.log_rules();
        match (left, happening, nothing) {
            (Some(left), _, _) => run.view.timers = left,
            (None, Some(happening), _) => run.happens(self.group, rules, self.id, happening),
            (None, None, report) => run.told.push(report),
        }
        self.translate(step, &run);
        if self.numbers.take_misfit() {
            self.doubt = Some(TOO_LARGE);
            return Ok(());
        }
        let found = self.compare(step, happening, &run, armed);
        if !found.is_empty() {
            return Err(Box::new(self.differs(found, happening, step, armed, &run)));
        }
        for effect in &run.effects {
            if let Effect::Persist(stable) = *effect
                && self.stables.last() != Some(&stable)
            {
                if self.stables.len() == 1 << 8 {
                    self.stables.remove(1);
                }
                self.stables.push(stable);
            }
        }
        if let Some(happening) = happening.filter(|_| left.is_none()) {
            let (view, after) = (&self.view, &run.view);
            let changes = after.up != view.up || after.process != view.process;
            let acts = changes || !run.effects.is_empty();
            self.met.step(view, happening, self.incarnations > 1, acts);
        }
        self.untimed += u64::from(self.is_untimed(&step.after, &run));
        self.view = run.view;
        let NodeView { process, stable, .. } = &mut self.view;
        self.numbers.settle(self.group.mapping, process, stable);
        Ok(())
    }

    /// Returns what happens to the process, or what the node must tell although nothing does.
    /// `None` if the specification has no such thing.
    fn happening(
        &mut self,
        happened: &Happened<V::Durable, V::Message>,
    ) -> Result<Option<Happens<T::Spec>>, Box<Differs>> {
        let none = ExpectedReport::default();
        let event = match happened {
            Happened::Boot(_) => SpecEvent::Boot,
            Happened::Receive(Received { from, message, .. }) => {
                let member = process_id(*from).filter(|from| from.index() < self.group.size);
                let cause = match member {
                    Some(from) if from == self.id => "own_id",
                    Some(from) => {
                        let numbers = &mut self.numbers;
                        let names = &mut Renaming {
                            number: &mut |kind, number| numbers.rename(kind, number),
                            node: &|node| self.names.name(node),
                        };
                        let message = V::message(self.group.mapping, message.clone(), false, names);
                        let event = SpecEvent::Receive { from, message };
                        return Ok(Some((Some(event), none)));
                    }
                    None => "unknown_sender",
                };
                let report = ExpectedReport { reason: None, ignored: Some((*from, cause)) };
                return Ok(Some((None, report)));
            }
            Happened::Expire(name) => match self.timer(name) {
                Some(timer) => SpecEvent::Expire(timer),
                None => {
                    let words = format!("{name}, which is no timer");
                    return Err(Difference::unexpected(self.id, "expiry", words).into());
                }
            },
            Happened::Suspect(node) => {
                let mapping = self.group.mapping;
                let detects = |timer: &_| (mapping.more.events.detects)(*timer) == Some(*node);
                match T::Spec::TIMERS.iter().map(|row| row.timer).find(detects) {
                    Some(timer) => SpecEvent::Expire(timer),
                    None => return Ok(Some((None, none))),
                }
            }
            Happened::Request(_) if !ProgramCore::<T>::REQUESTS => return Ok(Some((None, none))),
            Happened::Request(request) => match process_request(request, self.group.size) {
                Some(request) if T::Spec::REQUESTS => SpecEvent::Asked(request),
                _ => {
                    self.doubt = Some(ASKED);
                    return Ok(None);
                }
            },
        };
        if let SpecEvent::Expire(timer) = event
            && !self.view.timers.contains::<T::Spec>(timer)
        {
            let words = format!("{}, which is not armed", plain(&timer));
            return Err(Difference::unexpected(self.id, "expiry", words).into());
        }
        Ok(Some((Some(event), none)))
    }

    /// The specification's timer that was met with this name.
    pub(super) fn named(&self, name: &str) -> Option<SpecTimer<T>> {
        self.timers.get(name).copied().flatten()
    }

    /// The specification's timer with this name in a log.
    fn timer(&mut self, name: &str) -> Option<SpecTimer<T>> {
        if let Some(known) = self.timers.get(name) {
            return *known;
        }
        let timer = V::timer(self.group.mapping, name);
        if self.timers.len() < 1 << 8 {
            self.timers.insert(name.to_owned(), timer);
        }
        timer
    }

    /// Reads what the node puts out as the specification has it.
    fn translate(&mut self, step: &StepOf<T, V>, run: &Expected<T::Spec>) {
        let (mapping, numbers) = (self.group.mapping, &mut self.numbers);
        self.sent.clear();
        self.written.clear();
        let names = &mut Renaming {
            number: &mut |kind, number| numbers.rename(kind, number),
            node: &|node| self.names.name(node),
        };
        for out in &step.out {
            match out {
                Out::Persist(durable) => {
                    let known = run.effects.iter().filter_map(|effect| match *effect {
                        Effect::Persist(stable) => Some(stable),
                        _ => None,
                    });
                    let known: Vec<_> = known.chain([self.view.stable]).collect();
                    self.written.push(V::stable(mapping, durable, &known, names));
                }
                Out::Send(Sent { to, message, .. }) => {
                    self.sent.push((*to, V::message(mapping, message.clone(), true, names)));
                }
                Out::Role { .. } | Out::Ignored { .. } | Out::Rival(_) => {}
            }
        }
    }

    /// Returns what is told of a difference besides.
    fn differs(
        &self,
        found: Vec<Difference>,
        happening: Option<SpecEvent<T::Spec>>,
        step: &StepOf<T, V>,
        armed: Armed,
        run: &Expected<T::Spec>,
    ) -> Differs {
        let before = was(&self.view) + &self.numbers.words();
        let would = guards::does(run);
        let Some(happening) = happening else {
            return Differs { found, before, would, ..Differs::default() };
        };
        let (group, id, view) = (self.group, self.id, &self.view);
        let rules = group.mapping.log_rules();
        let case = Case { group, id, rules, view, happening };
        let agrees = |run: &Expected<T::Spec>, _: &Process<T>| {
            self.compare(step, Some(happening), run, armed).is_empty()
        };
        let guards = case.guards(&[self.view], &agrees);
        Differs { found, before, would, guards }
    }
}

/// The subject of a step.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum About<L> {
    Nothing,
    Message(L),
    /// The place of a timer among those of the specification.
    Timer(usize),
}

/// The kind of an action, what it is about, the role before, and whether the process acts.
type Key<T> = (&'static str, About<SpecMessage<T>>, &'static str, bool);

/// How often each kind of step was judged.
pub(super) struct Tally<T: Sides>(FxHashMap<Key<T>, u64>);

impl<T: Sides> Tally<T> {
    fn new() -> Self {
        Tally(FxHashMap::default())
    }

    /// A process takes a step; whether it has run before, and whether it acts.
    fn step(
        &mut self,
        before: &NodeView<T::Spec>,
        happening: SpecEvent<T::Spec>,
        again: bool,
        acts: bool,
    ) {
        let (action, about) = match happening {
            SpecEvent::Boot if again => ("recover", About::Nothing),
            SpecEvent::Boot => ("start", About::Nothing),
            SpecEvent::Receive { message, .. } => ("deliver", About::Message(message)),
            SpecEvent::Expire(timer) => ("expire", About::Timer(Timers::place::<T::Spec>(timer))),
            SpecEvent::Asked(_) => ("ask", About::Nothing),
            SpecEvent::Crash => ("crash", About::Nothing),
        };
        let role = if before.up { T::Spec::role(&before.process) } else { DOWN };
        *self.0.entry((action, about, role, acts)).or_default() += 1;
    }

    /// Adds what was counted to these kinds.
    pub(super) fn add_to(&self, kinds: &mut Kinds<&'static str>) {
        for (&(action, about, role, acts), count) in &self.0 {
            let of = match about {
                About::Nothing => None,
                About::Message(message) => Some(kind_of(&message)),
                About::Timer(place) => Some(kind_of(&T::Spec::TIMERS[place].timer)),
            };
            *kinds.entry((action, of, Some(role), acts)).or_default() += count;
        }
    }
}
