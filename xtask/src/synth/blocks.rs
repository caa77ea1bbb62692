//! Random blocks of each type: all bits are random, except for the scales, which determine the size of the values.

use half::f16;
use inkstone_tensor::DType;

use super::random::Random;

/// Fills `bytes`, whole blocks, with values whose root mean square is about `size`.
pub fn fill(dtype: DType, size: f32, random: &mut Random, bytes: &mut [u8]) {
    random.fill(bytes);
    let blocks = bytes.chunks_exact_mut(dtype.block_bytes());
    match dtype {
        DType::F16 => blocks.for_each(|b| float(b, f16::from_f32(size).to_bits(), 10)),
        DType::BF16 => blocks.for_each(|b| float(b, (size.to_bits() >> 16) as u16, 7)),
        DType::Q4_0 => blocks.for_each(|b| scale(b, 0, size / spread(4), random)),
        DType::Q4_1 => blocks.for_each(|b| scale_and_minimum(b, 0, -7.5, size / spread(4), random)),
        DType::Q5_0 => blocks.for_each(|b| scale(b, 0, size / spread(5), random)),
        DType::Q5_1 => blocks.for_each(|b| scale_and_minimum(b, 0, -15.5, size / spread(5), random)),
        DType::Q8_0 => blocks.for_each(|b| scale(b, 0, size / spread(8), random)),
        DType::Q2_K => blocks.for_each(|b| {
            b[..16].iter_mut().for_each(|pair| *pair = *pair & 15 | *pair << 4);
            scale_and_minimum(b, 80, 1.5, size / (spread(2) * ROOT_MEAN_SQUARE_4), random);
        }),
        DType::Q3_K => blocks.for_each(|b| scale(b, 108, size / (spread(3) * spread(6)), random)),
        DType::Q4_K | DType::Q5_K => blocks.for_each(|b| {
            b.copy_within(4..8, 8);
            b[12..16].iter_mut().for_each(|pair| *pair = *pair & 15 | *pair << 4);
            let (bits, middle) = if dtype == DType::Q4_K { (4, 7.5) } else { (5, 15.5) };
            scale_and_minimum(b, 0, middle, size / (spread(bits) * ROOT_MEAN_SQUARE_6), random);
        }),
        DType::Q6_K => blocks.for_each(|b| scale(b, 208, size / (spread(6) * spread(8)), random)),
        DType::IQ4_NL => blocks.for_each(|b| scale(b, 0, size / ROOT_MEAN_SQUARE_CODES, random)),
        DType::IQ4_XS => blocks.for_each(|b| scale(b, 0, size / (ROOT_MEAN_SQUARE_CODES * spread(6)), random)),
        // A power of two, of which 127 is the first, times 0 to 6.
        DType::MXFP4 => blocks.for_each(|b| b[0] = (127.0 + (size / 2.93).log2()).round() as u8),
        other => unreachable!("no file type has tensors of {other}"),
    }
}

/// Of 4 and of 6 bits without sign, and of the codes of `IQ4_NL`.
const ROOT_MEAN_SQUARE_4: f32 = 8.8;
const ROOT_MEAN_SQUARE_6: f32 = 36.6;
const ROOT_MEAN_SQUARE_CODES: f32 = 68.0;

/// Root mean square of integers of so many bits around 0.
fn spread(bits: u32) -> f32 {
    (1u32 << bits) as f32 / 12f32.sqrt()
}

/// Writes a scale about as large as `mean` at `at`.
fn scale(block: &mut [u8], at: usize, mean: f32, random: &mut Random) {
    let d = f16::from_f32(mean * (0.75 + 0.5 * random.unit()));
    block[at..at + 2].copy_from_slice(&d.to_le_bytes());
}

/// Writes a scale at `at`, and after it a minimum of `minimum` times this scale, which is subtracted from values (or
/// added, if it is negative). The values are around 0 if the scales within the block are as large as the minima.
fn scale_and_minimum(block: &mut [u8], at: usize, minimum: f32, mean: f32, random: &mut Random) {
    scale(block, at, mean, random);
    let d = f16::from_le_bytes([block[at], block[at + 1]]).to_f32();
    block[at + 2..at + 4].copy_from_slice(&f16::from_f32(minimum * d).to_le_bytes());
}

/// Keeps sign and mantissa of a 16-bit float, with the exponent of `size` or the one below.
fn float(bytes: &mut [u8], size: u16, mantissa: u32) {
    let bits = u16::from_le_bytes([bytes[0], bytes[1]]);
    let exponent = ((size >> mantissa) & ((1 << (15 - mantissa)) - 1)) - (bits >> mantissa & 1);
    let kept = bits & (0x8000 | ((1 << mantissa) - 1));
    bytes.copy_from_slice(&(kept | exponent << mantissa).to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::super::mix::{FILE_TYPES, FileType};
    use super::*;

    #[test]
    fn values_of_every_type_are_as_large_as_wanted_and_around_0() {
        for dtype in FILE_TYPES.iter().flat_map(FileType::types) {
            let blocks = 65_536 / dtype.block();
            let mut bytes = vec![0; blocks * dtype.block_bytes()];
            let mut values = vec![0.0; 65_536];
            fill(dtype, 0.02, &mut Random::new(1), &mut bytes);
            dtype.info().decode.unwrap()(&bytes, &mut values);
            let mean = values.iter().sum::<f32>() / values.len() as f32;
            let size = (values.iter().map(|v| v * v).sum::<f32>() / values.len() as f32).sqrt();
            assert!((0.014..0.028).contains(&size), "{dtype}: {size}");
            assert!(mean.abs() < 0.003, "{dtype}: {mean}");
        }
    }
}
