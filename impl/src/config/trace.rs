//! The key `log.trace`: where a node writes its steps.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::{Config, Error, Runnable};

impl<C: Runnable> Config<C> {
    /// Returns this configuration, with which the node writes a [trace](crate::trace) to this file:
    /// a line for each step that it takes, behind what is there. It is not held up by that. A node
    /// with groups has no trace.
    ///
    /// ```
    /// use bellwether::Config;
    /// let members = [(1, "127.0.0.1:7001"), (2, "127.0.0.1:7002"), (3, "127.0.0.1:7003")];
    /// let config = Config::new("orders", 2, members)?.with_trace("/var/log/orders-2.ndjson");
    /// # Ok::<(), bellwether::ConfigError>(())
    /// ```
    #[must_use]
    pub fn with_trace(mut self, path: impl Into<PathBuf>) -> Self {
        self.trace = Some(path.into());
        self
    }

    /// Returns the file to which the node writes a trace, if it writes one.
    #[must_use]
    pub fn trace(&self) -> Option<&Path> {
        self.trace.as_deref()
    }

    /// Checks whether the trace can be written, as far as that is known before the file is there.
    /// Creates nothing.
    ///
    /// # Errors
    ///
    /// As [`Config::open_trace`].
    pub fn check_trace(&self) -> Result<(), Error> {
        let Some(path) = self.trace_of_one()? else { return Ok(()) };
        let checked = match OpenOptions::new().append(true).open(path) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => has_folder(path),
            Err(error) => Err(error),
        };
        checked.map_err(|cause| Error::Trace { path: path.to_owned(), cause })
    }

    /// Opens the file of the trace, if there is one: what is written comes behind what is there.
    ///
    /// # Errors
    ///
    /// [`Error::Trace`] when the file cannot be written, [`Error::Setting`] when the node has
    /// groups.
    pub fn open_trace(&self) -> Result<Option<File>, Error> {
        let Some(path) = self.trace_of_one()? else { return Ok(None) };
        let file = OpenOptions::new().append(true).create(true).open(path);
        Ok(Some(file.map_err(|cause| Error::Trace { path: path.to_owned(), cause })?))
    }

    /// The file of the trace, which is that of one election.
    fn trace_of_one(&self) -> Result<Option<&Path>, Error> {
        if self.trace.is_some() && !self.groups.is_empty() {
            let problem =
                "a trace is that of one election, and there are [groups]: use one of the two"
                    .to_owned();
            return Err(Error::Setting { problem });
        }
        Ok(self.trace())
    }
}

/// A file can only be made in a folder that is there.
fn has_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        Some(folder) if !folder.metadata()?.is_dir() => Err(ErrorKind::NotADirectory.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        let members = [(1, "127.0.0.1:7001"), (2, "127.0.0.1:7002"), (3, "127.0.0.1:7003")];
        Config::new("orders", 1, members).expect("valid")
    }

    #[test]
    fn a_trace_is_written_behind_what_is_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("trace");
        let config = config().with_trace(&path);
        config.check_trace().expect("it can be made");
        assert!(!path.exists(), "a check makes nothing");
        std::fs::write(&path, "before\n").expect("written");
        config.check_trace().expect("it is there");
        let mut file = config.open_trace().expect("it opens").expect("there is one");
        std::io::Write::write_all(&mut file, b"after\n").expect("written");
        assert_eq!(std::fs::read_to_string(&path).expect("text"), "before\nafter\n");
    }

    #[test]
    fn a_file_that_cannot_be_written_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        std::fs::write(&file, "").expect("written");
        for path in [folder.path().join("none/trace"), file.join("trace"), folder.path().into()] {
            let config = config().with_trace(&path);
            for error in [config.check_trace().err(), config.open_trace().err()] {
                assert!(matches!(error, Some(Error::Trace { path: named, .. }) if named == path));
            }
        }
    }

    #[test]
    fn a_trace_is_that_of_one_election() {
        let config = config().with_groups(["a", "b"]).expect("valid").with_trace("trace");
        for error in [config.check_trace().err(), config.open_trace().err()] {
            let error = error.expect("refused").to_string();
            assert!(error.contains("[groups]: use one"), "{error}");
        }
    }

    #[test]
    fn a_node_without_a_trace_needs_no_file() {
        assert_eq!(config().trace(), None);
        config().check_trace().expect("nothing to check");
        assert!(config().open_trace().expect("nothing to open").is_none());
    }
}
