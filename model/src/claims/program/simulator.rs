//! The chapter's simulator of five nodes, event for event, as it is printed and as it would have to
//! be. As printed, its two last processes fail before anything happens ([`runs_as_printed`]), since
//! a generator yields a pair. In the other runs the crash and the detection happen when the text
//! means them to.

use super::Account;
use std::collections::BTreeSet;

/// How many nodes there are; the highest crashes.
const NODES: usize = 5;
const T_ELEC: u32 = 1_000;
const T_COORD: u32 = 2_500;
const DELAY: u32 = 50;
const END: u32 = 20_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

/// What is repaired.
#[derive(Clone, Copy, Debug, Default)]
struct Repairs {
    /// A crashed node does nothing more.
    dead_are_silent: bool,
    /// A node that starts an election forgets the leader that failed.
    forgets: bool,
    /// A node that hears of a leader is in no election any more. As printed it stays in it for
    /// ever, and notices nothing.
    ends: bool,
    /// A leader that gets an ELECTION says that it leads, and starts no other.
    answers: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    alive: bool,
    leader: Option<usize>,
    electing: bool,
    got_ok: bool,
}

/// The nodes, and what is under way, and when.
type Moment = (Vec<Node>, Vec<(u32, Event)>);

struct Simulation {
    repairs: Repairs,
    t_elec: u32,
    t_coord: u32,
    now: u32,
    /// Events by time, and at one time in the order in which they were planned.
    queue: BTreeSet<(u32, usize, Event)>,
    planned: usize,
    nodes: Vec<Node>,
    story: Vec<String>,
    /// The nodes that retried, and when.
    retries: Vec<(usize, u32)>,
    /// The nodes that declared themselves while they were down.
    ghosts: Vec<usize>,
    /// At each retry: the nodes, and what is under way, and when, but for crashes and recoveries.
    retried_in: Vec<Moment>,
    messages: usize,
    /// When a node declared itself for the first time.
    declared: Option<u32>,
    /// How many elections were started after that.
    started_after: usize,
}

impl Simulation {
    /// Node 5 crashes, and node 3 notices.
    fn new(repairs: Repairs) -> Simulation {
        Simulation::of(NODES, 3, repairs)
    }

    /// The highest of these nodes crashes, and this one notices.
    fn of(nodes: usize, notices: usize, repairs: Repairs) -> Simulation {
        let node = Node { alive: true, leader: Some(nodes), electing: false, got_ok: false };
        let mut simulation = Simulation {
            repairs,
            t_elec: T_ELEC,
            t_coord: T_COORD,
            now: 0,
            queue: BTreeSet::new(),
            planned: 0,
            nodes: vec![node; nodes],
            story: Vec::new(),
            retries: Vec::new(),
            ghosts: Vec::new(),
            retried_in: Vec::new(),
            messages: 0,
            declared: None,
            started_after: 0,
        };
        simulation.plan(500, Event::Crash(nodes));
        simulation.plan(700, Event::Detect(notices));
        simulation
    }

    fn plan(&mut self, at: u32, event: Event) {
        self.planned += 1;
        self.queue.insert((at, self.planned, event));
    }

    fn node(&mut self, number: usize) -> &mut Node {
        &mut self.nodes[number - 1]
    }

    fn note(&mut self, what: &str) {
        let (seconds, hundredths) = (self.now / 1000, self.now % 1000 / 10);
        self.story.push(format!("t={seconds}.{hundredths:02}  {what}"));
    }

