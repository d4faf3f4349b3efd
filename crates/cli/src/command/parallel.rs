//! Work on several things at once, with results in the order of the things.

use std::io;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Builder};

/// What a program's first thread has; deciding deeply nested objects takes more than other threads have by default.
const STACK: usize = 8 << 20;

/// Does `work` for each item, on at most `threads` threads at a time.
///
/// Fails when the system has no thread left.
pub(super) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    threads: NonZeroUsize,
    work: impl Fn(&T) -> R + Sync,
) -> io::Result<Vec<R>> {
    // A browser gives a module one thread.
    if cfg!(target_family = "wasm") {
        return Ok(items.iter().map(work).collect());
    }
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { return done };
            done.push((index, work(item)));
        }
    };
    let mut results = thread::scope(|scope| {
        let mut workers = Vec::new();
        for _ in 0..threads.get().min(items.len()) {
            workers.push(Builder::new().name("work".to_owned()).stack_size(STACK).spawn_scoped(scope, worker)?);
        }
        let mut results = Vec::new();
        for worker in workers {
            results.extend(worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        io::Result::Ok(results)
    })?;
    results.sort_by_key(|(index, _)| *index);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<u32> = (0..100).collect();
        for threads in [1, 3, 1000] {
            let threads = NonZeroUsize::new(threads).unwrap();
            assert_eq!(
                in_parallel(&items, threads, |item| item * 2).unwrap(),
                items.iter().map(|item| item * 2).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn two_threads_work_at_once() {
        // Neither gets past before the other is there.
        let barrier = Barrier::new(2);
        let met = in_parallel(&[(), ()], NonZeroUsize::new(2).unwrap(), |()| barrier.wait().is_leader()).unwrap();
        assert_eq!(met.iter().filter(|leads| **leads).count(), 1);
    }
}
