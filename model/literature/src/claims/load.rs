//! Reads the ledger that is compiled in, and refuses entries that could mislead.

use super::assumption::{Assumption, Departure, Says, Standing};
use super::breach::one_link;
use super::demand::{Expectation, Word};
use super::entry::{Check, Claim, Source};
use super::ruling::Ruling;
use super::run;
use crate::entries::{self, EntryError};
use std::collections::BTreeSet;
use std::path::Path;

/// The ledger's files, in the order in which the texts are reported.
const FILES: [(&str, &str); 5] = [
    ("encyclopedia.toml", include_str!("../../claims/encyclopedia.toml")),
    ("clustering.toml", include_str!("../../claims/clustering.toml")),
    ("chapter.toml", include_str!("../../claims/chapter.toml")),
    ("lesson.toml", include_str!("../../claims/lesson.toml")),
    ("lecture.toml", include_str!("../../claims/lecture.toml")),
];

/// Every text with its claims.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// The texts.
    pub sources: Vec<Source>,
}

impl Ledger {
    /// The ledger that is compiled in.
    ///
    /// # Errors
    /// If a file cannot be read, or an entry makes no sense.
    pub fn load() -> Result<Ledger, EntryError> {
        Ledger::read(FILES)
    }

    /// The ledger in this folder, so that an entry can be tried before it is compiled in.
    ///
    /// # Errors
    /// If a file is missing or cannot be read, or an entry makes no sense.
    pub fn load_from(folder: &Path) -> Result<Ledger, EntryError> {
        let text = |(file, _): (&'static str, _)| Ok((file, entries::text(&folder.join(file))?));
        let texts = FILES.into_iter().map(text).collect::<Result<Vec<_>, EntryError>>()?;
        Ledger::read(texts.iter().map(|(file, text)| (*file, text.as_str())))
    }

    /// A ledger of these files, each with its name.
    ///
    /// # Errors
    /// If a file cannot be read, or an entry makes no sense.
    pub fn read<'a>(
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Ledger, EntryError> {
        let mut sources = Vec::new();
        let mut known = BTreeSet::new();
        for (file, text) in files {
            let mut source: Source = entries::parse(file, text)?;
            source.claims.sort_by_key(|claim| claim.number);
            for claim in &source.claims {
                let refuse = |wrong: String| {
                    EntryError::entry(file, format!("claim {}", claim.number), wrong)
                };
                if !known.insert(claim.number) {
                    return Err(refuse("the number is taken; give each claim its own".to_owned()));
                }
                sensible(&source, claim).map_err(refuse)?;
            }
            sources.push(source);
        }
        Ok(Ledger { sources })
    }

    /// Every claim, by number, with its text.
    #[must_use]
    pub fn claims(&self) -> Vec<(&Source, &Claim)> {
        let of = |source| move |claim| (source, claim);
        let mut all: Vec<(&Source, &Claim)> =
            self.sources.iter().flat_map(|s| s.claims.iter().map(of(s))).collect();
        all.sort_by_key(|(_, claim)| claim.number);
        all
    }

    /// The claims of these numbers and this source; all if neither is given.
    ///
    /// # Errors
    /// If there is no such claim or source.
    pub fn select(
        &self,
        numbers: &[u16],
        source: Option<&str>,
    ) -> Result<Vec<(&Source, &Claim)>, EntryError> {
        let mut all = self.claims();
        let ends = (all.first().map_or(0, |c| c.1.number), all.last().map_or(0, |c| c.1.number));
        if let Some(&number) = numbers.iter().find(|&&n| all.iter().all(|c| c.1.number != n)) {
            let (first, last) = ends;
            let wrong = format!("claim {number}; they are numbered {first} to {last}");
            return Err(EntryError::Unknown(wrong));
        }
        if let Some(name) = source.filter(|name| self.sources.iter().all(|s| s.name != *name)) {
            let known = self.sources.iter().map(|s| s.name.as_str()).collect::<Vec<_>>();
            let known = known.join(", ");
            return Err(EntryError::Unknown(format!("source '{name}'; there are: {known}")));
        }
        all.retain(|(from, claim)| {
            (numbers.is_empty() || numbers.contains(&claim.number))
                && source.is_none_or(|name| from.name == name)
        });
        Ok(all)
    }
}

/// Whether the entry has what a ruling needs, and nothing that contradicts it.
fn sensible(source: &Source, claim: &Claim) -> Result<(), String> {
    let Claim { quantifier, open, checks, besides, cures, waits_for, .. } = claim;
    if quantifier.is_some() == open.is_some() {
        return Err("it has either a 'quantifier', and runs decide it, or 'open'".to_owned());
    }
    if !waits_for.is_empty() && *open != Some(Ruling::Pending) {
        return Err("it waits for a protocol; until then 'open' is \"pending\"".to_owned());
    }
    if let Some(of) = claim.of.as_ref().filter(|_| source.stance(claim).is_none()) {
        return Err(format!("the text has no [assumptions.{of}]"));
    }
    if let Some(left) = claim.left_out.iter().find(|left| left.of.is_empty()) {
        return Err(format!("'left_out' names nothing; give it in 'of': {}", left.why));
    }
    let mut decides = false;
    for check in checks {
        demoted(source, claim, check)?;
        if check.this_link.is_some() && one_link(check)?.is_none() {
            return Err(format!("'this_link' is for one link; leave it out of: {}", check.shows));
        }
        let standing = Standing::of(source, claim, check)?;
        decides |= !matches!(standing, Standing::Outside(_));
    }
    if quantifier.is_some() && !decides {
        return Err(
            "no [[claim.check]] within what the text assumes decides it; add one".to_owned()
        );
    }
    if let Some(Assumption::Other(words)) = idle(claim) {
        return Err(format!("no check runs without '{words}'; give it in a check's 'without'"));
    }
    for (kind, all) in [("check", checks), ("beside", besides), ("cure", cures)] {
        for (at, check) in all.iter().enumerate() {
            possible(check, *open).map_err(|wrong| format!("{kind} {}: {wrong}", at + 1))?;
        }
    }
    let other = |cure: &&Check| {
        let within = |finds: &Expectation| *finds == Expectation::Word(Word::HoldsWithin);
        !cure.finds.iter().all(within) && !cure.demands.is_of_a_number()
    };
    if let Some(cure) = cures.iter().find(other) {
        return Err(format!("a cure finds what it demands; leave 'finds' out of: {}", cure.shows));
    }
    Ok(())
}

/// A sentence of a check's own may set it aside only where the text is silent: of what happens in
/// its world, or of a rule that is another than in the checks beside it.
fn demoted(source: &Source, claim: &Claim, check: &Check) -> Result<(), String> {
    let Some(words) = check.without.iter().find(|words| !claim.assumes.contains(words)) else {
        return Ok(());
    };
    let silent = |departure: &Departure| Says::of(source, claim, *departure) == Says::Nothing;
    let unusual = Departure::of(check)?.iter().any(silent);
    let mut rules = check.ask.subject().into_iter().flat_map(|subject| &subject.rules);
    let open = rules.any(|(rule, _)| claim.leaves_open.contains_key(rule));
    if unusual || open {
        return Ok(());
    }
    Err(format!(
        "all that happens in its world may happen, by the text, and it changes no rule of \
         'leaves_open': '{words}' cannot set it aside; leave it out of: {}",
        check.shows
    ))
}

/// An assumption in words that no check is without: it would decide nothing.
fn idle(claim: &Claim) -> Option<&Assumption> {
    let used = |assumption: &&Assumption| {
        matches!(assumption, Assumption::No(_))
            || claim.checks.iter().any(|check| check.without.contains(*assumption))
    };
    claim.assumes.iter().find(|assumption| !used(assumption))
}

/// Whether the check can be run; only a pending claim may ask a protocol that does not exist.
fn possible(check: &Check, open: Option<Ruling>) -> Result<(), String> {
    match run::possible(&check.ask)? {
        true => Ok(()),
        false if open == Some(Ruling::Pending) => Ok(()),
        false => {
            let known = bellwether_model::protocol::REGISTRY.names().join(", ");
            Err(format!(
                "its protocol is not there; say 'open' is \"pending\", or name one of: {known}"
            ))
        }
    }
}
