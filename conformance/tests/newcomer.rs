//! The newcomer's path: every block of commands that the README and the pages show for a shell is
//! run as it stands, or stands here with the reason why it is not. One that does neither fails.

use bellwether_docs_runner::How::{self, Not, Prints, Runs, RunsLong, Until};
use bellwether_docs_runner::{Block, Checkout, blocks, pages};
use std::path::Path;

/// What ends a search early.
const FEW: &str = "--max-states 500";

const LONG: &str = "it takes many minutes";
const ROOT: &str = "it needs root, and takes many minutes";
const TEST: &str = "it is a test, which runs beside this one";

/// Each block: its page, how its first line begins, and what is done with it.
const BLOCKS: &[(&str, &str, How)] = &[
    ("README.md", "cargo build --release -p bellwether-daemon", Prints("Their page: http://")),
    ("README.md", "for name in a b", Runs),
    (
        "docs/adding-a-protocol.md",
        "cargo run --release -p own-protocol",
        Not("tests/roll_call.rs checks what it finds"),
    ),
    ("docs/adding-a-protocol.md", "cd conformance", Not("tests/roll_call.rs runs what it builds")),
    ("docs/architecture.md", "BELLWETHER_CASES=2000", Not(LONG)),
    ("docs/ci.md", "cat > bellwether.toml", Runs),
    ("docs/ci.md", "#!/usr/bin/env bash", Runs),
    ("docs/ci.md", "cargo run -p bellwether-conformance --example mutants", Not(LONG)),
    ("docs/ci.md", "target/release/bellwether-conformance lockstep", Runs),
    (
        "docs/conformance.md",
        "python3 examples/clients/bully_log.py out",
        Not("it needs Python; tests/validate/command.rs"),
    ),
    (
        "docs/conformance.md",
        "target/release/bellwether-conformance validate",
        Not("it needs logs of nodes; tests/validate.rs"),
    ),
    ("docs/conformance.md", "cargo bench -p bellwether-conformance --bench logs", Not(LONG)),
    (
        "docs/daemon.md",
        "cargo build --release -p bellwether-daemon",
        Prints("taking part in elections"),
    ),
    (
        "docs/daemon.md",
        "bellwether members list",
        Not("it needs a cluster with a token; impl/daemon/tests/members.rs"),
    ),
    (
        "docs/daemon.md",
        "bellwether recover --members",
        Not("it needs a cluster that lost machines; impl/daemon/tests/recover.rs"),
    ),
    (
        "docs/daemon.md",
        "bellwether maintenance begin",
        Not("it needs a cluster with a token; impl/daemon/tests/roles.rs"),
    ),
    (
        "docs/daemon.md",
        "bellwether store init",
        Not("it needs a database; impl/daemon/tests/stores.rs"),
    ),
    ("docs/daemon.md", "target/release/bellwether exec", Prints("taking part in elections")),
    ("docs/daemon.md", "bellwether keys secret /etc", Not("it writes into /etc")),
    ("docs/daemon.md", "bellwether keys init keys", Runs),
    (
        "docs/daemon.md",
        "bellwether status --config orders.toml --node 3",
        Not("it asks nodes that run; impl/daemon/tests/groups.rs"),
    ),
    ("docs/dataflow.md", "cargo build --release -p bellwether-dataflow", Runs),
    (
        "docs/fencing.md",
        "cargo build -p job-runner",
        Until("target/debug/job-runner results --database jobs.db | grep -q '[1-9]'"),
    ),
    (
        "docs/http.md",
        "curl -X POST",
        Not("it asks a node that serves HTTP; impl/daemon/tests/http.rs"),
    ),
    ("docs/http.md", "bellwether keys init keys", Not("it asks another machine")),
    ("docs/model.md", "target/release/bellwether-model check bully --recoveries 1 --json", Runs),
    ("docs/packaging.md", "packaging/debian/build", Not("it needs cargo-deb, and root")),
    ("docs/packaging.md", "sudo install -d", Not("it needs systemd, and root")),
    ("docs/packaging.md", "cargo run --release -p bellwether-daemon --", Not("it needs Docker")),
    ("docs/packaging.md", "bellwether keys secret secret", Not("it needs a cluster of Kubernetes")),
    (
        "docs/packaging.md",
        "python3 examples/clients",
        Not("it asks other machines; impl/daemon/tests/packaging/clients.rs"),
    ),
    ("docs/performance.md", "cargo run --release -p bellwether-model --example", Not(LONG)),
    ("docs/performance.md", "target/release/bellwether-model check bully --variant", Not(LONG)),
    ("docs/performance.md", "mkdir -p out", Not("it needs TLC and SPIN, and takes many minutes")),
    (
        "docs/performance.md",
        "target/release/bellwether-model check bully --nodes 5",
        RunsLong(1, FEW),
    ),
    ("docs/performance.md", "for protocol in bully", Not(LONG)),
    ("docs/performance.md", "cargo run --release -p bellwether-sim -- failover", RunsLong(0, "")),
    (
        "docs/performance.md",
        "cargo build --release -p bellwether-daemon -p bellwether-testbed",
        Not(ROOT),
    ),
    ("docs/performance.md", "target/release/bellwether-soak quiescent", Not(LONG)),
    ("docs/performance.md", "target/release/bellwether-soak groups", Not(LONG)),
    ("docs/protocols/garcia-molina.md", "cargo test -p bellwether-conformance", Not(TEST)),
    (
        "docs/protocols/quorum.md",
        "cargo run --release -- check quorum --variant bare",
        RunsLong(4, FEW),
    ),
    ("docs/protocols/quorum.md", "cargo run --release -- check quorum --engine", RunsLong(3, FEW)),
    ("docs/protocols/quorum.md", "cargo run --release -- check quorum --rule wiped=1", Runs),
    ("docs/protocols/quorum.md", "BELLWETHER_CASES=1500", Not(LONG)),
    (
        "docs/protocols/quorum.md",
        "cargo run --release -p bellwether-conformance -- lockstep",
        RunsLong(0, FEW),
    ),
    ("docs/prove.md", "apt install z3", Not("it installs a package, as root")),
    (
        "docs/questions.md",
        "cargo run --release -p bellwether-conformance -- lockstep quorum",
        RunsLong(0, FEW),
    ),
    ("docs/simulation.md", "cargo run --release -p bellwether-sim -- replay", Runs),
    ("docs/simulation.md", "cargo run --release -p bellwether-sim -- run --json", RunsLong(0, "")),
    ("docs/simulation.md", "cargo run --release -p bellwether-sim -- run --nodes", RunsLong(0, "")),
    ("docs/soak.md", "cargo build --release -p bellwether-daemon -p bellwether-testbed", Not(ROOT)),
    ("docs/soak.md", "target/release/bellwether-soak soak --network", Not(LONG)),
    ("docs/soak.md", "target/release/bellwether-soak soak --drift", Not(ROOT)),
    ("docs/soak.md", "target/release/bellwether-soak killed-together", Not(LONG)),
    ("docs/soak.md", "cargo build --release -p bellwether-conformance", Not(LONG)),
    ("docs/soak.md", "BELLWETHER_ROUNDS=50", Not(LONG)),
    ("docs/stores.md", "redis-cli ACL SETUSER", Not("it needs Redis")),
    ("docs/stores.md", "etcdctl role add", Not("it needs etcd")),
    ("docs/stores.md", "printf 'val(", Not("it needs etcd")),
    ("docs/stores-tests.md", "cargo test -p bellwether --test main stores", Not(TEST)),
    ("docs/stores-tests.md", "cargo test -p bellwether-stores kubernetes", Not(TEST)),
    ("docs/stores-tests.md", "BELLWETHER_CASES=10000", Not(LONG)),
    (
        "docs/stores-tests.md",
        "cargo build --release -p bellwether-daemon -p bellwether-testbed",
        Not(LONG),
    ),
    ("docs/stores-tests.md", "target/release/bellwether-soak stores lost", Not("it needs Redis")),
    ("docs/stores-tests.md", "target/release/bellwether-soak stores rates", Not(LONG)),
    ("docs/suite.md", "target/release/bellwether-conformance suite", Runs),
    (
        "docs/survey.md",
        "cargo run --release -- survey --deep --markdown",
        RunsLong(0, "--max-states 100"),
    ),
    ("docs/survey.md", "cargo run --release -- survey", RunsLong(0, "--max-states 100")),
    (
        "docs/traces.md",
        "cargo build --release -p bellwether-daemon -p bellwether-testbed",
        Not(LONG),
    ),
    ("docs/tutorial.md", "cargo run --release -- explore", Prints("Explorer: http://")),
    ("docs/tutorial.md", "cargo build --release -p bellwether-daemon", Runs),
    (
        "docs/tutorial.md",
        "kill -9 %3",
        Not("it goes on with the block above; impl/daemon/tests kills nodes as well"),
    ),
    ("docs/tutorial.md", "cargo run --release -p bellwether-conformance -- lockstep", Runs),
];

