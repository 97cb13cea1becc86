//! A lease in etcd, by its HTTP: a key that has the holder, attached to a lease of etcd's own, with
//! which it vanishes.
//!
//! The token is the revision of the store at which the key was written. That grows with each write
//! of any key, and does not start again when a key is deleted.

mod gateway;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::timeout;
use zeroize::Zeroizing;

use self::gateway::{Kept, LeaseId, News};
use super::address::{Certificates, Files};
use super::http_client::{Client, Lines, Reply, Server, one_line, whole_seconds};
use super::{Answer, Connect, LeaseStore, Record, Settings, StoreError, StoreResult, secret};
use crate::protocol::NodeId;
use crate::protocol::lease::Token;

/// What the keys begin with.
const PREFIX: &str = "bellwether/";

/// How often a client tries to write a key that changes under its hands.
const ATTEMPTS: usize = 3;

const FORM: &str = "write etcd://HOST:PORT, or etcds://HOST:PORT for TLS; further servers follow \
                    after commas, and a user stands before: etcd://USER@HOST:PORT";

/// The way to etcd. With several servers, each connection is to the next one.
#[derive(Debug)]
pub struct Etcd {
    servers: Vec<Server>,
    account: Option<Account>,
    next: AtomicUsize,
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
    /// What is wrong with the address or with the files that go with it.
    pub fn parse(address: &str, files: &Files) -> Result<Self, String> {
        let (scheme, rest) = address.split_once("://").ok_or(FORM)?;
        let any = files.ca.is_some() || files.certificate.is_some() || files.key.is_some();
        let certificates = match scheme {
            "etcds" => Some(Certificates::of(files, None)?),
            "etcd" if any => {
                return Err("certificates are for TLS: write `etcds://` in the address".to_owned());
            }
            "etcd" => None,
            _ => return Err(FORM.to_owned()),
        };
        if files.token.is_some() {
            return Err("etcd takes a user and a password, and no token: leave out \
                        `store_token_file`"
                .to_owned());
        }
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
        if account.is_some() && servers.iter().any(Server::is_exposed) {
            return Err("the password would go over a network for all to read: write \
                        `etcds://` and name `store_ca_file`, or go through a tunnel that begins at \
                        localhost"
                .to_owned());
        }
        Ok(Self { servers, account, next: AtomicUsize::new(0) })
    }

    /// Connects to the next server that can be reached. One that is cut off leaves half of the time
    /// for the next: a smaller share may be too short for a handshake. Those that had no turn are
    /// the first for the next connection.
    async fn reach(&self, limit: Duration) -> StoreResult<(Server, Client)> {
        let share = if self.servers.len() > 1 { limit / 2 } else { limit };
        let mut away = Vec::new();
        for _ in &self.servers {
            let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.servers.len();
            let server = self.servers[turn].clone();
            let connected = timeout(share, Client::connect(&server, limit)).await;
            match connected {
                Ok(Ok(client)) => return Ok((server, client)),
                Ok(Err(StoreError::Away(problem))) => away.push(problem),
                Ok(Err(error @ StoreError::Unfit { .. })) => return Err(error),
                Err(_) => away.push(format!("{server}: no connection in time")),
            }
        }
        Err(StoreError::Away(away.join("; ")))
    }
}

