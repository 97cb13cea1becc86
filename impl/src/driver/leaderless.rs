//! Why a node has no leader: the problem of a node that has known none for longer than elections
//! take, for its status and its log.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use humantime::format_duration;

use super::fitness::{Fitness, Unfit, unfit_because};
use super::leadership::{Leadership, LeadershipWatch};
use super::lists::OwnLists;
use crate::clock::Clock;
use crate::config::{Config, Runnable};
use crate::protocol::quorum::WaitsToVote;
use crate::protocol::{NodeId, Reason};
use crate::report::{Link, MemberReport};
use crate::transport::Report;

/// How many elections a node may be without a leader before that is a problem.
const ELECTIONS: u32 = 3;

/// How many members are named that cannot be reached.
const NAMED: usize = 4;

/// The longest time between two looks whether there is a leader.
const LOOK: Duration = Duration::from_secs(1);

/// What decides whether it is a problem that a node has no leader, and what is known of the cause
/// besides the links.
#[derive(Clone, Debug)]
pub(super) struct LeaderTimeout {
    /// How long a node may be without a leader.
    longest: Duration,
    /// Whether a leader needs a majority of the voters.
    majority: bool,
    /// What the node was told of whether it may lead.
    pub(super) fitness: Fitness,
    clock: Arc<dyn Clock>,
}

impl LeaderTimeout {
    /// Returns that of a node with this configuration.
    pub(super) fn of<C: Runnable>(config: &Config<C>, clock: impl Clock) -> Self {
        Self {
            longest: C::election_takes(config.core()) * ELECTIONS,
            majority: C::TWO_LEADERS.is_none(),
            fitness: Fitness::default(),
            clock: Arc::new(clock),
        }
    }

    /// Whether the node has known no leader for too long.
    fn is_over(&self, now: &Leadership) -> bool {
        now.without_leader().is_some_and(|time| time >= self.longest)
    }

    /// Returns why the node has no leader, if it has known none for too long, and these are the
    /// other members; whether it only observes itself, and why it does not vote, if it is to.
    pub(super) fn problem(
        &self,
        now: &Leadership,
        members: &[MemberReport],
        (observes, waits): (bool, Option<WaitsToVote>),
    ) -> Option<String> {
        let time = now.without_leader().filter(|&time| time >= self.longest)?;
        let majority = self.majority;
        let own = own_cause(now.reason, waits, self.fitness.unfit(self.clock.now()));
        Some(explain(&Situation { time, majority, observes, own, members }))
    }
}

/// A group that is watched.
pub(super) struct Watched {
    pub(super) leader_timeout: LeaderTimeout,
    pub(super) leadership: LeadershipWatch,
    /// What says how the node is.
    pub(super) report: Report,
    pub(super) lists: OwnLists,
    /// The name of the group, for the log.
    pub(super) span: tracing::Span,
    /// Whether it was said that there is no leader.
    pub(super) told: bool,
}

impl Watched {
    /// Looks whether there is something to be said.
    fn look(&mut self, node: u16) {
        let _entered = self.span.enter();
        let now = self.leadership.now();
        if let Some(leader) = now.leader.filter(|_| self.told) {
            self.told = false;
            tracing::info!(node, leader = leader.get(), "there is a leader again");
        } else if !self.told && self.leader_timeout.is_over(&now) {
            let report = (self.report)();
            let vote = (report.observes, self.lists.waits());
            let problem = self.leader_timeout.problem(&now, &report.members, vote);
            problem.inspect(|problem| tracing::warn!(node, "{problem}"));
            self.told = true;
        }
    }
}

/// Says so in the log when the node has no leader for too long in one of its groups, and when it
/// has one again.
pub(super) async fn watch(node: NodeId, mut groups: Vec<Watched>) {
    // All have the same time.
    let longest = groups.first().map_or(LOOK, |group| group.leader_timeout.longest);
    let look = (longest / 4).clamp(Duration::from_millis(10), LOOK);
    loop {
        tokio::time::sleep(look).await;
        groups.iter_mut().for_each(|group| group.look(node.get()));
    }
}

/// What keeps the node itself from leading.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Own {
    /// It may not lead.
    Unfit(Unfit),
    /// Its program prepares itself.
    Prepares,
    /// It does not vote.
    Waits(WaitsToVote),
}

fn own_cause(
    reason: Option<Reason>,
    waits: Option<WaitsToVote>,
    unfit: Option<Unfit>,
) -> Option<Own> {
    match (waits, unfit) {
        (Some(waits), _) => Some(Own::Waits(waits)),
        (None, Some(unfit)) => Some(Own::Unfit(unfit)),
        (None, None) if reason == Some(Reason::PREPARING) => Some(Own::Prepares),
        (None, None) => None,
    }
}

