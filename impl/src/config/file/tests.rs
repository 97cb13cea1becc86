//! What the file may say, what counts more than it, and what is said about mistakes.

use std::path::PathBuf;
use std::time::Duration;

use super::*;
use crate::config::{DetectorSettings, LeaseSection, LogFormat, StollerSection, Visitor, load};
use crate::lease_store::StoreAddress;
use crate::protocol::bully::{Bully, Timing};
use crate::protocol::lease::Lease;
use crate::protocol::quorum::Quorum;
use crate::protocol::stoller::Stoller;

const GOOD: &str = "\
cluster = \"orders\"
node = 2
[members]
1 = \"127.0.0.1:7001\"
2 = \"127.0.0.1:7002\"
10 = \"127.0.0.1:7010\"
";

fn read_as<C: Runnable>(text: &str, overrides: Overrides) -> Result<(Config<C>, Log), Error> {
    with_file(text, |path| Config::load(path, overrides))
}

fn read_back(text: &str, overrides: Overrides) -> Result<(Config<Bully>, Log), Error> {
    read_as::<Bully>(text, overrides)
}

fn with_file<T>(text: &str, read: impl FnOnce(&Path) -> T) -> T {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("bellwether.toml");
    std::fs::write(&path, text).expect("writable");
    read(&path)
}

/// Tells of a configuration what `check-config` prints.
struct Written;

impl Visitor for Written {
    type Output = String;

    fn visit<C: Runnable>(self, config: Config<C>, log: Log) -> String {
        config.to_toml(&log)
    }
}

fn written(text: &str, overrides: Overrides) -> Result<String, Error> {
    with_file(text, |path| load(path, overrides, Written))
}

fn problem(text: &str) -> String {
    written(text, Overrides::default()).expect_err("must be refused").to_string()
}

fn with_settings(settings: &[(&str, &str)]) -> Overrides {
    let owned = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
    Overrides { settings: settings.iter().map(owned).collect(), ..Overrides::default() }
}

#[test]
fn what_is_not_said_has_a_default() {
    let (config, log) = read_back(GOOD, Overrides::default()).expect("good");
    assert_eq!(config.listen().as_str(), "127.0.0.1:7002");
    assert_eq!(config.section(), &Timing::DEFAULT);
    assert_eq!(log, Log { levels: Levels::default(), format: LogFormat::Text });
    let ids: Vec<u16> = config.addresses().map(|(id, _)| id.get()).collect();
    assert_eq!(ids, [1, 2, 10], "ascending by number, not by spelling");
    let text = written(GOOD, Overrides::default()).expect("good");
    assert!(text.contains("protocol = \"quorum\"") && text.contains("preemption = \"never\""));
    let (config, _) = read_as::<Quorum>(GOOD, Overrides::default()).expect("good");
    assert!(config.directory().is_err(), "it must remember what it has granted");
}

#[test]
fn overrides_count_more_than_the_file() {
    let text = format!("{GOOD}[bully]\nwatch = \"2s\"\nheartbeat = \"300ms\"\n");
    let overrides = Overrides {
        node: NodeId::new(10),
        log_levels: "trace,bellwether::transport=off".parse().ok(),
        ..with_settings(&[("watch", "3s")])
    };
    let (config, log) = read_back(&text, overrides).expect("good");
    assert_eq!(config.node().get(), 10);
    assert_eq!(config.section().watch, Duration::from_secs(3));
    assert_eq!(config.section().heartbeat, Duration::from_millis(300));
    assert_eq!(log.levels.to_string(), "trace,bellwether::transport=off");
    let preempts = with_settings(&[("preemption", "at-once"), ("dwell", "3s")]);
    let quorum = written(&text, preempts).expect("good");
    assert!(quorum.contains("preemption = \"at-once\"\ndwell = \"3s\""), "{quorum}");
    let other = Overrides { protocol: Some("stoller".to_owned()), ..Overrides::default() };
    let text = written(&text, other).expect("good");
    assert!(text.contains("protocol = \"stoller\"") && text.contains("[detector.fixed]"), "{text}");
}

