//! A client's task, the store behind the port in memory, and the runtime's time: what is asked,
//! what is answered, and what happens when the store does not answer.

use futures::FutureExt as _;
use futures::future::{BoxFuture, pending};
use tokio::sync::mpsc::{self, Receiver};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{advance, sleep};

use super::*;
use crate::clock::tests::ManualClock;
use crate::lease_store::{
    Answer, Connect, LeaseStore, Record, STORE, Settings, StoreError, StoreResult, StoreService,
};
use crate::protocol::lease::{Message, Request, Token};

mod late;
mod log;
mod lost;

const HOLD: Duration = Duration::from_secs(10);
const KEEP: Duration = Duration::from_secs(15);
const LIMIT: Duration = Duration::from_secs(2);
const RENEW: Duration = Duration::from_millis(500);

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
        let granted = Message::Granted(request(1), Token::new(1));
        assert_eq!(client.ask(Message::Acquire(request(1))).await, granted);
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

    async fn ask(&mut self, message: Message) -> Message {
        self.outside.push(message);
        self.next().await
    }

    async fn hears_nothing_for(&mut self, time: Duration) {
        let heard = timeout(time, self.arrivals.recv()).await;
        assert!(heard.is_err(), "{heard:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_store_decides_and_its_answers_arrive() {
    let memory = Memory::new(false);
    let (mut one, mut two) = (Client::of(&memory, 1), Client::of(&memory, 2));
    assert_eq!(one.next().await, Message::Available, "it is free");
    assert_eq!(two.next().await, Message::Available);
    let granted = Message::Granted(request(1), Token::new(1));
    assert_eq!(one.ask(Message::Acquire(request(1))).await, granted);
    let refused = Message::Refused(request(1), Some(id(1)));
    assert_eq!(two.ask(Message::Acquire(request(1))).await, refused);
    // One that may not lead asks which node does, and nothing that could be granted.
    let asks = Message::Renew(request(2), Token::default());
    assert_eq!(two.ask(asks).await, Message::Refused(request(2), Some(id(1))));
    assert_eq!(memory.table().times("renew"), 0);
    sleep(KEEP / 2).await;
    let renewed = Message::Granted(request(2), Token::new(1));
    one.outside.push(Message::Write(Token::new(1)));
    assert_eq!(one.ask(Message::Renew(request(2), Token::new(1))).await, renewed);
    sleep(KEEP * 2 / 3).await;
    assert!(matches!(two.ask(Message::Acquire(request(3))).await, Message::Refused(..)));
    one.outside.push(Message::Release(Token::new(1)));
    one.hears_nothing_for(LIMIT).await;
    let granted = Message::Granted(request(4), Token::new(2));
    assert_eq!(two.ask(Message::Acquire(request(4))).await, granted);
    let late = Message::Renew(request(3), Token::new(1));
    assert_eq!(one.ask(late).await, Message::Refused(request(3), Some(id(2))));
}

/// It was written, and the answer is lost: the store is asked again, and says what it has.
#[tokio::test(start_paused = true)]
async fn a_question_whose_answer_is_lost_is_asked_again_on_a_new_connection() {
    let memory = Memory::new(false);
    let mut client = Client::of(&memory, 1);
    client.next().await;
    memory.table().lost = 1;
    let start = Instant::now();
    client.outside.push(Message::Acquire(request(1)));
    sleep(LIMIT / 2).await;
    assert!(!client.outside.is_flushed(), "it is being asked");
    assert_eq!(client.outside.problem(), None);
    sleep(LIMIT / 2 + Duration::from_millis(10)).await;
    let problem = client.outside.problem().expect("no answer");
    assert!(problem.starts_with("the store memory of the lease orders: no answer within 2s"));
    assert_eq!(client.next().await, Message::Granted(request(1), Token::new(2)));
    assert!((LIMIT..LIMIT + Duration::from_millis(200)).contains(&start.elapsed()));
    assert_eq!(memory.table().times("connect"), 2);
    assert_eq!(memory.table().times("acquire"), 2);
    client.hears_nothing_for(HOLD).await;
    assert_eq!((client.outside.problem(), client.outside.is_flushed()), (None, true));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_is_called_less_and_less_often_and_asked_nothing_old() {
    let memory = Memory::new(false);
    memory.table().away = true;
    let mut client = Client::of(&memory, 1);
    client.outside.push(Message::Acquire(request(1)));
    sleep(Duration::from_secs(5)).await;
    let early = memory.table().times("connect");
    assert!((6..=25).contains(&early), "{early} attempts");
    sleep(HOLD).await;
    let later = memory.table().times("connect") - early;
    assert!((9..=21).contains(&later), "{later} attempts in ten seconds");
    let problem = client.outside.problem().expect("away");
    assert_eq!(problem, "the store memory of the lease orders: connection refused");
    assert!(client.outside.is_flushed(), "no one waits for a store that is away");
    memory.table().away = false;
    assert_eq!(client.next().await, Message::Available, "it is looked at first");
    client.hears_nothing_for(HOLD).await;
    assert_eq!(client.outside.problem(), None);
    let granted = Message::Granted(request(2), Token::new(1));
    assert_eq!(client.ask(Message::Acquire(request(2))).await, granted);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_cannot_do_it_is_a_problem_with_its_remedy() {
    let memory = Memory::new(false);
    let mut client = Client::of(&memory, 1);
    client.next().await;
    memory.table().unfit = true;
    client.outside.push(Message::Acquire(request(1)));
    sleep(Duration::from_secs(4)).await;
    let problem = client.outside.problem().expect("no permission");
    assert!(problem.ends_with("no permission; ask the DBA"), "{problem}");
    let asked = memory.table().times("acquire");
    assert!((5..=20).contains(&asked), "asked {asked} times, as often as the back-off lets it");
    memory.table().unfit = false;
    while client.next().await == Message::Available {}
    assert_eq!(client.outside.problem(), None);
}

/// What it would be granted later is over for the client when the answer arrives.
#[tokio::test(start_paused = true)]
async fn a_question_grows_old_from_when_it_was_sent() {
    let memory = Memory::new(false);
    memory.table().away = true;
    let client = Client::of(&memory, 1);
    client.outside.push(Message::Acquire(request(1)));
    sleep(HOLD - LIMIT).await;
    memory.table().unfit = true;
    memory.table().away = false;
    sleep(LIMIT + Duration::from_millis(100)).await;
    let asked = memory.table().times("acquire");
    assert!(asked > 0, "it is asked as soon as the store is there");
    sleep(HOLD / 2).await;
    assert_eq!(memory.table().times("acquire"), asked);
    let problem = client.outside.problem().expect("it was never answered");
    assert!(problem.ends_with("no permission; ask the DBA"), "{problem}");
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
    let problem = client.outside.problem().expect("no watch");
    assert!(problem.ends_with("no watch") && !client.outside.is_up(), "{problem}");
    client.outside.push(Message::Acquire(request(1)));
    let mut heard = client.next().await;
    while heard == Message::Available {
        heard = client.next().await;
    }
    assert_eq!(heard, Message::Granted(request(1), Token::new(1)));
    memory.table().deaf = false;
    sleep(2 * Backoff::LONGEST).await;
    assert!(client.outside.is_up());
    assert_eq!(client.outside.problem(), None);
}

/// As long as another has the lease and the store says nothing, it is asked for the lease once.
#[tokio::test(start_paused = true)]
async fn a_store_with_a_watch_gets_no_poll() {
    let memory = Memory::new(true);
    memory.set(Some(id(1)));
    let mut client = Client::of(&memory, 2);
    let refused = |number| Message::Refused(request(number), Some(id(1)));
    let asks = |number| Message::Renew(request(number), Token::default());
    assert_eq!(client.ask(asks(1)).await, refused(1));
    assert_eq!(client.ask(asks(2)).await, refused(2));
    assert_eq!(memory.table().asked, ["connect", "read"], "it was looked at");
    for number in 1..=6 {
        assert_eq!(client.ask(Message::Acquire(request(number))).await, refused(number));
        assert_eq!(client.ask(asks(number)).await, refused(number));
        advance(Duration::from_secs(2)).await;
    }
    assert_eq!(memory.table().asked, ["connect", "read", "acquire", "read"]);
    let before = Instant::now();
    memory.set(None);
    assert_eq!(client.next().await, Message::Available);
    assert_eq!(before.elapsed(), Duration::ZERO);
    let granted = Message::Granted(request(7), Token::new(2));
    assert_eq!(client.ask(Message::Acquire(request(7))).await, granted);
    // A holder's renewal always asks the store.
    for number in 8..=10 {
        let renewed = Message::Granted(request(number), Token::new(2));
        assert_eq!(client.ask(Message::Renew(request(number), Token::new(2))).await, renewed);
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
    let granted = Message::Granted(request(1), Token::new(2));
    assert_eq!(client.ask(Message::Acquire(request(1))).await, granted);
    assert_eq!(memory.table().times("acquire"), 1);
}

/// Both ask when it is free. The one that is refused asks no more.
#[tokio::test(start_paused = true)]
async fn one_that_was_refused_waits_for_the_store_to_speak() {
    let memory = Memory::new(true);
    let (mut one, mut two) = (Client::of(&memory, 1), Client::of(&memory, 2));
    one.next().await;
    two.next().await;
    assert!(matches!(one.ask(Message::Acquire(request(1))).await, Message::Granted(..)));
    for number in 1..=3 {
        let refused = Message::Refused(request(number), Some(id(1)));
        assert_eq!(two.ask(Message::Acquire(request(number))).await, refused);
    }
    assert!(memory.table().times("acquire") <= 2, "{:?}", memory.table().asked);
    one.outside.push(Message::Release(Token::new(1)));
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
