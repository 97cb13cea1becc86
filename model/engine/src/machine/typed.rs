//! From a protocol with types of its own to a [`DynProtocol`].

use super::value::{Processes, Values};
use super::{
    AnyProtocol, DynProtocol, Effect, Effects, Event, Local, Message, Observation, OwnJudge,
    Process, Stable, StateShape, Timer, TimerRules, VariantRow, typed_effects,
};
use crate::protocol::{
    self, Duration, Durations, Effect as TypedEffect, Effects as TypedEffects, Elects, Envelope,
    Everything, Group, Id, Ids, Judge, Misfit, Property, Protocol, Rule, RuleError, Said, TimerRow,
    Unused, View,
};
use serde_json::Value;
use smallvec::SmallVec;
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// Returns the protocol with these rules, which every process follows, as the engine sees it.
#[must_use]
pub fn machine<P: Protocol>(rules: P) -> Arc<dyn DynProtocol> {
    machine_of(Group::uniform(rules))
}

/// Returns the protocol as the engine sees it, with the rules that each process follows.
#[must_use]
pub fn machine_of<P: Protocol>(group: Group<P>) -> Arc<dyn DynProtocol> {
    let shape = StateShape::of::<P>();
    let (processes, values) = (Processes::<P>::only(), Values::<P>::only());
    let usual = all_timers(group.usual(), shape);
    let own: Vec<_> = group.own().map(|(id, own)| (id, all_timers(own, shape))).collect();
    let together = own.iter().fold(usual.clone(), |all, (_, own)| {
        all.into_iter().zip(own).map(|(one, other)| one.or(other)).collect()
    });
    Arc::new(Typed {
        group,
        shape,
        processes,
        values,
        timers: GroupTimers { usual, own, together },
        crashed: processes.keep(P::Process::default()),
        blank: values.stable(P::Stable::default()),
    })
}

/// What the rules say of each timer.
struct GroupTimers {
    /// The usual rules.
    usual: Vec<TimerRules>,
    /// Those of the processes that have rules of their own.
    own: Vec<(Id, Vec<TimerRules>)>,
    /// Those of some process.
    together: Vec<TimerRules>,
}

fn all_timers<P: Protocol>(rules: &P, shape: &'static StateShape) -> Vec<TimerRules> {
    let timers = P::TIMERS.iter().enumerate();
    timers.map(|(place, row)| timer_rules(rules, shape.timer(place), row)).collect()
}

fn timer_rules<P: Protocol>(rules: &P, timer: Timer, row: &TimerRow<P>) -> TimerRules {
    TimerRules {
        timer,
        duration: row.duration,
        wait: row.wait(rules),
        armed: (row.armed)(rules),
        random: (row.random)(rules),
        stagger: row.stagger.as_ref().map(|stagger| stagger.by),
        periodic: row.periodic.is_some(),
        time_out: row.is_time_out(rules),
    }
}

/// A protocol as it stands in a [`Registry`](super::Registry).
pub struct ProtocolEntry<P>(PhantomData<fn() -> P>);

impl<P: Protocol> ProtocolEntry<P> {
    /// The entry of this protocol in a registry.
    pub const NEW: Self = ProtocolEntry(PhantomData);
}

impl<P: Protocol> AnyProtocol for ProtocolEntry<P> {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn summary(&self) -> &'static str {
        P::SUMMARY
    }

    fn variants(&self) -> Vec<VariantRow> {
        let row = |variant: &protocol::Variant<P>| {
            let protocol::Variant { name, source, rules } = *variant;
            VariantRow { name, source, rules: serde_json::to_value(rules).unwrap_or_default() }
        };
        P::VARIANTS.iter().map(row).collect()
    }

    fn rule_rows(&self) -> Vec<Rule> {
        protocol::rules::<P>()
    }

    fn own_rules(&self) -> &'static [&'static str] {
        P::OPTIONS.own
    }

    fn durations(&self) -> Vec<&'static Duration> {
        protocol::durations::<P>()
    }

    fn enough(&self) -> Vec<(&'static str, u8)> {
        protocol::enough::<P>()
    }

    fn agrees_within(&self, durations: &Durations, delay: u8) -> Option<u8> {
        P::OPTIONS.agrees_within.and_then(|within| within(durations, delay))
    }

    fn canonicalizes(&self) -> bool {
        P::OPTIONS.canonicalize.is_some()
    }

    fn services(&self) -> usize {
        P::OPTIONS.services.count
    }

    fn own_properties(&self) -> Vec<Property<OwnJudge>> {
        P::PROPERTIES.iter().map(|own| own.map(own_judge::<P>)).collect()
    }

    fn not_promised(&self) -> &'static [&'static str] {
        P::OPTIONS.not_promised
    }

    fn rules(
        &self,
        variant: Option<&str>,
        overrides: &[(String, String)],
    ) -> Result<Arc<dyn DynProtocol>, RuleError> {
        let name = variant.or(P::VARIANTS.first().map(|variant| variant.name));
        let usual: P = protocol::variant(name.unwrap_or_default(), &[])?;
        Group::of(usual, overrides).map(machine_of)
    }

    fn read(&self, rules: &Value) -> Result<Arc<dyn DynProtocol>, serde_json::Error> {
        Group::<P>::read(rules).map(machine_of)
    }

    fn most(&self) -> usize {
        P::OPTIONS.most
    }
}

