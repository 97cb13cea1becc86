//! What the log says of certificates that expire soon.

use std::time::{Duration, SystemTime};

use tokio::sync::watch::Receiver;

use crate::config::{Credentials, Expiry};
use crate::protocol::NodeId;

/// How long between two looks at the wall clock, at most: it can be set, and the time that a task
/// waits for does not go on while the machine sleeps.
const LOOK: Duration = Duration::from_secs(60 * 60);

/// Logs which certificates have expired or will soon: now, whenever they are replaced, and when one
/// comes nearer to its end. Returns when they can be replaced no more.
pub(super) async fn watch(node: NodeId, mut credentials: Receiver<Credentials>) {
    loop {
        let expiries = credentials.borrow_and_update().expiries().to_vec();
        let mut seen = SystemTime::now();
        expiries.iter().for_each(|expiry| log(node, expiry, seen));
        loop {
            tokio::select! {
                changed = credentials.changed() => match changed {
                    Ok(()) => break,
                    Err(_) => return,
                },
                () = tokio::time::sleep(until_next(&expiries, seen)) => {}
            }
            let now = SystemTime::now();
            let news = expiries.iter().filter(|expiry| expiry.is_news(seen, now));
            news.for_each(|expiry| log(node, expiry, now));
            seen = now;
        }
    }
}

/// How long to wait before there may be more to be said.
fn until_next(expiries: &[Expiry], now: SystemTime) -> Duration {
    let next = expiries.iter().filter_map(|expiry| expiry.next(now)).min();
    let left = next.and_then(|next| next.duration_since(now).ok());
    left.map_or(LOOK, |left| LOOK.min(left + Duration::from_millis(1)))
}

/// Logs what there is to be said of a certificate.
fn log(node: NodeId, expiry: &Expiry, now: SystemTime) {
    let Some(text) = expiry.warning(now) else { return };
    let (node, certificate) = (node.get(), expiry.which.name());
    let (file, days_left) = (expiry.file.display(), expiry.days_left(now));
    if expiry.is_over(now) {
        tracing::error!(node, certificate, %file, days_left, "{text}");
    } else {
        tracing::warn!(node, certificate, %file, days_left, "{text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CertificateUse;

    #[test]
    fn it_is_looked_at_when_there_is_news_and_every_hour() {
        let now = SystemTime::now();
        let expiry = |left| Expiry {
            which: CertificateUse::Http,
            file: "http.pem".into(),
            number: 1,
            not_after: now + left,
        };
        let wait = |lefts: &[Duration]| {
            let expiries: Vec<_> = lefts.iter().copied().map(expiry).collect();
            until_next(&expiries, now)
        };
        let (second, day) = (Duration::from_secs(1), LOOK * 24);
        let moment = Duration::from_millis(1);
        assert_eq!(wait(&[]), LOOK);
        assert_eq!(wait(&[day * 90]), LOOK);
        assert_eq!(wait(&[day * 90, day * 7 + second * 5]), second * 5 + moment);
        assert_eq!(wait(&[second * 3, day * 7 + second * 5]), second * 3 + moment);
        assert_eq!(wait(&[Duration::ZERO]), moment);
    }
}
