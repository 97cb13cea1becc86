//! A client's task, the store behind the port in memory, and the runtime's time: what is asked,
//! what is answered, and what happens when the store does not answer.

use std::io::{self, Write};

use futures::FutureExt as _;
use futures::future::{BoxFuture, pending};
use tokio::sync::mpsc::{self, Receiver};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{advance, sleep};
use tracing::subscriber::{DefaultGuard, set_default};

use super::*;
use crate::clock::tests::ManualClock;
use crate::lease_store::{
    Answer, Connect, LeaseStore, Record, STORE, Settings, StoreError, StoreResult, StoreService,
};
use crate::protocol::lease::{Message, Request, Token};

const HOLD: Duration = Duration::from_secs(10);
const KEEP: Duration = Duration::from_secs(15);
const LIMIT: Duration = Duration::from_secs(2);
const RENEW: Duration = Duration::from_millis(500);

/// Longer than from one renewal to the next.
const SLOW: Duration = Duration::from_millis(812);

/// After this long a line of the log is worth repeating.
const MINUTE: Duration = Duration::from_secs(60);

/// What all connections share.
#[derive(Debug, Default)]
struct Table {
    holder: Option<(NodeId, Instant)>,
    token: u64,
    /// What was asked, in order.
    asked: Vec<&'static str>,
    /// No connection is made.
    away: bool,
    /// Nothing can be written.
    unfit: bool,
    /// What writes waits for ever.
    locked: bool,
    /// It is asked for changes in vain: that ends the connection.
    deaf: bool,
    /// So many answers are lost, each after it was written.
    lost: usize,
    /// Each answer takes so long.
    slow: Duration,
}

impl Table {
    fn holder(&self) -> Option<(NodeId, Instant)> {
        self.holder.filter(|(_, until)| *until > Instant::now())
    }

    fn grant(&mut self, client: NodeId) {
        self.holder = Some((client, Instant::now() + KEEP));
    }

    fn times(&self, what: &str) -> usize {
        self.asked.iter().filter(|asked| **asked == what).count()
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
        Self { table: Arc::default(), news: watch::Sender::new(()), watches }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().expect("no panic")
    }

    /// Another client is granted the lease, or gives it back, and all are told.
    fn set(&self, holder: Option<NodeId>) {
        let mut table = self.table();
        table.holder = None;
        if let Some(holder) = holder {
            table.token += 1;
            table.grant(holder);
        }
        drop(table);
        self.news.send_replace(());
    }

    /// Does something in the store, and answers unless that is lost.
    fn does<T: Send + 'static>(
        &self,
        what: &'static str,
        step: impl FnOnce(&mut Table) -> T,
    ) -> BoxFuture<'static, StoreResult<T>> {
        let mut table = self.table();
        table.asked.push(what);
        if table.unfit && what != "read" {
            let (problem, remedy) = ("no permission".to_owned(), "ask the DBA".to_owned());
            return async move { Err(StoreError::Unfit { problem, remedy }) }.boxed();
        }
        if table.locked && what != "read" {
            return pending().boxed();
        }
        let before = table.holder;
        let answer = step(&mut table);
        if table.holder.map(|(holder, _)| holder) != before.map(|(holder, _)| holder) {
            self.news.send_replace(());
        }
        if table.lost > 0 {
            table.lost -= 1;
            return pending().boxed();
        }
        let slow = table.slow;
        async move {
            if slow > Duration::ZERO {
                sleep(slow).await;
            }
            Ok(answer)
        }
        .boxed()
    }
}

impl Connect for Memory {
    fn connect<'a>(&'a self, _: &'a Settings) -> BoxFuture<'a, StoreResult<Box<dyn LeaseStore>>> {
        let mut table = self.table();
        table.asked.push("connect");
        let news = self.news.subscribe();
        let connected: StoreResult<Box<dyn LeaseStore>> = if table.away {
            Err(StoreError::Away("connection refused".to_owned()))
        } else {
            Ok(Box::new(Connection { memory: self.clone(), news }))
        };
        async move { connected }.boxed()
    }

