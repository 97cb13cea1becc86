//! Walks beside that of the world that is asked for: of a program that has run for long, of nodes
//! that start again with other durations, and by other rules that the program implements too.
//!
//! - Small worlds have small numbers, and no walk is long enough to see one that is cut off or
//!   wraps. So the numbers jump in a [long run](long_run): a node begins with what it has kept of
//!   it, and all that nodes say to each other is read with its numbers lowered by as much. All else
//!   is the same.
//! - A node that starts again with [other durations](restarting) is bound by what it has promised
//!   by the earlier ones, however short they are now. The nodes of a world have one set of
//!   durations. So a small world is walked once more with each [other set](Restarts::count), which
//!   a node has from its recovery on. Requests are not probed there, and the limits of what
//!   surrounds a node are not compared.
//! - The world that is asked for has one configuration. A program may do what no such world leads
//!   to, where the configuration changes: a node joins, an observer becomes a voter. By the rules
//!   for that, there is another [mapping](crate::mapping::Variants::further). The walk is
//!   breadth-first and ends after so many pairs: the mistakes that it is to find show a few steps
//!   from the beginning.
//!
//! - More than half of an odd number of members is as many as at least half, rounded up. So groups
//!   of two and four are walked as well, each for as many pairs as another world.
//!
//! Each of these but the last is a mapping in which some functions are others.

use crate::error::Error;
use crate::lockstep::{Outcome, lockstep};
use crate::mapping::{
    Built, Counters, Durable, Events, ExpectedFacts, Mapping, More, OnInvalid, Process,
    ProgramCore, Renaming, Restarts, Sides, SpecTimer, Variants,
};
use crate::program::{Program, Refusal};
use crate::reduce::reduce;
use bellwether_core::protocol::{Input, Members, NodeId};
use bellwether_engine::check::{self, Limits};
use bellwether_engine::world::{Scenario, World};
use std::sync::Arc;

/// After so many pairs, the walk of a further world ends.
const PAIRS: u64 = 1 << 14;

/// The sizes of the small groups in which half of the members are no majority.
const EVEN: [usize; 2] = [2, 4];

/// The world in which nodes have large numbers, or start again with other durations. A node starts
/// again once, and had the durations of the mapping before.
const WORLD: Scenario = Scenario::calm(2).with_crashes(1, 1);

/// A world that is walked beside the one that is asked for.
pub struct Surroundings<T: Sides> {
    /// The mapping there.
    pub mapping: Mapping<T>,
    /// The world.
    pub scenario: Scenario,
    /// The words for what is other there, behind what happens to a node.
    pub happens: String,
    /// Whether the rules and the durations are those of the mapping. If so, what the walk meets
    /// counts.
    pub is_same: bool,
    /// The number of pairs after which the walk ends, if it has one.
    pairs: Option<u64>,
}

/// Returns all surroundings of a program, or all but the even groups and the
/// [further](crate::mapping::Further) worlds.
#[must_use]
pub fn surroundings<T: Sides>(mapping: &Mapping<T>, further: bool) -> Vec<Surroundings<T>> {
    let small = |mapping, happens: &str, is_same| {
        let happens = happens.to_owned();
        Surroundings { mapping, scenario: WORLD, happens, is_same, pairs: None }
    };
    let long = ", in a run that has lasted long: its numbers are large";
    let long = long_run(mapping).map(|mapping| small(mapping, long, true));
    let again = ", where a node starts again with other durations";
    let count = mapping.more.restarts.count;
    let again = (0..count).map(|with| small(restarting(mapping, with), again, false));
    let other = |mapping: &Mapping<T>, scenario, happens| {
        let (mapping, pairs) = (mapping.clone(), Some(PAIRS));
        Surroundings { mapping, scenario, happens, is_same: false, pairs }
    };
    let worlds = mapping.more.variants.further.iter().filter(|_| further);
    let worlds = worlds
        .map(|world| other(&world.mapping, world.scenario, format!(", where {}", world.happens)));
    let even = EVEN.into_iter().filter(|_| further).map(|nodes| {
        other(mapping, Scenario { nodes, ..WORLD }, format!(", in a group of {nodes}"))
    });
    long.into_iter().chain(again).chain(worlds).chain(even).collect()
}

impl<T: Sides> Surroundings<T> {
    /// Walks the world. Returns what comes of that, with a difference [reduced](reduce); `None` if
    /// the protocol has no such world.
    ///
    /// # Errors
    /// If nothing can be compared.
    pub fn walk(&self, threads: usize, limits: &Limits) -> Result<Option<Outcome>, Error> {
        let mapping = &self.mapping;
        let Ok(world) = World::new(mapping.rules, self.scenario) else { return Ok(None) };
        let limits = Limits { states: self.pairs, ..*limits };
        let mut outcome = lockstep(&world, mapping, threads, &limits, &mut |_| {})?;
        outcome.divergence = outcome.divergence.map(|found| {
            let mut found = reduce(mapping, found);
            found.happened.push_str(&self.happens);
            found
        });
        let cut_short = &mut outcome.summary.cut_short;
        *cut_short = cut_short.filter(|&why| self.pairs.is_none() || why != check::Reason::States);
        Ok(Some(outcome))
    }
}

