//! Programs whose output has no reader, or no room: what they have found is their exit status.

use std::fs::File;
use std::io::pipe;
use std::process::{Command, Stdio};

/// Where a program prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outlet {
    /// To where all is taken.
    Null,
    /// Into a pipe whose reader has gone.
    Closed,
    /// Onto a disk that is full.
    Full,
}

impl Outlet {
    fn open(self) -> Stdio {
        match self {
            Outlet::Null => Stdio::null(),
            Outlet::Closed => pipe().expect("a pipe").1.into(),
            Outlet::Full => {
                let full = File::options().write(true).open("/dev/full");
                full.expect("a disk that is full").into()
            }
        }
    }
}

/// Standard output and standard error.
const OUTLETS: [(Outlet, Outlet); 7] = [
    (Outlet::Null, Outlet::Null),
    (Outlet::Closed, Outlet::Null),
    (Outlet::Null, Outlet::Closed),
    (Outlet::Closed, Outlet::Closed),
    (Outlet::Full, Outlet::Null),
    (Outlet::Null, Outlet::Full),
    (Outlet::Full, Outlet::Full),
];

/// Runs a command line again and again, each time with its outputs elsewhere, and returns what is
/// wrong: each exit status that is not `status`. A success that prints to a full disk must end with
/// `lost` instead.
///
/// # Panics
/// If the program cannot be run.
pub fn other_statuses(
    program: impl Fn() -> Command,
    (line, status): (&str, i32),
    lost: i32,
) -> Vec<String> {
    let run = |(stdout, stderr): (Outlet, Outlet)| {
        let is_lost = status == 0 && stdout == Outlet::Full;
        let expected = if is_lost { lost } else { status };
        let mut command = program();
        command.args(line.split_whitespace()).stdin(Stdio::null());
        let ended = command.stdout(stdout.open()).stderr(stderr.open()).status();
        let ended = ended.expect("it runs");
        (ended.code() != Some(expected)).then(|| {
            format!("{line}: {ended} with {stdout:?} and {stderr:?}, which should be {expected}")
        })
    };
    OUTLETS.into_iter().filter_map(run).collect()
}

/// Returns the commands that the help of a program lists for which no line ends with a status other
/// than 0 and 2: they have nothing to say by it. Each must have a line that fails.
///
/// # Panics
/// If the help cannot be printed, or no line of a command fails.
#[track_caller]
pub fn without_verdict(program: &mut Command, lines: &[(&str, i32)]) -> Vec<String> {
    let output = program.arg("--help").output().expect("it runs");
    let help = String::from_utf8(output.stdout).expect("UTF-8");
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    let commands: Vec<&str> =
        listed.filter(|line| !line.starts_with("   ")).filter_map(first).collect();
    assert!(commands.len() > 2, "no commands in: {help}");
    let mut without = Vec::new();
    for command in commands {
        let of_it = lines.iter().filter(|(line, _)| first(line) == Some(command));
        let statuses: Vec<i32> = of_it.map(|&(_, status)| status).collect();
        assert!(statuses.iter().any(|&status| status != 0), "no line of {command} fails");
        if statuses.iter().all(|status| [0, 2].contains(status)) {
            without.push(command.to_owned());
        }
    }
    without
}

/// The first word.
fn first(line: &str) -> Option<&str> {
    line.split_whitespace().next()
}
