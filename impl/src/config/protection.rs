//! What protects a node, as its configuration has it: what it proves itself with, when that
//! expires, and what is open to others.

use super::security::tls;
use super::{Address, Config, Credentials, Error, Expiry, Runnable};

impl<C: Runnable> Config<C> {
    /// Reads the credentials with which the node proves itself to others.
    ///
    /// # Errors
    ///
    /// As [`Config::check_security`], and [`Error::Security`] when a file cannot be used.
    pub fn credentials(&self) -> Result<Credentials, Error> {
        self.check_security()?;
        let credentials = self.security.load(&self.cluster)?;
        credentials.check(self.node)?;
        // What is wrong with these files, the server says that shows what is in them.
        let files = self.http.certificate_files();
        let further = files.filter_map(|(which, file)| tls::expiries(which, file).ok());
        Ok(credentials.with_expiries(further.flatten()))
    }

    /// Reads the ends of all certificates that the configuration names, file by file: those of
    /// nodes, of HTTP, and of their authorities. No private key is read.
    ///
    /// # Errors
    ///
    /// [`Error::Security`] for each file that cannot be used; for all of them when the program was
    /// built without the feature `tls`.
    #[must_use]
    pub fn expiries(&self) -> Vec<Result<Vec<Expiry>, Error>> {
        let files = self.security.certificate_files().chain(self.http.certificate_files());
        files.map(|(which, file)| tls::expiries(which, file)).collect()
    }

    /// Checks whether the security suits the addresses.
    ///
    /// # Errors
    ///
    /// [`Error::Unprotected`] when nothing protects the nodes, and an address is that of another
    /// machine.
    pub fn check_security(&self) -> Result<(), Error> {
        self.security.check(self.all_addresses())
    }

    /// Returns the warning about a node that believes what other machines say; `None` if it does
    /// not.
    #[must_use]
    pub fn security_warning(&self) -> Option<String> {
        self.security.warning(self.all_addresses())
    }

    /// Returns the warning about a token that is sent over a network without encryption; `None` if
    /// none is.
    #[must_use]
    pub fn http_warning(&self) -> Option<String> {
        self.http.warning()
    }

    /// The addresses of all members, and the one at which the node listens.
    fn all_addresses(&self) -> impl Iterator<Item = &Address> {
        self.addresses.values().chain([&self.listen])
    }
}
