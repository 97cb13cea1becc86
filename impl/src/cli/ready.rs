//! What a node needs before it can start: `run` and `exec` ask for it, and `check-config` says what
//! they would say.

use bellwether::Config;
use bellwether::config::{self, Runnable};

use super::http::Keys;

/// Whether the configuration says all that it must, whatever is in the files that it names.
pub(crate) fn is_complete<C: Runnable>(config: &Config<C>) -> Result<(), config::Error> {
    config.directory()?;
    config.check_security()
}

/// Whether a node can start with this configuration, here: the files that it names can be read, and
/// are those of this node. Makes none.
pub(crate) fn check<C: Runnable>(config: &Config<C>) -> Result<(), config::Error> {
    is_complete(config)?;
    config.credentials()?;
    Keys::read(config)?;
    config.check_service_files()?;
    config.check_trace()
}
