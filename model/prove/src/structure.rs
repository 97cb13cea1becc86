//! Finite structures, what is true in them, and which pairs of them are steps.

use super::relation::{Action, Expr, Kind, Relation, Sort};
use std::collections::{BTreeMap, BTreeSet};

/// How many things there are of each sort, and what each symbol gives for each of its arguments:
/// 1 or 0 of a predicate, the place of a thing, or a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Structure {
    /// How many things there are of each sort.
    pub sizes: Vec<usize>,
    /// The tables of the symbols.
    pub tables: Vec<Vec<i64>>,
}

/// A step: the action, and what its parameters are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The place of the action.
    pub action: usize,
    /// The parameters.
    pub params: Vec<i64>,
}

impl Structure {
    /// Everything is false, first or 0.
    #[must_use]
    pub fn empty(relation: &Relation, sizes: Vec<usize>) -> Structure {
        let size = |args: &[usize]| args.iter().map(|&sort| sizes[sort]).product();
        let tables = relation.symbols.iter().map(|symbol| vec![0; size(&symbol.args)]).collect();
        Structure { sizes, tables }
    }

    /// The place of these arguments in the table of a symbol.
    #[must_use]
    pub fn place(&self, relation: &Relation, symbol: usize, args: &[i64]) -> usize {
        let sorts = &relation.symbols[symbol].args;
        let add = |place: usize, (&sort, &arg): (&usize, &i64)| {
            place * self.sizes[sort] + usize::try_from(arg).expect("a thing has a place")
        };
        sorts.iter().zip(args).fold(0, add)
    }

    /// All things, or lists of things, of these sorts.
    pub fn each<'a>(&'a self, sorts: &'a [usize]) -> impl Iterator<Item = Vec<i64>> + 'a {
        let count: usize = sorts.iter().map(|&sort| self.sizes[sort]).product();
        (0..count).map(move |mut at| {
            let mut list: Vec<i64> = Vec::with_capacity(sorts.len());
            for &sort in sorts.iter().rev() {
                list.push(i64::try_from(at % self.sizes[sort]).expect("few things"));
                at /= self.sizes[sort];
            }
            list.reverse();
            list
        })
    }

    /// Whether a formula is true, where the variables around it are these.
    #[must_use]
    pub fn holds(&self, relation: &Relation, formula: &Expr, vars: &[i64]) -> bool {
        self.value(relation, formula, &mut vars.to_vec()) != 0
    }

    fn value(&self, relation: &Relation, expr: &Expr, vars: &mut Vec<i64>) -> i64 {
        let mut of = |expr: &Expr| self.value(relation, expr, vars);
        match expr {
            Expr::Truth(truth) => i64::from(*truth),
            Expr::Number(number) => *number,
            Expr::Var(at) => vars[*at],
            Expr::Of(symbol, args) => {
                let sorts = &relation.symbols[*symbol].args;
                let add = |place: usize, (arg, &sort): (&Expr, &usize)| {
                    place * self.sizes[sort] + usize::try_from(of(arg)).expect("a place")
                };
                self.tables[*symbol][args.iter().zip(sorts).fold(0, add)]
            }
            Expr::Same(both) => i64::from(of(&both[0]) == of(&both[1])),
            Expr::AtMost(_, both) => i64::from(of(&both[0]) <= of(&both[1])),
            Expr::Sum(both) => of(&both[0]) + of(&both[1]),
            Expr::Difference(both) => of(&both[0]) - of(&both[1]),
            Expr::Not(inner) => 1 - of(inner),
            Expr::All(all) => i64::from(all.iter().all(|one| of(one) != 0)),
            Expr::Any(any) => i64::from(any.iter().any(|one| of(one) != 0)),
            Expr::If(three) => {
                let [condition, then, otherwise] = &**three;
                if of(condition) != 0 { of(then) } else { of(otherwise) }
            }
            Expr::Each(every, sorts, body) => {
                i64::from(self.quantified(relation, *every, sorts, body, vars))
            }
        }
    }

