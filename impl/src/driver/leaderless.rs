//! Why a node has no leader: the problem of a node that has known none for longer than elections
//! take, for its status and its log.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use humantime::format_duration;

use super::fitness::{Fitness, Unfit, unfit_because};
use super::handle::Handle;
use super::leadership::Leadership;
use crate::clock::Clock;
use crate::config::{Config, Runnable};
use crate::protocol::quorum::WaitsToVote;
use crate::protocol::{NodeId, Reason};
use crate::report::{Link, MemberReport};

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
    /// other members. It may only observe itself, and wait to vote if it is to.
    pub(super) fn problem(
        &self,
        now: &Leadership,
        members: &[MemberReport],
        observes: bool,
        waits: Option<WaitsToVote>,
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
    pub(super) handle: Handle,
    /// The name of the group, for the log.
    pub(super) span: tracing::Span,
    /// Whether it was said that there is no leader.
    pub(super) told: bool,
}

impl Watched {
    /// Looks whether there is something to be said.
    fn look(&mut self, node: u16) {
        let _entered = self.span.enter();
        let now = self.handle.leadership.now();
        if let Some(leader) = now.leader.filter(|_| self.told) {
            self.told = false;
            tracing::info!(node, leader = leader.get(), "there is a leader again");
        } else if !self.told && self.leader_timeout.is_over(&now) {
            let report = self.handle.status();
            let (members, waits) = (&report.members, self.handle.lists.waits());
            let problem = self.leader_timeout.problem(&now, members, report.observes, waits);
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
mod tests {
    use super::*;
    use crate::driver::tests::{id, names};
    use crate::report::LONGEST_PROBLEM;

    /// A member to which messages can go both ways.
    fn reached(node: u16) -> MemberReport {
        MemberReport {
            node: id(node),
            address: format!("10.0.0.{node}:7000").parse().expect("an address"),
            observes: false,
            link: Link::Connected,
            problem: None,
            heard: true,
            priority: Some(100),
            fit: Some(true),
            error: None,
            error_ms: None,
            sent: 0,
            received: 0,
            dropped: 0,
        }
    }

    fn missing(node: u16, link: Link, error: &str) -> MemberReport {
        let error = Some(error.to_owned());
        MemberReport { link, heard: false, problem: error.clone(), error, ..reached(node) }
    }

    /// What a voter says that needs a majority, and may lead.
    fn says(members: &[MemberReport]) -> String {
        says_with(None, members)
    }

    fn says_with(own: Option<Own>, members: &[MemberReport]) -> String {
        let time = Duration::from_millis(12_345);
        explain(&Situation { time, majority: true, observes: false, own, members })
    }

    #[test]
    fn each_voter_that_cannot_be_reached_is_named_with_its_error() {
        let members = [
            missing(2, Link::Connecting, "Connection refused (os error 111)"),
            missing(3, Link::Refused, "it does not know the secret of this node"),
        ];
        assert_eq!(
            says(&members),
            "no leader for 12s: 1 of 3 voters can be reached, this node included, and 2 are needed; \
             node 2 (10.0.0.2:7000): Connection refused (os error 111); \
             node 3 (10.0.0.3:7000): it does not know the secret of this node; \
             if they are gone for good, see `bellwether recover --help`"
        );
    }

    #[test]
    fn a_member_that_has_not_answered_or_does_not_call_is_not_reached() {
        let silent = MemberReport { error: None, ..missing(2, Link::Connecting, "") };
        // There was another error before: it is connected now.
        let deaf =
            MemberReport { link: Link::Connected, ..missing(3, Link::Connecting, "refused") };
        let not_called = "node 3 (10.0.0.3:7000): it has no connection to this node";
        let no_answer = "node 2 (10.0.0.2:7000): no answer yet";
        names(&says(&[silent, deaf]), &["1 of 3 voters", no_answer, not_called]);
    }

    #[test]
    fn if_a_majority_is_reached_the_cause_is_with_the_nodes() {
        let all = [reached(2), reached(3)];
        let said = says(&all);
        let asks = "ask each for its status";
        names(&said, &["3 of 3 voters", "`freeze`, `before_leading`"]);
        assert!(!said.contains("needed") && said.ends_with(asks), "{said}");
        let [two, three] = [2, 3].map(|node| missing(node, Link::Connecting, "gone"));
        let said = says(&[reached(2), three.clone()]);
        names(&said, &["2 of 3 voters", asks]);
        assert!(said.ends_with("node 3 (10.0.0.3:7000): gone"), "{said}");
        let said = says(&[two, three]);
        assert!(!said.contains(asks), "they cannot be reached: {said}");
    }

    #[test]
    fn what_keeps_the_node_itself_from_leading_is_said() {
        let minute = Duration::from_secs(60);
        let unfit = |unfit| own_cause(None, None, Some(unfit));
        for (own, words) in [
            (unfit(Unfit::Unhealthy("it is full".to_owned())), "not fit to lead: it is full"),
            (unfit(Unfit::Asked(minute)), "`step-down`), and does not run for another 1m"),
            (unfit(Unfit::Unprepared(Some(minute))), "failed, and does not run for another 1m"),
            (unfit(Unfit::Unprepared(None)), "`before_leading` has failed, and nodes of"),
            (own_cause(Some(Reason::PREPARING), None, None), "`before_leading` has not ended"),
        ] {
            names(&says_with(own, &[reached(2), reached(3)]), &[words]);
        }
        assert_eq!(own_cause(Some(Reason::BOOTED), None, None), None);
    }

    #[test]
    fn a_node_without_a_vote_says_what_lets_it_vote() {
        let ids = |nodes: &[u16]| nodes.iter().map(|&node| id(node)).collect();
        let to_found = |silent: &[u16], founders: &[u16]| WaitsToVote::ToFound {
            silent: ids(silent),
            founders: ids(founders),
        };
        let members = [reached(2), missing(3, Link::Connecting, "refused")];
        let says = |waits| says_with(own_cause(None, Some(waits), None), &members);
        assert_eq!(
            says(to_found(&[3], &[])),
            "no leader for 12s: 1 of 3 voters can be reached, and 2 are needed; this node starts \
             without a state and does not vote before each other voter has met it: start node 3; or, \
             if this cluster is new and they are gone for good, start each node with `--new-cluster`; \
             node 3 (10.0.0.3:7000): refused"
        );
        names(&says(to_found(&[2, 3], &[])), &["start nodes 2, 3; or"]);
        let founder = "node 2 voted before, so a leader has to let it in";
        for waits in [to_found(&[3], &[2]), to_found(&[], &[2])] {
            names(&says(waits), &[founder, "`bellwether recover --help`"]);
        }
        names(&says(WaitsToVote::ToBeLetIn), &["no vote before a leader lets it in"]);
        let unfit = Some(Unfit::Unhealthy("the disk is full".to_owned()));
        let own = own_cause(None, Some(WaitsToVote::ToBeLetIn), unfit);
        assert_eq!(own, Some(Own::Waits(WaitsToVote::ToBeLetIn)));
        let all = says_with(own, &[reached(2), reached(3)]);
        assert!(all.contains("2 of 3 voters") && !all.contains("ask each"), "{all}");
    }

    #[test]
    fn observers_are_in_no_majority_and_only_some_protocols_need_one() {
        let gone = [2, 3].map(|node| missing(node, Link::Connecting, "gone"));
        let observer = MemberReport { observes: true, ..missing(9, Link::Connecting, "away") };
        let said = says(&[gone[0].clone(), observer]);
        assert!(said.contains("1 of 2 voters") && !said.contains("node 9"), "{said}");
        let time = Duration::from_millis(250);
        let situation =
            Situation { time, majority: true, observes: true, own: None, members: &gone };
        let said = explain(&situation);
        let begin = "no leader for 250ms: 0 of 2 voters can be reached, and 2 are needed; node 2";
        assert!(said.starts_with(begin), "{said}");
        let said = explain(&Situation { majority: false, ..situation });
        assert!(said.contains("0 of 2 voters") && !said.contains("needed"), "{said}");
    }

    #[test]
    fn of_many_members_some_are_named_and_it_is_never_too_long() {
        let error = "e".repeat(160);
        let host = "h".repeat(255 - ":65535".len());
        let address = format!("{host}:65535");
        let member = |node| MemberReport {
            node: id(u16::MAX - node),
            address: address.parse().expect("an address"),
            ..missing(1, Link::Refused, &error)
        };
        let mut members: Vec<_> = (0..100).map(member).collect();
        members.extend((0..154).map(|node| MemberReport { node: id(1 + node), ..reached(1) }));
        let silent = members.iter().map(|member| member.node).collect();
        let waits = WaitsToVote::ToFound { silent, founders: BTreeSet::new() };
        let asked = Own::Unfit(Unfit::Asked(Duration::from_millis(u64::MAX)));
        for own in [asked, Own::Waits(waits)] {
            let said = says_with(Some(own), &members);
            assert_eq!(said.matches(&error).count(), NAMED);
            assert!(said.ends_with("; and 96 more"), "{said}");
            assert!(said.len() <= LONGEST_PROBLEM, "{}", said.len());
        }
    }
}