    fn setup(&self, _: &Settings) -> String {
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
    fn acquire(&mut self, client: NodeId) -> BoxFuture<'_, StoreResult<Answer>> {
        self.memory.does("acquire", |table| match table.holder() {
            Some((holder, _)) if holder != client => Answer::Refused(Some(holder)),
            _ => {
                table.token += 1;
                table.grant(client);
                Answer::Granted(Token::new(table.token))
            }
        })
    }

    fn renew(&mut self, client: NodeId, token: Token) -> BoxFuture<'_, StoreResult<Answer>> {
        self.memory.does("renew", |table| match table.holder() {
            Some((holder, _)) if holder == client && table.token == token.get() => {
                table.grant(client);
                Answer::Granted(token)
            }
            holder => Answer::Refused(holder.map(|(holder, _)| holder)),
        })
    }

    fn release(&mut self, client: NodeId, token: Token) -> BoxFuture<'_, StoreResult<()>> {
        self.memory.does("release", |table| {
            if table.token == token.get() {
                table.holder = table.holder.filter(|(holder, _)| *holder != client);
            }
        })
    }

    fn read(&mut self) -> BoxFuture<'_, StoreResult<Record>> {
        self.memory.does("read", |table| Record {
            holder: table.holder().map(|(holder, _)| holder),
            token: Token::new(table.token),
            left: table.holder().map(|(_, until)| until - Instant::now()),
        })
    }

    fn init(&mut self) -> BoxFuture<'_, StoreResult<()>> {
        async { Ok(()) }.boxed()
    }

    fn watches(&self) -> bool {
        self.memory.watches
    }

    fn changed(&mut self) -> BoxFuture<'_, StoreResult<()>> {
        if !self.memory.watches {
            return pending().boxed();
        }
        if self.memory.table().deaf {
            return async { Err(StoreError::Away("no watch".to_owned())) }.boxed();
        }
        async move {
            let gone = |_| StoreError::Away("gone".to_owned());
            self.news.changed().await.map_err(gone)
        }
        .boxed()
    }
}

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

fn request(number: u32) -> Request {
    Request { started: 1, number }
}

fn acquire(number: u32) -> Message {
    Message::Acquire(request(number))
}

/// A renewal of the first grant.
fn renewal(number: u32) -> Message {
    Message::Renew(request(number), Token::new(1))
}

/// A client that may not lead asks which node does, and nothing that could be granted.
fn asks(number: u32) -> Message {
    Message::Renew(request(number), Token::default())
}

fn release() -> Message {
    Message::Release(Token::new(1))
}

fn granted(number: u32, token: u64) -> Message {
    Message::Granted(request(number), Token::new(token))
}

/// With 0, no client has the lease.
fn refused(number: u32, holder: u16) -> Message {
    Message::Refused(request(number), NodeId::new(holder))
}

/// A client of the store.
struct Client {
    outside: Arc<Outside<Message>>,
    arrivals: Receiver<Arrival<Message>>,
    task: JoinSet<()>,
}

impl Client {
    fn of(memory: &Memory, number: u16) -> Self {
        let settings = Settings { name: "orders".to_owned(), keep: KEEP, limit: LIMIT };
        let address = "memory".to_owned();
        let connect = Arc::new(memory.clone());
        let service: Arc<dyn Service<Message>> =
            Arc::new(StoreService::new(id(number), address, connect, settings, RENEW));
        let outside = Arc::new(Outside::new(service, HOLD, Arc::new(ManualClock::new())));
        let (inbox, arrivals) = mpsc::channel(64);
        let mut task = JoinSet::new();
        task.spawn(maintain(id(number), 7, Arc::clone(&outside), inbox));
        Self { outside, arrivals, task }
    }

