//! What the client makes of the answers of etcd: those that come late, that make no sense, or that
//! were overtaken. Against etcd itself it is tested elsewhere.

mod fake;
mod watches;

use super::*;

use self::fake::{Fake, State};

const KEEP: Duration = Duration::from_millis(9_001);

/// As etcd shows the nodes 1 and 2.
const ONE: &str = "MQ==";
const TWO: &str = "Mg==";

fn node(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

fn settings() -> Settings {
    Settings { name: "orders".to_owned(), keep: KEEP, limit: Duration::from_secs(10) }
}

fn granted(number: u64) -> StoreResult<Answer> {
    Ok(Answer::Granted(Token::new(number)))
}

fn refused(holder: u16) -> StoreResult<Answer> {
    Ok(Answer::Refused(NodeId::new(holder)))
}

fn way(address: &str) -> Etcd {
    Etcd::parse(&format!("etcd://{address}"), &Files::default()).expect("an address")
}

async fn connect(fake: &Fake) -> Box<dyn LeaseStore> {
    way(&fake.address).connect(&settings()).await.expect("it listens")
}

async fn ready() -> (Fake, Box<dyn LeaseStore>) {
    let fake = Fake::start().await;
    let store = connect(&fake).await;
    (fake, store)
}

/// Has something happen just before the next question of this path is answered.
fn meanwhile(fake: &Fake, path: &'static str, act: impl FnOnce(&mut State) + Send + 'static) {
    fake.state().meanwhile = Some((path, Box::new(act)));
}

#[tokio::test]
async fn the_token_is_the_revision_of_the_key() {
    let (fake, mut one) = ready().await;
    let mut two = connect(&fake).await;
    one.init().await.expect("it is there");
    assert_eq!(two.read().await, Ok(Record::default()));
    assert_eq!(one.acquire(node(1)).await, granted(2));
    assert_eq!(fake.state().leases.values().copied().collect::<Vec<_>>(), [10], "rounded up");
    let left = Some(Duration::from_secs(10));
    let record = Record { holder: Some(node(1)), token: Token::new(2), left };
    assert_eq!(two.read().await, Ok(record));
    let before = fake.state().asked.len();
    assert_eq!(two.acquire(node(2)).await, refused(1));
    assert_eq!(fake.state().asked.len(), before + 1, "to be refused is one question");
    assert_eq!(one.renew(node(1), Token::new(2)).await, granted(2));
    assert_eq!(one.renew(node(1), Token::new(1)).await, refused(0));
    assert_eq!(two.renew(node(2), Token::new(2)).await, refused(1));
    two.release(node(2), Token::new(2)).await.expect("nothing happens");
    one.release(node(1), Token::new(1)).await.expect("nothing happens");
    assert_eq!(one.renew(node(1), Token::new(2)).await, granted(2));
    one.release(node(1), Token::new(2)).await.expect("given back");
    assert_eq!(fake.state().leases.len(), 0, "nothing is left behind");
    assert_eq!(one.renew(node(1), Token::new(2)).await, refused(0));
    assert_eq!(two.acquire(node(2)).await, granted(4));
}

/// The answer to a request was lost, or the client has started again.
#[tokio::test]
async fn a_key_that_names_the_client_is_written_anew() {
    let (fake, mut one) = ready().await;
    assert_eq!(one.acquire(node(1)).await, granted(2));
    let mut again = connect(&fake).await;
    assert_eq!(again.acquire(node(1)).await, granted(3));
    assert_eq!(fake.state().leases.len(), 1, "the old lease is revoked, and the key stays");
    assert_eq!(one.renew(node(1), Token::new(2)).await, refused(0));
    assert_eq!(again.renew(node(1), Token::new(3)).await, granted(3));
    // Another connection extends it as well: the key says which lease is its own.
    let mut third = connect(&fake).await;
    assert_eq!(third.renew(node(1), Token::new(3)).await, granted(3));
    third.release(node(1), Token::new(3)).await.expect("given back");
    assert!(fake.state().pair.is_none());
    assert_eq!(fake.state().leases.len(), 0);
}

#[tokio::test]
async fn one_that_comes_late_is_refused_and_leaves_nothing_behind() {
    let (fake, mut one) = ready().await;
    meanwhile(&fake, "/v3/kv/txn", |state| {
        state.leases.insert(1, 10);
        state.put(TWO, 1);
    });
    assert_eq!(one.acquire(node(1)).await, refused(2));
    assert_eq!(fake.state().leases.keys().copied().collect::<Vec<_>>(), [1]);
    // What comes before it may be its own: a request that was taken for lost.
    meanwhile(&fake, "/v3/kv/txn", |state| state.put(ONE, 0));
    fake.state().pair = None;
    assert_eq!(one.acquire(node(1)).await, granted(4));
    assert_eq!(fake.state().pair.as_ref().map(|pair| pair.value.as_str()), Some(ONE));
}

/// Whatever happens between the extension and the look at the key, nothing is granted that the key
/// does not say.
#[tokio::test]
async fn a_renewal_counts_only_if_the_key_is_the_same_after_it() {
    let expire: fn(&mut State) = State::expire;
    let replaced: fn(&mut State) = |state| {
        state.delete();
        state.put(TWO, 0);
    };
    let again: fn(&mut State) = |state| state.put(ONE, 0);
    let shorter: fn(&mut State) = |state| state.leases.values_mut().for_each(|left| *left = 9);
    for (path, act, answer) in [
        ("/v3/lease/keepalive", expire, refused(0)),
        ("/v3/kv/range", expire, refused(0)),
        ("/v3/lease/keepalive", replaced, refused(2)),
        ("/v3/kv/range", replaced, refused(2)),
        ("/v3/kv/range", again, refused(0)),
        ("/v3/lease/keepalive", shorter, refused(0)),
    ] {
        let (fake, mut one) = ready().await;
        assert_eq!(one.acquire(node(1)).await, granted(2));
        meanwhile(&fake, path, act);
        assert_eq!(one.renew(node(1), Token::new(2)).await, answer, "{path}");
    }
}

#[tokio::test]
async fn a_release_touches_only_what_was_granted() {
    let (fake, mut one) = ready().await;
    assert_eq!(one.acquire(node(1)).await, granted(2));
    meanwhile(&fake, "/v3/kv/txn", |state| state.put(TWO, 0));
    one.release(node(1), Token::new(2)).await.expect("nothing happens");
    assert_eq!(fake.state().pair.as_ref().map(|pair| pair.value.as_str()), Some(TWO));
    // A key of another program, with the same revision.
    assert_eq!(one.acquire(node(1)).await, refused(2));
    one.release(node(1), Token::new(3)).await.expect("nothing happens");
    assert!(fake.state().pair.is_some());
    fake.state().put("bm9uZQ==", 0);
    assert_eq!(one.acquire(node(1)).await, refused(0), "the key names no node");
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_is_none() {
    let header = json!({ "revision": "7" });
    let pair = |pair: Value| json!({ "header": { "revision": "7" }, "kvs": [pair] });
    for (path, body) in [
        ("/v3/kv/range", json!({})),
        ("/v3/kv/range", json!([])),
        ("/v3/kv/range", json!({ "header": { "revision": "x" } })),
        ("/v3/kv/range", json!({ "header": { "revision": "-7" } })),
        ("/v3/kv/range", json!({ "header": header, "kvs": 1 })),
        ("/v3/kv/range", pair(json!({}))),
        ("/v3/kv/range", pair(json!({ "mod_revision": "3", "value": "?" }))),
        ("/v3/kv/range", pair(json!({ "mod_revision": "3", "value": 7 }))),
        ("/v3/kv/range", pair(json!({ "mod_revision": "3", "value": ONE, "lease": {} }))),
        ("/v3/lease/grant", json!({ "TTL": "10" })),
        ("/v3/lease/grant", json!({ "ID": "none" })),
        ("/v3/kv/txn", json!({ "succeeded": true })),
        ("/v3/kv/txn", json!({ "header": header })),
    ] {
        let (fake, mut one) = ready().await;
        fake.state().instead = Some((path, 200, body.clone()));
        match one.acquire(node(1)).await {
            Err(StoreError::Away(problem)) => {
                assert!(problem.contains("http://127.0.0.1:"), "{problem}");
            }
            other => panic!("{path} {body}: {other:?}"),
        }
    }
    for body in [json!({}), json!({ "error": { "message": "so it is" } })] {
        let (fake, mut one) = ready().await;
        assert_eq!(one.acquire(node(1)).await, granted(2));
        fake.state().instead = Some(("/v3/lease/keepalive", 200, body));
        let error = one.renew(node(1), Token::new(2)).await.expect_err("no answer");
        assert!(matches!(error, StoreError::Away(_)), "{error}");
    }
}

#[tokio::test]
async fn a_refusal_names_what_helps() {
    let said = |text: &str| json!({ "error": text, "message": text });
    for (status, body, part) in [
        (403, said("etcdserver: permission denied"), "readwrite bellwether/orders"),
        (404, Value::Null, "etcd 3.4"),
        (400, said("etcdserver: user name is empty"), "etcd://USER@HOST:PORT"),
        (400, said("etcdserver: authentication failed, invalid user ID"), "correct the user"),
        (412, said("etcdserver: authentication is not enabled"), "leave out the user"),
    ] {
        let (fake, mut one) = ready().await;
        fake.state().instead = Some(("/v3/kv/range", status, body));
        match one.acquire(node(1)).await {
            Err(StoreError::Unfit { remedy, .. }) => assert!(remedy.contains(part), "{remedy}"),
            other => panic!("{part}: {other:?}"),
        }
    }
    for (status, text) in [(401, "etcdserver: invalid auth token"), (503, "no leader")] {
        let (fake, mut one) = ready().await;
        fake.state().instead = Some(("/v3/kv/range", status, said(text)));
        let error = one.acquire(node(1)).await.expect_err("refused");
        assert!(matches!(&error, StoreError::Away(problem) if problem.contains(text)), "{error}");
    }
}

#[tokio::test]
async fn a_password_becomes_a_token_that_is_shown_with_each_question() {
    let fake = Fake::start().await;
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(&file, "hush\n").expect("writable");
    let files = Files { password: Some(file.path().to_owned()), ..Files::default() };
    let way = Etcd::parse(&format!("etcd://shop@{}", fake.address), &files).expect("an address");
    let mut store = way.connect(&settings()).await.expect("let in");
    assert_eq!(store.changed().await, Ok(()));
    store.read().await.expect("read");
    let shown = fake.state().asked.iter().map(|(_, token)| token.clone()).collect::<Vec<_>>();
    let given = Some("given.1".to_owned());
    assert_eq!(shown, [None, given.clone(), given]);
    fake.state().instead = Some(("/v3/auth/authenticate", 200, json!({ "token": "a\nb" })));
    let error = way.connect(&settings()).await.err().expect("no token").to_string();
    assert!(!format!("{error} {way:?}").contains("hush"), "{error}");
}

/// With several servers, each connection is to the next.
#[tokio::test]
async fn the_next_connection_is_to_the_next_server() {
    let (one, two) = (Fake::start().await, Fake::start().await);
    let way = way(&format!("{},{}", one.address, two.address));
    for _ in 0..3 {
        let mut store = way.connect(&settings()).await.expect("it listens");
        store.read().await.expect("read");
    }
    assert_eq!((one.count("/v3/kv/range"), two.count("/v3/kv/range")), (2, 1));
}

/// A person who asks once gets an answer although a server is down.
#[tokio::test]
async fn a_server_that_is_down_is_passed_over() {
    let fake = Fake::start().await;
    // While it is bound, no other test listens there.
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
    let gone = socket.local_addr().expect("an address");
    let some = way(&format!("{gone},{}", fake.address));
    for _ in 0..2 {
        let mut store = some.connect(&settings()).await.expect("one listens");
        store.read().await.expect("read");
    }
    let none = way(&format!("{gone},{gone}"));
    let error = none.connect(&settings()).await.err().expect("no server").to_string();
    assert_eq!(error.matches(&gone.to_string()).count(), 2, "{error}");
}

#[test]
fn what_is_no_address_is_refused_with_the_remedy() {
    let file = |name: &str| Some(PathBuf::from(name));
    let none = Files::default();
    let password = Files { password: file("p"), ..Files::default() };
    let ca = Files { ca: file("ca.pem"), ..Files::default() };
    let token = Files { token: file("t"), ..Files::default() };
    let both = Files { ca: file("ca.pem"), ..password.clone() };
    for (address, files) in [
        ("etcd://10.0.0.1:2379,10.0.0.2:2379,[::1]:2379/", &none),
        ("etcd://shop@localhost:2379", &password),
        ("etcds://10.0.0.1:2379", &ca),
        ("etcds://shop@10.0.0.1:2379", &both),
    ] {
        assert!(Etcd::parse(address, files).is_ok(), "{address}");
    }
    for (address, files, part) in [
        ("etcd:a", &none, "etcd://HOST:PORT"),
        ("http://a:1", &none, "etcd://HOST:PORT"),
        ("etcd://", &none, "HOST:PORT"),
        ("etcd://a", &none, "HOST:PORT"),
        ("etcd://a:1,", &none, "HOST:PORT"),
        ("etcd://a:1/db", &none, "HOST:PORT"),
        ("etcds://a:1", &none, "authorities"),
        ("etcd://a:1", &ca, "etcds://"),
        ("etcd://a:1", &token, "leave out `store_token_file`"),
        ("etcd://a:1", &password, "etcd://USER@"),
        ("etcd://shop@localhost:1", &none, "by `store_password_file`"),
        ("etcd://shop:hush@localhost:1", &password, "stands in a file"),
        ("etcd://@localhost:1", &password, "stands in a file"),
        ("etcd://shop@10.0.0.1:1,localhost:1", &password, "and name `store_ca_file`"),
    ] {
        let problem = Etcd::parse(address, files).expect_err(address);
        assert!(problem.contains(part) && !problem.contains("hush"), "{address}: {problem}");
    }
    let text = way("localhost:1").setup(&settings());
    assert!(text.contains("grant-permission ROLE readwrite bellwether/orders"), "{text}");
}