#[test]
fn every_protocol_has_its_own_section_and_reads_back_as_itself() {
    for &name in NAMES {
        let store = if name == "lease" { "[lease]\nstore = 10\n" } else { "" };
        let text =
            format!("protocol = \"{name}\"\n{GOOD}{store}[storage]\ndirectory = \"x/{{node}}\"");
        let first = written(&text, Overrides::default()).expect("good");
        assert!(first.contains(&format!("protocol = \"{name}\"")), "{first}");
        assert!(first.contains(&format!("[{name}]")) && first.contains("/x/2\""), "{first}");
        // A path has no default.
        for key in crate::config::keys(name).into_iter().filter(|key| !key.ends_with("_file")) {
            assert!(first.contains(&format!("\n{key} = ")), "{key} in {first}");
        }
        assert_eq!(written(&first, Overrides::default()).expect("good"), first);
    }
}

#[test]
fn a_trace_has_the_names_of_node_and_protocol_and_reads_back_as_itself() {
    let text = format!("{GOOD}[log]\ntrace = \"/t/{{protocol}}-{{node}}\"\n");
    let first = written(&text, Overrides::default()).expect("good");
    assert!(first.ends_with("\nformat = \"text\"\ntrace = \"/t/quorum-2\"\n"), "{first}");
    assert_eq!(written(&first, Overrides::default()).expect("good"), first);
    let flag = Overrides { trace: Some("/other".to_owned()), ..Overrides::default() };
    assert!(written(&text, flag).expect("good").ends_with("\ntrace = \"/other\"\n"));
    assert!(!written(GOOD, Overrides::default()).expect("good").contains("\ntrace = "));
}

#[test]
fn a_monitor_is_written_out_with_its_arguments_and_reads_back_as_itself() {
    let text = format!("{GOOD}[log]\nmonitor = [\"judge\", \"a b\", \"{{node}}\"]\n");
    let first = written(&text, Overrides::default()).expect("good");
    assert!(
        first.ends_with("\nformat = \"text\"\nmonitor = [\"judge\", \"a b\", \"2\"]\n"),
        "{first}"
    );
    assert_eq!(written(&first, Overrides::default()).expect("good"), first);
    let flag = Overrides { monitor: Some(vec!["other".to_owned()]), ..Overrides::default() };
    assert!(written(&text, flag).expect("good").ends_with("\nmonitor = [\"other\"]\n"));
    assert!(!written(GOOD, Overrides::default()).expect("good").contains("\nmonitor = "));
}

#[test]
fn a_check_is_written_out_and_reads_back_as_itself() {
    let section = "[health]\ncheck = [\"/bin/check\", \"a b\"]\ninterval = \"1m\"\nfall = 1\n";
    let first = written(&format!("{GOOD}{section}"), Overrides::default()).expect("good");
    let rest = "interval = \"1m\"\ntimeout = \"2s\"\nrise = 2\nfall = 1\n";
    let whole = format!("\n[health]\ncheck = [\"/bin/check\", \"a b\"]\n{rest}");
    assert!(first.contains(&whole), "{first}");
    assert_eq!(written(&first, Overrides::default()).expect("good"), first);
    let bully = format!("protocol = \"bully\"\n{GOOD}[health]\nrise = 9\n");
    assert!(written(&bully, Overrides::default()).is_ok(), "no check, nothing to refuse");
}

#[test]
fn the_name_of_a_module_reads_back_whatever_is_in_it() {
    let text = format!("{GOOD}[log]\nlevel = 'info,a\"b=debug'\n");
    let first = written(&text, Overrides::default()).expect("good");
    assert!(first.contains("a\"b=debug") || first.contains("a\\\"b=debug"), "{first}");
    assert_eq!(written(&first, Overrides::default()).expect("good"), first);
}

