//! A command whose node is not fit to lead any more ends, and that of another node starts.

use super::*;

/// Three nodes whose checks look for a file each.
fn checked() -> Cluster {
    let cluster = Cluster::quorum();
    let check = format!("test -e {}/fit-$BELLWETHER_NODE", cluster.folder().display());
    let section = format!(
        "[health]\ncheck = [\"sh\", \"-c\", \"{check}\"]\ninterval = \"2s\"\n\
         timeout = \"2s\"\nrise = 2\nfall = 2\n"
    );
    fs::write(cluster.config(), cluster.text("test") + &section).expect("ours");
    (1..=3).for_each(|node| set_fit(&cluster, node, true));
    cluster
}

fn set_fit(cluster: &Cluster, node: u16, fit: bool) {
    let path = cluster.folder().join(format!("fit-{node}"));
    let done = if fit { fs::write(path, "") } else { fs::remove_file(path) };
    done.expect("ours");
}

#[test]
fn a_command_runs_only_where_the_check_succeeds() {
    let cluster = checked();
    let _nodes = [1, 2, 3].map(|node| cluster.exec(node, &[], STUBBORN));
    let (epoch, first) = cluster.wait_for_start(1);
    set_fit(&cluster, first, false);
    let (later, second) = cluster.wait_for_start(2);
    assert!(later > epoch && second != first, "{later} of {second}, {epoch} of {first}");

    // It is fit again, and no other is: the command comes to it.
    set_fit(&cluster, first, true);
    (1..=3).filter(|&node| node != first).for_each(|node| set_fit(&cluster, node, false));
    let logs = || [1, 2, 3].map(|node| cluster.log_of(&node.to_string())).concat();
    let runs = || cluster.starts().last().is_some_and(|&(_, node)| node == first);
    wait_until("the first runs it again", runs, logs);
    cluster.no_two_at_once();
    cluster.both_work();
}