    fn run(mut self) -> Simulation {
        while let Some((at, _, event)) = self.queue.pop_first().filter(|&(at, ..)| at <= END) {
            self.now = at;
            self.happen(event);
        }
        self
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
            Event::Heard { from, to } => {
                if self.repairs.dead_are_silent && !self.node(to).alive {
                    return;
                }
                self.messages += 1;
                self.node(from).got_ok = true;
                if self.repairs.answers && self.node(to).leader == Some(to) {
                    self.follow(from, to);
                } else if !self.node(to).electing {
                    self.start_election(to);
                }
            }
            Event::ElectionEnds(number) if self.acts(number) => self.election_ends(number),
            Event::WaitEnds(number) if self.acts(number) => {
                if self.node(number).leader.is_none() {
                    self.note(&format!("node {number} has an OK and no COORDINATOR: starts again"));
                    self.retries.push((number, self.now));
                    let own = |event: &Event| !matches!(event, Event::Crash(_) | Event::Recover(_));
                    let left = self.queue.iter().filter(|(_, _, event)| own(event));
                    let left = left.map(|&(at, _, event)| (at - self.now, event)).collect();
                    self.retried_in.push((self.nodes.clone(), left));
                    self.start_election(number);
                }
            }
            Event::ElectionEnds(_) | Event::WaitEnds(_) => {}
        }
    }

    fn acts(&mut self, number: usize) -> bool {
        self.node(number).alive || !self.repairs.dead_are_silent
    }

    fn start_election(&mut self, number: usize) {
        let forgets = self.repairs.forgets;
        self.started_after += usize::from(self.declared.is_some());
        let node = self.node(number);
        (node.electing, node.got_ok) = (true, false);
        if forgets {
            node.leader = None;
        }
        for higher in number + 1..=self.nodes.len() {
            if self.node(higher).alive {
                self.messages += 1;
                self.plan(self.now + DELAY, Event::Heard { from: number, to: higher });
            }
        }
        self.plan(self.now + self.t_elec, Event::ElectionEnds(number));
    }

    fn election_ends(&mut self, number: usize) {
        if self.node(number).got_ok {
            self.plan(self.now + self.t_coord, Event::WaitEnds(number));
            return;
        }
        let alive = self.node(number).alive;
        let how = if alive { "" } else { ", which is down," };
        self.note(&format!("node {number}{how} declares itself the coordinator"));
        if !alive {
            self.ghosts.push(number);
        }
        self.declared.get_or_insert(self.now);
        for other in 1..=self.nodes.len() {
            if self.node(other).alive {
                self.messages += usize::from(other != number);
                self.follow(other, number);
            }
        }
        let node = self.node(number);
        (node.leader, node.electing) = (Some(number), false);
    }

    /// A node hears that this one leads.
    fn follow(&mut self, number: usize, leader: usize) {
        self.node(number).leader = Some(leader);
        if self.repairs.ends {
            self.node(number).electing = false;
            let waits = [Event::ElectionEnds(number), Event::WaitEnds(number)];
            self.queue.retain(|(_, _, event)| !waits.contains(event));
        }
    }

    /// Every live node has a live leader.
    fn led(&self) -> bool {
        let live = |leader: usize| self.nodes[leader - 1].alive;
        self.nodes.iter().filter(|node| node.alive).all(|node| node.leader.is_some_and(live))
    }

    fn account(self, holds: bool) -> Account {
        Account::of(holds, self.story)
    }
}

const REPAIRED: Repairs =
    Repairs { dead_are_silent: true, forgets: true, ends: true, answers: false };

/// The same, and node 4 crashes in the middle of its election.
fn second_crash_with(repairs: Repairs) -> Simulation {
    let mut simulation = Simulation::new(repairs);
    simulation.plan(1_000, Event::Crash(4));
    simulation.run()
}

/// The two last lines before `env.run`, as Python reads them. `(yield env.timeout(0.5), crash())`
/// yields the pair of what its two parts are: `crash` is called first, when the process begins, and
/// simpy takes nothing but an event.
pub(super) fn runs_as_printed() -> Account {
    let mut simulation = Simulation::new(Repairs::default());
    simulation.queue.clear();
    simulation.happen(Event::Crash(5));
    simulation.note("RuntimeError: Invalid yield value \"(<Timeout(0.5)>, None)\"");
    let detected = simulation.nodes.iter().any(|node| node.electing);
    simulation.account(detected)
}

/// In the run that the chapter prints, node 3 retries.
pub(super) fn retries() -> Account {
    let run = Simulation::new(Repairs::default()).run();
    let holds = !run.retries.is_empty();
    run.account(holds)
}

/// The repaired program retries where a node that said OK has crashed.
pub(super) fn repaired_retries() -> Account {
    let run = second_crash_with(REPAIRED);
    let holds = !run.retries.is_empty();
    run.account(holds)
}

