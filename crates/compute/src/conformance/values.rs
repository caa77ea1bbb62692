//! Made-up values, the same on every machine.

use inkstone_tensor::{Array, DType, Sizes, Type, fnv1a};

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// A seed from a case's name.
    pub(super) fn seed(name: &str) -> u64 {
        fnv1a(name.bytes())
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`, which is not 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
    }

    /// About normal, with unit variance: the sum of twelve uniform numbers.
    pub(super) fn normal(&mut self) -> f32 {
        let uniform = |bits: u64| (bits >> 40) as f32 / (1 << 24) as f32;
        (0..12).map(|_| uniform(self.next())).sum::<f32>() - 6.0
    }

    /// The numbers below `count` in random order.
    pub(super) fn permutation(&mut self, count: usize) -> Vec<u32> {
        let mut items: Vec<u32> = (0..count as u32).collect();
        (1..count).rev().for_each(|i| items.swap(i, self.below(i + 1)));
        items
    }

    /// A value in a step of these sizes: encoded normal values, or, where a dtype can't be encoded, blocks of random bytes that
    /// decode to values of moderate size.
    pub(super) fn array(&mut self, ty: &Type, sizes: &Sizes) -> Array {
        let info = ty.dtype.info();
        let mut array = Array::of(ty, sizes).expect("cases are small");
        if info.encode.is_some() {
            for r in 0..array.rows() {
                let row: Vec<f32> = (0..ty.cols).map(|_| self.normal()).collect();
                array.encode_row(r, &row);
            }
        } else if info.decode.is_some() {
            array.bytes_mut().chunks_exact_mut(info.block_bytes).for_each(|block| self.block(ty.dtype, block));
        } else {
            array.bytes_mut().iter_mut().for_each(|b| *b = self.next() as u8);
        }
        array
    }

    fn block(&mut self, dtype: DType, block: &mut [u8]) {
        let info = dtype.info();
        let mut values = vec![0f32; info.block];
        for _ in 0..1000 {
            block.iter_mut().for_each(|b| *b = self.next() as u8);
            info.decode.inspect(|decode| decode(block, &mut values));
            if values.iter().all(|v| v.abs() < 8.0) && values.iter().any(|v| v.abs() > 0.125) {
                return;
            }
        }
        block.fill(0);
    }
}

/// Describes the difference of two matrices if their relative L2 distance exceeds `tolerance`. With a tolerance of 0,
/// and for values that are not numbers, every bit counts.
pub(super) fn difference(expected: &Array, found: &Array, tolerance: f64) -> Option<String> {
    if expected == found {
        return None;
    }
    if (expected.dtype(), expected.rows(), expected.cols()) != (found.dtype(), found.rows(), found.cols()) {
        return Some(format!("{found:?}, expected {expected:?}"));
    }
    if tolerance == 0.0 || expected.dtype().info().decode.is_none() {
        let r = (0..expected.rows()).find(|r| expected.row_bytes_of(*r) != found.row_bytes_of(*r))?;
        let (a, b) = (expected.row_bytes_of(r), found.row_bytes_of(r));
        let size = expected.dtype().block_bytes();
        let c = a.chunks_exact(size).zip(b.chunks_exact(size)).position(|(a, b)| a != b)?;
        let show = |bytes: &[u8]| show(expected.dtype(), &bytes[c * size..][..size]);
        return Some(format!("row {r}, block {c} is {}, expected {}", show(b), show(a)));
    }
    let (mut a, mut b) = (vec![0f32; expected.cols()], vec![0f32; expected.cols()]);
    let (mut distance, mut norm) = (0f64, 0f64);
    for r in 0..expected.rows() {
        expected.decode_row(r, &mut a);
        found.decode_row(r, &mut b);
        for (c, (a, b)) in a.iter().zip(&b).enumerate() {
            if a.is_finite() != b.is_finite() {
                return Some(format!("row {r}, column {c} is {b}, expected {a}"));
            }
            if a.is_finite() {
                distance += f64::from(a - b).powi(2);
                norm += f64::from(*a).powi(2);
            }
        }
    }
    let relative = (distance / norm.max(f64::MIN_POSITIVE)).sqrt();
    (relative > tolerance).then(|| format!("relative L2 distance {relative:.2e}, allowed {tolerance:.0e}"))
}

/// Where two matrices of one shape are farthest from each other, for messages; nothing if their values can't be
/// decoded.
pub(super) fn largest(expected: &Array, found: &Array) -> String {
    if expected.dtype().info().decode.is_none() || (expected.rows(), expected.cols()) != (found.rows(), found.cols()) {
        return String::new();
    }
    let (mut a, mut b) = (vec![0f32; expected.cols()], vec![0f32; expected.cols()]);
    let mut most = (0, 0, 0.0, 0.0);
    for r in 0..expected.rows() {
        expected.decode_row(r, &mut a);
        found.decode_row(r, &mut b);
        for (c, (a, b)) in a.iter().zip(&b).enumerate() {
            if (a - b).abs() > f32::abs(most.2 - most.3) {
                most = (r, c, *a, *b);
            }
        }
    }
    let (r, c, a, b) = most;
    format!("; farthest in row {r}, column {c}: {b}, expected {a}")
}

fn show(dtype: DType, block: &[u8]) -> String {
    match (dtype, block.try_into()) {
        (DType::F32, Ok(bytes)) => format!("{}", f32::from_le_bytes(bytes)),
        (DType::U32, Ok(bytes)) => format!("{}", u32::from_le_bytes(bytes)),
        _ => format!("{block:02x?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_tensor::{DTYPES, Dim};

    #[test]
    fn made_up_values_are_finite_in_every_dtype_that_decodes() {
        for info in DTYPES.iter().filter(|i| i.decode.is_some()) {
            let a = Random::new(1).array(&Type::new(info.dtype, Dim::N(2), 512), &Sizes::default());
            let mut row = vec![f32::NAN; 512];
            a.decode_row(1, &mut row);
            assert!(row.iter().all(|v| v.abs() < 9.0) && row.iter().any(|v| *v != 0.0), "{}", info.name);
        }
    }

    #[test]
    fn differences_are_found_at_both_ends_of_the_tolerance() {
        let a = Array::from_f32(2, vec![1.0, 2.0, 3.0, 4.0]);
        let b = Array::from_f32(2, vec![1.0, 2.0, 3.0, 4.01]);
        assert_eq!(difference(&a, &a, 0.0), None);
        assert_eq!(difference(&a, &b, 0.0).unwrap(), "row 1, block 1 is 4.01, expected 4");
        assert_eq!(difference(&a, &b, 1e-2), None);
        assert!(difference(&a, &b, 1e-3).unwrap().starts_with("relative L2 distance 1.83e-3"));
        let nan = Array::from_f32(2, vec![1.0, f32::NAN, 3.0, 4.0]);
        assert_eq!(difference(&a, &nan, 1.0).unwrap(), "row 0, column 1 is NaN, expected 2");
        let wide = Array::from_f32(4, vec![1.0, 2.0, 3.0, 4.0]);
        assert_eq!(difference(&a, &wide, 1.0).unwrap(), "F32[1, 4], expected F32[2, 2]");
    }
}
