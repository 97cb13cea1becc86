//! The chapter's simulator of five nodes, translated event for event, as it is printed and as it
//! would have to be. As printed, its two last processes fail before anything happens
//! ([`runs_as_printed`]), since a generator yields a pair. In the other runs the crash and the
//! detection happen when the text means them to.

use super::{Account, Agenda, Program};

const FILE: &str = "model/literature/src/claims/program/simulator.rs";

pub(super) const PROGRAMS: &[Program] = &[
    Program::new("simulator-retries", FILE, || run(AS_PRINTED, &[], Simulation::retried)),
    Program::new("simulator-repaired-retries", FILE, || {
        run(REPAIRED, SECOND_CRASH, Simulation::retried)
    }),
    Program::new("simulator-survives-a-second-crash", FILE, || {
        run(AS_PRINTED, SECOND_CRASH, Simulation::is_led)
    }),
    Program::new("simulator-repaired-survives-a-second-crash", FILE, || {
        run(REPAIRED, SECOND_CRASH, Simulation::is_led)
    }),
    Program::new("simulator-dead-are-silent", FILE, || {
        run(AS_PRINTED, SECOND_CRASH, |run| !run.dead_spoke)
    }),
    Program::new("simulator-repaired-dead-are-silent", FILE, || {
        run(REPAIRED, SECOND_CRASH, |run| !run.dead_spoke)
    }),
    Program::new("simulator-elects-again", FILE, || {
        run(AS_PRINTED, LATER_CRASH, Simulation::is_led)
    }),
    Program::new("simulator-repaired-elects-again", FILE, || {
        run(REPAIRED, LATER_CRASH, Simulation::is_led)
    }),
    Program::new("simulator-short-circuits", FILE, || {
        run(Rules { t_coord: 0, ..REPAIRED }, &[], Simulation::is_short_circuited)
    }),
    Program::new("simulator-with-the-branch-short-circuits", FILE, || {
        let rules = Rules { t_coord: 0, answers: true, ..REPAIRED };
        run(rules, &[], Simulation::is_short_circuited)
    }),
    Program::new("simulator-runs-as-printed", FILE, runs_as_printed),
    Program::new(
        "simulator-repaired-ends-though-a-node-crashes-again-and-again",
        FILE,
        crashes_again,
    ),
    Program::new("simulator-of-a-hundred-sends-500-messages", FILE, messages_of_a_hundred),
    Program::new("simulator-of-a-hundred-takes-ten-seconds", FILE, seconds_of_a_hundred),
];

/// How many nodes there are; the highest crashes.
const NODES: usize = 5;
const DELAY: u32 = 50;
const END: u32 = 20_000;
/// When the failure of the highest is noticed.
const NOTICED: u32 = 700;

/// Node 4 crashes in the middle of its election.
const SECOND_CRASH: &[(u32, Event)] = &[(1_000, Event::Crash(4))];
/// After the election in which node 4 has won, it crashes as well, and all that are left notice.
const LATER_CRASH: &[(u32, Event)] = &[
    (6_000, Event::Crash(4)),
    (6_200, Event::Detect(1)),
    (6_200, Event::Detect(2)),
    (6_200, Event::Detect(3)),
];

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Crash(usize),
    /// The node is up again, and starts an election.
    Recover(usize),
    Detect(usize),
    /// ELECTION and OK in one event, as in the simulator: `to` has heard `from`.
    Heard {
        from: usize,
        to: usize,
    },
    ElectionEnds(usize),
    WaitEnds(usize),
}

/// The time-outs, and the repairs.
#[derive(Clone, Copy)]
struct Rules {
    t_elec: u32,
    t_coord: u32,
    /// A crashed node does nothing more.
    dead_are_silent: bool,
    /// A node that starts an election forgets the leader that failed.
    forgets: bool,
    /// A node that hears of a leader is in no election any more. As printed, the node stays in the
    /// election for ever, and notices nothing.
    ends: bool,
    /// A leader that gets an ELECTION says that it leads, and starts no other.
    answers: bool,
}

const AS_PRINTED: Rules = Rules {
    t_elec: 1_000,
    t_coord: 2_500,
    dead_are_silent: false,
    forgets: false,
    ends: false,
    answers: false,
};
const REPAIRED: Rules = Rules { dead_are_silent: true, forgets: true, ends: true, ..AS_PRINTED };

#[derive(Clone, Copy, PartialEq)]
struct Node {
    alive: bool,
    leader: Option<usize>,
    electing: bool,
    got_ok: bool,
}

/// What is under way, and when.
type UnderWay = Vec<(u32, Event)>;

