//! A lease in two keys of etcd, by its HTTP.
//!
//! The one key is the lease, `HOLDER TOKEN LASTS_MS`. The key is attached to a lease of etcd's own,
//! with which it vanishes. The other key is the newest token, and stays. A transaction writes both,
//! and compares the revisions of both.

mod gateway;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bellwether_core::protocol::lease::Token;
use bellwether_core::store::{
    Answer, Asking, Claim, Connect, Holder, LeaseRecord, LeaseSettings, LeaseStore, StoreError,
    StoreResult,
};
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::timeout;
use zeroize::Zeroizing;

use self::gateway::{LeaseId, News, Pair};
use crate::address::Files;
use crate::grant::{self, Grant};
use crate::http_client::{Client, Lines, Reply, Server};
use crate::secret;
use crate::tls::Certificates;
use crate::values::{self, damaged, number, one_line, unfit, whole_seconds};

/// The number of times that a client tries to write a key that changes under its hands.
const ATTEMPTS: usize = 3;

const FORM: &str = "write etcd://HOST:PORT, or etcds://HOST:PORT for TLS; further servers follow \
                    after commas, and a user stands before: etcd://USER@HOST:PORT";

/// The way to etcd. With several servers, each connection is to the next one.
#[derive(Debug)]
pub struct Etcd {
    servers: Vec<Server>,
    account: Option<Account>,
    next: AtomicUsize,
    /// The faulty version of which the log has the last warning.
    warned: Mutex<String>,
}

/// A user, and the file with the password.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Account {
    user: String,
    password: PathBuf,
}

impl Etcd {
    /// Parses `etcd://[USER@]HOST:PORT[,HOST:PORT]...`, or `etcds://` for TLS.
    ///
    /// # Errors
    ///
    /// The mistake in the address or in the choice of files.
    pub fn parse(address: &str, files: &Files) -> Result<Self, String> {
        let (scheme, rest) = address.split_once("://").ok_or(FORM)?;
        let certificates = match scheme {
            "etcds" => Some(Certificates::of(files, None)?),
            "etcd" => None,
            _ => return Err(FORM.to_owned()),
        };
        let (user, servers) = match rest.rsplit_once('@') {
            Some((user, servers)) => (Some(user), servers),
            None => (None, rest),
        };
        let servers = servers.strip_suffix('/').unwrap_or(servers).split(',');
        let servers: Vec<_> = servers
            .map(|server| Server::parse(server, certificates.clone()))
            .collect::<Result<_, _>>()?;
        let account = match (user, files.password.clone()) {
            (None, None) => None,
            (Some(user), _) if user.is_empty() || user.contains(':') => {
                return Err(format!("a password stands in a file, and not here; {FORM}"));
            }
            (Some(user), Some(password)) => Some(Account { user: user.to_owned(), password }),
            (Some(_), None) => {
                return Err("the user of etcd needs a password: name its file by \
                            `store_password_file`"
                    .to_owned());
            }
            (None, Some(_)) => {
                return Err(
                    "the password is that of a user: write etcd://USER@HOST:PORT".to_owned()
                );
            }
        };
        let exposed = servers.iter().any(Server::is_exposed);
        files.suit("etcd", "etcds", scheme == "etcds", exposed)?;
        Ok(Self { servers, account, next: AtomicUsize::new(0), warned: Mutex::default() })
    }

    /// Connects to the next server that can be reached. A server that is cut off leaves half of the
    /// time for the next: a smaller share may be too short for a handshake. The servers that had no
    /// turn are the first for the next connection.
    async fn reach(&self, limit: Duration) -> StoreResult<(Server, Client)> {
        let share = if self.servers.len() > 1 { limit / 2 } else { limit };
        let mut away = Vec::new();
        for _ in &self.servers {
            let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.servers.len();
            let server = self.servers[turn].clone();
            let connected = timeout(share, Client::connect(&server, limit)).await;
            match connected {
                Ok(Ok(client)) => return Ok((server, client)),
                Ok(Err(StoreError::Unreachable(problem))) => away.push(problem),
                Ok(Err(error @ StoreError::Misconfigured { .. })) => return Err(error),
                Err(_) => away.push(format!("{server}: no connection in time")),
            }
        }
        Err(StoreError::Unreachable(away.join("; ")))
    }

