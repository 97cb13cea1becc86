//! Clients of a store that is no node and writes no log: what it answers is believed as far as the
//! store of the specification could have given it.

use super::group::{Faults, Group};
use super::{WHOLE, accepted, bullies, changed, edits, is_refused, judge, validate};
use bellwether_conformance::mapping::{self, Mapping};
use bellwether_conformance::validate::Log;
use bellwether_core::protocol::{Members, NodeId, lease};
use serde_json::{Value, json};
use std::io::Cursor;

fn lease() -> Mapping<mapping::lease::Lease> {
    mapping::lease::recommended()
}
/// The id of such a store.
const STORE: u16 = 65_535;
/// How long a client counts a lease, by its clock.
const HOLD: u64 = 10_000;

/// The logs of the clients of such a store, which is the last of these.
pub(crate) fn logs(ids: &[u16], seed: u64) -> Vec<String> {
    let members = Members::new(ids.iter().copied().filter_map(NodeId::new)).expect("2 to 255 ids");
    let configs = members.iter().map(|id| mapping::lease::config(id, &members)).collect();
    let faults = if seed.is_multiple_of(2) { Faults::SOME } else { Faults::NONE };
    let group = Group::<lease::Lease>::new(configs, None, seed, faults);
    let mut logs = group.in_which_lives(ids.len() - 1).logs(500);
    logs.pop();
    logs.iter().map(|log| log.lines().map(outside).collect()).collect()
}

/// A line as it is if the highest member is a store that is no node.
fn outside(line: &str) -> String {
    let mut line: Value = serde_json::from_str(line).expect("JSON");
    if let Some(start) = line.get_mut("start") {
        let store = start["members"].as_array_mut().and_then(Vec::pop);
        start["services"] = json!([store]);
    } else if let Some(step) = line.get_mut("step")
        && let Some(received) = step.get_mut("receive").and_then(Value::as_object_mut)
    {
        received.insert("incarnation".to_owned(), json!(0));
        received.remove("id");
    }
    format!("{line}\n")
}

#[test]
fn clients_of_a_store_outside_of_the_cluster_are_judged() {
    let (mut judged, mut epochs, mut answers) = (0, 0, 0);
    for seed in 0..40 {
        let ids = if seed < 20 { [1, 2, 3, STORE] } else { [2, 5, 900, STORE] };
        let summary = accepted(&lease(), &logs(&ids, seed), WHOLE).summary;
        assert_eq!((summary.members, summary.logs), (4, 3));
        assert!(summary.not_judged.is_empty(), "{:?}", summary.not_judged);
        let assumed: Vec<_> = summary.assumed.into_iter().collect();
        let [(what, count)] = assumed[..] else { panic!("{assumed:?}") };
        assert!(what.contains("their order among different nodes"), "{what}");
        assert_eq!((count, summary.believed), (summary.received, summary.received));
        judged += summary.steps.values().sum::<u64>();
        (epochs, answers) = (epochs + summary.epochs, answers + count);
    }
    assert!(judged > 4_000, "only {judged} steps");
    assert!(epochs > 40 && answers > 1_000, "{epochs} epochs, {answers} answers");
}

#[test]
fn the_log_of_one_client_is_judged() {
    for seed in 0..10 {
        for log in logs(&[1, 2, 3, STORE], seed) {
            accepted(&lease(), &[log], WHOLE);
        }
    }
}

#[test]
fn nearly_every_change_of_a_client_s_log_is_refused() {
    let (mut survived, mut refused) = (0, 0);
    for seed in 0..20 {
        let logs = logs(&[1, 2, 3, STORE], seed);
        let counts = changed(&edits::KINDS, &logs, seed, |logs| is_refused(&lease(), logs));
        (survived, refused) = (survived + counts[0], refused + counts[1]);
    }
    assert!(refused > 100 && survived * 50 <= refused, "{refused} refused, {survived} not");
}

/// A client that writes what it does, right or wrong.
struct Client {
    node: u16,
    lines: Vec<Value>,
    /// How many messages and requests it has sent, and when the last request is due.
    sent: u64,
    request: u64,
    due: u64,
    /// Its role, what it takes for the leader, its token, and when it renews.
    role: &'static str,
    leader: Option<u16>,
    token: u64,
    renews: u64,
}

