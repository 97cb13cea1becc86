//! Files that may have anything in them, read as traces. What is accepted is written, and must then
//! be read again.

#![no_main]

use bellwether_engine::trace::Trace;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match Trace::read(bytes) {
        Ok(trace) => {
            let mut written = Vec::new();
            trace.write(&mut written).expect("it fits into memory");
            let again = Trace::read(written.as_slice()).expect("what was written can be read");
            // Rules and messages are any JSON. A number with a fraction may lose its last digit.
            assert_eq!(again.steps.len(), trace.steps.len());
        }
        // To tell what is wrong is a part of it.
        Err(error) => drop(error.to_string()),
    }
});
