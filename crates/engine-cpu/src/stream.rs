//! Weights of a mapped file that does not fit in memory: the first weights are locked, the others are streamed from the
//! file.
//!
//! Plans read their weights in the same order each time. A system that evicts the least recently used pages would evict
//! exactly the pages that are needed next, so that every step would read the whole file again. Locked pages are never
//! read again, and the system reads the rest ahead in large pieces ([`Resident::stream`]). Prefetches by tiles, page by
//! page, were slower (bench/notes/loading.md).

use inkstone_compute::{Error, Result};
use inkstone_tensor::{Progress, Resident};
use std::ops::Range;

/// Bytes that are locked at once: between them loading can end.
const LOCKED: usize = 16 << 20;

/// Bytes of weights in a mapped file that memory does not hold.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Streamed {
    pub(crate) locked: u64,
    /// Read from the file again and again.
    pub(crate) streamed: u64,
}

/// Locks weights up to half of the memory, unless three quarters hold all of them; the rest is left for caches and
/// running work. `weights` are the places of weights in the file.
pub(crate) fn stream(
    file: &dyn Resident,
    weights: &[Range<usize>],
    memory: u64,
    progress: &dyn Progress,
) -> Result<Streamed> {
    let total: u64 = weights.iter().map(|bytes| bytes.len() as u64).sum();
    if total <= memory / 4 * 3 {
        return Ok(Streamed::default());
    }
    file.stream();
    let mut room = usize::try_from(memory / 2).unwrap_or(usize::MAX);
    let mut locked = 0;
    for bytes in weights {
        let first = bytes.start..bytes.end.min(bytes.start.saturating_add(room));
        if first.is_empty() || !lock(file, first.clone(), progress)? {
            break;
        }
        room -= first.len();
        locked += first.len() as u64;
    }
    Ok(Streamed { locked, streamed: total - locked })
}

/// False if the system does not allow it.
fn lock(file: &dyn Resident, bytes: Range<usize>, progress: &dyn Progress) -> Result<bool> {
    for start in bytes.clone().step_by(LOCKED) {
        if progress.cancelled() {
            return Err(Error::Cancelled);
        }
        if !file.lock(start..bytes.end.min(start + LOCKED)) {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_tensor::NoProgress;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A file that records its streams, and the start and length of locked ranges, and allows a number of locked bytes.
    struct File {
        streams: AtomicUsize,
        locked: Mutex<Vec<(usize, usize)>>,
        allowed: usize,
    }

    impl Resident for File {
        fn stream(&self) {
            assert!(self.locked.lock().unwrap().is_empty(), "what is locked is read in large pieces, too");
            self.streams.fetch_add(1, Ordering::Relaxed);
        }

        fn lock(&self, bytes: Range<usize>) -> bool {
            let mut locked = self.locked.lock().unwrap();
            let fits = locked.iter().map(|(_, len)| len).sum::<usize>() + bytes.len() <= self.allowed;
            if fits {
                locked.push((bytes.start, bytes.len()));
            }
            fits
        }
    }

    #[test]
    fn half_of_the_memory_is_locked_and_the_rest_streams() {
        const M: usize = 1 << 20;
        let weights = [100..100 + 20 * M, 40 * M..50 * M, 60 * M..60 * M + 7];
        let all = 30 * M + 7;
        let run = |memory: usize, allowed: usize| {
            let file = File { streams: AtomicUsize::new(0), locked: Mutex::default(), allowed };
            let streamed = stream(&file, &weights, memory as u64, &NoProgress).unwrap();
            assert_eq!(file.streams.into_inner(), usize::from(streamed.streamed > 0));
            (file.locked.into_inner().unwrap(), streamed.locked as usize, streamed.streamed as usize)
        };
        // Three quarters hold all.
        assert_eq!(run(41 * M, usize::MAX), (vec![], 0, 0));
        let first = [(100, LOCKED), (100 + LOCKED, 20 * M - LOCKED)];
        assert_eq!(run(40 * M, usize::MAX), (first.to_vec(), 20 * M, all - 20 * M));
        assert_eq!(run(24 * M, usize::MAX), (vec![(100, 12 * M)], 12 * M, all - 12 * M));
        // The system allows less, or nothing: a weight that is not locked as a whole counts as streamed.
        assert_eq!(run(40 * M, LOCKED), (first[..1].to_vec(), 0, all));
        assert_eq!(run(40 * M, 0), (vec![], 0, all));
    }
}
