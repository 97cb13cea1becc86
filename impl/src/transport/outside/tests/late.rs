//! A store that answers each question, and later than the client asks the next one.

use super::*;

const SLOW: Duration = Duration::from_millis(812);

fn renewal(number: u32) -> Message {
    Message::Renew(request(number), Token::new(1))
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_is_answered_after_the_next_was_sent_is_a_problem_until_one_is_in_time() {
    let memory = Memory::new(false);
    let mut client = Client::holder(&memory).await;
    memory.table().slow = SLOW;
    let renewed = |number| Message::Granted(request(number), Token::new(1));
    assert_eq!(client.ask(renewal(2)).await, renewed(2), "it arrives nevertheless");
    let problem = client.outside.problem().expect("it is late");
    let told = "the store memory of the lease orders: it answers later than `lease.renew` (took \
                812ms, `lease.renew` is 500ms)";
    assert!(problem.starts_with(told), "{problem}");
    assert!(client.outside.is_up(), "it answers");

    // A renewal waits for the answer to the one before.
    client.outside.push(renewal(3));
    sleep(RENEW).await;
    client.outside.push(renewal(4));
    assert_eq!(client.next().await, renewed(3));
    assert_eq!(client.next().await, renewed(4));
    let problem = client.outside.problem().expect("it is later");
    assert!(problem.contains("(took 1s 124ms,"), "{problem}");

    memory.table().slow = RENEW / 2;
    assert_eq!(client.ask(renewal(5)).await, renewed(5));
    assert_eq!(client.outside.problem(), None);
    assert_eq!(memory.table().times("connect"), 1);
}

/// A client that has no lease waits for the answer.
#[tokio::test(start_paused = true)]
async fn a_question_that_is_no_renewal_may_take_longer() {
    let memory = Memory::new(false);
    memory.table().slow = SLOW;
    let mut client = Client::holder(&memory).await;
    assert_eq!(client.outside.problem(), None);
    client.ask(renewal(2)).await;
    assert!(client.outside.problem().is_some());
    client.ask(Message::Acquire(request(3))).await;
    assert!(client.outside.problem().is_some(), "the store is as slow as before");
    memory.table().slow = Duration::ZERO;
    client.ask(Message::Acquire(request(4))).await;
    assert_eq!(client.outside.problem(), None);
}

/// The store that was away is another problem, which was told.
#[tokio::test(start_paused = true)]
async fn a_renewal_that_has_waited_for_a_connection_is_not_late() {
    let memory = Memory::new(false);
    let mut client = Client::holder(&memory).await;
    memory.table().lost = 1;
    let start = Instant::now();
    assert_eq!(client.ask(renewal(2)).await, Message::Granted(request(2), Token::new(1)));
    assert!(start.elapsed() > RENEW);
    client.hears_nothing_for(RENEW).await;
    assert_eq!(client.outside.problem(), None);
}

/// Another client has taken the lease over, and the store tells of that.
#[tokio::test(start_paused = true)]
async fn a_client_that_follows_has_no_problem_with_renewals() {
    let memory = Memory::new(true);
    let mut client = Client::holder(&memory).await;
    memory.table().slow = SLOW;
    client.ask(renewal(2)).await;
    assert!(client.outside.problem().is_some());
    memory.table().slow = Duration::ZERO;
    memory.set(Some(id(2)));
    client.hears_nothing_for(RENEW).await;
    assert_eq!(client.outside.problem(), None);
}

/// Another client has taken the lease over when the renewal is answered.
#[tokio::test(start_paused = true)]
async fn a_renewal_that_is_refused_late_is_no_problem_of_the_client_that_follows_then() {
    for watches in [true, false] {
        let memory = Memory::new(watches);
        let mut client = Client::holder(&memory).await;
        memory.table().slow = SLOW;
        client.ask(renewal(2)).await;
        assert!(client.outside.problem().is_some());
        // Not told of: the renewal comes first.
        memory.table().grant(id(2));
        assert_eq!(client.ask(renewal(3)).await, Message::Refused(request(3), Some(id(2))));
        client.hears_nothing_for(RENEW).await;
        assert_eq!(client.outside.problem(), None, "{watches}");
    }
}

/// No other client wants the lease, and this one may not.
#[tokio::test(start_paused = true)]
async fn a_client_that_has_given_its_lease_back_has_no_problem_with_renewals() {
    let memory = Memory::new(true);
    let mut client = Client::holder(&memory).await;
    memory.table().slow = SLOW;
    client.ask(renewal(2)).await;
    assert!(client.outside.problem().is_some());
    client.outside.push(Message::Release(Token::new(1)));
    assert_eq!(client.next().await, Message::Available);
    assert_eq!(client.outside.problem(), None);
}

/// It has run out in the store, and the client has given back nothing.
#[tokio::test(start_paused = true)]
async fn a_client_that_may_not_lead_has_no_problem_with_renewals() {
    let memory = Memory::new(false);
    let mut client = Client::holder(&memory).await;
    memory.table().slow = SLOW;
    client.ask(renewal(2)).await;
    assert!(client.outside.problem().is_some());
    memory.set(None);
    let asks = Message::Renew(request(3), Token::default());
    assert_eq!(client.ask(asks).await, Message::Refused(request(3), None));
    client.hears_nothing_for(RENEW).await;
    assert_eq!(client.outside.problem(), None);
}
