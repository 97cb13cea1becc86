//! What is in the place of TLS towards a store in a program that was built without the feature
//! `tls`: the same functions, which say so, and the same type, of which there are no values.

use std::convert::Infallible;
use std::io;

use tokio::net::TcpStream;

use crate::lease_store::certificates::Certificates;
use crate::lease_store::{StoreError, StoreResult};

/// What a client needs to check the certificate of a server.
pub(super) struct Tls(Infallible);

impl Tls {
    pub(super) fn load(certificates: &Certificates) -> StoreResult<Self> {
        let (ca, _) = certificates.paths();
        Err(StoreError::Unfit {
            problem: format!("{}: this program was built without TLS", ca.display()),
            remedy: "build it with the feature `tls` of the package bellwether".to_owned(),
        })
    }

    pub(super) async fn connect(&self, _: &str, _: TcpStream) -> io::Result<TcpStream> {
        match self.0 {}
    }
}