/// Returns the mapping of a program whose nodes start again with the set of durations of this
/// number.
#[must_use]
pub fn restarting<T: Sides>(mapping: &Mapping<T>, with: usize) -> Mapping<T> {
    let mut mapping = mapping.clone();
    mapping.more.durations.limits = Arc::new(|_, _| None);
    mapping.more.restarts.now = Some(with);
    mapping
}

/// Returns the mapping of a program that has run for so long that its numbers are large; `None` if
/// no number can begin so (`from` of [`Counters`]).
#[must_use]
pub fn long_run<T: Sides>(mapping: &Mapping<T>) -> Option<Mapping<T>> {
    let Counters { epochs, largest_epoch, in_message, in_durable, from, began, .. } =
        mapping.more.counters.clone();
    let rebase = Arc::clone(&mapping.more.rebase);
    if from.is_empty() {
        return None;
    }
    let lower = move |kind: usize, number: u64| number.saturating_sub(by(from, kind));
    let raise = move |kind: usize, number: u64| number.saturating_add(by(from, kind));
    let epochs_by = epochs.map_or(0, |kind| by(from, kind));
    let Mapping { program, settle, to_program, to_model, process, stable, facts, mut more, .. } =
        mapping.clone();
    let invalid = more.probes.invalid_messages.clone();
    let raised =
        move |message| in_message(message, false, &mut Renaming::of_numbers(&mut { raise }));
    let read: Arc<dyn Fn(_, bool) -> _ + Send + Sync> = Arc::new(move |message, sent| {
        let message = in_message(message, sent, &mut Renaming::of_numbers(&mut { lower }));
        to_model(message, sent)
    });
    let like = Arc::clone(&read);
    // They are larger already.
    more.counters.from = &[];
    more.counters.largest_epoch = largest_epoch.saturating_add(epochs_by);
    // A message that is like one of the model's is like the one as which it reads here.
    more.probes.invalid_messages = Arc::new(move |members: &Members| {
        let mut all = invalid(members);
        for (message, follows) in &mut all {
            if let OnInvalid::Like(model) = follows {
                *model = like(message.clone(), false);
            }
        }
        all
    });
    Some(Mapping {
        program: Arc::new(move |id: NodeId, members: &Members, durable: Option<&_>| {
            let began = if durable.is_none() { began(id, members) } else { None };
            program(id, members, durable.or(began.as_ref()))
        }),
        settle: Arc::new(move |id: NodeId, members: &Members| {
            let mut script = settle(id, members);
            for (_, input) in &mut script {
                if let Input::Receive { message, .. } = input {
                    *message = raised(message.clone());
                }
            }
            script
        }),
        to_program: Arc::new(move |message| to_program(message).map(raised)),
        to_model: read,
        process: Arc::new(move |node: &T::Program| -> Process<T> { rebase(node, process(node)) }),
        stable: Arc::new(move |durable: &_| {
            stable(&in_durable(durable, &mut Renaming::of_numbers(&mut { lower })))
        }),
        facts: Arc::new(move |of: &_| {
            let facts = facts(of)?;
            let raised = |epoch: Option<u64>| epoch.map(|epoch| epoch.saturating_add(epochs_by));
            let (epoch, prepares) = (raised(facts.epoch), raised(facts.prepares));
            Some(ExpectedFacts { epoch, prepares, ..facts })
        }),
        more,
        ..mapping.clone()
    })
}

/// Returns the mapping of something around a node of `mapping`, which reads as the node inside
/// does.
///
/// Around the node, nothing [happens](Events::at) to what is inside, the node starts again with no
/// other durations, and walks no further world.
#[must_use]
pub fn around<T, P>(
    mapping: &Mapping<T>,
    build: impl Fn(Built<T>, NodeId, &Members, Option<&Durable<T>>) -> Result<P, Refusal>
    + Send
    + Sync
    + 'static,
    inside: fn(&P) -> &T::Program,
    timer: impl Fn(P::Timer) -> SpecTimer<T> + Send + Sync + 'static,
) -> Mapping<(T::Spec, P)>
where
    T: Sides,
    P: Program<Core = ProgramCore<T>>,
{
    let Mapping { rules, program, process, more, .. } = mapping.clone();
    let More { durations, counters, rebase, asks, events, logs, probes, variants, .. } = more;
    let more = More {
        durations,
        counters,
        rebase: Arc::new(move |node: &P, process| rebase(inside(node), process)),
        asks,
        events: Events {
            detects: events.detects,
            settling_timers: events.settling_timers,
            ..Events::default()
        },
        logs,
        probes,
        variants: Variants {
            nearest: variants.nearest,
            unplayed: variants.unplayed,
            ..Variants::default()
        },
        restarts: Restarts::default(),
    };
    Mapping {
        rules,
        program: Arc::new(move |id, members: &Members, durable: Option<&Durable<T>>| {
            build(program(id, members, durable), id, members, durable)
        }),
        settle: Arc::clone(&mapping.settle),
        to_program: Arc::clone(&mapping.to_program),
        to_model: Arc::clone(&mapping.to_model),
        timer: Arc::new(timer),
        period: Arc::clone(&mapping.period),
        process: Arc::new(move |node: &P| process(inside(node))),
        stable: Arc::clone(&mapping.stable),
        believes: mapping.believes,
        facts: Arc::clone(&mapping.facts),
        messages: Arc::clone(&mapping.messages),
        more,
    }
}

/// By how much numbers of this kind are larger.
fn by(from: &[u64], kind: usize) -> u64 {
    from.get(kind).copied().unwrap_or(0)
}
