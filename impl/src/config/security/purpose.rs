//! The extended key usages of a node's own certificate: a node shows the certificate when it calls
//! another node and when another one calls.

use std::path::Path;
use std::sync::Arc;

use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{CertificateError, RootCertStore, crypto};

use crate::config::Error;

/// The remedy for a certificate with one of the two usages only.
pub(super) const REMEDY: &str =
    "use one with both extended key usages, serverAuth and clientAuth: see `bellwether keys node`";

/// Checks that the certificate, which is from this file, may be shown by both sides of a
/// connection. Who has signed it, and when it expires, does not matter here.
pub(super) fn check(certificate: &CertificateDer<'_>, file: &Path) -> Result<(), Error> {
    let (now, mut roots) = (UnixTime::now(), RootCertStore::empty());
    let serves = ParsedCertificate::try_from(certificate).and_then(|parsed| {
        verify_server_cert_signed_by_trust_anchor(&parsed, &roots, &[], now, &[])
    });
    // A verifier of clients needs an authority, and looks at the usages before it looks for that.
    let calls = roots.add(certificate.clone()).and_then(|()| {
        let provider = Arc::new(crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        let verifier =
            verifier.build().map_err(|error| rustls::Error::General(error.to_string()))?;
        verifier.verify_client_cert(certificate, &[], now).map(drop)
    });
    for (result, missing) in [(serves, "serverAuth"), (calls, "clientAuth")] {
        if let Err(rustls::Error::InvalidCertificate(problem)) = result
            && is_of_usage(&problem)
        {
            return Err(Error::Security {
                problem: format!(
                    "the certificate {} lacks the extended key usage {missing}: {REMEDY}",
                    file.display()
                ),
            });
        }
    }
    Ok(())
}

/// Returns whether a certificate was shown by a side for which it was not made.
pub(super) fn is_of_usage(problem: &CertificateError) -> bool {
    matches!(
        problem,
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. }
    )
}
