//! When a client is told that the lease may be had: real time, for a server is waited for.

use super::*;

/// How long to wait for what must not come.
const QUIET: Duration = Duration::from_millis(500);

const SOON: Duration = Duration::from_secs(30);

/// Node 1 has the lease, and node 2 watches.
async fn watching() -> (Api, Box<dyn LeaseStore>, Box<dyn LeaseStore>) {
    let (api, mut one) = ready().await;
    let mut two = connect(&way(&api)).await;
    assert_eq!(one.acquire(node(1)).await, granted(1));
    // It knows nothing yet: so it is told at once.
    assert_eq!(told(&mut two).await, Ok(()));
    assert!(is_quiet(&mut two).await);
    (api, one, two)
}

async fn told(store: &mut Box<dyn LeaseStore>) -> StoreResult<()> {
    timeout(SOON, store.changed()).await.expect("soon")
}

async fn is_quiet(store: &mut Box<dyn LeaseStore>) -> bool {
    timeout(QUIET, store.changed()).await.is_err()
}

#[tokio::test]
async fn a_renewal_is_no_news_and_another_holder_is() {
    let (api, mut one, mut two) = watching().await;
    assert_eq!(one.renew(node(1), Token::new(1)).await, granted(1));
    assert!(is_quiet(&mut two).await);
    one.release(node(1), Token::new(1)).await.expect("given back");
    assert_eq!(told(&mut two).await, Ok(()));
    assert_eq!(two.acquire(node(2)).await, granted(2));
    assert!(is_quiet(&mut two).await, "it knows what it did itself");
    api.state().edit(&json!({ "holderIdentity": "1", "leaseTransitions": 3 }));
    assert_eq!(told(&mut two).await, Ok(()));
    assert_eq!(api.count(&format!("GET {ALL}?watch=1")), 1, "one watch for all");
    let object = api.state().object.clone().expect("a Lease");
    api.state().change("DELETED", object);
    assert_eq!(told(&mut two).await, Ok(()));
}

/// What happens while no future waits is told by the next.
#[tokio::test]
async fn a_wait_that_is_given_up_loses_nothing_and_leaves_the_connection() {
    let (_, mut one, mut two) = watching().await;
    one.release(node(1), Token::new(1)).await.expect("given back");
    assert_eq!(one.acquire(node(1)).await, granted(2));
    assert!(two.read().await.is_ok());
    // It has read since: that node 1 has it again is no news any more. That it was free is.
    assert_eq!(told(&mut two).await, Ok(()));
    assert_eq!(two.acquire(node(2)).await, refused(1));
}

#[tokio::test]
async fn the_end_of_its_time_is_told_once() {
    let (api, _one, mut two) = watching().await;
    api.state().edit(&json!({ "leaseDurationSeconds": 1 }));
    let before = Instant::now();
    assert_eq!(told(&mut two).await, Ok(()));
    assert!(before.elapsed() > Duration::from_millis(900), "{:?}", before.elapsed());
    assert!(is_quiet(&mut two).await);
    assert_eq!(two.acquire(node(2)).await, granted(2));
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
    let error = told(&mut two).await.expect_err("cut");
    assert!(matches!(error, StoreError::Away(_)), "{error}");
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
        match told(&mut two).await {
            Err(StoreError::Away(problem)) => assert!(problem.contains(part), "{problem}"),
            other => panic!("{event}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_watch_that_is_forbidden_names_the_verb() {
    let (api, _) = ready().await;
    let mut two = connect(&way(&api)).await;
    api.state().instead = Some((403, json!({ "message": "cannot watch" })));
    match told(&mut two).await {
        Err(StoreError::Unfit { remedy, .. }) => assert!(remedy.contains("watch"), "{remedy}"),
        other => panic!("{other:?}"),
    }
    api.state().instead = Some((410, json!({ "message": "gone" })));
    let error = told(&mut two).await.expect_err("gone from the beginning");
    assert!(matches!(error, StoreError::Away(_)), "{error}");
}
