//! A client's task, a store in memory, and the runtime's time. The rules of the session have their
//! tests in the core.

use std::convert::identity;
use std::future::pending;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard};

use tokio::sync::mpsc::{self, Receiver};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::subscriber::{DefaultGuard, set_default};

use super::*;
use crate::clock::tests::ManualClock;
use crate::protocol::NodeId;
use crate::protocol::lease::{Request, Token};
use crate::report::StoreView;
use crate::store::{Asking, Claim, Connect, LeaseRecord, LeaseSettings, STORE};

const HOLD: Duration = Duration::from_secs(10);
const KEEP: Duration = Duration::from_secs(15);
const LIMIT: Duration = Duration::from_secs(2);
const RENEW: Duration = Duration::from_millis(500);
const MOMENT: Duration = Duration::from_millis(10);

/// What all connections share. The lease was granted once before.
#[derive(Debug)]
struct Table {
    holder: Option<(Holder, Instant)>,
    token: u64,
    /// The questions, in their order.
    asked: Vec<&'static str>,
    /// No connection is made.
    is_away: bool,
    /// Nothing can be written.
    is_read_only: bool,
    /// Writes wait for ever.
    is_locked: bool,
    /// The watch fails, which ends the connection.
    is_deaf: bool,
    /// The number of answers that are lost, each after it was written.
    lost: usize,
    /// The time that each answer takes.
    slow: Duration,
}

impl Table {
    fn record(&self) -> LeaseRecord {
        let held = self.holder.as_ref().filter(|(_, until)| *until > Instant::now());
        let left = held.map(|(_, until)| *until - Instant::now());
        let holder = held.map(|(holder, _)| holder.clone());
        LeaseRecord { holder, token: Token::new(self.token), left, doubt: None }
    }

    fn grant(&mut self, holder: &Holder) {
        self.holder = Some((holder.clone(), Instant::now() + KEEP));
    }

    fn times(&self, question: &str) -> usize {
        self.asked.iter().filter(|asked| **asked == question).count()
    }
}

#[derive(Clone, Debug)]
struct Memory {
    table: Arc<Mutex<Table>>,
    news: watch::Sender<()>,
    watches: bool,
}

impl Memory {
    fn new(watches: bool) -> Self {
        let table = Table {
            holder: None,
            token: 1,
            asked: Vec::new(),
            is_away: false,
            is_read_only: false,
            is_locked: false,
            is_deaf: false,
            lost: 0,
            slow: Duration::ZERO,
        };
        Self { table: Arc::new(Mutex::new(table)), news: watch::Sender::new(()), watches }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().expect("no panic")
    }

    /// Another client is granted the lease, or gives it back, and all are told.
    fn set(&self, holder: Option<Holder>) {
        let mut table = self.table();
        table.holder = None;
        if let Some(holder) = holder {
            table.token += 1;
            table.grant(&holder);
        }
        drop(table);
        self.news.send_replace(());
    }

    /// Does something in the store, and answers unless that is lost.
    fn answer<'a, T: Send + 'a>(
        &self,
        question: &'static str,
        step: impl FnOnce(&mut Table) -> T,
    ) -> Asking<'a, T> {
        let mut table = self.table();
        table.asked.push(question);
        if table.is_read_only && question != "read" {
            let (problem, remedy) = ("no permission".to_owned(), "ask the DBA".to_owned());
            return Box::pin(async move { Err(StoreError::Misconfigured { problem, remedy }) });
        }
        if table.is_locked && question != "read" {
            return Box::pin(pending());
        }
        let before = table.record().holder;
        let answer = step(&mut table);
        if table.record().holder != before {
            self.news.send_replace(());
        }
        if table.lost > 0 {
            table.lost -= 1;
            return Box::pin(pending());
        }
        let slow = table.slow;
        Box::pin(async move {
            if slow > Duration::ZERO {
                sleep(slow).await;
            }
            Ok(answer)
        })
    }
}

impl Connect for Memory {
    fn connect<'a>(&'a self, _: &'a LeaseSettings) -> Asking<'a, Box<dyn LeaseStore>> {
        let mut table = self.table();
        table.asked.push("connect");
        let news = self.news.subscribe();
        let connected: StoreResult<Box<dyn LeaseStore>> = if table.is_away {
            Err(StoreError::Unreachable("connection refused".to_owned()))
        } else {
            Ok(Box::new(Connection { memory: self.clone(), news }))
        };
        Box::pin(async move { connected })
    }

    fn setup(&self, _: &LeaseSettings) -> String {
        String::new()
    }