/// The example says of everything what holds without it, where there is a default.
#[test]
fn the_example_runs_every_protocol_as_its_defaults_do() {
    let example = include_str!("../../../examples/cluster.toml");
    let (members, _) = example.split_once("# For quorum, ").expect("a comment");
    for &name in NAMES {
        let overrides = |store: &[(&str, &str)]| Overrides {
            protocol: Some(name.to_owned()),
            node: NodeId::new(2),
            directory: Some("x".to_owned()),
            ..with_settings(store)
        };
        let store = if name == "lease" { &[("store", "5")][..] } else { &[] };
        let default = written(members, overrides(store)).expect("good");
        assert_eq!(written(example, overrides(&[])).expect("good"), default);
    }
    for (key, _) in reference() {
        let log = ["log.trace", "log.monitor"];
        let optional = ["node", "listen", "members.ID", "network.timeout"].contains(&key.as_str())
            || log.contains(&key.as_str())
            || key.starts_with("security.") && key.ends_with("_file")
            || key.starts_with("lease.store_")
            || key.starts_with("http.");
        let other_kind = ["detector.adaptive.", "detector.phi."].iter().any(|k| key.starts_with(k));
        let (section, last) = key.rsplit_once('.').unwrap_or(("", &key));
        let (_, body) = example.split_once(&format!("\n[{section}]\n")).unwrap_or(("", example));
        let body = body.split("\n[").next().unwrap_or_default();
        let there = body.lines().any(|line| line.starts_with(&format!("{last} = ")));
        assert!(there || optional || other_kind, "{key} is not in the example");
    }
}

#[test]
fn the_store_of_the_lease_is_told_by_key_or_flag() {
    let text = format!("protocol = \"lease\"\n{GOOD}");
    let (config, _) = read_as::<Lease>(&text, with_settings(&[("store", "10")])).expect("good");
    assert_eq!(config.section().store, NodeId::new(10).map(StoreAddress::Node));
    assert!(config.directory().is_err(), "a client must remember how often it started");
    let store = Overrides { store: true, ..Overrides::default() };
    let (config, _) = read_as::<Lease>(&text, store.clone()).expect("good");
    assert_eq!(
        config.section(),
        &LeaseSection { store: NodeId::new(2).map(StoreAddress::Node), ..LeaseSection::default() }
    );
    assert_eq!(config.directory().expect("it keeps nothing"), None);
    let error = read_back(GOOD, store).expect_err("not of the bully").to_string();
    assert!(error.contains("unknown key `store` in [bully]"), "{error}");
}

#[test]
fn detectors_follow_the_interval_of_the_heartbeats() {
    let text = format!(
        "protocol = \"stoller\"\n{GOOD}[detector]\nkind = \"phi\"\nheartbeat = \"1s\"\n\
         [detector.phi]\nthreshold = 4.5\n[stoller]\nask = \"2s\"\n"
    );
    let (config, _) = read_as::<Stoller>(&text, Overrides::default()).expect("good");
    assert_eq!(config.section(), &StollerSection { ask: Duration::from_secs(2) });
    let Detection { heartbeat, start, detector, .. } = *config.detection();
    assert_eq!((heartbeat, start), (Duration::from_secs(1), Duration::from_secs(10)));
    let DetectorSettings::Phi(phi) = detector else { panic!("{detector:?}") };
    assert!((phi.threshold - 4.5).abs() < f64::EPSILON);
    assert_eq!((phi.interval, phi.pause), (heartbeat, heartbeat));
}

/// Refuses a message that lacks a part of what is expected.
fn tells(cases: &[(String, &[&str])]) {
    for (found, expected) in cases {
        for part in *expected {
            assert!(found.contains(part), "`{part}` is missing in: {found}");
        }
    }
}

