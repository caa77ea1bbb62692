//! Block formats against golden data, bit for bit: `TYPE.bin` decodes to `TYPE.f32`, `encode-input.f32` encodes to
//! `TYPE.enc` (see the README beside the data).

use inkstone_tensor::DType::{self, *};
use std::path::PathBuf;

const DECODED: &[DType] =
    &[F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, MXFP4];
const ENCODED: &[DType] = &[F32, F16, BF16, Q8_0];

fn golden(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle/quants").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn singles(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

fn decode(dtype: DType, bytes: &[u8]) -> Vec<f32> {
    let mut values = vec![f32::NAN; bytes.len() / dtype.block_bytes() * dtype.block()];
    dtype.info().decode.unwrap()(bytes, &mut values);
    values
}

fn encode(dtype: DType, values: &[f32]) -> Vec<u8> {
    let mut bytes = vec![0xaa; values.len() / dtype.block() * dtype.block_bytes()];
    dtype.info().encode.unwrap()(values, &mut bytes);
    bytes
}

#[test]
fn every_format_decodes_to_the_bits_of_the_oracle() {
    for &dtype in DECODED {
        let values = decode(dtype, &golden(&format!("{dtype}.bin")));
        let wanted = singles(&golden(&format!("{dtype}.f32")));
        assert_eq!(values.len(), wanted.len(), "{dtype}");
        for (i, (got, wanted)) in values.iter().zip(&wanted).enumerate() {
            assert_eq!(got.to_bits(), wanted.to_bits(), "{dtype}, value {i}: {got:e}, oracle {wanted:e}");
        }
    }
}

#[test]
fn encoders_give_the_bytes_of_the_oracle() {
    let input = singles(&golden("encode-input.f32"));
    for &dtype in ENCODED {
        let (bytes, wanted) = (encode(dtype, &input), golden(&format!("{dtype}.enc")));
        assert_eq!(bytes.len(), wanted.len(), "{dtype}");
        let first = bytes.iter().zip(&wanted).position(|(a, b)| a != b);
        assert_eq!(first, None, "{dtype}: first byte that differs");
    }
}

#[test]
fn the_table_has_the_sizes_of_the_oracle_and_exactly_these_formats() {
    let index: serde_json::Value = serde_json::from_slice(&golden("index.json")).unwrap();
    for (name, row) in index.as_object().unwrap() {
        let info = inkstone_tensor::DTYPES.iter().find(|i| i.name == name).unwrap();
        assert_eq!(row["id"], info.gguf.unwrap(), "{name}");
        assert_eq!(row["block"], info.block, "{name}");
        assert_eq!(row["bytes"], info.block_bytes, "{name}");
    }
    for info in inkstone_tensor::DTYPES.iter().filter(|i| i.gguf.is_some()) {
        assert_eq!(info.decode.is_some(), DECODED.contains(&info.dtype), "{}", info.name);
        assert_eq!(info.encode.is_some(), ENCODED.contains(&info.dtype), "{}", info.name);
    }
}

#[test]
fn sixteen_bit_numbers_survive_a_round_trip_and_nans_stay_nans() {
    let all: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    for dtype in [F16, BF16] {
        let values = decode(dtype, &all);
        let back = encode(dtype, &values);
        for ((value, was), is) in values.iter().zip(all.as_chunks::<2>().0).zip(back.as_chunks::<2>().0) {
            let same = was == is || value.is_nan() && decode(dtype, is)[0].is_nan() && was[1] & 0x80 == is[1] & 0x80;
            assert!(same, "{dtype} {was:?} -> {value} -> {is:?}");
        }
    }
}

#[test]
fn sixteen_bit_encoders_round_to_nearest_even() {
    // Between the neighbours a and b of the format, and just beside the middle.
    let cases: &[(DType, f32, u16)] = &[
        (F16, 1.0 + 1.0 / 2048.0, 0x3c00),
        (F16, 1.0 + 3.0 / 2048.0, 0x3c02),
        (F16, 1.0 + 1.0 / 2048.0 + f32::EPSILON, 0x3c01),
        (F16, 65519.996, 0x7bff),
        (F16, 65520.0, 0x7c00),
        (F16, 2f32.powi(-25), 0x0000),
        (F16, 3.0 * 2f32.powi(-25), 0x0002),
        (F16, f32::NEG_INFINITY, 0xfc00),
        (BF16, 1.0 + 1.0 / 256.0, 0x3f80),
        (BF16, 1.0 + 3.0 / 256.0, 0x3f82),
        (BF16, f32::MAX, 0x7f80),
        (BF16, -0.0, 0x8000),
        (BF16, f32::from_bits(0xff80_0001), 0xffc0),
        (BF16, f32::from_bits(0x7f80_0001), 0x7fc0),
    ];
    for &(dtype, value, wanted) in cases {
        assert_eq!(encode(dtype, &[value]), wanted.to_le_bytes(), "{dtype} of {value:e}");
    }
}

#[test]
fn q8_0_takes_any_number() {
    let mut values = [0.5f32; 32];
    for hostile in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN_POSITIVE, 1e-45] {
        values[3] = hostile;
        let back = decode(Q8_0, &encode(Q8_0, &values));
        assert_eq!(back.len(), 32, "{hostile}");
    }
    assert_eq!(bits(&decode(Q8_0, &encode(Q8_0, &[0.0; 32]))), [0; 32]);
}

/// What is not a whole block is left alone, on either side.
#[test]
fn half_blocks_are_not_touched() {
    for &dtype in DECODED {
        let info = dtype.info();
        let bytes = vec![0u8; 2 * info.block_bytes - 1];
        let mut values = vec![7f32; 3 * info.block];
        info.decode.unwrap()(&bytes, &mut values);
        assert!(values[info.block..].iter().all(|&v| v == 7.0), "{dtype}");
        info.decode.unwrap()(&vec![0u8; 2 * info.block_bytes], &mut values[..info.block]);
        assert!(values[info.block..].iter().all(|&v| v == 7.0), "{dtype}");
    }
}
