//! The files with which a store and this side prove themselves to each other, where the address
//! says that the connection is encrypted.

use std::path::{Path, PathBuf};

use super::address::Files;

/// The authorities that have signed the certificate of the store, and the certificate that is shown
/// to it. The files are read for each connection: certificates are replaced while the program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Certificates {
    ca: PathBuf,
    /// The certificate that is shown, and its key.
    own: Option<(PathBuf, PathBuf)>,
}

impl Certificates {
    /// The certificates that `files` name; with `ca` where these have no authorities.
    pub(super) fn of(files: &Files, ca: Option<PathBuf>) -> Result<Self, String> {
        let ca = files.ca.clone().or(ca).ok_or(
            "the store is spoken to by TLS: name the file with the authorities that have signed \
             its certificate, by `store_ca_file`",
        )?;
        Ok(Self { ca, own: files.own()? })
    }

    /// The file with the authorities, and the files with the certificate that is shown and its key.
    pub(super) fn paths(&self) -> (&Path, Option<(&Path, &Path)>) {
        let own = self.own.as_ref();
        (&self.ca, own.map(|(certificate, key)| (certificate.as_path(), key.as_path())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_come_in_pairs_with_their_authorities() {
        let file = |name: &str| Some(PathBuf::from(name));
        let problem = |files: &Files| Certificates::of(files, None).expect_err("refused");
        assert!(problem(&Files::default()).contains("authorities"));
        let ca = Files { ca: file("ca.pem"), ..Files::default() };
        let alone = Certificates::of(&ca, None).expect("authorities");
        assert_eq!(alone.paths(), (Path::new("ca.pem"), None));
        assert_eq!(Certificates::of(&Files::default(), file("ca.pem")), Ok(alone));
        let without_key = Files { certificate: file("own.pem"), ..ca.clone() };
        let pair = "name `store_certificate_file` and `store_key_file`";
        assert!(problem(&without_key).contains(pair));
        let without_certificate = Files { key: file("own.key"), ..ca };
        assert!(problem(&without_certificate).contains(pair));
    }
}