#[test]
fn every_mistake_has_its_place_and_remedy() {
    let with = |more: &str| problem(&format!("{GOOD}{more}"));
    let bully = |more: &str| problem(&format!("protocol = \"bully\"\n{GOOD}{more}"));
    let quorum = |more: &str| problem(&format!("{GOOD}[quorum]\n{more}"));
    let stoller = |more: &str| problem(&format!("protocol = \"stoller\"\n{GOOD}{more}"));
    let lease = |more: &str| problem(&format!("protocol = \"lease\"\n{GOOD}{more}"));
    tells(&[
        (with("[bully]\nwach = \"1s\"\n"), &["line 8", "`wach` in [bully]", "is `watch`"]),
        (with("[stoller]\nasc = \"1s\"\n"), &["line 8", "`asc` in [stoller]", "is `ask`"]),
        (
            with("[timing]\nwatch = \"1s\"\n"),
            &["line 7", "[timing]", "one of [bully], [garcia-molina]"],
        ),
        (with("[storage]\ndir = \"x\"\n"), &["line 8", "`dir` in [storage]", "`directory`"]),
        (with("[log]\nlevle = \"info\"\n"), &["line 8", "`levle` in [log]", "is `level`"]),
        (problem(&format!("bully = 1\n{GOOD}")), &["line 1", "[bully] must be a table"]),
        (problem(&format!("colour = 1\n{GOOD}")), &["line 1", "unknown key `colour`", "`node`"]),
        (problem(&format!("nodes = 1\n{GOOD}")), &["line 1", "the nearest is `node`"]),
        (problem(&format!("protocol = \"buly\"\n{GOOD}")), &["line 1", "`buly`", "is `bully`"]),
        (with("3 = \"127.0.0.1:7001\"\n"), &["members 1 and 3 have the same address"]),
        (problem(&format!("observers = [9]\n{GOOD}")), &["node 9 is to observe", "[members]"]),
        (problem(&format!("observers = [1, 2, 10]\n{GOOD}")), &["0 member(s) vote", "at least 1"]),
        (
            problem(&format!("protocol = \"bully\"\nobservers = [10]\n{GOOD}")),
            &["protocol bully has no observers", "the protocol quorum"],
        ),
        (quorum("promise = \"1s\"\n"), &["quorum.promise (1s)", "quorum.lease (1s)", "try 1.02"]),
        (bully("[bully]\nwatch = \"150ms\"\n"), &["bully.heartbeat (100ms)", "try 30ms"]),
        (stoller("[stoller]\nask = \"0s\"\n"), &["stoller.ask is 0ns", "more than 0s"]),
        (stoller("[detector]\nkind = \"fi\"\n"), &["line 9", "detector `fi`", "is `phi`"]),
        (stoller("[detector]\nbeat = \"1s\"\n"), &["line 9", "`beat` in [detector]"]),
        (
            stoller("[detector.fixed]\ntimeout = \"90ms\"\n"),
            &["detector.heartbeat (100ms)", "(90ms)", "try 18ms"],
        ),
        (stoller("[detector.fixed]\ntimeout = \"0s\"\n"), &["detector.fixed.timeout is 0ns"]),
        (
            stoller("[detector]\nkind = \"phi\"\n[detector.phi]\nthreshold = 0\n"),
            &["detector.phi.threshold is 0", "from 0.5 to 1000"],
        ),
        (stoller("[detector.phi]\ntimeout = \"1s\"\n"), &["`timeout` in [detector.phi]"]),
        (with("[health]\nintervall = \"1s\"\n"), &["line 8", "in [health]", "is `interval`"]),
        (with("[health]\ncheck = [\"\"]\n"), &["health.check names no program"]),
        (with("[health]\ninterval = \"0s\"\n"), &["health.interval is 0s"]),
        (with("[health]\ntimeout = \"0s\"\n"), &["health.timeout is 0s"]),
        (
            with("[health]\ninterval = \"1s\"\n"),
            &["health.timeout (2s)", "not be longer than health.interval (1s)"],
        ),
        (with("[health]\nrise = 0\n"), &["health.rise is 0: use 1"]),
        (with("[health]\nfall = 0\n"), &["health.fall is 0: use 1"]),
        (bully("[health]\ncheck = [\"true\"]\n"), &["of protocol bully", "the protocol quorum"]),
        (lease(""), &["needs a store", "`store` under [lease]", "(1, 2, 10)"]),
        (lease("[lease]\nstore = 3\n"), &["needs a store", "1, 2, 10"]),
        (lease("[lease]\nstore = 1\nhold = \"1h\"\n"), &["lease.hold (3600s)", "lease.keep"]),
        (GOOD.replace("node = 2", "node = 3").pipe(problem), &["node 3 is not among", "1, 2, 10"]),
        (GOOD.replace("node = 2\n", "").pipe(problem), &["--node", "BELLWETHER_NODE"]),
        (problem(&"#".repeat(300_000)), &["larger than 262144 bytes"]),
    ]);
}

