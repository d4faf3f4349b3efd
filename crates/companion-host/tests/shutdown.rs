//! The signals that end the process, sent to this one: in a binary of its own, since they end whatever else waits in it.
#![cfg(unix)]

use image_admission_companion_host::shutdown::requested;
use std::process::Command;
use std::time::Duration;
use tokio::time::timeout;

#[tokio::test]
async fn both_signals_end_the_wait() {
    for signal in ["-TERM", "-INT"] {
        let requested = requested().unwrap();
        let sent = Command::new("kill").args([signal, &std::process::id().to_string()]).status().unwrap();
        assert!(sent.success());
        timeout(Duration::from_secs(30), requested).await.unwrap();
    }
}
