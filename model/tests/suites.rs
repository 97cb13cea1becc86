//! The verdicts: each file below `model/verdicts` is a suite of checks, and comes out as it says.

use bellwether_docs_runner::root;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

/// Runs every suite in this folder, two at a time; how many cases there are.
fn run(folder: &Path) -> usize {
    let files = fs::read_dir(folder).expect("a folder");
    let files = files.map(|entry| entry.expect("an entry").path());
    let files: Vec<PathBuf> = files.filter(|file| file.extension().is_some()).collect();
    let open = Mutex::new(files.into_iter());
    let (cases, wrong) = (Mutex::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(file) = { open.lock().expect("no panic").next() } {
                    let file = file.to_str().expect("a name in UTF-8");
                    let ran = crate::cli::run_args(&root(), &["suite", file]);
                    *cases.lock().expect("no panic") += ran.stdout.matches("as expected: ").count();
                    if ran.status != 0 {
                        wrong.lock().expect("no panic").push((ran.stdout, ran.stderr));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no panic");
    let told = |line: &&str| !line.starts_with("as expected: ");
    let lines =
        wrong.iter().flat_map(|(stdout, stderr)| stdout.lines().filter(told).chain(stderr.lines()));
    assert!(wrong.is_empty(), "{}", lines.collect::<Vec<_>>().join("\n"));
    cases.into_inner().expect("no panic")
}

#[test]
fn every_verdict_is_what_its_file_says() {
    let cases = run(&root().join("model/verdicts"));
    assert!(cases >= 500, "{cases} cases");
}

#[test]
#[cfg_attr(not(feature = "slow"), ignore = "slow: minutes; cargo test --workspace --features slow")]
fn every_verdict_of_a_large_world_is_what_its_file_says() {
    let cases = run(&root().join("model/verdicts/slow"));
    assert!(cases >= 40, "{cases} cases");
}
