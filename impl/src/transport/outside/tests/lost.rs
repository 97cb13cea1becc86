//! A store that answers each look, and no question: another client has locked what these write.

use super::*;

const PROBLEM: &str = "the store memory of the lease orders: no answer within 2s";

/// For longer than a question is worth asking.
#[tokio::test(start_paused = true)]
async fn a_look_does_not_end_the_problem_of_a_question_that_was_lost() {
    let memory = Memory::new(false);
    let mut client = Client::of(&memory, 1);
    assert_eq!(client.next().await, Message::Available);
    memory.table().locked = true;
    client.outside.push(Message::Acquire(request(1)));
    sleep(LIMIT + Duration::from_millis(10)).await;
    for _ in 0..20 {
        let problem = client.outside.problem().expect("no question was answered");
        assert!(problem.starts_with(PROBLEM) && !client.outside.is_up(), "{problem}");
        sleep(HOLD / 10).await;
    }
    let asked = memory.table().times("acquire");
    assert!((3..=8).contains(&asked), "asked {asked} times, and not when it was too old");
    assert!(memory.table().times("read") > asked, "it was looked at with each connection");

    // What the store is not asked says nothing of it.
    client.outside.push(Message::Write(Token::new(1)));
    sleep(RENEW).await;
    assert!(client.outside.problem().is_some());

    memory.table().locked = false;
    client.outside.push(Message::Acquire(request(2)));
    assert!(!client.outside.is_flushed(), "there is a session, so it is waited for");
    let mut heard = client.next().await;
    while heard == Message::Available {
        heard = client.next().await;
    }
    assert_eq!(heard, Message::Granted(request(2), Token::new(1)));
    assert_eq!((client.outside.problem(), client.outside.is_up()), (None, true));
}

/// No question was under way when it failed, so there is none to wait for.
#[tokio::test(start_paused = true)]
async fn a_session_that_fails_without_a_question_is_whole_again_after_a_look() {
    let memory = Memory::new(true);
    let mut client = Client::of(&memory, 1);
    assert_eq!(client.next().await, Message::Available);
    memory.table().deaf = true;
    memory.set(None);
    sleep(LIMIT).await;
    assert!(client.outside.problem().is_some());
    memory.table().deaf = false;
    sleep(2 * Backoff::LONGEST).await;
    assert_eq!((client.outside.problem(), client.outside.is_up()), (None, true));
}

/// It may read, and that is not what a client needs.
#[tokio::test(start_paused = true)]
async fn what_is_known_of_the_holder_does_not_end_the_problem_of_a_question_that_was_lost() {
    let memory = Memory::new(true);
    memory.set(Some(id(1)));
    memory.table().unfit = true;
    let client = Client::of(&memory, 2);
    for number in 1..=10 {
        client.outside.push(Message::Acquire(request(number)));
        sleep(RENEW).await;
        let problem = client.outside.problem().expect("it can never lead");
        assert!(problem.ends_with("no permission; ask the DBA"), "{problem}");
        assert!(!client.outside.is_up());
    }
    let asked = memory.table().times("acquire");
    assert!((3..=20).contains(&asked), "asked {asked} times, as often as the back-off lets it");
    memory.table().unfit = false;
    sleep(2 * Backoff::LONGEST).await;
    assert_eq!((client.outside.problem(), client.outside.is_up()), (None, true));
    assert!(memory.table().times("acquire") > asked);
}

/// There is no answer to it, and it was done.
#[tokio::test(start_paused = true)]
async fn a_lease_that_was_given_back_is_a_question_that_was_answered() {
    let memory = Memory::new(true);
    let mut client = Client::holder(&memory).await;
    memory.table().unfit = true;
    client.outside.push(Message::Release(Token::new(1)));
    sleep(RENEW).await;
    let problem = client.outside.problem().expect("it was lost");
    assert!(problem.ends_with("no permission; ask the DBA"), "{problem}");
    memory.table().unfit = false;
    assert_eq!(client.next().await, Message::Available);
    assert_eq!((client.outside.problem(), client.outside.is_up()), (None, true));
}
