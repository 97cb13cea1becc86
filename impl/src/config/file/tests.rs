//! What the file may say, what counts more than it, and what is said about mistakes.

use bellwether_stores::address::StoreAddress;

use super::*;
use crate::config::{DetectorSettings, LeaseSection, StollerSection};
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

fn written(text: &str, overrides: Overrides) -> String {
    with_file(text, |path| load(path, overrides, Written)).expect("good")
}

/// Returns the message about a file that is refused, which has another name in it.
fn problem(text: &str) -> String {
    with_file(text, |path| {
        let error = load(path, Overrides::default(), Written).expect_err("must be refused");
        error.to_string().replace(&path.display().to_string(), "FILE")
    })
}

fn with_settings(settings: &[(&str, &str)]) -> Overrides {
    let owned = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
    Overrides { settings: settings.iter().map(owned).collect(), ..Overrides::default() }
}

/// Compares what is said of files that are refused with `testdata/refused.txt`, which tells how.
#[cfg(all(feature = "stores", feature = "tls"))]
#[test]
fn every_mistake_has_its_place_and_remedy() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/config/testdata/refused.txt");
    let text = std::fs::read_to_string(&path).expect("it can be read");
    let kept: Vec<&str> = text.trim_end().split("\n\n").collect();
    let told: Vec<String> = kept.iter().map(|paragraph| retold(paragraph)).collect();
    if std::env::var_os("UPDATE").is_some() {
        return std::fs::write(&path, told.join("\n\n") + "\n").expect("it can be written");
    }
    let different = kept.iter().zip(&told).filter(|(kept, told)| **kept != told.as_str());
    let different: Vec<_> =
        different.map(|(kept, told)| format!("{kept}\nbecomes\n{told}")).collect();
    assert!(different.is_empty(), "with UPDATE=1\n{}", different.join("\n\n"));
}

/// A paragraph with what is said now of the file in it, if there is one.
#[cfg(all(feature = "stores", feature = "tls"))]
fn retold(paragraph: &str) -> String {
    let Some((fragment, _)) = paragraph.split_once("\n----\n") else {
        return paragraph.to_owned();
    };
    let said = problem(&format!("{fragment}\n").replace("...\n", GOOD));
    assert!(!said.contains("hush"), "a password is shown: {said}");
    format!("{fragment}\n----\n{said}")
}

#[test]
fn what_is_too_large_or_no_text_is_refused() {
    assert!(problem(&"#".repeat(300_000)).contains("larger than 262144 bytes"));
    assert!(problem("\u{0}").starts_with("FILE: line 1: "));
}

#[test]
fn what_is_not_said_has_a_default() {
    let (config, log) = read_as::<Bully>(GOOD, Overrides::default()).expect("good");
    assert_eq!(config.listen().map(Address::as_str), Some("127.0.0.1:7002"));
    assert_eq!(config.section(), &Timing::DEFAULT);
    assert_eq!(log, Log { levels: Levels::default(), format: LogFormat::Text });
    let ids: Vec<u16> = config.addresses().map(|(id, _)| id.get()).collect();
    assert_eq!(ids, [1, 2, 10], "ascending by number, not by spelling");
    let text = written(GOOD, Overrides::default());
    assert!(text.contains("protocol = \"quorum\"") && text.contains("preemption = \"never\""));
    assert!(!text.contains("\ntrace = "), "{text}");
    let (config, _) = read_as::<Quorum>(GOOD, Overrides::default()).expect("good");
    assert!(config.directory().is_err(), "it must remember what it has granted");
}

#[test]
fn overrides_count_more_than_the_file() {
    let text = format!("{GOOD}[bully]\nwatch = \"2s\"\nheartbeat = \"300ms\"\n");
    let overrides = Overrides {
        node: NodeId::new(10),
        log: LogSettings {
            level: "trace,bellwether::transport=off".parse().ok(),
            ..LogSettings::default()
        },
        ..with_settings(&[("watch", "3s")])
    };
    let (config, log) = read_as::<Bully>(&text, overrides).expect("good");
    assert_eq!(config.node().get(), 10);
    assert_eq!(config.section().watch, Duration::from_secs(3));
    assert_eq!(config.section().heartbeat, Duration::from_millis(300));
    assert_eq!(log.levels.to_string(), "trace,bellwether::transport=off");
    let preempts = with_settings(&[("preemption", "at-once"), ("dwell", "3s")]);
    let quorum = written(&text, preempts);
    assert!(quorum.contains("preemption = \"at-once\"\ndwell = \"3s\""), "{quorum}");
    let other = Overrides { protocol: Some("stoller".to_owned()), ..Overrides::default() };
    let text = written(&text, other);
    assert!(text.contains("protocol = \"stoller\"") && text.contains("[detector.fixed]"), "{text}");
}

