//! The file of the program is replaced, or is gone, while nodes run that have not led yet: that is
//! what an upgrade does. They start their commands all the same.

use std::path::Path;

use super::*;
use crate::processes::common::{PROGRAM, daemon};

/// Another file has its name from now on.
fn replace(program: &Path) {
    let new = program.with_extension("new");
    fs::write(&new, "#!/bin/sh\nexit 1\n").expect("ours");
    fs::rename(new, program).expect("ours");
}

/// It is removed with its folder.
fn remove(program: &Path) {
    fs::remove_dir_all(program.parent().expect("a folder")).expect("ours");
}

#[test]
fn a_command_starts_although_the_program_was_replaced_or_removed_meanwhile() {
    for fault in [replace, remove] {
        let cluster = Cluster::quorum();
        let folder = cluster.folder().join("bin");
        fs::create_dir(&folder).expect("ours");
        let program = folder.join("bellwether");
        // By another process: one that this test forks meanwhile may still have the file open.
        let copied = Command::new("cp").arg(PROGRAM).arg(&program).status();
        assert!(copied.is_ok_and(|status| status.success()), "cp");
        let new = ["--new-cluster"];
        let mut three = cluster.exec_by(daemon(&program), 3, &new, "starts; exit 7");
        wait_until("it takes part", || cluster.log_of("3").contains("taking part"), String::new);
        fault(&program);
        // With it there is a majority.
        let _other = cluster.run("1", 1, &["--set", "skew=20s", "--new-cluster"]);
        assert_eq!(cluster.wait_for_start(1).1, 3);
        assert_eq!(three.ended().code(), Some(7), "{}", cluster.log_of("3"));
    }
}

/// In a list of processes the keeper has the name of the program.
#[test]
fn the_keeper_has_the_name_of_the_program() {
    let cluster = Cluster::quorum();
    let nodes = [1, 2, 3].map(|node| cluster.exec(node, &[], PLAIN));
    let (_, leader) = cluster.wait_for_start(1);
    let [keeper] = children(nodes[usize::from(leader) - 1].id())[..] else { panic!("a keeper") };
    let name = fs::read_to_string(format!("/proc/{keeper}/comm")).expect("it runs");
    assert_eq!(name, "bellwether\n");
}
