//! The flags that describe a protocol and a world, and the world that they describe or why there is
//! none; the same for every command that needs one.

use super::help::DURATIONS;
use super::timed_args::ticks;
use super::{DelayArg, TickRange, TimedArgs, UsageError};
use bellwether_engine::machine::{AnyProtocol, DynProtocol, Registry};
use bellwether_engine::property::{AGREED_WITHIN, Kind};
use bellwether_engine::protocol::{Id, Ids, MAX_NODES, MAX_SEARCHED, split_ids};
use bellwether_engine::world::{
    AbsentLinks, Budget, Delay, DeliveryFairness, Faults, Heals, Network, Recovers, Scenario,
    Start, Symmetry, Timing, World, WorldError,
};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Command, ValueEnum};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The protocol and its rules.
#[derive(Clone, Debug, Args)]
pub struct ProtocolArgs {
    /// The protocol (`list` shows them)
    #[arg(value_name = "PROTOCOL")]
    pub protocol: String,

    /// The named set of rules (`list PROTOCOL` shows them)
    #[arg(long, value_name = "NAME", help_heading = "Protocol")]
    pub variant: Option<String>,

    /// Replace a rule of the variant, or with '2:RULE=VALUE' that of process 2 alone; may be given
    /// again
    #[arg(long = "rule", value_name = "RULE=VALUE", value_parser = rule, help_heading = "Protocol")]
    pub rules: Vec<(String, String)>,
}