    /// Writes a warning into the log if the server has a version with a known fault, unless the last
    /// warning was about that version.
    async fn warn(&self, server: &Server, client: &mut Client) {
        // A proxy before the server may have no answer to this question.
        let Ok(reply) = client.ask(Method::GET, "/version", None).await else { return };
        let version = one_line(reply.body["etcdserver"].as_str().unwrap_or_default());
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if is_faulty(&version) && *warned != version {
            tracing::warn!(
                %server, %version,
                "an old leader of this version of etcd may end a lease that was renewed: use 3.4.31, \
                 3.5.13 or later (https://github.com/etcd-io/etcd/issues/15247)"
            );
            *warned = version;
        }
    }
}

/// Returns whether an old leader of this version of etcd ends leases that were renewed with the new
/// leader: <https://github.com/etcd-io/etcd/pull/16822> and its backports.
fn is_faulty(version: &str) -> bool {
    let numbers = version.split(['.', '-', '+']).map_while(|part| part.parse::<u32>().ok());
    let numbers: Vec<_> = numbers.collect();
    match numbers[..] {
        [3, 4, patch, ..] => patch < 31,
        [3, 5, patch, ..] => patch < 13,
        _ => false,
    }
}

impl Connect for Etcd {
    fn connect<'a>(&'a self, settings: &'a LeaseSettings) -> Asking<'a, Box<dyn LeaseStore>> {
        Box::pin(async move {
            let (server, mut client) = self.reach(settings.limit).await?;
            self.warn(&server, &mut client).await;
            let names = keys(settings);
            let mut connection = Connection {
                client,
                server,
                credential: None,
                limit: settings.limit,
                keys: names.each_ref().map(|name| gateway::coded(name)),
                names,
                ttl: whole_seconds(settings.ttl),
                attached: None,
                known: None,
                watch: None,
            };
            if let Some(account) = &self.account {
                connection.log_in(account).await?;
            }
            Ok(Box::new(connection) as Box<dyn LeaseStore>)
        })
    }

    fn setup(&self, settings: &LeaseSettings) -> String {
        let names = keys(settings);
        format!(
            "etcd needs no preparation. The keys, once a node has asked for the lease:\n\
             {}  HOLDER TOKEN LASTS_MS, while a node has the lease\n\
             {}  the newest token\n\
             Where users have roles, that of this user needs:\n\
             {}\n",
            names[0],
            names[1],
            permissions(&names).join("\n")
        )
    }

    fn warning(&self) -> Option<&'static str> {
        None
    }
}

/// Returns the key of the lease and that of the token.
fn keys(settings: &LeaseSettings) -> [String; 2] {
    ["bellwether", "bellwether-token"].map(|start| format!("{start}/{}", settings.name))
}

/// Returns the commands that permit a user to use the keys.
fn permissions(names: &[String; 2]) -> [String; 2] {
    names.each_ref().map(|name| format!("etcdctl role grant-permission ROLE readwrite {name}"))
}

/// The keys, as they stand in etcd.
struct Kept {
    /// The grant in the first key, and the lease of etcd's to which the key is attached.
    held: Option<(Grant, LeaseId)>,
    /// The token in the second key.
    token: Token,
    /// The revisions at which the keys were written; 0 for a key that is not there.
    revisions: [u64; 2],
}

impl Kept {
    fn of([held, token]: [Option<Pair>; 2]) -> StoreResult<Self> {
        let revisions = [&held, &token].map(|pair| pair.as_ref().map_or(0, |pair| pair.revision));
        let grant = |pair: Pair| Grant::parse(&pair.value).map(|grant| (grant, pair.lease));
        let held = held.map(grant).transpose()?;
        let token = grant::token(token.as_ref().map(|pair| pair.value.as_str()))?;
        Ok(Self { held, token, revisions })
    }

    /// Returns the lease of etcd's, if this is the grant.
    fn of_grant(&self, holder: &Holder, token: Token) -> Option<LeaseId> {
        let (grant, lease) = self.held.as_ref()?;
        (grant.holder == *holder && grant.token == token).then_some(*lease)
    }

    /// Returns the name of the first key as it was written, for claims that find it overdue.
    fn version(&self) -> String {
        self.revisions[0].to_string()
    }

