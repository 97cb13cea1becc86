//! When a client is told that the key has changed.

use super::*;

async fn told(store: &mut Box<dyn LeaseStore>) -> StoreResult<()> {
    timeout(Duration::from_secs(30), store.changed()).await.expect("soon")
}

async fn is_quiet(store: &mut Box<dyn LeaseStore>) -> bool {
    timeout(Duration::from_millis(500), store.changed()).await.is_err()
}

/// Node 1 has the lease, and node 2 watches.
async fn watching() -> (Fake, Box<dyn LeaseStore>, Box<dyn LeaseStore>) {
    let (fake, mut one) = ready().await;
    assert_eq!(one.acquire(node(1)).await, granted(2));
    let mut two = connect(&fake).await;
    assert_eq!(two.acquire(node(2)).await, refused(1));
    assert!(is_quiet(&mut two).await, "it was told who has the lease");
    (fake, one, two)
}

#[tokio::test]
async fn what_others_do_is_told_and_what_is_known_is_not() {
    let (fake, mut one, mut two) = watching().await;
    assert_eq!(one.renew(node(1), Token::new(2)).await, granted(2));
    assert!(is_quiet(&mut two).await, "a renewal changes no key");
    one.release(node(1), Token::new(2)).await.expect("given back");
    assert_eq!(told(&mut two).await, Ok(()));
    assert_eq!(two.acquire(node(2)).await, granted(4));
    assert!(is_quiet(&mut two).await, "it did that itself");
    fake.state().expire();
    assert_eq!(told(&mut two).await, Ok(()));
    assert_eq!(fake.count("/v3/watch"), 1, "one watch for all");
}

/// A watch begins after what the client knows, and not when it is opened.
#[tokio::test]
async fn what_happens_before_the_watch_is_told() {
    let (fake, mut one) = ready().await;
    let mut two = connect(&fake).await;
    assert_eq!(two.read().await, Ok(Record::default()));
    assert_eq!(one.acquire(node(1)).await, granted(2));
    assert_eq!(told(&mut two).await, Ok(()));
    // One that knows nothing is told at once.
    let mut three = connect(&fake).await;
    assert_eq!(told(&mut three).await, Ok(()));
    assert!(is_quiet(&mut three).await);
    assert_eq!(three.acquire(node(3)).await, refused(1), "the connection is as it was");
}

#[tokio::test]
async fn a_watch_from_a_revision_that_is_gone_begins_anew() {
    let (fake, _one, mut two) = watching().await;
    fake.state().tell(&json!({ "canceled": true, "compact_revision": "9" }));
    assert_eq!(told(&mut two).await, Ok(()));
    assert_eq!(fake.count("/v3/watch"), 2);
    assert!(is_quiet(&mut two).await);
}

#[tokio::test]
async fn a_message_that_makes_no_sense_is_the_end_of_the_connection() {
    for (line, part) in [
        (r#"{"result":{"canceled":true,"cancel_reason":"so it is"}}"#, "so it is"),
        (r#"{"error":{"message":"so\nit is"}}"#, "so it is"),
        (r#"{"error":"so it is"}"#, "so it is"),
        (r#"{"result":{"created":true}}"#, "without a revision"),
        (r#"{"result":{"events":7}}"#, "no list"),
        (r#"{"result":{"events":[{"kv":{"mod_revision":"x"}}]}}"#, "no number"),
        ("7", "without a result"),
        ("{", "no JSON"),
    ] {
        let (fake, _one, mut two) = watching().await;
        fake.state().say(line);
        match told(&mut two).await {
            Err(StoreError::Away(problem)) => assert!(problem.contains(part), "{problem}"),
            other => panic!("{line}: {other:?}"),
        }
    }
    let (fake, _one, mut two) = watching().await;
    fake.state().cut_watches();
    let error = told(&mut two).await.expect_err("cut");
    assert!(matches!(error, StoreError::Away(_)), "{error}");
    let mut three = connect(&fake).await;
    fake.state().instead = Some(("/v3/watch", 403, json!({ "message": "denied" })));
    match told(&mut three).await {
        Err(StoreError::Unfit { remedy, .. }) => assert!(remedy.contains("readwrite"), "{remedy}"),
        other => panic!("{other:?}"),
    }
}
