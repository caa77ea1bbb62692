//! Products of weights that are floats give the same bits on every instruction set, in every layout, for any number of rows at
//! once, whether or not rows are whole lines.

use crate::products::{self, Way, Weight};
use inkstone_compute::{Accuracy, Engine, EngineOptions, Layout};
use inkstone_engine_cpu::{Cpu, LINES4, Set};
use inkstone_tensor::DType;
use std::sync::Arc;

/// A number from -1 to 1, of 8 bits: exact in all dtypes.
fn random(seed: &mut u64) -> f32 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    f32::from((*seed >> 56) as i8) / 128.0
}

fn weight(dtype: DType, k: usize, rows: usize, seed: &mut u64) -> Weight {
    let values: Vec<f32> = (0..k * rows).map(|_| random(seed)).collect();
    let mut bytes = vec![0; dtype.row_bytes(k).unwrap() * rows];
    dtype.info().encode.unwrap()(&values, &mut bytes);
    Weight { dtype, k, rows, bytes: Arc::new(bytes) }
}

/// The results of a product of so many rows of activations of a dtype, by row.
fn product((set, layout): (Set, Layout), weight: &Weight, dtype: DType, x: &[u8], rows: usize) -> Vec<u32> {
    let (accuracy, kernel) = match dtype {
        DType::BF16 => (Accuracy::Fast, "linear.bf16".to_owned()),
        _ => (Accuracy::Precise, format!("linear.f32.{}", set.name())),
    };
    products::product(&Way { set, layout, kernel: &kernel, dtype, accuracy, columns: 32 }, weight, x, rows).unwrap()
}

/// Rows of a step at once.
const ROWS: usize = 17;

/// That each of the sets, in each layout, gives the bits that the first gives to each row alone, for these numbers of rows, of
/// which the last is the largest.
fn same_bits(weight: &Weight, dtype: DType, x: &[u8], sets: &[Set], counts: impl AsRef<[usize]>) {
    let counts = counts.as_ref();
    let rows = counts[counts.len() - 1];
    let row = x.len() / rows;
    let alone = |i: usize| product((sets[0], Layout::FILE), weight, dtype, &x[i * row..][..row], 1);
    let wanted: Vec<u32> = (0..rows).flat_map(alone).collect();
    assert!(wanted.iter().filter(|y| **y != 0).count() > 600);
    for (set, layout) in sets.iter().flat_map(|set| [LINES4, Layout::FILE].map(|layout| (*set, layout))) {
        for &last in counts {
            let found = product((set, layout), weight, dtype, &x[row * (rows - last)..], last);
            let at = found.iter().zip(&wanted[weight.rows * (rows - last)..]).position(|(a, b)| a != b);
            let (name, k) = (weight.dtype, weight.k);
            assert_eq!(at, None, "{name} rows of {k} in {layout} on {}, the last {last} rows", set.name());
        }
    }
}

fn activations(rows: usize, k: usize, seed: &mut u64) -> Vec<f32> {
    (0..rows * k).map(|_| random(seed) / 3.0).collect()
}

#[test]
fn all_sets_give_the_same_bits_for_any_number_of_rows() {
    let mut seed = 5;
    let sets: Vec<Set> = Set::ALL.into_iter().rev().filter(|s| s.is_here()).collect();
    for (dtype, k) in [DType::F32, DType::F16, DType::BF16].into_iter().flat_map(|d| [1, 40, 64, 999].map(|k| (d, k))) {
        let weight = weight(dtype, k, 37, &mut seed);
        let x = activations(ROWS, k, &mut seed);
        same_bits(&weight, DType::F32, bytemuck::cast_slice(&x), &sets, Vec::from_iter(1..=ROWS));
    }
}

#[test]
fn sums_that_wait_between_blocks_of_long_rows_are_those_of_whole_rows() {
    let mut seed = 7;
    let sets: Vec<Set> = Set::ALL.into_iter().rev().filter(|s| s.is_here()).collect();
    // Two blocks and a part of a third, and more rows than wait at once.
    let (k, counts) = (2100, [2, 8, 9, 24, 25, 200]);
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let weight = weight(dtype, k, 37, &mut seed);
        let x = activations(200, k, &mut seed);
        same_bits(&weight, DType::F32, bytemuck::cast_slice(&x), &sets, counts);
    }
}

#[test]
fn sums_of_products_too_small_for_a_float_keep_their_sign() {
    let mut seed = 8;
    let sets: Vec<Set> = Set::ALL.into_iter().rev().filter(|s| s.is_here()).collect();
    // Whole lines, odd in number. All products but those with the first row of the weight round to -0.
    for (dtype, k) in [(DType::F32, 48), (DType::F16, 96), (DType::BF16, 96)] {
        let mut weight = weight(dtype, k, 37, &mut seed);
        let values: Vec<f32> = (0..k * 37).map(|i| if i < k { 1.0 } else { -f32::powi(2.0, -14) }).collect();
        dtype.info().encode.unwrap()(&values, Arc::get_mut(&mut weight.bytes).unwrap());
        let x = vec![1e-42_f32; ROWS * k];
        same_bits(&weight, DType::F32, bytemuck::cast_slice(&x), &sets, [8, ROWS]);
    }
}

#[test]
fn pairs_of_bf16_give_the_same_bits_for_any_number_of_rows() {
    let engine = Cpu::new(&EngineOptions::default().numerics(Accuracy::Fast)).unwrap();
    if !engine.caps().features.contains(&"avx512bf16") {
        println!("not on this cpu: avx512bf16");
        return;
    }
    let mut seed = 6;
    for k in [1, 40, 64, 999] {
        let weight = weight(DType::BF16, k, 37, &mut seed);
        let values = activations(ROWS, k, &mut seed);
        let mut x = vec![0; 2 * values.len()];
        DType::BF16.info().encode.unwrap()(&values, &mut x);
        same_bits(&weight, DType::BF16, &x, &[Set::Avx512], Vec::from_iter(1..=ROWS));
    }
}