    fn is_free_for(&self, claim: &Claim<'_>) -> bool {
        let is_own = |(grant, _): &(Grant, LeaseId)| grant.holder == *claim.holder;
        let is_overdue = claim.overdue == Some(self.version().as_str());
        let is_free = is_overdue || self.held.as_ref().is_none_or(is_own);
        is_free && (self.newest() >= claim.seen || claim.waits)
    }

    /// Returns the higher one of the tokens in the two keys.
    fn newest(&self) -> Token {
        let held = self.held.as_ref().map(|(grant, _)| grant.token);
        self.token.max(held.unwrap_or_default())
    }

    /// Returns a token above all that the keys and the claim know.
    fn next(&self, claim: &Claim<'_>) -> StoreResult<Token> {
        match number(self.newest().max(claim.seen)).checked_add(1) {
            Some(next) => values::token(next),
            None => Err(damaged("no token is higher than the newest one")),
        }
    }
}

/// A connection to a server of etcd.
struct Connection {
    client: Client,
    server: Server,
    /// The credential that etcd has given for the password.
    credential: Option<Zeroizing<String>>,
    limit: Duration,
    /// The keys as text.
    names: [String; 2],
    /// The keys as etcd wants them.
    keys: [String; 2],
    /// The time for which etcd is to keep the lease, in seconds.
    ttl: u64,
    /// The token of the newest grant, and the lease of etcd's to which its key is attached.
    attached: Option<(Token, LeaseId)>,
    /// The newest revision of which the caller has been told how the first key is.
    known: Option<u64>,
    watch: Option<Lines>,
}

impl Connection {
    async fn log_in(&mut self, account: &Account) -> StoreResult<()> {
        let password = secret::password(&account.password)?;
        let body = json!({ "name": account.user, "password": password.as_str() });
        let answer = self.call("/v3/auth/authenticate", &body).await?;
        let Some(credential) = answer["token"].as_str() else {
            return Err(self.client.away(&"no token for the password"));
        };
        self.client.authorize(credential)?;
        self.credential = Some(Zeroizing::new(credential.to_owned()));
        Ok(())
    }

    async fn call(&mut self, path: &str, body: &Value) -> StoreResult<Value> {
        let reply = self.client.ask(Method::POST, path, Some(body)).await?;
        if reply.status.is_success() {
            return Ok(reply.body);
        }
        Err(self.refusal(&reply))
    }

    /// Reads the answer to a question about the keys.
    fn learn<T>(&mut self, answer: &Value, parsed: Result<T, String>) -> StoreResult<T> {
        let read = parsed.and_then(|value| Ok((value, gateway::header(answer)?)));
        let (value, revision) = read.map_err(|problem| self.client.away(&problem))?;
        self.known = self.known.max(Some(revision));
        Ok(value)
    }

    async fn kept(&mut self) -> StoreResult<Kept> {
        let answer = self.call("/v3/kv/txn", &gateway::read(&self.keys)).await?;
        Kept::of(self.learn(&answer, gateway::pairs(&answer))?)
    }

    /// Makes a lease of etcd's own, and returns for how many milliseconds it lasts.
    async fn grant(&mut self) -> StoreResult<(LeaseId, i64)> {
        let answer = self.call("/v3/lease/grant", &gateway::grant(self.ttl)).await?;
        let lease = gateway::number(&answer, "ID");
        let lease = lease.and_then(|id| Ok((id, gateway::milliseconds(&answer, "TTL")?)));
        match lease.map_err(|problem| self.client.away(&problem))? {
            (id, lasts) if id != 0 && self.lasts(lasts) => Ok((id, lasts)),
            _ => Err(self.client.away(&"no lease of the time that was asked for")),
        }
    }

    /// Returns whether these milliseconds are as long as a grant must last.
    fn lasts(&self, milliseconds: i64) -> bool {
        u64::try_from(milliseconds / 1_000).is_ok_and(|seconds| seconds >= self.ttl)
    }

    /// Ends a lease of etcd's own. The lease ends without that, too, only later.
    async fn revoke(&mut self, lease: LeaseId) {
        if let Err(error) = self.call("/v3/lease/revoke", &gateway::lease(lease)).await {
            tracing::debug!(%error, "a lease of etcd is left to expire");
        }
    }

    /// Extends a lease of etcd's own, and returns for how many milliseconds; 0 if there is none.
    async fn keep_alive(&mut self, lease: LeaseId) -> StoreResult<i64> {
        let answer = self.call("/v3/lease/keepalive", &gateway::lease(lease)).await?;
        let lasts = gateway::result(&answer).and_then(|it| gateway::milliseconds(it, "TTL"));
        lasts.map_err(|problem| self.client.away(&problem))
    }

