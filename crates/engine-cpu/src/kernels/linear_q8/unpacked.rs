//! A group of weights in memory, as registers have it.

use super::super::formats::{Format, Scales};
use crate::isa::{F16x, LANES, Quads, Words};

/// Quads and [`Scales`]; what a format lacks is never touched.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(in super::super) struct Unpacked {
    pub(super) q: [[u8; 64]; 8],
    pub(super) d: F16x,
    m: F16x,
    scale: [[u8; 64]; 2],
    minimum: [[u8; 64]; 2],
}

impl Default for Unpacked {
    fn default() -> Unpacked {
        let (words, floats) = ([0; 64], [0.0; LANES]);
        Unpacked { q: [words; 8], d: floats, m: floats, scale: [words; 2], minimum: [words; 2] }
    }
}

impl Unpacked {
    #[inline(always)]
    pub(super) fn put<I: Words, F: Format>(&mut self, isa: I, q: impl Quads<I>, group: &Scales<I>) {
        for (k, bytes) in self.q.iter_mut().enumerate() {
            *bytes = isa.bytes(q.quad(isa, k));
        }
        self.d = isa.lanes(group.d);
        if F::MINIMUM {
            self.m = isa.lanes(group.m);
        }
        for i in 0..2 {
            if F::HALVES {
                self.scale[i] = isa.bytes(group.scale[i]);
            }
            if F::HALVES && F::MINIMUM {
                self.minimum[i] = isa.bytes(group.minimum[i]);
            }
        }
    }

    #[inline(always)]
    pub(super) fn scales<I: Words, F: Format>(&self, isa: I) -> Scales<I> {
        let pair = |words: &[[u8; 64]; 2]| [isa.load(&words[0]), isa.load(&words[1])];
        let none = [isa.splat(0); 2];
        Scales {
            d: isa.floats(&self.d),
            m: if F::MINIMUM { isa.floats(&self.m) } else { isa.splat_float(0.0) },
            scale: if F::HALVES { pair(&self.scale) } else { none },
            minimum: if F::HALVES && F::MINIMUM { pair(&self.minimum) } else { none },
        }
    }
}