impl Client {
    /// It has started, and asked.
    fn new(node: u16) -> Self {
        let (role, lines) = ("not_started", Vec::new());
        let (leader, token, renews) = (None, 0, 0);
        let mut client =
            Client { node, lines, sent: 0, request: 0, due: 0, role, leader, token, renews };
        client.write(
            0,
            "start",
            &json!({
                "format": 1, "protocol": "lease", "cluster": "orders", "node": node,
                "incarnation": 1, "members": [1, 2], "services": [STORE],
                "durations": {"Asked": HOLD, "Lease": HOLD, "Renew": 2_000, "Retry": 3_000},
            }),
        );
        let out = vec![json!({"persist": {"started": 1}}), client.acquires(0)];
        let asks = json!([["Asked", client.due]]);
        client.step(0, ("boot", Value::Null), out, ("candidate", None, "booted"), &asks);
        client
    }

    fn write(&mut self, at: u64, what: &str, entry: &Value) {
        self.lines.push(json!({"n": self.lines.len(), "at": at, what: entry}));
    }

    /// A step after which it is this.
    fn step(
        &mut self,
        at: u64,
        (what, happened): (&str, Value),
        mut out: Vec<Value>,
        (role, leader, reason): (&'static str, Option<u16>, &str),
        armed: &Value,
    ) {
        if (role, leader) != (self.role, self.leader) {
            let change = json!({"from": self.role, "to": role, "leader": leader, "reason": reason});
            out.push(json!({"role": change}));
        }
        (self.role, self.leader) = (role, leader);
        let mut after = json!({"role": role, "leader": leader, "armed": armed});
        if role == "leader" {
            after["epoch"] = json!(self.token);
            after["lease"] = json!({"epoch": self.token, "until": armed[0][1]});
        }
        self.write(at, "step", &json!({what: happened, "out": out, "after": after}));
    }

    fn sends(&mut self, message: &Value) -> Value {
        self.sent += 1;
        json!({"send": {"to": STORE, "id": self.sent, "message": message}})
    }

    fn number(&self) -> Value {
        json!({"started": 1, "number": self.request})
    }

    fn acquires(&mut self, at: u64) -> Value {
        (self.request, self.due) = (self.request + 1, at + HOLD);
        let number = self.number();
        self.sends(&json!({"Acquire": number}))
    }

    /// It leads with this token after it has received something.
    fn leads(&mut self, at: u64, message: &Value, token: u64) {
        if self.role != "leader" {
            self.renews = at + 2_000;
        }
        self.token = token;
        let received = json!({"from": STORE, "incarnation": 0, "message": message});
        let leads = ("leader", Some(self.node), "granted");
        let armed = json!([["Lease", self.due], ["Renew", self.renews]]);
        self.step(at, ("receive", received), Vec::new(), leads, &armed);
    }

    fn granted(&mut self, at: u64, token: u64) {
        let message = json!({"Granted": [self.number(), token]});
        self.leads(at, &message, token);
    }

    fn refused(&mut self, at: u64, holder: u16) {
        let message = json!({"Refused": [self.number(), holder]});
        let received = json!({"from": STORE, "incarnation": 0, "message": message});
        let follows = ("follower", Some(holder), "refused");
        let armed = json!([["Retry", at + 3_000]]);
        self.step(at, ("receive", received), Vec::new(), follows, &armed);
    }

    fn retries(&mut self, at: u64) {
        let out = vec![self.acquires(at)];
        let armed = json!([["Asked", self.due]]);
        let same = (self.role, self.leader, "");
        self.step(at, ("expire", json!("Retry")), out, same, &armed);
    }

    /// It works, and renews its lease.
    fn works(&mut self, at: u64) {
        let until = self.due;
        (self.request, self.due, self.renews) = (self.request + 1, at + HOLD, at + 2_000);
        let number = self.number();
        let out = vec![
            self.sends(&json!({"Write": self.token})),
            self.sends(&json!({"Renew": [number, self.token]})),
        ];
        let armed = json!([["Lease", until], ["Asked", self.due], ["Renew", self.renews]]);
        self.step(at, ("expire", json!("Renew")), out, ("leader", self.leader, ""), &armed);
    }

    /// Its lease ends, and it asks again.
    fn ends(&mut self, at: u64) {
        let out = vec![self.acquires(at)];
        let armed = json!([["Asked", self.due]]);
        let waits = ("candidate", None, "lease_expired");
        self.step(at, ("expire", json!("Lease")), out, waits, &armed);
    }

    fn log(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// A client to which this happens after it has started: what, and when.
fn client(node: u16, happens: &str) -> Client {
    let mut client = Client::new(node);
    for words in happens.split(", ") {
        let (what, numbers) = words.split_once(' ').expect("when");
        let numbers: Vec<u64> = numbers.split(' ').map(|word| word.parse().expect("u64")).collect();
        match (what, &numbers[..]) {
            ("granted", &[at, token]) => client.granted(at, token),
            ("refused", &[at, holder]) => client.refused(at, u16::try_from(holder).expect("u16")),
            ("retries", &[at]) => client.retries(at),
            ("works", &[at]) => client.works(at),
            ("ends", &[at]) => client.ends(at),
            // Its lease counts from the answer, or the answer is to a request that it did not make.
            ("late", &[by]) => client.due += by,
            ("skips", &[requests]) => client.request += requests,
            // A refusal makes it lead.
            ("leads", &[at, token]) => {
                let refusal = json!({"Refused": [client.number(), null]});
                client.leads(at, &refusal, token);
            }
            _ => panic!("{words}"),
        }
    }
    client
}

/// The first client is granted 7, renews it once, loses it, and is granted 9.
const FIRST: &str = "granted 100 7, works 2100, granted 2200 7, ends 12101, granted 20000 9";

#[test]
fn what_a_store_can_have_answered_is_accepted() {
    let second = client(2, "refused 100 1, retries 3100, granted 12500 8");
    let summary = accepted(&lease(), &[client(1, FIRST).log(), second.log()], WHOLE).summary;
    assert_eq!((summary.epochs, summary.believed), (3, 5));
}

/// The events of a second client that no store can have answered so, the line that is wrong, and
/// what differs there.
const WRONG: [(&str, u64, &str); 8] = [
    // Another node has had the token.
    ("refused 100 1, retries 3100, granted 12500 7", 5, "leader of epoch 7"),
    // The client leads, and was granted nothing.
    ("leads 100 8", 3, "role"),
    ("late 100, granted 100 8", 3, "deadline of lease"),
    // The token is lower than before, or the same for a new request.
    ("granted 100 8, ends 10001, granted 10100 6", 5, "epoch granted"),
    ("granted 100 8, ends 10001, granted 10100 8", 5, "epoch granted"),
    // A renewal has another token.
    ("granted 100 8, works 2100, granted 2200 10", 5, "epoch granted"),
    // A request is answered twice, or one that was not made.
    ("granted 100 8, granted 200 8", 4, "request answered"),
    ("skips 1, granted 100 8", 3, "request answered"),
];

#[test]
fn what_no_store_can_have_answered_is_rejected_with_its_line() {
    for (happens, line, what) in WRONG {
        let logs = [client(1, FIRST).log(), client(2, happens).log()];
        let rejection = judge(&lease(), &logs, WHOLE).rejection;
        let rejection = rejection.unwrap_or_else(|| panic!("{happens}: accepted"));
        let place = rejection.line.as_ref().map(|at| (at.log.as_str(), at.line));
        assert_eq!(place, Some(("log 2", line)), "{happens}: {}", rejection.report());
        let found: Vec<_> = rejection.differences.iter().map(|found| &found.what).collect();
        assert!(found.iter().any(|found| *found == what), "{happens}: {found:?}");
    }
}

#[test]
fn a_service_that_the_specification_does_not_have_is_refused() {
    let with = |log: &String| {
        let log = log.replacen("\"members\":", "\"services\":[65535],\"members\":", 1);
        Log { name: "log".to_owned(), text: Box::new(Cursor::new(log.into_bytes())) }
    };
    let logs = bullies(1, Faults::NONE, 50).iter().map(with).collect();
    let error = validate(&mapping::bully::mapping(), logs, WHOLE).expect_err("refused");
    assert!(error.to_string().contains("the specification has 0"), "{error}");
}
