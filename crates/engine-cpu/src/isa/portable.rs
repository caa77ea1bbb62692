//! Plain Rust, for every machine.

use super::{Body, Isa, LANES};

/// The same lanes as arrays.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

impl Isa for Portable {
    type Sums = [i32; LANES];

    fn detect() -> Option<Portable> {
        Some(Portable)
    }

    #[inline(always)]
    fn run<B: Body>(self, body: B) -> B::Output {
        body.call()
    }

    #[inline(always)]
    fn zero(self) -> [i32; LANES] {
        [0; LANES]
    }

    #[inline(always)]
    fn dot(self, mut sums: [i32; LANES], w: &[u8; 64], a: [i8; 4]) -> [i32; LANES] {
        for (sum, w) in sums.iter_mut().zip(w.as_chunks::<4>().0) {
            for (w, a) in w.iter().zip(a) {
                *sum += i32::from(*w) * i32::from(a);
            }
        }
        sums
    }

    #[inline(always)]
    fn sums(self, sums: [i32; LANES]) -> [i32; LANES] {
        sums
    }
}

/// The floating-point mode of a thread: where it can't be asked it is the default one.
#[cfg(not(target_arch = "x86_64"))]
pub struct FloatMode;

#[cfg(not(target_arch = "x86_64"))]
impl FloatMode {
    /// Rounding to nearest, subnormal numbers as they are.
    pub fn default_mode() -> FloatMode {
        FloatMode
    }
}
