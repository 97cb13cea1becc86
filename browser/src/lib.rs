//! A headless browser for the tests of our pages, driven through its debugging protocol: messages
//! in JSON, each ended by a zero byte, through a pair of pipes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use base64::prelude::{BASE64_STANDARD, Engine as _};

/// What the browser is called, on the path.
const CHROMIUM: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/// How long a page may take to become what it should be.
const LIMIT: Duration = Duration::from_secs(60);

/// Where the browser is; none, with a notice that no test keeps to itself, where there is none.
fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let files = std::env::split_paths(&path).flat_map(|dir| CHROMIUM.map(|name| dir.join(name)));
    let found = files.into_iter().find(|file| file.is_file());
    if found.is_none() {
        let mut stderr = std::io::stderr();
        // What a test prints with a macro is shown only if it fails.
        let _ = writeln!(stderr, "skipped: there is no Chromium here to show the page");
    }
    found
}

/// Reads messages, each ended by a zero byte, in a thread of its own: a browser that says nothing
/// must not hold up a test.
fn messages(output: ChildStdout) -> Receiver<Vec<u8>> {
    let (send, messages) = channel();
    std::thread::spawn(move || {
        for message in BufReader::new(output).split(0) {
            if message.is_err() || message.is_ok_and(|message| send.send(message).is_err()) {
                return;
            }
        }
    });
    messages
}

/// One page in a browser, which ends when this is dropped.
pub struct Page {
    browser: Child,
    input: ChildStdin,
    /// What the browser says, message by message, until it ends.
    messages: Receiver<Vec<u8>>,
    session: Value,
    sent: u64,
    _profile: TempDir,
}

impl Page {
    /// Opens this page; none, with a notice, where there is no browser.
    pub fn open(url: &str) -> Option<Self> {
        let path = browser()?;
        let profile = tempfile::tempdir().expect("a directory");
        let mut browser = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 >/dev/null", "sh"])
            .arg(path)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"])
            .arg("--window-size=800,900")
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the browser starts");
        let input = browser.stdin.take().expect("piped");
        let messages = messages(browser.stdout.take().expect("piped"));
        let (session, sent) = (Value::Null, 0);
        let mut page = Self { browser, input, messages, session, sent, _profile: profile };
        let target = page.ask("Target.createTarget", &json!({ "url": url }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        page.session = page.ask("Target.attachToTarget", &attach)["sessionId"].clone();
        Some(page)
    }

    /// Sends a command, and returns its result. Events in between are of no interest.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.sent += 1;
        let mut message = json!({ "id": self.sent, "method": method, "params": params });
        if !self.session.is_null() {
            message["sessionId"] = self.session.clone();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input.write_all(&bytes).expect("the browser listens");
        loop {
            let message = self.messages.recv_timeout(LIMIT);
            let bytes = message.unwrap_or_else(|error| panic!("{method}: no answer: {error}"));
            let answer: Value = serde_json::from_slice(&bytes).expect("an answer");
            if answer["id"] == self.sent {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// What this expression is in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "returnByValue": true });
        let result = self.ask("Runtime.evaluate", &params);
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// The page is shown on dark, or on light.
    pub fn prefer(&mut self, scheme: &str) {
        let feature = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.ask("Emulation.setEmulatedMedia", &json!({ "features": feature }));
    }

    /// A text is typed.
    pub fn write(&mut self, text: &str) {
        self.ask("Input.insertText", &json!({ "text": text }));
    }

    /// A key is pressed.
    pub fn press(&mut self, key: &str, code: u32) {
        for kind in ["keyDown", "keyUp"] {
            let mut params = json!({ "type": kind, "key": key, "windowsVirtualKeyCode": code });
            if key == "Enter" && kind == "keyDown" {
                // Only with its text does it press a button.
                params["text"] = json!("\r");
            }
            self.ask("Input.dispatchKeyEvent", &params);
        }
    }

    /// The window becomes so many pixels wide and high.
    pub fn resize(&mut self, width: u32, height: u32) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false
        });
        self.ask("Emulation.setDeviceMetricsOverride", &size);
    }

    /// What the window shows, as a PNG.
    pub fn picture(&mut self) -> Vec<u8> {
        let shot = self.ask("Page.captureScreenshot", &json!({ "format": "png" }));
        let data = shot["data"].as_str().expect("a picture");
        BASE64_STANDARD.decode(data).expect("base64")
    }

    /// Waits until the page is there with all its scripts, and this expression is true in it.
    pub fn wait_for(&mut self, expression: &str) {
        let loaded = "document.readyState !== 'loading'";
        let asked =
            format!("(() => {{ try {{ return {loaded} && ({expression}) }} catch {{}} }})()");
        let deadline = Instant::now() + LIMIT;
        while self.value(&asked) != true {
            let text = self.value("document.body?.innerText");
            assert!(Instant::now() < deadline, "not within {LIMIT:?}: {expression}\n{text}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}