impl Connect for Etcd {
    fn connect<'a>(
        &'a self,
        settings: &'a Settings,
    ) -> BoxFuture<'a, StoreResult<Box<dyn LeaseStore>>> {
        Box::pin(async move {
            let (server, client) = self.reach(settings.limit).await?;
            let mut connection = Connection {
                client,
                server,
                credential: None,
                limit: settings.limit,
                name: key(settings),
                key: gateway::coded(key(settings).as_bytes()),
                ttl: whole_seconds(settings.keep),
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

    fn setup(&self, settings: &Settings) -> String {
        format!(
            "etcd needs no preparation: the key {key} is there while a node has the lease.\n\
             Where users have roles, that of this user needs:\n\
             etcdctl role grant-permission ROLE readwrite {key}\n",
            key = key(settings)
        )
    }

    fn warning(&self) -> Option<&'static str> {
        None
    }
}

/// The key of a lease.
fn key(settings: &Settings) -> String {
    format!("{PREFIX}{}", settings.name)
}

/// A connection to a server of etcd.
struct Connection {
    client: Client,
    server: Server,
    /// What etcd has given for the password.
    credential: Option<Zeroizing<String>>,
    limit: Duration,
    /// The key as text, for errors.
    name: String,
    /// The key as etcd wants it.
    key: String,
    /// How long etcd is to keep the key, in seconds.
    ttl: u64,
    /// The token of the newest grant, and the lease to which its key is attached.
    attached: Option<(Token, LeaseId)>,
    /// The newest revision of which the caller has been told how the key is.
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

    /// Reads the answer to a question about the key.
    fn learn<T>(&mut self, answer: &Value, parsed: Result<T, String>) -> StoreResult<T> {
        let read = parsed.and_then(|value| Ok((value, gateway::header(answer)?)));
        let (value, revision) = read.map_err(|problem| self.client.away(&problem))?;
        self.known = self.known.max(Some(revision));
        Ok(value)
    }

    async fn range(&mut self) -> StoreResult<Option<Kept>> {
        let answer = self.call("/v3/kv/range", &gateway::range(&self.key)).await?;
        self.learn(&answer, gateway::kept(&answer))
    }

    async fn grant(&mut self) -> StoreResult<LeaseId> {
        let answer = self.call("/v3/lease/grant", &gateway::grant(self.ttl)).await?;
        match gateway::number(&answer, "ID") {
            Ok(0) => Err(self.client.away(&"a lease without an id")),
            id => id.map_err(|problem| self.client.away(&problem)),
        }
    }

    /// Ends a lease of etcd's own. It ends without that, too, only later.
    async fn revoke(&mut self, lease: LeaseId) {
        if let Err(error) = self.call("/v3/lease/revoke", &gateway::lease(lease)).await {
            tracing::debug!(%error, "a lease of etcd is left to expire");
        }
    }

    /// Extends a lease of etcd's own, and returns for how many seconds; 0 if there is none.
    async fn keep_alive(&mut self, lease: LeaseId) -> StoreResult<u64> {
        let answer = self.call("/v3/lease/keepalive", &gateway::lease(lease)).await?;
        let seconds = gateway::result(&answer).and_then(|result| gateway::number(result, "TTL"));
        let seconds = seconds.map_err(|problem| self.client.away(&problem))?;
        Ok(u64::try_from(seconds).unwrap_or(0))
    }

    async fn take(&mut self, client: NodeId) -> StoreResult<Answer> {
        // Most who ask are refused: for that, a read is enough.
        let mut kept = self.range().await?;
        let mut lease = None;
        for _ in 0..ATTEMPTS {
            // A key that names the client is from a run before, or its answer was lost.
            if kept.as_ref().is_some_and(|kept| kept.holder != Some(client)) {
                break;
            }
            let fresh = match lease {
                Some(lease) => lease,
                None => self.grant().await?,
            };
            lease = Some(fresh);
            let revision = kept.as_ref().map_or(0, |kept| kept.revision);
            let put = gateway::put(&self.key, client, fresh, revision);
            let answer = self.call("/v3/kv/txn", &put).await?;
            if gateway::succeeded(&answer) {
                let token = Token::new(self.learn(&answer, gateway::header(&answer))?);
                self.attached = Some((token, fresh));
                // The key is attached to the new lease now, and does not end with the old one.
                if let Some(old) = kept.map(|kept| kept.lease).filter(|old| *old != 0) {
                    self.revoke(old).await;
                }
                return Ok(Answer::Granted(token));
            }
            kept = self.learn(&answer, gateway::kept_instead(&answer))?;
        }
        if let Some(unused) = lease {
            self.revoke(unused).await;
        }
        Ok(refused(kept, client))
    }

    /// Extends etcd's lease first, and looks at the key after that. If the key still is what was
    /// granted *after* the extension, then it was so at the extension too, and it vanishes no
    /// earlier than the time to live after it; the client counts from before it asked. The other
    /// way round, the key could have been deleted and written by another in between, and a lease
    /// would be extended that keeps nothing.
    async fn extend(&mut self, client: NodeId, token: Token) -> StoreResult<Answer> {
        let lease = match self.attached {
            Some((granted, lease)) if granted == token => lease,
            // On a connection that did not acquire, the key says to which lease it is attached.
            _ => match self.range().await? {
                Some(kept) if kept.is(client, token) => kept.lease,
                other => return Ok(refused(other, client)),
            },
        };
        let seconds = self.keep_alive(lease).await?;
        let kept = self.range().await?;
        let is_same = |kept: &Kept| kept.is(client, token) && kept.lease == lease;
        // Nothing is extended if the lease is over, or was granted for a shorter time.
        if seconds < self.ttl || !kept.as_ref().is_some_and(is_same) {
            return Ok(refused(kept, client));
        }
        self.attached = Some((token, lease));
        Ok(Answer::Granted(token))
    }

    async fn give_back(&mut self, client: NodeId, token: Token) -> StoreResult<()> {
        let delete = gateway::delete(&self.key, client, token.get());
        let answer = self.call("/v3/kv/txn", &delete).await?;
        let deleted = self.learn(&answer, gateway::deleted(&answer))?;
        self.attached = None;
        if let Some(lease) = deleted.map(|kept| kept.lease).filter(|lease| *lease != 0) {
            self.revoke(lease).await;
        }
        Ok(())
    }

    async fn look(&mut self) -> StoreResult<Record> {
        // A key that is gone has no revision: etcd does not say of which grant it was.
        let Some(kept) = self.range().await? else { return Ok(Record::default()) };
        let answer = self.call("/v3/lease/timetolive", &gateway::lease(kept.lease)).await?;
        let seconds = gateway::number(&answer, "TTL");
        let seconds = seconds.map_err(|problem| self.client.away(&problem))?;
        let left = u64::try_from(seconds).ok().map(Duration::from_secs);
        Ok(Record { left, ..kept.record() })
    }

    /// Waits for a change of the key after the revision that the caller knows.
    ///
    /// It asks on a connection of its own: its answer goes on, and a question that is given up in
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
        let body = gateway::watch(&self.key, self.known);
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

    /// What it means that etcd refuses.
    fn refusal(&self, reply: &Reply) -> StoreError {
        let said = reply.complaint();
        let account =
            "write etcd://USER@HOST:PORT in the address, and name the file with the password";
        let unfit = |problem: &dyn Display, remedy: &str| StoreError::Unfit {
            problem: format!("{}: {problem}", self.server),
            remedy: remedy.to_owned(),
        };
        match reply.status {
            StatusCode::FORBIDDEN => unfit(
                &format!("the user may not use the key {}: {said}", self.name),
                &format!("etcdctl role grant-permission ROLE readwrite {}", self.name),
            ),
            StatusCode::NOT_FOUND if reply.body.is_null() => {
                unfit(&format!("there is no /v3: {said}"), "use etcd 3.4 or later")
            }
            _ if said.contains("user name is empty") => unfit(&said, account),
            _ if said.contains("authentication failed") => {
                unfit(&said, "correct the user in the address, or the file with the password")
            }
            _ if said.contains("authentication is not enabled") => {
                unfit(&said, "leave out the user and `store_password_file`")
            }
            // Among these: a token that is too old. With a new connection there is a new one.
            _ => StoreError::Away(format!("{}: {said}", self.server)),
        }
    }
}

/// The key is another's, or of no node that is known here.
fn refused(kept: Option<Kept>, client: NodeId) -> Answer {
    Answer::Refused(kept.and_then(|kept| kept.holder).filter(|holder| *holder != client))
}

impl LeaseStore for Connection {
    fn acquire(&mut self, client: NodeId) -> BoxFuture<'_, StoreResult<Answer>> {
        Box::pin(self.take(client))
    }

    fn renew(&mut self, client: NodeId, token: Token) -> BoxFuture<'_, StoreResult<Answer>> {
        Box::pin(self.extend(client, token))
    }

    fn release(&mut self, client: NodeId, token: Token) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(self.give_back(client, token))
    }

    fn read(&mut self) -> BoxFuture<'_, StoreResult<Record>> {
        Box::pin(self.look())
    }

    /// There is nothing to make. That the key can be read shows what a person wants to know: that
    /// the server is there, and lets this user in.
    fn init(&mut self) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(async move { self.range().await.map(drop) })
    }

    fn watches(&self) -> bool {
        true
    }

    fn changed(&mut self) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(self.wait())
    }
}
