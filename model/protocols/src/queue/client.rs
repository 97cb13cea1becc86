//! What a client does: it enters the queue, and leads when it is the first.

use super::entries::{Entries, Entry, Number, Session};
use super::{Alone, Contact, Gone, Message, Notified, Own, Process, Queue, Silence, Timer, Watch};
use bellwether_engine::protocol::{Id, Local, state_type};

/// What a client is doing.
#[state_type]
pub enum Role {
    /// It asked for a session.
    #[default]
    Opening,
    /// It asked for an entry.
    Creating,
    /// It reads the directory for the first time.
    Joining,
    /// It reads the directory again.
    Reading,
    /// It follows, and asked to be told when an entry goes.
    Checking,
    /// It follows, and will be told when to read again.
    Follower,
    /// It is the first, and waits to be told ([`Alone::Waits`]).
    Waiting,
    /// It leads.
    Leader,
}

/// What a client knows.
#[state_type]
pub struct Client {
    /// What it is doing.
    pub role: Role,
    /// Its session with the store.
    pub session: Option<Session>,
    /// Its place in the queue; while it leads, its fencing token.
    pub entry: Option<Number>,
    /// Whom it follows: the owner of the first entry when it last read.
    pub leader: Option<Id>,
}

/// What a client does.
impl Queue {
    /// It begins: it knows nothing, and asks for a session.
    pub(super) fn enter(&self, p: &mut Local<'_, Self>) {
        self.ask(p, Client::default(), Message::Open);
        if self.contact == Contact::Pings {
            p.arm(Timer::Ping);
        }
    }

    /// It asks the store for something, and listens for the answer.
    fn ask(&self, p: &mut Local<'_, Self>, client: Client, request: Message) {
        *p.state = Process::Client(client);
        p.send_to_each(p.services(), request);
        p.arm(Timer::Silence);
    }

    /// The store says something.
    pub(super) fn on_store_message(
        &self,
        p: &mut Local<'_, Self>,
        client: Client,
        message: Message,
    ) {
        if self.contact == Contact::Pings {
            p.arm(Timer::Silence);
        }
        match (message, client.role) {
            (Message::Opened(session), Role::Opening) => {
                self.create(p, Client { session: Some(session), ..client });
            }
            (Message::Created(number), Role::Creating) => {
                self.read(p, Client { role: Role::Joining, entry: Some(number), ..client });
            }
            (Message::Children(entries), Role::Joining | Role::Reading) => {
                self.on_children(p, client, &entries);
            }
            (Message::Gone, Role::Checking) if self.gone == Gone::Reads => {
                self.read_again(p, client);
            }
            (Message::Watching | Message::Gone, Role::Checking) => turn(p, Role::Follower, client),
            (Message::Changed, _) => self.on_changed(p, client),
            (Message::Expired(session), _)
                if client.session == Some(session) && self.silence != Silence::Ignores =>
            {
                p.cancel_all();
                self.enter(p);
            }
            _ => {}
        }
    }

    /// "Create an entry, ephemeral and sequential."
    fn create(&self, p: &mut Local<'_, Self>, client: Client) {
        let Some(session) = client.session else { return };
        let client = Client { role: Role::Creating, entry: None, leader: None, ..client };
        self.ask(p, client, Message::Create(session));
    }

    /// "Read the directory", which is where a watch on the directory is set.
    fn read(&self, p: &mut Local<'_, Self>, client: Client) {
        let Some(session) = client.session else { return };
        let request = match self.watch {
            Watch::Directory => Message::ReadAndWatch(session),
            Watch::Predecessor | Watch::First => Message::Read(session),
        };
        self.ask(p, client, request);
    }

    /// It believes nothing until it has read again.
    fn read_again(&self, p: &mut Local<'_, Self>, client: Client) {
        self.read(p, Client { role: Role::Reading, leader: None, ..client });
    }

    /// "If your entry is the first, you lead; otherwise watch the one before it." A client that
    /// does not find its entry creates one: that it asked for may never have come to be.
    fn on_children(&self, p: &mut Local<'_, Self>, client: Client, entries: &Entries) {
        let named = |entry: &&Entry| Some(entry.session) == client.session;
        let replied = |entry: &&Entry| Some(entry.number) == client.entry;
        let mine = match self.own {
            Own::Named => entries.iter().find(named).map(|entry| entry.number),
            Own::Replied => entries.iter().find(replied).map(|entry| entry.number),
            Own::Remembered => client.entry,
        };
        let Some(mine) = mine else { return self.create(p, client) };
        let client = Client { entry: Some(mine), ..client };
        let before = |entry: &&Entry| entry.number < mine;
        let Some(first) = entries.iter().find(before) else {
            return match (client.role, self.alone) {
                (Role::Joining, Alone::Waits) => turn(p, Role::Waiting, client),
                _ => lead(p, client),
            };
        };
        // Who finds an entry in its name that it does not know as its own follows none.
        let leader = Some(first.client).filter(|&leader| leader != p.id());
        let client = Client { leader, ..client };
        let watched = match self.watch {
            Watch::Predecessor => entries.iter().rfind(before).map(|entry| entry.number),
            Watch::First => Some(first.number),
            Watch::Directory => None,
        };
        match (watched, client.session) {
            (Some(entry), Some(session)) => {
                let client = Client { role: Role::Checking, ..client };
                self.ask(p, client, Message::Watch { session, entry });
            }
            _ => turn(p, Role::Follower, client),
        }
    }

    /// "When you are told, read again." The leader has nothing to learn.
    fn on_changed(&self, p: &mut Local<'_, Self>, client: Client) {
        match (client.role, self.told) {
            (Role::Follower | Role::Checking, Notified::Leads) => lead(p, client),
            (Role::Follower | Role::Checking | Role::Waiting | Role::Reading, _) => {
                self.read_again(p, client);
            }
            (Role::Joining, _) => self.read(p, client),
            (Role::Opening | Role::Creating | Role::Leader, _) => {}
        }
    }

    /// It does not hear from the store: an answer is late, or the connection is broken. It asks
    /// again, or asks for the first time in a while.
    pub(super) fn on_silence(&self, p: &mut Local<'_, Self>, client: Client) {
        match client.role {
            Role::Opening => self.ask(p, client, Message::Open),
            // "A client that does not know whether its entry was created looks for its own name."
            Role::Creating if self.own == Own::Named => {
                self.read(p, Client { role: Role::Joining, ..client });
            }
            Role::Creating => self.create(p, client),
            Role::Joining => self.read(p, client),
            Role::Leader => match self.silence {
                Silence::StandsDown => self.read_again(p, client),
                Silence::GoesOn => self.read(p, client),
                Silence::Ignores => {}
            },
            Role::Reading | Role::Checking | Role::Follower | Role::Waiting => {
                self.read_again(p, client);
            }
        }
    }

    /// "I am here."
    pub(super) fn ping(&self, p: &mut Local<'_, Self>, client: Client) {
        if let Some(session) = client.session {
            p.send_to_each(p.services(), Message::Ping(session));
        }
        p.arm(Timer::Ping);
    }
}

fn lead(p: &mut Local<'_, Queue>, client: Client) {
    let leader = Some(p.id());
    turn(p, Role::Leader, Client { leader, ..client });
}

fn turn(p: &mut Local<'_, Queue>, role: Role, client: Client) {
    *p.state = Process::Client(Client { role, ..client });
}