#[test]
fn every_protocol_has_its_own_section_and_reads_back_as_itself() {
    for &name in NAMES {
        let store = if name == "lease" { "[lease]\nstore = 10\n" } else { "" };
        let text =
            format!("protocol = \"{name}\"\n{GOOD}{store}[storage]\ndirectory = \"x/{{node}}\"");
        let first = written(&text, Overrides::default());
        assert!(first.contains(&format!("protocol = \"{name}\"")), "{first}");
        assert!(first.contains(&format!("[{name}]")) && first.contains("/x/2\""), "{first}");
        for (path, _) in reference() {
            // A path has no default.
            let key = path.strip_prefix(&format!("{name}.")).filter(|key| !key.ends_with("_file"));
            let is_there = |key| first.contains(&format!("\n{key} = "));
            assert!(key.is_none_or(is_there), "{path} in {first}");
        }
        assert_eq!(written(&first, Overrides::default()), first);
    }
}

#[test]
fn what_is_written_out_reads_back_as_itself_and_a_flag_counts_more() {
    let none = Overrides::default;
    let log = LogSettings { trace: Some("/other".to_owned()), ..LogSettings::default() };
    let trace = Overrides { log, ..none() };
    for (section, said, flag, flagged) in [
        (
            "[log]\ntrace = \"/t/{protocol}-{node}\"\n",
            "\nformat = \"text\"\ntrace = \"/t/quorum-2\"\n",
            trace,
            "\ntrace = \"/other\"\n",
        ),
        (
            "[health]\ncheck = [\"/bin/check\", \"a b\"]\ninterval = \"1m\"\nfall = 1\n",
            "\n[health]\ncheck = [\"/bin/check\", \"a b\"]\ninterval = \"1m\"\ntimeout = \"2s\"\n\
             rise = 2\nfall = 1\n",
            none(),
            "",
        ),
        // The name of a module may have anything in it.
        ("[log]\nlevel = 'info,a\"b=debug'\n", "\"b=debug", none(), ""),
    ] {
        let text = format!("{GOOD}{section}");
        let first = written(&text, none());
        assert!(first.contains(said), "{first}");
        assert_eq!(written(&first, none()), first);
        let other = written(&text, flag);
        assert!(other.contains(flagged), "{other}");
    }
    // No check, nothing to refuse.
    written(&format!("protocol = \"bully\"\n{GOOD}[health]\nrise = 9\n"), none());
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
            storage: StorageSettings { directory: Some("x".to_owned()) },
            ..with_settings(store)
        };
        let store = if name == "lease" { &[("store", "5")][..] } else { &[] };
        assert_eq!(written(example, overrides(&[])), written(members, overrides(store)));
    }
    let optional = ["timing", "node", "listen", "members.ID", "network.timeout", "log.trace"];
    let other_kinds = ["detector.adaptive.", "detector.phi.", "lease.store_", "http."];
    for (key, _) in reference() {
        let is_optional = optional.contains(&key.as_str())
            || other_kinds.iter().any(|begin| key.starts_with(begin))
            || key.starts_with("security.") && key.ends_with("_file");
        let (section, last) = key.rsplit_once('.').unwrap_or(("", &key));
        let (_, body) = example.split_once(&format!("\n[{section}]\n")).unwrap_or(("", example));
        let body = body.split("\n[").next().unwrap_or_default();
        let there = body.lines().any(|line| line.starts_with(&format!("{last} = ")));
        assert!(there || is_optional, "{key} is not in the example");
    }
}

#[test]
fn a_name_stands_for_durations_and_a_key_counts_more() {
    let text = format!("timing = \"shared\"\n{GOOD}[quorum]\nskew = \"50ms\"\n");
    let (config, _) = read_as::<Quorum>(&text, with_settings(&[("backoff", "9s")])).expect("good");
    let timing = config.section();
    let times = [timing.lease, timing.promise, timing.skew, timing.backoff];
    assert_eq!(times, [5_000, 6_000, 50, 9_000].map(Duration::from_millis));
}

