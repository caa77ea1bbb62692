//! The register that says how floats are computed.
#![allow(unsafe_code)]

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
