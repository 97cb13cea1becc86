//! The Lease of Kubernetes, against a server that behaves as its API is documented.

use std::sync::MutexGuard;
use std::sync::mpsc::{Sender, channel};

use bellwether_testbed::lease_api::{ALL, LeaseApi};
use tokio::time::advance;

use super::*;
use crate::http_client::tests::serve;
use crate::testing::{away, ends_what_is_doubted, file, holder, is_quiet, serves, told, unfit};

const KEEP: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_millis(1);

/// A server with the [`LeaseApi`], for one test.
#[derive(Clone)]
struct Api {
    address: String,
    state: Arc<Mutex<LeaseApi>>,
    /// While this is there, a thread of the runtime is busy. So a time that is paused does not pass
    /// by itself, however slow the system is with what was sent.
    _busy: Sender<()>,
}

impl Api {
    /// A server without a Lease.
    async fn start() -> Self {
        let state = Arc::new(Mutex::new(LeaseApi::default()));
        let served = Arc::clone(&state);
        let address = serve(move |asked| served.lock().expect("no panic").answer(asked)).await;
        let (busy, ends) = channel();
        tokio::task::spawn_blocking(move || ends.recv());
        Self { address, state, _busy: busy }
    }

    fn state(&self) -> MutexGuard<'_, LeaseApi> {
        self.state.lock().expect("no panic")
    }

    /// The Lease as it is.
    fn object(&self) -> Value {
        self.state().object.clone().expect("a Lease")
    }

    /// How many questions were asked that begin so.
    fn count(&self, start: &str) -> usize {
        self.state().asked.iter().filter(|(asked, _)| asked.starts_with(start)).count()
    }
}

fn settings() -> LeaseSettings {
    LeaseSettings { name: "orders".to_owned(), ttl: KEEP, limit: KEEP }
}

fn way(api: &Api) -> Kubernetes {
    let address = format!("kubernetes+http://{}/shop/orders", api.address);
    Kubernetes::parse(&address, &Files::default()).expect("an address")
}

async fn connect(way: &Kubernetes) -> Box<dyn LeaseStore> {
    way.connect(&settings()).await.expect("it listens")
}

fn claim(holder: &Holder) -> Claim<'_> {
    Claim { holder, seen: Token::default(), waits: false, overdue: None }
}

/// Returns the token of a grant, or the number of the holder that a refusal names; 0 is no holder.
fn outcome(answer: StoreResult<Answer>) -> Result<u64, u16> {
    match answer.expect("an answer") {
        Answer::Granted(token) => Ok(token.get()),
        Answer::Refused(record) => {
            let name = record.holder.map(|holder| holder.name().parse().expect("a number"));
            Err(name.unwrap_or(0))
        }
    }
}

async fn acquire(store: &mut Box<dyn LeaseStore>, number: u16) -> Result<u64, u16> {
    outcome(store.acquire(claim(&holder(number))).await)
}

async fn renew(store: &mut Box<dyn LeaseStore>, number: u16, token: u64) -> Result<u64, u16> {
    outcome(store.renew(&holder(number), Token::new(token)).await)
}

async fn release(store: &mut Box<dyn LeaseStore>, number: u16, token: u64) {
    store.release(&holder(number), Token::new(token)).await.expect("given back");
}

/// A server with the Lease, and a connection of a node that has just started.
async fn ready() -> (Api, Box<dyn LeaseStore>) {
    let api = Api::start().await;
    let mut store = connect(&way(&api)).await;
    store.init().await.expect("it is made");
    (api, store)
}