#[test]
fn a_wrong_value_has_its_line_and_the_path_of_its_key() {
    let with = |more: &str| problem(&format!("{GOOD}{more}"));
    let bully = |more: &str| problem(&format!("protocol = \"bully\"\n{GOOD}{more}"));
    let quorum = |more: &str| problem(&format!("{GOOD}[quorum]\n{more}"));
    let stoller = |more: &str| problem(&format!("protocol = \"stoller\"\n{GOOD}{more}"));
    tells(&[
        (with("bully = 1\n"), &["line 7: `members.bully`", "is not a node id"]),
        (
            with("2 = \"127.0.0.1:7009\"\n"),
            &["line 7: `2 = \"127.0.0.1:7009\"`", "give each its own id"],
        ),
        (
            with("02 = \"127.0.0.1:7009\"\n"),
            &["line 7: `members.02`", "`02` is not a node id", "1 to 65535"],
        ),
        (with("0 = \"127.0.0.1:7009\"\n"), &["line 7", "`0` is not a node id"]),
        (with("3 = \"127.0.0.1\"\n"), &["line 7: `members.3`", "is not an address", "HOST:PORT"]),
        (with("3 = 7003\n"), &["line 7: `members.3`", "7003"]),
        (
            with("[bully]\nwatch = 2\n[members]\n"),
            &["line 9: `[members]`", "each key once", "texts in quotation marks"],
        ),
        (problem(&format!("observers = 10\n{GOOD}")), &["line 1: `observers`", "10"]),
        (problem(&format!("observers = [1, \"x\"]\n{GOOD}")), &["line 1: `observers[1]`"]),
        (
            quorum("preemption = \"dwel\"\n"),
            &["line 8: `quorum.preemption`", "unknown value `dwel`", "is `dwell`"],
        ),
        (quorum("drift_ppm = -1\n"), &["line 8: `quorum.drift_ppm`"]),
        (bully("[bully]\nwatch = \"soon\"\n"), &["line 9: `bully.watch`", "as in 300ms or 2s"]),
        (with("[hooks]\nretry = \"soon\"\n"), &["line 8: `hooks.retry`", "as in 300ms or 2s"]),
        (with("[health]\nrise = -1\n"), &["line 8: `health.rise`", "-1"]),
        (with("[health]\ncheck = \"true\"\n"), &["line 8: `health.check`"]),
        (with("[network]\ntimeout = 1\n"), &["line 8: `network.timeout`"]),
        (stoller("[detector.phi]\nwindow = []\n"), &["line 9: `detector.phi.window`"]),
        (
            with("[log]\nlevel = \"loud\"\n"),
            &["line 8: `log.level`", "unknown level `loud`", "debug"],
        ),
        (with("[log]\nformat = \"xml\"\n"), &["line 8: `log.format`", "`xml`", "`json`"]),
        (problem(&format!("storage = 1\n{GOOD}")), &["line 1", "[storage] must be a table"]),
        (problem("cluster = \"orders\"\nmembers = 3\n"), &["line 2", "[members] must be a table"]),
        (
            GOOD.replace("node = 2", "node = 70000").pipe(problem),
            &["line 2: `node`", "`70000` is not a node id"],
        ),
        (
            GOOD.replace("orders", "or ders").pipe(problem),
            &["line 1: `cluster`", "is not a cluster name"],
        ),
        (problem(""), &["`cluster`", "write `cluster = \"NAME\"`"]),
        (problem("cluster = \"orders\"\n"), &["`members`", "[members]", "`ID = \"HOST:PORT\"`"]),
        (problem("cluster = \"orders\n"), &["line 1: `cluster = \"orders`", "quotation marks"]),
        (problem("\u{0}"), &["line 1"]),
    ]);
}