/// In blocks that show what is printed, the commands that a test of the checker does not run.
const SHOWN: &[(&str, &str, &str)] = &[
    ("docs/dataflow.md", "cargo run --release -p bellwether-dataflow", "a test of that package"),
    ("docs/detectors.md", "cargo run --release -p bellwether --example", "a test of that example"),
    ("docs/model.md", "cargo run --release -p bellwether-literature", "a test of that package"),
    ("docs/prove.md", "cargo run --release -p bellwether-prove", "a test of that package"),
    ("docs/real-design.md", "cargo run --release --example real_design", "tests/docs.rs"),
    ("docs/simulation.md", "cargo run --release -p bellwether-sim -- run", LONG),
];

#[test]
fn every_block_for_a_shell_is_run_or_has_a_reason() {
    let mut known = vec![0; BLOCKS.len()];
    for (page, text) in pages() {
        for Block { text: block, .. } in blocks(&text, "sh") {
            let is = |(of, begins, _): &(&str, &str, How)| *of == page && block.starts_with(begins);
            let Some(at) = BLOCKS.iter().position(is) else {
                panic!("{page}: say in BLOCKS what to do with\n{block}")
            };
            known[at] += 1;
        }
        for line in blocks(&text, "console").iter().flat_map(|block| block.text.lines()) {
            let Some(command) = line.strip_prefix("$ ") else { continue };
            let is =
                |(of, begins, _): &&(&str, &str, _)| *of == page && command.starts_with(begins);
            let run = command.starts_with("cargo run --release -- ");
            assert!(run || SHOWN.iter().any(|shown| is(&shown)), "{page}: not run: {command}");
        }
    }
    for ((page, begins, how), times) in BLOCKS.iter().zip(known) {
        assert_eq!(times, 1, "{page}: blocks that begin with {begins}");
        if let Not(why) = how {
            assert!(!why.is_empty());
        }
    }
}

#[test]
fn what_the_pages_show_works_as_it_stands() {
    let program = Path::new(env!("CARGO_BIN_EXE_bellwether-conformance"));
    let Some(checkout) = Checkout::new(program.parent().expect("a folder")) else { return };
    let pages = pages();
    for (page, begins, how) in BLOCKS {
        let shown = blocks(&pages[*page], "sh");
        let block = shown.iter().find(|block| block.text.starts_with(begins)).expect("it is there");
        checkout.run(&format!("{page}:{}", block.line), block.text, how);
    }
}
