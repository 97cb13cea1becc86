//! A server can say anything, and the client stays with what makes sense.

mod encryption;

use bellwether_testbed::http_server::{Asked, Said, serve_at};
use serde_json::json;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::*;
use crate::testing::{away, unfit};

const LIMIT: Duration = Duration::from_secs(10);

/// Serves at a free port until the runtime ends, and returns the address.
pub(crate) async fn serve(answer: impl FnMut(&Asked) -> Said + Send + 'static) -> String {
    serve_at(0, answer).await.expect("a free port")
}

async fn client(address: &str) -> Client {
    let server = Server::parse(address, None).expect("an address");
    Client::connect(&server, LIMIT).await.expect("it listens")
}

/// A client of a server that says this, whatever is asked.
async fn told(bytes: &[u8]) -> Client {
    let bytes = bytes.to_vec();
    client(&serve(move |_| Said::Raw(bytes.clone())).await).await
}

async fn get(client: &mut Client) -> StoreResult<Reply> {
    client.ask(Method::GET, "/it", None).await
}

#[tokio::test]
async fn questions_follow_each_other_on_one_connection() {
    let address = serve(|asked| {
        let authorization = asked.authorization.clone();
        Said::Json(200, json!([asked.method, asked.path, authorization, asked.body]))
    })
    .await;
    let mut client = client(&address).await;
    assert_eq!(get(&mut client).await.expect("said").body, json!(["GET", "/it", null, null]));
    client.authorize("Bearer hush").expect("a token");
    let body = json!({ "a": [1, "ü"] });
    let reply = client.ask(Method::PUT, "/x?y=1", Some(&body)).await.expect("said");
    assert_eq!(reply.body, json!(["PUT", "/x?y=1", "Bearer hush", body]));
    assert_eq!(reply.status, StatusCode::OK);
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_is_none() {
    let long = "1".repeat(LARGEST + 1);
    let long = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{long}", long.len());
    let head = "x".repeat(4 * LARGEST_HEAD);
    let head = format!("HTTP/1.1 200 OK\r\nX: {head}\r\nContent-Length: 1\r\n\r\n1");
    let cases: [(&[u8], &str); 7] = [
        (b"", ""),
        (b"SSH-2.0-OpenSSH_9.2\r\n", ""),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}", ""),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{]", "no JSON"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "no JSON"),
        (long.as_bytes(), "more than 1048576 bytes"),
        (head.as_bytes(), ""),
    ];
    for (bytes, part) in cases {
        let mut client = told(bytes).await;
        client.authorize("Bearer hush").expect("a token");
        let problem = away(get(&mut client).await);
        assert!(problem.contains("http://127.0.0.1:") && problem.contains(part), "{problem}");
        assert!(!problem.contains("hush"), "{problem}");
    }
}

#[tokio::test]
async fn a_refusal_need_not_be_json() {
    let bytes = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 5\r\n\r\nlater";
    let reply = get(&mut told(bytes).await).await.expect("an answer");
    assert_eq!(reply.body, Value::Null);
    assert_eq!(reply.complaint(), "HTTP 503 Service Unavailable");
    let body = json!({ "message": format!("no\n{}", "x".repeat(1_000)) });
    let reply = Reply { status: StatusCode::FORBIDDEN, body };
    let complaint = reply.complaint();
    assert!(complaint.starts_with("HTTP 403, no x") && complaint.len() < 250, "{complaint}");
    // A refusal of lines is a whole answer.
    let address = serve(|_| Said::Json(410, json!({ "message": "too old" }))).await;
    let refused = client(&address).await.follow(Method::GET, "/it", None).await;
    let reply = refused.expect("an answer").err().expect("a refusal");
    assert_eq!(reply.complaint(), "HTTP 410, too old");
}

#[tokio::test]
async fn no_server_is_away_and_a_token_is_one_line() {
    // While it is bound, no other test listens there.
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let address = socket.local_addr().expect("an address").to_string();
    let server = Server::parse(&address, None).expect("an address");
    let problem = away(Client::connect(&server, LIMIT).await);
    assert!(problem.contains(&address), "{problem}");

    let error = unfit(told(b"").await.authorize("hush\nhush"));
    assert!(error.contains("its file") && !error.contains("hush"), "{error}");
}

/// Lines that a test sends one by one.
async fn followed() -> (UnboundedSender<Option<String>>, Lines) {
    let (sender, receiver) = unbounded_channel();
    let mut receiver = Some(receiver);
    let address = serve(move |_| Said::Lines(receiver.take().expect("one question"))).await;
    let client = client(&address).await;
    match client.follow(Method::GET, "/it", None).await.expect("an answer") {
        Ok(lines) => (sender, lines),
        Err(reply) => panic!("refused: {reply:?}"),
    }
}

#[tokio::test]
async fn lines_come_one_by_one_however_they_are_cut() {
    let (sender, mut lines) = followed().await;
    for piece in ["{\"a\":1}\n{\"a\":", "2}\n\n", "3\n"] {
        sender.send(Some(piece.to_owned())).expect("it listens");
    }
    for value in [json!({ "a": 1 }), json!({ "a": 2 }), json!(3)] {
        assert_eq!(lines.next().await, Ok(Some(value)));
    }
    // A line that was given up in the middle is not lost.
    let wait = tokio::time::timeout(Duration::from_millis(20), lines.next());
    sender.send(Some("\"ha".to_owned())).expect("it listens");
    assert!(wait.await.is_err(), "there is no whole line");
    sender.send(Some("lf\"\n".to_owned())).expect("it listens");
    assert_eq!(lines.next().await, Ok(Some(json!("half"))));
    sender.send(None).expect("it listens");
    assert_eq!(lines.next().await, Ok(None));
}

#[tokio::test]
async fn lines_that_make_no_sense_are_the_end() {
    for (piece, end, part) in [
        ("{]\n".to_owned(), true, "a line that is no JSON"),
        ("{\"a\":".to_owned(), true, "within a line"),
        ("1".repeat(LARGEST + 1), true, "a line of more than"),
        ("{\"a\":".to_owned(), false, ""),
        (String::from("\n"), false, ""),
    ] {
        let (sender, mut lines) = followed().await;
        sender.send(Some(piece)).expect("it listens");
        if end {
            sender.send(None).expect("it listens");
        }
        drop(sender);
        let problem = away(lines.next().await);
        assert!(problem.contains(part), "{problem}");
    }
}

#[test]
fn servers_are_a_host_and_a_port() {
    for (text, host, exposed) in [
        ("127.0.0.1:2379", "127.0.0.1", false),
        ("[::1]:2379", "::1", false),
        ("localhost:1", "localhost", false),
        ("db-1.example.org:65535", "db-1.example.org", true),
        ("[fd00::1]:2379", "fd00::1", true),
    ] {
        let server = Server::parse(text, None).expect(text);
        assert_eq!((server.host(), server.is_exposed()), (host, exposed));
        assert_eq!(server.to_string(), format!("http://{text}"));
    }
    for text in ["", "db", ":1", "db:0", "db:65536", "db:+1", "::1:1", "[x]:1", "a b:1", "a/b:1"] {
        let problem = Server::parse(text, None).expect_err(text);
        assert!(problem.contains("HOST:PORT"), "{problem}");
    }
}
