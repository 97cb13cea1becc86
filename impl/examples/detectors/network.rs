//! Made-up networks: when heartbeats are sent and when they arrive, from a seed.
//!
//! The link is FIFO, as one TCP connection is: a heartbeat that is held up holds up those behind
//! it. The same seed gives the same trace on every machine.

use std::time::Duration;

use bellwether_core::protocol::Time;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Bernoulli, Distribution, Exp, LogNormal, Normal, Uniform};

/// How often the process means to send a heartbeat.
pub(crate) const INTERVAL: Duration = Duration::from_millis(100);

/// A kind of network, or of process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Steady,
    Normal,
    LogNormal,
    LossOne,
    LossTen,
    Pauses,
    Drift,
}

impl Kind {
    pub(crate) const ALL: [Self; 7] = [
        Self::Steady,
        Self::Normal,
        Self::LogNormal,
        Self::LossOne,
        Self::LossTen,
        Self::Pauses,
        Self::Drift,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Normal => "jitter",
            Self::LogNormal => "heavy tail",
            Self::LossOne => "loss 1 %",
            Self::LossTen => "loss 10 %",
            Self::Pauses => "pauses",
            Self::Drift => "drift",
        }
    }

    /// What makes it different from [`Kind::Steady`].
    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Steady => "delays of 0.5 ms, deviation 0.1 ms (normal)",
            Self::Normal => "delays of 50 ms, deviation 20 ms (normal)",
            Self::LogNormal => {
                "delays with a median of 10 ms, one in 1000 above 220 ms (log-normal)"
            }
            Self::LossOne => "each heartbeat is lost with probability 0.01",
            Self::LossTen => "each heartbeat is lost with probability 0.1",
            Self::Pauses => "the process stops for 0.1 to 1 s, every 30 s on average",
            Self::Drift => "the interval between heartbeats grows slowly from 100 to 600 ms",
        }
    }

    fn loss(self) -> f64 {
        match self {
            Self::LossOne => 0.01,
            Self::LossTen => 0.1,
            Self::Steady | Self::Normal | Self::LogNormal | Self::Pauses | Self::Drift => 0.0,
        }
    }
}

/// A heartbeat, and when it arrives: never, if it is lost.
#[derive(Clone, Copy)]
pub(crate) struct Heartbeat {
    pub(crate) sent: Time,
    pub(crate) arrived: Option<Time>,
}

/// All the heartbeats of a process that comes up at [`Time::ZERO`], is up for `length`, and sends
/// the first after one interval.
pub(crate) fn trace(kind: Kind, length: Duration, seed: u64) -> Vec<Heartbeat> {
    let mut source = Source::new(kind, length, seed);
    let mut arrived_last = 0.0;
    let mut heartbeats = Vec::new();
    loop {
        let (sent, arrived) = source.next();
        if sent >= source.end {
            return heartbeats;
        }
        arrived_last = arrived.unwrap_or(0.0).max(arrived_last);
        let arrived = arrived.map(|_| milliseconds(arrived_last));
        heartbeats.push(Heartbeat { sent: milliseconds(sent), arrived });
    }
}

/// Makes one heartbeat after the other. Everything is in milliseconds.
struct Source {
    kind: Kind,
    random: ChaCha8Rng,
    end: f64,
    sent: f64,
    pause: f64,
}

impl Source {
    fn new(kind: Kind, length: Duration, seed: u64) -> Self {
        let random = ChaCha8Rng::seed_from_u64(seed);
        let end = length.as_secs_f64() * 1000.0;
        let mut source = Self { kind, random, end, sent: 0.0, pause: f64::INFINITY };
        if kind == Kind::Pauses {
            source.pause = source.sample(Exp::new(1.0 / 30_000.0));
        }
        source
    }

    /// When the next heartbeat is sent, and when it would arrive if none before it were held up.
    fn next(&mut self) -> (f64, Option<f64>) {
        self.sent += self.interval();
        if self.sent >= self.pause {
            self.sent = self.sent.max(self.pause + self.sample(Uniform::new(100.0, 1000.0)));
            self.pause = self.sent + self.sample(Exp::new(1.0 / 30_000.0));
        }
        let lost = self.sample(Bernoulli::new(self.kind.loss()));
        let delay = self.delay();
        (self.sent, (!lost).then_some(self.sent + delay))
    }

    fn interval(&self) -> f64 {
        let interval = INTERVAL.as_secs_f64() * 1000.0;
        match self.kind {
            Kind::Drift => interval * (1.0 + 5.0 * self.sent / self.end),
            _ => interval,
        }
    }

    fn delay(&mut self) -> f64 {
        let delay: f64 = match self.kind {
            Kind::Normal => self.sample(Normal::new(50.0, 20.0)),
            Kind::LogNormal => self.sample(LogNormal::new(10.0_f64.ln(), 1.0)),
            _ => self.sample(Normal::new(0.5, 0.1)),
        };
        delay.max(0.0)
    }

    /// The parameters are constants of this file: that they make a distribution, any run shows.
    fn sample<T, D: Distribution<T>, E: std::fmt::Debug>(&mut self, of: Result<D, E>) -> T {
        of.expect("constants that make a distribution").sample(&mut self.random)
    }
}

fn milliseconds(number: f64) -> Time {
    Time::from_nanos((number * 1e6).round() as u64)
}
