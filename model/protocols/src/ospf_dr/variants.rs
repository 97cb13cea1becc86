//! The election as the standard has it, and without one of its rules at a time.

use super::{Eligible, OspfDr};
use bellwether_engine::protocol::Variant;

pub(super) const ALL: &[Variant<OspfDr>] = &[
    Variant { name: "rfc2328", source: "RFC 2328, section 9.4", rules: OspfDr::RFC2328 },
    Variant {
        name: "preempting",
        source: "what the names lead one to expect: the highest is the DR, the next one the BDR",
        rules: OspfDr { preempt: true, ..OspfDr::RFC2328 },
    },
    Variant {
        name: "without-waiting",
        source: "RFC 2328 without the state Waiting (sections 9.1, 9.3)",
        rules: OspfDr { waiting: false, ..OspfDr::RFC2328 },
    },
    Variant {
        name: "one-way",
        source: "RFC 2328, but every router that is heard counts (against section 9.4, first \
                 paragraph)",
        rules: OspfDr { two_way: false, ..OspfDr::RFC2328 },
    },
    Variant {
        name: "without-repeat",
        source: "RFC 2328 without step 4 of section 9.4",
        rules: OspfDr { repeat: false, ..OspfDr::RFC2328 },
    },
];

impl OspfDr {
    /// The election as the standard has it; no router has the priority 0.
    pub const RFC2328: OspfDr = OspfDr {
        preempt: false,
        waiting: true,
        two_way: true,
        repeat: true,
        eligible: Eligible::All,
    };
}
