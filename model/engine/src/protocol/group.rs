//! The rules of each process of a group: the same, but for those that some processes have of their
//! own. Groups are uniform in the texts and mixed in the field.
//!
//! What is said of some processes alone begins with their ids: `2:prevote=none`, `1,2:guard=false`.
//! What is said of the whole group, such as which process is to be elected, or how properties read
//! what all have in common, follows from the usual rules.

use super::{Id, Protocol, RuleError, split_ids, with_rule};
use crate::words;
use serde_json::{Map, Value};

/// The rules of a group: those of most processes, and those that some have of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group<P> {
    usual: P,
    /// In the order of ids; none has the usual rules.
    own: Vec<(Id, P)>,
}

impl<P: Protocol> Group<P> {
    /// Returns the group in which every process has these rules.
    #[must_use]
    pub fn uniform(usual: P) -> Self {
        Group { usual, own: Vec::new() }
    }

    /// Returns the group by the rules `usual`, with single ones replaced: first those of all, then
    /// those of some processes alone.
    ///
    /// # Errors
    /// An unknown process, rule or value, or a rule that only the whole group has.
    pub fn of(usual: P, overrides: &[(String, String)]) -> Result<Self, RuleError> {
        let mut group = Group::uniform(usual);
        for of_all in [true, false] {
            for (rule, value) in overrides {
                if addressed(rule)?.0.is_empty() == of_all {
                    group = group.with(rule, value)?;
                }
            }
        }
        Ok(group)
    }

    /// Returns the same group with one rule replaced, in every process or in those that it names.
    ///
    /// # Errors
    /// As [`Group::of`].
    pub fn with(&self, rule: &str, value: &str) -> Result<Self, RuleError> {
        let (ids, rule) = addressed(rule)?;
        if ids.is_empty() {
            let replaced = |&(id, own): &(Id, P)| with_rule(own, rule, value).map(|own| (id, own));
            let own: Vec<_> = self.own.iter().map(replaced).collect::<Result<_, _>>()?;
            return Ok(Group { usual: with_rule(self.usual, rule, value)?, own }.tidy());
        }
        let mut own = self.own.clone();
        for id in ids {
            let rules = with_rule(*self.rules(id), rule, value)?;
            own.retain(|&(known, _)| known != id);
            own.push((id, rules));
        }
        may_differ::<P>(rule)?;
        Ok(Group { usual: self.usual, own }.tidy())
    }

    fn tidy(mut self) -> Self {
        self.own.retain(|(_, own)| *own != self.usual);
        self.own.sort_unstable_by_key(|&(id, _)| id);
        self
    }

    /// Returns the rules of most processes, and of the group.
    #[must_use]
    pub fn usual(&self) -> &P {
        &self.usual
    }

    /// Returns the rules of process `id`.
    #[inline]
    #[must_use]
    pub fn rules(&self, id: Id) -> &P {
        let own = self.own.iter().find(|&&(known, _)| known == id);
        own.map_or(&self.usual, |(_, own)| own)
    }

    /// Returns the processes that have rules of their own, and these, in the order of ids.
    pub fn own(&self) -> impl Iterator<Item = (Id, &P)> {
        self.own.iter().map(|(id, own)| (*id, own))
    }

    /// Returns whether some processes have rules of their own.
    #[inline]
    #[must_use]
    pub fn is_mixed(&self) -> bool {
        !self.own.is_empty()
    }

    /// Returns whether the rules of some of so many processes are so.
    pub fn any(&self, processes: usize, mut wanted: impl FnMut(&P) -> bool) -> bool {
        Id::all(processes).any(|id| wanted(self.rules(id)))
    }

    /// The single rules that processes have of their own, each called as it is given, and its
    /// value.
    fn differences(&self) -> impl Iterator<Item = (String, Value)> {
        let usual = fields(&self.usual);
        self.own.iter().flat_map(move |(id, own)| {
            let differ = |(rule, value): &(String, Value)| usual.get(rule) != Some(value);
            let differences = fields(own).into_iter().filter(differ).collect::<Vec<_>>();
            differences.into_iter().map(move |(rule, value)| (format!("{id}:{rule}"), value))
        })
    }

    /// Returns the name of the rules: the variant nearest to the usual ones, with the rules that
    /// differ.
    #[must_use]
    pub fn name(&self) -> String {
        let usual = super::variant_name(&self.usual);
        let own =
            self.differences().map(|(rule, value)| format!("{rule}={}", words::plain(&value)));
        let own: Vec<_> = own.collect();
        let with = if usual.contains(" with ") { ", " } else { " with " };
        if own.is_empty() { usual } else { format!("{usual}{with}{}", own.join(", ")) }
    }

    /// Returns the rules as JSON: the usual ones, and beside them each single one that a process
    /// has of its own, called as it is given.
    #[must_use]
    pub fn json(&self) -> Value {
        let mut all = fields(&self.usual);
        all.extend(self.differences());
        Value::Object(all)
    }

    /// Returns the group that this JSON stands for.
    ///
    /// # Errors
    /// If it stands for none.
    pub fn read(json: &Value) -> Result<Self, serde_json::Error> {
        use serde::de::Error;
        let Value::Object(all) = json else {
            return serde_json::from_value(json.clone()).map(Group::uniform);
        };
        let is_own = |(rule, _): &(&String, &Value)| rule.contains(':');
        let owned = |(rule, value): (&String, &Value)| (rule.clone(), value.clone());
        let usual = all.iter().filter(|field| !is_own(field)).map(owned).collect();
        let usual: P = serde_json::from_value(Value::Object(usual))?;
        let typed = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
        let own = all.iter().filter(is_own).map(|(rule, value)| (rule.clone(), typed(value)));
        Group::of(usual, &own.collect::<Vec<_>>()).map_err(serde_json::Error::custom)
    }
}

fn fields<P: Protocol>(rules: &P) -> Map<String, Value> {
    match serde_json::to_value(rules) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

fn addressed(rule: &str) -> Result<(Vec<Id>, &str), RuleError> {
    let wrong = |reason| RuleError::Process { rule: rule.to_owned(), reason };
    split_ids(rule).map_err(wrong)
}

/// Refuses a rule that only the whole group has.
fn may_differ<P: Protocol>(rule: &str) -> Result<(), RuleError> {
    let known = P::OPTIONS.own;
    if known.contains(&rule) {
        return Ok(());
    }
    let instead = match known {
        [] => "all its processes have the same rules".to_owned(),
        known => format!("each process may have its own of: {}", known.join(", ")),
    };
    Err(RuleError::OfAll { protocol: P::NAME, rule: rule.to_owned(), instead })
}
