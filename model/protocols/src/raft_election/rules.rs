//! The rules that the paper, the thesis and the programs add to each other, and each election of
//! the texts as one value of them.

use bellwether_engine::protocol::{Id, MAX_SEARCHED, Misfit, Variant, rule_type};
use serde::{Deserialize, Serialize};

/// The rules of an election.
#[rule_type]
pub struct RaftElection {
    /// Whether a process asks around before it raises its term, and which process then says yes.
    pub prevote: PreVote,
    /// A leader that is not in contact with a majority for an election time-out steps down.
    pub check_quorum: bool,
    /// A process that has heard a leader within an election time-out ignores requests for its vote.
    pub stickiness: bool,
    /// A process that gets a message of a lower term tells its sender the higher one.
    pub answer_lower: bool,
    /// How fresh each process's log is.
    #[rule(of_all, values = "equal, or a digit for each process, 1 first, such as 0110")]
    pub logs: Logs,
    /// What outlasts a crash.
    pub storage: Storage,
    /// How long an election time-out takes.
    pub timeouts: TimeOuts,
    /// What a candidate does that is not elected in time.
    pub unelected: Unelected,
    /// What becomes of the vote of a process that hears the leader of its own term while it asks
    /// for votes or pre-votes.
    pub returning: Returning,
    /// A process that knows the leader of its term votes for no other.
    pub known_leader: bool,
    /// Whether the lowest process was promoted from a learner to a voter, and has not heard of it:
    /// then it does not run.
    #[rule(of_all)]
    pub promoted: Promoted,
}

/// The canvass before an election.
#[rule_type]
pub enum PreVote {
    /// There is none.
    None,
    /// A process that has no fresher log says yes.
    Log,
    /// A process that has no fresher log and has not heard a leader within an election time-out
    /// says yes.
    LogAndSilence,
    /// The same, but a leader says yes as if it heard none.
    LogAndSilenceOfFollowers,
    /// A process that has not heard a leader within an election time-out says yes, however stale
    /// the log is of the one that asks.
    Silence,
}

impl PreVote {
    /// Whether it makes a difference how long ago a leader was heard.
    pub(super) fn heeds_silence(self) -> bool {
        match self {
            PreVote::None | PreVote::Log => false,
            PreVote::LogAndSilence | PreVote::LogAndSilenceOfFollowers | PreVote::Silence => true,
        }
    }
}

/// What outlasts a crash.
#[rule_type]
pub enum Storage {
    /// The term and the vote.
    Durable,
    /// The term; the vote is lost.
    ForgetsVote,
    /// Nothing.
    ForgetsAll,
}

/// How long an election time-out takes.
#[rule_type]
pub enum TimeOuts {
    /// As long as chance says: whose is over first is not always another process.
    Random,
    /// As long as ever: always the same may be first.
    Fixed,
}

/// What a candidate does that is not elected in time.
#[rule_type]
pub enum Unelected {
    /// It canvasses again, if there is a canvass.
    Canvasses,
    /// It asks for votes in the next term, and answers no canvass as long as it is a candidate.
    Insists,
}

/// What becomes of the vote of a process that hears the leader of its own term while it asks for
/// votes or pre-votes.
#[rule_type]
pub enum Returning {
    /// It stands.
    KeepsVote,
    /// It is forgotten, as if the term were a new one.
    ForgetsVote,
}

/// Whether the lowest process was promoted from a learner to a voter, and has not heard of it.
#[rule_type]
pub enum Promoted {
    /// It was not: it is a voter like all others.
    None,
    /// It was, and votes when it is asked.
    Votes,
    /// It was, and grants no vote and no pre-vote, as learners have none.
    Refuses,
}

