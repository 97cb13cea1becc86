//! The network: which links work, how bad it is, and when a message arrives.

use std::time::Duration;

use crate::clock::Moment;
use crate::faults::Weather;
use crate::random::Random;

/// The shortest time that a message takes when the network is well.
const SHORTEST: Duration = Duration::from_micros(500);

/// The longest time that a message takes when the network is well.
pub(crate) const LONGEST: Duration = Duration::from_millis(5);

/// How many messages a link holds; what is sent to a full one is lost. As many as a queue to a peer
/// of the daemon.
const CAPACITY: u8 = 64;

/// The links between all nodes.
#[derive(Debug)]
pub(crate) struct Network {
    nodes: usize,
    /// How many faults cut a link.
    cuts: Vec<u8>,
    any_cut: usize,
    /// How much longer a message takes on a link; empty if all are equally long.
    far: Vec<Duration>,
    /// How many messages are on their way.
    flying: Vec<u8>,
    /// The weather of each fault that lasts.
    pub(crate) weather: Vec<(usize, Weather)>,
    /// The moment by which all that was sent before arrives.
    pub(crate) calm: Moment,
}

impl Network {
    pub(crate) fn new(nodes: usize, calm: Moment) -> Self {
        let cuts = vec![0; nodes * nodes];
        let flying = vec![0; nodes * nodes];
        let (far, weather) = (Vec::new(), Vec::new());
        Self { nodes, cuts, flying, any_cut: 0, far, weather, calm }
    }

    pub(crate) fn cut(&mut self, from: usize, to: usize) {
        let cuts = &mut self.cuts[from * self.nodes + to];
        *cuts = cuts.saturating_add(1);
        self.any_cut += 1;
    }

    pub(crate) fn heal(&mut self, from: usize, to: usize) {
        let cuts = &mut self.cuts[from * self.nodes + to];
        *cuts = cuts.saturating_sub(1);
        self.any_cut -= 1;
    }

    /// A message takes so much longer on this link from now on.
    pub(crate) fn lengthen(&mut self, from: usize, to: usize, longer: Duration) {
        self.far.resize(self.nodes * self.nodes, Duration::ZERO);
        self.far[from * self.nodes + to] = longer;
    }

    /// A message has arrived.
    pub(crate) fn landed(&mut self, from: usize, to: usize) {
        let flying = &mut self.flying[from * self.nodes + to];
        *flying = flying.saturating_sub(1);
    }

    /// When a message that is sent now arrives, and its copy; none if it is lost.
    pub(crate) fn arrivals(
        &mut self,
        at: Moment,
        from: usize,
        to: usize,
        random: &mut Random,
    ) -> [Option<Moment>; 2] {
        let link = from * self.nodes + to;
        if (self.any_cut > 0 && self.cuts[link] > 0) || self.flying[link] >= CAPACITY {
            return [None, None];
        }
        let longer = self.far.get(link).copied().unwrap_or_default();
        let first = at + random.duration(SHORTEST, LONGEST) + longer;
        let mut arrivals = [Some(first), None];
        for (_, weather) in &self.weather {
            let late = first + random.skewed(weather.slow);
            if random.chance(weather.doubled) {
                arrivals[1] = Some(late);
            } else if weather.doubled == 0 && random.chance(500) {
                arrivals[0] = arrivals[0].max(Some(late));
            }
            if random.chance(weather.lost) {
                arrivals[0] = None;
            }
        }
        if at < self.calm {
            let soon = self.calm + LONGEST + longer;
            arrivals = arrivals.map(|arrival| arrival.map(|moment| moment.min(soon)));
        }
        self.flying[link] += arrivals.iter().flatten().count() as u8;
        arrivals
    }
}
