//! A cluster of which some members observe, or are witnesses, with HTTP and a token.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::common::{Cluster, Process, bellwether, free_port, wait_until};
use super::members::members;

pub(crate) struct Roles {
    pub(crate) cluster: Cluster,
    pub(crate) running: BTreeMap<u16, Process>,
    pub(crate) http: BTreeMap<u16, String>,
    pub(crate) token: String,
}

impl Roles {
    /// So many nodes, none of which runs yet, with this line in their configuration.
    pub(crate) fn new(size: u16, roles: &str) -> Self {
        let cluster = Cluster::running(size, "quorum", "");
        let text = fs::read_to_string(cluster.config()).expect("ours");
        let text = text.replace("[members]", &format!("{roles}\n[members]"));
        fs::write(cluster.config(), text).expect("ours");
        let token = cluster.folder().join("token").display().to_string();
        let made = bellwether().args(["keys", "secret", &token]).output().expect("it runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let http = (1..=size).map(|node| (node, format!("127.0.0.1:{}", free_port()))).collect();
        Self { cluster, running: BTreeMap::new(), http, token }
    }

    pub(crate) fn start(&mut self, node: u16) {
        self.start_with(node, &[]);
    }

    /// Starts a node of a new cluster, of which not all need to run.
    pub(crate) fn found(&mut self, node: u16) {
        self.start_with(node, &["--new-cluster"]);
    }

    fn start_with(&mut self, node: u16, more: &[&str]) {
        let flags = ["--http", &self.http[&node], "--token-file", &self.token];
        let flags = [&flags[..], more].concat();
        self.running.insert(node, self.cluster.run(&node.to_string(), node, &flags));
    }

    /// Removes what a node that does not run has kept.
    pub(crate) fn wipe(&self, node: u16) {
        let data = self.cluster.folder().join(format!("quorum-{node}"));
        fs::remove_dir_all(data).expect("it is there");
    }

    /// Waits until each of these votes, or observes, and none knows of one that waits to be let in,
    /// or of a list that is not decided.
    pub(crate) fn all_vote(&self, nodes: &[u16]) {
        let votes = |&node: &u16| {
            let (_, said) = members(self, node, &["list", "--json"]);
            let lists: Value = serde_json::from_str(&said).unwrap_or_default();
            let awaited = &self.status(node)["awaited"];
            let none_waits = awaited.as_array().is_some_and(Vec::is_empty);
            none_waits && lists["list"].is_object() && lists["next"].is_null()
        };
        let logs = || nodes.iter().map(|node| self.cluster.log_of(&node.to_string())).collect();
        wait_until(&format!("all of {nodes:?} vote"), || nodes.iter().all(votes), logs);
    }

    pub(crate) fn kill(&mut self, node: u16) {
        self.running.remove(&node).expect("it runs").kill();
    }

    pub(crate) fn status(&self, node: u16) -> Value {
        self.cluster.status(node).unwrap_or_default()
    }

    /// Waits until all that run, whatever they are, follow one of them, and returns that and its
    /// epoch.
    pub(crate) fn leader(&self) -> (u16, u64) {
        let mut found = None;
        let agree = || {
            let seen = |node: &u16| {
                let status = self.status(*node);
                Some((status["leader"].as_u64()?, status["epoch"].as_u64()?))
            };
            let all: Vec<_> = self.running.keys().map(seen).collect();
            found = all[0].filter(|_| all.iter().all(|other| *other == all[0]));
            found.is_some_and(|(leader, _)| self.running.contains_key(&(leader as u16)))
        };
        let logs = || self.http.keys().map(|node| self.cluster.log_of(&node.to_string())).collect();
        wait_until("all follow one of them", agree, logs);
        found.map(|(leader, epoch)| (leader as u16, epoch)).expect("seen above")
    }
}
