//! Operations of every instruction set on 16 floats, and on 16 doubles where single precision is not sufficient.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use super::{Cache, F16x, Isa, LANES};

/// Lanes of floats. Each operation is one that IEEE 754 rounds exactly, or one of bits, so all sets give the same.
pub trait Floats: Isa {
    /// 16 floats.
    type F: Copy;
    /// 16 doubles.
    type D: Copy;
    /// A register: a part of 16 floats.
    type Part: Copy;
    /// Parts of 16 floats.
    const PARTS: usize;
    /// The number of vectors that fit in registers, in addition to working registers.
    const SUMS: usize;
    /// Whether nearly all machines of the platform have another set. Kernels of this one are then compiled for one row
    /// at a time only, because each shape takes long to compile.
    const RARE: bool = false;

    /// Loads lanes from memory.
    fn floats(self, lanes: &F16x) -> Self::F;
    /// The lanes.
    fn lanes(self, a: Self::F) -> F16x;
    /// The same float everywhere.
    fn splat_float(self, x: f32) -> Self::F;
    /// 16 numbers of half precision.
    fn halves(self, bytes: &[u8; 32]) -> Self::F;
    /// 16 upper halves of floats: BF16.
    fn upper_halves(self, bytes: &[u8; 32]) -> Self::F;

    /// The low byte of each.
    #[inline(always)]
    fn low_bytes(self, a: Self::F) -> [u8; LANES] {
        self.lanes(a).map(|a| a.to_bits() as u8)
    }

    /// a + b
    fn sum(self, a: Self::F, b: Self::F) -> Self::F;
    /// a - b
    fn difference(self, a: Self::F, b: Self::F) -> Self::F;
    /// a b
    fn product(self, a: Self::F, b: Self::F) -> Self::F;
    /// a / b
    fn quotient(self, a: Self::F, b: Self::F) -> Self::F;
    /// a b + c, rounded once.
    fn fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// a where a > b, else b; so b where one is a NaN.
    fn larger(self, a: Self::F, b: Self::F) -> Self::F;
    /// a where a < b, else b; so b where one is a NaN.
    fn smaller(self, a: Self::F, b: Self::F) -> Self::F;
    /// `then` where a < b, else `otherwise`.
    fn below(self, a: Self::F, b: Self::F, then: Self::F, otherwise: Self::F) -> Self::F;
    /// Without the sign.
    fn abs(self, a: Self::F) -> Self::F;
    /// With the sign of `of`.
    fn with_sign(self, a: Self::F, of: Self::F) -> Self::F;
    /// 2 to the power of integers from -126 to 127; anything for others.
    fn power_of_two(self, n: Self::F) -> Self::F;
    /// The exponents and the mantissas, in 1 .. 2, of positive normal numbers; anything for others.
    fn parts(self, a: Self::F) -> [Self::F; 2];
    /// The sum of all lanes: +8, +4, +2, +1.
    fn fold_sum(self, a: Self::F) -> f32;
    /// The same of each of four, bit by bit.
    #[inline(always)]
    fn fold_sums(self, a: [Self::F; 4]) -> [f32; 4] {
        [self.fold_sum(a[0]), self.fold_sum(a[1]), self.fold_sum(a[2]), self.fold_sum(a[3])]
    }
    /// The largest lane, by [`Floats::larger`] of lanes 8, 4, 2, 1 apart.
    fn fold_max(self, a: Self::F) -> f32;
    /// Lane i of vector j in lane j of vector i.
    fn transpose(self, a: [Self::F; LANES]) -> [Self::F; LANES];
    /// Of 16 rows that begin `stride` bytes apart, the first 8 words of 16 bits: word i of row j as word j of row i.
    ///
    /// # Panics
    /// If there are fewer bytes.
    fn transpose_words(self, rows: &[u8], stride: usize) -> [[u8; 32]; 8];

    /// Loads lanes from memory.
    fn doubles(self, lanes: &[f64; LANES]) -> Self::D;
    /// The same double everywhere.
    fn splat_double(self, x: f64) -> Self::D;
    /// As doubles.
    fn widen(self, a: Self::F) -> Self::D;
    /// As floats, rounded to nearest.
    fn narrow(self, a: Self::D) -> Self::F;
    /// a + b
    fn wide_sum(self, a: Self::D, b: Self::D) -> Self::D;
    /// a - b
    fn wide_difference(self, a: Self::D, b: Self::D) -> Self::D;
    /// a b
    fn wide_product(self, a: Self::D, b: Self::D) -> Self::D;
    /// a / b
    fn wide_quotient(self, a: Self::D, b: Self::D) -> Self::D;
    /// a b + c, rounded once.
    fn wide_fma(self, a: Self::D, b: Self::D, c: Self::D) -> Self::D;

    /// Part `i` of 16 numbers of single precision.
    fn singles_part(self, bytes: &[u8; 64], i: usize) -> Self::Part;
    /// Part `i` of 16 numbers of half precision.
    fn halves_part(self, bytes: &[u8; 32], i: usize) -> Self::Part;
    /// Part `i` of 16 upper halves of floats.
    fn upper_halves_part(self, bytes: &[u8; 32], i: usize) -> Self::Part;
    /// `c`, to whose part `i` a b is added, rounded once.
    fn fma_part(self, a: Self::Part, b: Self::Part, c: Self::F, i: usize) -> Self::F;

    /// Prefetches the cache line of this byte, which will be read soon. Any address is valid.
    fn prefetch_line(self, byte: *const u8);

    /// The same, but not so soon: into the second cache.
    fn prefetch_far(self, byte: *const u8);

    /// The cache line with this byte will be read soon, and only once.
    fn prefetch_once(self, byte: *const u8);

    /// The cache line with this byte will be read out of that cache.
    #[inline(always)]
    fn prefetch_into(self, byte: *const u8, cache: Cache) {
        match cache {
            Cache::First => self.prefetch_line(byte),
            Cache::Second => self.prefetch_far(byte),
            Cache::Once => self.prefetch_once(byte),
        }
    }

    /// The same of all these bytes.
    #[inline(always)]
    fn prefetch_all(self, bytes: &[u8], cache: Cache) {
        for line in bytes.chunks(64) {
            self.prefetch_into(line.as_ptr(), cache);
        }
    }

    /// All these bytes will be read soon.
    #[inline(always)]
    fn prefetch(self, bytes: &[u8]) {
        self.prefetch_all(bytes, Cache::First);
    }

    /// Vector `i` of the elements of `x`, with `rest` in lanes beyond its end.
    #[inline(always)]
    fn take(self, x: &[f32], i: usize, rest: f32) -> Self::F {
        let x = &x[i * LANES..];
        if let Some(lanes) = x.first_chunk() {
            return self.floats(lanes);
        }
        let mut lanes = [rest; LANES];
        lanes[..x.len()].copy_from_slice(x);
        self.floats(&lanes)
    }

    /// Stores vector `i` of the elements of `x`; lanes beyond its end are dropped.
    #[inline(always)]
    fn put(self, x: &mut [f32], i: usize, a: Self::F) {
        let x = &mut x[i * LANES..];
        let lanes = self.lanes(a);
        match x.first_chunk_mut() {
            Some(x) => *x = lanes,
            None => x.copy_from_slice(&lanes[..x.len()]),
        }
    }
}

#[cfg(test)]
mod tests;
