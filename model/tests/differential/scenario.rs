//! Random worlds of every protocol: a variant, some of its rules replaced, and a small scenario;
//! and what draws so many of them. The tests of the dataflow are made of it too.

use bellwether_model::check::{Decision, Limits, Options, Report, Verdict, check};
use bellwether_model::cli::{ProtocolArgs, WorldArgs};
use bellwether_model::machine::{AnyProtocol, DynProtocol};
use bellwether_model::property::{self, Kind, Property};
use bellwether_model::protocol::{Id, Ids, REGISTRY};
use bellwether_model::world::{
    AbsentLinks, Budget, Delay, DeliveryFairness, Drift, Durations, Faults, Heals, Network,
    Recovers, Scenario, SlowLinks, Start, Timed, Timing, World, WorldError,
};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use serde_json::Value;
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

/// Processes that follow some rules, and their scenario.
#[derive(Clone)]
pub(crate) struct Case {
    /// The protocol and its rules.
    pub(crate) args: ProtocolArgs,
    /// What surrounds the processes.
    pub(crate) scenario: Scenario,
}

/// The command that checks it.
impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "check {} {}", self.args.typed(), WorldArgs::typed(&self.scenario))
    }
}

impl Case {
    /// The same rules in another scenario.
    pub(crate) fn with(&self, scenario: Scenario) -> Case {
        Case { scenario, args: self.args.clone() }
    }

    /// The protocol.
    pub(crate) fn protocol(&self) -> &'static dyn AnyProtocol {
        REGISTRY.find(&self.args.protocol).expect("the protocol exists")
    }

    /// The world; some scenarios contradict themselves, or the rules.
    pub(crate) fn world(&self) -> Result<Arc<World>, WorldError> {
        World::of(self.rules(), self.scenario).map(Arc::new)
    }

    /// The rules.
    pub(crate) fn rules(&self) -> Arc<dyn DynProtocol> {
        let ProtocolArgs { variant, rules, .. } = &self.args;
        self.protocol().rules(variant.as_deref(), rules).expect("the rules exist")
    }

    /// The same with a clock: `ticks` says how long each duration is that the rules need.
    pub(crate) fn timed(&self, timed: Timed, ticks: impl Fn(&str) -> u8) -> Option<Case> {
        let all = self.protocol().durations();
        let durations = Durations::of(all.iter().map(|one| (one.name, ticks(one.name))));
        let mut durations = durations.expect("a protocol has few enough");
        loop {
            let timing = Timing::Timed(Timed { durations, ..timed });
            let case = self.with(Scenario { timing, ..self.scenario });
            match case.world().map(drop) {
                Ok(()) => return Some(case),
                Err(WorldError::UnusedDuration { name, .. }) => {
                    let fewer = durations.iter().filter(|&(known, _)| known != name);
                    durations = Durations::of(fewer).expect("fewer");
                }
                Err(_) => return None,
            }
        }
    }

    /// What is found out about `properties`, or about all that make sense; `None` if the world
    /// cannot be, or has more than so many states.
    pub(crate) fn check(&self, properties: &[&str], most: u64) -> Option<Report> {
        let world = self.world().ok()?;
        let names: Vec<_> = properties.iter().map(|&name| name.to_owned()).collect();
        let asked = match properties {
            [] => self.all(),
            _ => property::select(&world, &names).expect("they exist"),
        };
        let limits = Limits { states: Some(most), ..Limits::NONE };
        let options = Options { limits, ..Options::default() };
        let report = check(&world, &asked, &options, &mut |_| {}).expect("something is asked");
        report.cut_short.is_none().then_some(report)
    }

    /// Every property that any world can be asked for. Those that need a world in which a process
    /// loses its state are left out: all cannot be asked at once.
    fn all(&self) -> Vec<Property> {
        let mut all = self.protocol().properties().0;
        all.retain(|property| !["forgotten-vote-again", "founders-vote"].contains(&property.name));
        all
    }
}

