//! From a tree to what is asked of a state: what each name means in a world, and whether kinds of
//! values fit each other. Names of fields, words and kinds of values are learned from a few
//! executions of the world.

use super::ExpressionError;
use super::read::{Node, Quantifier, Sign, What};
use crate::machine::Timer;
use crate::words::instead_of;
use crate::world::swarm::Random;
use crate::world::{DOWN, Faults, Scenario, State, World};
use serde_json::Value;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// The kinds that a value may have, a bit each.
pub(super) type Kinds = u8;

pub(super) const TRUTH: Kinds = 1;
const NUMBER: Kinds = 2;
const WORD: Kinds = 4;
const LIST: Kinds = 8;
const RECORD: Kinds = 16;
const NOTHING: Kinds = 32;

/// The kinds in words.
pub(super) fn words(kinds: Kinds) -> String {
    let names = [
        (TRUTH, "true or false"),
        (NUMBER, "a number or a process"),
        (WORD, "a word"),
        (LIST, "a list"),
        (RECORD, "a record with fields"),
    ];
    let names = names.into_iter().filter(|(kind, _)| kinds & kind != 0).map(|(_, name)| name);
    let names: Vec<_> = names.collect();
    if names.is_empty() { "always none".to_owned() } else { names.join(" or ") }
}

/// What is computed from a state.
pub(super) enum Term {
    Nothing,
    Truth(bool),
    Number(i64),
    Word(String),
    /// A process that a quantifier speaks of, by its place among those around it.
    Variable(usize),
    Quiescent,
    /// How often faults of a kind have struck, by its place in [`Faults::named`].
    Struck(usize),
    Ask(Ask, Vec<Term>),
    Armed(Box<Term>, Timer),
    Field(Box<Term>, String),
    Index(Box<Term>, Box<Term>),
    Not(Box<Term>),
    Binary(Sign, Box<Term>, Box<Term>),
    Quantified(Quantifier, Box<Term>),
}

/// What is asked of processes, or of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    Up,
    Paused,
    Leads,
    Follows,
    Leader,
    Role,
    Connected,
    Size,
    /// What a process knows.
    Own,
    /// What a process stores.
    Stable,
}

/// The functions of processes: their names, of how many each is asked, and the kind of its value.
static FUNCTIONS: [(&str, Ask, usize, Kinds); 7] = [
    ("up", Ask::Up, 1, TRUTH),
    ("paused", Ask::Paused, 1, TRUTH),
    ("leads", Ask::Leads, 1, TRUTH),
    ("follows", Ask::Follows, 2, TRUTH),
    ("leader", Ask::Leader, 1, NUMBER | NOTHING),
    ("role", Ask::Role, 1, WORD | NOTHING),
    ("connected", Ask::Connected, 2, TRUTH),
];

/// Besides those, and besides names of faults.
const OTHERS: [&str; 10] =
    ["armed", "size", "count", "exists", "forall", "quiescent", "nodes", "true", "false", "none"];

/// How many variables there may be at a time.
const MOST_VARIABLES: usize = 5;

/// How often what is said of variables may be evaluated in a state: each is tried with every
/// process.
const MOST_TRIED: usize = 20_000;

/// A term, the kinds that its value may have, and what it looks like if it is a field.
pub(super) struct Typed<'k> {
    pub(super) term: Term,
    pub(super) kinds: Kinds,
    shape: Option<&'k Shape>,
}

impl Typed<'_> {
    fn plain(term: Term, kinds: Kinds) -> Self {
        Typed { term, kinds, shape: None }
    }
}

/// Finds out what names mean.
pub(super) struct Resolver<'w> {
    text: &'w str,
    world: &'w World,
    known: &'w OnceCell<Known>,
    scope: Vec<String>,
    asks_for_names: bool,
}

type Resolved<'w> = Result<Typed<'w>, ExpressionError>;

impl<'w> Resolver<'w> {
    pub(super) fn new(text: &'w str, world: &'w World, known: &'w OnceCell<Known>) -> Self {
        Resolver { text, world, known, scope: Vec::new(), asks_for_names: false }
    }

    /// Whether something that was resolved asks for the fields of a process.
    pub(super) fn asks_for_names(&self) -> bool {
        self.asks_for_names
    }