#[test]
fn a_setting_that_makes_no_sense_is_told_with_its_key() {
    for (setting, expected) in [
        (("wach", "1s"), &["wach=1s", "the nearest is `watch`"][..]),
        (("watch", "soon"), &["watch=soon", "as in 300ms or 2s"]),
        (("watch", "1ms"), &["bully.watch (1ms)"]),
    ] {
        let error = read_back(GOOD, with_settings(&[setting])).expect_err("must be refused");
        for part in expected {
            assert!(error.to_string().contains(part), "`{part}` is missing in: {error}");
        }
    }
    let unknown = Overrides { protocol: Some("buly".to_owned()), ..Overrides::default() };
    let error = written(GOOD, unknown).expect_err("must be refused").to_string();
    assert!(error.contains("unknown protocol `buly`: the nearest is `bully`"), "{error}");
}

#[test]
fn a_program_that_runs_one_protocol_refuses_the_file_of_another() {
    let text = format!("protocol = \"stoller\"\n{GOOD}");
    let error = read_back(&text, Overrides::default()).expect_err("must be refused").to_string();
    assert!(error.contains("for protocol `stoller`, this program runs `bully`"), "{error}");
}

#[test]
fn a_file_that_is_missing_or_no_text_is_told_by_name() {
    let missing = PathBuf::from("/no/such/file.toml");
    let error = load(&missing, Overrides::default(), Written).expect_err("must be refused");
    assert!(error.to_string().starts_with("cannot read the configuration /no/such/file.toml: No"));
    let directory = tempfile::tempdir().expect("a directory");
    let error = load(directory.path(), Overrides::default(), Written).expect_err("no text");
    assert!(matches!(error, Error::Read { .. }), "{error}");
}

/// Reads `text.pipe(problem)` like the sentence it is.
trait Pipe {
    fn pipe(self, then: impl FnOnce(&str) -> String) -> String;
}

impl Pipe for String {
    fn pipe(self, then: impl FnOnce(&str) -> String) -> String {
        then(&self)
    }
}

/// Twice what a message is worth, within reason; and whatever is configured.
#[test]
fn the_time_out_of_the_network_is_what_is_configured_and_nothing_else() {
    let read = |text: &str| {
        let text = format!("protocol = \"bully\"\n{GOOD}{text}");
        let (config, _) = read_as::<crate::protocol::bully::Bully>(&text, Overrides::default())?;
        Ok::<_, Error>(config.network_timeout())
    };
    let seconds = Duration::from_secs;
    assert_eq!(read("").expect("good"), seconds(1));
    assert_eq!(read("[bully]\nelection = \"2s\"\ncoordinator = \"6s\"").expect("good"), seconds(4));
    for (text, timeout) in [("1ms", Duration::from_millis(1)), ("1h", seconds(3_600))] {
        let section = format!("[network]\ntimeout = \"{text}\"");
        assert_eq!(read(&section).expect("good"), timeout);
    }
    let network =
        super::NetworkSettings { timeout: Some(seconds(7)), suspect_refused: Some(false) };
    let overrides = Overrides { network, ..Overrides::default() };
    let text = format!("protocol = \"bully\"\n{GOOD}[network]\ntimeout = \"2s\"");
    let read_with = read_as::<crate::protocol::bully::Bully>(&text, overrides).expect("good");
    assert_eq!(read_with.0.network_timeout(), seconds(7), "flags count more");
    assert!(!read_with.0.suspects_refused());
    for text in ["0s", "61min"] {
        let error = read(&format!("[network]\ntimeout = \"{text}\"")).expect_err("refused");
        assert!(error.to_string().contains("network.timeout is"), "{error}");
    }
}