fn rule(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((rule, value)) if !rule.is_empty() && !value.is_empty() => {
            Ok((rule.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("a rule is given as RULE=VALUE, such as t_coord=false".to_owned()),
    }
}

/// Whether both set the same rule of the same process, or of all.
fn same(one: &str, other: &str) -> bool {
    let (Ok((ids, rule)), Ok((others, other))) = (split_ids(one), split_ids(other)) else {
        return false;
    };
    rule == other && (ids == others || ids.iter().any(|id| others.contains(id)))
}

impl ProtocolArgs {
    /// Returns the rules that the flags name.
    ///
    /// # Errors
    /// If there is no such protocol, variant, process, rule or value.
    pub fn rules(&self, registry: Registry) -> Result<Arc<dyn DynProtocol>, UsageError> {
        let protocol = registry.find(&self.protocol)?;
        let twice =
            |at: &usize| self.rules[..*at].iter().any(|(rule, _)| same(rule, &self.rules[*at].0));
        if let Some(at) = (0..self.rules.len()).find(twice) {
            let rule = self.rules[at].0.clone();
            return Err(UsageError::RuleTwice { rule });
        }
        Ok(protocol.rules(self.variant.as_deref(), &self.rules)?)
    }

    /// Returns the flags as they are typed.
    #[must_use]
    pub fn typed(&self) -> String {
        let mut typed = self.protocol.clone();
        if let Some(variant) = &self.variant {
            typed += &format!(" --variant {variant}");
        }
        for (rule, value) in &self.rules {
            typed += &format!(" --rule {rule}={value}");
        }
        typed
    }
}

/// The processes and their surrounding.
#[derive(Clone, Debug, Args)]
pub struct WorldArgs {
    /// How many processes there are, 2 to 7; with each, a world grows many times larger. Random
    /// walks of most protocols take up to 128
    #[arg(short, long, default_value_t = 3, value_name = "N", help_heading = "Processes",
          value_parser = nodes, allow_negative_numbers = true)]
    pub nodes: usize,

    /// How often a process may crash; each budget bounds how often, never when or where
    #[arg(long, default_value_t = 1, value_name = "K", help_heading = "Faults",
          value_parser = budget, allow_negative_numbers = true)]
    pub crashes: u8,

    /// How often a crashed process may recover; 'must:K': and does, while any of K is left; 'must':
    /// the same, as often as processes may crash; 'quiet:K': but not while an election runs
    #[arg(long, default_value_t = RecoveriesArg::NONE, value_name = "K", help_heading = "Faults",
          allow_negative_numbers = true)]
    pub recoveries: RecoveriesArg,

    /// How often a message may be lost, or 'unbounded'
    #[arg(long, default_value_t = Budget::NONE, value_name = "K", help_heading = "Faults",
          allow_negative_numbers = true)]
    pub losses: Budget,

    /// How often a message in flight may be duplicated
    #[arg(long, default_value_t = 0, value_name = "K", help_heading = "Faults",
          value_parser = budget, allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    pub duplicates: u8,

    /// How often the link between two processes may be cut
    #[arg(long, default_value_t = 0, value_name = "K", help_heading = "Faults",
          value_parser = budget, allow_negative_numbers = true)]
    pub cuts: u8,

    /// How often one direction of a link may be cut: what is sent there is lost, the other works
    #[arg(long, default_value_t = 0, value_name = "K", help_heading = "Faults",
          value_parser = budget, allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    pub one_way_cuts: u8,

    /// How often a timer may expire although what it waits for could still come
    #[arg(long, default_value_t = 0, value_name = "K", help_heading = "Faults",
          value_parser = budget, allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    pub suspicions: u8,

    /// How often a process may be paused for some time and then resume, in a timed world
    #[arg(long, default_value_t = 0, value_name = "K", help_heading = "Faults",
          value_parser = budget, allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    pub pauses: u8,

    /// How often the clock of one process may jump by '--jump', in a timed world
    #[arg(long, default_value_t = 0, value_name = "K", help_heading = "Faults",
          value_parser = budget, allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    pub jumps: u8,

    /// By how many ticks a clock jumps, ahead or back
    #[arg(long, value_name = "TICKS", help_heading = "Faults", value_parser = ticks,
          allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    pub jump: Option<u8>,

    /// Whether cut links heal
    #[arg(long, value_enum, default_value_t = HealsArg::May, help_heading = "Faults")]
    #[arg(hide_short_help = true)]
    pub heals: HealsArg,

    /// The fairness of links to a message that is sent again and again, where messages can be lost
    #[arg(long, value_enum, default_value_t = FairnessArg::Weak, help_heading = "Network")]
    #[arg(hide_short_help = true)]
    pub fairness: FairnessArg,

    /// A link that is missing: '1-2', or '1>2' if only 2 does not hear 1; may be given again
    #[arg(long, value_name = "LINK", help_heading = "Network")]
    #[arg(hide_short_help = true)]
    pub without: Vec<AbsentLinks>,

    /// What the network does to the order of messages
    #[arg(long, value_enum, default_value_t = NetworkArg::Fifo, help_heading = "Network")]
    #[arg(hide_short_help = true)]
    pub network: NetworkArg,

    /// When an armed timer may expire
    #[arg(long, value_enum, default_value_t = TimingArg::Perfect, help_heading = "Timing")]
    pub timing: TimingArg,

    /// How an execution begins
    #[arg(long, value_enum, default_value_t = StartArg::Converged, help_heading = "Processes")]
    #[arg(hide_short_help = true)]
    pub start: StartArg,

    /// The processes that are down at the beginning, such as '2,3'
    #[arg(long, value_name = "IDS", value_delimiter = ',', help_heading = "Processes")]
    #[arg(hide_short_help = true, allow_negative_numbers = true)]
    pub down: Vec<Id>,

    /// At most this many messages in flight from one process to another; fuller states are not
    /// searched; 'none' for no bound [default: none; unless the network is 'set', 3 with unbounded
    /// losses, and 2 with asynchronous timing, --delay unbounded, or cuts in a world without a
    /// clock]
    #[arg(long, value_name = "K", help_heading = "Network",
          value_parser = capacity, allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    pub capacity: Option<Capacity>,

    /// Whether states that differ only by a symmetry, such as the numbers of elections, are one
    #[arg(long, value_enum, default_value_t = SymmetryArg::Reduced, help_heading = "Search")]
    #[arg(hide_short_help = true)]
    pub symmetry: SymmetryArg,

    /// How long everything takes, in a timed world.
    #[command(flatten)]
    pub timed: TimedArgs,
}

/// The flags that only a timed world has.
const OF_CLOCKS: [&str; 8] =
    ["pauses", "jumps", "jump", "delay", "slow", "processing", "drift", "within"];

