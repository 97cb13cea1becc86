//! What the command lines of the programs have in common: `-h` that fits on a screen, the manual,
//! and objects as JSON.
//!
//! It knows no command of theirs, and neither a protocol nor a model.

mod brief;
pub mod json;
#[cfg(feature = "man")]
mod pages;

pub use brief::{MORE, brief};
#[cfg(feature = "man")]
pub use pages::pages;

/// Returns whether the command line has this flag; behind `--` there are none. The line need not be
/// one that can be read.
#[must_use]
pub fn asks(flag: &str) -> bool {
    let words = std::env::args_os().skip(1);
    words.take_while(|word| word != "--").any(|word| word == flag)
}

/// Returns what clap says is wrong, without its label, the usage and what help there is.
#[must_use]
pub fn first_words(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.trim_start_matches("error: ");
    text.split("\n\n").next().unwrap_or_default().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::first_words;
    use clap::{Arg, Command};

    #[test]
    fn of_an_error_only_what_is_wrong_is_left() {
        let command = Command::new("go").arg(Arg::new("far").long("far"));
        let error = command.try_get_matches_from(["go", "--fat"]).expect_err("there is none");
        assert!(error.to_string().contains("Usage"), "{error}");
        assert_eq!(first_words(&error), "unexpected argument '--fat' found");
    }
}
