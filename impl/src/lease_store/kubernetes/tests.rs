//! The Lease of Kubernetes, against a server that behaves as its API is documented.

mod addresses;
mod api;
mod histories;
mod watches;

use serde_json::json;
use tokio::time::advance;

use self::api::{ALL, Api};
use super::*;

const KEEP: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_millis(1);

fn node(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

fn settings() -> Settings {
    Settings { name: "orders".to_owned(), keep: KEEP, limit: KEEP }
}

fn granted(number: u64) -> StoreResult<Answer> {
    Ok(Answer::Granted(Token::new(number)))
}

fn refused(holder: u16) -> StoreResult<Answer> {
    Ok(Answer::Refused(NodeId::new(holder)))
}

fn way(api: &Api) -> Kubernetes {
    let address = format!("kubernetes+http://{}/shop/orders", api.address);
    Kubernetes::parse(&address, &Files::default()).expect("an address")
}

async fn connect(way: &Kubernetes) -> Box<dyn LeaseStore> {
    way.connect(&settings()).await.expect("it listens")
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
    one.init().await.expect("it is there");
    let mut two = connect(&way(&api)).await;
    assert_eq!(one.acquire(node(1)).await, granted(1));
    assert_eq!(two.acquire(node(2)).await, refused(1));
    assert_eq!(one.acquire(node(1)).await, granted(2), "its answer was lost");
    assert_eq!(one.renew(node(1), Token::new(1)).await, refused(0));
    assert_eq!(one.renew(node(1), Token::new(2)).await, granted(2));
    assert_eq!(two.renew(node(2), Token::new(2)).await, refused(1));
    two.release(node(2), Token::new(2)).await.expect("nothing happens");
    one.release(node(1), Token::new(1)).await.expect("nothing happens");
    let record = two.read().await.expect("read");
    assert_eq!((record.holder, record.token), (Some(node(1)), Token::new(2)));

    one.release(node(1), Token::new(2)).await.expect("given back");
    let record = two.read().await.expect("read");
    assert_eq!((record.holder, record.token, record.left), (None, Token::new(2), None));
    assert_eq!(one.renew(node(1), Token::new(2)).await, refused(0));
    assert_eq!(two.acquire(node(2)).await, granted(3));
    let object = api.state().object.clone().expect("a Lease");
    assert_eq!(object["spec"]["holderIdentity"], "2");
    assert_eq!(object["spec"]["leaseDurationSeconds"], 10);
    assert_eq!(object["spec"]["acquireTime"], object["spec"]["renewTime"]);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_has_not_changed_for_its_time_can_be_taken() {
    let (api, mut one) = ready().await;
    let mut two = connect(&way(&api)).await;
    assert_eq!(one.acquire(node(1)).await, granted(1));
    // What passes before it is seen does not count.
    advance(KEEP * 3).await;
    assert_eq!(two.acquire(node(2)).await, refused(1));
    advance(KEEP - TICK).await;
    assert_eq!(two.acquire(node(2)).await, refused(1));
    // A renewal starts it again, from when that is seen.
    assert_eq!(one.renew(node(1), Token::new(1)).await, granted(1));
    advance(KEEP / 2).await;
    assert_eq!(two.acquire(node(2)).await, refused(1));
    advance(KEEP - TICK).await;
    assert_eq!(two.acquire(node(2)).await, refused(1));
    let (holder, token) = (Some(node(1)), Token::new(1));
    let record = crate::lease_store::Record { holder, token, left: Some(TICK) };
    assert_eq!(two.read().await, Ok(record));
    advance(TICK).await;
    let record = crate::lease_store::Record { holder: None, token, left: None };
    assert_eq!(two.read().await, Ok(record));
    assert_eq!(two.acquire(node(2)).await, granted(2));
    assert_eq!(one.renew(node(1), Token::new(1)).await, refused(2));
    assert_eq!(one.acquire(node(1)).await, refused(2));
}

#[tokio::test(start_paused = true)]
async fn the_times_and_the_names_of_others_decide_nothing() {
    let (api, _) = ready().await;
    let mut two = connect(&way(&api)).await;
    for time in ["1970-01-01T00:00:00.000000Z", "2999-01-01T00:00:00.000000Z", "soon"] {
        api.state().edit(&json!({
            "holderIdentity": "pod-7_1f2e", "leaseDurationSeconds": 3, "renewTime": time,
        }));
        assert_eq!(two.acquire(node(2)).await, refused(0), "{time}");
        advance(Duration::from_secs(3) - TICK).await;
        assert_eq!(two.acquire(node(2)).await, refused(0), "{time}");
    }
    advance(TICK).await;
    assert_eq!(two.acquire(node(2)).await, granted(1));
    // A record that does not say how long it lasts lasts as long as one of this node.
    for nothing in [json!(null), json!(0)] {
        api.state().edit(&json!({ "holderIdentity": "x", "leaseDurationSeconds": nothing }));
        assert_eq!(two.acquire(node(2)).await, refused(0));
        advance(KEEP - TICK).await;
        assert_eq!(two.acquire(node(2)).await, refused(0));
    }
}

/// Another version of the object alone is no renewal. Otherwise a program that changes it again and
/// again would keep all from taking a lease that is over.
#[tokio::test(start_paused = true)]
async fn a_label_renews_nothing() {
    let (api, mut one) = ready().await;
    let mut two = connect(&way(&api)).await;
    assert_eq!(one.acquire(node(1)).await, granted(1));
    assert_eq!(two.acquire(node(2)).await, refused(1));
    for round in 0..4 {
        advance(KEEP / 4 - TICK).await;
        let mut object = api.state().object.clone().expect("a Lease");
        object["metadata"]["labels"] = json!({ "round": round.to_string() });
        api.state().change("MODIFIED", object);
        assert_eq!(two.acquire(node(2)).await, refused(1));
    }
    advance(TICK * 4).await;
    api.state().conflicts = 1;
    assert_eq!(two.acquire(node(2)).await, granted(2), "one conflict more, and it is over still");
}

/// No clock decides, but each renewal must be seen.
#[tokio::test(start_paused = true)]
async fn a_renewal_is_seen_although_the_clock_is_wrong() {
    let (api, mut one) = ready().await;
    let mut two = connect(&way(&api)).await;
    assert_eq!(one.acquire(node(1)).await, granted(1));
    let last = "9999-12-31T23:59:59.999999Z";
    for (before, after) in [
        ("2999-01-01T00:00:00.000000Z", Some("2999-01-01T00:00:00.000001Z")),
        ("2999-01-01T00:00:00Z", Some("2999-01-01T00:00:00.000001Z")),
        (last, None),
        ("soon", None),
    ] {
        api.state().edit(&json!({ "renewTime": before }));
        assert_eq!(two.acquire(node(2)).await, refused(1));
        advance(KEEP - TICK).await;
        // It remembers another version.
        let renewed = one.renew(node(1), Token::new(1)).await;
        assert_eq!(renewed, granted(1), "{before}");
        let time = api.state().object.clone().expect("a Lease")["spec"]["renewTime"].clone();
        match after {
            Some(after) => assert_eq!(time, after),
            None => assert!(time.as_str().is_some_and(|time| time < "2999" && time > "2026")),
        }
        advance(TICK).await;
        assert_eq!(two.acquire(node(2)).await, refused(1), "{before}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_observed_outlasts_a_connection_and_not_the_program() {
    let (api, mut one) = ready().await;
    assert_eq!(one.acquire(node(1)).await, granted(1));
    let (same, restarted) = (way(&api), way(&api));
    assert_eq!(connect(&same).await.acquire(node(2)).await, refused(1));
    advance(KEEP).await;
    assert_eq!(connect(&restarted).await.acquire(node(3)).await, refused(1));
    assert_eq!(connect(&same).await.acquire(node(2)).await, granted(2));
}

#[tokio::test]
async fn a_conflict_is_decided_by_what_the_server_has() {
    let (api, mut one) = ready().await;
    api.state().conflicts = 1;
    assert_eq!(one.acquire(node(1)).await, granted(1), "only an annotation has changed");
    api.state().conflicts = 1;
    assert_eq!(one.renew(node(1), Token::new(1)).await, granted(1));
    api.state().conflicts = 2;
    let error = one.renew(node(1), Token::new(1)).await.expect_err("no answer");
    assert!(matches!(error, StoreError::Away(_)), "it has the lease all the same: {error}");
    // The connection remembers the object as it was; another has taken it since.
    assert_eq!(one.renew(node(1), Token::new(1)).await, granted(1));
    api.state().edit(&json!({ "holderIdentity": "2", "leaseTransitions": 2 }));
    assert_eq!(one.renew(node(1), Token::new(1)).await, refused(2));
    api.state().edit(&json!({ "holderIdentity": "1", "leaseTransitions": 3 }));
    api.state().conflicts = 1;
    one.release(node(1), Token::new(3)).await.expect("given back");
    api.state().conflicts = 2;
    assert_eq!(one.acquire(node(1)).await, refused(0));
}

/// A renewal takes one question: the object is remembered.
#[tokio::test]
async fn a_renewal_is_one_question() {
    let (api, mut one) = ready().await;
    assert_eq!(one.acquire(node(1)).await, granted(1));
    let before = api.state().asked.len();
    for _ in 0..3 {
        assert_eq!(one.renew(node(1), Token::new(1)).await, granted(1));
    }
    assert_eq!(api.state().asked.len(), before + 3);
}

/// What other programs have written into the object stays there.
#[tokio::test]
async fn what_is_not_ours_in_the_object_is_kept() {
    let (api, mut one) = ready().await;
    let mut object = api.state().object.clone().expect("a Lease");
    object["metadata"]["labels"] = json!({ "app": "shop" });
    object["spec"]["strategy"] = json!("Oldest");
    api.state().change("MODIFIED", object);
    assert_eq!(one.acquire(node(1)).await, granted(1));
    one.release(node(1), Token::new(1)).await.expect("given back");
    let object = api.state().object.clone().expect("a Lease");
    assert_eq!(object["metadata"]["labels"]["app"], "shop");
    assert_eq!(object["spec"]["strategy"], "Oldest");
}

#[tokio::test]
async fn a_refusal_names_what_helps() {
    let api = Api::start().await;
    let mut store = connect(&way(&api)).await;
    let unfit = |answer: StoreResult<Answer>| match answer {
        Err(StoreError::Unfit { problem, remedy }) => format!("{problem}; {remedy}"),
        other => panic!("{other:?}"),
    };
    let text = unfit(store.acquire(node(1)).await);
    assert!(text.contains(&format!("{ALL}/orders")) && text.contains("store init"), "{text}");
    store.init().await.expect("it is made");
    api.state().edit(&json!({ "leaseTransitions": i32::MAX }));
    let text = unfit(store.acquire(node(1)).await);
    assert!(text.contains("counted no further"), "{text}");

    for (status, part) in [(403, "get, update and watch"), (422, "another program")] {
        api.state().instead = Some((status, json!({ "message": "so it is" })));
        let text = unfit(store.acquire(node(1)).await);
        assert!(text.contains(part) && text.contains("so it is"), "{text}");
    }
    api.state().instead = Some((404, json!({ "message": "no namespace" })));
    let error = store.init().await.expect_err("no namespace").to_string();
    assert!(error.contains("make the namespace"), "{error}");
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_is_none() {
    let api = Api::start().await;
    for (status, body) in [
        (200, json!({})),
        (200, json!([])),
        (200, json!({ "metadata": { "resourceVersion": 7 } })),
        (200, json!({ "metadata": { "resourceVersion": "7" }, "spec": [] })),
        (200, json!({ "metadata": { "resourceVersion": "7" }, "spec": { "holderIdentity": 1 } })),
        (
            200,
            json!({ "metadata": { "resourceVersion": "7" }, "spec": { "leaseTransitions": -1 } }),
        ),
        (401, json!({ "message": "Unauthorized" })),
        (429, json!({})),
        (500, json!({})),
    ] {
        api.state().instead = Some((status, body.clone()));
        let answer = connect(&way(&api)).await.acquire(node(1)).await;
        match answer {
            Err(StoreError::Away(problem)) => {
                assert!(problem.contains("http://127.0.0.1:"), "{problem}");
            }
            other => panic!("{status} {body}: {other:?}"),
        }
    }
}

/// Kubernetes replaces the token of an account about once an hour.
#[tokio::test(start_paused = true)]
async fn the_token_is_read_again() {
    let api = Api::start().await;
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(&file, "first\n").expect("writable");
    let files = Files { token: Some(file.path().to_owned()), ..Files::default() };
    let address = format!("kubernetes+http://{}/shop/orders", api.address);
    let way = Kubernetes::parse(&address, &files).expect("an address");
    let mut store = connect(&way).await;
    let shown = || api.state().asked.last().and_then(|(_, token)| token.clone());
    store.init().await.expect("it is made");
    std::fs::write(&file, "second\n").expect("writable");
    store.read().await.expect("read");
    assert_eq!(shown().as_deref(), Some("Bearer first"));
    advance(Duration::from_secs(60)).await;
    store.read().await.expect("read");
    assert_eq!(shown().as_deref(), Some("Bearer second"));
    api.state().instead = Some((403, json!({})));
    let error = store.read().await.expect_err("refused").to_string();
    assert!(!format!("{error} {way:?}").contains("second"), "{error}");
}