#[tokio::test]
async fn each_grant_has_the_next_token() {
    let (api, mut one) = ready().await;
    let mut two = connect(&way(&api)).await;
    serves(&mut one, &mut two, [1, 2, 3], 2).await;
    let spec = &api.object()["spec"];
    let holder = spec["holderIdentity"].as_str().expect("a text");
    assert!(holder.starts_with("2#") && holder.len() == 18, "{holder}");
    assert_eq!(spec["leaseDurationSeconds"], 10);
    assert_eq!(spec["acquireTime"], spec["renewTime"]);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_has_not_changed_for_its_time_can_be_taken() {
    let (api, mut one) = ready().await;
    let mut two = connect(&way(&api)).await;
    assert_eq!(acquire(&mut one, 1).await, Ok(1));
    // What passes before it is seen does not count.
    advance(KEEP * 3).await;
    assert_eq!(acquire(&mut two, 2).await, Err(1));
    advance(KEEP - TICK).await;
    assert_eq!(acquire(&mut two, 2).await, Err(1));
    // A renewal starts it again, from when that is seen.
    assert_eq!(renew(&mut one, 1, 1).await, Ok(1));
    advance(KEEP / 2).await;
    assert_eq!(acquire(&mut two, 2).await, Err(1));
    advance(KEEP - TICK).await;
    assert_eq!(acquire(&mut two, 2).await, Err(1));
    let token = Token::new(1);
    let (holder, left) = (Some(holder(1)), Some(TICK));
    let record = store::LeaseRecord { holder, token, left, doubt: None };
    assert_eq!(two.read().await, Ok(record));
    advance(TICK).await;
    let record = store::LeaseRecord { token, ..store::LeaseRecord::default() };
    assert_eq!(two.read().await, Ok(record));
    assert_eq!(acquire(&mut two, 2).await, Ok(2));
    assert_eq!(renew(&mut one, 1, 1).await, Err(2));
    assert_eq!(acquire(&mut one, 1).await, Err(2));
}

#[tokio::test(start_paused = true)]
async fn the_times_and_the_names_of_others_decide_nothing() {
    let (api, _) = ready().await;
    let mut two = connect(&way(&api)).await;
    for time in ["1970-01-01T00:00:00.000000Z", "2999-01-01T00:00:00.000000Z", "soon"] {
        api.state().edit(&json!({
            "holderIdentity": "pod-7_1f2e", "leaseDurationSeconds": 3, "renewTime": time,
        }));
        for pause in [Duration::ZERO, Duration::from_secs(3) - TICK] {
            advance(pause).await;
            let text = unfit(two.acquire(claim(&holder(2))).await);
            assert!(text.contains("pod-7_1f2e") && text.contains("an object of its own"), "{text}");
        }
    }
    advance(TICK).await;
    assert_eq!(acquire(&mut two, 2).await, Ok(1));
}

/// A duration that no client can have written ends when a client says that it has watched the
/// record for long enough.
#[tokio::test(start_paused = true)]
async fn a_doubted_lease_is_granted_by_its_version_only() {
    let (api, mut one) = ready().await;
    let (mut two, second) = (connect(&way(&api)).await, holder(2));
    assert_eq!(acquire(&mut one, 1).await, Ok(1));
    for lasts in [json!(null), json!(0), json!(3_601)] {
        api.state().edit(&json!({ "leaseDurationSeconds": lasts }));
        let doubt = two.read().await.expect("a record").doubt.expect("a doubt");
        advance(LONGEST * 2).await;
        let record = two.read().await.expect("a record");
        assert_eq!((&record.holder, &record.left), (&Some(holder(1)), &None));
        assert_eq!(record.doubt.as_ref(), Some(&doubt), "nothing has changed");
        assert_eq!(acquire(&mut two, 2).await, Err(1));
        // A renewal writes a duration that is good, and another version.
        assert_eq!(renew(&mut one, 1, 1).await, Ok(1));
        let overdue = Claim { overdue: Some(&doubt), ..claim(&second) };
        assert_eq!(outcome(two.acquire(overdue).await), Err(1));
    }
    api.state().edit(&json!({ "leaseDurationSeconds": 3_600 }));
    assert_eq!(two.read().await.expect("a record").doubt, None, "an hour can be meant");
    api.state().edit(&json!({ "leaseDurationSeconds": 7_200 }));
    ends_what_is_doubted(&mut two).await;
}

#[tokio::test]
async fn a_grant_has_a_higher_token_than_the_client_has_seen() {
    let (_, mut one) = ready().await;
    let first = holder(1);
    let claim = Claim { seen: Token::new(41), waits: true, ..claim(&first) };
    assert_eq!(outcome(one.acquire(claim).await), Ok(42));
    assert_eq!(outcome(one.acquire(claim).await), Ok(43));
    let most = Claim { seen: Token::new(2_147_483_647), ..claim };
    assert!(unfit(one.acquire(most).await).contains("counted no further"));
}

/// A machine that was copied runs two nodes with one id.
#[tokio::test]
async fn another_start_of_the_same_node_waits_as_any_other() {
    let (_, mut one) = ready().await;
    assert_eq!(acquire(&mut one, 1).await, Ok(1));
    let copy = Holder::new("1", 2).expect("a good name");
    assert_eq!(outcome(one.acquire(claim(&copy)).await), Err(1));
    assert_eq!(outcome(one.renew(&copy, Token::new(1)).await), Err(1));
    one.release(&copy, Token::new(1)).await.expect("no error");
    assert_eq!(renew(&mut one, 1, 1).await, Ok(1));
}

/// Another version of the object alone is no renewal. Otherwise a program that changes it again and
/// again would keep all from taking a lease that is over.
#[tokio::test(start_paused = true)]
async fn a_label_renews_nothing() {
    let (api, mut one) = ready().await;
    let mut two = connect(&way(&api)).await;
    assert_eq!(acquire(&mut one, 1).await, Ok(1));
    assert_eq!(acquire(&mut two, 2).await, Err(1));
    for round in 0..4 {
        advance(KEEP / 4 - TICK).await;
        let mut object = api.object();
        object["metadata"]["labels"] = json!({ "round": round.to_string() });
        api.state().change("MODIFIED", object);
        assert_eq!(acquire(&mut two, 2).await, Err(1));
    }
    advance(TICK * 4).await;
    api.state().conflicts = 1;
    assert_eq!(acquire(&mut two, 2).await, Ok(2), "one conflict more, and it is over still");
}

/// No clock decides, but each renewal must be seen.
#[tokio::test(start_paused = true)]
async fn a_renewal_is_seen_although_the_clock_is_wrong() {
    let (api, mut one) = ready().await;
    let mut two = connect(&way(&api)).await;
    assert_eq!(acquire(&mut one, 1).await, Ok(1));
    let last = "9999-12-31T23:59:59.999999Z";
    for (before, after) in [
        ("2999-01-01T00:00:00.000000Z", Some("2999-01-01T00:00:00.000001Z")),
        ("2999-01-01T00:00:00Z", Some("2999-01-01T00:00:00.000001Z")),
        (last, None),
        ("soon", None),
    ] {
        api.state().edit(&json!({ "renewTime": before }));
        assert_eq!(acquire(&mut two, 2).await, Err(1));
        advance(KEEP - TICK).await;
        // It remembers another version.
        assert_eq!(renew(&mut one, 1, 1).await, Ok(1), "{before}");
        let time = api.object()["spec"]["renewTime"].clone();
        match after {
            Some(after) => assert_eq!(time, after),
            None => assert!(time.as_str().is_some_and(|time| time < "2999" && time > "2026")),
        }
        advance(TICK).await;
        assert_eq!(acquire(&mut two, 2).await, Err(1), "{before}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_observed_outlasts_a_connection_and_not_the_program() {
    let (api, mut one) = ready().await;
    assert_eq!(acquire(&mut one, 1).await, Ok(1));
    let (same, restarted) = (way(&api), way(&api));
    assert_eq!(acquire(&mut connect(&same).await, 2).await, Err(1));
    advance(KEEP).await;
    assert_eq!(acquire(&mut connect(&restarted).await, 3).await, Err(1));
    assert_eq!(acquire(&mut connect(&same).await, 2).await, Ok(2));
}

#[tokio::test]
async fn a_conflict_is_decided_by_what_the_server_has() {
    let (api, mut one) = ready().await;
    api.state().conflicts = 1;
    assert_eq!(acquire(&mut one, 1).await, Ok(1), "only an annotation has changed");
    api.state().conflicts = 1;
    assert_eq!(renew(&mut one, 1, 1).await, Ok(1));
    api.state().conflicts = 2;
    // The client has the lease all the same.
    away(one.renew(&holder(1), Token::new(1)).await);
    // The connection remembers the object as it was; another has taken it since.
    assert_eq!(renew(&mut one, 1, 1).await, Ok(1));
    api.state().edit(&json!({ "holderIdentity": holder(2).to_string(), "leaseTransitions": 2 }));
    assert_eq!(renew(&mut one, 1, 1).await, Err(2));
    api.state().edit(&json!({ "holderIdentity": holder(1).to_string(), "leaseTransitions": 3 }));
    api.state().conflicts = 1;
    release(&mut one, 1, 3).await;
    api.state().conflicts = 2;
    away(one.acquire(claim(&holder(1))).await);
}

/// A renewal takes one question: the object is remembered.
#[tokio::test]
async fn a_renewal_is_one_question() {
    let (api, mut one) = ready().await;
    assert_eq!(acquire(&mut one, 1).await, Ok(1));
    let before = api.state().asked.len();
    for _ in 0..3 {
        assert_eq!(renew(&mut one, 1, 1).await, Ok(1));
    }
    assert_eq!(api.state().asked.len(), before + 3);
}

/// What other programs have written into the object stays there.
#[tokio::test]
async fn what_is_not_ours_in_the_object_is_kept() {
    let (api, mut one) = ready().await;
    let mut object = api.object();
    object["metadata"]["labels"] = json!({ "app": "shop" });
    object["spec"]["strategy"] = json!("Oldest");
    api.state().change("MODIFIED", object);
    assert_eq!(acquire(&mut one, 1).await, Ok(1));
    release(&mut one, 1, 1).await;
    let object = api.object();
    assert_eq!(object["metadata"]["labels"]["app"], "shop");
    assert_eq!(object["spec"]["strategy"], "Oldest");
}

#[tokio::test]
async fn a_refusal_names_what_helps() {
    let api = Api::start().await;
    let mut store = connect(&way(&api)).await;
    let text = unfit(store.acquire(claim(&holder(1))).await);
    assert!(text.contains(&format!("{ALL}/orders")) && text.contains("store init"), "{text}");
    store.init().await.expect("it is made");
    api.state().edit(&json!({ "leaseTransitions": i32::MAX }));
    let text = unfit(store.acquire(claim(&holder(1))).await);
    assert!(text.contains("counted no further"), "{text}");

    for (status, part) in [(403, "get, update and watch"), (422, "another program")] {
        api.state().instead = Some((status, json!({ "message": "so it is" })));
        let watched = told(&mut connect(&way(&api)).await).await;
        for text in [unfit(store.acquire(claim(&holder(1))).await), unfit(watched)] {
            assert!(text.contains(part) && text.contains("so it is"), "{text}");
        }
    }
    api.state().instead = Some((404, json!({ "message": "no namespace" })));
    let text = unfit(store.init().await);
    assert!(text.contains("make the namespace"), "{text}");
    api.state().instead = Some((410, json!({ "message": "gone" })));
    // From the beginning.
    away(told(&mut connect(&way(&api)).await).await);
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_is_none() {
    let api = Api::start().await;
    let versioned = |spec: Value| json!({ "metadata": { "resourceVersion": "7" }, "spec": spec });
    for (status, body) in [
        (200, json!({})),
        (200, json!([])),
        (200, json!({ "metadata": { "resourceVersion": 7 } })),
        (200, versioned(json!([]))),
        (200, versioned(json!({ "holderIdentity": 1 }))),
        (200, versioned(json!({ "leaseTransitions": -1 }))),
        (401, json!({ "message": "Unauthorized" })),
        (429, json!({})),
        (500, json!({})),
    ] {
        api.state().instead = Some((status, body));
        let problem = away(connect(&way(&api)).await.acquire(claim(&holder(1))).await);
        assert!(problem.contains("http://127.0.0.1:"), "{problem}");
    }
}

/// Kubernetes replaces the token of an account about once an hour.
#[tokio::test(start_paused = true)]
async fn the_token_is_read_again() {
    let api = Api::start().await;
    let token = file("first\n");
    let files = Files { token: Some(token.path().to_owned()), ..Files::default() };
    let address = format!("kubernetes+http://{}/shop/orders", api.address);
    let way = Kubernetes::parse(&address, &files).expect("an address");
    let mut store = connect(&way).await;
    let shown = || api.state().asked.last().and_then(|(_, token)| token.clone());
    store.init().await.expect("it is made");
    std::fs::write(&token, "second\n").expect("writable");
    store.read().await.expect("read");
    assert_eq!(shown().as_deref(), Some("Bearer first"));
    advance(Duration::from_secs(60)).await;
    store.read().await.expect("read");
    assert_eq!(shown().as_deref(), Some("Bearer second"));
    api.state().instead = Some((403, json!({})));
    let error = unfit(store.read().await);
    assert!(!format!("{error} {way:?}").contains("second"), "{error}");
}

/// Node 1 has the lease, and node 2 watches.
async fn watching() -> (Api, Box<dyn LeaseStore>, Box<dyn LeaseStore>) {
    let (api, mut one) = ready().await;
    let mut two = connect(&way(&api)).await;
    assert_eq!(acquire(&mut one, 1).await, Ok(1));
    // It knows nothing yet: so it is told at once.
    assert_eq!(told(&mut two).await, Ok(()));
    assert!(is_quiet(&mut two).await);
    (api, one, two)
}

#[tokio::test]
async fn a_renewal_is_no_news_and_another_holder_or_a_doubted_duration_is() {
    let (api, mut one, mut two) = watching().await;
    assert_eq!(renew(&mut one, 1, 1).await, Ok(1));
    assert!(is_quiet(&mut two).await);
    api.state().edit(&json!({ "leaseDurationSeconds": 7_200 }));
    assert_eq!(told(&mut two).await, Ok(()));
    assert_eq!(renew(&mut one, 1, 1).await, Ok(1));
    assert_eq!(told(&mut two).await, Ok(()), "the holder has mended the duration");
    release(&mut one, 1, 1).await;
    assert_eq!(told(&mut two).await, Ok(()));
    assert_eq!(acquire(&mut two, 2).await, Ok(2));
    assert!(is_quiet(&mut two).await, "it knows what it did itself");
    api.state().edit(&json!({ "holderIdentity": holder(1).to_string(), "leaseTransitions": 3 }));
    assert_eq!(told(&mut two).await, Ok(()));
    assert_eq!(api.count(&format!("GET {ALL}?watch=1")), 1, "one watch for all");
    let object = api.object();
    api.state().change("DELETED", object);
    assert_eq!(told(&mut two).await, Ok(()));
}

/// What happens while no future waits is told by the next.
#[tokio::test]
async fn a_wait_that_is_given_up_loses_nothing_and_leaves_the_connection() {
    let (_, mut one, mut two) = watching().await;
    release(&mut one, 1, 1).await;
    assert_eq!(acquire(&mut one, 1).await, Ok(2));
    assert!(two.read().await.is_ok());
    // It has read since: that node 1 has it again is no news any more. That it was free is.
    assert_eq!(told(&mut two).await, Ok(()));
    assert_eq!(acquire(&mut two, 2).await, Err(1));
}

#[tokio::test]
async fn the_end_of_its_time_is_told_once() {
    let (api, _one, mut two) = watching().await;
    api.state().edit(&json!({ "leaseDurationSeconds": 1 }));
    let before = Instant::now();
    assert_eq!(told(&mut two).await, Ok(()));
    assert!(before.elapsed() > Duration::from_millis(900), "{:?}", before.elapsed());
    assert!(is_quiet(&mut two).await);
    assert_eq!(acquire(&mut two, 2).await, Ok(2));
}

#[tokio::test]
async fn a_watch_that_is_cut_is_away_and_one_that_ends_goes_on() {
    let (api, one, mut two) = watching().await;
    drop(one);
    api.state().end_watches(true);
    assert!(is_quiet(&mut two).await);
    api.state().edit(&json!({ "holderIdentity": "" }));
    assert_eq!(told(&mut two).await, Ok(()));
    let last = api.state().asked.last().expect("questions").0.clone();
    assert!(last.contains("&resourceVersion=2"), "from what was known: {last}");
    assert_eq!(api.count(&format!("GET {ALL}?watch=1")), 2);

    api.state().end_watches(false);
    away(told(&mut two).await);
}

/// The server has forgotten the changes since the version that is known.
#[tokio::test]
async fn after_410_the_watch_begins_anew() {
    for is_other in [false, true] {
        let (api, _one, mut two) = watching().await;
        api.state().end_watches(true);
        // Until it watches again, it hears nothing.
        assert!(is_quiet(&mut two).await);
        let spec = if is_other { json!({ "holderIdentity": "3" }) } else { json!({ "a": 1 }) };
        api.state().edit(&spec);
        api.state().forget();
        if is_other {
            assert_eq!(told(&mut two).await, Ok(()));
        } else {
            while api.count(&format!("GET {ALL}?watch=1")) < 3 {
                let wait = timeout(Duration::from_secs(2), two.changed());
                assert!(wait.await.is_err(), "the same node has it");
            }
        }
        let asked = api.state().asked.clone();
        let watches: Vec<_> = asked.iter().filter(|(asked, _)| asked.contains("watch=1")).collect();
        assert!(watches[1].0.contains("resourceVersion=2"), "{watches:?}");
        assert!(!watches[2].0.contains("resourceVersion="), "{watches:?}");
    }
}

#[tokio::test]
async fn an_event_that_makes_no_sense_is_the_end_of_the_connection() {
    let status = json!({ "code": 500, "message": "so\nit is" });
    let other = json!({ "metadata": { "name": "other", "resourceVersion": "9" } });
    for (event, part) in [
        (json!({ "type": "ERROR", "object": status }), "so it is"),
        (json!({ "type": "MODIFIED", "object": other }), "another object"),
        (json!({ "type": "MODIFIED", "object": { "metadata": { "name": "orders" } } }), "without"),
        (json!({ "type": "HELLO" }), "no known type"),
        (json!(7), "no known type"),
    ] {
        let (api, _one, mut two) = watching().await;
        api.state().say(&json!({ "type": "BOOKMARK", "object": {} }));
        api.state().say(&event);
        let problem = away(told(&mut two).await);
        assert!(problem.contains(part), "{event}: {problem}");
    }
}

/// The place that an address names, for a lease of this name.
fn target(address: &str, files: &Files, lease: &str) -> StoreResult<Target> {
    let way = Kubernetes::parse(address, files).expect(address);
    let settings = LeaseSettings { name: lease.to_owned(), ..settings() };
    way.place.target(&settings, in_pod)
}

/// The variables of a pod.
fn in_pod(name: &str) -> Option<String> {
    match name {
        "KUBERNETES_SERVICE_HOST" => Some("10.96.0.1".to_owned()),
        "KUBERNETES_SERVICE_PORT" => Some("443".to_owned()),
        other => panic!("{other} is not asked for"),
    }
}

#[test]
fn a_lease_has_an_object_of_its_own() {
    for (address, lease, path) in [
        ("kubernetes:shop/leader", "orders", "/namespaces/shop/leases/leader"),
        ("kubernetes:shop/leader", "orders/eu", "/namespaces/shop/leases/leader.eu"),
        ("kubernetes+http://127.0.0.1:8001/a-1/b.c", "o", "/namespaces/a-1/leases/b.c"),
    ] {
        let target = target(address, &Files::default(), lease).expect(address);
        assert_eq!(target.path(), format!("/apis/coordination.k8s.io/v1{path}"));
    }
    for lease in ["Orders", "a_b", "-a", "a."] {
        let error = unfit(target("kubernetes", &Files::default(), lease));
        assert!(error.contains(lease) && error.contains("kubernetes:NAMESPACE/NAME"), "{error}");
    }
}

#[test]
fn in_a_pod_kubernetes_says_where_it_is() {
    let here = target("kubernetes:shop/leader", &Files::default(), "o").expect("a pod");
    assert_eq!(here.server.to_string(), "https://10.96.0.1:443");
    assert!(format!("{here:?}").contains("/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"));
    let files = Files { ca: Some("ca.pem".into()), ..Files::default() };
    let there = target("kubernetes+https://[fd00::1]:6443/a/b", &files, "o").expect("an address");
    assert_eq!(there.server.to_string(), "https://[fd00::1]:6443");

    let way = Kubernetes::parse("kubernetes:shop/leader", &Files::default()).expect("an address");
    let variable =
        |name: &str| Some(if name.ends_with("HOST") { "fd00::1" } else { "443" }.to_owned());
    let target = way.place.target(&settings(), variable).expect("a pod");
    assert_eq!(target.server.to_string(), "https://[fd00::1]:443");
    let error = unfit(way.place.target(&settings(), |_| None));
    assert!(error.contains("KUBERNETES_SERVICE_HOST") && error.contains("kubernetes+https"));
}

#[test]
fn what_kubernetes_puts_into_a_pod_must_be_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let check = |address: &str, files: &Files| {
        let way = Kubernetes::parse(address, files).expect(address);
        way.place.check(folder.path(), in_pod)
    };
    let (object, none) = ("kubernetes:shop/leader", Files::default());
    for file in ["ca.crt", "token", "namespace"] {
        let problem = unfit(check("kubernetes", &none));
        assert!(problem.starts_with("cannot read ") && problem.contains(file), "{problem}");
        assert!(problem.contains("`automountServiceAccountToken`"), "{problem}");
        std::fs::write(folder.path().join(file), "x").expect("ours");
    }
    assert_eq!(check("kubernetes", &none), Ok(()));
    std::fs::remove_file(folder.path().join("namespace")).expect("it is there");
    assert_eq!(check(object, &none), Ok(()), "the address has it");
    std::fs::remove_file(folder.path().join("token")).expect("it is there");
    assert!(unfit(check(object, &none)).contains("token"));
    let file = |name: &str| Some(name.into());
    let own = Files { token: file("token"), ca: file("ca.pem"), ..Files::default() };
    assert_eq!(check(object, &own), Ok(()), "other files are in their place");
    let by_certificate =
        Files { certificate: file("own.pem"), key: file("own.key"), ..Files::default() };
    assert_eq!(check(object, &by_certificate), Ok(()), "and no token is shown");

    // Outside of a pod, with all files, no connection could be made.
    let check = |address: &str, files: &Files| {
        let way = Kubernetes::parse(address, files).expect(address);
        way.place.check(Path::new("no folder"), |_| None)
    };
    for (address, files) in [(object, &own), ("kubernetes", &none)] {
        let told = "this is no pod of Kubernetes: KUBERNETES_SERVICE_HOST and \
                    KUBERNETES_SERVICE_PORT are not set; write \
                    kubernetes+https://HOST:PORT/NAMESPACE/NAME";
        assert_eq!(unfit(check(address, files)), told);
    }
    for (address, files) in [
        ("kubernetes+https://10.0.0.1:6443/shop/leader", &own),
        ("kubernetes+http://127.0.0.1:1/shop/leader", &none),
    ] {
        assert_eq!(check(address, files), Ok(()));
    }
}

#[test]
fn a_person_can_make_the_object() {
    for (address, object) in [
        ("kubernetes:shop/leader", "  namespace: shop\n  name: leader\n"),
        ("kubernetes", "  namespace: NAMESPACE\n  name: orders\n"),
    ] {
        let way = Kubernetes::parse(address, &Files::default()).expect("an address");
        let text = way.setup(&settings());
        assert!(text.contains(object), "{text}");
        assert!(way.warning().is_some_and(|text| text.contains("paused")));
    }
}