    async fn take(&mut self, claim: Claim<'_>) -> StoreResult<Answer> {
        // Most claims are refused: for that, etcd has to read only.
        let mut kept = self.kept().await?;
        let mut fresh = None;
        for _ in 0..ATTEMPTS {
            if !kept.is_free_for(&claim) {
                break;
            }
            let (lease, lasts) = match fresh {
                Some(fresh) => fresh,
                None => self.grant().await?,
            };
            fresh = Some((lease, lasts));
            let grant = Grant { holder: claim.holder.clone(), token: kept.next(&claim)?, lasts };
            let put = gateway::put(&self.keys, &grant, lease, kept.revisions);
            let answer = self.call("/v3/kv/txn", &put).await?;
            if gateway::succeeded(&answer) {
                self.learn(&answer, Ok(()))?;
                // The key is attached to the new lease now, and does not end with the old one.
                if let Some((_, old)) = self.attached.replace((grant.token, lease)) {
                    self.revoke(old).await;
                }
                return Ok(Answer::Granted(grant.token));
            }
            kept = Kept::of(self.learn(&answer, gateway::pairs(&answer))?)?;
        }
        if let Some((unused, _)) = fresh {
            self.revoke(unused).await;
        }
        self.refused(kept).await
    }

    /// Extends etcd's lease first, and looks at the key after that. If the key still is what was
    /// granted *after* the extension, then it was so at the extension too, and it vanishes no
    /// earlier than the time to live after it; the client counts from before it asked. The other
    /// way round, the key could have been deleted and written by another in between, and a lease
    /// would be extended that keeps nothing.
    async fn extend(&mut self, holder: &Holder, token: Token) -> StoreResult<Answer> {
        let lease = match self.attached {
            Some((granted, lease)) if granted == token => lease,
            // On a connection that did not acquire, the key says to which lease it is attached.
            _ => {
                let kept = self.kept().await?;
                match kept.of_grant(holder, token) {
                    Some(lease) => lease,
                    None => return self.refused(kept).await,
                }
            }
        };
        let lasts = self.keep_alive(lease).await?;
        let kept = self.kept().await?;
        // The others doubt a key that is attached to another lease than its value says, and may
        // take the lease from its holder.
        let is_whole = kept.held.as_ref().is_some_and(|(grant, _)| grant.lasts == lasts);
        if kept.of_grant(holder, token) != Some(lease) || !is_whole || !self.lasts(lasts) {
            return self.refused(kept).await;
        }
        self.attached = Some((token, lease));
        Ok(Answer::Granted(token))
    }

    async fn give_back(&mut self, holder: &Holder, token: Token) -> StoreResult<()> {
        let kept = self.kept().await?;
        if kept.of_grant(holder, token).is_some() {
            let delete = gateway::delete(&self.keys[0], kept.revisions[0]);
            let answer = self.call("/v3/kv/txn", &delete).await?;
            self.learn(&answer, Ok(()))?;
        }
        if let Some((_, lease)) = self.attached.take_if(|(granted, _)| *granted == token) {
            self.revoke(lease).await;
        }
        Ok(())
    }

    async fn refused(&mut self, kept: Kept) -> StoreResult<Answer> {
        self.record(kept).await.map(Answer::Refused)
    }

    async fn record(&mut self, kept: Kept) -> StoreResult<LeaseRecord> {
        let version = kept.version();
        let Some((Grant { holder, token, lasts }, lease)) = kept.held else {
            return Ok(LeaseRecord { token: kept.token, ..LeaseRecord::default() });
        };
        let answer = self.call("/v3/lease/timetolive", &gateway::lease(lease)).await?;
        let left = gateway::milliseconds(&answer, "TTL");
        let read = left.and_then(|left| Ok((left, gateway::milliseconds(&answer, "grantedTTL")?)));
        let (left, granted) = read.map_err(|problem| self.client.away(&problem))?;
        // Without a lease nothing was granted, and etcd does not end the key. A new leader of etcd
        // lets each lease begin anew, so what is left says nothing.
        let ends = (1..=lasts).contains(&granted);
        Ok(LeaseRecord {
            holder: Some(holder),
            token,
            left: u64::try_from(left).ok().map(Duration::from_millis),
            doubt: (!ends).then_some(version),
        })
    }

