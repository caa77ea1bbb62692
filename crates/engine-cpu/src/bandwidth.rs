//! Measures the read rate of memory, with which the times of steps are compared.

use crate::isa::{Body, Set};
use crate::pages::Pages;
use crate::together::together;
use inkstone_compute::available_memory;
use std::hint::black_box;

/// Bytes that a thread reads in a sweep, and that all of them read at least: more than most caches hold, some
/// milliseconds.
const THREAD_BYTES: usize = 64 << 20;
const LEAST_BYTES: usize = 128 << 20;
/// The parts of the memory, which sweeps read in turn, so that caches do not hold a part when it is read again.
const PARTS: usize = 4;
/// Numbers of streams a thread that are tried. With small pages, and on some processors with large ones, several are
/// faster.
const STREAMS: [usize; 4] = [1, 2, 4, 8];
/// Sweeps of each number, of which the fastest counts.
const TRIES: usize = 3;
/// Words that are read of a stream before the next one's turn: 512 bytes.
const PIECE: usize = 64;

/// Memory that is read again and again, in huge pages where there are any.
pub(crate) struct Sweep {
    pages: Pages,
    /// Words of a part.
    part: usize,
    /// The part that is next.
    next: usize,
    threads: usize,
    set: Set,
    /// Streams a thread.
    pub(crate) streams: usize,
}

impl Sweep {
    /// Takes and touches the memory, and finds the number of streams. `None` if there is no memory or no thread.
    pub(crate) fn new(threads: usize, set: Set) -> Option<Sweep> {
        let bytes = PARTS * LEAST_BYTES.max(threads.saturating_mul(THREAD_BYTES));
        let bytes = bytes.min(usize::try_from(available_memory() / 4).ok()?);
        let unit = PARTS * threads.max(1) * PIECE * STREAMS[STREAMS.len() - 1];
        let words = bytes / 8 / unit * unit;
        let mut pages = Pages::new(words * 8)?;
        // Pages are given when they are written; all that are read were.
        pages.bytes_mut().fill(1);
        let threads = threads.max(1);
        let mut sweep = Sweep { pages, part: words / PARTS, next: 0, threads, set, streams: 1 };
        let mut best = 0.0;
        let mut fastest = 1;
        for streams in STREAMS {
            sweep.streams = streams;
            for _ in 0..TRIES {
                let rate = sweep.read()?;
                if rate > best {
                    (best, fastest) = (rate, streams);
                }
            }
        }
        sweep.streams = fastest;
        Some(sweep)
    }

    /// Bytes per second of one sweep with all threads.
    pub(crate) fn read(&mut self) -> Option<f64> {
        self.read_with(self.threads)
    }

    /// Bytes per second of one sweep with this number of threads.
    pub(crate) fn read_with(&mut self, threads: usize) -> Option<f64> {
        let words: &[u64] = bytemuck::try_cast_slice(self.pages.bytes()).ok()?;
        let words = &words[self.next * self.part..][..self.part];
        self.next = (self.next + 1) % PARTS;
        let each = words.len() / threads;
        if each == 0 {
            return None;
        }
        let time = together(threads, |i| {
            let words = &words[i * each..][..each];
            black_box(self.set.run(Read { words, streams: self.streams }));
        })?;
        let read = each * threads * size_of::<u64>();
        Some(read as f64 / time.as_secs_f64()).filter(|rate| rate.is_finite())
    }

    /// Bytes that it holds.
    pub(crate) fn bytes(&self) -> u64 {
        self.pages.bytes().len() as u64
    }
}

/// Reads words at several places in turn.
struct Read<'a> {
    words: &'a [u64],
    streams: usize,
}

impl Body for Read<'_> {
    type Output = u64;

    #[inline(always)]
    fn call(self) -> u64 {
        let each = self.words.len() / self.streams / PIECE * PIECE;
        let mut sums = [0u64; 32];
        for at in (0..each).step_by(PIECE) {
            for stream in 0..self.streams {
                let piece = &self.words[stream * each + at..][..PIECE];
                for words in piece.chunks_exact(32) {
                    for (sum, word) in sums.iter_mut().zip(words) {
                        *sum = sum.wrapping_add(*word);
                    }
                }
            }
        }
        sums.iter().fold(0, |all, sum| all.wrapping_add(*sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of the words that are read is the sum of all words: none is skipped or read twice.
    #[test]
    fn every_word_is_read_once_on_every_set_and_with_any_number_of_streams() {
        let words: Vec<u64> = (0..PIECE as u64 * 8 * 3).map(|i| i * i).collect();
        let sum = words.iter().sum::<u64>();
        for set in Set::ALL.into_iter().filter(|s| s.is_here()) {
            for streams in STREAMS {
                assert_eq!(set.run(Read { words: &words, streams }), sum, "{set:?}, {streams} streams");
            }
        }
    }

    #[test]
    fn a_sweep_gives_a_rate() {
        let mut sweep = Sweep::new(2, Set::Portable).unwrap();
        let rates = [sweep.read().unwrap(), sweep.read().unwrap()];
        assert!(rates.iter().all(|r| *r > 1e6), "{rates:?}");
        assert!(STREAMS.contains(&sweep.streams));
    }
}
