//! The flags of timed worlds. Those for the durations of timers are the protocols': each names its
//! own.

use super::help::DURATIONS;
use bellwether_engine::machine::Registry;
use bellwether_engine::protocol::{self, Duration, read_ids};
use bellwether_engine::world::{Delay, Drift, Durations, MAX_TICKS, SlowLinks, Timed, WorldError};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, Id};

/// How long everything takes, in ticks.
#[derive(Clone, Debug, Default, Args)]
pub struct TimedArgs {
    /// Tm: how many ticks a message may be on its way, or 'unbounded'
    #[arg(long, value_name = "TICKS", help_heading = "Timing", value_parser = delays,
          allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    pub delay: Option<DelayArg>,

    /// A link on which a message may be longer on its way: '1-2=5', or '1>2=5' for one direction;
    /// may be given again
    #[arg(long, value_name = "LINK=TICKS", help_heading = "Timing")]
    #[arg(hide_short_help = true)]
    pub slow: Vec<SlowLinks>,

    /// Tp: how many ticks may pass before what is sent in answer to a message leaves [default: 0]
    #[arg(long, value_name = "TICKS", help_heading = "Timing", value_parser = range,
          allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    pub processing: Option<TickRange>,

    /// How far clocks run from the right speed, such as 1/10 or 10%, at most 1/2 [default: 0]
    #[arg(long, value_name = "RATIO", help_heading = "Timing", allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    pub drift: Option<Drift>,

    /// Check whether all agree once this many ticks have passed since the last fault
    #[arg(long, value_name = "TICKS", help_heading = "Timing", value_parser = ticks,
          allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    pub within: Option<u8>,

    /// How long timers take.
    #[command(flatten)]
    pub durations: DurationArgs,
}

/// A number of ticks, or several that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickRange {
    /// The first number of ticks.
    pub from: u8,
    /// The last number of ticks.
    pub to: u8,
}

impl TickRange {
    /// Returns the numbers, ascending.
    pub fn iter(self) -> impl Iterator<Item = u8> + Clone {
        self.from..=self.to
    }

    fn only(self, flag: &'static str) -> Result<u8, WorldError> {
        let TickRange { from, to } = self;
        if from == to { Ok(from) } else { Err(WorldError::Range { flag, from, to }) }
    }
}

/// The values of `--delay`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayArg {
    /// The delay is at most this many ticks.
    Ticks(TickRange),
    /// The delay is at most this many milliseconds, or each number of ticks between two of them.
    Millis {
        /// The first number of milliseconds.
        from: u32,
        /// The last number of milliseconds.
        to: u32,
    },
    /// The delay has no bound.
    Unbounded,
}

pub(super) fn ticks(text: &str) -> Result<u8, String> {
    let known = text.parse().ok().filter(|&ticks| ticks <= MAX_TICKS);
    known.ok_or_else(|| format!("give a whole number of ticks, at most {MAX_TICKS}"))
}

/// A number of ticks, or a range, which only `tune` takes; others are told so when they read it.
fn read(text: &str) -> Option<TickRange> {
    let (from, to) = match text.split_once("..") {
        Some((from, to)) => (from, to.strip_prefix('=').unwrap_or(to)),
        None => (text, text),
    };
    let (from, to) = (ticks(from).ok()?, ticks(to).ok()?);
    (from <= to).then_some(TickRange { from, to })
}

fn range(text: &str) -> Result<TickRange, String> {
    read(text).ok_or_else(|| format!("give a number of ticks, at most {MAX_TICKS}"))
}

fn delays(text: &str) -> Result<DelayArg, String> {
    match text {
        "unbounded" => Ok(DelayArg::Unbounded),
        _ => range(text).map(DelayArg::Ticks).map_err(|wrong| format!("{wrong}, or 'unbounded'")),
    }
}