/// The judgement of a state of a world of this protocol. It panics in a world of another.
fn own_judge<P: Protocol>(judge: Judge<P>) -> OwnJudge {
    Arc::new(move |machine, observed| {
        let group = machine.group().downcast_ref::<Group<P>>();
        let group = group.expect("what only one protocol is asked, its worlds are");
        judge(group.usual(), &View::of(observed).of_group(group))
    })
}

struct Typed<P: Protocol> {
    group: Group<P>,
    shape: &'static StateShape,
    processes: &'static Processes<P>,
    values: &'static Values<P>,
    timers: GroupTimers,
    crashed: Process,
    blank: Stable,
}

impl<P: Protocol> fmt::Debug for Typed<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.group.usual(), f)?;
        self.group.own().try_for_each(|(id, own)| write!(f, "; {id}: {own:?}"))
    }
}

impl<P: Protocol> Typed<P> {
    fn row(timer: Timer) -> &'static TimerRow<P> {
        &P::TIMERS[timer.place()]
    }

    fn effect(&self, effect: &TypedEffect<P>) -> Effect {
        match *effect {
            TypedEffect::Persist(value) => Effect::Persist(self.values.stable(value)),
            TypedEffect::Send { to, message } => {
                Effect::Send { to, message: self.values.message(message) }
            }
            TypedEffect::Arm(timer) => Effect::Arm(self.timer_of(timer)),
            TypedEffect::ArmSince { timer, since } => {
                Effect::ArmSince { timer: self.timer_of(timer), since: self.timer_of(since) }
            }
            TypedEffect::Cancel(timer) => Effect::Cancel(self.timer_of(timer)),
        }
    }

    fn timer_of(&self, timer: P::Timer) -> Timer {
        self.shape.timer(protocol::Timers::place::<P>(timer))
    }
}