/// Returns a command without timed worlds. It understands the flags, so that it can say why not.
#[must_use]
pub fn without_clock(command: Command) -> Command {
    let values = TimingArg::value_variants().iter().filter_map(TimingArg::to_possible_value);
    let values =
        values.map(|value| if value.matches("timed", false) { value.hide(true) } else { value });
    let parser = PossibleValuesParser::new(values)
        .try_map(|name| <TimingArg as ValueEnum>::from_str(&name, false));
    command.mut_args(|arg| match arg.get_id().as_str() {
        "timing" => arg.value_parser(parser.clone()),
        id if OF_CLOCKS.contains(&id) || arg.get_help_heading() == Some(DURATIONS) => {
            arg.hide(true)
        }
        _ => arg,
    })
}

fn nodes(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| {
        format!("give a whole number from 2 to {MAX_SEARCHED}; random walks take 2 to {MAX_NODES}")
    })
}

fn budget(text: &str) -> Result<u8, String> {
    text.parse().map_err(|_| "give a whole number from 0 to 255".to_owned())
}

/// The value of `--capacity`: the most messages on a link, or `None` for no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity(pub Option<usize>);

fn capacity(text: &str) -> Result<Capacity, String> {
    if text == "none" {
        return Ok(Capacity(None));
    }
    let most = text.parse().map_err(|_| "give a whole number of messages, at least 1, or none")?;
    Ok(Capacity(Some(most)))
}

/// The bound on links of a world in which nothing is said of it. Timers that may always expire, and
/// elections that a cut link or losses never let end, send without end; only merging messages stay
/// finite. Where time is measured, so many fit in it, unless a message has no time. With losses,
/// three let some worlds be decided that two leave unknown.
fn usual_capacity(faults: &Faults, timing: &Timing, network: Network) -> Option<usize> {
    let cuts = (faults.cuts, faults.one_way_cuts) != (0, 0);
    let endless = match timing {
        Timing::Timed(timed) => (timed.delay == Delay::Unbounded).then_some(2),
        _ if faults.losses == Budget::Unbounded => Some(3),
        Timing::Perfect => cuts.then_some(2),
        Timing::Asynchronous => Some(2),
    };
    endless.filter(|_| network != Network::Set)
}

/// The values of `--heals`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HealsArg {
    /// At any time, or never
    May,
    /// In the end
    Must,
}

/// The values of `--fairness`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FairnessArg {
    /// Weakly fair: each may be lost
    Weak,
    /// Strongly fair: it arrives again and again
    Strong,
}

/// The values of `--network`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NetworkArg {
    /// In the order of sending, on each link
    Fifo,
    /// In any order
    Unordered,
    /// In any order, identical messages in flight merging into one
    Set,
}

/// The values of `--timing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimingArg {
    /// Only once what it waits for can no longer come
    Perfect,
    /// At any moment: no time-out can be trusted
    Asynchronous,
    /// When its time has come: everything counts ticks
    Timed,
}

/// The values of `--start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StartArg {
    /// Every process is up, and all have long agreed
    Converged,
    /// All processes have just started
    Cold,
}

/// The values of `--symmetry`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SymmetryArg {
    /// They are, where the protocol can canonicalize
    Reduced,
    /// They are not
    Concrete,
}

impl WorldArgs {
    /// Returns the scenario that the flags set.
    ///
    /// # Errors
    /// If flags of timed worlds are given without one, or one without its flags.
    pub fn scenario(&self) -> Result<Scenario, WorldError> {
        let timing = match self.timing {
            TimingArg::Timed => Timing::Timed(self.timed.timed()?),
            TimingArg::Perfect => self.timed.refuse().map(|()| Timing::Perfect)?,
            TimingArg::Asynchronous => self.timed.refuse().map(|()| Timing::Asynchronous)?,
        };
        Ok(self.scenario_with(timing))
    }