    /// What processes know and store, learned when that is first asked.
    fn known(&self) -> &'w Known {
        self.known.get_or_init(|| Known::of(self.world))
    }

    pub(super) fn resolve(&mut self, node: &Node) -> Resolved<'w> {
        match &node.what {
            What::Number(number) => Ok(Typed::plain(Term::Number(*number), NUMBER)),
            What::Quoted(word) => Ok(Typed::plain(Term::Word(word.replace(' ', "-")), WORD)),
            What::Name(name) => self.name(name).ok_or_else(|| self.unknown(&node.at, name)),
            What::Call(name, of) => self.call(node, name, of),
            What::Field(of, name) => self.field(node, of, name),
            What::Index(of, at) => {
                let of = self.of_kind(of, LIST, "a list")?;
                let at = self.of_kind(at, NUMBER, "a number")?;
                let shape = of.shape.and_then(|shape| shape.element.as_deref());
                let kinds = shape.map_or(0, |shape| shape.kinds) | NOTHING;
                Ok(Typed { term: Term::Index(of.term.into(), at.term.into()), kinds, shape })
            }
            What::Not(inner) => {
                let inner = self.of_kind(inner, TRUTH, "something true or false")?;
                Ok(Typed::plain(Term::Not(inner.term.into()), TRUTH))
            }
            What::Binary(sign, left, right) => self.binary(node, *sign, left, right),
            What::Quantified(quantifier, name, body) => {
                self.bind(node, name)?;
                let body = self.of_kind(body, TRUTH, "something true or false");
                self.scope.pop();
                let kinds = if *quantifier == Quantifier::Count { NUMBER } else { TRUTH };
                Ok(Typed::plain(Term::Quantified(*quantifier, body?.term.into()), kinds))
            }
        }
    }

    fn wrong(&self, at: Range<usize>, wrong: impl Into<String>) -> ExpressionError {
        ExpressionError::new(self.text, at, wrong)
    }

    /// There is no such name.
    fn unknown(&self, at: &Range<usize>, name: &str) -> ExpressionError {
        let number = name.strip_prefix('p').and_then(|number| number.parse::<i64>().ok());
        if let Some(number) = number {
            return self.no_process(at, number);
        }
        let functions = FUNCTIONS.iter().map(|(name, ..)| *name);
        let faults = Faults::NONE.named().map(|(name, _)| name);
        let mut known: Vec<&str> = self.scope.iter().map(String::as_str).collect();
        known.extend(functions.chain(OTHERS).chain(faults));
        let mut wrong = format!("there is no '{name}'; {}", instead_of(name, &known));
        if self.known().fields().contains(&name) {
            wrong =
                format!("'{name}' is a field of processes; write p1.{name}, or p.{name} of a p");
        }
        self.wrong(at.clone(), wrong)
    }

    fn no_process(&self, at: &Range<usize>, number: i64) -> ExpressionError {
        let most = self.world.processes();
        self.wrong(at.clone(), format!("there is no process {number}; give 1 to {most}"))
    }

    /// What a name alone means.
    fn name(&self, name: &str) -> Option<Typed<'w>> {
        if let Some(place) = self.scope.iter().position(|known| known == name) {
            return Some(Typed::plain(Term::Variable(place), NUMBER));
        }
        if let Some(place) = Faults::NONE.named().iter().position(|(fault, _)| *fault == name) {
            return Some(Typed::plain(Term::Struck(place), NUMBER | NOTHING));
        }
        Some(match name {
            "true" | "false" => Typed::plain(Term::Truth(name == "true"), TRUTH),
            "none" => Typed::plain(Term::Nothing, NOTHING),
            "quiescent" => Typed::plain(Term::Quiescent, TRUTH),
            "nodes" => Typed::plain(Term::Number(self.world.scenario().nodes as i64), NUMBER),
            _ => {
                let number = name.strip_prefix('p')?.parse().ok()?;
                self.is_process(number).then(|| Typed::plain(Term::Number(number), NUMBER))?
            }
        })
    }

    fn is_process(&self, number: i64) -> bool {
        usize::try_from(number).is_ok_and(|number| (1..=self.world.processes()).contains(&number))
    }

    /// Something whose value may be of this kind.
    fn of_kind(&mut self, node: &Node, kind: Kinds, what: &str) -> Resolved<'w> {
        let typed = self.resolve(node)?;
        if typed.kinds & kind == 0 {
            let is = words(typed.kinds);
            return Err(self.wrong(node.at.clone(), format!("this is {is}, and not {what}")));
        }
        Ok(typed)
    }

    fn process(&mut self, node: &Node) -> Result<Term, ExpressionError> {
        match node.what {
            What::Number(number) if !self.is_process(number) => {
                Err(self.no_process(&node.at, number))
            }
            _ => Ok(self.of_kind(node, NUMBER, "a process")?.term),
        }
    }

    fn bind(&mut self, node: &Node, name: &str) -> Result<(), ExpressionError> {
        if self.name(name).is_some() || FUNCTIONS.iter().any(|(known, ..)| *known == name) {
            let wrong = format!("'{name}' means something already; call the variable otherwise");
            return Err(self.wrong(node.at.clone(), wrong));
        }
        let nodes = self.world.scenario().nodes;
        let tried = (1..=MOST_VARIABLES).scan(1, |tried, _| {
            *tried *= nodes;
            Some(*tried)
        });
        let most = tried.take_while(|&tried| tried <= MOST_TRIED).count();
        if self.scope.len() == most {
            let wrong =
                format!("of {nodes} processes, there are at most {most} variables at a time");
            return Err(self.wrong(node.at.clone(), wrong));
        }
        self.scope.push(name.to_owned());
        Ok(())
    }

    fn call(&mut self, node: &Node, name: &str, of: &[Node]) -> Resolved<'w> {
        let here = node.at.start..node.at.start + name.len();
        let takes = |most: usize| match most == of.len() {
            true => Ok(()),
            false => Err(format!("{name}(...) is asked of {most}, and here of {}", of.len())),
        };
        let text = self.text;
        let wrong = |why: String| ExpressionError::new(text, node.at.clone(), why);
        match name {
            "size" => {
                takes(1).map_err(wrong)?;
                let list = self.of_kind(&of[0], LIST, "a list")?;
                let size = Term::Ask(Ask::Size, vec![list.term]);
                return Ok(Typed::plain(size, NUMBER | NOTHING));
            }
            "armed" => {
                takes(2).map_err(wrong)?;
                let (process, timer) = (self.process(&of[0])?, self.timer(&of[1])?);
                return Ok(Typed::plain(Term::Armed(process.into(), timer), TRUTH));
            }
            _ => {}
        }
        let Some(&(_, ask, count, kinds)) = FUNCTIONS.iter().find(|(known, ..)| *known == name)
        else {
            return Err(self.unknown(&here, name));
        };
        takes(count).map_err(wrong)?;
        let of: Result<Vec<_>, _> = of.iter().map(|node| self.process(node)).collect();
        let shape = (ask == Ask::Role).then(|| &self.known().roles);
        Ok(Typed { term: Term::Ask(ask, of?), kinds, shape })
    }

    fn timer(&self, node: &Node) -> Result<Timer, ExpressionError> {
        let timers = || self.world.machine().timers().iter().map(|rules| rules.timer);
        let names: Vec<String> = timers().map(|timer| timer.plain().replace(' ', "-")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let name = match &node.what {
            What::Name(name) | What::Quoted(name) => name.replace(' ', "-"),
            _ => self.text[node.at.clone()].to_owned(),
        };
        let found = names.iter().position(|known| *known == name);
        found.and_then(|place| timers().nth(place)).ok_or_else(|| {
            let wrong = format!("there is no timer '{name}'; {}", instead_of(&name, &names));
            self.wrong(node.at.clone(), wrong)
        })
    }

    /// A field of a process, or of a field of one.
    fn field(&mut self, node: &Node, of: &Node, name: &str) -> Resolved<'w> {
        let here = node.at.end - name.len()..node.at.end;
        let typed = self.resolve(of)?;
        let record = typed.shape.filter(|shape| shape.kinds & RECORD != 0);
        if let Some(record) = record {
            let Some(shape) = record.fields.get(name) else {
                let known: Vec<_> = record.fields.keys().map(String::as_str).collect();
                let wrong =
                    format!("there is no field '{name}' in it; {}", instead_of(name, &known));
                return Err(self.wrong(here, wrong));
            };
            let term = Term::Field(typed.term.into(), name.to_owned());
            return Ok(Typed { term, kinds: shape.kinds | NOTHING, shape: Some(shape) });
        }
        let of_process = self.process(of)?;
        self.asks_for_names = true;
        let Known { own, stable, .. } = self.known();
        if name == "stable" {
            let term = Term::Ask(Ask::Stable, vec![of_process]);
            return Ok(Typed { term, kinds: stable.kinds | NOTHING, shape: Some(stable) });
        }
        let found = own.fields.get(name).map(|shape| (Ask::Own, shape));
        let found = found.or_else(|| Some((Ask::Stable, stable.fields.get(name)?)));
        let Some((ask, shape)) = found else {
            let wrong = format!(
                "processes of {} have no field '{name}'; {}",
                self.world.machine().protocol().name(),
                instead_of(name, &self.known().fields())
            );
            return Err(self.wrong(here, wrong));
        };
        let whole = Term::Ask(ask, vec![of_process]);
        let term = Term::Field(whole.into(), name.to_owned());
        Ok(Typed { term, kinds: shape.kinds | NOTHING, shape: Some(shape) })
    }

    fn binary(&mut self, node: &Node, sign: Sign, l: &Node, r: &Node) -> Resolved<'w> {
        let (left, right, kinds) = match sign {
            Sign::Implies | Sign::Or | Sign::And => {
                let what = "something true or false";
                (self.of_kind(l, TRUTH, what)?, self.of_kind(r, TRUTH, what)?, TRUTH)
            }
            Sign::Less | Sign::AtMost | Sign::More | Sign::AtLeast => {
                (self.of_kind(l, NUMBER, "a number")?, self.of_kind(r, NUMBER, "a number")?, TRUTH)
            }
            Sign::Plus | Sign::Minus => {
                let left = self.of_kind(l, NUMBER, "a number")?;
                (left, self.of_kind(r, NUMBER, "a number")?, NUMBER | NOTHING)
            }
            Sign::In => {
                let list = self.of_kind(r, LIST, "a list")?;
                let element = list.shape.and_then(|shape| shape.element.as_deref());
                let one = self.side(l, element)?;
                if let Some(element) = element.filter(|element| element.kinds != 0) {
                    self.may_be_equal(node, &one.term, one.kinds, &list.term, element.kinds)?;
                }
                (one, list, TRUTH)
            }
            Sign::Equal | Sign::Unequal => {
                let (left, right) = if self.is_bare_word(l) {
                    let right = self.resolve(r)?;
                    (self.side(l, right.shape)?, right)
                } else {
                    let left = self.resolve(l)?;
                    let right = self.side(r, left.shape)?;
                    (left, right)
                };
                self.may_be_equal(node, &left.term, left.kinds, &right.term, right.kinds)?;
                self.may_lead(&left.term, r)?;
                self.may_lead(&right.term, l)?;
                (left, right, TRUTH)
            }
        };
        let term = Term::Binary(sign, left.term.into(), right.term.into());
        Ok(Typed::plain(term, kinds))
    }

    fn is_bare_word(&self, node: &Node) -> bool {
        matches!(&node.what, What::Name(name) if self.name(name).is_none())
    }

    /// One side of a comparison with something of this shape: a name that means nothing else is one
    /// of the words that are met there.
    fn side(&mut self, node: &Node, other: Option<&Shape>) -> Resolved<'w> {
        let What::Name(name) = &node.what else { return self.resolve(node) };
        let known = other.map(|other| &other.words).filter(|known| !known.is_empty());
        let Some(known) = known.filter(|_| self.is_bare_word(node)) else {
            return self.resolve(node);
        };
        if known.contains(name) {
            return Ok(Typed::plain(Term::Word(name.clone()), WORD));
        }
        let known: Vec<_> = known.iter().map(String::as_str).collect();
        let wrong = format!(
            "'{name}' was not met there; {}. In quotes, \"{name}\" is taken as it is",
            instead_of(name, &known)
        );
        Err(self.wrong(node.at.clone(), wrong))
    }

    /// Refuses to compare what is never equal. A field that was met only without a value may have
    /// any, but what always has a value is never `none`.
    fn may_be_equal(
        &self,
        node: &Node,
        left: &Term,
        l: Kinds,
        right: &Term,
        r: Kinds,
    ) -> Result<(), ExpressionError> {
        let is_none = |one: &Term, other: Kinds| {
            matches!(one, Term::Nothing) && other & (NOTHING | WORD) == 0
        };
        let unmet = l == NOTHING || r == NOTHING;
        let named = (l | r) & (RECORD | WORD) == RECORD | WORD;
        let may = unmet || named || l & r & !NOTHING != 0;
        if may && !is_none(left, r) && !is_none(right, l) {
            return Ok(());
        }
        let wrong = format!("{} and {} are never equal", words(l), words(r));
        Err(self.wrong(node.at.clone(), wrong))
    }

    /// Refuses a number that no process has where a leader is asked for.
    fn may_lead(&self, of: &Term, number: &Node) -> Result<(), ExpressionError> {
        match (of, &number.what) {
            (Term::Ask(Ask::Leader, _), What::Number(leader)) if !self.is_process(*leader) => {
                Err(self.no_process(&number.at, *leader))
            }
            _ => Ok(()),
        }
    }
}

