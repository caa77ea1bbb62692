//! AVX2 and AVX-512.
#![allow(unsafe_code)]

use super::{Body, Isa};

/// AVX2, FMA and F16C. Only [`Avx2::detect`] makes one.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

/// AVX-512 F, BW, DQ, VL and VNNI, with AVX2 and FMA. Only [`Avx512::detect`] makes one.
#[derive(Clone, Copy, Debug)]
pub struct Avx512(());

/// AVX-512 with products of BF16. Only [`Avx512Bf16::detect`] makes one.
#[derive(Clone, Copy, Debug)]
pub struct Avx512Bf16(());

#[target_feature(enable = "avx2,fma,f16c")]
fn run_avx2<B: Body>(body: B) -> B::Output {
    body.call()
}

#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn run_avx512<B: Body>(body: B) -> B::Output {
    body.call()
}

#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16")]
fn run_avx512_bf16<B: Body>(body: B) -> B::Output {
    body.call()
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
        unsafe { run_avx2(body) }
    }
}

impl Avx512 {
    /// What it includes.
    #[inline(always)]
    pub(super) fn avx2(self) -> Avx2 {
        Avx2(())
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
        unsafe { run_avx512(body) }
    }
}

impl Avx512Bf16 {
    /// What it includes.
    #[inline(always)]
    pub(super) fn avx512(self) -> Avx512 {
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
        unsafe { run_avx512_bf16(body) }
    }
}

/// The floating-point mode of this thread, which is put back when this is dropped: programs that load the library may
/// have another than the one that results are defined in.
pub struct FloatMode {
    before: u32,
}

impl FloatMode {
    /// Rounding to nearest, subnormal numbers as they are, no traps.
    pub fn default_mode() -> FloatMode {
        let mut before = 0u32;
        // SAFETY: stores the control register of the thread in `before`.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &mut before, options(nostack, preserves_flags)) };
        load(0x1f80);
        FloatMode { before }
    }
}

impl Drop for FloatMode {
    fn drop(&mut self) {
        load(self.before);
    }
}

fn load(mode: u32) {
    // SAFETY: a mode that the thread had, or the default one of the ABI.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &mode, options(nostack, preserves_flags, readonly)) };
}
