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
        let own = match (files.certificate.clone(), files.key.clone()) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            (Some(_), None) => return Err("the certificate for the store needs its key".to_owned()),
            (None, Some(_)) => return Err("the key for the store needs its certificate".to_owned()),
        };
        Ok(Self { ca, own })
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
        assert!(problem(&without_key).contains("needs its key"));
        let without_certificate = Files { key: file("own.key"), ..ca };
        assert!(problem(&without_certificate).contains("needs its certificate"));
    }
}