/// How many executions are looked at, and how many steps of each.
const WALKS: u64 = 60;
const STEPS: usize = 100;

/// What is known of the processes of a world.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// What processes know, and lose in a crash.
    own: Shape,
    /// What is on stable storage.
    stable: Shape,
    /// The roles of processes.
    roles: Shape,
}

/// What values in one place look like.
#[derive(Debug, Default)]
struct Shape {
    kinds: Kinds,
    fields: BTreeMap<String, Shape>,
    element: Option<Box<Shape>>,
    words: BTreeSet<String>,
}

impl Shape {
    fn add(&mut self, value: &Value) {
        match value {
            Value::Null => self.kinds |= NOTHING,
            Value::Bool(_) => self.kinds |= TRUTH,
            Value::Number(_) => self.kinds |= NUMBER,
            Value::String(word) => self.word(word),
            Value::Array(all) => {
                self.kinds |= LIST;
                let element = self.element.get_or_insert_default();
                all.iter().for_each(|one| element.add(one));
            }
            Value::Object(fields) => {
                self.kinds |= RECORD;
                for (name, value) in fields {
                    self.fields.entry(name.clone()).or_default().add(value);
                }
                // One of several words, with data.
                if fields.len() == 1 {
                    self.words.extend(fields.keys().cloned());
                }
            }
        }
    }

