//! States and steps of a relation in words.

use super::obligation::Shown;
use super::relation::{Kind, Relation, Sort};
use super::structure::Structure;

/// The name of a thing, or a number.
fn name(relation: &Relation, sort: Sort, value: i64) -> String {
    match sort {
        Sort::Of(sort) => format!("{}{}", relation.sorts[sort].letter, value + 1),
        Sort::Truth | Sort::Number => value.to_string(),
    }
}

/// What a symbol gives, in words: where it holds, or its value for each argument.
fn told(relation: &Relation, structure: &Structure, at: usize) -> String {
    let symbol = &relation.symbols[at];
    let row = |(place, args): (usize, Vec<i64>)| {
        let args = args.iter().zip(&symbol.args);
        let args: Vec<_> = args.map(|(&arg, &sort)| name(relation, Sort::Of(sort), arg)).collect();
        let value = structure.tables[at][place];
        match (symbol.result, args.join(" ")) {
            (Sort::Truth, _) if value == 0 => None,
            (Sort::Truth, args) if symbol.args.is_empty() => Some(format!("yes{args}")),
            (Sort::Truth, args) if symbol.args.len() == 1 => Some(args),
            (Sort::Truth, args) => Some(format!("({args})")),
            (sort, args) if args.is_empty() => Some(name(relation, sort, value)),
            (sort, args) => Some(format!("{args}: {}", name(relation, sort, value))),
        }
    };
    let rows: Vec<_> = structure.each(&symbol.args).enumerate().filter_map(row).collect();
    let between = if symbol.result == Sort::Truth { " " } else { ", " };
    if rows.is_empty() { "-".to_owned() } else { rows.join(between) }
}

/// A row for each symbol: its name, and what it gives before and after; of what cannot change,
/// once.
#[must_use]
pub fn pair(
    relation: &Relation,
    before: &Structure,
    after: Option<&Structure>,
) -> Vec<(String, String, Option<String>)> {
    let row = |(at, symbol): (usize, &super::relation::Symbol)| {
        let changes = symbol.kind != Kind::Rigid;
        let after = after.filter(|_| changes).map(|after| told(relation, after, at));
        (symbol.name.clone(), told(relation, before, at), after)
    };
    relation.symbols.iter().enumerate().map(row).collect()
}

/// The step in words: the action with its parameters.
#[must_use]
pub fn step_words(relation: &Relation, shown: &Shown) -> Option<String> {
    let (action, params, _) = shown.step.as_ref()?;
    let action = &relation.actions[*action];
    let given = action.params.iter().zip(params).map(|((param, sort), &value)| {
        format!("{param} = {}", name(relation, Sort::Of(*sort), value))
    });
    let given: Vec<_> = given.collect();
    Some(match given.is_empty() {
        true => action.name.clone(),
        false => format!("{}, {}", action.name, given.join(", ")),
    })
}
