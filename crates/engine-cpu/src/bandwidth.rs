//! How fast memory is read: what the times of steps are held against.

use crate::pages::Pages;
use inkstone_compute::available_memory;
use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

/// Bytes that are read, if a quarter of the free memory is as much; more than most caches hold.
const BYTES: u64 = 512 << 20;
/// How long they are read, again and again.
const TIME: Duration = Duration::from_millis(100);
/// Words of a piece, 64 KiB; the clock is looked at between pieces.
const PIECE: usize = 8192;

/// Bytes a second that so many threads read together, each a part of its own.
pub(crate) fn read(threads: usize) -> Option<f64> {
    let words = usize::try_from(BYTES.min(available_memory() / 4) / 8).ok()?;
    let part = (words / threads.max(1)).max(1);
    let mut pages = Pages::new(words * 8)?;
    let memory: &mut [u64] = bytemuck::try_cast_slice_mut(pages.bytes_mut()).ok()?;
    // Pages are given when they are written; all that are read were.
    on_parts(memory, part, |part| {
        part.fill(1);
        0.0
    })?;
    on_parts(memory, part, |part| rate(part)).filter(|rate| *rate > 0.0)
}

/// Bytes a second that this thread reads.
fn rate(part: &[u64]) -> f64 {
    let (start, mut read) = (Instant::now(), 0);
    loop {
        for piece in part.chunks(PIECE) {
            black_box(black_box(piece).iter().fold(0u64, |sum, word| sum.wrapping_add(*word)));
            read += size_of_val(piece);
            let elapsed = start.elapsed();
            if elapsed >= TIME {
                return read as f64 / elapsed.as_secs_f64();
            }
        }
    }
}

/// Calls `f` on each part on a thread of its own; the sum comes back, or `None` if the system gives too few threads.
fn on_parts(memory: &mut [u64], part: usize, f: impl Fn(&mut [u64]) -> f64 + Sync) -> Option<f64> {
    let f = &f;
    thread::scope(|scope| {
        let start = |part| thread::Builder::new().spawn_scoped(scope, move || f(part));
        let started: Vec<_> = memory.chunks_exact_mut(part).map(start).collect();
        started.into_iter().map(|thread| thread.ok()?.join().ok()).sum()
    })
}
