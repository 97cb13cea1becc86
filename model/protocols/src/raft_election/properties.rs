//! What the paper claims, and what is asked of a leader where not every process can hear it.

use super::{Message, RaftElection, Role, Stable, Term, majority};
use bellwether_engine::protocol::{Belief, Id, Judge, Property, Protocol, View};

pub(super) const PROPERTIES: &[Property<Judge<RaftElection>>] = property_table! {
    "election-safety": "□ ¬∃ i ≠ j: leads(i) ∧ leads(j) ∧ term(i) = term(j)",
        "at most one leader can be elected in a term (Figure 3)";
        Always(election_safety);
    "votes-stand": "□ ∀ vote of k for i in term t, counted or in flight: term(k) > t ∨ vote(k) = i",
        "no process forgets its vote in a term, or gives a second one (5.2)",
        if "a process has voted" => |_, view| votes(view).next().is_some();
        Always(votes_stand);
    "majority-behind":
        "□ ∀ leads(i): term(j) > term(i) ∨ (term(j) = term(i) ∧ vote(j) = i) for a majority of j",
        "a majority voted for each leader, and only a later term undoes that (5.2)",
        if "a process leads" => |_, view| leaders(view).next().is_some();
        Always(majority_behind);
    "terms-in-order" asked:
        "□ ∀ leads(i): no candidate of an older term has a majority, counted or in flight",
        "leaders begin in the order of their terms: no process wins an older one later",
        if "a process leads" => |_, view| leaders(view).next().is_some();
        Always(terms_in_order);
    "stable-leader": "◇□ ∃ leads(l): a majority is in l's term and follows l (or is l)",
        "in the end one leader has a majority behind it, for good";
        EventuallyAlways(someone_has_a_following);
    "following-recurs" asked: "□◇ ∃ leads(l): a majority is in l's term and follows l (or is l)",
        "again and again some leader has a majority behind it";
        AlwaysEventually(someone_has_a_following);
    "candidates-can-win" asked: "□ ∀ up candidate i: log(i) ≥ log(j) for a majority of j",
        "no process asks for votes that a majority cannot give it, as their logs are fresher \
         (thesis, 9.6)",
        if "a process is a candidate" => |_, view| candidates(view).next().is_some();
        Always(candidates_can_win);
    "leaders-hear" asked: "◇□ ∀ leads(l): l hears a majority",
        "in the end no process leads that a majority cannot reach";
        EventuallyAlways(leaders_hear);
    "split-vote" asked:
        "reachable: all that are up are in one term and have voted, and no process has a majority \
         of the votes",
        "the votes of a term can be split, so that no process wins it (5.2)";
        Reachable(split_vote);
};

type Moment<'a> = View<'a, RaftElection>;

fn leaders<'v>(view: &'v Moment<'_>) -> impl Iterator<Item = Id> + 'v {
    view.live().filter(|&id| view.process(id).role == Role::Leader)
}

fn candidates<'v>(view: &'v Moment<'_>) -> impl Iterator<Item = Id> + 'v {
    view.live().filter(|&id| view.process(id).role == Role::Candidate)
}

/// The votes that are counted or may still be: the voter, whom it elects, and the term.
fn votes<'v>(view: &'v Moment<'_>) -> impl Iterator<Item = (Id, Id, u16)> + 'v {
    let pairs = view.ids().flat_map(|voter| view.ids().map(move |candidate| (voter, candidate)));
    pairs.filter_map(|(voter, candidate)| {
        let process = view.process(candidate);
        let counted = process.role == Role::Candidate && process.granted.contains(voter);
        let term = view.stable(candidate).term;
        let sent =
            |from, to, m| (from, to) == (voter, candidate) && m == Message::VoteGranted(term);
        (counted || (voter != candidate && view.in_flight(sent)))
            .then_some((voter, candidate, term))
    })
}

fn election_safety(_: &RaftElection, view: &Moment<'_>) -> bool {
    let term = |id| view.stable(id).term;
    leaders(view).all(|i| leaders(view).all(|j| i == j || term(i) != term(j)))
}

fn votes_stand(_: &RaftElection, view: &Moment<'_>) -> bool {
    votes(view).all(|(voter, candidate, term)| stands(view, voter, candidate, term))
}

/// Returns whether a process has voted for another in this term, or is in a later one.
fn stands(view: &Moment<'_>, voter: Id, whom: Id, term: Term) -> bool {
    let Stable { term: now, vote } = *view.stable(voter);
    now > term || (now == term && vote == Some(whom))
}

fn majority_behind(_: &RaftElection, view: &Moment<'_>) -> bool {
    leaders(view).all(|leader| {
        let term = view.stable(leader).term;
        let behind = view.ids().filter(|&id| stands(view, id, leader, term));
        behind.count() >= majority(view.nodes)
    })
}

/// A candidate with a majority of votes counted or in flight is about to lead.
fn terms_in_order(_: &RaftElection, view: &Moment<'_>) -> bool {
    let term = |id| view.stable(id).term;
    let wins = |candidate: Id| {
        let votes = votes(view).filter(|&(_, whom, t)| whom == candidate && t == term(candidate));
        votes.count() >= majority(view.nodes)
    };
    leaders(view).all(|leader| !candidates(view).any(|id| term(id) < term(leader) && wins(id)))
}

fn split_vote(_: &RaftElection, view: &Moment<'_>) -> bool {
    let up = || view.live().map(|id| *view.stable(id));
    let votes = |whom: Id| up().filter(|stable| stable.vote == Some(whom)).count();
    let wins = |whom: Id| votes(whom) >= majority(view.nodes);
    view.agree(|id| Some(view.stable(id).term))
        && up().all(|stable| stable.vote.is_some())
        && !view.ids().any(wins)
}

fn someone_has_a_following(_: &RaftElection, view: &Moment<'_>) -> bool {
    leaders(view).any(|leader| {
        let follows = |&id: &Id| {
            let believes = match RaftElection::belief(view.process(id)) {
                Belief::Leads => id == leader,
                Belief::Follows(other) => other == leader,
                Belief::Undecided => false,
            };
            believes && view.stable(id).term == view.stable(leader).term
        };
        view.live().filter(follows).count() >= majority(view.nodes)
    })
}

fn candidates_can_win(rules: &RaftElection, view: &Moment<'_>) -> bool {
    candidates(view).all(|one| {
        let may_vote = view.ids().filter(|&id| rules.logs.at_least_as_fresh(one, id));
        may_vote.count() >= majority(view.nodes)
    })
}

fn leaders_hear(_: &RaftElection, view: &Moment<'_>) -> bool {
    leaders(view).all(|leader| {
        let heard = view.ids().filter(|&id| id == leader || view.hears(leader, id));
        heard.count() >= majority(view.nodes)
    })
}
