//! The timers of a ring, and how long they take where time is measured. `T_lap` waits for every hop
//! of a lap, so the hop comes first.

use super::{Ring, Rounds, Timer, Watch};
use bellwether_engine::protocol::{Duration, TimerRow};

/// How long each timer takes: the hop, the lap, the watch and the heartbeat.
pub(crate) type Durations = [&'static Duration; 4];

/// The rows of a ring's timers.
pub(crate) const fn timers<M: Rounds, P: Ring<M>>(
    [hop, lap, watch, heartbeat]: Durations,
) -> [TimerRow<P>; 4] {
    [
        TimerRow::fixed(Timer::Hop, hop).armed_if(|ring: &P| ring.ring().skip),
        TimerRow::fixed(Timer::Lap, lap).armed_if(|ring: &P| ring.ring().t_lap),
        TimerRow::detector(Timer::Watch, watch),
        TimerRow::fixed(Timer::Heartbeat, heartbeat)
            .armed_if(|ring: &P| ring.ring().watch == Watch::Announcement)
            .periodic(super::timing::all_follow),
    ]
}

/// How long a process that handed something on waits for its acknowledgement.
pub(crate) const fn hop(enough: u8) -> Duration {
    Duration {
        name: "t-hop",
        meaning: "how long a process that handed something on waits for its ACK",
        order: 0,
        enough: Some(enough),
    }
}

/// How long a process that takes part in an election waits for its end.
pub(crate) const fn lap(enough: u8) -> Duration {
    Duration {
        name: "t-lap",
        meaning: "how long a process in a ring's election waits before it starts a new one",
        order: 1,
        enough: Some(enough),
    }
}

/// How long a follower may take to notice that its leader is gone.
pub(crate) const fn detect(enough: u8) -> Duration {
    Duration {
        name: "t-detect",
        meaning: "how long it may take a follower to notice that its leader is gone",
        order: 2,
        enough: Some(enough),
    }
}

/// How long a leader waits before it announces itself again.
pub(crate) const fn heartbeat(enough: u8) -> Duration {
    Duration {
        name: "t-heartbeat",
        meaning: "how long a leader waits before it says again that it leads",
        order: 3,
        enough: Some(enough),
    }
}
