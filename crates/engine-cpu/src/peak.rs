//! Measures the peak rate of products of bytes, with which the times of compute-bound steps are compared.

#[cfg(target_arch = "x86_64")]
use crate::isa::{Avx2, Avx512};
use crate::isa::{Body, Portable, Set, Words};
use crate::together::together;
use std::hint::black_box;

/// Turns of a loop: some milliseconds on a slow machine, and much more than it takes to start. A test asks for no true
/// rate.
const TURNS: usize = if cfg!(test) { 200 } else { 20_000 };
/// Dwords of weights and activations that a turn multiplies.
const DEPTH: usize = 8;
/// Products of a word: 16 lanes of 4 bytes.
const MACS: usize = 64;
/// Runs of each loop, of which the fastest counts.
const TRIES: usize = 3;

/// A loop, and its sums side by side.
type Loop = (fn(), usize);

/// Bits of the weights decide how some sets add, the sums side by side how well latencies are hidden, and vectors of
/// weights that share activations how much is loaded.
const fn loops<I: Words>() -> [Loop; 9] {
    [
        (turns::<I, 4, 2, 1>, 2),
        (turns::<I, 4, 4, 1>, 4),
        (turns::<I, 4, 6, 1>, 6),
        (turns::<I, 4, 12, 1>, 12),
        (turns::<I, 8, 2, 1>, 2),
        (turns::<I, 8, 4, 1>, 4),
        (turns::<I, 8, 6, 1>, 6),
        (turns::<I, 8, 12, 1>, 12),
        (turns::<I, 8, 6, 4>, 24),
    ]
}

/// Multiply-adds a second of the fastest loop, on all threads together; `None` if the system gives too few.
pub(crate) fn products(threads: usize, set: Set) -> Option<f64> {
    let loops = match set {
        #[cfg(target_arch = "x86_64")]
        Set::Avx512 => loops::<Avx512>(),
        #[cfg(target_arch = "x86_64")]
        Set::Avx2 => loops::<Avx2>(),
        _ => loops::<Portable>(),
    };
    let (threads, mut best) = (threads.max(1), 0f64);
    for (turns, side) in loops {
        for _ in 0..TRIES {
            let time = together(threads, |_| turns())?;
            best = best.max((threads * TURNS * DEPTH * MACS * side) as f64 / time.as_secs_f64());
        }
    }
    Some(best).filter(|rate| rate.is_finite())
}

fn turns<I: Words, const BITS: u32, const N: usize, const P: usize>() {
    if let Some(isa) = I::detect() {
        isa.run(Turns::<I, BITS, N, P>(isa));
    }
}

/// The loop: `N` sums of each of `P` vectors of weights.
struct Turns<I, const BITS: u32, const N: usize, const P: usize>(I);

impl<I: Words, const BITS: u32, const N: usize, const P: usize> Body for Turns<I, BITS, N, P> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let isa = self.0;
        let x = [[0x0102_0304u32; N]; DEPTH];
        let bytes = [[[1u8; 64]; DEPTH]; P];
        let mut sums = [[isa.splat(0); N]; P];
        for _ in 0..TURNS {
            // Nothing may be known of them, or products would be computed once.
            let (x, bytes) = (black_box(&x), black_box(&bytes));
            sums = isa.dots::<BITS, N, P>(sums, bytes.each_ref(), x);
        }
        black_box(sums.map(|s| s.map(|s| isa.bytes(s))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_that_is_here_has_a_rate() {
        for set in Set::ALL.into_iter().filter(|s| s.is_here()) {
            let rate = products(2, set).unwrap();
            assert!(rate > 1e6, "{set:?}: {rate}");
        }
    }
}
