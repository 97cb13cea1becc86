//! Why a node may not lead, as far as it was told, and why it has no leader: for its status and its
//! log.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use humantime::format_duration;

use crate::lock::lock;
use crate::member::Command;
use crate::protocol::quorum::WaitsToVote;
use crate::protocol::{NodeId, Reason, Time};
use crate::report::{Link, MemberReport};

/// How many members are named that cannot be reached.
const NAMED: usize = 4;

/// The longest reason that is told, in bytes. A status has room for it.
const LONGEST_REASON: usize = 160;

/// Whether a node may lead, as far as it was told. The [member](crate::member) decides what follows
/// from that.
#[derive(Debug, Default)]
pub(super) struct Eligibility(Mutex<State>);

#[derive(Clone, Debug, Default)]
struct State {
    /// Whether its program says that it is not fit, and why.
    unhealthy: Option<String>,
    away: Option<Away>,
}

/// A time for which the node does not stand for election.
#[derive(Clone, Copy, Debug)]
pub(super) struct Away {
    /// None if the node leads without its program, as it cannot step down.
    until: Option<Time>,
    /// The program could not prepare itself.
    unprepared: bool,
}

impl Eligibility {
    /// Notes what a node is asked at `now`, which may serve such requests. The `preparation` is the
    /// number of what its program is asked.
    pub(super) fn note(&self, now: Time, command: Command, serves: bool, preparation: Option<u64>) {
        let mut state = lock(&self.0);
        match command {
            Command::SetHealthy(true) if serves => state.unhealthy = None,
            Command::SetHealthy(false) if serves => {
                state.unhealthy.get_or_insert_with(|| "its program says so".to_owned());
            }
            Command::StepDown(time) | Command::Freeze(time) if serves && !time.is_zero() => {
                state.away = Some(Away { until: Some(now + time), unprepared: false });
            }
            Command::Unprepared(number, time) if preparation == Some(number) => {
                let until = serves.then(|| now + time);
                state.away = Some(Away { until, unprepared: true });
            }
            _ => {}
        }
    }

    /// Notes that another node leads, or that this one leads or does not: it no longer leads
    /// without its program.
    pub(super) fn note_change(&self) {
        let mut state = lock(&self.0);
        state.away = state.away.filter(|away| away.until.is_some());
    }

    /// Returns why the node may not lead at `now`, if it may not.
    pub(super) fn unfit(&self, now: Time) -> Option<Own> {
        let State { unhealthy, away } = lock(&self.0).clone();
        let away =
            away.and_then(|Away { until, unprepared }| match until.map(|until| until.since(now)) {
                Some(left) if left.is_zero() => None,
                Some(left) if !unprepared => Some(Own::Asked(left)),
                left => Some(Own::Unprepared(left)),
            });
        away.or_else(|| unhealthy.map(Own::Unhealthy))
    }

    /// Returns for how long the node was asked not to stand for election, from `now` on.
    pub(super) fn frozen(&self, now: Time) -> Duration {
        let asked = lock(&self.0).away.filter(|away| !away.unprepared);
        asked.and_then(|away| away.until).map_or(Duration::ZERO, |until| until.since(now))
    }

    pub(super) fn away(&self) -> Option<Away> {
        lock(&self.0).away
    }

    /// Notes what was so before a request that was refused.
    pub(super) fn set_away(&self, away: Option<Away>) {
        lock(&self.0).away = away;
    }

    /// Notes why the program says that the node is not fit to lead. A long reason is cut.
    pub(super) fn explain(&self, reason: &str) {
        let ends = reason.char_indices().map(|(start, c)| start + c.len_utf8());
        let end = ends.take_while(|&end| end <= LONGEST_REASON).last().unwrap_or(0);
        lock(&self.0).unhealthy = Some(reason[..end].to_owned());
    }

    /// Returns what is wrong with the node, as its program says.
    pub(super) fn problem(&self) -> Option<String> {
        lock(&self.0).unhealthy.as_deref().map(unfit_because)
    }
}

fn unfit_because(reason: &str) -> String {
    format!("this node is not fit to lead: {reason}")
}

/// What keeps the node itself from leading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Own {
    /// Its program says that its machine is not fit to lead, and why.
    Unhealthy(String),
    /// An operator has asked the node not to stand for election, for this long from now on.
    Asked(Duration),
    /// Its program could not prepare itself. So it does not stand for election, for so long from
    /// now on; or it leads without its program, if its protocol cannot step down.
    Unprepared(Option<Duration>),
    /// Its program prepares itself.
    Prepares,
    /// It does not vote.
    Waits(WaitsToVote),
}

pub(super) fn own_cause(
    reason: Option<Reason>,
    waits: Option<WaitsToVote>,
    unfit: Option<Own>,
) -> Option<Own> {
    let prepares = (reason == Some(Reason::PREPARING)).then_some(Own::Prepares);
    waits.map(Own::Waits).or(unfit).or(prepares)
}

/// What is known of a cluster that has no leader.
pub(super) struct Situation<'a> {
    /// For how long the node has known none.
    pub(super) time: Duration,
    pub(super) majority: bool,
    pub(super) observes: bool,
    pub(super) own: Option<Own>,
    pub(super) members: &'a [MemberReport],
}

