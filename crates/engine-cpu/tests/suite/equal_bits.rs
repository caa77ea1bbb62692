//! Products of every quantised format give the same bits on every instruction set, for every number of rows; and plans
//! that name wrong kernels are refused.

use crate::products::{self, Way, Weight};
use inkstone_compute::{Accuracy, Error, Layout};
use inkstone_engine_cpu::{PANEL16, Set};
use inkstone_tensor::{DTYPES, DType, DTypeInfo};
use std::sync::Arc;

const K: usize = 768;
const N: usize = 37;

fn weight(dtype: DType, bytes: Vec<u8>) -> Weight {
    Weight { dtype, k: K, rows: N, bytes: Arc::new(bytes) }
}

pub fn random(seed: &mut u64) -> u8 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 56) as u8
}

/// Dtypes of activations, what kernels of them are called, and when they are there.
pub const ENCODINGS: [(DType, &str, Accuracy); 2] =
    [(DType::Q8_A, "linear.q8", Accuracy::Precise), (DType::Q8_B, "linear.q8_256", Accuracy::Fast)];

/// The results of a product, by row. All NaN are one: which payload a sum of them has is not defined.
fn product(set: Set, layout: Layout, encoding: usize, weight: &Weight, x: &[u8], rows: usize) -> Vec<u32> {
    let (dtype, kernel, accuracy) = ENCODINGS[encoding];
    let kernel = format!("{kernel}.{}", set.name());
    let way = Way { set, layout, kernel: &kernel, dtype, accuracy, columns: 32 };
    let y = products::product(&way, weight, x, rows).unwrap();
    let bits = |y: u32| if f32::from_bits(y).is_nan() { f32::NAN.to_bits() } else { y };
    y.into_iter().map(bits).collect()
}

/// Rows of a step: more than two blocks of rows that any set does side by side, with tails of all sizes.
const ROWS: usize = 26;

/// The formats that products take, with each encoding of activations.
pub fn formats() -> impl Iterator<Item = (&'static DTypeInfo, usize)> {
    let all = DTYPES.iter().filter(|i| i.decode.is_some() && i.gguf.is_some() && i.block > 1);
    let whole = [DType::Q4_K, DType::Q5_K, DType::Q6_K].map(|dtype| (dtype.info(), 1));
    all.map(|info| (info, 0)).chain(whole)
}

/// The last so many rows of activations give the same bits on every set in every layout.
fn agree(
    encoding: usize,
    weight: &Weight,
    values: &[f32],
    counts: impl Iterator<Item = usize> + Clone,
    what: &str,
) -> Vec<u32> {
    let dtype = ENCODINGS[encoding].0;
    let row = dtype.row_bytes(K).unwrap();
    let mut x = vec![0u8; row * ROWS];
    dtype.info().encode.unwrap()(values, &mut x);
    let wanted = product(Set::Portable, Layout::FILE, encoding, weight, &x, ROWS);
    assert!(wanted.iter().any(|y| f32::from_bits(*y).is_finite()), "{what}");
    let sets = Set::ALL.into_iter().filter(|s| s.is_here() && (encoding == 0 || s.has_block_sums()));
    for (set, layout) in sets.flat_map(|set| [PANEL16, Layout::FILE].map(|layout| (set, layout))) {
        for last in counts.clone() {
            let found = product(set, layout, encoding, weight, &x[row * (ROWS - last)..], last);
            let same = found == wanted[N * (ROWS - last)..];
            assert!(same, "{what} times {dtype} in {layout} on {}, the last {last} rows: other bits", set.name());
        }
    }
    wanted
}

#[test]
fn every_format_gives_the_same_bits_on_every_set_in_every_layout_for_any_number_of_rows() {
    let mut seed = 3;
    for (info, encoding) in formats() {
        let len = info.dtype.row_bytes(K).unwrap() * N;
        let weight = weight(info.dtype, (0..len).map(|_| random(&mut seed)).collect());
        let values: Vec<f32> = (0..ROWS * K).map(|_| f32::from(random(&mut seed) as i8) / 32.0).collect();
        let found = agree(encoding, &weight, &values, 1..=ROWS, info.name);
        assert!(found.iter().any(|y| f32::from_bits(*y).abs() > 1.0), "{}", info.name);
    }
}

/// Where the numbers of half precision of a block are.
fn halves(dtype: DType) -> &'static [usize] {
    match dtype {
        DType::Q4_1 | DType::Q5_1 | DType::Q4_K | DType::Q5_K => &[0, 2],
        DType::Q2_K => &[80, 82],
        DType::Q3_K => &[108],
        DType::Q6_K => &[208],
        DType::MXFP4 => &[],
        _ => &[0],
    }
}

/// Sets add products in as few bits as they fit into: the largest of each format, with activations of one sign and of
/// both.
#[test]
fn the_largest_values_give_the_same_bits_on_every_set() {
    for (info, encoding) in formats() {
        for fill in [0xff, 0x7f, 0x80, 0x00] {
            let mut bytes = vec![fill; info.dtype.row_bytes(K).unwrap() * N];
            for block in bytes.chunks_exact_mut(info.block_bytes) {
                for at in halves(info.dtype) {
                    block[*at..at + 2].copy_from_slice(&0x2c00u16.to_le_bytes());
                }
                if info.dtype == DType::MXFP4 {
                    block[0] = 120;
                }
            }
            let mut first = vec![0.0; info.block];
            info.decode.unwrap()(&bytes[..info.block_bytes], &mut first);
            if first.iter().all(|w| *w == 0.0) {
                continue;
            }
            let weight = weight(info.dtype, bytes);
            let ends: [fn(usize) -> f32; 4] = [
                |_| 1.0,
                |_| -1.0,
                |i| if i % 32 < 16 { 1.0 } else { -0.9 },
                // One half of each word is added to, the other is not.
                |i| if i % 4 < 2 { 1.0 } else { 0.0 },
            ];
            for (n, end) in ends.into_iter().enumerate() {
                let values: Vec<f32> = (0..ROWS * K).map(end).collect();
                let what = format!("{}, bytes {fill:#x}, activations {n}", info.name);
                agree(encoding, &weight, &values, [1, 8, ROWS].into_iter(), &what);
            }
        }
    }
}

#[test]
fn plans_that_name_wrong_kernels_are_refused_before_anything_runs() {
    let f16 = weight(DType::F16, vec![0; 2 * K * N]);
    let cases = [
        ("linear.q9", "no kernel linear.q9; for this op there are: linear.f32.portable, linear.q8.portable"),
        ("rms_norm.portable", "kernel rms_norm.portable does not do linear"),
        ("linear.q8.portable", "kernel linear.q8.portable takes no F16 weights"),
        ("linear.f32.portable", "kernel linear.f32.portable takes no activations in Q8_A"),
    ];
    for (name, wanted) in cases {
        let (set, layout, accuracy) = (Set::Portable, Layout::FILE, Accuracy::Precise);
        match products::product(
            &Way { set, layout, kernel: name, dtype: DType::Q8_A, accuracy, columns: 32 },
            &f16,
            &[],
            1,
        ) {
            Err(Error::BadPlan { fault, .. }) => assert_eq!(fault, wanted),
            other => panic!("{name}: {other:?}"),
        }
    }
}
