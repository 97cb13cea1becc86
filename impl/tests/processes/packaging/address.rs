//! The command that takes an address on the leader, in a network of its own.

use std::process::{Command, Output};

use super::{has, notice, shipped};

/// Takes the address three times: it is asked to end, is killed, and is given what is no address.
/// The interface is one end of a pair, in a network that ends with the shell.
const STEPS: &str = r#"
set -eu
ip link add name v0 type veth peer name v1
ip link set dev v0 up
ip link set dev v1 up
has() { ip -4 -o address show dev v0 | grep -q 'inet 10\.9\.9\.9/24 '; }
soon() {
  for look in $(seq 50); do
    if "$@"; then return 0; fi
    sleep 0.1
  done
  echo "not $*"
  exit 1
}
gone() { ! has; }

"$1" 10.9.9.9/24 v0 & taker=$!
soon has
sleep 3
has || { echo 'not renewed'; exit 1; }
kill -TERM $taker
wait $taker
gone || { echo 'not given back'; exit 1; }

"$1" 10.9.9.9/24 v0 & taker=$!
soon has
kill -KILL $taker
soon gone
echo 'all is well'
"#;

fn said(output: &Output) -> String {
    let [said, errors] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{said}{errors}")
}

#[test]
fn an_address_is_taken_renewed_and_given_back_and_ends_by_itself_after_a_kill() {
    if !["unshare", "ip"].into_iter().all(has) {
        return;
    }
    let command = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", script, "sh"]);
        command.arg(shipped("packaging/floating-address")).output().expect("it runs")
    };
    let pair = command("ip link add name v0 type veth peer name v1");
    if !pair.status.success() {
        return notice(&format!("skipped: there is no network to try it in: {}", said(&pair)));
    }
    let output = command(STEPS);
    assert!(said(&output).contains("all is well"), "{}", said(&output));
}

#[test]
fn what_is_no_address_is_refused_with_an_example() {
    for words in [vec!["fe80::1/64", "lo"], vec!["10.0.0.100", "lo"], vec!["10.0.0.100/24"]] {
        let mut command = Command::new(shipped("packaging/floating-address"));
        let output = command.args(&words).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let said = said(&output);
        assert!(said.contains("10.0.0.100/24") || said.contains("usage: "), "{said}");
    }
}