/// Like [`range`], for a command that takes ranges.
pub(super) fn any_range(text: &str) -> Result<TickRange, String> {
    let wrong = || format!("give a number of ticks up to {MAX_TICKS}, or a range such as 1..3");
    read(text).ok_or_else(wrong)
}

/// Like [`delays`], for a command that takes ranges, and milliseconds. It says itself what is wrong
/// with `unbounded`.
pub(super) fn any_delay(text: &str) -> Result<DelayArg, String> {
    match text {
        "unbounded" => Ok(DelayArg::Unbounded),
        _ if text.ends_with(MILLIS) => {
            let wrong = || "give milliseconds such as 5ms, or a range such as 5ms..15ms".to_owned();
            millis(text).ok_or_else(wrong)
        }
        _ => any_range(text).map(DelayArg::Ticks),
    }
}

const MILLIS: &str = "ms";

fn millis(text: &str) -> Option<DelayArg> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let to = to.strip_prefix('=').unwrap_or(to).strip_suffix(MILLIS)?;
    let from = from.strip_suffix(MILLIS).unwrap_or(from);
    let (from, to): (u32, u32) = (from.parse().ok()?, to.parse().ok()?);
    (from <= to).then_some(DelayArg::Millis { from, to })
}

/// The milliseconds that a tick takes.
pub(super) fn tick(text: &str) -> Result<u32, String> {
    let millis = text.strip_suffix(MILLIS).unwrap_or(text).parse().ok();
    let millis = millis.filter(|millis| (1..=60_000).contains(millis));
    millis.ok_or_else(|| {
        "give a whole number of milliseconds such as 5ms, at most a minute".to_owned()
    })
}

impl TimedArgs {
    /// Returns the scenario that the flags set.
    ///
    /// # Errors
    /// If something is missing, or is a range.
    pub fn timed(&self) -> Result<Timed, WorldError> {
        let delay = match self.delay.ok_or(WorldError::NoDelay)? {
            DelayArg::Ticks(range) => Delay::AtMost(range.only("delay")?),
            DelayArg::Unbounded => Delay::Unbounded,
            // Only `tune` reads such a delay, and knows how long a tick is.
            DelayArg::Millis { .. } => return Err(WorldError::NoDelay),
        };
        let processing = self.processing.map_or(Ok(0), |range| range.only("processing"))?;
        let durations = self.durations.durations()?;
        let drift = self.drift.unwrap_or_default();
        let slow = self.slow();
        Ok(Timed { delay, slow, processing, drift, durations, within: self.within })
    }

    pub(super) fn slow(&self) -> SlowLinks {
        self.slow.iter().fold(SlowLinks::NONE, |all, &one| all.and(one))
    }

    /// The name of the first flag that is given.
    pub(super) fn given(&self) -> Option<String> {
        let given = [
            (self.delay.is_some(), "delay"),
            (!self.slow.is_empty(), "slow"),
            (self.processing.is_some(), "processing"),
            (self.drift.is_some(), "drift"),
            (self.within.is_some(), "within"),
        ];
        let given = given.into_iter().filter_map(|(given, flag)| given.then_some(flag));
        given.chain(self.durations.names()).next().map(str::to_owned)
    }

    /// None of the flags has a meaning in a world without a clock.
    pub(super) fn refuse(&self) -> Result<(), WorldError> {
        self.given().map_or(Ok(()), |flag| Err(WorldError::NotTimed { flag }))
    }

    /// The flags that set this scenario, as they are typed.
    pub(super) fn typed(timed: &Timed) -> String {
        let Timed { delay, slow, processing, drift, durations, within } = timed;
        let mut flags = format!(" --delay {delay}");
        for word in slow.words() {
            flags += &format!(" --slow '{word}'");
        }
        if *processing > 0 {
            flags += &format!(" --processing {processing}");
        }
        if !drift.is_none() {
            flags += &format!(" --drift {drift}");
        }
        for word in durations.words() {
            flags += &format!(" --{word}");
        }
        flags + &within.map_or_else(String::new, |within| format!(" --within {within}"))
    }
}

