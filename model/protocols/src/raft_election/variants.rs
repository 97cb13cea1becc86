//! What the texts say an election is, each as one value of its rules.

use super::{Logs, PreVote, Promoted, RaftElection, Returning, Storage, TimeOuts, Unelected};
use bellwether_engine::protocol::Variant;

pub(super) const ALL: &[Variant<RaftElection>] = &[
    Variant {
        name: "recommended",
        source: "thesis 9.6 (pre-vote) and 6.2 (a leader without a majority steps down)",
        rules: RaftElection::RECOMMENDED,
    },
    Variant {
        name: "paper",
        source: "Ongaro and Ousterhout 2014, sections 5.1, 5.2 and 5.4.1",
        rules: RaftElection::PAPER,
    },
    Variant {
        name: "sticky",
        source: "the same with section 6: a process that hears a leader ignores requests for its \
                 vote",
        rules: RaftElection { stickiness: true, ..RaftElection::PAPER },
    },
    Variant {
        name: "prevote",
        source: "Ongaro 2014 (thesis), section 9.6",
        rules: RaftElection { prevote: PreVote::LogAndSilence, ..RaftElection::PAPER },
    },
    Variant {
        name: "check-quorum",
        source: "Ongaro 2014 (thesis), section 6.2",
        rules: RaftElection { check_quorum: true, ..RaftElection::PAPER },
    },
    Variant {
        name: "etcd-prevote",
        source: "etcd with PreVote but without CheckQuorum: only logs decide a pre-vote",
        rules: RaftElection { prevote: PreVote::Log, ..RaftElection::PAPER },
    },
    Variant {
        name: "etcd",
        source: "etcd with PreVote and CheckQuorum, which brings stickiness",
        rules: RaftElection { stickiness: true, ..RaftElection::RECOMMENDED },
    },
];

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