    /// Refuses flags of timed worlds, for a command that knows none.
    ///
    /// # Errors
    /// The first such flag; `why` says why, and what to do.
    pub fn refuse_clock(&self, why: &str) -> Result<(), UsageError> {
        let timing = (self.timing == TimingArg::Timed).then(|| "timing timed".to_owned());
        let given =
            [(self.pauses > 0, "pauses"), (self.jumps > 0, "jumps"), (self.jump.is_some(), "jump")];
        let given = given.into_iter().find(|(given, _)| *given).map(|(_, flag)| flag.to_owned());
        let flag = timing.or(given).or_else(|| self.timed.given());
        match flag {
            Some(flag) => Err(UsageError::NoClock { flag, why: why.to_owned() }),
            None => Ok(()),
        }
    }

    /// The processes that are down at the beginning.
    fn down(&self) -> Ids {
        self.down.iter().copied().collect()
    }

    fn cut_links(&self) -> bool {
        (self.cuts, self.one_way_cuts) != (0, 0)
    }

    /// Refuses flags that are given and change nothing, whatever the protocol.
    ///
    /// # Errors
    /// The first such flag.
    pub fn change_something(&self) -> Result<(), UsageError> {
        let without = |flag: &str, why: &str| Err(UsageError::no_effect(flag, why));
        if self.heals == HealsArg::Must && !self.cut_links() {
            return without("--heals must", "no link is cut; add --cuts K, or leave it out");
        }
        if self.jump.is_some() && self.jumps == 0 {
            return without("--jump", "no clock jumps; add --jumps K, or leave it out");
        }
        if self.fairness == FairnessArg::Strong && self.losses == Budget::NONE {
            return without(
                "--fairness strong",
                "no message is lost; add --losses K, or leave it out",
            );
        }
        let stops = stops(self.crashes, self.down());
        if self.recoveries != RecoveriesArg::NONE && stops == 0 {
            return without(
                "--recoveries",
                "no process crashes or is down; add --crashes K or --down IDS, or leave it out",
            );
        }
        let most = self.recoveries.most(stops);
        if most > stops {
            let fewer = RecoveriesArg::of(stops, stops, self.recoveries.recovers());
            let crashes = self.crashes + (most - stops);
            let why = format!(
                "no process recovers more often than processes crash; add --crashes {crashes}, \
                 or give --recoveries {fewer}"
            );
            return without(&format!("--recoveries {}", self.recoveries), &why);
        }
        Ok(())
    }

    /// Refuses flags that only properties depend on, for a command that decides none.
    ///
    /// # Errors
    /// The first such flag.
    pub fn change_what_happens(&self) -> Result<(), UsageError> {
        let why = "no property is decided here, and nothing else depends on it; leave it out";
        let fairness = (self.fairness == FairnessArg::Strong).then_some("--fairness strong");
        let within = self.timed.within.map(|_| "--within");
        match fairness.or(within) {
            Some(flag) => Err(UsageError::no_effect(flag, why)),
            None => Ok(()),
        }
    }

    /// Refuses flags that only liveness, or one property, depends on, where it is not asked.
    ///
    /// # Errors
    /// The first such flag.
    pub fn are_asked_about(&self, asked: &[(&str, Kind)]) -> Result<(), UsageError> {
        let no_effect = |flag: &str, why: &str| Err(UsageError::no_effect(flag, why));
        let liveness = asked.iter().any(|&(_, kind)| kind == Kind::Liveness);
        if self.fairness == FairnessArg::Strong && !liveness {
            let why = "only liveness depends on it, and none is asked; ask for such a property \
                       too, or leave it out";
            return no_effect("--fairness strong", why);
        }
        if self.timed.within.is_some() && !asked.iter().any(|&(name, _)| name == AGREED_WITHIN) {
            let why = "only the property agreed-within depends on it, which is not asked; add \
                       --property agreed-within, or leave it out";
            return no_effect("--within", why);
        }
        Ok(())
    }

