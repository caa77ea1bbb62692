//! Instruction sets. A kernel is written once, over 16 lanes, and compiled for each set; only the instructions differ,
//! never a result.

mod far;
mod floats;
mod lanes;
pub(crate) mod math;
mod pairs;
mod portable;
mod words;
#[cfg(target_arch = "x86_64")]
mod x86;

#[doc(hidden)]
pub use far::set_streams;
pub(crate) use far::{Ahead, Cache, STREAMS, far, streams};
pub use floats::Floats;
pub use lanes::{F16x, LANES};
pub use pairs::Pairs;
pub use portable::Portable;
pub use words::{Products, Quads, Words};
#[cfg(target_arch = "x86_64")]
pub use x86::{Avx2, Avx512, Avx512Bf16, FloatMode};

#[cfg(not(target_arch = "x86_64"))]
pub use portable::FloatMode;

/// Code that is compiled for a set. Not a closure: `call` must be inlined, always, into a function that has the
/// instructions, and closures can't say so.
pub trait Body {
    /// The type of its result.
    type Output;

    /// Runs it. The function and all functions that it calls are `#[inline(always)]`.
    fn call(self) -> Self::Output;
}

/// A set of instructions; a value of the type proves that the machine has it.
pub trait Isa: Copy + Send + Sync + 'static {
    /// A proof, if this machine has it.
    fn detect() -> Option<Self>;

    /// Runs code that is compiled for this set: a function of its own for each body, which is never inlined. A body may
    /// run others; large ones should, since the compiler takes far more than twice as long for one of twice the size.
    fn run<B: Body>(self, body: B) -> B::Output;
}

/// The sets that there are, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// AVX-512 F, BW, DQ, VL and VNNI.
    Avx512,
    /// AVX2, FMA and F16C.
    Avx2,
    /// Plain Rust: the same lanes as arrays.
    Portable,
}

/// Instructions that multiply pairs of BF16, as a feature of the device: part of no set, since their arithmetic is
/// their own.
pub const BF16_PAIRS: &str = "avx512bf16";

impl Set {
    /// All of them, best first.
    pub const ALL: [Set; 3] = [Set::Avx512, Set::Avx2, Set::Portable];

    /// As a feature of the device that kernels require.
    pub const fn name(self) -> &'static str {
        match self {
            Set::Avx512 => "avx512",
            Set::Avx2 => "avx2",
            Set::Portable => "portable",
        }
    }

    /// Whether it has products whose sums of whole blocks are integers (`q8/256.i32`). With AVX-512 they are no faster:
    /// a group takes only eight instructions there, so that products of words, which are two instructions on some
    /// processors, are a large part (bench/notes/prompts.md).
    pub const fn has_block_sums(self) -> bool {
        !matches!(self, Set::Avx512)
    }

    /// Runs code that is compiled for this set, or plain Rust where the machine does not have it.
    pub(crate) fn run<B: Body>(self, body: B) -> B::Output {
        #[cfg(target_arch = "x86_64")]
        match self {
            Set::Avx512 => {
                if let Some(isa) = Avx512::detect() {
                    return isa.run(body);
                }
            }
            Set::Avx2 => {
                if let Some(isa) = Avx2::detect() {
                    return isa.run(body);
                }
            }
            Set::Portable => {}
        }
        Portable.run(body)
    }

    /// Whether this machine has it.
    pub fn is_here(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => Avx512::detect().is_some(),
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => Avx2::detect().is_some(),
            #[cfg(not(target_arch = "x86_64"))]
            Set::Avx512 | Set::Avx2 => false,
            Set::Portable => true,
        }
    }
}
