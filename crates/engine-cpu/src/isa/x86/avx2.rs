//! AVX2.
#![allow(unsafe_code)]

use super::super::{Body, Isa};

/// AVX2, FMA and F16C. Only [`Avx2::detect`] makes one.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

/// In a module of each set, since these are compiled side by side.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline(never)]
fn run<B: Body>(body: B) -> B::Output {
    body.call()
}

impl Avx2 {
    /// The instruction set that AVX-512 includes.
    #[inline(always)]
    pub(super) fn of_avx512(_: super::Avx512) -> Avx2 {
        Avx2(())
    }
}

impl Isa for Avx2 {
    fn detect() -> Option<Avx2> {
        let here =
            is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c");
        here.then_some(Avx2(()))
    }

    #[inline(always)]
    fn run<B: Body>(self, body: B) -> B::Output {
        // SAFETY: `self` proves that the machine has the features.
        unsafe { run(body) }
    }
}