/// Returns why there is no leader: how many voters can be reached, what keeps the node itself from
/// leading, and what is wrong with each member that cannot be reached.
pub(super) fn explain(situation: &Situation<'_>) -> String {
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
    let left =
        |time: &Duration| format!("and does not stand for election for another {}", short(*time));
    match own {
        Own::Unhealthy(reason) => unfit_because(reason),
        Own::Asked(time) => {
            format!("this node was asked not to lead (`freeze`, `step-down`), {}", left(time))
        }
        Own::Unprepared(Some(time)) => {
            format!("this node was elected, `before_leading` has failed, {}", left(time))
        }
        Own::Unprepared(None) => {
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
            (unfit(Own::Unhealthy("it is full".to_owned())), "not fit to lead: it is full"),
            (
                unfit(Own::Asked(minute)),
                "`step-down`), and does not stand for election for another 1m",
            ),
            (
                unfit(Own::Unprepared(Some(minute))),
                "failed, and does not stand for election for another 1m",
            ),
            (unfit(Own::Unprepared(None)), "`before_leading` has failed, and nodes of"),
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
        let unfit = Some(Own::Unhealthy("the disk is full".to_owned()));
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
        let asked = Own::Asked(Duration::from_millis(u64::MAX));
        for own in [asked, Own::Waits(waits)] {
            let said = says_with(Some(own), &members);
            assert_eq!(said.matches(&error).count(), NAMED);
            assert!(said.ends_with("; and 96 more"), "{said}");
            assert!(said.len() <= LONGEST_PROBLEM, "{}", said.len());
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    fn at(seconds: u32) -> Time {
        Time::ZERO + SECOND * seconds
    }

    #[test]
    fn what_was_asked_last_counts_until_its_time_is_over() {
        let eligibility = Eligibility::default();
        assert_eq!(eligibility.unfit(at(0)), None);
        eligibility.note(at(0), Command::Freeze(SECOND * 60), true, None);
        assert_eq!(eligibility.unfit(at(20)), Some(Own::Asked(SECOND * 40)));
        assert_eq!(eligibility.frozen(at(20)), SECOND * 40);
        eligibility.note(at(20), Command::StepDown(SECOND * 2), true, None);
        eligibility.note(at(21), Command::StepDown(Duration::ZERO), true, None);
        eligibility.note_change();
        assert_eq!(eligibility.unfit(at(21)), Some(Own::Asked(SECOND)));
        assert_eq!((eligibility.unfit(at(22)), eligibility.frozen(at(22))), (None, Duration::ZERO));
    }

    #[test]
    fn a_node_that_serves_no_requests_is_fit_whatever_it_is_asked() {
        let eligibility = Eligibility::default();
        eligibility.note(at(0), Command::Freeze(SECOND), false, None);
        eligibility.note(at(0), Command::SetHealthy(false), false, None);
        assert_eq!(eligibility.unfit(at(0)), None);
        eligibility.note(at(0), Command::SetHealthy(false), true, None);
        let says_so = Own::Unhealthy("its program says so".to_owned());
        assert_eq!(eligibility.unfit(at(9)), Some(says_so));
        eligibility.note(at(9), Command::SetHealthy(true), true, None);
        assert_eq!(eligibility.unfit(at(9)), None);
    }

    #[test]
    fn a_long_reason_is_cut_between_two_characters() {
        let eligibility = Eligibility::default();
        assert_eq!(eligibility.problem(), None);
        let long = format!("x{}", "\u{1f980}".repeat(LONGEST_REASON));
        eligibility.explain(&long);
        let told = eligibility.problem().expect("it is not fit");
        let reason = told.strip_prefix("this node is not fit to lead: ").expect("words");
        assert!(long.starts_with(reason) && reason.len() == LONGEST_REASON - 3, "{told}");
        eligibility.note(at(0), Command::SetHealthy(false), true, None);
        assert_eq!(eligibility.problem(), Some(told), "the reason stays");
        eligibility.note(at(0), Command::SetHealthy(true), true, None);
        assert_eq!(eligibility.problem(), None);
    }

    #[test]
    fn a_refusal_counts_if_it_answers_what_the_program_was_asked_last() {
        let eligibility = Eligibility::default();
        let refuses = |number| Command::Unprepared(number, SECOND * 30);
        eligibility.note(at(0), refuses(1), true, None);
        eligibility.note(at(0), refuses(1), true, Some(2));
        assert_eq!(eligibility.unfit(at(0)), None);
        eligibility.note(at(0), refuses(2), true, Some(2));
        eligibility.note_change();
        assert_eq!(eligibility.unfit(at(10)), Some(Own::Unprepared(Some(SECOND * 20))));
        assert_eq!(eligibility.frozen(at(10)), Duration::ZERO, "no operator asked for that");
        assert_eq!(eligibility.unfit(at(30)), None);
        // A node that cannot step down leads on.
        eligibility.note(at(40), refuses(3), false, Some(3));
        assert_eq!(eligibility.unfit(at(4_000)), Some(Own::Unprepared(None)));
        eligibility.note_change();
        assert_eq!(eligibility.unfit(at(4_000)), None);
    }
}