struct Simulation {
    rules: Rules,
    agenda: Agenda<Event>,
    nodes: Vec<Node>,
    story: Vec<String>,
    /// A node declared itself while it was down.
    dead_spoke: bool,
    /// At each retry: the nodes, and what is under way, and when, but for crashes and recoveries.
    retried_in: Vec<(Vec<Node>, UnderWay)>,
    messages: usize,
    /// When a node declared itself for the first time.
    declared: Option<u32>,
    /// How many elections were started after that.
    started_after: usize,
}

/// Runs the five nodes with these events beside the printed ones, in which node 3 notices that node
/// 5 has crashed.
fn run(rules: Rules, more: &[(u32, Event)], holds: fn(&Simulation) -> bool) -> Account {
    let mut simulation = Simulation::of(NODES, 3, rules);
    for &(at, event) in more {
        simulation.agenda.plan(at, event);
    }
    simulation.run();
    Account::of(holds(&simulation), simulation.story)
}

impl Simulation {
    /// Returns a simulation in which the highest of these nodes crashes, and this one notices.
    fn of(nodes: usize, notices: usize, rules: Rules) -> Simulation {
        let node = Node { alive: true, leader: Some(nodes), electing: false, got_ok: false };
        let mut agenda = Agenda::new();
        agenda.plan(500, Event::Crash(nodes));
        agenda.plan(NOTICED, Event::Detect(notices));
        Simulation {
            rules,
            agenda,
            nodes: vec![node; nodes],
            story: Vec::new(),
            dead_spoke: false,
            retried_in: Vec::new(),
            messages: 0,
            declared: None,
            started_after: 0,
        }
    }

    fn run(&mut self) {
        while let Some(event) = self.agenda.next(END) {
            self.happen(event);
        }
    }

    fn node(&mut self, number: usize) -> &mut Node {
        &mut self.nodes[number - 1]
    }

    fn note(&mut self, what: &str) {
        let (seconds, hundredths) = (self.agenda.now / 1000, self.agenda.now % 1000 / 10);
        self.story.push(format!("t={seconds}.{hundredths:02}  {what}"));
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Crash(number) => {
                self.node(number).alive = false;
                self.note(&format!("node {number} crashes"));
            }
            Event::Recover(number) => {
                *self.node(number) =
                    Node { alive: true, leader: None, electing: false, got_ok: false };
                self.note(&format!("node {number} recovers and starts an election"));
                self.start_election(number);
            }
            Event::Detect(number) => {
                let node = *self.node(number);
                if node.alive && !node.electing {
                    self.note(&format!("node {number} notices and starts an election"));
                    self.start_election(number);
                }
            }
            Event::Heard { to, .. } if !self.acts(to) => {}
            Event::Heard { from, to } => {
                self.messages += 1;
                self.node(from).got_ok = true;
                if self.rules.answers && self.node(to).leader == Some(to) {
                    self.follow(from, to);
                } else if !self.node(to).electing {
                    self.start_election(to);
                }
            }
            Event::ElectionEnds(number) if self.acts(number) => self.election_ends(number),
            Event::WaitEnds(number) if self.acts(number) && self.node(number).leader.is_none() => {
                self.note(&format!("node {number} has an OK and no COORDINATOR: starts again"));
                let now = self.agenda.now;
                let own = |event: &Event| !matches!(event, Event::Crash(_) | Event::Recover(_));
                let left = self.agenda.events.iter().filter(|(_, _, event)| own(event));
                let left = left.map(|&(at, _, event)| (at - now, event)).collect();
                self.retried_in.push((self.nodes.clone(), left));
                self.start_election(number);
            }
            Event::ElectionEnds(_) | Event::WaitEnds(_) => {}
        }
    }

    fn acts(&mut self, number: usize) -> bool {
        self.node(number).alive || !self.rules.dead_are_silent
    }

    fn start_election(&mut self, number: usize) {
        let forgets = self.rules.forgets;
        self.started_after += usize::from(self.declared.is_some());
        let node = self.node(number);
        (node.electing, node.got_ok) = (true, false);
        if forgets {
            node.leader = None;
        }
        for higher in number + 1..=self.nodes.len() {
            if self.node(higher).alive {
                self.messages += 1;
                self.agenda.plan(DELAY, Event::Heard { from: number, to: higher });
            }
        }
        self.agenda.plan(self.rules.t_elec, Event::ElectionEnds(number));
    }

    fn election_ends(&mut self, number: usize) {
        let Node { alive, got_ok, .. } = *self.node(number);
        if got_ok {
            self.agenda.plan(self.rules.t_coord, Event::WaitEnds(number));
            return;
        }
        let how = if alive { "" } else { ", which is down," };
        self.note(&format!("node {number}{how} declares itself the coordinator"));
        self.dead_spoke |= !alive;
        self.declared.get_or_insert(self.agenda.now);
        for other in 1..=self.nodes.len() {
            if self.node(other).alive {
                self.messages += usize::from(other != number);
                self.follow(other, number);
            }
        }
        let node = self.node(number);
        (node.leader, node.electing) = (Some(number), false);
    }

    /// Lets a node hear that this one leads.
    fn follow(&mut self, number: usize, leader: usize) {
        self.node(number).leader = Some(leader);
        if self.rules.ends {
            self.node(number).electing = false;
            let waits = [Event::ElectionEnds(number), Event::WaitEnds(number)];
            self.agenda.events.retain(|(_, _, event)| !waits.contains(event));
        }
    }

    fn retried(&self) -> bool {
        !self.retried_in.is_empty()
    }

    /// Returns whether every live node has a live leader.
    fn is_led(&self) -> bool {
        let live = |leader: usize| self.nodes[leader - 1].alive;
        self.nodes.iter().filter(|node| node.alive).all(|node| node.leader.is_some_and(live))
    }

    /// Returns whether a node starts again just before the winner announces itself, no election is
    /// started after that, and all have a leader.
    fn is_short_circuited(&self) -> bool {
        self.retried() && self.started_after == 0 && self.is_led()
    }
}