#[test]
fn observers_are_written_out_and_flags_count_more() {
    let file = format!("observers = [10]\n{GOOD}");
    let config = |overrides| read_as::<Quorum>(&file, overrides).expect("good").0;
    let observers =
        |config: &Config<Quorum>| config.observers().map(NodeId::get).collect::<Vec<_>>();
    assert_eq!(observers(&config(Overrides::default())), [10]);
    assert!(written(&file, Overrides::default()).expect("good").contains("\nobservers = [10]\n"));
    let none = Overrides { observers: Some(Vec::new()), ..Overrides::default() };
    let all_vote = config(none);
    assert!(observers(&all_vote).is_empty());
    let changed = all_vote.clone().with_observers([1]).expect("two vote");
    assert_eq!(observers(&changed), [1]);
    assert!(changed.clone().with_observers([1, 2, 10]).is_err(), "none votes");
    assert_eq!(changed.digests().settings, all_vote.digests().settings);
    assert_eq!(changed.with_observers([]).expect("all vote"), all_vote);
}

#[test]
fn witnesses_are_written_out_and_flags_count_more() {
    let file = format!("witnesses = [10]\n{GOOD}");
    let config = |overrides| read_as::<Quorum>(&file, overrides).expect("good").0;
    let witnesses =
        |config: &Config<Quorum>| config.witnesses().map(NodeId::get).collect::<Vec<_>>();
    assert_eq!(witnesses(&config(Overrides::default())), [10]);
    assert!(written(&file, Overrides::default()).expect("good").contains("\nwitnesses = [10]\n"));
    let none = Overrides { witnesses: Some(Vec::new()), ..Overrides::default() };
    let all_lead = config(none);
    assert!(witnesses(&all_lead).is_empty());
    let changed = all_lead.clone().with_witnesses([10, 1]).expect("one may lead");
    assert_eq!(witnesses(&changed), [1, 10]);
    assert!(changed.clone().with_witnesses([1, 2, 10]).is_err(), "none may lead");
    assert!(changed.clone().with_observers([1]).is_err(), "a witness votes");
    let both = all_lead.clone().with_witnesses([1]).expect("two may lead");
    let both = both.with_observers([10]).expect("one may lead");
    assert_eq!(witnesses(&both), [1], "they stay what they are");
    assert_eq!(changed.with_witnesses([]).expect("all may lead"), all_lead);
}

#[test]
fn witnesses_that_cannot_be_are_refused() {
    tells(&[
        (problem(&format!("witnesses = [9]\n{GOOD}")), &["node 9 is to be a", "[members]"]),
        (
            problem(&format!("observers = [10]\nwitnesses = [10]\n{GOOD}")),
            &["node 10", "to be a witness and to observe", "one of the two"],
        ),
        (
            problem(&format!("witnesses = [1, 2, 10]\n{GOOD}")),
            &["3 member(s) vote", "all are witnesses", "at least 1"],
        ),
        (
            problem(&format!("protocol = \"bully\"\nwitnesses = [10]\n{GOOD}")),
            &["protocol bully has no witnesses", "the protocol quorum"],
        ),
    ]);
}