impl<P: Protocol> DynProtocol for Typed<P> {
    fn protocol(&self) -> &'static dyn AnyProtocol {
        &ProtocolEntry::<P>::NEW
    }

    fn shape(&self) -> &'static StateShape {
        self.shape
    }

    fn group(&self) -> &dyn Any {
        &self.group
    }

    fn rules(&self) -> &dyn Any {
        self.group.usual()
    }

    fn own(&self) -> Vec<Id> {
        self.group.own().map(|(id, _)| id).collect()
    }

    fn variant_name(&self) -> String {
        self.group.name()
    }

    fn json(&self) -> Value {
        self.group.json()
    }

    fn with_rule(&self, rule: &str, value: &str) -> Result<Arc<dyn DynProtocol>, RuleError> {
        self.group.with(rule, value).map(machine_of)
    }

    fn equals(&self, other: &dyn DynProtocol) -> bool {
        other.group().downcast_ref() == Some(&self.group)
    }

    fn timers(&self) -> &[TimerRules] {
        &self.timers.together
    }

    fn timers_of(&self, id: Id) -> &[TimerRules] {
        let own = self.timers.own.iter().find(|(known, _)| *known == id);
        own.map_or(&self.timers.usual, |(_, own)| own)
    }

    fn stagger(&self, timer: Timer, id: Id, nodes: usize) -> u8 {
        let stagger = Self::row(timer).stagger.as_ref();
        stagger.map_or(0, |stagger| (stagger.times)(self.group.rules(id), id, nodes))
    }

    fn elects(&self) -> Elects {
        (P::OPTIONS.elects)(self.group.usual())
    }

    fn rank(&self, id: Id) -> u8 {
        (P::OPTIONS.rank)(self.group.usual(), id)
    }

    fn voters(&self, nodes: usize) -> Ids {
        let votes = |&id: &Id| (P::OPTIONS.voters)(self.group.rules(id), nodes).contains(id);
        Ids::all(nodes).iter().filter(votes).collect()
    }

    fn services_crash(&self) -> bool {
        (P::OPTIONS.services.crash)(self.group.usual())
    }

    fn fits(&self, nodes: usize) -> Result<(), Misfit> {
        (P::OPTIONS.fits)(self.group.usual(), nodes)?;
        self.group.own().try_for_each(|(_, own)| (P::OPTIONS.fits)(own, nodes))
    }

    fn bound(&self) -> Option<&'static str> {
        P::OPTIONS.within_bounds.map(|bound| bound.at_most)
    }

    fn within(&self, process: Process, stable: Stable) -> bool {
        let within = |bound: protocol::WithinBounds<P>| {
            (bound.within)(self.group.usual(), process.get::<P>(), stable.get::<P>())
        };
        P::OPTIONS.within_bounds.is_none_or(within)
    }

    fn unused(&self, id: Id) -> Unused {
        (P::OPTIONS.unused)(self.group.rules(id))
    }

    fn crashed(&self) -> Process {
        self.crashed
    }

    fn blank(&self) -> Stable {
        self.blank
    }

    fn step(&self, at: &mut Local, event: Event, effects: &mut Effects) -> Said {
        let before: &P::Process = at.process.get::<P>();
        let mut process = *before;
        let mut caused = TypedEffects::<P>::new();
        let has = (*at.stable.get::<P>(), at.timers);
        let local = protocol::Local::new(at.id, at.nodes, has, &mut process, &mut caused);
        let mut local = local.with_run_out(at.run_out);
        let rules = self.group.rules(at.id);
        match event {
            Event::Converged => rules.converged(&mut local),
            Event::Recover => rules.recover(&mut local),
            Event::Receive(from, message) => rules.receive(&mut local, from, *message.get::<P>()),
            Event::Expire(timer) => {
                local.expires(timer.get::<P>());
                rules.expire(&mut local, timer.get::<P>());
            }
        }
        at.timers = local.timers();
        let said = local.said();
        if process != *before {
            at.process = self.processes.keep(process);
        }
        for effect in &caused {
            let effect = self.effect(effect);
            if let Effect::Persist(value) = effect {
                at.stable = value;
            }
            effects.push(effect);
        }
        said
    }

    fn may_time_out(&self, observed: &Observation<'_>, id: Id, timer: Timer) -> bool {
        let view = View::of(observed).of_group(&self.group);
        timer.is_outcome() || self.group.rules(id).may_time_out(&view, id, timer.get::<P>())
    }

    fn no_news(&self, observed: &Observation<'_>, id: Id, timer: Timer) -> bool {
        let (no_news, rules) = (Self::row(timer).periodic, self.group.rules(id));
        let view = View::of(observed).of_group(&self.group);
        no_news.is_some_and(|no_news| no_news(rules, &view, id))
    }

    fn waits_for_others(&self, timer: Timer, process: Process) -> bool {
        Self::row(timer).waits_for_others(process.get::<P>())
    }

    fn canonicalize(
        &self,
        count: usize,
        processes: &mut [Process],
        stable: &mut [Stable],
        flight: &mut [Envelope],
    ) {
        let Some(canonicalize) = P::OPTIONS.canonicalize else { return };
        let mut own: SmallVec<[P::Process; 7]> = processes.iter().map(|p| *p.get::<P>()).collect();
        let mut kept: SmallVec<[P::Stable; 7]> = stable.iter().map(|s| *s.get::<P>()).collect();
        let typed =
            |e: &Envelope| Envelope { from: e.from, to: e.to, message: *e.message.get::<P>() };
        let mut messages: SmallVec<[Envelope<P::Message>; 20]> = flight.iter().map(typed).collect();
        let all = Everything {
            count,
            processes: &mut own,
            stable: &mut kept,
            messages: &mut messages,
            group: &self.group,
        };
        canonicalize(self.group.usual(), all);
        for (place, own) in processes.iter_mut().zip(own) {
            if place.get::<P>() != &own {
                *place = self.processes.keep(own);
            }
        }
        for (place, kept) in stable.iter_mut().zip(kept) {
            if place.get::<P>() != &kept {
                *place = self.values.stable(kept);
            }
        }
        for (place, e) in flight.iter_mut().zip(messages) {
            let message = self.values.message(e.message);
            *place = Envelope { from: e.from, to: e.to, message };
        }
    }

    fn begins_election(&self, before: Process, after: Process, effects: &[Effect]) -> bool {
        let effects = typed_effects::<P>(effects);
        (P::OPTIONS.begins_election)(before.get::<P>(), after.get::<P>(), &effects)
    }

    fn message(&self, json: &Value) -> Result<Message, serde_json::Error> {
        serde_json::from_value(json.clone()).map(|message| self.values.message(message))
    }

    fn timer(&self, json: &Value) -> Result<Timer, serde_json::Error> {
        serde_json::from_value(json.clone()).map(|timer| self.timer_of(timer))
    }
}