/// How long timers take: one flag for each duration of any protocol, if the command line is built
/// [with them](with_durations).
#[derive(Clone, Debug, Default)]
pub struct DurationArgs {
    /// The durations of all processes that have none of their own.
    pub usual: Vec<(&'static str, u8)>,
    /// The durations that single processes have of their own.
    pub own: Vec<(&'static str, protocol::Id, u8)>,
}

impl DurationArgs {
    /// Returns the durations that are given.
    ///
    /// # Errors
    /// If one is given twice, or they are more than a protocol can have.
    pub fn durations(&self) -> Result<Durations, WorldError> {
        let twice = |flag: String| {
            let wrong = "is given twice, and only one value can hold; leave one of them out";
            WorldError::Durations(format!("--{flag} {wrong}"))
        };
        let mut all = Durations::NONE;
        for &(name, ticks) in &self.usual {
            if all.get(name).is_some() {
                return Err(twice(name.to_owned()));
            }
            all = all.with(name, ticks).map_err(WorldError::Durations)?;
        }
        for &(name, id, ticks) in &self.own {
            if all.own().any(|(known, whose, _)| (known, whose) == (name, id)) {
                return Err(twice(format!("{name} {id}=...")));
            }
            all = all.with_own(name, id, ticks).map_err(WorldError::Durations)?;
        }
        Ok(all)
    }

    /// Returns the names of the durations that are given.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let own = self.own.iter().map(|&(name, ..)| name);
        self.usual.iter().map(|&(name, _)| name).chain(own)
    }
}

/// The value of a flag for a duration: the place and the name of the duration, the processes that
/// have it of their own, and its ticks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Given(usize, &'static str, Vec<protocol::Id>, u8);

impl FromArgMatches for DurationArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        // No other flag has values of this type.
        let given = |id: &Id| matches.try_get_many::<Given>(id.as_str()).ok().flatten();
        let mut all: Vec<&Given> = matches.ids().filter_map(given).flatten().collect();
        all.sort_unstable();
        let mut args = DurationArgs::default();
        for &Given(_, name, ref ids, ticks) in all {
            if ids.is_empty() {
                args.usual.push((name, ticks));
            }
            args.own.extend(ids.iter().map(|&id| (name, id, ticks)));
        }
        Ok(args)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = DurationArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The flags themselves depend on the protocols; [`with_durations`] adds them.
impl Args for DurationArgs {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

/// Returns `command` with a flag for each duration of the protocols, in those of its subcommands
/// that have the flags of timed worlds; hidden where those are.
#[must_use]
pub fn with_durations(command: Command, registry: Registry) -> Command {
    command.mut_subcommands(|command| {
        let delay = command.get_arguments().find(|arg| arg.get_id() == "delay");
        let (timed, hidden) = (delay.is_some(), delay.is_some_and(Arg::is_hide_set));
        let durations = registry.durations().into_iter().filter(|_| timed);
        let add = |command: Command, (at, one)| command.arg(flag(at, one).hide(hidden));
        durations.enumerate().fold(command, add)
    })
}

fn flag(at: usize, one: &'static Duration) -> Arg {
    let mut help = one.meaning.to_owned();
    if let Some(first) = help.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let value = move |text: &str| -> Result<Given, String> {
        let (ids, text) = match text.split_once('=') {
            Some((ids, own)) => (read_ids(ids)?, own.trim()),
            None => (Vec::new(), text),
        };
        Ok(Given(at, one.name, ids, ticks(text)?))
    };
    let arg = Arg::new(one.name).long(one.name).value_name("TICKS").value_parser(value);
    let arg = arg.action(ArgAction::Append).allow_negative_numbers(true);
    arg.help(help).help_heading(DURATIONS).hide_short_help(true)
}
