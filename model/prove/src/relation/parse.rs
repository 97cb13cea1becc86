//! Reads the text of a relation, and refuses what is not well-sorted.

use super::{Action, Change, Expr, Kind, Named, Relation, Sort, SortRow, Symbol};
use crate::sexp::Sexp;

/// The variables around a term, with their sorts.
type Scope = Vec<(String, Sort)>;

type Read<T> = Result<T, String>;

impl Relation {
    /// Reads a relation. In the text, each of these words stands for another.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str, words: &[(&str, &str)]) -> Result<Relation, String> {
        let text = words.iter().fold(text.to_owned(), |text, (word, is)| text.replace(word, is));
        let mut relation = Relation {
            sorts: Vec::new(),
            symbols: Vec::new(),
            axioms: Vec::new(),
            init: Expr::Truth(true),
            actions: Vec::new(),
            invariant: Vec::new(),
            properties: Vec::new(),
        };
        for declaration in Sexp::read(&text)? {
            relation.declare(declaration.list()?).map_err(|wrong| {
                let begin: String = format!("{declaration:?}").chars().take(160).collect();
                format!("{wrong} in {begin}")
            })?;
        }
        Ok(relation)
    }

    fn declare(&mut self, declaration: &[Sexp]) -> Read<()> {
        let [kind, rest @ ..] = declaration else { return Err("nothing is declared".to_owned()) };
        match (kind.word()?, rest) {
            ("sort", [name, letter, order @ ..]) => self.sorts.push(SortRow {
                name: name.word()?.to_owned(),
                letter: letter.word()?.to_owned(),
                ordered: !order.is_empty(),
            }),
            (kind @ ("rigid" | "state" | "message"), [name, args, result]) => {
                let args = args.list()?.iter().map(|sort| self.named_sort(sort));
                let (args, result) = (args.collect::<Read<_>>()?, self.sort(result)?);
                let kind = match kind {
                    "rigid" => Kind::Rigid,
                    "state" => Kind::State,
                    _ if result != Sort::Truth => return Err("a message is true or not".into()),
                    _ => Kind::Message,
                };
                self.symbols.push(Symbol { name: name.word()?.to_owned(), args, result, kind });
            }
            ("axiom", [name, words, formula]) => {
                let axiom = self.named(name, words, formula)?;
                self.axioms.push(axiom);
            }
            ("init", [formula]) => self.init = self.formula(formula, &mut Vec::new())?,
            ("invariant", [name, words, formula]) => {
                let part = self.named(name, words, formula)?;
                self.invariant.push(part);
            }
            ("property", [name, words, formula]) => {
                let property = self.named(name, words, formula)?;
                self.properties.push(property);
            }
            ("action", [name, params, words, when, changes @ ..]) => {
                let action = self.action(name, params, words, when, changes)?;
                self.actions.push(action);
            }
            (kind, _) => return Err(format!("'{kind}' is not declared like this")),
        }
        Ok(())
    }

    fn named(&self, name: &Sexp, words: &Sexp, formula: &Sexp) -> Read<Named> {
        let (name, words) = (name.word()?.to_owned(), words.text()?.to_owned());
        Ok(Named { name, words, formula: self.formula(formula, &mut Vec::new())? })
    }

    fn action(
        &self,
        name: &Sexp,
        params: &Sexp,
        words: &Sexp,
        when: &Sexp,
        changes: &[Sexp],
    ) -> Read<Action> {
        let mut scope = self.variables(params)?;
        let sorts = |scope: &Scope| {
            let param = |(name, sort): &(String, Sort)| match sort {
                Sort::Of(sort) => Ok((name.clone(), *sort)),
                _ => Err("a parameter is of a declared sort".to_owned()),
            };
            scope.iter().map(param).collect::<Read<Vec<_>>>()
        };
        let params = sorts(&scope)?;
        let [head, guard] = when.list()? else { return Err("when what?".to_owned()) };
        if head.word()? != "when" {
            return Err("an action begins with (when FORMULA)".to_owned());
        }
        let when = self.formula(guard, &mut scope)?;
        let changes = changes.iter().map(|change| self.one_change(change, &mut scope));
        Ok(Action {
            name: name.word()?.to_owned(),
            words: words.text()?.to_owned(),
            params,
            when,
            changes: changes.collect::<Read<_>>()?,
        })
    }

    /// `(set (symbol x y) term)` or `(send (symbol x y) formula)`.
    fn one_change(&self, change: &Sexp, scope: &mut Scope) -> Read<Change> {
        let [verb, place, to] = change.list()? else { return Err("what is set?".to_owned()) };
        let [name, vars @ ..] = place.list()? else { return Err("what is set?".to_owned()) };
        let at = self.symbol(name.word()?).ok_or_else(|| format!("no symbol {name:?}"))?;
        let symbol = &self.symbols[at];
        let verb_of = if symbol.kind == Kind::Message { "send" } else { "set" };
        if verb.word()? != verb_of || symbol.kind == Kind::Rigid || vars.len() != symbol.args.len()
        {
            return Err(format!("'{}' is not changed like this", symbol.name));
        }
        let around = scope.len();
        for (var, &sort) in vars.iter().zip(&symbol.args) {
            scope.push((var.word()?.to_owned(), Sort::Of(sort)));
        }
        let (to, sort) = self.expr(to, scope)?;
        scope.truncate(around);
        if sort != symbol.result {
            return Err(format!("'{}' is set to something of another sort", symbol.name));
        }
        Ok(Change { symbol: at, to })
    }

    fn variables(&self, list: &Sexp) -> Read<Scope> {
        let one = |var: &Sexp| match var.list()? {
            [name, sort] => Ok((name.word()?.to_owned(), Sort::Of(self.named_sort(sort)?))),
            _ => Err("a variable is (name sort)".to_owned()),
        };
        list.list()?.iter().map(one).collect()
    }

    fn named_sort(&self, sort: &Sexp) -> Read<usize> {
        let name = sort.word()?;
        let found = self.sorts.iter().position(|row| row.name == name);
        found.ok_or_else(|| format!("no sort '{name}'"))
    }

    fn sort(&self, sort: &Sexp) -> Read<Sort> {
        match sort.word()? {
            "Bool" => Ok(Sort::Truth),
            "Int" => Ok(Sort::Number),
            _ => self.named_sort(sort).map(Sort::Of),
        }
    }

    fn formula(&self, text: &Sexp, scope: &mut Scope) -> Read<Expr> {
        match self.expr(text, scope)? {
            (expr, Sort::Truth) => Ok(expr),
            _ => Err(format!("{text:?} is no formula")),
        }
    }

    fn expr(&self, text: &Sexp, scope: &mut Scope) -> Read<(Expr, Sort)> {
        match text {
            Sexp::Word(word) => self.word(word, scope),
            Sexp::Text(text) => Err(format!("\"{text}\" is no term")),
            Sexp::List(list) => match &list[..] {
                [] => Err("() is no term".to_owned()),
                [head, args @ ..] => self.applied(head.word()?, args, scope),
            },
        }
    }

    fn word(&self, word: &str, scope: &Scope) -> Read<(Expr, Sort)> {
        if let Some(at) = scope.iter().rposition(|(name, _)| name == word) {
            return Ok((Expr::Var(at), scope[at].1));
        }
        match word {
            "true" => Ok((Expr::Truth(true), Sort::Truth)),
            "false" => Ok((Expr::Truth(false), Sort::Truth)),
            _ => match word.parse() {
                Ok(number) => Ok((Expr::Number(number), Sort::Number)),
                Err(_) => self.symbol_of(word, Vec::new()),
            },
        }
    }

    fn symbol_of(&self, name: &str, args: Vec<(Expr, Sort)>) -> Read<(Expr, Sort)> {
        let at = self.symbol(name).ok_or_else(|| format!("no symbol '{name}'"))?;
        let symbol = &self.symbols[at];
        let sorts: Vec<_> = symbol.args.iter().map(|&sort| Sort::Of(sort)).collect();
        if args.iter().map(|&(_, sort)| sort).ne(sorts) {
            return Err(format!("'{name}' has other arguments"));
        }
        Ok((Expr::Of(at, args.into_iter().map(|(arg, _)| arg).collect()), symbol.result))
    }

    fn applied(&self, head: &str, args: &[Sexp], scope: &mut Scope) -> Read<(Expr, Sort)> {
        if let ("forall" | "exists", [vars, body]) = (head, args) {
            let around = scope.len();
            scope.extend(self.variables(vars)?);
            let sorts = scope[around..].iter().filter_map(|&(_, sort)| match sort {
                Sort::Of(sort) => Some(sort),
                _ => None,
            });
            let sorts = sorts.collect();
            let body = Box::new(self.formula(body, scope)?);
            scope.truncate(around);
            return Ok((Expr::Each(head == "forall", sorts, body), Sort::Truth));
        }
        let args: Vec<_> =
            args.iter().map(|arg| self.expr(arg, scope)).collect::<Read<Vec<_>>>()?;
        let truths = args.iter().all(|&(_, sort)| sort == Sort::Truth);
        let alike = args.windows(2).all(|two| two[0].1 == two[1].1);
        let of = args.first().map_or(Sort::Truth, |&(_, sort)| sort);
        let wrong = || Err(format!("({head} ...) does not fit its arguments"));
        let mut exprs: Vec<Expr> = args.iter().map(|(arg, _)| arg.clone()).collect();
        let two = |exprs: Vec<Expr>| <[Expr; 2]>::try_from(exprs).ok().map(Box::new);
        Ok(match head {
            "and" if truths => (Expr::All(exprs), Sort::Truth),
            "or" if truths => (Expr::Any(exprs), Sort::Truth),
            "not" if truths && exprs.len() == 1 => (exprs.remove(0).negated(), Sort::Truth),
            "=>" if truths && exprs.len() == 2 => {
                exprs[0] = exprs[0].clone().negated();
                (Expr::Any(exprs), Sort::Truth)
            }
            "=" | "<=" | "<" | "+" | "-" => match two(exprs) {
                Some(both) if alike => self.compared(head, of, both)?,
                _ => return wrong(),
            },
            "ite" => match <[Expr; 3]>::try_from(exprs) {
                Ok(all) if of == Sort::Truth && args[1].1 == args[2].1 => {
                    (Expr::If(Box::new(all)), args[1].1)
                }
                _ => return wrong(),
            },
            _ => return self.symbol_of(head, args),
        })
    }

    fn compared(&self, head: &str, of: Sort, both: Box<[Expr; 2]>) -> Read<(Expr, Sort)> {
        let ordered = match of {
            Sort::Number => true,
            Sort::Of(sort) => self.sorts[sort].ordered,
            Sort::Truth => false,
        };
        match head {
            "=" => Ok((Expr::Same(both), Sort::Truth)),
            "<=" if ordered => Ok((Expr::AtMost(of, both), Sort::Truth)),
            // Below is not at least.
            "<" if ordered => {
                let [a, b] = *both;
                Ok((Expr::AtMost(of, Box::new([b, a])).negated(), Sort::Truth))
            }
            "+" if of == Sort::Number => Ok((Expr::Sum(both), of)),
            "-" if of == Sort::Number => Ok((Expr::Difference(both), of)),
            _ => Err(format!("({head} ...) does not fit its arguments")),
        }
    }
}