    fn quantified(
        &self,
        relation: &Relation,
        every: bool,
        sorts: &[usize],
        body: &Expr,
        vars: &mut Vec<i64>,
    ) -> bool {
        let Some((&sort, rest)) = sorts.split_first() else {
            return self.value(relation, body, vars) != 0;
        };
        let around = vars.len();
        for thing in 0..self.sizes[sort] {
            vars.push(i64::try_from(thing).expect("few things"));
            let found = self.quantified(relation, every, rest, body, vars) != every;
            vars.truncate(around);
            if found {
                return !every;
            }
        }
        every
    }

    /// Whether all axioms hold.
    #[must_use]
    pub fn is_possible(&self, relation: &Relation) -> bool {
        relation.axioms.iter().all(|axiom| self.holds(relation, &axiom.formula, &[]))
    }

    /// Whether the parts of the invariant hold of which `keeps` says that they are asked.
    #[must_use]
    pub fn satisfies(&self, relation: &Relation, keeps: impl Fn(usize) -> bool) -> bool {
        let asked = relation.invariant.iter().enumerate().filter(|&(at, _)| keeps(at));
        asked.into_iter().all(|(_, part)| self.holds(relation, &part.formula, &[]))
    }

    /// The first action, with its parameters, that leads from this structure to another.
    #[must_use]
    pub fn step_to(&self, relation: &Relation, after: &Structure) -> Option<Step> {
        let keeps = |at: usize| match relation.symbols[at].kind {
            Kind::Message => self.shrinks(after, at),
            Kind::State | Kind::Rigid => self.tables[at] == after.tables[at],
        };
        let kept: Vec<bool> = (0..relation.symbols.len()).map(keeps).collect();
        let found = |(at, action): (usize, &Action)| {
            let named = |symbol: usize| relation.change(action, symbol).is_some();
            if !(0..kept.len()).all(|symbol| kept[symbol] || named(symbol)) {
                return None;
            }
            let sorts: Vec<usize> = action.params.iter().map(|&(_, sort)| sort).collect();
            let leads = |params: &Vec<i64>| self.is_step(relation, action, params, after);
            self.each(&sorts).find(leads).map(|params| Step { action: at, params })
        };
        relation.actions.iter().enumerate().find_map(found)
    }

    /// Whether an action with these parameters leads from this structure to another.
    #[must_use]
    pub fn is_step(
        &self,
        relation: &Relation,
        action: &Action,
        params: &[i64],
        after: &Structure,
    ) -> bool {
        self.sizes == after.sizes
            && self.holds(relation, &action.when, params)
            && (0..relation.symbols.len())
                .all(|symbol| self.becomes(relation, action, params, symbol, after))
    }

    /// Whether a symbol afterwards is what the action makes of it.
    fn becomes(
        &self,
        relation: &Relation,
        action: &Action,
        params: &[i64],
        at: usize,
        after: &Structure,
    ) -> bool {
        let symbol = &relation.symbols[at];
        let message = symbol.kind == Kind::Message;
        let Some(change) = relation.change(action, at) else {
            return if message {
                self.shrinks(after, at)
            } else {
                self.tables[at] == after.tables[at]
            };
        };
        let mut vars = params.to_vec();
        self.each(&symbol.args).enumerate().all(|(place, args)| {
            vars.truncate(params.len());
            vars.extend(args);
            let (old, new) = (self.tables[at][place], after.tables[at][place]);
            if message {
                new <= old || self.value(relation, &change.to, &mut vars) != 0
            } else {
                new == self.value(relation, &change.to, &mut vars)
            }
        })
    }

    /// Whether a predicate afterwards holds of nothing else.
    fn shrinks(&self, after: &Structure, symbol: usize) -> bool {
        self.tables[symbol].iter().zip(&after.tables[symbol]).all(|(old, new)| new <= old)
    }

