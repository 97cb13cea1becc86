//! Files that may have anything in them, read as configurations. What is accepted is written as
//! `check-config` does, and must then be read as the same.

#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use bellwether::Config;
use bellwether::internal::config::{self, Error, Log, Overrides, Runnable, Visitor};
use libfuzzer_sys::fuzz_target;

/// A configuration is read from a file only. Each process that looks for crashes has its own.
static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    std::env::temp_dir().join(format!("bellwether-fuzz-{}.toml", std::process::id()))
});

/// Writes a configuration as a file that says everything.
struct Written;

impl Visitor for Written {
    type Output = String;

    fn visit<C: Runnable>(self, config: Config<C>, log: Log) -> String {
        config.to_toml(&log)
    }
}

fn read(text: &[u8]) -> Result<String, Error> {
    std::fs::write(&*FILE, text).expect("the file can be written");
    config::load(&FILE, Overrides::default(), Written)
}

fuzz_target!(|text: &[u8]| {
    match read(text) {
        Ok(written) => {
            let again = read(written.as_bytes()).expect("what was written can be read");
            assert_eq!(again, written);
        }
        // To tell what is wrong is a part of it.
        Err(error) => drop(error.to_string()),
    }
});
