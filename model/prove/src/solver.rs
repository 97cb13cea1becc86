//! The SMT solver: a program that reads SMT-LIB text and answers.

use super::sexp::Sexp;
use bellwether_model::check::Cancel;
use std::env;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// The solvers that are known, by the name of the program, with what makes each read its standard
/// input, at the first try and at the second. By itself cvc5 tries few instances of a quantifier,
/// and gives up.
const KNOWN: [(&str, [Args; 2]); 2] = [
    ("z3", [&["-in", "-smt2"]; 2]),
    (
        "cvc5",
        [
            &["--lang=smt2", "-q", "--full-saturate-quant"],
            &["--lang=smt2", "-q", "--finite-model-find"],
        ],
    ),
];

type Args = &'static [&'static str];

/// Which try it is to answer a question: the second may go about it in another way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Try {
    First,
    Second,
}

/// A solver.
#[derive(Clone, Debug)]
pub struct Solver {
    path: PathBuf,
    args: [Args; 2],
    /// How long a question may take.
    pub limit: Duration,
    /// What ends all of them.
    pub cancel: Option<Cancel>,
}

/// What a solver says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// There is a structure; these are the values that were asked for.
    Sat(Option<Sexp>),
    /// There is none.
    Unsat,
    /// It gave up.
    Unknown,
    /// The time was over.
    TooLate,
    /// A signal came.
    Stopped,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum SolverError {
    /// None is installed.
    #[error(
        "no SMT solver found: install z3 or cvc5 (Debian and Ubuntu: 'apt install z3'; macOS: \
         'brew install z3'), or name one with --solver PATH"
    )]
    Missing,
    /// It cannot be run.
    #[error("cannot run the solver {path}: {error}; give --solver the path of z3 or cvc5")]
    Unusable {
        /// The program.
        path: String,
        /// What is wrong.
        error: String,
    },
    /// It says what no solver says.
    #[error(
        "{path} is no SMT solver that this program knows: it says '{said}'; give --solver the \
             path of z3 or cvc5"
    )]
    Strange {
        /// The program.
        path: String,
        /// What it said.
        said: String,
    },
}

impl Solver {
    /// The program at this path, or the first of those that are known and installed.
    ///
    /// # Errors
    /// If there is none.
    pub fn find(path: Option<&Path>) -> Result<Solver, SolverError> {
        let missing = |path: &Path| SolverError::Unusable {
            path: path.display().to_string(),
            error: "there is no such program".to_owned(),
        };
        let path = match path {
            // A name is looked up, as a shell does.
            Some(path) if path.components().count() == 1 => {
                path.to_str().and_then(installed).ok_or_else(|| missing(path))?
            }
            Some(path) if path.is_file() => path.to_owned(),
            Some(path) => return Err(missing(path)),
            None => {
                let found = KNOWN.iter().find_map(|(name, _)| installed(name));
                found.ok_or(SolverError::Missing)?
            }
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let known = KNOWN.iter().find(|(known, _)| name.contains(known));
        let args = known.map_or([&[] as Args; 2], |(_, args)| *args);
        Ok(Solver { path, args, limit: Duration::from_secs(60), cancel: None })
    }

    /// What the program is called.
    #[must_use]
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Puts a question: a script that ends with what it asks for.
    pub(super) fn ask(
        &self,
        script: &str,
        which: Try,
        limit: Duration,
    ) -> Result<Answer, SolverError> {
        let wrong = |error: std::io::Error| SolverError::Unusable {
            path: self.name(),
            error: error.to_string(),
        };
        let mut child = Command::new(&self.path)
            .args(self.args[usize::from(which == Try::Second)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(wrong)?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let script = script.to_owned();
        let (send, answered) = mpsc::channel();
        thread::spawn(move || {
            // A solver that has been killed does not read.
            let _ = stdin.map(|mut stdin| stdin.write_all(script.as_bytes()));
        });
        thread::spawn(move || {
            let mut said = String::new();
            let _ = stdout.map(|mut stdout| stdout.read_to_string(&mut said));
            let _ = send.send(said);
        });
        let until = Instant::now() + limit.min(self.limit);
        let said = loop {
            match answered.recv_timeout(Duration::from_millis(20)) {
                Ok(said) => break Ok(said),
                Err(RecvTimeoutError::Disconnected) => break Ok(String::new()),
                Err(RecvTimeoutError::Timeout) if self.cancel.is_some_and(Cancel::is_due) => {
                    break Err(Answer::Stopped);
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() >= until => {
                    break Err(Answer::TooLate);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        end(&mut child);
        // What a signal interrupts is no answer.
        match said {
            _ if self.cancel.is_some_and(Cancel::is_due) => Ok(Answer::Stopped),
            Ok(said) => self.understood(&said),
            Err(answer) => Ok(answer),
        }
    }

    fn understood(&self, said: &str) -> Result<Answer, SolverError> {
        let strange = || {
            let said: String = said.trim().chars().take(120).collect();
            SolverError::Strange { path: self.name(), said }
        };
        let read = Sexp::read(said).map_err(|_| strange())?;
        let mut read = read.into_iter();
        match read.next() {
            Some(Sexp::Word(word)) if word == "sat" => Ok(Answer::Sat(read.next())),
            Some(Sexp::Word(word)) if word == "unsat" => Ok(Answer::Unsat),
            Some(Sexp::Word(word)) if word == "unknown" => Ok(Answer::Unknown),
            _ => Err(strange()),
        }
    }
}

/// Ends the program, if it has not ended itself.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Where a program is, of those that can be called by name.
fn installed(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}