    /// A client that has the lease.
    async fn holder(memory: &Memory) -> Self {
        let mut client = Self::of(memory, 1);
        assert_eq!(client.next().await, Message::Available);
        assert_eq!(client.ask(acquire(1)).await, granted(1, 1));
        client
    }

    /// The next message, and no other for longer than anything takes.
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
        self.outside.push(message);
        self.next().await
    }

    async fn hears_nothing_for(&mut self, time: Duration) {
        let heard = timeout(time, self.arrivals.recv()).await;
        assert!(heard.is_err(), "{heard:?}");
    }

    /// The problem of the store, which does not answer.
    fn problem(&self) -> String {
        assert!(!self.outside.is_up());
        self.outside.problem().expect("it does not answer")
    }

    fn is_well(&self) {
        assert_eq!((self.outside.problem(), self.outside.is_up()), (None, true));
    }

    /// A renewal is answered later than the next one is sent.
    async fn is_late(&mut self, memory: &Memory) {
        memory.table().slow = SLOW;
        assert_eq!(self.ask(renewal(2)).await, granted(2, 1), "it arrives nevertheless");
        assert!(self.outside.problem().is_some() && self.outside.is_up(), "it answers");
    }
}

#[tokio::test(start_paused = true)]
async fn the_store_decides_and_its_answers_arrive() {
    let memory = Memory::new(false);
    let (mut one, mut two) = (Client::of(&memory, 1), Client::of(&memory, 2));
    assert_eq!(one.next().await, Message::Available, "it is free");
    assert_eq!(two.next().await, Message::Available);
    assert_eq!(one.ask(acquire(1)).await, granted(1, 1));
    assert_eq!(two.ask(acquire(1)).await, refused(1, 1));
    assert_eq!(two.ask(asks(2)).await, refused(2, 1));
    assert_eq!(memory.table().times("renew"), 0);
    sleep(KEEP / 2).await;
    one.outside.push(Message::Write(Token::new(1)));
    assert_eq!(one.ask(renewal(2)).await, granted(2, 1));
    sleep(KEEP * 2 / 3).await;
    assert_eq!(two.ask(acquire(3)).await, refused(3, 1));
    one.outside.push(release());
    one.hears_nothing_for(LIMIT).await;
    assert_eq!(two.ask(acquire(4)).await, granted(4, 2));
    assert_eq!(one.ask(renewal(3)).await, refused(3, 2));
}

