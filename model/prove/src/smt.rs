//! Relations as SMT-LIB text.
//!
//! A question is put in one of two ways. With quantifiers over sorts of any size, *unsat* is a
//! proof. Over so many things of each sort, with every quantifier written out, it needs no
//! quantifiers, so every solver decides it, and finds a structure if there is one.

use super::relation::{Action, Expr, Kind, Relation, Sort};
use super::sexp::Sexp;
use super::structure::Structure;
use std::fmt::Write;

/// Which of the two states of a step is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    Before,
    After,
}

/// Writes formulas over a relation.
#[derive(Clone, Copy)]
pub(super) struct Writer<'r> {
    relation: &'r Relation,
    /// How many things there are of each sort, if that is fixed.
    sizes: Option<&'r [usize]>,
}

impl<'r> Writer<'r> {
    pub(super) fn new(relation: &'r Relation, sizes: Option<&'r [usize]>) -> Writer<'r> {
        Writer { relation, sizes }
    }

    fn thing(&self, sort: usize, place: usize) -> String {
        format!("{}{}", self.relation.sorts[sort].letter, place + 1)
    }

    fn order(&self, sort: usize) -> String {
        format!("at-most.{}", self.relation.sorts[sort].name)
    }

    fn sort(&self, sort: Sort) -> &'r str {
        match sort {
            Sort::Truth => "Bool",
            Sort::Number => "Int",
            Sort::Of(sort) => &self.relation.sorts[sort].name,
        }
    }

    fn symbol(&self, at: usize, when: When) -> String {
        let symbol = &self.relation.symbols[at];
        match (symbol.kind, when) {
            (Kind::Rigid, _) | (_, When::Before) => symbol.name.clone(),
            (_, When::After) => format!("{}.after", symbol.name),
        }
    }

    /// The sorts, the symbols, the orders and the axioms.
    pub(super) fn declarations(&self) -> String {
        let relation = self.relation;
        let mut out = String::new();
        for (at, row) in relation.sorts.iter().enumerate() {
            let _ = writeln!(out, "(declare-sort {} 0)", row.name);
            if let Some(sizes) = self.sizes {
                let things: Vec<_> = (0..sizes[at]).map(|place| self.thing(at, place)).collect();
                for thing in &things {
                    let _ = writeln!(out, "(declare-fun {thing} () {})", row.name);
                }
                if things.len() > 1 {
                    let _ = writeln!(out, "(assert (distinct {}))", things.join(" "));
                }
            }
            if row.ordered {
                self.declare_order(at, &mut out);
            }
        }
        for (at, symbol) in relation.symbols.iter().enumerate() {
            let both: &[When] = match symbol.kind {
                Kind::Rigid => &[When::Before],
                Kind::State | Kind::Message => &[When::Before, When::After],
            };
            for &when in both {
                let args: Vec<_> =
                    symbol.args.iter().map(|&sort| self.sort(Sort::Of(sort))).collect();
                let (name, result) = (self.symbol(at, when), self.sort(symbol.result));
                let _ = writeln!(out, "(declare-fun {name} ({}) {result})", args.join(" "));
                self.close(at, when, &mut out);
            }
        }
        for axiom in &relation.axioms {
            let _ = writeln!(out, "(assert {})", self.formula(&axiom.formula, When::Before));
        }
        out
    }

    /// Of so many things the first is the lowest; otherwise the order is a total one.
    fn declare_order(&self, sort: usize, out: &mut String) {
        let (order, name) = (self.order(sort), self.sort(Sort::Of(sort)));
        let _ = writeln!(out, "(declare-fun {order} ({name} {name}) Bool)");
        let Some(sizes) = self.sizes else {
            let ab = format!("((a {name}) (b {name}))");
            let _ = writeln!(out, "(assert (forall {ab} (or ({order} a b) ({order} b a))))");
            let both = format!("(and ({order} a b) ({order} b a))");
            let _ = writeln!(out, "(assert (forall {ab} (=> {both} (= a b))))");
            let abc = format!("((a {name}) (b {name}) (c {name}))");
            let chain = format!("(and ({order} a b) ({order} b c))");
            let _ = writeln!(out, "(assert (forall {abc} (=> {chain} ({order} a c))))");
            return;
        };
        for a in 0..sizes[sort] {
            for b in 0..sizes[sort] {
                let pair = format!("({order} {} {})", self.thing(sort, a), self.thing(sort, b));
                let fact = if a <= b { pair } else { format!("(not {pair})") };
                let _ = writeln!(out, "(assert {fact})");
            }
        }
    }

    /// A function gives one of the things that there are.
    fn close(&self, at: usize, when: When, out: &mut String) {
        let symbol = &self.relation.symbols[at];
        let (Some(sizes), Sort::Of(sort)) = (self.sizes, symbol.result) else { return };
        for args in self.written_out(&symbol.args) {
            let term = applied(&self.symbol(at, when), &args);
            let _ = writeln!(out, "(assert {})", self.among(&term, sort, sizes));
        }
    }

    fn among(&self, term: &str, sort: usize, sizes: &[usize]) -> String {
        let one = |place| format!("(= {term} {})", self.thing(sort, place));
        format!("(or {})", (0..sizes[sort]).map(one).collect::<Vec<_>>().join(" "))
    }

    /// The names of all things, or lists of things, of these sorts.
    fn written_out(&self, sorts: &[usize]) -> Vec<Vec<String>> {
        let sizes = self.sizes.unwrap_or_default();
        sorts.iter().fold(vec![Vec::new()], |lists: Vec<Vec<String>>, &sort| {
            let longer = |list: Vec<String>| {
                (0..sizes[sort]).map(move |place| {
                    let thing = std::iter::once(self.thing(sort, place));
                    list.iter().cloned().chain(thing).collect()
                })
            };
            lists.into_iter().flat_map(longer).collect()
        })
    }

    /// A formula without variables around it.
    pub(super) fn formula(&self, formula: &Expr, when: When) -> String {
        self.expr(formula, when, &mut Vec::new())
    }

    /// The parameter of an action is a constant of this name.
    fn param(name: &str) -> String {
        format!("the.{name}")
    }

    /// The parameters of an action as constants, its guard, and what it makes of the state.
    pub(super) fn step(&self, action: &Action) -> String {
        let mut out = String::new();
        for (name, sort) in &action.params {
            let (name, row) = (Self::param(name), self.sort(Sort::Of(*sort)));
            let _ = writeln!(out, "(declare-fun {name} () {row})");
            if let Some(sizes) = self.sizes {
                let _ = writeln!(out, "(assert {})", self.among(&name, *sort, sizes));
            }
        }
        let mut params: Vec<String> =
            action.params.iter().map(|(name, _)| Self::param(name)).collect();
        let when = self.expr(&action.when, When::Before, &mut params);
        let _ = writeln!(out, "(assert {when})");
        for at in self.relation.state() {
            let _ = writeln!(out, "(assert {})", self.becomes(action, at, &mut params));
        }
        out
    }

    /// What the action makes of a symbol.
    fn becomes(&self, action: &Action, at: usize, params: &mut Vec<String>) -> String {
        let symbol = &self.relation.symbols[at];
        let change = self.relation.change(action, at);
        self.each(true, &symbol.args, params, &mut |writer, vars| {
            let args = &vars[action.params.len()..];
            let old = applied(&writer.symbol(at, When::Before), args);
            let new = applied(&writer.symbol(at, When::After), args);
            let to = change.map(|change| writer.expr(&change.to, When::Before, vars));
            match (symbol.kind, to) {
                (Kind::Message, None) => format!("(=> {new} {old})"),
                (Kind::Message, Some(sent)) => format!("(=> {new} (or {old} {sent}))"),
                (_, None) => format!("(= {new} {old})"),
                (_, Some(to)) => format!("(= {new} {to})"),
            }
        })
    }

    fn each(
        &self,
        every: bool,
        sorts: &[usize],
        vars: &mut Vec<String>,
        body: &mut dyn FnMut(&Writer<'r>, &mut Vec<String>) -> String,
    ) -> String {
        let around = vars.len();
        if sorts.is_empty() {
            return body(self, vars);
        }
        if self.sizes.is_some() {
            let one = |things: Vec<String>| {
                vars.extend(things);
                let text = body(self, vars);
                vars.truncate(around);
                text
            };
            let all: Vec<String> = self.written_out(sorts).into_iter().map(one).collect();
            return format!("({} {})", if every { "and" } else { "or" }, all.join(" "));
        }
        let names: Vec<String> =
            (around..around + sorts.len()).map(|at| format!("x{at}")).collect();
        let bound: Vec<String> = names
            .iter()
            .zip(sorts)
            .map(|(name, &sort)| format!("({name} {})", self.sort(Sort::Of(sort))))
            .collect();
        vars.extend(names);
        let text = body(self, vars);
        vars.truncate(around);
        format!("({} ({}) {text})", if every { "forall" } else { "exists" }, bound.join(" "))
    }

    fn expr(&self, expr: &Expr, when: When, vars: &mut Vec<String>) -> String {
        let mut of = |expr: &Expr| self.expr(expr, when, vars);
        match expr {
            Expr::Truth(truth) => truth.to_string(),
            Expr::Number(number) if *number < 0 => format!("(- {})", number.unsigned_abs()),
            Expr::Number(number) => number.to_string(),
            Expr::Var(at) => vars[*at].clone(),
            Expr::Of(symbol, args) => {
                let args: Vec<_> = args.iter().map(of).collect();
                applied(&self.symbol(*symbol, when), &args)
            }
            Expr::Same(both) => format!("(= {} {})", of(&both[0]), of(&both[1])),
            Expr::AtMost(sort, both) => {
                let order = match sort {
                    Sort::Of(sort) => self.order(*sort),
                    Sort::Truth | Sort::Number => "<=".to_owned(),
                };
                format!("({order} {} {})", of(&both[0]), of(&both[1]))
            }
            Expr::Sum(both) => format!("(+ {} {})", of(&both[0]), of(&both[1])),
            Expr::Difference(both) => format!("(- {} {})", of(&both[0]), of(&both[1])),
            Expr::Not(inner) => format!("(not {})", of(inner)),
            Expr::All(all) => joined("and", "true", all.iter().map(of).collect()),
            Expr::Any(any) => joined("or", "false", any.iter().map(of).collect()),
            Expr::If(three) => {
                format!("(ite {} {} {})", of(&three[0]), of(&three[1]), of(&three[2]))
            }
            Expr::Each(every, sorts, body) => {
                self.each(*every, sorts, vars, &mut |writer, vars| writer.expr(body, when, vars))
            }
        }
    }

    /// The terms of which the values are the structures before and after, and the parameters.
    pub(super) fn values(&self, action: Option<&Action>) -> Vec<String> {
        let mut terms = Vec::new();
        for when in [When::Before, When::After] {
            for (at, symbol) in self.relation.symbols.iter().enumerate() {
                for args in self.written_out(&symbol.args) {
                    let term = applied(&self.symbol(at, when), &args);
                    terms.extend(self.asked(symbol.result, term));
                }
            }
        }
        for (name, sort) in action.iter().flat_map(|action| &action.params) {
            terms.extend(self.asked(Sort::Of(*sort), Self::param(name)));
        }
        terms
    }

    /// What is asked for the value of a term: of a thing, whether it is each of those that there
    /// are.
    fn asked(&self, sort: Sort, term: String) -> Vec<String> {
        let (Some(sizes), Sort::Of(sort)) = (self.sizes, sort) else { return vec![term] };
        (0..sizes[sort]).map(|at| format!("(= {term} {})", self.thing(sort, at))).collect()
    }

    /// The structures and the parameters that a solver's values tell of, in the order in which
    /// [`values`](Writer::values) asks for them.
    pub(super) fn read(
        &self,
        action: Option<&Action>,
        answer: &Sexp,
    ) -> Result<(Structure, Structure, Vec<i64>), String> {
        let sizes = self.sizes.ok_or("the sizes are open")?;
        let mut values = answer.list()?.iter().map(|pair| match pair.list()? {
            [_, value] => number(value),
            _ => Err("a value is a pair".to_owned()),
        });
        let mut next = |sort: Sort| -> Result<i64, String> {
            let mut one = || values.next().ok_or("values are missing")?;
            let Sort::Of(sort) = sort else { return one() };
            let is: Vec<i64> = (0..sizes[sort]).map(|_| one()).collect::<Result<_, _>>()?;
            let place = is.iter().position(|&is| is == 1).ok_or("no such thing")?;
            i64::try_from(place).map_err(|error| error.to_string())
        };
        let mut both = Vec::new();
        for _ in 0..2 {
            let mut structure = Structure::empty(self.relation, sizes.to_vec());
            for (symbol, table) in self.relation.symbols.iter().zip(&mut structure.tables) {
                for value in table.iter_mut() {
                    *value = next(symbol.result)?;
                }
            }
            both.push(structure);
        }
        let params = action.iter().flat_map(|action| &action.params);
        let params = params.map(|&(_, sort)| next(Sort::Of(sort))).collect::<Result<_, _>>()?;
        let (after, before) = (both.pop(), both.pop());
        Ok((before.ok_or("no structure")?, after.ok_or("no structure")?, params))
    }
}

/// A value: a number, or 1 and 0 for true and false.
fn number(value: &Sexp) -> Result<i64, String> {
    if let Ok([minus, number]) = <&[Sexp; 2]>::try_from(value.list().unwrap_or_default())
        && minus.word()? == "-"
    {
        return self::number(number).map(|number| -number);
    }
    match value.word()? {
        "true" => Ok(1),
        "false" => Ok(0),
        word => word.parse().map_err(|_| format!("'{word}' is no value")),
    }
}

fn applied(name: &str, args: &[String]) -> String {
    if args.is_empty() { name.to_owned() } else { format!("({name} {})", args.join(" ")) }
}

fn joined(name: &str, none: &str, mut all: Vec<String>) -> String {
    match all.len() {
        0 => none.to_owned(),
        1 => all.remove(0),
        _ => format!("({name} {})", all.join(" ")),
    }
}
