//! Passwords and tokens from files, and the hosts to which they may be sent. An adapter reads them
//! for each connection, so that a changed one is taken.

use std::path::Path;

use bellwether_core::store::StoreResult;
use zeroize::Zeroizing;

use crate::private_file::{self, Unusable};
use crate::values::unfit;

/// Reads a password from a file that no other user can read.
pub(crate) fn password(file: &Path) -> StoreResult<Zeroizing<String>> {
    text(file, private_file::read(file))
}

/// Reads a token. The files of service accounts in a pod can be read by all of its processes.
pub(crate) fn token(file: &Path) -> StoreResult<Zeroizing<String>> {
    text(file, private_file::read_public(file))
}

/// Returns whether what is said in clear to this host can be read in a network. A name other than
/// `localhost` may be any machine's.
pub(crate) fn is_exposed(host: &str) -> bool {
    match host.parse::<std::net::IpAddr>() {
        Ok(address) => !address.to_canonical().is_loopback(),
        Err(_) => !host.eq_ignore_ascii_case("localhost"),
    }
}

fn text(file: &Path, read: Result<Zeroizing<Vec<u8>>, Unusable>) -> StoreResult<Zeroizing<String>> {
    const REMEDY: &str = "correct the file: it is read again at the next connection";
    let bytes = read.map_err(|error| unfit(error.to_string(), REMEDY))?;
    // An editor ends the last line.
    let text = str::from_utf8(&bytes).ok().map(|text| text.trim_end_matches(['\n', '\r']));
    let text = text.filter(|text| !text.is_empty() && !text.contains('\n'));
    let nothing =
        || unfit(format!("{} is not one line with a password or a token", file.display()), REMEDY);
    Ok(Zeroizing::new(text.ok_or_else(nothing)?.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::testing::{file, unfit};

    #[test]
    fn a_password_is_one_line_of_a_private_file() {
        let read = |text| password(file(text).path()).map(|password| password.to_string());
        assert_eq!(read(" one two \n"), Ok(" one two ".to_owned()));
        assert_eq!(read("one"), Ok("one".to_owned()));
        for wrong in ["", "\n", "one\ntwo\n", "one\n\ntwo"] {
            unfit(read(wrong));
        }

        let open = file("Tr0ub4dor");
        let mode = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(&open, mode).expect("ours");
        let text = unfit(password(open.path()));
        assert!(text.contains("can be read by others") && !text.contains("Tr0ub4dor"), "{text}");
        assert_eq!(token(open.path()).map(|token| token.to_string()), Ok("Tr0ub4dor".to_owned()));

        let text = unfit(password(Path::new("/nonexistent/password")));
        assert!(text.contains("cannot read /nonexistent/password"), "{text}");
    }
}
