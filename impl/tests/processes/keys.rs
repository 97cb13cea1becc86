//! `bellwether keys`: all that is asked for, or nothing.

use std::path::Path;

use super::bad_input::refuses;
use super::common::bellwether;

/// The names of what is in this folder.
fn inside(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).expect("a folder").map(|one| {
        let name = one.expect("it is there").file_name();
        name.into_string().expect("plain text")
    });
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names
}

#[test]
fn what_cannot_be_made_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = folder.path().join("keys");
    let path = keys.to_str().expect("plain text");
    let refused: [(&[&str], &[&str]); 7] = [
        (&["--cluster", "Orders", "--nodes", "1"], &["`Orders`", "lower-case letters"]),
        (&["--cluster", "orders", "--nodes", "1", "--days", "99999999"], &["from 1 to 50000"]),
        (&["--cluster", "orders", "--nodes", "1", "--days", "0"], &["from 1 to 50000"]),
        (&["--cluster", "orders", "--nodes", "1,2,1"], &["node 1 twice", "name each node once"]),
        (&["--cluster", "orders", "--nodes", "1", "--host", "10.0.0.4:70"], &["without a port"]),
        (&["--cluster", "orders", "--nodes", "1", "--host", "a,,b"], &["--host", "DNS names"]),
        (&["--cluster", "orders!", "--nodes", "1"], &["is not a cluster name"]),
    ];
    for (words, parts) in refused {
        refuses(&[&["keys", "init", path][..], words].concat(), 2, parts);
        assert!(!keys.exists(), "{words:?} made {path}");
    }
}

#[test]
fn files_that_are_there_are_kept_and_none_is_added() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("plain text");
    // The last that `init` would write.
    let last = folder.path().join("node-2.pem");
    std::fs::write(&last, "mine").expect("writable");
    let init = ["keys", "init", path, "--cluster", "orders", "--nodes", "1,2"];
    refuses(&init, 1, &["cannot write", "node-2.pem", "exists", "name another"]);
    assert_eq!(inside(folder.path()), ["node-2.pem"]);
    assert_eq!(std::fs::read_to_string(&last).expect("it is there"), "mine");

    std::fs::remove_file(&last).expect("ours");
    let made = bellwether().args(init).output().expect("it runs");
    let all = ["ca.key", "ca.pem", "node-1.key", "node-1.pem", "node-2.key", "node-2.pem"];
    assert_eq!(inside(folder.path()), all);
    let told = String::from_utf8_lossy(&made.stdout);
    assert!(made.status.success() && all.iter().all(|name| told.contains(name)), "{told}");

    // A certificate without its key: neither `node` nor `client` makes half of a pair.
    std::fs::write(folder.path().join("node-3.pem"), "mine").expect("writable");
    let node = ["keys", "node", path, "--cluster", "orders", "--node", "3"];
    refuses(&node, 1, &["node-3.pem", "exists"]);
    assert!(!folder.path().join("node-3.key").exists());
}

/// A certificate of the longest time can be made, with an authority that outlives it.
#[test]
fn the_longest_time_is_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("plain text");
    let mut command = bellwether();
    command.args(["keys", "init", path, "--cluster", "orders", "--nodes", "1"]);
    let made = command.args(["--days", "50000"]).output().expect("it runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    assert_eq!(inside(folder.path()).len(), 4);
}