    fn warning(&self) -> Option<&'static str> {
        None
    }
}

struct Connection {
    memory: Memory,
    news: watch::Receiver<()>,
}

impl LeaseStore for Connection {
    fn acquire<'a>(&'a mut self, claim: Claim<'a>) -> Asking<'a, Answer> {
        self.memory.answer("acquire", |table| {
            let record = table.record();
            if record.holder.as_ref().is_some_and(|holder| holder != claim.holder) {
                return Answer::Refused(record);
            }
            table.token = table.token.max(claim.seen.get()) + 1;
            table.grant(claim.holder);
            Answer::Granted(Token::new(table.token))
        })
    }

    fn renew<'a>(&'a mut self, holder: &'a Holder, token: Token) -> Asking<'a, Answer> {
        self.memory.answer("renew", |table| {
            let record = table.record();
            if record.holder.as_ref() != Some(holder) || record.token != token {
                return Answer::Refused(record);
            }
            table.grant(holder);
            Answer::Granted(token)
        })
    }

    fn release<'a>(&'a mut self, holder: &'a Holder, token: Token) -> Asking<'a, ()> {
        self.memory.answer("release", |table| {
            if table.token == token.get() {
                table.holder = table.holder.take().filter(|(held, _)| held != holder);
            }
        })
    }

    fn read(&mut self) -> Asking<'_, LeaseRecord> {
        self.memory.answer("read", |table| table.record())
    }

    fn init(&mut self) -> Asking<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn watches(&self) -> bool {
        self.memory.watches
    }

    fn changed(&mut self) -> Asking<'_, ()> {
        if !self.memory.watches {
            return Box::pin(pending());
        }
        if self.memory.table().is_deaf {
            return Box::pin(async { Err(StoreError::Unreachable("no watch".to_owned())) });
        }
        Box::pin(async move {
            let gone = |_| StoreError::Unreachable("gone".to_owned());
            self.news.changed().await.map_err(gone)
        })
    }
}

fn holder(number: u16) -> Holder {
    Holder::member(NodeId::new(number).expect("not zero"), number.into())
}

fn request(number: u32) -> Request {
    Request { started: 1, number }
}

fn acquire(number: u32) -> Message {
    Message::Acquire(request(number))
}

/// A renewal of the first grant.
fn renewal(number: u32) -> Message {
    Message::Renew(request(number), Token::new(2))
}

fn granted(number: u32, token: u64) -> Message {
    Message::Granted(request(number), Token::new(token))
}

fn refused(number: u32, holder: u16) -> Message {
    Message::Refused(request(number), NodeId::new(holder))
}

/// A client of the store.
struct Client {
    mailbox: Arc<Mailbox<Message>>,
    arrivals: Receiver<Arrival<Message>>,
    task: JoinSet<()>,
}

impl Client {
    fn of(memory: &Memory, number: u16) -> Self {
        let settings = LeaseSettings { name: "orders".to_owned(), ttl: KEEP, limit: LIMIT };
        let access = StoreAccess {
            node: NodeId::new(1).expect("not zero"),
            members: None,
            address: "memory".to_owned(),
            connect: Arc::new(memory.clone()),
            settings,
            renew: RENEW,
            question: identity,
            answer: identity,
        };
        let view = StoreView::new("memory".to_owned(), "orders".to_owned());
        let mailbox = Arc::new(Mailbox::new(STORE, view, HOLD, Arc::new(ManualClock::new())));
        let (inbox, arrivals) = mpsc::channel(64);
        let client = StoreClient::new(access, holder(number), Arc::clone(&mailbox), inbox);
        let mut task = JoinSet::new();
        task.spawn(client.run());
        Self { mailbox, arrivals, task }
    }

    /// A client that has the lease.
    async fn holding(memory: &Memory) -> Self {
        let mut client = Self::of(memory, 1);
        assert_eq!(client.next().await, Message::Available);
        assert_eq!(client.ask(acquire(1)).await, granted(1, 2));
        client
    }

    async fn next(&mut self) -> Message {
        let arrival = timeout(2 * KEEP, self.arrivals.recv()).await.expect("in time");
        let Arrival { from, frame, .. } = arrival.expect("the task lives");
        assert_eq!(from, STORE);
        let Frame::Message(message) = frame else { panic!("{frame:?}") };
        message
    }

    /// The next message that is an answer.
    async fn answer(&mut self) -> Message {
        loop {
            match self.next().await {
                Message::Available => {}
                answer => return answer,
            }
        }
    }