/// It was written, and the answer is lost: the store is asked again, and says what it has.
#[tokio::test(start_paused = true)]
async fn a_question_whose_answer_is_lost_is_asked_again_on_a_new_connection() {
    let memory = Memory::new(false);
    let mut client = Client::of(&memory, 1);
    client.next().await;
    memory.table().lost = 1;
    let start = Instant::now();
    client.outside.push(acquire(1));
    sleep(LIMIT / 2).await;
    assert!(!client.outside.is_flushed(), "it is being asked");
    assert_eq!(client.outside.problem(), None);
    sleep(LIMIT / 2 + Duration::from_millis(10)).await;
    let told = "the store memory of the lease orders: no answer within 2s";
    assert!(client.problem().starts_with(told), "{}", client.problem());
    assert_eq!(client.next().await, granted(1, 2));
    assert!((LIMIT..LIMIT + Duration::from_millis(200)).contains(&start.elapsed()));
    let times = |what| memory.table().times(what);
    assert_eq!((times("connect"), times("acquire")), (2, 2));
    client.hears_nothing_for(HOLD).await;
    client.is_well();
    assert!(client.outside.is_flushed());
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_is_called_less_and_less_often_and_asked_nothing_old() {
    let memory = Memory::new(false);
    memory.table().away = true;
    let mut client = Client::of(&memory, 1);
    client.outside.push(acquire(1));
    sleep(Duration::from_secs(5)).await;
    let early = memory.table().times("connect");
    assert!((6..=25).contains(&early), "{early} attempts");
    sleep(HOLD).await;
    let later = memory.table().times("connect") - early;
    assert!((9..=21).contains(&later), "{later} attempts in ten seconds");
    assert!(client.problem().ends_with("connection refused"));
    assert!(client.outside.is_flushed(), "no one waits for a store that is away");
    memory.table().away = false;
    assert_eq!(client.next().await, Message::Available, "it is looked at first");
    client.hears_nothing_for(HOLD).await;
    client.is_well();
    assert_eq!(client.ask(acquire(2)).await, granted(2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_cannot_do_it_is_a_problem_with_its_remedy() {
    let memory = Memory::new(false);
    let mut client = Client::of(&memory, 1);
    client.next().await;
    memory.table().unfit = true;
    client.outside.push(acquire(1));
    sleep(Duration::from_secs(4)).await;
    assert!(client.problem().ends_with("no permission; ask the DBA"));
    let asked = memory.table().times("acquire");
    assert!((5..=20).contains(&asked), "asked {asked} times, as often as the back-off lets it");
    memory.table().unfit = false;
    client.answer().await;
    client.is_well();
}

/// What it would be granted later is over for the client when the answer arrives.
#[tokio::test(start_paused = true)]
async fn a_question_grows_old_from_when_it_was_sent() {
    let memory = Memory::new(false);
    memory.table().away = true;
    let client = Client::of(&memory, 1);
    client.outside.push(acquire(1));
    sleep(HOLD - LIMIT).await;
    memory.table().unfit = true;
    memory.table().away = false;
    sleep(LIMIT + Duration::from_millis(100)).await;
    let asked = memory.table().times("acquire");
    assert!(asked > 0, "it is asked as soon as the store is there");
    sleep(HOLD / 2).await;
    assert_eq!(memory.table().times("acquire"), asked);
    assert!(client.problem().ends_with("ask the DBA"), "it was never answered");
}

/// It answers what it is asked, and does not tell of changes.
#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_at_once_is_made_less_and_less_often() {
    let memory = Memory::new(true);
    memory.table().deaf = true;
    let mut client = Client::of(&memory, 1);
    sleep(HOLD).await;
    let connections = memory.table().times("connect");
    assert!((6..=30).contains(&connections), "{connections} in ten seconds");
    for asks in [true, false] {
        assert!(client.problem().ends_with("no watch"));
        if asks {
            client.outside.push(acquire(1));
            assert_eq!(client.answer().await, granted(1, 1));
        }
        // If no question was under way when it failed, there is none to wait for.
        memory.table().deaf = false;
        sleep(2 * Backoff::LONGEST).await;
        client.is_well();
        memory.table().deaf = true;
        memory.set(None);
        sleep(LIMIT).await;
    }
}

/// As long as another has the lease and the store says nothing, it is asked for the lease once.
#[tokio::test(start_paused = true)]
async fn a_store_with_a_watch_gets_no_poll() {
    let memory = Memory::new(true);
    memory.set(Some(id(1)));
    let mut client = Client::of(&memory, 2);
    assert_eq!(client.ask(asks(1)).await, refused(1, 1));
    assert_eq!(client.ask(asks(2)).await, refused(2, 1));
    assert_eq!(memory.table().asked, ["connect", "read"], "it was looked at");
    for number in 1..=6 {
        assert_eq!(client.ask(acquire(number)).await, refused(number, 1));
        assert_eq!(client.ask(asks(number)).await, refused(number, 1));
        advance(Duration::from_secs(2)).await;
    }
    assert_eq!(memory.table().asked, ["connect", "read", "acquire", "read"]);
    let before = Instant::now();
    memory.set(None);
    assert_eq!(client.next().await, Message::Available);
    assert_eq!(before.elapsed(), Duration::ZERO);
    assert_eq!(client.ask(acquire(7)).await, granted(7, 2));
    // A holder's renewal always asks the store.
    for number in 8..=10 {
        let renewal = Message::Renew(request(number), Token::new(2));
        assert_eq!(client.ask(renewal).await, granted(number, 2));
    }
    assert_eq!(memory.table().times("renew"), 3);
}

/// A watch says nothing of a lease that ends by itself.
#[tokio::test(start_paused = true)]
async fn what_was_left_of_the_lease_is_not_believed_for_longer() {
    let memory = Memory::new(true);
    memory.set(Some(id(1)));
    let start = Instant::now();
    let mut client = Client::of(&memory, 2);
    sleep(HOLD).await;
    memory.table().grant(id(1));
    sleep(KEEP - HOLD + Duration::from_millis(100)).await;
    assert_eq!(memory.table().times("read"), 2, "it has been renewed");
    assert_eq!(client.next().await, Message::Available);
    let taken = start.elapsed();
    assert!((HOLD + KEEP..HOLD + KEEP + LIMIT).contains(&taken), "{taken:?}");
    assert_eq!(client.ask(acquire(1)).await, granted(1, 2));
    assert_eq!(memory.table().times("acquire"), 1);
}

/// Both ask when it is free. The one that is refused asks no more.
#[tokio::test(start_paused = true)]
async fn one_that_was_refused_waits_for_the_store_to_speak() {
    let memory = Memory::new(true);
    let mut two = Client::of(&memory, 2);
    two.next().await;
    let one = Client::holder(&memory).await;
    for number in 1..=3 {
        assert_eq!(two.ask(acquire(number)).await, refused(number, 1));
    }
    assert!(memory.table().times("acquire") <= 2, "{:?}", memory.table().asked);
    one.outside.push(release());
    assert_eq!(two.next().await, Message::Available);
}

#[tokio::test(start_paused = true)]
async fn the_task_ends_with_the_loop_that_asks() {
    let memory = Memory::new(false);
    let Client { outside, arrivals, mut task } = Client::of(&memory, 1);
    sleep(LIMIT).await;
    drop(arrivals);
    outside.push(Message::Write(Token::new(1)));
    let ended = timeout(LIMIT, task.join_next()).await.expect("in time");
    assert!(ended.is_some_and(|ended| ended.is_ok()));
}

/// The store answers each look, and no question: another client has locked what these write, for
/// longer than a question is worth asking.
#[tokio::test(start_paused = true)]
async fn a_look_does_not_end_the_problem_of_a_question_that_was_lost() {
    let memory = Memory::new(false);
    let mut client = Client::of(&memory, 1);
    assert_eq!(client.next().await, Message::Available);
    memory.table().locked = true;
    client.outside.push(acquire(1));
    sleep(LIMIT + Duration::from_millis(10)).await;
    for _ in 0..20 {
        assert!(client.problem().contains("no answer within 2s"), "{}", client.problem());
        sleep(HOLD / 10).await;
    }
    let asked = memory.table().times("acquire");
    assert!((3..=8).contains(&asked), "asked {asked} times, and not when it was too old");
    assert!(memory.table().times("read") > asked, "it was looked at with each connection");

    // What the store is not asked says nothing of it.
    client.outside.push(Message::Write(Token::new(1)));
    sleep(RENEW).await;
    client.problem();

    memory.table().locked = false;
    client.outside.push(acquire(2));
    assert!(!client.outside.is_flushed(), "there is a session, so it is waited for");
    assert_eq!(client.answer().await, granted(2, 1));
    client.is_well();
}

/// It may read, and that is not what a client needs.
#[tokio::test(start_paused = true)]
async fn what_is_known_of_the_holder_does_not_end_the_problem_of_a_question_that_was_lost() {
    let memory = Memory::new(true);
    memory.set(Some(id(1)));
    memory.table().unfit = true;
    let client = Client::of(&memory, 2);
    for number in 1..=10 {
        client.outside.push(acquire(number));
        sleep(RENEW).await;
        assert!(client.problem().ends_with("ask the DBA"), "it can never lead");
    }
    let asked = memory.table().times("acquire");
    assert!((3..=20).contains(&asked), "asked {asked} times, as often as the back-off lets it");
    memory.table().unfit = false;
    sleep(2 * Backoff::LONGEST).await;
    client.is_well();
    assert!(memory.table().times("acquire") > asked);
}

/// There is no answer to it, and it was done.
#[tokio::test(start_paused = true)]
async fn a_lease_that_was_given_back_is_a_question_that_was_answered() {
    let memory = Memory::new(true);
    let mut client = Client::holder(&memory).await;
    memory.table().unfit = true;
    client.outside.push(release());
    sleep(RENEW).await;
    assert!(client.problem().ends_with("ask the DBA"), "it was lost");
    memory.table().unfit = false;
    assert_eq!(client.next().await, Message::Available);
    client.is_well();
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_is_answered_after_the_next_was_sent_is_a_problem_until_one_is_in_time() {
    let memory = Memory::new(false);
    let mut client = Client::holder(&memory).await;
    client.is_late(&memory).await;
    let problem = client.outside.problem().expect("it is late");
    let told = "the store memory of the lease orders: it answers later than `lease.renew` (took \
                812ms,";
    assert!(problem.starts_with(told), "{problem}");

    // A renewal waits for the answer to the one before.
    client.outside.push(renewal(3));
    sleep(RENEW).await;
    client.outside.push(renewal(4));
    assert_eq!(client.next().await, granted(3, 1));
    assert_eq!(client.next().await, granted(4, 1));
    let problem = client.outside.problem().expect("it is later");
    assert!(problem.contains("(took 1s 124ms,"), "{problem}");

    memory.table().slow = RENEW / 2;
    assert_eq!(client.ask(renewal(5)).await, granted(5, 1));
    client.is_well();
    assert_eq!(memory.table().times("connect"), 1);
}

/// A client that has no lease waits for the answer.
#[tokio::test(start_paused = true)]
async fn a_question_that_is_no_renewal_may_take_longer() {
    let memory = Memory::new(false);
    memory.table().slow = SLOW;
    let mut client = Client::holder(&memory).await;
    client.is_well();
    client.is_late(&memory).await;
    client.ask(acquire(3)).await;
    assert!(client.outside.problem().is_some(), "the store is as slow as before");
    memory.table().slow = Duration::ZERO;
    client.ask(acquire(4)).await;
    client.is_well();
}

/// The store that was away is another problem, which was told.
#[tokio::test(start_paused = true)]
async fn a_renewal_that_has_waited_for_a_connection_is_not_late() {
    let memory = Memory::new(false);
    let mut client = Client::holder(&memory).await;
    memory.table().lost = 1;
    let start = Instant::now();
    assert_eq!(client.ask(renewal(2)).await, granted(2, 1));
    assert!(start.elapsed() > RENEW);
    client.hears_nothing_for(RENEW).await;
    client.is_well();
}

/// How a client comes to have no lease that could end.
#[derive(Clone, Copy, Debug)]
enum Loss {
    /// Another client has taken the lease over, and the store tells of that.
    Told,
    /// Another client has taken the lease over when the renewal is answered.
    Refused,
    /// The client has given the lease back.
    GivenBack,
    /// The lease has run out in the store, and the client may not lead.
    Over,
}

#[tokio::test(start_paused = true)]
async fn a_client_that_has_no_lease_has_no_problem_with_late_renewals() {
    for (watches, loss) in [
        (true, Loss::Told),
        (true, Loss::Refused),
        (false, Loss::Refused),
        (true, Loss::GivenBack),
        (false, Loss::Over),
    ] {
        let memory = Memory::new(watches);
        let mut client = Client::holder(&memory).await;
        client.is_late(&memory).await;
        match loss {
            Loss::Told => {
                memory.table().slow = Duration::ZERO;
                memory.set(Some(id(2)));
            }
            Loss::Refused => {
                // Not told of: the renewal comes first.
                memory.table().grant(id(2));
                assert_eq!(client.ask(renewal(3)).await, refused(3, 2));
            }
            Loss::GivenBack => assert_eq!(client.ask(release()).await, Message::Available),
            Loss::Over => {
                memory.set(None);
                assert_eq!(client.ask(asks(3)).await, refused(3, 0));
            }
        }
        client.hears_nothing_for(RENEW).await;
        assert_eq!(client.outside.problem(), None, "{loss:?}, {watches}");
    }
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
        self.all().iter().filter(|line| line.contains(text)).count()
    }

    fn all(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().expect("no panic")
    }
}

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.all().push(String::from_utf8_lossy(line).into_owned());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A renewal that is answered late, and one in time.
async fn is_late_once(memory: &Memory, client: &mut Client) {
    client.is_late(memory).await;
    memory.table().slow = Duration::ZERO;
    client.ask(renewal(3)).await;
    // The task has said what there is to say.
    client.hears_nothing_for(Duration::from_millis(10)).await;
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_told_however_much_was_told_in_the_minute_before() {
    let (lines, _guard) = Lines::listen();
    let memory = Memory::new(true);
    let mut client = Client::holder(&memory).await;
    is_late_once(&memory, &mut client).await;
    assert_eq!((lines.with("it answers later than"), lines.with("as it should again")), (1, 1));
    memory.table().lost = 1;
    client.ask(renewal(4)).await;
    client.hears_nothing_for(RENEW).await;
    assert_eq!((lines.with("no answer within 2s"), lines.with("can be asked again")), (1, 1));

    // The next look is the last thing that this session does.
    memory.table().away = true;
    memory.table().deaf = true;
    memory.set(Some(id(1)));
    for time in [2 * Backoff::LONGEST, 2 * MINUTE] {
        sleep(time).await;
        assert_eq!(lines.with("connection refused"), 1, "once for an outage: {:?}", lines.all());
    }
}

/// A line that was written in this minute is not written again, and it is when that is over.
#[tokio::test(start_paused = true)]
async fn a_second_outage_in_a_minute_is_told_when_there_is_room() {
    let (lines, _guard) = Lines::listen();
    let memory = Memory::new(false);
    memory.table().away = true;
    let client = Client::of(&memory, 1);
    let told = || (lines.with("connection refused"), client.outside.is_up());
    sleep(Duration::from_secs(5)).await;
    memory.table().away = false;
    sleep(2 * Backoff::LONGEST).await;
    assert_eq!(told(), (1, true));

    memory.table().away = true;
    memory.table().unfit = true;
    client.outside.push(acquire(1));
    // The last is once for an outage.
    for (time, lines) in [(Duration::from_secs(5), 1), (MINUTE, 2), (2 * MINUTE, 2)] {
        sleep(time).await;
        assert_eq!(told(), (lines, false));
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_line_on_late_answers_says_how_it_is() {
    let (lines, _guard) = Lines::listen();
    let memory = Memory::new(false);
    let mut client = Client::holder(&memory).await;
    let told = || (lines.with("it answers later"), lines.with("as it should again"));
    is_late_once(&memory, &mut client).await;
    assert_eq!(told(), (1, 1));

    // From here it is always late.
    memory.table().slow = SLOW;
    for number in 4..=6 {
        client.ask(renewal(number)).await;
    }
    client.hears_nothing_for(Duration::from_millis(10)).await;
    assert_eq!(told(), (1, 1), "there was such a line in this minute");
    sleep(MINUTE).await;
    client.ask(renewal(7)).await;
    client.hears_nothing_for(Duration::from_millis(10)).await;
    assert_eq!(told(), (2, 1), "{:?}", lines.all());
}