/// A property's name and kind, and what was found.
pub(crate) type Found = (&'static str, Kind, Verdict);

/// The verdicts on all properties.
pub(crate) fn verdicts(report: &Report) -> Vec<Found> {
    let found = |d: &Decision| (d.property.name, d.property.kind(), d.verdict);
    report.decisions.iter().map(found).collect()
}

/// Any variant and rules of any of these protocols: some single rules are those of another variant,
/// or the other one of two.
fn rules(protocols: Vec<&'static str>) -> impl Strategy<Value = ProtocolArgs> {
    let pick = || any::<Index>();
    let other = prop::collection::vec((pick(), pick()), 0..=2);
    (select(protocols), pick(), other).prop_map(|(name, variant, others)| {
        let protocol = REGISTRY.find(name).expect("the protocol exists");
        let variants = protocol.variants();
        let values = |rule: &str| -> Vec<String> {
            let mut values: Vec<Value> = variants.iter().map(|v| v.rules[rule].clone()).collect();
            if values.iter().any(Value::is_boolean) {
                values = vec![true.into(), false.into()];
            }
            let typed = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
            values.iter().map(typed).collect()
        };
        let names: Vec<String> = match &variants[0].rules {
            Value::Object(rules) => rules.keys().cloned().collect(),
            _ => Vec::new(),
        };
        let replaced = others.iter().filter(|_| !names.is_empty()).map(|(rule, value)| {
            let rule = rule.get(&names).clone();
            let value = value.get(&values(&rule)).clone();
            (rule, value)
        });
        // The time-outs of the baseline are a text that no clock keeps to where processes recover.
        let kept = names.iter().any(|rule| rule == "awaits");
        let kept = kept.then(|| ("awaits".to_owned(), "recovering".to_owned()));
        ProtocolArgs {
            protocol: name.to_owned(),
            variant: Some(variant.get(&variants).name.to_owned()),
            rules: replaced.chain(kept).collect(),
        }
    })
}

/// A few faults, of any kinds.
fn faults() -> impl Strategy<Value = Faults> {
    let faults: [fn(&mut Faults); 9] = [
        |f| f.crashes += 1,
        |f| f.crashes += 1,
        |f| f.recoveries += 1,
        |f| f.recoveries += 1,
        |f| f.losses = Budget::AtMost(1),
        |f| f.duplicates = 1,
        |f| f.cuts = 1,
        |f| f.one_way_cuts += 1,
        |f| f.suspicions = 1,
    ];
    prop::collection::vec(select(faults.to_vec()), 0..=3).prop_map(|struck| {
        let mut faults = Faults::NONE;
        struck.iter().for_each(|strike| strike(&mut faults));
        faults
    })
}

/// Any small scenario without a clock.
fn surrounding() -> impl Strategy<Value = Scenario> {
    use Network::{Fifo, Set, Unordered};
    let network = select(vec![Fifo, Fifo, Fifo, Unordered, Set, Set]);
    let timing = select(vec![Timing::Perfect, Timing::Perfect, Timing::Asynchronous]);
    let start = select(vec![Start::Converged, Start::Converged, Start::Cold]);
    let heals = select(vec![Heals::May, Heals::Must]);
    let recovers = select(vec![Recovers::May, Recovers::Must, Recovers::Quiet]);
    let second = Ids::NONE.with(Id::at(1));
    let down = select(vec![Ids::NONE, Ids::NONE, Ids::NONE, second]);
    let repairs = (heals, recovers, down);
    let fairness = select(vec![DeliveryFairness::Weak, DeliveryFairness::Strong]);
    let deaf: AbsentLinks = "2>1".parse().expect("a link");
    let missing = select(vec![AbsentLinks::NONE, AbsentLinks::NONE, AbsentLinks::NONE, deaf]);
    let nodes = select(vec![2, 2, 3_usize]);
    (nodes, faults(), network, timing, start, (repairs, fairness, missing), 1..=2_usize).prop_map(
        |(nodes, faults, network, timing, start, (repairs, fairness, missing), capacity)| {
            let (heals, recovers, down) = repairs;
            let cut = (faults.cuts, faults.one_way_cuts) != (0, 0);
            let capacity = (timing == Timing::Asynchronous || cut).then_some(capacity);
            let calm = Scenario { network, timing, start, capacity, ..Scenario::calm(nodes) };
            Scenario { faults, heals, recovers, fairness, missing, down, ..calm }
        },
    )
}

/// Any rules of any of these protocols in any small scenario without a clock.
pub(crate) fn cases(protocols: &[&'static str]) -> impl Strategy<Value = Case> + use<> {
    (rules(protocols.to_vec()), surrounding()).prop_map(|(args, scenario)| Case { args, scenario })
}

/// All protocols.
pub(crate) fn every_protocol() -> Vec<&'static str> {
    REGISTRY.names()
}

/// How long everything takes but timers, in ticks.
pub(crate) fn delays(delay: u8, processing: u8) -> Timed {
    let (delay, durations) = (Delay::AtMost(delay), Durations::NONE);
    Timed { delay, slow: SlowLinks::NONE, processing, drift: Drift::NONE, durations, within: None }
}

/// Draws so many cases of `cases`, or as many as `BELLWETHER_CASES` says, and fails with the
/// simplest that `differ` finds something wrong with. `differ` says whether it compared anything;
/// of all cases it must be one in eight.
pub(crate) fn draw<T: fmt::Debug>(
    few: u32,
    cases: impl Strategy<Value = T>,
    differ: impl Fn(&T) -> Result<bool, String>,
) {
    let given = |name: &str| std::env::var(name).ok().map(|text| text.parse().expect(name));
    let wanted: u32 = given("BELLWETHER_CASES").unwrap_or(few);
    let seed: u32 = given("BELLWETHER_SEED").unwrap_or(0);
    // A case that fails is compared with many clocks: the simplest one is not worth an hour.
    let config = Config {
        cases: wanted,
        failure_persistence: None,
        max_shrink_iters: 100,
        max_shrink_time: 300_000,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let compared = Cell::new(0_u32);
    let found = TestRunner::new_with_rng(config, rng).run(&cases, |case| {
        let done = differ(&case).map_err(TestCaseError::fail)?;
        compared.set(compared.get() + u32::from(done));
        Ok(())
    });
    match found {
        Ok(()) => {}
        Err(TestError::Fail(why, case)) => panic!("{why}\n{case:?}"),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
    println!("{} of {wanted} cases were compared", compared.get());
    assert!(compared.get() >= wanted / 8, "only {} were compared", compared.get());
}
