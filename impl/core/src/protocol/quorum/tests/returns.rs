//! Without preemption, the leader after an outage of the whole network is the one before it.

use super::*;

/// Three nodes at these moments of their lives, of which node 1 was asked to lead.
struct Group {
    nodes: [Node<Quorum>; 3],
    flights: Vec<(u64, usize, usize, Message)>,
    now: u64,
}

impl Group {
    fn start(timing: Timing) -> Self {
        let nodes = [1, 2, 3].map(|number| node_with(number, None, timing));
        let mut group = Self { nodes, flights: Vec::new(), now: 0 };
        for at in 0..3 {
            group.tell(at, Input::Boot);
        }
        group
    }

    fn tell(&mut self, to: usize, input: Input<Message>) {
        self.nodes[to].handle(at(self.now), input);
        while let Some(output) = self.nodes[to].poll() {
            if let Output::Send { to: other, message } = output {
                self.flights.push((self.now + 5, to, usize::from(other.get()) - 1, message));
            }
        }
    }

    /// Goes on for so many milliseconds. What arrives while the network is out is lost.
    fn run(&mut self, milliseconds: u64, out: bool) {
        for _ in 0..milliseconds {
            self.now += 1;
            let now = self.now;
            let due: Vec<_> = self.flights.extract_if(.., |flight| flight.0 <= now).collect();
            for (_, from, to, message) in due {
                let from = id(from as u16 + 1);
                if !out {
                    self.tell(to, Input::Receive { from, message });
                }
            }
            (0..3).for_each(|to| self.tell(to, Input::Wake));
        }
    }

    fn leader(&self) -> Option<usize> {
        (0..3).find(|&at| self.nodes[at].leads(super::at(self.now)).is_some())
    }

    /// Node 1 leads.
    fn led_by_the_lowest(timing: Timing) -> Self {
        let mut group = Self::start(timing);
        group.run(2_000, false);
        assert_eq!(group.leader(), Some(2), "the highest leads first");
        group.tell(2, Input::Request(crate::protocol::Request::Yield(Some(id(1)))));
        group.run(500, false);
        assert_eq!(group.leader(), Some(0));
        group
    }
}

#[test]
fn the_last_leader_leads_again_whenever_the_network_comes_back() {
    for outage in (1_000..6_000).step_by(37) {
        let mut group = Group::led_by_the_lowest(Timing::DEFAULT);
        group.run(outage, true);
        group.run(4_000, false);
        assert_eq!(group.leader(), Some(0), "after an outage of {outage} ms");
    }
}

#[test]
fn with_preemption_the_highest_leads_after_an_outage() {
    let timing = Timing { preemption: Preemption::AtOnce, ..Timing::DEFAULT };
    let mut group = Group::start(timing);
    group.run(2_000, false);
    group.run(3_000, true);
    group.run(4_000, false);
    assert_eq!(group.leader(), Some(2));
}

/// One that cannot win holds up no other: it insists once.
#[test]
fn a_last_leader_that_finds_no_majority_makes_way() {
    let mut group = Group::led_by_the_lowest(Timing::DEFAULT);
    group.run(3_000, true);
    // From here on node 1 hears the others, and they do not hear it.
    for _ in 0..8_000 {
        group.flights.retain(|flight| flight.1 != 0);
        group.run(1, false);
    }
    assert!(group.leader().is_some_and(|leader| leader > 0), "{:?}", group.leader());
}
