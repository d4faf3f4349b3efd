//! The signals that end the process.

use std::io;

/// Waits for SIGTERM or SIGINT. Both are caught from this call on, not only once the result is polled. Fails when the system
/// refuses a handler.
#[cfg(unix)]
pub fn requested() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => (),
            _ = interrupt.recv() => (),
        }
    })
}

/// Waits for Ctrl-C.
#[cfg(not(unix))]
pub fn requested() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}