#[test]
fn the_store_of_the_lease_is_told_by_key_or_flag() {
    let text = format!("protocol = \"lease\"\n{GOOD}");
    let (config, _) = read_as::<Lease>(&text, with_settings(&[("store", "10")])).expect("good");
    assert_eq!(config.section().store, NodeId::new(10).map(StoreAddress::Node));
    assert!(config.directory().is_err(), "a client must remember how often it started");
    let (config, _) = read_as::<Lease>(&text, with_settings(&[("store", "2")])).expect("good");
    let own = NodeId::new(2).map(StoreAddress::Node);
    assert_eq!(config.section(), &LeaseSection { store: own, ..LeaseSection::default() });
    assert_eq!(config.directory().expect("it keeps nothing"), None);
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

#[test]
fn a_program_that_runs_one_protocol_refuses_the_file_of_another() {
    let text = format!("protocol = \"stoller\"\n{GOOD}");
    let error = read_as::<Bully>(&text, Overrides::default()).expect_err("must be refused");
    let Error::OtherProtocol { asked, runs } = &error else { panic!("{error}") };
    assert_eq!((asked.as_str(), *runs), ("stoller", "bully"));
}

/// Twice what a message is worth, within reason; and whatever is configured.
#[test]
fn the_time_out_of_the_network_is_what_is_configured_and_nothing_else() {
    let read = |text: &str, overrides| {
        let text = format!("protocol = \"bully\"\n{GOOD}{text}");
        read_as::<Bully>(&text, overrides).expect("good").0
    };
    let seconds = Duration::from_secs;
    for (text, timeout) in [
        ("", seconds(1)),
        ("[bully]\nelection = \"2s\"\ncoordinator = \"6s\"", seconds(4)),
        ("[network]\ntimeout = \"1ms\"", Duration::from_millis(1)),
        ("[network]\ntimeout = \"1h\"", seconds(3_600)),
    ] {
        assert_eq!(read(text, Overrides::default()).network_timeout(), timeout);
    }
    let network = NetworkSettings { timeout: Some(seconds(7)), suspect_refused: Some(false) };
    let overrides = Overrides { network, ..Overrides::default() };
    let config = read("[network]\ntimeout = \"2s\"", overrides);
    assert_eq!(config.network_timeout(), seconds(7), "flags count more");
    assert!(!config.suspects_refused());
}

#[test]
fn a_flag_replaces_one_key_of_a_section_and_leaves_the_others() {
    let text = format!("{GOOD}[http]\nlisten = \"127.0.0.1:1\"\ntoken_file = \"/a-{{node}}\"\n");
    let http = Http { token_file: Some("/b-{node}".into()), ..Http::default() };
    let said = written(&text, Overrides { http, ..Overrides::default() });
    let section = "\n[http]\nlisten = \"127.0.0.1:1\"\ntoken_file = \"/b-2\"\n";
    assert!(said.contains(section), "{said}");
}

#[test]
fn observers_and_witnesses_are_written_out_and_flags_count_more() {
    let file = format!("observers = [10]\nwitnesses = [1]\n{GOOD}");
    let config = |overrides| read_as::<Quorum>(&file, overrides).expect("good").0;
    let observers =
        |config: &Config<Quorum>| config.observers().map(NodeId::get).collect::<Vec<_>>();
    let witnesses =
        |config: &Config<Quorum>| config.witnesses().map(NodeId::get).collect::<Vec<_>>();
    let said = config(Overrides::default());
    assert_eq!((observers(&said), witnesses(&said)), (vec![10], vec![1]));
    let text = written(&file, Overrides::default());
    assert!(text.contains("\nobservers = [10]\nwitnesses = [1]\n"), "{text}");
    let (none, empty) = (Some(Vec::new()), Some(Vec::new()));
    let plain = config(Overrides { observers: none, witnesses: empty, ..Overrides::default() });
    assert!(observers(&plain).is_empty() && witnesses(&plain).is_empty());

    let observed = plain.clone().with_observers([1]).expect("two vote");
    assert_eq!(observers(&observed), [1]);
    assert!(observed.clone().with_observers([1, 2, 10]).is_err(), "none votes");
    assert_eq!(observed.digests().settings, plain.digests().settings);
    assert_eq!(observed.with_observers([0_u16; 0]).expect("all vote"), plain);

    let witnessed = plain.clone().with_witnesses([10, 1]).expect("one may lead");
    assert_eq!(witnesses(&witnessed), [1, 10]);
    assert!(witnessed.clone().with_witnesses([1, 2, 10]).is_err(), "none may lead");
    assert!(witnessed.clone().with_observers([1]).is_err(), "a witness votes");
    let both = plain.clone().with_witnesses([1]).expect("two may lead");
    let both = both.with_observers([10]).expect("one may lead");
    assert_eq!(witnesses(&both), [1], "they stay what they are");
    assert_eq!(witnessed.with_witnesses([0_u16; 0]).expect("all may lead"), plain);
}