    /// Refuses flags that are given and change nothing in worlds of this protocol.
    ///
    /// # Errors
    /// The first such flag.
    pub fn have_effect(&self, protocol: &dyn AnyProtocol) -> Result<(), UsageError> {
        self.change_something()?;
        if self.symmetry == SymmetryArg::Concrete && !protocol.canonicalizes() {
            let why = format!("{} has no symmetry; leave it out", protocol.name());
            return Err(UsageError::no_effect("--symmetry concrete", why));
        }
        let known: Vec<&str> = protocol.durations().iter().map(|one| one.name).collect();
        match self.timed.durations.names().find(|name| !known.contains(name)) {
            Some(name) => {
                let known = known.iter().map(|name| format!("--{name}")).collect::<Vec<_>>();
                let (protocol, known) = (protocol.name(), known.join(", "));
                let why = format!("no timer of {protocol} takes it; there are: {known}");
                Err(UsageError::no_effect(format!("--{name}"), why))
            }
            None => Ok(()),
        }
    }

    /// Returns the scenario that the flags set, whatever they say about timing.
    #[must_use]
    pub fn scenario_with(&self, timing: Timing) -> Scenario {
        let network = match self.network {
            NetworkArg::Fifo => Network::Fifo,
            NetworkArg::Unordered => Network::Unordered,
            NetworkArg::Set => Network::Set,
        };
        let faults = Faults {
            crashes: self.crashes,
            recoveries: self.recoveries.most(stops(self.crashes, self.down())),
            losses: self.losses,
            duplicates: self.duplicates,
            cuts: self.cuts,
            one_way_cuts: self.one_way_cuts,
            suspicions: self.suspicions,
            pauses: self.pauses,
            jumps: self.jumps,
        };
        let usual = usual_capacity(&faults, &timing, network);
        Scenario {
            nodes: self.nodes,
            faults,
            heals: match self.heals {
                HealsArg::May => Heals::May,
                HealsArg::Must => Heals::Must,
            },
            recovers: self.recoveries.recovers(),
            jump: self.jump.unwrap_or(0),
            fairness: match self.fairness {
                FairnessArg::Weak => DeliveryFairness::Weak,
                FairnessArg::Strong => DeliveryFairness::Strong,
            },
            missing: self.without.iter().fold(AbsentLinks::NONE, |all, &one| all.and(one)),
            network,
            timing,
            start: match self.start {
                StartArg::Converged => Start::Converged,
                StartArg::Cold => Start::Cold,
            },
            down: self.down(),
            capacity: self.capacity.map_or(usual, |Capacity(most)| most),
            symmetry: match self.symmetry {
                SymmetryArg::Reduced => Symmetry::Reduced,
                SymmetryArg::Concrete => Symmetry::Concrete,
            },
        }
    }

    /// Returns the flags that set this scenario, as they are typed: neither defaults, nor what
    /// changes nothing.
    #[must_use]
    pub fn typed(scenario: &Scenario) -> String {
        let mut flags = format!("--nodes {}", scenario.nodes);
        let faults = scenario.faults;
        for (name, budget) in faults.named() {
            let usual = Budget::AtMost(u8::from(name == "crashes"));
            if name == "recoveries" {
                flags += &RecoveriesArg::typed(scenario);
            } else if budget != usual {
                flags += &format!(" --{name} {budget}");
            }
        }
        if scenario.heals != Heals::May && (faults.cuts, faults.one_way_cuts) != (0, 0) {
            flags += &format!(" --heals {}", scenario.heals);
        }
        if faults.jumps > 0 {
            flags += &format!(" --jump {}", scenario.jump);
        }
        if scenario.fairness != DeliveryFairness::Weak && faults.losses != Budget::NONE {
            flags += &format!(" --fairness {}", scenario.fairness);
        }
        for link in scenario.missing.words() {
            flags += &format!(" --without '{link}'");
        }
        if scenario.network != Network::Fifo {
            flags += &format!(" --network {}", scenario.network);
        }
        if scenario.timing != Timing::Perfect {
            flags += &format!(" --timing {}", scenario.timing.kind());
        }
        if let Timing::Timed(timed) = &scenario.timing {
            flags += &TimedArgs::typed(timed);
        }
        if scenario.start != Start::Converged {
            flags += &format!(" --start {}", scenario.start);
        }
        if !scenario.down.is_empty() {
            flags += &format!(" --down {}", scenario.down);
        }
        let usual = usual_capacity(&faults, &scenario.timing, scenario.network);
        match scenario.capacity {
            Some(most) => flags += &format!(" --capacity {most}"),
            None if usual.is_some() => flags += " --capacity none",
            None => {}
        }
        if scenario.symmetry != Symmetry::Reduced {
            flags += &format!(" --symmetry {}", scenario.symmetry);
        }
        flags
    }
}

