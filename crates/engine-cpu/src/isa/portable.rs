//! Plain Rust, for every machine.

use super::{Body, Isa};

/// The same lanes as arrays.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

impl Isa for Portable {
    fn detect() -> Option<Portable> {
        Some(Portable)
    }

    /// Compiled once for each body, as for the other sets: all of them fall back to it.
    #[inline(never)]
    fn run<B: Body>(self, body: B) -> B::Output {
        body.call()
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
