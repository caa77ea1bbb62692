//! AVX-512.
#![allow(unsafe_code)]

use super::super::{Body, Isa};
use super::Avx2;

/// AVX-512 F, BW, DQ, VL and VNNI, with AVX2 and FMA. Only [`Avx512::detect`] makes one.
#[derive(Clone, Copy, Debug)]
pub struct Avx512(());

/// AVX-512 with products of BF16. Only [`Avx512Bf16::detect`] makes one.
#[derive(Clone, Copy, Debug)]
pub struct Avx512Bf16(());

/// See the function for AVX2.
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline(never)]
fn run<B: Body>(body: B) -> B::Output {
    body.call()
}

/// See the function for AVX2.
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16")]
#[inline(never)]
fn run_bf16<B: Body>(body: B) -> B::Output {
    body.call()
}

impl Avx512 {
    /// The instruction set that it includes.
    #[inline(always)]
    pub(in crate::isa) fn avx2(self) -> Avx2 {
        Avx2::of_avx512(self)
    }
}

impl Isa for Avx512 {
    fn detect() -> Option<Avx512> {
        let here = Avx2::detect().is_some()
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vnni");
        here.then_some(Avx512(()))
    }

    #[inline(always)]
    fn run<B: Body>(self, body: B) -> B::Output {
        // SAFETY: `self` proves that the machine has the features.
        unsafe { run(body) }
    }
}

impl Avx512Bf16 {
    /// The instruction set that it includes.
    #[inline(always)]
    pub(in crate::isa) fn avx512(self) -> Avx512 {
        Avx512(())
    }
}

impl Isa for Avx512Bf16 {
    fn detect() -> Option<Avx512Bf16> {
        let here = Avx512::detect().is_some() && is_x86_feature_detected!("avx512bf16");
        here.then_some(Avx512Bf16(()))
    }

    #[inline(always)]
    fn run<B: Body>(self, body: B) -> B::Output {
        // SAFETY: `self` proves that the machine has the features.
        unsafe { run_bf16(body) }
    }
}