    /// Waits for a change of the key after the revision that the caller knows.
    ///
    /// The watch has a connection of its own: its answer goes on, and a question that is given up in
    /// the middle would end the connection for the next.
    async fn wait(&mut self) -> StoreResult<()> {
        loop {
            let Some(watch) = &mut self.watch else {
                self.watch = Some(self.follow().await?);
                continue;
            };
            let Some(message) = watch.next().await? else {
                return Err(watch.away(&"the watch has ended"));
            };
            let revision = match gateway::news(&message) {
                Ok(News::Changed(revision)) => revision,
                // Before the watch, anything may have happened of which the caller knows nothing.
                Ok(News::Created(revision)) if self.known.is_none() => revision,
                Ok(News::Created(_) | News::None) => continue,
                Ok(News::Compacted) => {
                    (self.watch, self.known) = (None, None);
                    continue;
                }
                Ok(News::Cancelled(reason)) => {
                    let problem = format!("the watch was refused: {}", one_line(&reason));
                    return Err(watch.away(&problem));
                }
                Err(problem) => return Err(watch.away(&one_line(&problem))),
            };
            // Otherwise the caller has had an answer that is as new.
            if self.known.is_none_or(|known| revision > known) {
                self.known = Some(revision);
                return Ok(());
            }
        }
    }

    /// Opens a watch that begins after the revision that is known, or now.
    async fn follow(&mut self) -> StoreResult<Lines> {
        let (server, limit) = (self.server.clone(), self.limit);
        let credential = self.credential.clone();
        let body = gateway::watch(&self.keys[0], self.known);
        let opened = timeout(limit, async move {
            let mut client = Client::connect(&server, limit).await?;
            if let Some(credential) = &credential {
                client.authorize(credential)?;
            }
            client.follow(Method::POST, "/v3/watch", Some(&body)).await
        });
        match opened.await {
            Ok(opened) => opened?.map_err(|reply| self.refusal(&reply)),
            Err(_) => Err(self.client.away(&"no answer in time")),
        }
    }

    /// Returns the error that a refusal of etcd is.
    fn refusal(&self, reply: &Reply) -> StoreError {
        let said = reply.complaint();
        let account =
            "write etcd://USER@HOST:PORT in the address, and name the file with the password";
        let (server, names) = (&self.server, self.names.join(" and "));
        let problem = format!("{server}: {said}");
        match reply.status {
            StatusCode::FORBIDDEN => unfit(
                format!("{server}: the user may not use the keys {names}: {said}"),
                permissions(&self.names).join("; "),
            ),
            StatusCode::NOT_FOUND if reply.body.is_null() => {
                unfit(format!("{server}: there is no /v3: {said}"), "use etcd 3.4 or later")
            }
            _ if said.contains("user name is empty") => unfit(problem, account),
            _ if said.contains("authentication failed") => {
                unfit(problem, "correct the user in the address, or the file with the password")
            }
            _ if said.contains("authentication is not enabled") => {
                unfit(problem, "leave out the user and `store_password_file`")
            }
            // Among these: a token that is too old. With a new connection there is a new one.
            _ => StoreError::Unreachable(problem),
        }
    }
}

impl LeaseStore for Connection {
    fn acquire<'a>(&'a mut self, claim: Claim<'a>) -> Asking<'a, Answer> {
        Box::pin(self.take(claim))
    }

    fn renew<'a>(&'a mut self, holder: &'a Holder, token: Token) -> Asking<'a, Answer> {
        Box::pin(self.extend(holder, token))
    }

    fn release<'a>(&'a mut self, holder: &'a Holder, token: Token) -> Asking<'a, ()> {
        Box::pin(self.give_back(holder, token))
    }

    fn read(&mut self) -> Asking<'_, LeaseRecord> {
        Box::pin(async move {
            let kept = self.kept().await?;
            self.record(kept).await
        })
    }

    /// Makes nothing. If the keys can be read, then the server is there, and lets this user in.
    fn init(&mut self) -> Asking<'_, ()> {
        Box::pin(async move { self.kept().await.map(drop) })
    }

    fn watches(&self) -> bool {
        true
    }

    fn changed(&mut self) -> Asking<'_, ()> {
        Box::pin(self.wait())
    }
}