    fn word(&mut self, word: &str) {
        self.kinds |= WORD;
        self.words.insert(word.replace(' ', "-"));
    }
}

impl Known {
    /// What is seen in the same executions every time. Where the world has no crashes, one process
    /// crashes and recovers, so that more is seen.
    fn of(world: &World) -> Known {
        let Scenario { mut faults, .. } = world.scenario();
        (faults.crashes, faults.recoveries) = (faults.crashes.max(1), faults.recoveries.max(1));
        let scenario = Scenario { faults, ..world.scenario() };
        let richer = World::of(Arc::clone(world.machine()), scenario);
        let world = richer.as_ref().unwrap_or(world);
        let mut known = Known::default();
        known.roles.word(DOWN);
        let mut enabled = Vec::new();
        for walk in 0..WALKS {
            let (mut random, mut state) = (Random::new(0, walk), world.initial());
            known.add(&state);
            for _ in 0..STEPS {
                enabled.clear();
                world.enabled(&state, &mut enabled);
                if enabled.is_empty() {
                    break;
                }
                let action = enabled[random.place(enabled.len())];
                state = world.apply(&state, &action).state;
                known.add(&state);
            }
        }
        known
    }

    fn add(&mut self, state: &State) {
        for id in state.ids() {
            self.stable.add(state.stable(id).json());
            if state.up(id) {
                self.own.add(state.process(id).json());
                self.roles.word(state.process(id).role());
            }
        }
    }

    /// The fields that a process has, what it stores behind what it knows.
    fn fields(&self) -> Vec<&str> {
        let stable = self.stable.fields.keys().filter(|name| !self.own.fields.contains_key(*name));
        self.own.fields.keys().chain(stable).map(String::as_str).chain(["stable"]).collect()
    }
}
