//! A server that says what a test wants: in good order, as bytes that are no HTTP, or as lines that
//! end in the middle. For the tests of the library, and for the soak.

use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::UnboundedReceiver;

/// A question as it has arrived.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Such as `GET`.
    pub method: String,
    /// The path, and the query.
    pub path: String,
    /// The header of that name.
    pub authorization: Option<String>,
    /// The body, in JSON; `Null` if there is none.
    pub body: Value,
}

/// What is answered.
pub enum Said {
    /// This status, and this body.
    Json(u16, Value),
    /// These bytes, and the end of the connection.
    Raw(Vec<u8>),
    /// An answer that goes on; `None` ends it in good order, and the end of the channel cuts it.
    Lines(UnboundedReceiver<Option<String>>),
}

type Answer = Arc<Mutex<dyn FnMut(&Asked) -> Said + Send>>;

/// Serves at a port, 0 for a free one, until the runtime ends. Returns the address.
pub async fn serve_at(
    port: u16,
    answer: impl FnMut(&Asked) -> Said + Send + 'static,
) -> io::Result<String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let address = listener.local_addr()?.to_string();
    let answer: Answer = Arc::new(Mutex::new(answer));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let answer = Arc::clone(&answer);
            // An error is the end of the connection.
            tokio::spawn(async move {
                let _ = connection(stream, answer).await;
            });
        }
    });
    Ok(address)
}

async fn connection(stream: TcpStream, answer: Answer) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    while let Some(asked) = question(&mut stream).await? {
        let said = {
            let mut answer = answer.lock().expect("the answer does not panic");
            (*answer)(&asked)
        };
        match said {
            Said::Json(status, value) => {
                let body = value.to_string();
                let head = format!(
                    "HTTP/1.1 {status} Said\r\nContent-Type: application/json\r\n\
                     Content-Length: {}\r\n\r\n",
                    body.len()
                );
                stream.write_all((head + &body).as_bytes()).await?;
            }
            Said::Raw(bytes) => {
                stream.write_all(&bytes).await?;
                return stream.shutdown().await;
            }
            Said::Lines(mut lines) => {
                let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
                stream.write_all(head.as_bytes()).await?;
                loop {
                    match lines.recv().await {
                        Some(Some(line)) => {
                            let chunk = format!("{:x}\r\n{line}\r\n", line.len());
                            stream.write_all(chunk.as_bytes()).await?;
                        }
                        Some(None) => break stream.write_all(b"0\r\n\r\n").await?,
                        None => return Ok(()),
                    }
                }
            }
        }
    }
    Ok(())
}

async fn question(stream: &mut BufReader<TcpStream>) -> io::Result<Option<Asked>> {
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    // A relay that is cut may let a part of the line through.
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
    let (mut length, mut authorization) = (0, None);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().expect("a number"),
            "authorization" => authorization = Some(value.to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let body = match length {
        0 => Value::Null,
        _ => serde_json::from_slice(&body).expect("JSON"),
    };
    Ok(Some(Asked { method, path, authorization, body }))
}