    /// What follows if an action with these parameters happens, and nothing is lost.
    #[must_use]
    pub fn after(&self, relation: &Relation, action: &Action, params: &[i64]) -> Structure {
        let mut after = self.clone();
        for change in &action.changes {
            let symbol = &relation.symbols[change.symbol];
            for (place, args) in self.each(&symbol.args).enumerate() {
                let mut vars = [params, &args].concat();
                let value = self.value(relation, &change.to, &mut vars);
                let old = self.tables[change.symbol][place];
                after.tables[change.symbol][place] =
                    if symbol.kind == Kind::Message { value | old } else { value };
            }
        }
        after
    }
}

/// What is true of one state of a model, in the words of a relation. Things are called by numbers;
/// of an ordered sort, a higher number is above.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    facts: Vec<(&'static str, Vec<u64>, Value)>,
}

#[derive(Clone, Copy, Debug)]
enum Value {
    True,
    Thing(u64),
    Number(i64),
}

impl Picture {
    /// A predicate holds. What is not said does not.
    pub fn holds(&mut self, symbol: &'static str, args: &[u64]) {
        self.facts.push((symbol, args.to_vec(), Value::True));
    }

    /// A function gives a thing. It has to be said for all arguments.
    pub fn is(&mut self, symbol: &'static str, args: &[u64], thing: u64) {
        self.facts.push((symbol, args.to_vec(), Value::Thing(thing)));
    }

    /// What held of these symbols in an earlier state holds of them still.
    pub fn remember(&mut self, earlier: &Picture, symbols: &[&str]) {
        let known = earlier.facts.iter().filter(|(symbol, ..)| symbols.contains(symbol));
        self.facts.extend(known.cloned());
    }

    /// A function gives a number.
    pub fn counts(&mut self, symbol: &'static str, args: &[u64], number: i64) {
        self.facts.push((symbol, args.to_vec(), Value::Number(number)));
    }
}

impl Relation {
    /// These pictures as structures of the same things: all that one of them speaks of.
    ///
    /// # Panics
    /// If a picture speaks of a symbol that there is not.
    #[must_use]
    pub fn structures<const N: usize>(&self, pictures: [&Picture; N]) -> [Structure; N] {
        let known = |name: &str| self.symbol(name).unwrap_or_else(|| panic!("no symbol '{name}'"));
        let mut things: Vec<BTreeSet<u64>> = vec![BTreeSet::new(); self.sorts.len()];
        for (name, args, value) in pictures.iter().flat_map(|picture| &picture.facts) {
            let symbol = &self.symbols[known(name)];
            for (&sort, &arg) in symbol.args.iter().zip(args) {
                things[sort].insert(arg);
            }
            if let (Sort::Of(sort), Value::Thing(thing)) = (symbol.result, *value) {
                things[sort].insert(thing);
            }
        }
        let places: Vec<BTreeMap<u64, i64>> =
            things.into_iter().map(|all| all.into_iter().zip(0..).collect()).collect();
        let sizes: Vec<usize> = places.iter().map(|all| all.len().max(1)).collect();
        pictures.map(|picture| {
            let mut structure = Structure::empty(self, sizes.clone());
            for (name, args, value) in &picture.facts {
                let at = known(name);
                let symbol = &self.symbols[at];
                let args: Vec<i64> =
                    symbol.args.iter().zip(args).map(|(&sort, arg)| places[sort][arg]).collect();
                let place = structure.place(self, at, &args);
                structure.tables[at][place] = match (*value, symbol.result) {
                    (Value::True, _) => 1,
                    (Value::Number(number), _) => number,
                    (Value::Thing(thing), Sort::Of(sort)) => places[sort][&thing],
                    (Value::Thing(_), _) => panic!("'{name}' gives no thing"),
                };
            }
            structure
        })
    }
}
