//! Votes in terms, whatever they are called: what Raft's election and the quorum bully share.

use super::part::sets_of;
use super::relation::Relation;
use super::structure::Picture;

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