/// What is wrong with the rules in a group of so many: logs of processes that there are not, or
/// more ranks than processes.
pub(super) fn fits(rules: &RaftElection, nodes: usize) -> Result<(), Misfit> {
    let ranks = rules.logs.0;
    let (most, digits) = ((nodes - 1).min(9), nodes.min(MAX_SEARCHED));
    let fits = ranks.iter().all(|&rank| usize::from(rank) <= most)
        && ranks.iter().skip(nodes).all(|&rank| rank == 0);
    if fits {
        return Ok(());
    }
    let instead =
        format!("it is equal, or {digits} digits from 0 to {most}, that of process 1 first");
    Err(Misfit { rule: "logs", value: rules.logs.into(), nodes, instead })
}

/// How fresh each process's log is: a digit for each, process 1 first; a larger one is fresher. Who
/// has no digit has 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "Written")]
pub struct Logs([u8; MAX_SEARCHED]);

impl Logs {
    /// All are equally fresh.
    pub const EQUAL: Logs = Logs([0; MAX_SEARCHED]);

    /// These ranks, that of process 1 first.
    #[must_use]
    pub const fn ranked(ranks: [u8; MAX_SEARCHED]) -> Logs {
        Logs(ranks)
    }

    /// Whether `candidate`'s log is at least as up-to-date as `voter`'s (5.4.1).
    pub(super) fn at_least_as_fresh(self, candidate: Id, voter: Id) -> bool {
        let rank = |id: Id| self.0.get(id.index()).copied().unwrap_or(0);
        rank(candidate) >= rank(voter)
    }
}

impl From<Logs> for String {
    fn from(logs: Logs) -> String {
        if logs == Logs::EQUAL {
            return "equal".to_owned();
        }
        let digits: String = logs.0.iter().map(ToString::to_string).collect();
        digits.trim_end_matches('0').to_owned()
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(u32),
    Word(String),
}

impl TryFrom<Written> for Logs {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Logs, Self::Error> {
        let word = match written {
            Written::Number(number) => number.to_string(),
            Written::Word(word) => word,
        };
        let wrong = "give 'equal', or a digit for each process, such as 0110";
        if word == "equal" {
            return Ok(Logs::EQUAL);
        }
        let mut logs = Logs::EQUAL;
        if word.is_empty() || word.len() > MAX_SEARCHED {
            return Err(wrong);
        }
        for (rank, digit) in logs.0.iter_mut().zip(word.bytes()) {
            *rank = digit.checked_sub(b'0').filter(|&rank| rank <= 9).ok_or(wrong)?;
        }
        Ok(logs)
    }
}

pub(super) const VARIANTS: &[Variant<RaftElection>] = variant_table! { RaftElection:
    "recommended": "thesis 9.6 (pre-vote) and 6.2 (a leader without a majority steps down)"
        => RECOMMENDED;
    "paper": "Ongaro and Ousterhout 2014, sections 5.1, 5.2 and 5.4.1" => PAPER;
    "sticky": "the same with section 6: a process that hears a leader ignores requests for its vote"
        => PAPER { stickiness: true };
    "prevote": "Ongaro 2014 (thesis), section 9.6" => PAPER { prevote: PreVote::LogAndSilence };
    "check-quorum": "Ongaro 2014 (thesis), section 6.2" => PAPER { check_quorum: true };
    "etcd-prevote": "etcd with PreVote but without CheckQuorum: only logs decide a pre-vote"
        => PAPER { prevote: PreVote::Log };
    "etcd": "etcd with PreVote and CheckQuorum, which brings stickiness"
        => RECOMMENDED { stickiness: true };
};

impl RaftElection {
    /// The paper's election with everything that it needs where some processes do not hear each
    /// other.
    pub const RECOMMENDED: RaftElection =
        RaftElection { prevote: PreVote::LogAndSilence, check_quorum: true, ..RaftElection::PAPER };

    /// The paper's election.
    pub const PAPER: RaftElection = RaftElection {
        prevote: PreVote::None,
        check_quorum: false,
        stickiness: false,
        answer_lower: true,
        logs: Logs::EQUAL,
        storage: Storage::Durable,
        timeouts: TimeOuts::Random,
        unelected: Unelected::Canvasses,
        returning: Returning::KeepsVote,
        known_leader: false,
        promoted: Promoted::None,
    };
}