/// The two last lines before `env.run`, as Python reads them. `(yield env.timeout(0.5), crash())`
/// yields the pair of what its two parts are: `crash` is called first, when the process begins, and
/// simpy takes nothing but an event.
fn runs_as_printed() -> Account {
    let mut simulation = Simulation::of(NODES, 3, AS_PRINTED);
    simulation.happen(Event::Crash(NODES));
    simulation.note("RuntimeError: Invalid yield value \"(<Timeout(0.5)>, None)\"");
    let detected = simulation.nodes.iter().any(|node| node.electing);
    Account::of(detected, simulation.story)
}

/// Runs the repaired program, in which node 4 crashes in the middle of each of its elections, and
/// recovers before node 3 asks again. No state in which node 3 asks comes again, or there is a
/// leader.
fn crashes_again() -> Account {
    let Rules { t_elec, t_coord, .. } = REPAIRED;
    let again = (1..=(END - t_elec) / (t_elec + t_coord)).flat_map(|round| {
        let later = round * (t_elec + t_coord);
        [(600 + later, Event::Recover(4)), (1_100 + later, Event::Crash(4))]
    });
    let events: Vec<_> = [(1_100, Event::Crash(4))].into_iter().chain(again).collect();
    run(REPAIRED, &events, |run| {
        let again = run.retried_in.windows(2).skip(1).all(|pair| pair[0] == pair[1]);
        !(run.retried_in.len() > 3 && again && !run.is_led())
    })
}

/// Returns, of the repaired program with 100 nodes and time-outs of five seconds, for each node that
/// may notice, how many messages are sent, and how long it takes until a node declares itself.
fn of_a_hundred() -> Vec<(usize, u32)> {
    const HUNDRED: usize = 100;
    let one = |notices| {
        let rules = Rules { t_elec: 5_000, t_coord: 12_500, ..REPAIRED };
        let mut simulation = Simulation::of(HUNDRED, notices, rules);
        simulation.run();
        (simulation.messages, simulation.declared.map_or(END, |at| at - NOTICED))
    };
    (1..HUNDRED).map(one).collect()
}

/// Asks whether the mean number of messages is 500 at most.
fn messages_of_a_hundred() -> Account {
    let all = of_a_hundred();
    let mean = all.iter().map(|&(messages, _)| messages).sum::<usize>() / all.len();
    let (most, least) = (all.first().map_or(0, |run| run.0), all.last().map_or(0, |run| run.0));
    let few = all.iter().filter(|&&(messages, _)| messages <= 500).count();
    let story = vec![
        format!("if the lowest notices: {most} messages; if the highest survivor does: {least}"),
        format!("on average over the node that notices: {mean}"),
        format!("500 are enough if it is one of the {few} highest"),
    ];
    Account::of(mean <= 500, story)
}

/// Asks whether the longest election takes ten seconds at least.
fn seconds_of_a_hundred() -> Account {
    let longest = of_a_hundred().into_iter().map(|(_, time)| time).max().unwrap_or(0);
    let (seconds, hundredths) = (longest / 1000, longest % 1000 / 10);
    let story = vec![format!("a node declares itself after {seconds}.{hundredths:02} s at most")];
    Account::of(longest >= 10_000, story)
}
