//! A group of weights in memory, as registers have it.

use super::super::formats::{Format, Scales};
use crate::isa::{F16x, LANES, Quads, Words};

/// Whether values are numbers of 16 bits here, two in a word.
pub(super) const fn is_wide<I: Words, F: Format>() -> bool {
    F::BITS >= I::WIDE && !F::HALVES && !F::MINIMUM
}

/// Quads of bytes, or twice as many words of 16-bit numbers, and [`Scales`]. Fields that a format does not have are
/// never used.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(in super::super) struct Unpacked {
    pub(super) q: [[u8; 64]; 16],
    pub(super) d: F16x,
    m: F16x,
    scale: [[u8; 64]; 2],
    minimum: [[u8; 64]; 2],
}

impl Default for Unpacked {
    fn default() -> Unpacked {
        let (words, floats) = ([0; 64], [0.0; LANES]);
        Unpacked { q: [words; 16], d: floats, m: floats, scale: [words; 2], minimum: [words; 2] }
    }
}

impl Unpacked {
    #[inline(always)]
    pub(super) fn put<I: Words, F: Format>(&mut self, isa: I, q: impl Quads<I>, group: &Scales<I>) {
        for k in 0..8 {
            let quad = q.quad(isa, k);
            if is_wide::<I, F>() {
                let [even, odd] = isa.wide(quad, F::OFFSET);
                [self.q[2 * k], self.q[2 * k + 1]] = [isa.bytes(even), isa.bytes(odd)];
            } else {
                self.q[k] = isa.bytes(quad);
            }
        }
        self.d = isa.lanes(group.d);
        if F::MINIMUM {
            self.m = isa.lanes(group.m);
        }
        for i in 0..2 {
            if F::HALVES || F::WHOLE {
                self.scale[i] = isa.bytes(group.scale[i]);
            }
            if (F::HALVES || F::WHOLE) && F::MINIMUM {
                self.minimum[i] = isa.bytes(group.minimum[i]);
            }
        }
    }

    /// Quads of bytes.
    #[inline(always)]
    pub(super) fn quads(&self) -> &[[u8; 64]; 8] {
        let [quads @ .., _, _, _, _, _, _, _, _] = &self.q;
        quads
    }

    #[inline(always)]
    pub(super) fn scales<I: Words, F: Format>(&self, isa: I) -> Scales<I> {
        let pair = |words: &[[u8; 64]; 2]| [isa.load(&words[0]), isa.load(&words[1])];
        let none = [isa.splat(0); 2];
        Scales {
            d: isa.floats(&self.d),
            m: if F::MINIMUM { isa.floats(&self.m) } else { isa.splat_float(0.0) },
            scale: if F::HALVES || F::WHOLE { pair(&self.scale) } else { none },
            minimum: if (F::HALVES || F::WHOLE) && F::MINIMUM { pair(&self.minimum) } else { none },
        }
    }
}
