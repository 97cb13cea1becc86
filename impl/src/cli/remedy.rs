//! The errors of the library whose remedy is a key, a flag or a variable of this program: the
//! library speaks of its own functions, as other programs have other flags.

use bellwether::JoinError;
use bellwether::config::Error;
use bellwether::status::QueryError;
use bellwether::storage::StorageError;

/// What an error says, with the remedy.
pub(super) fn told(error: &anyhow::Error) -> String {
    if let Some(QueryError::Closed { .. }) = error.downcast_ref() {
        return format!("{error}, or use --wait");
    }
    let joining = error.downcast_ref::<JoinError>();
    let configuration = match joining {
        Some(JoinError::Config(error)) => Some(error),
        _ => error.downcast_ref::<Error>(),
    };
    match (joining, configuration) {
        (Some(JoinError::Listen { .. }), _) => {
            format!("{error} (`listen` in the file, --listen, BELLWETHER_LISTEN)")
        }
        (Some(JoinError::Storage(StorageError::Locked { .. })), _) => {
            format!("{error} (`storage.directory` in the file, --data-dir, BELLWETHER_DATA_DIR)")
        }
        (_, Some(Error::NoDirectory { protocol })) => format!(
            "protocol {protocol} must remember things through restarts, and nothing says where: \
             set `directory` under [storage] in the file, pass --data-dir, or set the environment \
             variable BELLWETHER_DATA_DIR"
        ),
        (_, Some(Error::Trace { .. })) => {
            format!("{error} (`log.trace` in the file, --trace, BELLWETHER_TRACE)")
        }
        (_, Some(Error::NoStore { .. })) => format!("{error}, or start that node with --store"),
        _ => error.to_string(),
    }
}