/// Returns how often a process may come to be down: by a crash, or from the beginning on.
fn stops(crashes: u8, down: Ids) -> u8 {
    u8::try_from(down.len()).map_or(u8::MAX, |down| crashes.saturating_add(down))
}

/// The value of `--recoveries`: how often a crashed process may recover, `K`. If it recovers in the
/// end, as long as any of them are left: `must:K`, or `must` for as many as there may be crashes.
/// If it recovers only while no election runs: `quiet:K`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveriesArg {
    /// So many recoveries, each of which may happen.
    May(u8),
    /// So many, not 0, and while one is left, no process stays down for ever.
    Must(u8),
    /// The same, and as many as processes may crash: none stays down for ever.
    EachMust,
    /// So many, not 0, each of which may happen while no election runs.
    Quiet(u8),
}

const MUST: &str = "must";
const QUIET: &str = "quiet";

impl RecoveriesArg {
    /// No process recovers.
    pub const NONE: RecoveriesArg = RecoveriesArg::May(0);

    /// Returns the shortest that says so many recoveries where processes stop so often.
    fn of(most: u8, stops: u8, recovers: Recovers) -> RecoveriesArg {
        match recovers {
            Recovers::Must if most > 0 && most == stops => RecoveriesArg::EachMust,
            Recovers::Must if most > 0 => RecoveriesArg::Must(most),
            Recovers::Quiet if most > 0 => RecoveriesArg::Quiet(most),
            _ => RecoveriesArg::May(most),
        }
    }

    /// Returns how many recoveries there may be, if processes stop so often.
    #[must_use]
    pub fn most(self, stops: u8) -> u8 {
        match self {
            RecoveriesArg::May(most) | RecoveriesArg::Must(most) | RecoveriesArg::Quiet(most) => {
                most
            }
            RecoveriesArg::EachMust => stops,
        }
    }

    /// Returns whether they must happen, and when they may.
    #[must_use]
    pub fn recovers(self) -> Recovers {
        match self {
            RecoveriesArg::May(_) => Recovers::May,
            RecoveriesArg::Must(_) | RecoveriesArg::EachMust => Recovers::Must,
            RecoveriesArg::Quiet(_) => Recovers::Quiet,
        }
    }

    /// Returns the flag as it is typed, if this scenario takes it.
    fn typed(scenario: &Scenario) -> String {
        let faults = scenario.faults;
        let stops = stops(faults.crashes, scenario.down);
        let arg = RecoveriesArg::of(faults.recoveries, stops, scenario.recovers);
        match arg {
            _ if arg == RecoveriesArg::NONE || stops == 0 => String::new(),
            arg => format!(" --recoveries {arg}"),
        }
    }
}

impl fmt::Display for RecoveriesArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecoveriesArg::May(most) => most.fmt(f),
            RecoveriesArg::Must(most) => write!(f, "{MUST}:{most}"),
            RecoveriesArg::EachMust => f.write_str(MUST),
            RecoveriesArg::Quiet(most) => write!(f, "{QUIET}:{most}"),
        }
    }
}

impl FromStr for RecoveriesArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "give a whole number K from 0 to 255, 'must:K' or 'quiet:K' with K from 1, or \
                     'must'";
        let (recovers, number) = match text.split_once(':') {
            None if text == MUST => return Ok(RecoveriesArg::EachMust),
            None => (Recovers::May, text),
            Some((MUST, number)) => (Recovers::Must, number),
            Some((QUIET, number)) => (Recovers::Quiet, number),
            Some(_) => return Err(wrong),
        };
        match (recovers, number.parse()) {
            (Recovers::May, Ok(most)) => Ok(RecoveriesArg::May(most)),
            (_, Ok(0) | Err(_)) => Err(wrong),
            (Recovers::Must, Ok(most)) => Ok(RecoveriesArg::Must(most)),
            (Recovers::Quiet, Ok(most)) => Ok(RecoveriesArg::Quiet(most)),
        }
    }
}

