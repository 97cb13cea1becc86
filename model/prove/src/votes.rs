//! Votes in terms, whatever they are called: what Raft's election and the quorum bully share.

use super::relation::Relation;
use super::structure::Picture;
use std::collections::BTreeMap;

/// The relation as text; what begins with `%` is called otherwise by each protocol.
const TEXT: &str = include_str!("votes.rel");

/// What every process may do by any rules.
const ALWAYS: &[&str] =
    &["campaign", "vote", "vote-now", "adopt", "count", "win", "retire", "other"];

/// The symbols that only remember.
pub(super) const HISTORY: &[&str] = &["has-led"];

/// The rules that matter.
pub(super) struct Votes {
    /// What else a process may do.
    pub(super) besides: Vec<&'static str>,
    /// Whether a process votes that is no voter.
    pub(super) anyone_votes: bool,
}

impl Votes {
    /// The relation, in the words of a protocol.
    ///
    /// # Panics
    /// If the text is no relation.
    pub(super) fn relation(&self, words: &[(&str, &str)]) -> Relation {
        let anyone = if self.anyone_votes { "true" } else { "false" };
        let words = [words, &[("%anyone", anyone)]].concat();
        let relation = Relation::parse(TEXT, &words).expect("a relation that tests read");
        relation.with_actions(|name| ALWAYS.contains(&name) || self.besides.contains(&name))
    }
}

/// Tells which of the members vote, and which sets of members are as many as a majority of them.
pub(super) fn tell_of_majorities(
    picture: &mut Picture,
    members: &[u64],
    voters: &[u64],
    enough: usize,
) {
    for &voter in voters {
        picture.holds("voter", &[voter]);
    }
    for (set, members) in sets_of(members, enough) {
        for member in members {
            picture.holds("member", &[set, member]);
        }
    }
    picture.is("lowest", &[], 0);
}

/// The sets of at least so many of these: the majorities, if they are one of them.
fn sets_of(members: &[u64], enough: usize) -> BTreeMap<u64, Vec<u64>> {
    let all = 0u64..1 << members.len();
    let set = |bits: u64| {
        members.iter().enumerate().filter(|&(at, _)| bits & 1 << at != 0).map(|(_, &m)| m).collect()
    };
    let sets = all.map(|bits| (bits, set(bits)));
    sets.filter(|(_, set): &(u64, Vec<u64>)| set.len() >= enough).collect()
}
