//! A transition relation in many-sorted first-order logic: what a solver is asked, and what
//! transitions of a model are compared with.
//!
//! Its text is a list of declarations; [`parse`](Relation::parse) reads it. A *sort* is a set of
//! things, such as processes or terms. A *rigid* symbol does not change; a *state* symbol is a
//! part of the state; a *message* symbol is one as well, but what it holds of may be lost at any
//! step. An *action* has parameters, may happen when its guard holds, and sets what it names. What
//! it does not name stays as it is.

mod parse;

/// The sort of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// True or false.
    Truth,
    /// A whole number.
    Number,
    /// A thing of the sort with this place among the [sorts](Relation::sorts).
    Of(usize),
}

/// A set of things.
#[derive(Clone, Debug)]
pub struct SortRow {
    /// What it is called.
    pub name: String,
    /// What its elements are called, with a number behind: `p` as in `p1`.
    pub letter: String,
    /// Whether there is a total order on it.
    pub ordered: bool,
}

/// How a symbol changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Never.
    Rigid,
    /// An action says how, or it stays.
    State,
    /// An action adds to it, and any step may take from it.
    Message,
}

/// A function or a predicate.
#[derive(Clone, Debug)]
pub struct Symbol {
    /// What it is called.
    pub name: String,
    /// The places of the sorts of its arguments.
    pub args: Vec<usize>,
    /// What it gives.
    pub result: Sort,
    /// How it changes.
    pub kind: Kind,
}

/// A term or a formula. Variables are places in the list of all variables around it.
#[derive(Clone, Debug)]
pub enum Expr {
    /// True or false.
    Truth(bool),
    /// A number.
    Number(i64),
    /// A variable.
    Var(usize),
    /// A symbol with its arguments.
    Of(usize, Vec<Expr>),
    /// Both are the same.
    Same(Box<[Expr; 2]>),
    /// The first is not above the second, in the order of this sort.
    AtMost(Sort, Box<[Expr; 2]>),
    /// The sum.
    Sum(Box<[Expr; 2]>),
    /// The difference.
    Difference(Box<[Expr; 2]>),
    /// It does not hold.
    Not(Box<Expr>),
    /// All hold.
    All(Vec<Expr>),
    /// One holds.
    Any(Vec<Expr>),
    /// If the first holds the second, otherwise the third.
    If(Box<[Expr; 3]>),
    /// It holds for every one (`true`), or for some one, of these sorts.
    Each(bool, Vec<usize>, Box<Expr>),
}

/// A formula with a name.
#[derive(Clone, Debug)]
pub struct Named {
    /// What it is called.
    pub name: String,
    /// What it says, in words.
    pub words: String,
    /// The formula.
    pub formula: Expr,
}

/// What an action makes of a symbol.
#[derive(Clone, Debug)]
pub struct Change {
    /// The symbol.
    pub symbol: usize,
    /// Of a state symbol, its next value at the arguments, which are variables behind the
    /// parameters; of a message symbol, whether this is sent.
    pub to: Expr,
}

/// Something that can happen.
#[derive(Clone, Debug)]
pub struct Action {
    /// What it is called.
    pub name: String,
    /// What it is, in words.
    pub words: String,
    /// The names of its parameters, and the places of their sorts.
    pub params: Vec<(String, usize)>,
    /// When it can happen.
    pub when: Expr,
    /// What it changes.
    pub changes: Vec<Change>,
}

/// A transition relation with an invariant, and the properties that follow from it.
#[derive(Clone, Debug)]
pub struct Relation {
    /// The sorts.
    pub sorts: Vec<SortRow>,
    /// The symbols.
    pub symbols: Vec<Symbol>,
    /// What is assumed of the rigid symbols.
    pub axioms: Vec<Named>,
    /// What holds at the beginning.
    pub init: Expr,
    /// What can happen.
    pub actions: Vec<Action>,
    /// The parts of the invariant.
    pub invariant: Vec<Named>,
    /// What is proved.
    pub properties: Vec<Named>,
}

impl Relation {
    /// The place of a symbol.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<usize> {
        self.symbols.iter().position(|symbol| symbol.name == name)
    }

    /// The same with these actions only.
    #[must_use]
    pub fn with_actions(mut self, keeps: impl Fn(&str) -> bool) -> Relation {
        self.actions.retain(|action| keeps(&action.name));
        self
    }

    /// The change that an action makes of a symbol.
    pub(super) fn change<'a>(&self, action: &'a Action, symbol: usize) -> Option<&'a Change> {
        action.changes.iter().find(|change| change.symbol == symbol)
    }

    /// The places of the symbols that are part of a state.
    pub(super) fn state(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.symbols.len()).filter(|&at| self.symbols[at].kind != Kind::Rigid)
    }
}

impl Expr {
    /// Whether it speaks of a symbol.
    #[must_use]
    pub fn mentions(&self, symbol: usize) -> bool {
        let of = |expr: &Expr| expr.mentions(symbol);
        match self {
            Expr::Truth(_) | Expr::Number(_) | Expr::Var(_) => false,
            Expr::Of(at, args) => *at == symbol || args.iter().any(of),
            Expr::Same(both) | Expr::AtMost(_, both) | Expr::Sum(both) | Expr::Difference(both) => {
                both.iter().any(of)
            }
            Expr::Not(inner) | Expr::Each(_, _, inner) => of(inner),
            Expr::All(all) | Expr::Any(all) => all.iter().any(of),
            Expr::If(three) => three.iter().any(of),
        }
    }

    /// The opposite.
    #[must_use]
    pub fn negated(self) -> Expr {
        Expr::Not(Box::new(self))
    }
}
