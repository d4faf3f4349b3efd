//! The host's clocks. One of them stops rules: it tells the time, and that none is left when the guest's memory is nearly used up.

use crate::room::taken;
use image_admission_engine::{Clock, NO_TIME};
use std::time::Duration;

/// The most memory that rules begin something with, in bytes: what one builtin may still take fits below 128 MiB.
const MOST_FOR_RULES: usize = 80 * 1024 * 1024;

/// Bytes up to which a request leaves behind what it no longer needs: far more than one takes, and far less than there is
/// for a host that asks the same instance again.
const MOST_UNFREED: usize = 24 * 1024 * 1024;

/// The host's monotonic clock, and this module's memory.
#[derive(Debug)]
pub(crate) struct GuestClock;

impl Clock for GuestClock {
    fn now(&self) -> Option<Duration> {
        if taken() > MOST_FOR_RULES {
            return Some(NO_TIME);
        }
        // What no clock stops doesn't start.
        Some(host_time(MONOTONIC).unwrap_or(NO_TIME))
    }
}

/// The time of day, since the beginning of 1970 (UTC). None: the host doesn't tell it.
pub(crate) fn since_1970() -> Option<Duration> {
    host_time(REALTIME)
}

/// WASI's numbers of the two clocks.
const REALTIME: u32 = 0;
const MONOTONIC: u32 = 1;

/// Asks the host itself: the standard library has each clock's number in a page of data that nothing else of a request is in.
#[cfg(target_arch = "wasm32")]
#[expect(unsafe_code, reason = "the host writes the time into the module's memory")]
fn host_time(clock: u32) -> Option<Duration> {
    #[link(wasm_import_module = "wasi_snapshot_preview1")]
    unsafe extern "C" {
        /// A clock's number, how exact the answer should be in nanoseconds, and where the nanoseconds go; zero if they are there.
        fn clock_time_get(clock: u32, precision: u64, nanoseconds: *mut u64) -> u32;
    }
    let mut nanoseconds = 0;
    // SAFETY: the host writes eight bytes, and there is room for them.
    let error = unsafe { clock_time_get(clock, 1, &raw mut nanoseconds) };
    (error == 0).then(|| Duration::from_nanos(nanoseconds))
}

/// Elsewhere than in a module this is checked by the compiler, and never run.
#[cfg(not(target_arch = "wasm32"))]
fn host_time(_clock: u32) -> Option<Duration> {
    None
}

/// Whether there is memory to leave behind: the instance ends with the request, unless the host asks it again.
pub(crate) fn may_skip_freeing() -> bool {
    taken() < MOST_UNFREED
}