/// After a crash of a node that said OK, every live node has a live leader.
pub(super) fn second_crash() -> Account {
    let run = second_crash_with(Repairs::default());
    let holds = run.led();
    run.account(holds)
}

/// The same of the repaired program.
pub(super) fn repaired_second_crash() -> Account {
    let run = second_crash_with(REPAIRED);
    let holds = run.led();
    run.account(holds)
}

/// A crashed node declares nothing.
pub(super) fn dead_are_silent() -> Account {
    let run = second_crash_with(Repairs::default());
    let holds = run.ghosts.is_empty();
    run.account(holds)
}

/// The same of the repaired program.
pub(super) fn repaired_dead_are_silent() -> Account {
    let run = second_crash_with(REPAIRED);
    let holds = run.ghosts.is_empty();
    run.account(holds)
}

/// After the election in which node 4 has won, it crashes as well, and all that are left notice:
/// every live node has a live leader.
fn later_crash_with(repairs: Repairs) -> Account {
    let mut simulation = Simulation::new(repairs);
    simulation.plan(6_000, Event::Crash(4));
    for number in 1..=3 {
        simulation.plan(6_200, Event::Detect(number));
    }
    let run = simulation.run();
    let holds = run.led();
    run.account(holds)
}

/// The printed program elects again when the next leader crashes.
pub(super) fn elects_again() -> Account {
    later_crash_with(Repairs::default())
}

/// The same of the repaired program.
pub(super) fn repaired_elects_again() -> Account {
    later_crash_with(REPAIRED)
}

/// A node starts again just before the winner announces itself: no election is started after that,
/// and all have a leader.
fn short_circuits_with(repairs: Repairs) -> Account {
    let mut simulation = Simulation::new(repairs);
    simulation.t_coord = 0;
    let run = simulation.run();
    let holds = !run.retries.is_empty() && run.started_after == 0 && run.led();
    run.account(holds)
}

/// The repaired program.
pub(super) fn short_circuits() -> Account {
    short_circuits_with(REPAIRED)
}

/// The repaired program, with the branch that the text speaks of.
pub(super) fn branch_short_circuits() -> Account {
    short_circuits_with(Repairs { answers: true, ..REPAIRED })
}

/// Of the repaired program: node 4 crashes in the middle of each of its elections, and recovers
/// before node 3 asks again. No state in which node 3 asks comes again, or there is a leader.
pub(super) fn crashes_again() -> Account {
    let mut simulation = Simulation::new(REPAIRED);
    simulation.plan(1_100, Event::Crash(4));
    let period = T_ELEC + T_COORD;
    for round in 1..=(END - T_ELEC) / period {
        simulation.plan(600 + round * period, Event::Recover(4));
        simulation.plan(1_100 + round * period, Event::Crash(4));
    }
    let run = simulation.run();
    let again = run.retried_in.windows(2).skip(1).all(|pair| pair[0] == pair[1]);
    let for_ever = run.retried_in.len() > 3 && again && !run.led();
    run.account(!for_ever)
}

/// Of the repaired program with 100 nodes and time-outs of five seconds: for each node that may
/// notice, how many messages are sent, and how long it takes until a node declares itself.
fn of_a_hundred() -> Vec<(usize, u32)> {
    const HUNDRED: usize = 100;
    let one = |notices| {
        let mut simulation = Simulation::of(HUNDRED, notices, REPAIRED);
        (simulation.t_elec, simulation.t_coord) = (5_000, 12_500);
        let run = simulation.run();
        (run.messages, run.declared.map_or(END, |at| at - 700))
    };
    (1..HUNDRED).map(one).collect()
}

/// The mean number of messages is 500 at most.
pub(super) fn messages_of_a_hundred() -> Account {
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

/// It takes ten seconds at least.
pub(super) fn seconds_of_a_hundred() -> Account {
    let longest = of_a_hundred().into_iter().map(|(_, time)| time).max().unwrap_or(0);
    let (seconds, hundredths) = (longest / 1000, longest % 1000 / 10);
    let story = vec![format!("a node declares itself after {seconds}.{hundredths:02} s at most")];
    Account::of(longest >= 10_000, story)
}
