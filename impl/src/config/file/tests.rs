//! What the file may say, what counts more than it, and what is said about mistakes.

use std::path::PathBuf;

use super::*;

const GOOD: &str = "\
cluster = \"orders\"
node = 2
[members]
1 = \"127.0.0.1:7001\"
2 = \"127.0.0.1:7002\"
10 = \"127.0.0.1:7010\"
";

fn read_back(text: &str, overrides: &Overrides) -> Result<(Config, Log), Error> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("bellwether.toml");
    std::fs::write(&path, text).expect("writable");
    load(&path, overrides)
}

fn problem(text: &str) -> String {
    read_back(text, &Overrides::default()).expect_err("must be refused").to_string()
}

#[test]
fn what_is_not_said_has_a_default() {
    let (config, log) = read_back(GOOD, &Overrides::default()).expect("good");
    assert_eq!(config.listen().as_str(), "127.0.0.1:7002");
    assert_eq!(config.timing(), &Timing::DEFAULT);
    assert_eq!(log, Log { level: LevelFilter::INFO, format: LogFormat::Text });
    let ids: Vec<u16> = config.addresses().map(|(id, _)| id.get()).collect();
    assert_eq!(ids, [1, 2, 10], "ascending by number, not by spelling");
}

#[test]
fn overrides_count_more_than_the_file() {
    let text = format!("{GOOD}[timing]\nwatch = \"2s\"\nheartbeat = \"300ms\"\n");
    let overrides = Overrides {
        node: NodeId::new(10),
        watch: Some(Duration::from_secs(3)),
        log_level: Some(LevelFilter::TRACE),
        ..Overrides::default()
    };
    let (config, log) = read_back(&text, &overrides).expect("good");
    assert_eq!(config.node().get(), 10);
    assert_eq!(config.timing().watch, Duration::from_secs(3));
    assert_eq!(config.timing().heartbeat, Duration::from_millis(300));
    assert_eq!(log.level, LevelFilter::TRACE);
}

#[test]
fn the_resolved_configuration_reads_back_as_itself() {
    let resolved = read_back(GOOD, &Overrides::default()).expect("good");
    let text = resolved.0.to_toml(resolved.1);
    assert_eq!(read_back(&text, &Overrides::default()).expect("good"), resolved);
}

#[test]
fn every_mistake_has_its_place_and_remedy() {
    let with = |more: &str| problem(&format!("{GOOD}{more}"));
    for (found, expected) in [
        (with("[timing]\nwach = \"1s\"\n"), &["line 8", "`wach`", "`watch`"][..]),
        (problem(&format!("colour = 1\n{GOOD}")), &["line 1", "unknown field `colour`", "`node`"]),
        (with("2 = \"127.0.0.1:7009\"\n"), &["line 7", "two nodes with one id"]),
        (with("02 = \"127.0.0.1:7009\"\n"), &["`02` is not a node id", "1 to 65535"]),
        (with("0 = \"127.0.0.1:7009\"\n"), &["`0` is not a node id"]),
        (with("3 = \"127.0.0.1\"\n"), &["line 7", "is not an address", "HOST:PORT"]),
        (with("3 = \"127.0.0.1:7001\"\n"), &["members 1 and 3 have the same address"]),
        (with("[timing]\nwatch = \"soon\"\n"), &["line 8"]),
        (with("[timing]\nwatch = \"150ms\"\n"), &["bully.heartbeat (100ms)", "try 30ms"]),
        (with("[log]\nlevel = \"loud\"\n"), &["unknown level `loud`", "debug"]),
        (with("[log]\nformat = \"xml\"\n"), &["`xml`", "`json`"]),
        (GOOD.replace("node = 2", "node = 3").pipe(problem), &["node 3 is not among", "1, 2, 10"]),
        (GOOD.replace("node = 2", "node = 70000").pipe(problem), &["`70000` is not a node id"]),
        (GOOD.replace("node = 2\n", "").pipe(problem), &["--node", "BELLWETHER_NODE"]),
        (GOOD.replace("orders", "or ders").pipe(problem), &["line 1", "is not a cluster name"]),
        (problem(""), &["missing field `cluster`"]),
        (problem("\u{0}"), &["line 1"]),
        (problem(&"#".repeat(300_000)), &["larger than 262144 bytes"]),
    ] {
        for part in expected {
            assert!(found.contains(part), "`{part}` is missing in: {found}");
        }
    }
}

#[test]
fn a_file_that_is_missing_or_no_text_is_told_by_name() {
    let missing = PathBuf::from("/no/such/file.toml");
    let error = load(&missing, &Overrides::default()).expect_err("must be refused");
    assert!(error.to_string().starts_with("cannot read the configuration /no/such/file.toml: No"));
    let directory = tempfile::tempdir().expect("a directory");
    let error = load(directory.path(), &Overrides::default()).expect_err("must be refused");
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
