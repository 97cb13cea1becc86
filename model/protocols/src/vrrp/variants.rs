//! The election as the standards have it, as it can be set, and without what it rests on.

use super::{PreemptDelay, Priorities, Vrrp};
use bellwether_engine::protocol::Variant;

pub(super) const ALL: &[Variant<Vrrp>] = &[
    Variant { name: "rfc9568", source: "RFC 9568, section 6.4", rules: Vrrp::RFC9568 },
    Variant {
        name: "no-preempt",
        source: "RFC 9568 with Preempt_Mode off (section 6.1)",
        rules: Vrrp { preempt: false, ..Vrrp::RFC9568 },
    },
    Variant {
        name: "without-skew",
        source: "RFC 9568 with a Skew_Time of 0 for every router (against section 6.1)",
        rules: Vrrp { skew: false, ..Vrrp::RFC9568 },
    },
    Variant {
        name: "rfc5798",
        source: "RFC 5798 and RFC 3768: an Active router says nothing to one of a lower priority",
        rules: Vrrp { asserts: false, ..Vrrp::RFC9568 },
    },
    Variant {
        name: "equal-priorities",
        source: "RFC 9568 with nothing configured: every router has the priority 100",
        rules: Vrrp { priorities: Priorities::Equal, ..Vrrp::RFC9568 },
    },
    Variant {
        name: "owner",
        source: "RFC 9568; the highest router owns the address (priority 255)",
        rules: Vrrp { owner: true, ..Vrrp::RFC9568 },
    },
    Variant {
        name: "restart",
        source: "RFC 9568; the first Active router is restarted in an orderly way (section 6.4.3)",
        rules: Vrrp { restart: true, ..Vrrp::RFC9568 },
    },
];

impl Vrrp {
    /// The election as the standard has it by default, priorities set, none the owner.
    pub const RFC9568: Vrrp = Vrrp {
        preempt: true,
        skew: true,
        asserts: true,
        priorities: Priorities::Distinct,
        owner: false,
        restart: false,
        preempt_delay: PreemptDelay::None,
    };
}