/// What is known of a cluster that has no leader.
struct Situation<'a> {
    /// For how long the node has known none.
    time: Duration,
    majority: bool,
    observes: bool,
    own: Option<Own>,
    members: &'a [MemberReport],
}

/// Returns why there is no leader: how many voters can be reached, what keeps the node itself from
/// leading, and what is wrong with each member that cannot be reached.
fn explain(situation: &Situation<'_>) -> String {
    let &Situation { time, majority, observes, ref own, members } = situation;
    let voters = members.iter().filter(|member| !member.observes);
    let (there, missing): (Vec<_>, Vec<_>) = voters.partition(|member| is_reached(member));
    let waits = matches!(own, Some(Own::Waits(_)));
    let counts = !observes && !waits;
    let reached = there.len() + usize::from(counts);
    let all = there.len() + missing.len() + usize::from(!observes);
    let needed = if majority { all / 2 + 1 } else { all };
    let time = short(time);
    let mut text = format!("no leader for {time}: {reached} of {all} voters can be reached");
    text += if counts { ", this node included" } else { "" };
    if majority && reached < needed {
        text += &format!(", and {needed} are needed");
    }
    text.extend(own.as_ref().map(|own| format!("; {}", describe_own(own))));
    if reached >= needed && !there.is_empty() && !waits {
        text += "; others may be kept from leading (`freeze`, `before_leading`, their storage), or \
                 have no vote: ask each for its status";
    }
    let named = missing.iter().take(NAMED);
    text.extend(named.map(|member| format!("; {}", describe_missing(member))));
    if missing.len() > NAMED {
        text += &format!("; and {} more", missing.len() - NAMED);
    }
    if majority && reached < needed && !waits {
        text += "; if they are gone for good, see `bellwether recover --help`";
    }
    text
}

/// Whether messages can go both ways.
fn is_reached(member: &MemberReport) -> bool {
    member.link == Link::Connected && member.heard
}

fn describe_own(own: &Own) -> String {
    let left = |time: &Duration| format!("and does not run for another {}", short(*time));
    match own {
        Own::Unfit(Unfit::Unhealthy(reason)) => unfit_because(reason),
        Own::Unfit(Unfit::Asked(time)) => {
            format!("this node was asked not to lead (`freeze`, `step-down`), {}", left(time))
        }
        Own::Unfit(Unfit::Unprepared(Some(time))) => {
            format!("this node was elected, `before_leading` has failed, {}", left(time))
        }
        Own::Unfit(Unfit::Unprepared(None)) => {
            "this node was elected, `before_leading` has failed, and nodes of this protocol cannot \
             step down"
                .to_owned()
        }
        Own::Prepares => "this node was elected, and `before_leading` has not ended".to_owned(),
        Own::Waits(waits) => describe_waits(waits),
    }
}

/// Why the node does not vote, and what lets it.
fn describe_waits(waits: &WaitsToVote) -> String {
    let begin = "this node starts without a state and does not vote";
    match waits {
        WaitsToVote::ToFound { silent, founders } if founders.is_empty() => format!(
            "{begin} before each other voter has met it: start {}; or, if this cluster is new and \
             they are gone for good, start each node with `--new-cluster`",
            listed(silent)
        ),
        WaitsToVote::ToFound { founders, .. } => format!(
            "{begin}: {} voted before, so a leader has to let it in, and only a majority of all \
             voters, each with its state, elects one; if too few have theirs, see `bellwether \
             recover --help`",
            listed(founders)
        ),
        WaitsToVote::ToBeLetIn => "this node has no vote before a leader lets it in; if the \
                                   others are too few for a majority, see `bellwether recover \
                                   --help`"
            .to_owned(),
    }
}

/// These nodes, but for those that are too many.
fn listed(nodes: &BTreeSet<NodeId>) -> String {
    let named: Vec<_> = nodes.iter().take(NAMED).map(ToString::to_string).collect();
    let more = nodes.len() - named.len();
    let word = if nodes.len() == 1 { "node" } else { "nodes" };
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{word} {}{more}", named.join(", "))
}

fn describe_missing(member: &MemberReport) -> String {
    let MemberReport { node, address, link, error, .. } = member;
    let why = match (link, error) {
        (Link::Connected, _) => "it has no connection to this node",
        (_, Some(error)) => error.as_str(),
        (_, None) => "no answer yet",
    };
    format!("node {node} ({address}): {why}")
}

/// The time in whole seconds, unless it is shorter than one.
fn short(time: Duration) -> String {
    let seconds = Duration::from_secs(time.as_secs());
    let milliseconds = Duration::from_millis(u64::from(time.subsec_millis()));
    format_duration(if seconds.is_zero() { milliseconds } else { seconds }).to_string()
}

#[cfg(test)]
mod tests;