/// Returns the world that the flags describe.
///
/// # Errors
/// If the rules or the scenario are not possible.
pub fn world(
    registry: Registry,
    protocol: &ProtocolArgs,
    scenario: &WorldArgs,
) -> Result<Arc<World>, UsageError> {
    let rules = protocol.rules(registry)?;
    scenario.have_effect(registry.find(&protocol.protocol)?)?;
    match scenario.scenario() {
        Err(WorldError::NoDelay) => Err(nothing_of_delays(&rules, scenario).into()),
        asked => {
            let world = World::of(rules, asked?)?;
            can_crash_so_often(scenario, &world)?;
            Ok(Arc::new(world))
        }
    }
}

/// Refuses more crashes than there can be.
fn can_crash_so_often(scenario: &WorldArgs, world: &World) -> Result<(), UsageError> {
    let (asked, most) = (scenario.crashes, world.most_crashes());
    let Some(more) = usize::from(asked).checked_sub(most).filter(|&more| more > 0) else {
        return Ok(());
    };
    let recoveries = usize::from(world.scenario().faults.recoveries);
    let (processes, recoveries) = (most - recoveries, recoveries + more);
    let why = format!(
        "there are at most {most}, as each of the {processes} processes that may crash does so \
         once, and again after each recovery; give --crashes {most}, or --recoveries {recoveries}"
    );
    Err(UsageError::no_effect(format!("--crashes {asked}"), why))
}

/// Returns the world that the flags describe, for a command that searches it exhaustively.
///
/// # Errors
/// As [`world`], and if there are too many processes for that.
pub fn searchable_world(
    registry: Registry,
    protocol: &ProtocolArgs,
    scenario: &WorldArgs,
) -> Result<Arc<World>, UsageError> {
    let world = world(registry, protocol, scenario)?;
    world.is_searchable()?;
    Ok(world)
}

/// What is missing where no delay is given: all of it at once.
fn nothing_of_delays(rules: &Arc<dyn DynProtocol>, scenario: &WorldArgs) -> WorldError {
    let mut with_delay = scenario.clone();
    with_delay.timed.delay = Some(DelayArg::Ticks(TickRange { from: 1, to: 1 }));
    let wrong =
        with_delay.scenario().and_then(|scenario| World::of(Arc::clone(rules), scenario).map(drop));
    match wrong {
        Err(WorldError::NoDuration { mut missing }) => {
            missing.insert(0, ("delay", "how long a message may take; or 'unbounded'"));
            WorldError::NoDuration { missing }
        }
        _ => WorldError::NoDelay,
    }
}

#[cfg(test)]
mod tests {
    use super::RecoveriesArg::{self, EachMust, May, Must, Quiet};
    use bellwether_engine::world::{Recovers, Scenario};

    #[test]
    fn it_is_read_as_it_is_written() {
        for arg in [May(0), May(255), Must(1), Must(255), EachMust, Quiet(1), Quiet(255)] {
            assert_eq!(arg.to_string().parse(), Ok(arg));
        }
        let wrongs = [
            "", "-1", "256", "must:0", "must:", "must:x", "may:1", "Must", "must:1:1", "quiet",
            "quiet:0",
        ];
        for wrong in wrongs {
            assert!(wrong.parse::<RecoveriesArg>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_typed_for_a_scenario_sets_it() {
        let cases = [
            (0, 0, Recovers::May),
            (2, 1, Recovers::May),
            (2, 2, Recovers::May),
            (2, 1, Recovers::Must),
            (2, 2, Recovers::Must),
            (2, 2, Recovers::Quiet),
        ];
        for (crashes, most, recovers) in cases {
            let scenario = Scenario { recovers, ..Scenario::calm(3).with_crashes(crashes, most) };
            let typed = RecoveriesArg::typed(&scenario);
            let value = typed.strip_prefix(" --recoveries ").unwrap_or("0");
            let read: RecoveriesArg = value.parse().expect("it is read");
            assert_eq!((read.most(crashes), read.recovers()), (most, recovers), "{typed}");
        }
    }
}
