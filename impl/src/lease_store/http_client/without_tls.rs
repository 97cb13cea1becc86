//! What is in the place of TLS towards a store in a program that was built without the feature
//! `tls`: the same functions, which say so, and the same type, of which there are no values.

use std::convert::Infallible;
use std::io;
use std::path::Path;

use tokio::net::TcpStream;

/// What a client needs to check the certificate of a server.
pub(super) struct Tls(Infallible);

impl Tls {
    pub(super) fn load(ca: &Path, _: Option<(&Path, &Path)>) -> Result<Self, String> {
        Err(format!(
            "{}: this program was built without TLS: build it with the feature `tls` of the \
             package bellwether",
            ca.display()
        ))
    }

    pub(super) async fn connect(&self, _: &str, _: TcpStream) -> io::Result<TcpStream> {
        match self.0 {}
    }
}
