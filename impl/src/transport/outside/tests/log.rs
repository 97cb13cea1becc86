//! What the log says of a store: each change of how it is, also when there are many in a minute.

use std::fmt::{Debug, Write as _};

use tracing::field::{Field, Visit};
use tracing::subscriber::{DefaultGuard, set_default};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};

use super::*;

/// After this long a line is worth repeating.
const MINUTE: Duration = Duration::from_secs(60);

const SLOW: Duration = Duration::from_millis(812);

/// The lines of a thread that an operator sees. A clone is the same.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    /// Those of this test, until the guard is dropped.
    fn listen() -> (Self, DefaultGuard) {
        let lines = Self::default();
        crate::log::tests::listen_beside_others();
        let guard = set_default(tracing_subscriber::registry().with(lines.clone()));
        (lines, guard)
    }

    /// How many lines say this.
    fn with(&self, text: &str) -> usize {
        self.all().iter().filter(|line| line.contains(text)).count()
    }

    fn all(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().expect("no panic")
    }
}

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() <= Level::INFO {
            let mut message = Text::default();
            event.record(&mut message);
            self.all().push(message.0);
        }
    }
}

#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            write!(self.0, "{value:?}").expect("a text takes all");
        }
    }
}

fn renewal(number: u32) -> Message {
    Message::Renew(request(number), Token::new(1))
}

/// A renewal that is answered late, and one in time.
async fn is_late_once(memory: &Memory, client: &mut Client) {
    memory.table().slow = SLOW;
    client.ask(renewal(2)).await;
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
    sleep(2 * Backoff::LONGEST).await;
    assert_eq!(lines.with("connection refused"), 1, "{:?}", lines.all());
    sleep(2 * MINUTE).await;
    assert_eq!(lines.with("connection refused"), 1, "once for an outage");
}

/// A line that was written in this minute is not written again, and it is when that is over.
#[tokio::test(start_paused = true)]
async fn a_second_outage_in_a_minute_is_told_when_there_is_room() {
    let (lines, _guard) = Lines::listen();
    let memory = Memory::new(false);
    memory.table().away = true;
    let client = Client::of(&memory, 1);
    sleep(Duration::from_secs(5)).await;
    memory.table().away = false;
    sleep(2 * Backoff::LONGEST).await;
    assert_eq!((lines.with("connection refused"), client.outside.is_up()), (1, true));

    memory.table().away = true;
    memory.table().unfit = true;
    client.outside.push(Message::Acquire(request(1)));
    sleep(Duration::from_secs(5)).await;
    assert_eq!((lines.with("connection refused"), client.outside.is_up()), (1, false));
    sleep(MINUTE).await;
    assert_eq!(lines.with("connection refused"), 2, "{:?}", lines.all());
    sleep(2 * MINUTE).await;
    assert_eq!(lines.with("connection refused"), 2, "once for an outage");
}

#[tokio::test(start_paused = true)]
async fn the_last_line_on_late_answers_says_how_it_is() {
    let (lines, _guard) = Lines::listen();
    let memory = Memory::new(false);
    let mut client = Client::holder(&memory).await;
    let told = |lines: &Lines| (lines.with("it answers later"), lines.with("as it should again"));
    is_late_once(&memory, &mut client).await;
    assert_eq!(told(&lines), (1, 1));

    // From here it is always late.
    memory.table().slow = SLOW;
    for number in 4..=6 {
        client.ask(renewal(number)).await;
    }
    client.hears_nothing_for(Duration::from_millis(10)).await;
    assert_eq!(told(&lines), (1, 1), "there was such a line in this minute");
    sleep(MINUTE).await;
    client.ask(renewal(7)).await;
    client.hears_nothing_for(Duration::from_millis(10)).await;
    assert_eq!(told(&lines), (2, 1), "{:?}", lines.all());
}
