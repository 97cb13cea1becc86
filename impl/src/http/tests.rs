//! What the endpoints answer, asked as a router and as a server. The nodes are real, on ports that
//! the system chose.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, SystemTime};

use axum::body::Body;
use axum::http::Request;
use futures::StreamExt as _;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower::ServiceExt as _;

use super::server::HEAD;
use super::*;
use crate::config::{CertificateUse, Credentials, Expiry};
use crate::storage::Memory;
use crate::transport::tests::bind;
use crate::{Config, Election, Timing};

const LIMIT: Duration = Duration::from_secs(60);
const TOKEN: &str = "a-token-of-the-tests";

/// No leader loses its lease because the machine has much to do.
const PATIENT: Timing = Timing {
    lease: Duration::from_millis(3_000),
    promise: Duration::from_millis(3_500),
    ..Timing::DEFAULT
};

/// Three nodes in this process, the leader first.
async fn cluster() -> Vec<Election> {
    let mut listeners = Vec::new();
    let mut members = Vec::new();
    for node in 1..=3 {
        let (listener, address) = bind().await;
        members.push((node, address.to_string()));
        listeners.push(listener);
    }
    let join = |(node, listener)| {
        let config = Config::new("http", node, members.clone()).expect("valid");
        let config = config.with_section(PATIENT).expect("valid");
        Election::join_with(config, listener, Memory::default()).expect("can join")
    };
    let mut nodes: Vec<Election> = (1..).zip(listeners).map(join).collect();
    let agree = async {
        loop {
            let seen = |node: &Election| node.leadership().now().leader;
            let leader = seen(&nodes[0]);
            if leader.is_some() && nodes.iter().all(|node| seen(node) == leader) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LIMIT, agree).await.expect("within the limit");
    nodes.sort_by_key(|node| !node.leadership().now().is_self());
    nodes
}

/// From here on the node says that it uses a certificate.
fn certify(node: &Election) {
    let not_after = SystemTime::UNIX_EPOCH + Duration::from_secs(4_102_444_800);
    let (which, file) = (CertificateUse::Http, "http.pem".into());
    let expiry = Expiry { which, file, number: 1, not_after };
    node.replace_credentials(Credentials::none().with_expiries([expiry]));
}

/// The endpoints of this node, without a token.
fn plain(node: &Election) -> Router {
    router(node, Options::default())
}

fn allowed() -> Options {
    Options::default().with_token(Token::new(TOKEN.as_bytes()).expect("long enough"))
}

async fn ask(router: &Router, request: Request<Body>) -> (StatusCode, String) {
    let response = router.clone().oneshot(request).await.expect("a router does not fail");
    let status = response.status();
    assert_eq!(response.headers()[header::CACHE_CONTROL], "no-store");
    let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.expect("a body");
    (status, String::from_utf8(body.to_vec()).expect("text"))
}

fn get(path: &str) -> Request<Body> {
    Request::get(path).body(Body::empty()).expect("valid")
}

async fn get_json(router: &Router, path: &str) -> (StatusCode, Value) {
    let (status, text) = ask(router, get(path)).await;
    (status, serde_json::from_str(&text).unwrap_or_else(|_| panic!("{path}: {text}")))
}

async fn post_json(router: &Router, path: &str, token: &str) -> (StatusCode, Value) {
    let mut request = Request::post(path);
    if !token.is_empty() {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let (status, text) = ask(router, request.body(Body::empty()).expect("valid")).await;
    (status, serde_json::from_str(&text).unwrap_or_else(|_| panic!("{path}: {text}")))
}

#[tokio::test]
async fn only_the_leader_is_the_leader_and_the_others_say_which_node_leads() {
    let nodes = cluster().await;
    let [leader, follower] = [&nodes[0], &nodes[1]].map(plain);
    let (status, answer) = get_json(&leader, "/leader").await;
    assert_eq!((status, &answer["leads"]), (StatusCode::OK, &true.into()));
    assert!(answer["lease_ms"].as_u64().is_some_and(|left| left <= 3_000), "{answer}");
    let id = answer["node"].clone();
    let (status, other) = get_json(&follower, "/leader").await;
    assert_eq!((status, &other["leader"]), (StatusCode::SERVICE_UNAVAILABLE, &id));
    assert_eq!(other["epoch"], answer["epoch"]);
    assert!(other["address"].as_str().is_some_and(|text| text.starts_with("127.0.0.1:")));
    for (node, path) in [(&leader, "/livez"), (&follower, "/livez"), (&follower, "/readyz")] {
        assert_eq!(get_json(node, path).await.0, StatusCode::OK);
    }
    let (_, cluster) = get_json(&follower, "/cluster").await;
    assert_eq!((&cluster["leader"], &cluster["role"]), (&id, &"follower".into()));
    assert_eq!(cluster["members"].as_array().map(Vec::len), Some(2));

    let (_, history) = get_json(&follower, "/history").await;
    let history = history.as_array().expect("a list");
    assert_eq!((&history[0]["seq"], &history[0]["reason"]), (&1.into(), &"booted".into()));
    let (_, rest) = get_json(&follower, "/history?since=1").await;
    assert_eq!(rest.as_array().map(Vec::len), Some(history.len() - 1));
    let (status, _) = get_json(&follower, "/nonsense").await;
    assert_eq!(status, StatusCode::NOT_FOUND);

    for node in nodes {
        node.leave().await.expect("nothing failed");
    }
    for path in ["/leader", "/livez", "/readyz"] {
        assert_eq!(get_json(&leader, path).await.0, StatusCode::SERVICE_UNAVAILABLE);
    }
}

const PAGE: &str = include_str!("../../../docs/http.md");

/// The first two cells of each row of the tables under a heading of the page.
fn rows(heading: &str) -> Vec<[&'static str; 2]> {
    let (_, text) = PAGE.split_once(&format!("\n## {heading}\n")).expect("a heading");
    let text = text.split("\n## ").next().expect("there is a first part");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = |row: &'static str| row.split_once("` | ").expect("two cells");
    rows.map(cells).map(|(first, rest)| [first, rest.trim_end_matches(" |")]).collect()
}

fn fields(of: &Value, prefix: &str, all: &mut BTreeSet<String>) {
    for (name, value) in of.as_object().expect("an object") {
        all.insert(format!("{prefix}{name}"));
        match value {
            Value::Object(_) => fields(value, &format!("{prefix}{name}."), all),
            Value::Array(list) => {
                list.iter().for_each(|one| fields(one, &format!("{prefix}{name}[]."), all));
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn the_page_lists_every_field_of_every_answer() {
    let nodes = cluster().await;
    certify(&nodes[1]);
    let follower = plain(&nodes[1]);
    let mut answered = BTreeSet::new();
    for path in ["/cluster", "/leader"] {
        fields(&get_json(&follower, path).await.1, "", &mut answered);
    }
    let (_, history) = get_json(&follower, "/history").await;
    history.as_array().expect("a list").iter().for_each(|one| fields(one, "", &mut answered));
    let listed: BTreeSet<_> = rows("Answers").into_iter().map(|row| row[0].to_owned()).collect();
    assert_eq!(listed, answered);
}

/// The names and words of the reasons in a source of the protocols.
fn reasons_of(source: &str) -> Vec<(String, String)> {
    let made = ["Reason::new(", "Self = Self::new(", "Self =\n        Self::new("];
    let after = made.into_iter().flat_map(|made| source.split(made).skip(1));
    let quoted = |part: &str| {
        let mut texts = part.split('"').skip(1).step_by(2).map(str::to_owned);
        (texts.next().expect("a name"), texts.next().expect("words"))
    };
    after.map(quoted).collect()
}

#[test]
fn the_page_lists_every_reason() {
    let mut known = BTreeMap::<String, BTreeSet<String>>::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("core/src/protocol")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("tests.rs") {
                for (name, words) in reasons_of(&fs::read_to_string(&path).expect("a source")) {
                    known.entry(name).or_default().insert(words);
                }
            }
        }
    }
    let listed = rows("Reasons").into_iter();
    let listed = listed
        .map(|[name, words]| (name.to_owned(), words.split("; or: ").map(str::to_owned).collect()));
    assert_eq!(listed.collect::<BTreeMap<_, _>>(), known);
}

#[tokio::test]
async fn what_changes_something_needs_the_token() {
    let nodes = cluster().await;
    let open = plain(&nodes[0]);
    let [leader, follower] = [0, 1].map(|at| router(&nodes[at], allowed()));
    for path in ["/transfer?to=1", "/step-down?for=1s", "/freeze?for=1s", "/transfer"] {
        assert_eq!(post_json(&open, path, TOKEN).await.0, StatusCode::FORBIDDEN, "{path}");
        for wrong in ["", "wrong", "a-token-of-the-test", "a-token-of-the-testsX"] {
            let (status, _) = post_json(&leader, path, wrong).await;
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{path} {wrong}");
        }
    }
    let bad = ["/transfer", "/transfer?to=x", "/transfer?to=9", "/step-down", "/step-down?for=x"];
    for path in bad.into_iter().chain(["/freeze?for=0s", "/freeze?for=1year", "/freeze?to=1"]) {
        let (status, answer) = post_json(&leader, path, TOKEN).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path}: {answer}");
        assert!(answer["error"].is_string(), "{path}: {answer}");
    }
    assert!(nodes[0].guard().is_some(), "nothing has happened");

    assert_eq!(post_json(&leader, "/freeze?for=1s", TOKEN).await.0, StatusCode::OK);
    assert!(nodes[0].guard().is_some(), "it keeps its lease");
    let to = nodes[1].leadership().now().node;
    let (status, answer) = post_json(&leader, &format!("/transfer?to={to}"), TOKEN).await;
    assert_eq!((status, &answer["next"]), (StatusCode::OK, &to.get().into()), "{answer}");
    let leads = nodes[1].leadership().wait_for(crate::Leadership::is_self).await.is_some();
    assert!(leads);
    let (status, answer) = post_json(&leader, &format!("/transfer?to={to}"), TOKEN).await;
    assert_eq!(status, StatusCode::CONFLICT, "{answer}");
    assert_eq!(post_json(&follower, "/step-down?for=5s", TOKEN).await.0, StatusCode::OK);
    assert!(nodes[1].guard().is_none());
}

#[tokio::test]
async fn a_page_of_another_site_changes_nothing_whatever_it_shows() {
    let nodes = cluster().await;
    let (token, admin) = (format!("Bearer {TOKEN}"), Some("admin of http".to_owned()));
    let peer = control::Peer { address: ([127, 0, 0, 1], 1).into(), certificate: admin };
    let options = allowed().with_hosts(["db-1".to_owned()]);
    let node = router(&nodes[0], options);
    let certified = node.clone().layer(axum::Extension(peer));
    let step_down = async |headers: &[(&str, &str)]| {
        let mut codes = Vec::new();
        for router in [&node, &certified] {
            let mut request = Request::post("/step-down?for=1s").header("authorization", &token);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            codes.push(ask(router, request.body(Body::empty()).expect("valid")).await.0);
        }
        codes
    };
    for foreign in [
        &[("host", "127.0.0.1:1"), ("origin", "https://shop.example")][..],
        &[("host", "127.0.0.1:1"), ("sec-fetch-site", "cross-site")],
        &[("host", "shop.example")],
    ] {
        assert_eq!(step_down(foreign).await, [StatusCode::FORBIDDEN; 2], "{foreign:?}");
    }
    assert!(nodes[0].guard().is_some(), "nothing has happened");
    for own in [&[("host", "db-1:8080"), ("origin", "http://db-1:8080")][..], &[]] {
        assert_eq!(step_down(own).await, [StatusCode::OK; 2], "{own:?}");
    }
}

#[tokio::test]
async fn wrong_tokens_are_counted() {
    let nodes = cluster().await;
    let node = router(&nodes[0], allowed());
    for (token, count) in [("", 0), ("a-wrong-token-of-a-test", 1), (TOKEN, 1)] {
        post_json(&node, "/freeze?for=1ms", token).await;
        let (_, text) = ask(&node, get("/metrics")).await;
        let line = format!("bellwether_wrong_tokens_total {count}");
        assert!(text.lines().any(|told| told == line), "{text}");
    }
}

/// A handover waits for the work of the leader, for as long as its lease lasts, and so does its
/// answer.
#[tokio::test]
async fn an_answer_is_given_as_long_as_the_lease_may_last() {
    let nodes = cluster().await;
    let [leader, follower] = [0, 1].map(|at| {
        let (handle, options) = (nodes[at].handle(), allowed());
        Shared { handle, options, followers: Arc::new(Semaphore::new(1)) }.longest()
    });
    assert!(leader >= follower + Duration::from_secs(1), "{leader:?} and {follower:?}");
}

#[tokio::test]
async fn events_are_sent_as_they_come_and_can_be_resumed() {
    let nodes = cluster().await;
    let node = plain(&nodes[1]);
    let follow = async |id: Option<String>| {
        let mut request = Request::get("/events");
        if let Some(id) = id {
            request = request.header("last-event-id", id);
        }
        let request = request.body(Body::empty()).expect("valid");
        let response = node.clone().oneshot(request).await.expect("a router does not fail");
        assert_eq!(response.headers()[header::CONTENT_TYPE], "text/event-stream");
        response
            .into_body()
            .into_data_stream()
            .map(|text| String::from_utf8(text.expect("sent").to_vec()).expect("text"))
    };
    let mut events = follow(None).await;
    let first = events.next().await.expect("the latest change");
    assert!(first.contains("event: change\n"), "{first}");
    let status = events.next().await.expect("the status");
    assert!(status.starts_with("event: status\ndata: {"), "{status}");
    nodes[0].handle().step_down(LIMIT).await.expect("it leads");
    let changed = async {
        loop {
            let event = events.next().await.expect("goes on");
            if event.contains("event: change\n") {
                return event;
            }
        }
    };
    let second = timeout(LIMIT, changed).await.expect("within the limit");
    let id = |event: &str| event.split(['\n', ' ']).nth(1).expect("an id").to_owned();
    let number = |id: &str| id.split_once('-').expect("two").1.parse::<u64>().expect("a number");
    assert_eq!(number(&id(&second)), number(&id(&first)) + 1);

    let mut resumed = follow(Some(id(&first))).await;
    assert_eq!(resumed.next().await.expect("what was missed"), second);
    let mut other = follow(Some("17-3".to_owned())).await;
    let all = other.next().await.expect("everything");
    assert_eq!(number(&id(&all)), 1, "another run of the node");
    let mut nonsense = follow(Some("x".to_owned())).await;
    assert!(nonsense.next().await.is_some());
}

#[tokio::test]
async fn the_number_of_followers_is_limited() {
    let nodes = cluster().await;
    let node = plain(&nodes[0]);
    let mut followers = Vec::new();
    for _ in 0..FOLLOWERS {
        followers.push(node.clone().oneshot(get("/events")).await.expect("answers"));
    }
    assert_eq!(ask(&node, get("/events")).await.0, StatusCode::SERVICE_UNAVAILABLE);
    followers.pop();
    let again = node.clone().oneshot(get("/events")).await.expect("answers");
    assert_eq!(again.status(), StatusCode::OK);
}

#[tokio::test]
async fn every_metric_is_written() {
    let nodes = cluster().await;
    certify(&nodes[0]);
    let node = plain(&nodes[0]);
    let missing = |text: &str| {
        let starts = |start: String| text.lines().any(|line| line.starts_with(&start));
        let written = |name: &str| starts(format!("{name} ")) || starts(format!("{name}{{"));
        // The leader is one of `quorum`, and asks no store.
        let of_store = ["bellwether_store_connected", "bellwether_store_holder"];
        let is_here = |name: &String| !of_store.contains(&name.as_str());
        let all = metrics().into_iter().filter(is_here);
        all.filter(|name| !written(name)).collect::<Vec<_>>()
    };
    let mut text = String::new();
    let all = async {
        while text.is_empty() || !missing(&text).is_empty() {
            // A moment after the start, no ping has been answered.
            tokio::time::sleep(Duration::from_millis(10)).await;
            let (status, written) = ask(&node, get("/metrics")).await;
            assert_eq!(status, StatusCode::OK);
            text = written;
        }
    };
    let all = timeout(LIMIT, all).await;
    assert!(all.is_ok(), "{:?} are missing in\n{text}", missing(&text));
    assert!(text.ends_with("# EOF\n"), "{text}");
    let written: Vec<_> = text.lines().filter(|line| line.starts_with("# TYPE ")).collect();
    assert_eq!(written.len(), metrics().len());
    assert!(text.contains("bellwether_leads 1"), "{text}");
    assert!(text.contains("bellwether_role{role=\"leader\"} 1"), "{text}");
    let end = "seconds{which=\"http\",number=\"1\"} 4102444800";
    assert!(text.contains(&format!("bellwether_certificate_not_after_timestamp_{end}")), "{text}");
}

#[tokio::test]
async fn every_endpoint_is_there_and_no_other_method() {
    let nodes = cluster().await;
    let node = plain(&nodes[0]);
    for (method, path) in ENDPOINTS {
        let other = if method == "GET" { "POST" } else { "GET" };
        let request = |method| {
            Request::builder().method(method).uri(path).body(Body::empty()).expect("valid")
        };
        let answer = node.clone().oneshot(request(method)).await.expect("answers").status();
        assert_ne!(answer, StatusCode::NOT_FOUND, "{path}");
        if ENDPOINTS.contains(&(other, path)) {
            continue;
        }
        let answer = node.clone().oneshot(request(other)).await.expect("answers");
        assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED, "{other} {path}");
        let allowed = answer.headers()[header::ALLOW].to_str().expect("text");
        assert!(allowed.contains(method), "{other} {path}: {allowed}");
        let (_, text) = ask(&node, request(other)).await;
        assert!(text.starts_with(r#"{"error":"this endpoint has another method"#), "{text}");
    }
    let (status, answer) = get_json(&node, "/history?since=x").await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(answer["error"].as_str().is_some_and(|error| error.contains("since")), "{answer}");
    let (_, page) = ask(&node, get("/")).await;
    for outside in ["http://", "https://", "//cdn", "@import", "innerHTML"] {
        assert!(!page.contains(outside), "the page loads nothing from elsewhere: {outside}");
    }
}

/// Serves this node while the test runs. Returns where.
async fn served(node: &Election) -> SocketAddr {
    let (listener, address) = bind().await;
    tokio::spawn(serve(listener, plain(node)));
    address
}

/// Asks a server for this, which answers at once.
async fn is_answered(address: SocketAddr, path: &str) {
    let mut good = TcpStream::connect(address).await.expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    good.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    let read = timeout(HEAD / 2, good.read_to_string(&mut answer)).await;
    read.expect("at once").expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
}

/// As a browser, a probe and a scraper do it beside a process that opens connections and says
/// nothing, and one that says too much.
#[tokio::test]
async fn slow_and_large_requests_are_cut_off_and_keep_none_waiting() {
    let nodes = cluster().await;
    let address = served(&nodes[0]).await;
    let connect = async || TcpStream::connect(address).await.expect("it listens");
    let mut page = connect().await;
    page.write_all(b"GET /events HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("sent");
    let mut event = [0; 64];
    timeout(LIMIT, page.read_exact(&mut event)).await.expect("soon").expect("an event");
    let mut silent = Vec::new();
    for _ in 0..1_000 {
        silent.push(connect().await);
    }
    let mut large = connect().await;
    let _ = large.write_all(&[b'x'; 64 * 1024]).await;
    for path in ["/leader", "/livez", "/metrics", "/"] {
        is_answered(address, path).await;
    }
    // The oldest of them are closed already, the youngest are not, and the page is still told.
    let mut rest = Vec::new();
    let closed = timeout(HEAD / 2, silent[0].read_to_end(&mut rest)).await;
    assert!(matches!(closed, Ok(Ok(0) | Err(_))), "{closed:?}");
    let mut told = 0;
    while told < 2_000 {
        let read = timeout(LIMIT, page.read(&mut event)).await.expect("soon").expect("it goes on");
        assert_ne!(read, 0, "it is not closed");
        told += read;
    }
    for mut stream in silent.into_iter().chain([large]) {
        let _ = timeout(LIMIT, stream.read_to_end(&mut rest)).await.expect("it is closed");
    }
}

/// A node alone, which leads all of its groups.
async fn groups() -> Election {
    let (listener, address) = bind().await;
    let config = Config::new("http", 1, [(1, address.to_string())]).expect("valid");
    let config = config.with_groups(["a", "b", "c"]).expect("valid");
    let node = Election::join_groups_with(config, listener, Memory::default());
    let node = node.expect("it listens");
    for handle in node.groups().values() {
        timeout(LIMIT, handle.lead()).await.expect("in time").expect("it leads");
    }
    node
}

#[tokio::test]
async fn each_group_has_the_endpoints_of_a_node_and_all_are_listed() {
    let groups = groups().await;
    let node = router(&groups, allowed());
    let (status, list) = get_json(&node, "/groups").await;
    assert_eq!((status, list["node"].as_u64()), (StatusCode::OK, Some(1)), "{list}");
    let names = list["groups"].as_array().expect("a list").iter().map(|group| &group["name"]);
    assert_eq!(names.collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(list["groups"][1]["leader"], 1);
    for path in ["/livez", "/readyz", "/groups/b/leader", "/groups/b/history?since=0"] {
        assert_eq!(get_json(&node, path).await.0, StatusCode::OK, "{path}");
    }
    for path in ["/leader", "/groups/b/nothing", "/groups/d/leader"] {
        assert_eq!(get_json(&node, path).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    let (status, _) = post_json(&node, "/groups/b/step-down?for=1h", "wrong").await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    let (status, answer) = post_json(&node, "/groups/b/step-down?for=1h", TOKEN).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    for (name, expected) in [("a", true), ("b", false), ("c", true)] {
        let (status, answer) = get_json(&node, &format!("/groups/{name}/leader")).await;
        assert_eq!(status == StatusCode::OK, expected, "{name}: {answer}");
    }
    assert_eq!(get_json(&node, "/readyz").await.0, StatusCode::SERVICE_UNAVAILABLE);
    let (_, text) = ask(&node, get("/metrics")).await;
    for line in [
        "bellwether_groups 3",
        "bellwether_groups_led 2",
        "bellwether_groups_leaderless 1",
        "bellwether_group_leads{group=\"b\"} 0",
        "bellwether_group_leads{group=\"c\"} 1",
        "bellwether_uptime_seconds ",
    ] {
        assert!(text.lines().any(|found| found.starts_with(line)), "{line} is missing in {text}");
    }
    assert!(!text.contains("bellwether_role"), "that is said of one group: {text}");
}