    async fn ask(&mut self, message: Message) -> Message {
        self.mailbox.push(message);
        self.answer().await
    }

    async fn hears_nothing_for(&mut self, time: Duration) {
        let heard = timeout(time, self.arrivals.recv()).await;
        assert!(heard.is_err(), "{heard:?}");
    }

    fn view(&self) -> StoreView {
        self.mailbox.view.borrow().clone()
    }

    /// The problem of the store, which does not answer.
    fn problem(&self) -> String {
        let view = self.view();
        assert!(!view.up, "{view:?}");
        view.problem.expect("it does not answer")
    }

    fn is_well(&self) {
        let view = self.view();
        assert!(view.up && view.problem.is_none(), "{view:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_store_decides_and_its_answers_arrive() {
    let memory = Memory::new(false);
    let (mut one, mut two) = (Client::holding(&memory).await, Client::of(&memory, 2));
    assert_eq!(two.ask(acquire(1)).await, refused(1, 2), "without a list, others have other ids");
    sleep(KEEP / 2).await;
    one.mailbox.push(Message::Write(Token::new(2)));
    assert_eq!(one.ask(renewal(2)).await, granted(2, 2));
    sleep(KEEP * 2 / 3).await;
    one.mailbox.push(Message::Release(Token::new(2)));
    one.hears_nothing_for(LIMIT).await;
    assert!(one.mailbox.is_flushed());
    assert_eq!(two.ask(acquire(4)).await, granted(4, 3));
    assert_eq!(memory.table().times("release"), 1);
}

/// The grant was written, and the answer is lost: the store is asked again, and decides anew.
#[tokio::test(start_paused = true)]
async fn a_question_whose_answer_is_lost_is_asked_again_on_a_new_connection() {
    let memory = Memory::new(false);
    let mut client = Client::of(&memory, 1);
    client.next().await;
    memory.table().lost = 1;
    let start = Instant::now();
    client.mailbox.push(acquire(1));
    sleep(LIMIT / 2).await;
    assert!(!client.mailbox.is_flushed(), "it is being asked");
    assert_eq!(client.view().problem, None);
    sleep(LIMIT / 2 + MOMENT).await;
    let told = "the store memory of the lease orders: no answer within 2s";
    assert!(client.problem().starts_with(told), "{}", client.problem());
    assert_eq!(client.next().await, granted(1, 3));
    assert!((LIMIT..LIMIT + Duration::from_millis(200)).contains(&start.elapsed()));
    let times = |question| memory.table().times(question);
    assert_eq!((times("connect"), times("acquire")), (2, 2));
    client.hears_nothing_for(HOLD).await;
    client.is_well();
    assert!(client.mailbox.is_flushed());
    assert_eq!(client.view().holder, Some(holder(1)));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_is_called_less_and_less_often_and_asked_nothing_old() {
    let memory = Memory::new(false);
    memory.table().is_away = true;
    let mut client = Client::of(&memory, 1);
    client.mailbox.push(acquire(1));
    sleep(Duration::from_secs(5)).await;
    let early = memory.table().times("connect");
    assert!((6..=25).contains(&early), "{early} attempts");
    sleep(HOLD).await;
    let later = memory.table().times("connect") - early;
    assert!((9..=21).contains(&later), "{later} attempts in ten seconds");
    assert!(client.problem().ends_with("connection refused"));
    assert!(client.mailbox.is_flushed(), "no one waits for a store that is away");
    memory.table().is_away = false;
    assert_eq!(client.next().await, Message::Available, "it is looked at first");
    client.hears_nothing_for(HOLD).await;
    client.is_well();
    assert_eq!(client.ask(acquire(2)).await, granted(2, 2));
}

/// That the store can be read does not end the problem: a claim does that was answered.
#[tokio::test(start_paused = true)]
async fn a_lost_question_is_a_problem_until_one_is_answered() {
    for is_locked in [false, true] {
        let memory = Memory::new(true);
        let mut client = Client::of(&memory, 1);
        client.next().await;
        memory.table().is_locked = is_locked;
        memory.table().is_read_only = !is_locked;
        client.mailbox.push(acquire(1));
        sleep(HOLD - LIMIT).await;
        let asked = memory.table().times("acquire");
        assert!((3..=20).contains(&asked), "asked {asked} times, as the back-off lets it");
        let end = if is_locked { "slow" } else { "no permission; ask the DBA" };
        sleep(HOLD).await;
        assert!(client.problem().ends_with(end), "the question is too old, and the problem lasts");
        memory.table().is_locked = false;
        memory.table().is_read_only = false;
        client.ask(acquire(2)).await;
        sleep(MOMENT).await;
        client.is_well();
    }
}

/// The store answers each question, and does not tell of changes.
#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_at_once_is_made_less_and_less_often() {
    let memory = Memory::new(true);
    memory.table().is_deaf = true;
    let client = Client::of(&memory, 1);
    sleep(HOLD).await;
    let connections = memory.table().times("connect");
    assert!((6..=30).contains(&connections), "{connections} in ten seconds");
    assert!(client.problem().ends_with("no watch"));
    memory.table().is_deaf = false;
    sleep(2 * Backoff::LONGEST).await;
    client.is_well();
}

#[tokio::test(start_paused = true)]
async fn a_store_with_a_watch_gets_no_poll() {
    let memory = Memory::new(true);
    memory.set(Some(holder(2)));
    let mut client = Client::of(&memory, 1);
    for number in 1..=6 {
        assert_eq!(client.ask(acquire(number)).await, refused(number, 2));
        sleep(LIMIT).await;
    }
    assert_eq!(memory.table().asked, ["connect", "read", "acquire"]);
    let before = Instant::now();
    memory.set(None);
    assert_eq!(client.next().await, Message::Available);
    assert_eq!(before.elapsed(), Duration::ZERO);
    // A watch says nothing of a lease that ends by itself.
    memory.set(Some(holder(2)));
    sleep(MOMENT).await;
    assert_eq!(client.next().await, Message::Available);
    assert!((KEEP..KEEP + LIMIT).contains(&before.elapsed()), "{:?}", before.elapsed());
    assert_eq!(client.ask(acquire(7)).await, granted(7, 4));
}

#[tokio::test(start_paused = true)]
async fn the_task_ends_with_the_loop_that_asks() {
    let memory = Memory::new(false);
    let Client { mailbox, arrivals, mut task } = Client::of(&memory, 1);
    sleep(LIMIT).await;
    drop(arrivals);
    mailbox.push(acquire(1));
    assert!(timeout(LIMIT, task.join_next()).await.expect("in time").is_some());
    assert_eq!(memory.table().times("acquire"), 0, "nothing is asked for a node that has ended");
}

/// The lines of a thread that an operator sees. A clone is the same.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    /// Those of this test, until the guard is dropped.
    fn listen() -> (Self, DefaultGuard) {
        let lines = Self::default();
        let writer = lines.clone();
        crate::log::tests::listen_beside_others();
        let log = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
        (lines, set_default(log))
    }

    /// How many lines say this.
    fn with(&self, text: &str) -> usize {
        let lines = self.0.lock().expect("no panic");
        lines.iter().filter(|line| line.contains(text)).count()
    }
}

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line).into_owned();
        self.0.lock().expect("no panic").push(text);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn an_outage_and_a_problem_are_a_line_each_and_one_when_they_end() {
    let (lines, _guard) = Lines::listen();
    let memory = Memory::new(false);
    let mut client = Client::holding(&memory).await;
    memory.table().slow = RENEW * 2;
    for number in 2..=4 {
        assert_eq!(client.ask(renewal(number)).await, granted(number, 2), "it arrives");
    }
    sleep(MOMENT).await;
    assert!(client.view().up && client.view().problem.is_some(), "it answers, too late");
    memory.table().slow = Duration::ZERO;
    client.ask(renewal(5)).await;
    sleep(MOMENT).await;
    client.is_well();
    assert_eq!((lines.with("it answers later than"), lines.with("as it should again")), (1, 1));

    memory.table().is_away = true;
    memory.table().lost = 1;
    client.mailbox.push(renewal(6));
    sleep(2 * AGAIN).await;
    assert_eq!(lines.with("no answer within 2s"), 1);
    assert_eq!(lines.with("connection refused"), 1, "another error, ten seconds later");
    memory.table().is_away = false;
    sleep(2 * Backoff::LONGEST).await;
    client.ask(acquire(7)).await;
    sleep(MOMENT).await;
    assert_eq!(lines.with("can be asked again"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_flickers_is_told_once_in_ten_seconds() {
    let (lines, _guard) = Lines::listen();
    let memory = Memory::new(true);
    let _client = Client::of(&memory, 1);
    for _ in 0..10 {
        for is_deaf in [true, false] {
            sleep(Duration::from_secs(1)).await;
            memory.table().is_deaf = is_deaf;
            memory.set(None);
        }
    }
    let told = lines.with("no watch");
    assert!((1..=3).contains(&told), "{told} lines in twenty seconds");
    assert!(lines.with("can be asked again") <= told);
}
